"""`greedyrls select --scheduler`: the same answer from a cluster of worker processes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from command_line import CommandLine

pytest_plugins = ["cluster_fixture"]
M = 300
QUICK = ("-k", "3", "--alpha", "10")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"v{index}": rng.standard_normal(M) * index for index in range(1, 9)}
    columns["colour"] = rng.choice(["red", "green", "blue", None], M)
    columns["gap"] = np.where(rng.random(M) < 0.1, np.nan, rng.standard_normal(M))
    columns["weight"] = rng.integers(0, 3, M).astype(float)
    columns["site"] = rng.integers(0, 12, M)
    columns["day"] = pd.date_range("2024-01-01", periods=M).strftime("%Y-%m-%d")
    y = columns["v1"] - 0.4 * columns["v4"] + (columns["colour"] == "red") + rng.normal(size=M)
    columns["y"] = y
    columns["label"] = np.where(y > np.median(y), "yes", "no")
    return pd.DataFrame(columns)


ASKED: dict[str, tuple[str, ...]] = {
    "leave-one-out": ("-t", "y", "--drop", "label", "--weight", "weight"),
    "penalties": ("-t", "y", "--drop", "label", "--alpha", "1,100", "-k", "auto"),
    "folds": ("-t", "y", "--drop", "label", "--cv", "4"),
    "groups": ("-t", "y", "--drop", "label", "--cv", "site"),
    "classes": ("-t", "label", "--drop", "y", "--loss", "zero_one"),
    "class weights": ("-t", "label", "--drop", "y", "--class-weight", "yes=3"),
    "direction": ("-t", "y", "--drop", "label", "--direction", "floating", "--cv", "4"),
    "time": ("-t", "y", "--drop", "label", "--time", "day", "--alpha", "1,100"),
}


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize(
    ("name", "suffix"), [*((name, "parquet") for name in ASKED), ("leave-one-out", "csv")]
)
def test_the_same_selection(
    name: str, suffix: str, client: Any, cli: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / f"table.{suffix}"
    if suffix == "csv":
        table().to_csv(file, index=False)
    else:
        table().to_parquet(file, row_group_size=70)
    asked = (file, *QUICK, *ASKED[name], *of_day(ASKED[name]), "--impute", "median")
    found = cli.result(*asked, "--scheduler", client.scheduler.address)
    expected = cli.result(*asked)
    assert found.features == expected.features
    assert_array_equal(found.path.indices, expected.path.indices)
    assert_allclose(found.path.losses, expected.path.losses, rtol=1e-9)
    assert found.path.chosen_size == expected.path.chosen_size
    for one, other in zip(found.sigmoids or (), expected.sigmoids or (), strict=True):
        assert_allclose(one, other, rtol=1e-6)


def of_day(asked: tuple[str, ...]) -> tuple[str, ...]:
    """The day of a row is no feature."""
    return () if "--time" in asked else ("--drop", "day")


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("name", ["classes", "groups", "time"])
def test_the_same_analyses(name: str, client: Any, cli: CommandLine, tmp_path: Path) -> None:
    table().to_parquet(tmp_path / "table.parquet", row_group_size=70)
    asked = [tmp_path / "table.parquet", *QUICK, *ASKED[name], *of_day(ASKED[name])]
    asked += ["--impute", "median", "--assess", "--folds", "3"]
    if name != "time":
        asked += ["--resamples", "4", "--permutations", "3"]
    found = cli.result(*asked, "--scheduler", client.scheduler.address)
    expected = cli.result(*asked)
    assert found.sentence == expected.sentence
    assert found.assessment is not None
    assert expected.assessment is not None
    assert_allclose(found.assessment.test_losses, expected.assessment.test_losses, rtol=1e-9)
    if name != "time":
        assert found.stability is not None
        assert expected.stability is not None
        for one, other in zip(
            found.stability.selections, expected.stability.selections, strict=True
        ):
            assert_array_equal(one, other)
        assert found.null is not None
        assert expected.null is not None
        assert_allclose(found.null.null_losses, expected.null.null_losses, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
def test_an_array_and_its_report(client: Any, cli: CommandLine, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((M, 20)).astype(np.float32)
    np.save(tmp_path / "data.npy", np.column_stack([X, X[:, 3] - X[:, 7]]) + 0.1)
    asked = ("select", tmp_path / "data.npy", "-t", "x20", *QUICK, "--out", tmp_path / "results")
    shown = cli.fine(*asked, "--scheduler", client.scheduler.address)
    assert "x3, x7" in shown or "x7, x3" in shown
    assert (tmp_path / "results" / "report.html").exists()


def test_refusals(cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    file = tmp_path / "table.csv"
    table().dropna().to_csv(file, index=False)
    asked = ("select", file, "-t", "y", "--drop", "label", "--drop", "day", *QUICK, "--scheduler")
    message = cli.refusal(*asked, "nowhere://host")
    assert message.startswith("--scheduler nowhere://host: cannot connect (")
    assert "dask scheduler" in message
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = cli.refusal(*asked, "tcp://host:1")
    assert message == "--scheduler tcp://host:1 needs Dask: pip install 'greedyrls[dask]'."
