"""Columns that name rows or groups are told of, or left out; measurements never are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import CommandLine
from internals import Column
from small_tables import (
    flags,
    names_of,
    numbers,
    plain_table,
    prepared_of,
    refusal,
    texts,
    write_csv,
)

M = 60
RNG = np.random.default_rng(5)


def notes_with(values: Column, name: str, **roles: Any) -> tuple[bool, str]:
    """Whether the column stays among others, and what is said of it."""
    columns = plain_table(len(values.is_missing)) | {name: values}  # type: ignore[union-attr]  # never Unusable here
    prepared = prepared_of(columns, **roles)
    used = {feature.column for feature in prepared.features}
    return name in used, " ".join(note for note in prepared.notes if repr(name) in note)


# Left out.


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n", range(1, M + 1)),
        ("n", range(100_001, 100_001 + M)),
        ("n", range(M, 0, -1)),
        ("n", RNG.permutation(M)),
        ("n", np.sort(RNG.permutation(M + 8)[:M])),  # some rows are not in the file
        ("n", range(20)),
        ("customer_id", 37 * RNG.permutation(1000)[:M]),
        ("CustomerID", 37 * RNG.permutation(1000)[:M]),
        ("ID", 10**9 + RNG.permutation(10**6)[:M]),
        ("id_cliente", 37 * RNG.permutation(1000)[:M]),
        ("Index", 3 * np.arange(M)),
        ("Nr.", 3 * np.arange(M)),
        ("row", 2 * np.arange(M)),
        ("Unnamed: 0", 5 * np.arange(M)),
        ("id", range(1, 9)),  # few rows, but both the name and the values say so
    ],
)
def test_row_numbers_and_identifiers_are_left_out(name: str, values: Any) -> None:
    column = numbers(values)
    is_used, note = notes_with(column, name)
    assert not is_used
    option = f"--keep {name}" if name.isidentifier() else f"--keep '{name}'"
    assert note.startswith("Left out, as it seems to number or name rows: ")
    assert option.replace("'Nr.'", "Nr.") in note
    assert notes_with(column, name, kept=(name,)) == (True, "")
    assert notes_with(column, name, forced=(name,))[0]


def test_text_that_names_rows_is_left_out_by_its_name() -> None:
    names = texts(f"{row:08x}-4f6e" for row in RNG.permutation(10**6)[:M])
    for name in ("uuid", "order_uuid", "id", "sampleId"):
        is_used, note = notes_with(names, name)
        assert not is_used
        assert f"--keep {name}" in note
    # Other names are an error, as they were.
    assert "more than 50 different values: 'street'" in refusal(plain_table() | {"street": names})
    kept = plain_table() | {"uuid": names}
    assert "more than 50 different values: 'uuid'" in refusal(kept, kept=("uuid",))


def test_rows_that_are_left_out_make_no_gaps_in_row_numbers() -> None:
    columns = plain_table(M)
    has_none = np.arange(M) % 2 == 0
    columns["y"] = numbers(np.where(has_none, np.nan, RNG.standard_normal(M)))
    columns["n"] = numbers(range(M))
    prepared = prepared_of(columns, drops_missing_target=True)
    assert "n" not in names_of(prepared)


def test_a_doubtful_column_is_better_than_none() -> None:
    y = 2.0 * np.arange(M) + RNG.standard_normal(M)
    prepared = prepared_of({"x": numbers(range(M)), "y": numbers(y)})
    assert names_of(prepared) == ["x"]
    (note,) = prepared.notes
    assert "--id x" in note


def test_columns_cannot_be_kept_and_left_out() -> None:
    columns = plain_table(M)
    assert "cannot be both --drop and --keep" in refusal(columns, kept=("x1",), dropped=("x1",))
    assert "cannot be both --target and --keep" in refusal(columns, kept=("y",))
    assert "no column 'z'" in refusal(columns, kept=("z",))


# Noted.


@pytest.mark.parametrize(
    ("name", "values", "option"),
    [
        ("phone", 4_500_000_000 + RNG.permutation(10**8)[:M], "--id phone"),
        ("contact", 4_500_000_000 + RNG.permutation(10**8)[:M], "--id contact"),
        ("phone_number", 450_000 + 11 * RNG.permutation(10**4)[:M], "--id phone_number"),
        ("zip", RNG.choice(np.arange(10_000, 99_999, 4321), M), "--categorical zip"),
        ("PostCode", RNG.choice(np.arange(10_000, 99_999, 4321), M), "--categorical PostCode"),
        ("patient", np.repeat(np.arange(1, 11), 6), "--cv patient"),
        ("animal_id", np.repeat(np.arange(1, 11), 6), "--cv animal_id"),
        ("store", RNG.integers(1, 12, M), "--cv store"),
        ("who", np.repeat(np.arange(101, 121), 3), "--cv who"),
        ("who", np.tile(np.cumsum(RNG.integers(1, 9, 20)), 3), "--cv who"),
    ],
)
def test_codes_and_numbers_of_groups_stay_with_a_note(name: str, values: Any, option: str) -> None:
    is_used, note = notes_with(numbers(values), name)
    assert is_used
    assert option in note
    assert f"--id {name}" in note
    assert notes_with(numbers(values), name, kept=(name,)) == (True, "")


# Measurements.


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("age", RNG.integers(18, 90, M)),
        ("age", range(M)),  # a table by age
        ("year", range(1960, 1960 + M)),
        ("season", range(1960, 1960 + M)),
        ("t", range(M)),
        ("day", range(1, M + 1)),
        ("rank", RNG.permutation(M) + 1),
        ("rooms", RNG.integers(1, 8, M)),
        ("steps", RNG.poisson(7000, M)),
        ("cells", 4000 + RNG.permutation(7000)[:M]),  # counts, each there once
        ("price", 70_000 + RNG.permutation(200_000)[:M]),
        ("income", 10_000 + 10 * RNG.permutation(9000)[:M]),
        ("population", np.exp(RNG.normal(12, 2, M)).round()),
        ("turnover", 1_000_000 + 10 * RNG.permutation(800_000)[:M]),
        ("visit", np.tile(np.arange(1, 7), 10)),
        ("month", np.tile(np.arange(1, 13), 5)),
        ("dose", np.repeat(np.arange(5, 65, 5), 5)),
        ("volts", np.repeat(np.arange(5, 65, 5), 5)),  # a grid
        ("score", np.repeat(np.arange(6), 10)),
        ("arm", np.tile([0, 1], 30)),
        ("group", np.tile([0, 1], 30)),
        ("income_group", RNG.integers(1, 9, M)),
        ("paid", RNG.permutation(1000)[:M]),
        ("humid", RNG.permutation(1000)[:M]),
        ("no_of_cells", RNG.permutation(1000)[:M]),
        ("index", RNG.standard_normal(M)),
        ("price_index", 80 + RNG.permutation(200)[:M]),
        ("x", range(1, 11)),  # ten rows are too few to tell
        ("id", [7, 3, 9, 12, 40, 22, 5, 8]),
    ],
)
def test_measurements_stay_without_a_note(name: str, values: Any) -> None:
    assert notes_with(numbers(values), name) == (True, "")


def test_flags_gaps_and_text_stay() -> None:
    assert notes_with(flags(np.arange(M) % 2), "id") == (True, "")
    assert notes_with(texts(["a", "b", "c"] * 20), "id") == (True, "")
    gaps = numbers([None, *range(1, M)])
    assert notes_with(gaps, "n", impute="median")[0]


def test_random_whole_numbers_are_never_taken_for_row_numbers() -> None:
    """Also among very many columns of few rows."""
    rng = np.random.default_rng(0)
    columns: dict[str, Column] = {
        f"g{place}": numbers(rng.integers(0, rng.integers(20, 400), 20)) for place in range(3000)
    }
    columns["y"] = numbers(rng.standard_normal(20))
    prepared = prepared_of(columns)
    assert prepared.notes == ()


def test_many_columns_alike_are_measurements() -> None:
    rng = np.random.default_rng(0)
    columns: dict[str, Column] = {
        f"intensity {place}": numbers(rng.integers(10**7, 10**8, M)) for place in range(12)
    }
    prepared = prepared_of(columns | {"y": numbers(rng.standard_normal(M))})
    assert prepared.notes == ()


# On the command line.


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Rows in the order of time: a number of customers, a phone, and an honest column."""
    rng = np.random.default_rng(1)
    a = rng.standard_normal(M)
    columns = {
        "customer_id": list(range(100_001, 100_001 + M)),
        "phone": (4_500_000_000 + rng.choice(10**8, M, replace=False)).tolist(),
        "a": a.tolist(),
        "y": (a + 0.05 * np.arange(M) + 0.3 * rng.standard_normal(M)).tolist(),
    }
    return write_csv(tmp_path / "shop.csv", columns)


def test_notes_are_shown_and_written(
    shop: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cli = CommandLine(capsys)
    out = tmp_path / "out"
    shown = " ".join(cli.fine("select", shop, "-t", "y", "--alpha", "1", "--out", out).split())
    assert "--keep customer_id" in shown
    assert "--id phone" in shown
    assert "--keep customer_id" in (out / "report.html").read_text(encoding="utf-8")
    shown = cli.fine("assess", shop, "-t", "y", "--alpha", "1")
    assert "--keep customer_id" in " ".join(shown.split())
    result = cli.result(shop, "-t", "y", "--alpha", "1", "-k", "2")
    assert "customer_id" not in (result.path.settings.feature_names_in or ())
    assert any("--keep customer_id" in note for note in result.data.notes)


@pytest.mark.parametrize(
    "options", [("--keep", "customer_id"), ("--cost", "customer_id=2"), ("--force", "customer_id")]
)
def test_columns_that_are_asked_for_are_kept(
    options: tuple[str, str], shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli = CommandLine(capsys)
    result = cli.result(shop, "-t", "y", "--alpha", "1", "-k", "2", *options)
    assert "customer_id" in (result.path.settings.feature_names_in or ())
    assert not any("customer_id" in note for note in result.data.notes)
