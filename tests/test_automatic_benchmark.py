"""The benchmark without settings: it runs, counts false features, and makes its table."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
# After everything else: no module of the tests may be hidden.
sys.path.append(str(BENCHMARKS))

from harness.command import main  # noqa: E402
from suites.automatic import seconds  # noqa: E402
from suites.automatic import table as automatic_table  # noqa: E402
from suites.automatic.methods import default_rule, size_rules  # noqa: E402
from suites.automatic.problems import PROBLEMS, Draw, Problem  # noqa: E402
from suites.automatic.store import Run, Series, Store, read  # noqa: E402

SHAPE = (40, 50, 6)
DEFAULT = f"ours, {default_rule()}"


def two_of_six(problem: Problem, split: int, data_dir: Path | None) -> Draw:
    """Two true features, and the last column is constant."""
    rng = np.random.default_rng(split)
    X = rng.standard_normal((90, 6))
    X[:, 5] = 1.0
    y = X[:, 1] - X[:, 4] + 0.1 * rng.standard_normal(90)
    return Draw(X[:40], y[:40], X[40:], y[40:], frozenset((1, 4)))


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Problem:
    """The only problem, made up for these tests."""
    problem = replace(PROBLEMS["noise"], name="tiny", make=two_of_six)
    problem = replace(problem, n_train=40, n_test=50, n_features=6)
    for name in list(PROBLEMS):
        monkeypatch.delitem(PROBLEMS, name)
    monkeypatch.setitem(PROBLEMS, "tiny", problem)
    return problem


@pytest.mark.usefixtures("tiny")
def test_a_run_and_its_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, page = tmp_path / "results.json", tmp_path / "page.md"
    arguments = ["automatic", "--output", str(out), "--splits", "2"]
    run = [*arguments, "--label", "before", "--methods", "ours", "lasso", "omp", "rfecv"]
    assert main([*run, "--ours-rules", "all"]) == 0
    store = read(out)
    names = [one.method for one in store.series]
    assert names == [*(f"ours, {rule}" for rule in size_rules()), "lasso", "omp", "rfecv"]
    for one in store.series:
        assert one.shape == SHAPE
        assert one.missed == [0, 0]
        assert one.sizes == [2 + false for false in one.false]
        assert min(one.scores) > 0.9
        assert len(one.seconds) == len(one.cpu) == 2

    # What is there is kept; the peers of an earlier run stand beside a later one of ours.
    assert main(run) == 0
    assert read(out).series == store.series
    assert main([*arguments, "--label", "after", "--methods", "ours"]) == 0
    page.write_text(f"Above.\n{automatic_table.BEGIN}\nold\n{automatic_table.END}\nBelow.\n")
    assert main([*arguments, "--table", "--page", str(page)]) == 0
    text = page.read_text()
    assert text.startswith("Above.")
    assert text.endswith("Below.\n")
    assert "old" not in text
    (head, first, *others) = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.count("|") == len(automatic_table.HEAD) + 1 and "---" not in line
    ]
    assert tuple(head) == automatic_table.HEAD
    assert first[:2] == ["**tiny** 40 × 6, 2 true (R²)", DEFAULT]
    assert [row[1] for row in others] == ["LassoCV", "OMP", "RFECV"]
    assert main([*arguments, "--compare", "before", "after"]) == 0
    assert capsys.readouterr().out.count("after") == 1


def test_differences_are_paired() -> None:
    run = Run("now", "-", default_rule(), {"python": "-", "numpy": "-"}, {})
    ours = Series("now", "noise", DEFAULT, SHAPE, None, [0.1, 0.9, 0.5], [1, 1, 1])
    peer = replace(ours, method="lasso", scores=[0.2, 1.0, 0.63])
    found = automatic_table.difference(peer, ours)
    assert found is not None
    assert found.mean == pytest.approx(0.11)
    assert found.error == pytest.approx(0.01)
    assert found.is_clear
    store = Store(Path("results.json"), [run], [ours, peer])
    assert automatic_table.rows(store, "now", "noise") == [ours, peer]
    assert automatic_table.rows(store, "now", "wide") == []


@pytest.mark.parametrize("name", [name for name, one in PROBLEMS.items() if not one.is_from_folder])
def test_draws_are_of_the_stated_shape(name: str) -> None:
    problem = PROBLEMS[name]
    draw = problem.draw(3, None)
    assert draw.X.shape == (problem.n_train, problem.n_features)
    assert draw.test_X.shape == (problem.n_test, problem.n_features)
    assert np.array_equal(draw.y, problem.draw(3, None).y)
    assert not np.array_equal(draw.X, problem.draw(4, None).X)
    assert all(0 <= feature < problem.n_features for feature in draw.truth or ())


def test_seconds_of_small_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows are there, written as they come, with the ratio that each should stay below."""
    few = partial(seconds.few_true, 60, 8, 3)
    monkeypatch.setattr(seconds, "common_factors", partial(seconds.common_factors, 20, 30))
    monkeypatch.setattr(seconds, "correlated_binary", partial(seconds.correlated_binary, 30, 52))
    monkeypatch.setattr(seconds, "few_true", lambda *sizes: few())
    monkeypatch.setattr(seconds, "queries", partial(seconds.queries, 60, 12, 12))
    monkeypatch.setattr(seconds, "PATH_SIZE", 3)
    out = tmp_path / "seconds.json"
    assert main(["automatic", "--seconds", "--rounds", "1", "--seconds-output", str(out)]) == 0
    rows = json.loads(out.read_text())["rows"]
    assert len(rows) == 11
    assert all(row["ours"] > 0 and row["ratio"] > 0 and row["ours_cpu"] >= 0 for row in rows)
    assert [row["most"] for row in rows] == [0.5, 0.5, 1.5, 0.5, 1.0, 4.0, 1.0, 1.0, 0.5, 0.3, 1.5]
    table = out.with_suffix(".md").read_text()
    assert table.count("\n") == 2 + len(rows)
    assert "with one core busy" in table


def test_problems_of_seconds_are_the_same_every_time() -> None:
    for make, shape in (
        (seconds.common_factors, (50, 7000)),
        (seconds.correlated_binary, (400, 1300)),
        (seconds.few_true, (3500, 1000)),
    ):
        X, y = make()
        assert X.shape == shape
        assert np.array_equal(y, make()[1])
