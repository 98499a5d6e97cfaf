"""Files that the command line reads in parts: the same answers as with all data in memory."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from command_line import CommandLine
from greedyrls import SelectionResult
from own_matrices import genotypes_of, write_bed
from tuning import Tune

M = 1200
LIMIT = ("--memory-limit", "2MB")  # 52 columns at a time
QUICK = ("-k", "3", "--alpha", "10")


def table() -> pd.DataFrame:
    """Numbers, text, flags, dates, gaps and columns that are no features, in several blocks."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {
        f"v{index}": rng.standard_normal(M) * (index + 1) + index for index in range(30)
    }
    columns["colour"] = rng.choice(["red", "green", "blue", None], M)
    columns["ok"] = rng.random(M) < 0.5
    columns["id"] = np.arange(M)
    columns["constant"] = np.full(M, 3.0)
    columns["gap"] = np.where(rng.random(M) < 0.1, np.nan, rng.standard_normal(M))
    columns["kind"] = rng.choice([1, 2, 5], M)
    columns["day"] = pd.date_range("2024-01-01", periods=M)
    columns |= {f"w{index}": rng.integers(0, 9, M) for index in range(30)}
    columns["double"] = 2.0 * columns["v1"] + 3.0
    columns["code"] = np.where(rng.random(M) < 0.05, -999, rng.integers(0, 9, M))
    columns["weight"] = rng.integers(0, 3, M).astype(float)
    columns["site"] = rng.integers(0, 12, M)
    noise = 2.0 * rng.standard_normal(M)
    signal = 0.5 * columns["v1"] - 0.3 * columns["v3"] + 0.4 * columns["w2"]
    y = signal + 2.0 * (columns["colour"] == "red") + columns["ok"] + noise
    columns["y"] = y
    columns["label"] = np.where(y > np.median(y), "yes", "no")
    columns["holey"] = np.where(rng.random(M) < 0.05, np.nan, y)
    return pd.DataFrame(columns)


def assert_same(found: SelectionResult, expected: SelectionResult) -> None:
    """Features, losses, models and notes are the same, but for the note on the memory."""
    assert found.data.notes[0] == "Read in parts, within 2 MB of memory."
    assert found.data.notes[1:] == expected.data.notes
    assert [feature.name for feature in found.features] == [
        feature.name for feature in expected.features
    ]
    assert found.features == expected.features  # means and scales to the last bit
    assert found.inputs == expected.inputs
    assert found.data.columns == expected.data.columns
    assert found.data.n_features == expected.data.n_features
    assert found.leaks == expected.leaks
    assert_array_equal(found.path.indices, expected.path.indices)
    assert_allclose(found.path.losses, expected.path.losses, rtol=1e-9)
    assert found.path.chosen_size == expected.path.chosen_size
    assert found.path.settings.alpha == pytest.approx(expected.path.settings.alpha, rel=1e-12)
    for name in ("coefficient_errors", "model_curve", "own_rates"):
        one, other = (getattr(result, name) for result in (found, expected))
        assert (one is None) == (other is None), name
    if expected.assessment is not None:
        assert found.assessment is not None
        assert_allclose(found.assessment.test_losses, expected.assessment.test_losses, rtol=1e-7)
        for features, others in zip(
            found.assessment.features, expected.assessment.features, strict=True
        ):
            assert_array_equal(features, others)


