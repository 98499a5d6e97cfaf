"""Dates on the command line: selected by, predicted with, reported."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest

from greedyrls import LinearModel

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("click")

from command_line import QUICK, CommandLine  # noqa: E402
from format_files import rows_of  # noqa: E402


def sales(path: Path, form: str = "%Y-%m-%d") -> Path:
    """Saturdays sell more, and all days more than a year before."""
    rng = np.random.default_rng(3)
    days = pd.date_range("2024-01-01", periods=90, freq="3D")
    frame = pd.DataFrame({"day": days, "x": rng.standard_normal(90), "z": rng.standard_normal(90)})
    frame["units"] = (
        frame.x + 20.0 * (frame.day.dt.day_of_week == 5) + 0.2 * np.arange(90) + 0.1 * frame.z
    )
    frame["day"] = frame.day.dt.strftime(form)
    frame.to_csv(path, index=False)
    return path


def test_select_and_predict_with_dates(tmp_path: Path, cli: CommandLine) -> None:
    file = sales(tmp_path / "sales.csv")
    without = cli.result(file, "-t", "units", *QUICK)
    assert without.data.notes[0].startswith("Left out, as dates: 'day'.")
    out = tmp_path / "out"
    cli.fine(
        *("select", file, "-t", "units", "-k", "3", "--alpha", "0.01", "--dates", "day"),
        *("--out", out, "-q"),
    )
    model = LinearModel.from_json((out / "model.json").read_text())
    assert {term.name for term in model.terms} == {"day: weekday=Sat", "day: days", "x"}
    days = next(term for term in model.terms if term.name == "day: days")
    assert days.coefficients[0] == pytest.approx(0.2 / 3, rel=0.05)
    expected = cli.fine("predict", out / "model.json", file, "-q")
    for name, form in (("eu.csv", "%d.%m.%Y"), ("us.csv", "%m/%d/%Y"), ("t.csv", "%Y/%m/%d 00:00")):
        other = sales(tmp_path / name, form)
        assert cli.fine("predict", out / "model.json", other, "-q") == expected
    copied = cli.fine("predict", out / "model.json", file, "--id", "day", "-q").splitlines()
    assert copied[0] == "day,prediction"
    assert copied[1].startswith("2024-01-01,")
    assert [line.split(",")[1] for line in copied] == expected.splitlines()
    first = "\n".join(sales(tmp_path / "us.csv", "%m/%d/%Y").read_text().splitlines()[:2]) + "\n"
    (tmp_path / "one.csv").write_text(first.replace("01/01/2024", "02/01/2024"))
    message = cli.refusal("predict", out / "model.json", tmp_path / "one.csv")
    assert "'02/01/2024' in line 2 may have the day or the month first" in message
    assert cli.fine(
        *("predict", out / "model.json", tmp_path / "one.csv", "--date-order", "dmy", "-q")
    )


def test_models_remember_the_order(tmp_path: Path, cli: CommandLine) -> None:
    file, out = sales(tmp_path / "sales.csv", "%d/%m/%Y"), tmp_path / "out"
    options = ("-t", "units", "--dates", "day", "-k", "3", "--alpha", "0.01")
    cli.fine("select", file, *options, "--out", out, "-q")
    lines = file.read_text().splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("03/02/2024"))
    (tmp_path / "one.csv").write_text(f"{lines[0]}\n{lines[place]}\n")
    expected = cli.fine("predict", out / "model.json", file, "-q").splitlines()[place]
    found = cli.fine("predict", out / "model.json", tmp_path / "one.csv", "-q").splitlines()
    assert float(found[1]) == pytest.approx(float(expected), rel=1e-12)


def test_reports_show_dates(tmp_path: Path, cli: CommandLine) -> None:
    pytest.importorskip("jinja2")
    file = sales(tmp_path / "sales.csv")
    out = tmp_path / "out"
    cli.fine("select", file, "-t", "units", "--dates", "day", *QUICK, "--out", out, "-q")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "day: weekday" in page
    assert "days since 2024-01-01" in page  # in the notes


def test_texts_of_dates_in_any_format(tmp_path: Path, cli: CommandLine) -> None:
    """More of them than a text column may have, and still no reason to stop."""
    names, rows = rows_of(60)
    first = datetime.date(2024, 2, 29)
    days = [str(first + datetime.timedelta(row)) for row in range(60)]
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table({**columns, "day": days}), tmp_path / "t.parquet")
    found = cli.result(tmp_path / "t.parquet", "-t", "y", *QUICK)
    assert found.data.notes == (
        "Left out, as dates: 'day'. To use year, month, weekday and elapsed days, pass --dates "
        "day.",
    )
    dated = cli.result(tmp_path / "t.parquet", "-t", "y", *QUICK, "--dates", "day")
    assert "'day' is used by its year" in dated.data.notes[0]
