"""Folds in the order of time: earlier rows are trained on, later ones tested, at every level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import TimeSeriesSplit

from assess_checks import assert_is_literal
from assess_twin import Question as Asked
from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, greedy_path
from greedyrls.assess import cross_validate_path
from internals import (
    Column,
    InputError,
    Question,
    TimeOrderedSplit,
    assess,
    choose,
    model_curve,
    plan_folds,
)
from small_tables import numbers, plain_table, prepared_of, refusal, signal, texts


def splits_of(
    times: Any, n_splits: int, groups: Any = None, y: Any = None
) -> list[tuple[Any, Any]]:
    """Splits of rows with these times, whose units are the given groups or equal times."""
    times = np.asarray(times)
    units = np.unique(times if groups is None else groups, return_inverse=True)[1]
    starts = np.array([times[units == unit].min() for unit in range(units.max() + 1)])
    ends = np.array([times[units == unit].max() for unit in range(units.max() + 1)])
    splitter = TimeOrderedSplit(n_splits, starts, ends, keeps_classes=y is not None)
    return list(splitter.split(np.zeros(len(times)), y, units))


@pytest.mark.parametrize("n_splits", [2, 3, 5, 10])
@pytest.mark.parametrize("m", [11, 12, 40, 101])
def test_without_ties_it_is_that_of_scikit_learn(m: int, n_splits: int) -> None:
    times = np.random.default_rng(m).permutation(m)
    order = np.argsort(times)
    theirs = TimeSeriesSplit(n_splits, test_size=max(1, m // (2 * n_splits)))
    expected = list(theirs.split(np.zeros(m)))
    for (train, test), (earlier, later) in zip(splits_of(times, n_splits), expected, strict=True):
        assert_array_equal(train, np.sort(order[earlier]))
        assert_array_equal(test, np.sort(order[later]))


def test_each_test_begins_later_than_the_one_before() -> None:
    """Also where the time nearest to where it should begin is that of the test before."""
    times = np.repeat([0, 1, 2, 3], [60, 35, 3, 2])
    assert [int(test[0]) for _, test in splits_of(times, 3)] == [60, 95, 98]


@pytest.mark.parametrize("seed", range(30))
def test_neither_times_nor_groups_are_taken_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(30, 80))
    times = np.floor(np.sort(rng.random(m)) * rng.integers(10, 40))
    groups = None
    if seed % 2:
        # Patients who come several times, not all of them at once.
        groups = np.minimum(np.arange(m) // 3 + rng.integers(0, 3, m), m // 3)
    y = None
    if seed % 3 == 0:
        y = rng.permuted(np.arange(m) % 3)
    shuffled = rng.permutation(m)
    times = times[shuffled]
    groups = None if groups is None else groups[shuffled]
    splits = splits_of(times, 3, groups, y)
    assert len(splits) == 3
    units = times if groups is None else groups
    tested: list[Any] = []
    for train, test in splits:
        assert len(train)
        assert len(test)
        assert times[train].max() < times[test].min()
        assert not set(units[train]) & set(units[test])
        # All of a unit, or nothing of it.
        for rows in (train, test):
            assert np.isin(units, units[rows]).sum() == len(rows)
        if y is not None:
            assert set(y[train]) == {0, 1, 2}
        tested += test.tolist()
    assert len(set(tested)) == len(tested)
    # Without groups, all later rows are tested.
    if groups is None:
        assert set(tested) == set(np.flatnonzero(times >= times[tested].min()))


def test_folds_that_cannot_be() -> None:
    with pytest.raises(ValueError, match=r"2 times at which a test can begin, .* too few for 3"):
        splits_of([1, 1, 2, 3, 3], 3)
    late = np.array(["a"] * 9 + ["b"])
    with pytest.raises(ValueError, match="with rows of every class before it"):
        splits_of(np.arange(10), 2, y=late)


def test_folds_within_folds_are_made_again() -> None:
    """Literally: each penalty judged by searches whose own folds are of earlier rows alone."""
    X, y = signal(48, 5, seed=4)
    times = np.random.default_rng(1).permutation(48) // 2
    units = np.unique(times, return_inverse=True)[1]
    ranks = np.arange(24)
    penalties = [0.5, 20.0]
    path = greedy_path(
        X,
        y,
        3,
        alpha=penalties,
        cv=TimeOrderedSplit(2, ranks, ranks, "the order of 't'"),
        alpha_cv=TimeOrderedSplit(3, ranks, ranks, "the order of 't'"),
        groups=units,
        refit_alpha="same",
    )
    assert path.settings.cv == "2 folds in the order of 't'"
    assert path.surface is not None
    assert path.surface.folds == "3 folds in the order of 't'"
    assert path.surface.fold_losses is not None
    for number, (train, test) in enumerate(splits_of(times, 3)):
        inner = splits_of(times[train], 2)
        for place, alpha in enumerate(penalties):
            twin = greedy_path(X[train], y[train], 3, alpha=alpha, cv=inner)
            losses = [
                np.mean(np.square(y[test] - twin.predict(X[test], size))) for size in (1, 2, 3)
            ]
            assert_allclose(path.surface.fold_losses[number, place], losses, rtol=1e-9)
    given = greedy_path(X, y, 3, alpha=path.settings.alpha, cv=splits_of(times, 2))
    assert path.indices.tolist() == given.indices.tolist()
    assert_allclose(path.losses, given.losses, rtol=1e-9)


# In Python, with scikit-learn's splitter.


@pytest.mark.parametrize("name", ["size given", "size chosen", "all in time", "classes"])
def test_assessments_in_time_are_literal(name: str) -> None:
    X, y = signal(60, 4, seed=2)
    cv = TimeSeriesSplit(3, test_size=8)
    options: dict[str, Any] = {"alpha": [0.5, 20.0], "alpha_cv": TimeSeriesSplit(2)}
    size: Any = "auto" if name == "size chosen" else 2
    if name == "all in time":
        options["inner_cv"] = TimeSeriesSplit(4)
    target: Any = y
    if name == "classes":
        target = np.where(y > 0.0, "b", "a")
    asked = Asked(X, target, size, options, is_classification=name == "classes")
    found = assert_is_literal(asked, cv, list(cv.split(X)))
    # Rows that are never tested count for no error.
    assert found.n_independent == 24
    assert found.test_ratio == pytest.approx(24 / 44)
    assert "TimeSeriesSplit(n_splits=3, test_size=8" in found.sentence


def test_estimators_in_time() -> None:
    X, y = signal(60, 4, seed=2)
    options: dict[str, Any] = {"cv": TimeSeriesSplit(8), "alpha_cv": TimeSeriesSplit(3)}
    model = GreedyRLSRegressor(2, alpha=[0.5, 20.0], **options).fit(X, y)
    assert model.path_.surface.folds.startswith("TimeSeriesSplit(n_splits=3")
    labels = np.where(y > 0.0, "b", "a")
    classifier = GreedyRLSClassifier(2, alpha=[0.5, 20.0], **options).fit(X, labels)
    assert_allclose(classifier.predict_proba(X).sum(axis=1), 1.0)


# On the command line.


def in_time(m: int = 60, **more: Column) -> dict[str, Column]:
    order = np.random.default_rng(5).permutation(m)
    return {**plain_table(m), "t": numbers(order // 2), **more}


def test_all_levels_are_in_time() -> None:
    prepared = prepared_of(in_time(), time="t")
    assert [feature.name for feature in prepared.features] == [f"x{place}" for place in range(5)]
    assert prepared.notes == (
        "Rows are in the order of 't': all folds train on earlier rows and test on later ones; 't' "
        "itself is not a feature.",
    )
    plan = plan_folds(prepared, Question(), 10)
    counts = [one.n_splits for one in (plan.outer, plan.penalty, plan.criterion)]
    assert counts == [10, 5, 5]
    assert plan_folds(prepared, Question(2, 1.0, folds=4), None).criterion.n_splits == 4
    assert plan_folds(prepared, Question(2, 1.0), None).penalty is None
    # Thirty times, of which the first cannot be tested.
    assert plan_folds(prepared, Question(2, 1.0, folds=10**9), None).criterion.n_splits == 29
    path = choose(prepared, Question(alpha=[0.1, 10.0]))
    assert path.settings.cv == "5 folds in the order of 't'"
    assert "(5 folds in the order of 't')" in path.sentence
    curve = model_curve(prepared, Question(alpha=[0.1, 10.0]), path)
    assert curve is not None
    assert np.isfinite(curve.mean).all()
    found = assess(prepared, Question(2, 1.0), 4)
    assert found.folds == "4 folds in the order of 't'"
    assert "(4 folds in the order of 't')" in found.sentence
    assert found.criterion.startswith("5 folds in the order of 't', squared")


def test_the_rows_of_a_file_may_be_in_any_order() -> None:
    columns = in_time()
    order = np.random.default_rng(6).permutation(60)
    shuffled: dict[str, Column] = {
        name: numbers(column.values[order])  # type: ignore[union-attr]
        for name, column in columns.items()
    }
    question = Question(3, [0.1, 10.0])
    one, other = (prepared_of(table, time="t") for table in (columns, shuffled))
    assert_allclose(
        assess(one, question, 4).test_losses, assess(other, question, 4).test_losses, rtol=1e-8
    )
    paths = [choose(prepared, question) for prepared in (one, other)]
    assert paths[0].indices.tolist() == paths[1].indices.tolist()
    assert_allclose(paths[0].losses, paths[1].losses, rtol=1e-8)


def test_classes_and_groups_in_time() -> None:
    columns = in_time(80)
    y = columns["y"].values  # type: ignore[union-attr]
    columns["y"] = texts("yes" if value > 0.0 else "no" for value in y)
    columns["who"] = numbers(columns["t"].values // 4)  # type: ignore[union-attr]
    prepared = prepared_of(columns, time="t", groups="who")
    assert prepared.groups is not None
    assert prepared.groups.max() == 9
    found = assess(prepared, Question(2, 1.0), 3)
    assert found.n_independent is not None
    assert found.n_independent <= 6  # groups of the later half
    assert found.class_rates is not None
    for folds in (found.folds, found.criterion):
        assert "folds in the order of 't'" in folds


def test_times_that_order_nothing() -> None:
    columns = in_time(t=numbers([*range(58), None, 3]))
    message = refusal(columns, time="t")
    assert "Column 't' (--time) of data.csv has missing values, first in row 59" in message
    y = [None, *range(59)]
    columns["y"] = numbers(y)
    assert "first in row 59" in refusal(columns, time="t", drops_missing_target=True)
    columns["t"] = numbers([None, *range(59)])  # the row is left out anyway
    assert len(prepared_of(columns, time="t", drops_missing_target=True).y) == 59
    assert "has a single value" in refusal(in_time(t=numbers([3.0] * 60)), time="t")
    assert "has text; it must have dates, timestamps or numbers" in refusal(
        in_time(t=texts(["a", "b"] * 30)), time="t"
    )
    assert "cannot be both --target and --time" in refusal(in_time(), time="y")
    assert "cannot be both --time and --keep" in refusal(in_time(), time="t", kept=("t",))
    message = refusal(in_time(who=numbers([0, 1, 2] * 20)), time="t", groups="who")
    assert "groups of 'who' overlap in time" in message
    few = prepared_of(in_time(t=numbers([0, 1] * 30)), time="t")
    with pytest.raises(InputError, match=r"cannot be tested in the order of 't': there .* 1 time"):
        plan_folds(few, Question(), None)


def walks(seed: int, m: int = 200, n: int = 6) -> dict[str, Column]:
    """Random walks that have nothing to do with each other, such as prices over the years."""
    steps = np.random.default_rng(seed).standard_normal((m, n + 1))
    values = steps.cumsum(axis=0)
    columns: dict[str, Column] = {f"x{place}": numbers(values[:, place]) for place in range(n)}
    return {**columns, "y": numbers(values[:, n]), "t": numbers(range(m))}


def test_shuffled_folds_are_too_good_where_there_is_a_trend() -> None:
    question, shuffled, ordered, future, without = Question(3, 1.0), 0.0, 0.0, 0.0, 0.0
    for seed in range(6):
        columns = walks(seed)
        # What is known when the model is made, and what comes then.
        known: dict[str, Column] = {
            name: numbers(column.values[:150])  # type: ignore[union-attr]
            for name, column in columns.items()
        }
        prepared = prepared_of(known, dropped=("t",))
        shuffled += assess(prepared, question, 5).estimate[0]
        in_order = prepared_of(known, time="t")
        found = assess(in_order, question, 5)
        ordered += found.estimate[0]
        without += found.initial_loss
        path = choose(in_order, question)
        X = np.column_stack([columns[f"x{place}"].values for place in range(6)])  # type: ignore[union-attr]
        scaled = (X[150:] - X[:150].mean(axis=0)) / X[:150].std(axis=0)
        y = columns["y"].values[150:]  # type: ignore[union-attr]
        future += float(np.mean(np.square(y - path.predict(scaled, 3))))
    assert shuffled < 0.15 * future
    assert 0.3 * future < ordered < 3.0 * future
    assert shuffled < 0.3 * without  # "explains most of it", which it does not


def test_cross_validation_with_both_splitters_of_scikit_learn() -> None:
    X, y = signal(60, 4, seed=2)
    found = cross_validate_path(
        X, y, "auto", cv=TimeSeriesSplit(4), alpha_cv=TimeSeriesSplit(3), n_random=0
    )
    assert np.isfinite(found.estimate).all()
    assert found.n_independent == 48


def test_time_on_the_command_line(capsys: Any, tmp_path: Path) -> None:
    pytest.importorskip("click")
    pytest.importorskip("pyarrow")
    from command_line import QUICK, CommandLine

    cli = CommandLine(capsys)
    X, y = signal(60, 3)
    days = np.datetime64("2024-01-01") + np.random.default_rng(0).permutation(60)
    lines = ["sold,a,b,c,y"]
    lines += [
        f"{day},{a},{b},{c},{target}" for day, (a, b, c), target in zip(days, X, y, strict=True)
    ]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(lines) + "\n")
    base = (file, "-t", "y", "--time", "sold", *QUICK)
    shown = " ".join(cli.fine("select", *base, "--folds", "3").split())
    assert "test on later ones; 'sold' itself is not a feature." in shown
    assert "Fewer folds than usual" not in shown
    assert "The search uses 5 folds in the order of 'sold' instead of leave-one-out" in shown
    assert "(3 folds in the order of 'sold')" in shown
    found = cli.result(*base, "--cv", "3")
    assert "instead of leave-one-out" not in "".join(found.data.notes)
    assert found.path.settings.cv == "3 folds in the order of 'sold'"
    assert found.origin.parameters["time"] == "sold"
    assert "(4 folds in the order of 'sold')" in " ".join(
        cli.fine("assess", *base, "--folds", "4").split()
    )
    both = cli.result(*base, "--dates", "sold", "--force", "sold", "-k", "10")
    assert "sold: days" in [feature.name for feature in both.features]
    for option in ("--resamples", "--permutations"):
        message = cli.refusal("select", *base, option, "20")
        assert f"{option} assumes that rows are exchangeable" in message
    file.write_text("\n".join([*lines, "?,1,2,3,4"]) + "\n")
    assert "'sold' (--time) of" in (message := cli.refusal("select", *base))
    assert "missing values, first in line 62" in message
    file.write_text("\n".join([*lines, "soon,1,2,3,4"]) + "\n")
    assert "'soon' in line 62 is not a date such as 2024-01-31" in cli.refusal("select", *base)
