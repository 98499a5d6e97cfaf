"""``greedyrls demo``: run select on bundled example data."""

from __future__ import annotations

import shlex
from pathlib import Path

from ._options import OutputOptions
from ._show import show_commands, show_line
from ._write import ASSESSED, check_folder, write

TABLE = "diabetes.csv"
# Ten measurements of 442 patients (Efron and others 2004), and how far the disease had progressed
# a year later.
_TARGET = "progression"


def run_demo(out: Path, output: OutputOptions) -> int:
    """Write the table, and select features from it; return the exit code."""
    from ._app import app

    table = out / TABLE
    # Files of an earlier demo may be replaced; other files may not.
    check_folder(out, ASSESSED, table.exists())
    write(table, _diabetes())
    arguments = ["select", str(table), "--target", _TARGET, "--assess", "--resamples", "50"]
    arguments += ["--out", str(out), "--overwrite"]
    if output.is_human:
        show_line(
            f"{table} has ten measurements of 442 patients, and how far their diabetes had "
            "progressed a year later. Which of them matter? This is what you would type:"
        )
        show_commands([f"greedyrls {shlex.join(arguments)}"])
    if output.is_quiet:
        arguments.append("--quiet")
    if output.is_json:
        arguments.append("--json")
    code = app.main(args=arguments, prog_name="greedyrls", standalone_mode=False)
    if output.is_human:
        show_line(f"Open {out / 'report.html'} in a browser. Next, with a table of your own:")
        show_commands(["greedyrls select table.csv --target COLUMN --assess --out results"])
    return int(code)


def _diabetes() -> str:
    """Return the table as CSV, in its original units."""
    from sklearn.datasets import load_diabetes

    from ._write import rows_as_csv

    data = load_diabetes(scaled=False)
    names = [*data.feature_names, _TARGET]
    rows: list[dict[str, object]] = [
        dict(zip(names, [*map(_number, row), _number(target)], strict=True))
        for row, target in zip(data.data.tolist(), data.target.tolist(), strict=True)
    ]
    return rows_as_csv(rows)


def _number(value: float) -> float | int:
    return int(value) if value.is_integer() else value
