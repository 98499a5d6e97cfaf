"""Run a command: success, an error message that says what to do, or an interrupt."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

import click

from .._base import GreedyRLSWarning, printable
from ._shown import one_line, replace_unprintable

FINE, BAD_INPUT, INTERRUPTED = 0, 2, 130


class Refused(Exception):
    """An error in the user's input; the message is one line, or several."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.lines = lines


def run(arguments: Sequence[str] | None) -> int:
    """Run a command; return the exit code."""
    replace_unprintable()
    if os.environ.get("GREEDYRLS_DEBUG"):
        return _run(arguments)
    with warnings.catch_warnings(), _quiet_workers():
        # These are addressed to programmers: a user cannot act on them.
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = _warn
        return _run(arguments)


@contextmanager
def _quiet_workers() -> Iterator[None]:
    """Silence warnings of starting worker processes; later ones are sent to this process."""
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
            if sys.stdout is not None:  # None if the caller closed it
                sys.stdout.flush()  # else a closed pipe would fail when Python exits
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
        # Click and Rich exit like this if the output pipe is closed; Click also after completion.
        if ended.code != 1 or "_GREEDYRLS_COMPLETE" in os.environ:
            raise
        return _unread()
    return code if isinstance(code, int) else FINE


def _unread() -> int:
    """Discard output once the reader has closed the pipe, so that Python exits silently."""
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
    """Show a warning of greedyrls as one line, without its source line; drop all others."""
    if issubclass(category, GreedyRLSWarning):
        print(f"greedyrls: warning: {one_line(str(message))}", file=sys.stderr)


def _refuse(message: str, *more: str) -> int:
    print(f"greedyrls: {one_line(message)}", file=sys.stderr)
    for line in more:
        print(f"  {printable(line)}", file=sys.stderr)
    return BAD_INPUT


def _lines(error: Exception) -> list[str]:
    """Return the message of an error; for a table, all problems and the command to type."""
    from ..app import InputProblems  # imports NumPy, which --help does not need

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
    """Turn errors in the user's data, files or packages into one line.

    If GREEDYRLS_DEBUG is set, the traceback is shown instead.
    """
    if os.environ.get("GREEDYRLS_DEBUG"):
        yield
        return
    try:
        yield
    except BrokenPipeError:
        raise
    except (ValueError, TypeError) as error:
        # The library raises these for invalid input, and says what is allowed.
        raise Refused(*_lines(error)) from error
    except ImportError as error:
        message = str(error)
        if "pip install" not in message:
            package = (error.name or "a package").split(".")[0]
            message = f"{package} is missing ({message}): pip install 'greedyrls[cli]'"
        raise Refused(message) from error
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        raise Refused(f"{name}{error.strerror or error}") from error
    except MemoryError as error:
        reason = str(error) or "the data do not fit"
        raise Refused(f"Out of memory: {reason}. Leave columns out (--drop) or rows.") from error
