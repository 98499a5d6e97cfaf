"""How a command ends: an answer, one line on stderr that says what to do, or an interrupt."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

import click

from .._base import GreedyRLSWarning, printable
from ._shown import one_line, show_what_can_be_shown

FINE, BAD_INPUT, INTERRUPTED = 0, 2, 130


class Refused(Exception):
    """Something is wrong with what the user gave; the message is one line, or a list of them."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.lines = lines


def run(arguments: Sequence[str] | None) -> int:
    """Run a command; the exit code."""
    show_what_can_be_shown()
    if os.environ.get("GREEDYRLS_DEBUG"):
        return _run(arguments)
    with warnings.catch_warnings(), _quiet_workers():
        # Libraries address these to programmers: a user cannot act on them.
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = _warn
        return _run(arguments)


@contextmanager
def _quiet_workers() -> Iterator[None]:
    """Worker processes print no warnings while they start; later ones are sent to this process."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        yield
    finally:
        os.environ.pop("PYTHONWARNINGS")
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


def _run(arguments: Sequence[str] | None) -> int:
    from ._app import app

    try:
        with refusals():
            code = app.main(args=arguments, prog_name="greedyrls", standalone_mode=False)
            if sys.stdout is not None:  # closed by whoever called
                sys.stdout.flush()  # or what is left would meet a closed pipe when Python ends
    except click.exceptions.NoArgsIsHelpError:
        return _run(["--help"])
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        return _refuse(_with_help(error))
    except Refused as error:
        return _refuse(*error.lines)
    except (click.Abort, KeyboardInterrupt):
        print("greedyrls: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return _unread()
    except SystemExit as ended:
        # Click and Rich end so where nobody reads our output; Click also after shell completion.
        if ended.code != 1 or "_GREEDYRLS_COMPLETE" in os.environ:
            raise
        return _unread()
    return code if isinstance(code, int) else FINE


def _unread() -> int:
    """Whoever read our output has seen enough; Python would complain when it flushes the rest."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FINE


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning of ours as one line, without its place in the code; drop all others."""
    if issubclass(category, GreedyRLSWarning):
        print(f"greedyrls: warning: {one_line(str(message))}", file=sys.stderr)


def _refuse(message: str, *more: str) -> int:
    print(f"greedyrls: {one_line(message)}", file=sys.stderr)
    for line in more:
        print(f"  {printable(line)}", file=sys.stderr)
    return BAD_INPUT


def _lines(error: Exception) -> list[str]:
    """The message of an error: of a table all its problems, and what to type."""
    from ..app import InputProblems  # loads NumPy, which --help does without

    if not isinstance(error, InputProblems):
        return [str(error)]
    lines = [one_line(line) for line in error.lines()]
    if len(lines) > 1 and error.command is not None:
        lines += ["This command would work:", f"  {error.command}"]
    return lines


def _with_help(error: click.ClickException) -> str:
    message = error.format_message()
    context = getattr(error, "ctx", None)
    if context is None:
        return message
    return f"{message.rstrip()} (see {context.command_path} --help)"


@contextmanager
def refusals() -> Iterator[None]:
    """What went wrong with the user's own data, files or packages becomes one line.

    With GREEDYRLS_DEBUG set, Python's own traceback is shown instead.
    """
    if os.environ.get("GREEDYRLS_DEBUG"):
        yield
        return
    try:
        yield
    except BrokenPipeError:
        raise
    except (ValueError, TypeError) as error:
        # The engine checks what it is given with these two, and says what is allowed.
        raise Refused(*_lines(error)) from error
    except ImportError as error:
        told = str(error)
        if "pip install" not in told:
            package = (error.name or "a package").split(".")[0]
            told = f"{package} is missing ({told}): pip install 'greedyrls[cli]'"
        raise Refused(told) from error
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        raise Refused(f"{name}{error.strerror or error}") from error
    except MemoryError as error:
        told = str(error) or "the data do not fit"
        raise Refused(f"Out of memory: {told}. Leave columns out (--drop) or rows.") from error