ASIDE = ("--drop", "label", "--drop", "holey", "--drop", "y")
REGRESSION = ("-t", "y", "--drop", "label", "--drop", "holey", "--impute", "median")
QUESTIONS: dict[str, tuple[str, ...]] = {
    "everything": (*REGRESSION, "--dates", "day", "--categorical", "kind", "--weight", "weight"),
    "groups": (*REGRESSION, "--cv", "site", "--drop", "weight", "--no-standardise"),
    "a penalty and a size": (*REGRESSION, "-k", "auto", "--alpha", "1,100", "--max-features", "4"),
    "assessed": (*REGRESSION, "--folds", "3", "--resamples", "2", "--permutations", "2"),
    "missing": (*REGRESSION, "--missing", "-999", "--missing", "blue", "--drop", "weight"),
    "whole columns": (*REGRESSION, "--whole-columns", "--cost", "colour=2", "--budget", "9"),
    "rows left out": (
        *("-t", "holey", "--drop", "y", "--drop", "label", "--drop-missing-target"),
        *("--drop", "colour", "--drop", "gap", "--no-intercept"),
    ),
    "classes": (
        *("-t", "label", "--drop", "y", "--drop", "holey", "--impute", "median"),
        *("--class-weight", "balanced", "--loss", "zero_one", "--folds", "3"),
    ),
    "time": (*REGRESSION, "--time", "day", "--cv", "4"),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_parquet(name: str, cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    table().to_parquet(file, row_group_size=200)
    asked = (file, *QUICK, *QUESTIONS[name])
    expected = cli.result(*asked)
    assert_same(cli.result(*asked, *LIMIT), expected)


def test_a_folder_of_files(cli: CommandLine, tmp_path: Path) -> None:
    whole, folder = table(), tmp_path / "parts"
    folder.mkdir()
    whole[:500].to_parquet(folder / "a.parquet", index=False)
    whole[500:].to_parquet(folder / "b.parquet", index=False)
    found, expected = (cli.result(folder, *QUICK, *REGRESSION, *more) for more in (LIMIT, ()))
    assert expected.data.notes[0] == "Read 2 Parquet files."
    assert found.data.notes[1:] == expected.data.notes[1:]
    assert found.features == expected.features
    assert_allclose(found.path.losses, expected.path.losses, rtol=1e-9)


def matrix() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((M, 60)).astype(np.float32)
    X[:, 40:] = rng.integers(0, 30, (M, 20))
    return X, (X[:, 3] - 0.5 * X[:, 50] + rng.standard_normal(M)).astype(np.float32)


def write_npy(path: Path, order: Any = "C") -> Path:
    X, y = matrix()
    np.save(path, np.asarray(np.column_stack([X, y]), order=order))
    return path


def write_hdf5(path: Path, chunks: tuple[int, int] = (50, 60)) -> Path:
    h5py = pytest.importorskip("h5py")
    X, y = matrix()
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=X, chunks=chunks)
        file["y"], file["age"] = y, np.arange(M) % 7
        file["place"] = [f"p{index % 3}" for index in range(M)]
    return path


def write_zarr(path: Path) -> Path:
    zarr = pytest.importorskip("zarr")
    X, y = matrix()
    group = zarr.open_group(str(path), mode="w", zarr_format=2)
    for name, values in (("X", X), ("y", y)):
        group.create_array(name, shape=values.shape, dtype=values.dtype)[:] = values
    return path


def write_plink(path: Path) -> Path:
    pytest.importorskip("bed_reader")
    X, y = matrix()
    phenotypes = ["-9" if index % 11 == 3 else str(value) for index, value in enumerate(y)]
    return write_bed(path, genotypes_of(X), pheno=phenotypes)


MATRICES: dict[str, Any] = {
    "rows.npy": write_npy,
    "columns.npy": lambda path: write_npy(path, "F"),
    "rows.h5": write_hdf5,
    "columns.h5": lambda path: write_hdf5(path, (M, 3)),
    "study.zarr": write_zarr,
    "study.bed": write_plink,
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str, cli: CommandLine, tmp_path: Path) -> None:
    file = MATRICES[name](tmp_path / name)
    target = {"npy": ("-t", "x60"), "bed": ("--drop-missing-target",)}.get(name.split(".")[1], ())
    asked = (file, *target, *QUICK, "--folds", "3")
    expected = cli.result(*asked)
    assert_same(cli.result(*asked, *LIMIT), expected)


@pytest.mark.parametrize("name", ["rows.npy", "study.bed"])
def test_from_the_file_to_the_predictions(name: str, cli: CommandLine, tmp_path: Path) -> None:
    file, out = MATRICES[name](tmp_path / name), tmp_path / "results"
    target = ("-t", "x60") if name.endswith("npy") else ("--drop-missing-target",)
    cli.fine("select", file, *target, *QUICK, *LIMIT, "--out", out)
    assert "Read in parts, within 2 MB of memory." in (out / "report.html").read_text()
    ended = cli("predict", out, file, "--out", tmp_path / "predictions.csv")
    assert ended.code == 0
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == M + 1
    assert "def predict" in cli.fine("export", out, "--to", "python")


def test_assess(cli: CommandLine, tmp_path: Path) -> None:
    file = write_npy(tmp_path / "data.npy")
    asked = ("assess", file, "-t", "x60", *QUICK, "--folds", "3", "--json")
    found, expected = (json.loads(cli.fine(*asked, *more)) for more in (LIMIT, ()))
    assert found["sentence"] == expected["sentence"]


def test_large_files_are_read_in_parts(cli: CommandLine, tmp_path: Path, tune: Tune) -> None:
    """Those that take more than a quarter of the machine's memory."""
    file = write_npy(tmp_path / "data.npy")
    size = 8 * M * 61
    tune(file_memory_limit=size)
    assert "Read in parts" not in cli.fine("select", file, "-t", "x60", *QUICK)
    tune(file_memory_limit=size - 1)
    shown = cli.fine("select", file, "-t", "x60", *QUICK)
    assert "Note: Read in parts, within 586 kB of memory." in shown


def test_an_automatic_loss_is_squared(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    table().to_parquet(file)
    asked = (file, "-t", "label", *ASIDE[2:], "--drop", "holey", "--impute", "median", "-k", "2")
    asked = (*asked, "--alpha", "1,100")
    found = cli.result(*asked, *LIMIT)
    assert_same(found, cli.result(*asked, "--loss", "squared"))


def test_refusals(cli: CommandLine, tmp_path: Path) -> None:
    small = table()[["v1", "v2", "y"]]
    small.to_csv(tmp_path / "data.csv", index=False)
    message = cli.refusal("select", tmp_path / "data.csv", "-t", "y", *LIMIT)
    assert "loaded whole, so that --memory-limit is not supported" in message
    assert "write the table as Parquet" in message
    message = cli.refusal("select", tmp_path / "data.csv", "-t", "y", "--memory-limit", "much")
    assert "'much' is not an amount of memory such as 500MB or 4GB" in message
    for place in ("a=1", "a=2"):
        (tmp_path / "parts" / place).mkdir(parents=True)
        small.to_parquet(tmp_path / "parts" / place / "x.parquet")
    message = cli.refusal("select", tmp_path / "parts", "-t", "y", *LIMIT)
    assert "its folders are partitions" in message
    cli.fine("select", tmp_path / "parts", "-t", "y", *QUICK)  # loaded
    small.to_parquet(tmp_path / "data.parquet")
    message = cli.refusal(
        "select", tmp_path / "data.parquet", "-t", "y", *QUICK, "--memory-limit", "1kB"
    )
    assert "this search needs at least" in message
    np.save(tmp_path / "vector.npy", np.arange(3.0))
    assert "must hold a matrix of numbers" in cli.refusal("select", tmp_path / "vector.npy")
    message = cli.refusal("select", write_npy(tmp_path / "data.npy"), *QUICK)
    assert "Pass --target COLUMN" in message


def test_problems_are_those_of_a_loaded_table(cli: CommandLine, tmp_path: Path) -> None:
    whole = table()
    whole["v2"] = np.where(np.arange(M) == 7, np.inf, whole["v2"])
    whole["text"] = [f"t{index % 100}" for index in range(M)]
    whole.to_parquet(tmp_path / "table.parquet")
    asked = ("select", tmp_path / "table.parquet", "-t", "y", "--drop", "label", *QUICK)
    found, expected = cli.problems(*asked, *LIMIT), cli.problems(*asked)
    assert found == expected
    assert any("infinite value in row 8" in line for line in found)


@pytest.mark.skipif(importlib.util.find_spec("bed_reader") is None, reason="needs bed-reader")
def test_predictions_read_only_the_columns_of_the_model(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bed_reader import open_bed

    file = write_plink(tmp_path / "study.bed")
    out = tmp_path / "results"
    cli.fine("select", file, "--drop-missing-target", *QUICK, "--out", out)
    read, original = [], open_bed.read

    def watched(self: Any, index: Any = None, **options: Any) -> Any:
        read.append(len(index[1]))
        return original(self, index=index, **options)

    monkeypatch.setattr(open_bed, "read", watched)
    cli("predict", out, file, "--out", tmp_path / "predictions.csv")
    assert sum(read) <= 3
