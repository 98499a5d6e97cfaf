"""The command line: from a file to a result, without writing Python."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``greedyrls`` with these arguments, or those of the process, and exit."""
    try:
        import click  # noqa: F401
    except ImportError:
        print(
            "greedyrls: the command line needs more packages: pip install 'greedyrls[cli]'",
            file=sys.stderr,
        )
        sys.exit(2)
    from ._run import run

    sys.exit(run(arguments))
