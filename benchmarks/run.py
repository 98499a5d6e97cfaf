"""Run a suite: `python benchmarks/run.py SUITE [options]`; `--list` names the suites."""

from __future__ import annotations

import sys

from harness.command import main

if __name__ == "__main__":
    sys.exit(main())
