"""The command behind run.py: one argument parser, one loop over rows, one exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import suites

from . import machine, tables
from .measure import ProcessFailed
from .suite import ALL_CORES, CannotRun, Options, Suite
from .writer import write_results

STOPPED = 130  # as shells report Ctrl-C


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a suite; 1 where it cannot run or an answer is wrong."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="run.py",
        usage="run.py [-h] [--list] SUITE [options of the suite]",
        description="Run a suite of benchmarks. `run.py SUITE --help` shows its options.",
    )
    parser.add_argument("--list", action="store_true", help="name all suites and what they measure")
    parser.add_argument("suite", metavar="SUITE", choices=suites.NAMES, nargs="?")
    chosen = parser.parse_args(given[:1])
    if chosen.list:
        print(listing())
        return 0
    if chosen.suite is None:
        parser.error(f"name a suite: {', '.join(suites.NAMES)}; --list says what they measure")
    suite = load(chosen.suite)
    return run(suite, options_of(suite, given[1:]))


def load(name: str) -> Suite[Any, Any]:
    """Import a suite by its name."""
    suite: Suite[Any, Any] = import_module(f"suites.{name.replace('-', '_')}").SUITE
    return suite


def listing() -> str:
    """Name and sentence of every suite."""
    width = max(map(len, suites.NAMES))
    return "\n".join(f"{name.ljust(width)}  {load(name).sentence}" for name in suites.NAMES)


def run(suite: Suite[Any, Any], options: Options) -> int:
    """Run a suite with options, print its rows, write them after each, and give the exit code."""
    if options.threads == ALL_CORES:
        options = replace(options, threads=os.cpu_count() or 1)
    rows: list[Any] = []
    try:
        with machine.limited_threads(options.threads):
            environment = machine.environment(options.threads)
            for row in suite.rows(options):
                rows.append(row)
                if line := suite.line(row):
                    print(line, flush=True)
                write_results(suite, options, environment, rows)
    except (CannotRun, ProcessFailed) as reason:
        print(reason, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return STOPPED
    if suite.page is not None and rows:
        print(suite.page(environment, rows, tables.plain_text))
    failures = suite.failures(rows)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def options_of(suite: Suite[Any, Any], arguments: Sequence[str]) -> Options:
    """Parse the arguments of a suite."""
    parser = argparse.ArgumentParser(
        prog=f"run.py {suite.name}",
        description=sys.modules[suite.rows.__module__].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        # An option that is not given keeps the default of its field.
        argument_default=argparse.SUPPRESS,
    )
    types = get_type_hints(suite.options)
    for one in fields(suite.options):
        about, how = one.metadata, _how(types[one.name])
        if about["choices"]:
            how["choices"] = about["choices"]
        if "action" not in how or how["action"] == "extend":
            how["metavar"] = about["metavar"] or one.name.upper()
        allowed = f" One of: {', '.join(about['choices'])}." if about["choices"] else ""
        shown = "" if one.default in (None, False, ()) else f" (default: {_shown(one.default)})"
        parser.add_argument(
            f"--{one.name.replace('_', '-')}",
            help=(about["help"] + shown + allowed).replace("%", "%%"),
            **how,
        )
    given = vars(parser.parse_args(arguments))
    options: Options = suite.options(
        **{name: tuple(one) if isinstance(one, list) else one for name, one in given.items()}
    )
    return options


def _how(annotation: Any) -> dict[str, Any]:
    """How argparse reads a value of this type."""
    if isinstance(annotation, UnionType):
        (annotation,) = (kind for kind in get_args(annotation) if kind is not type(None))
    if annotation is bool:
        return {"action": "store_true"}
    if get_origin(annotation) is tuple:
        return {"type": get_args(annotation)[0], "nargs": "+", "action": "extend"}
    return {"type": annotation}


def _shown(default: Any) -> str:
    """A default as the help shows it, without the folders of this machine."""
    if isinstance(default, Path):
        return default.name
    return " ".join(map(str, default)) if isinstance(default, tuple) else str(default)
