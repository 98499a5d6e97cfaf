"""Compare greedyrls with its peers: `python benchmarks/run.py --help`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import machine
import tables
from libraries import LIBRARIES
from problems import FULL, PROBLEMS, QUICK
from rows import Row, rows_of
from targets import Growth, Target, growth, targets

RESULTS = Path(__file__).parent / "results" / "results.json"


def main() -> int:
    """Run, print and write the results; 1 where an answer is wrong."""
    arguments = _arguments()
    machine.pin_threads(arguments.threads)
    environment = machine.environment(arguments.threads)
    names = arguments.only or (QUICK if arguments.quick else FULL)
    rows: list[Row] = []
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        new = rows_of(PROBLEMS[name], arguments.library or list(LIBRARIES), arguments.timeout)
        for row in new:
            print(f"  {tables.one_line(row)}", file=sys.stderr, flush=True)
        rows += new
        _write(arguments.output, environment, rows)
    slopes = growth(rows)
    print(tables.report(environment, rows, slopes, targets(rows, slopes), tables.plain_text))
    return _verdict(rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small problems only: a smoke test")
    parser.add_argument(
        "--only",
        metavar="PROBLEM",
        choices=PROBLEMS,
        action="append",
        help="this problem; may be repeated. One of: " + ", ".join(PROBLEMS),
    )
    parser.add_argument(
        "--library",
        metavar="NAME",
        choices=LIBRARIES,
        action="append",
        help="ours and this one; may be repeated. One of: " + ", ".join(LIBRARIES),
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="where the JSON goes")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--timeout", type=float, default=900.0, help="seconds that one call may take"
    )
    return parser.parse_args()


def _write(output: Path, environment: dict[str, Any], rows: list[Row]) -> None:
    """Write what there is so far, as JSON and as Markdown next to it."""
    slopes: list[Growth] = growth(rows)
    asked: list[Target] = targets(rows, slopes)
    output.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "environment": environment,
        "rows": [asdict(row) for row in rows],
        "growth": [asdict(slope) for slope in slopes],
        "targets": [asdict(target) for target in asked],
    }
    output.write_text(json.dumps(content, indent=1) + "\n")
    text = tables.report(environment, rows, slopes, asked, tables.markdown)
    output.with_suffix(".md").write_text("# Benchmark results\n\n" + text)


def _verdict(rows: list[Row]) -> int:
    wrong = [row for row in rows if row.wrong]
    for row in wrong:
        print(f"WRONG: {row.problem}, {row.name}: {row.note}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
