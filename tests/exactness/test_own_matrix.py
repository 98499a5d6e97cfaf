"""Exactness on kinds of X that are defined in the tests and unknown to the package.

The same random problems and literal refits as for NumPy arrays, and options one by one against the
answer of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupKFold, RepeatedKFold

from agreement import assert_follows, literal_fold_losses
from greedyrls import SelectionPath, extend_path, greedy_path
from greedyrls.assess import cross_validate_path
from grouped import GroupCase, assert_follows_groups, group_cases, literal_groups
from internals import FoldData, ManyFoldData, Matrix, make_plan, make_problem
from literal import literal_path
from literal_directions import literal_search
from own_matrices import (
    KINDS,
    ListedColumns,
    ScaledIntegers,
    listed,
    scaled,
    stored_columns,
    stored_rows,
)
from problems import FOLD_KINDS, Case, fold_cases, named_problems
from sweeps import EXAMPLES
from tuning import tuned

SAME = 1e-9
# Rounding to 8 bits leaves nothing of columns far from the origin.
NEAR = ["normal", "integer", "binary", "scaled"]
CONTINUOUS = ["normal", "scaled"]
SWEEP = max(4, min(300, EXAMPLES // 8))
Kind = Callable[[Any], tuple[Matrix, Any]]
every_kind = pytest.mark.parametrize("kind", KINDS)


def assert_is_literal(kind: Kind, case: Case, loss: Any = "squared", **options: Any) -> None:
    """The path, all candidates at each step and losses by fold are those of refits."""
    X, values = kind(case.X)
    case = replace(case, X=values)
    everything = options | case.options
    path = greedy_path(X, case.y, case.n_features, loss=loss, n_runners_up=99, **everything)
    twin = literal_path(case.X, case.y, case.n_features, loss=loss, **case.literal_options)
    same = SAME + 4e-15 * float(np.abs(case.X.mean(axis=0)).max())
    assert_follows(path, twin, same, 1e-12 * float(np.mean(np.square(case.y))))
    if case.splits != "loo":
        assert path.fold_losses is not None
        expected = literal_fold_losses(case, path.indices.tolist(), loss)
        assert_allclose(path.fold_losses[-1], expected, rtol=same, atol=1e-11)


@every_kind
@pytest.mark.heavy
@settings(max_examples=SWEEP)
@given(case=fold_cases(folds=["loo"], kinds=NEAR))
def test_leave_one_out(kind: Kind, case: Case) -> None:
    for search in ("bounded", "exhaustive"):
        assert_is_literal(kind, case, search=search)


@every_kind
@pytest.mark.heavy
@settings(max_examples=SWEEP)
@given(case=fold_cases(kinds=NEAR))
def test_folds(kind: Kind, case: Case) -> None:
    assert_is_literal(kind, case)


@every_kind
@pytest.mark.heavy
@settings(max_examples=SWEEP)
@given(case=fold_cases(folds=["k-fold", "shuffled", "groups", "unequal"], kinds=NEAR))
def test_many_small_folds(kind: Kind, case: Case) -> None:
    with tuned(fold_engine="many"):
        X, _ = kind(case.X)
        problem = make_problem(X, case.y, sample_weight=case.options.get("sample_weight"))
        folds = {name: case.options[name] for name in ("cv", "groups") if name in case.options}
        found = type(make_plan(problem, **folds).data(problem))
        assert found is (ManyFoldData if kind is scaled else FoldData)
        assert_is_literal(kind, case)


def power_loss(y_true: Any, y_pred: Any) -> float:
    return float(np.mean(np.abs(y_true - y_pred) ** 1.5))


@every_kind
@pytest.mark.heavy
@pytest.mark.parametrize("loss", ["absolute", power_loss])
@settings(max_examples=SWEEP)
@given(case=fold_cases(folds=["loo", "loo", *FOLD_KINDS], kinds=NEAR))
def test_losses_of_numbers(kind: Kind, loss: Any, case: Case) -> None:
    assert_is_literal(kind, case, loss)


@every_kind
@pytest.mark.heavy
@pytest.mark.parametrize("loss", ["zero_one", "balanced_zero_one"])
@settings(max_examples=SWEEP)
@given(case=fold_cases(folds=["loo", "stratified"], kinds=CONTINUOUS, labelled=True))
def test_losses_of_classes(kind: Kind, loss: Any, case: Case) -> None:
    assert_is_literal(kind, case, loss)


@every_kind
@pytest.mark.heavy
@settings(max_examples=SWEEP)
@given(case=fold_cases(folds=["loo", "stratified"], kinds=["normal"], labelled=True, max_classes=2))
def test_auc(kind: Kind, case: Case) -> None:
    if kind.__name__ == "genotypes":
        pytest.skip("With three values, predictions tie up to rounding, and AUC counts ties.")
    assert_is_literal(kind, case, "auc")


@every_kind
@pytest.mark.heavy
@settings(max_examples=SWEEP)
@given(problem=group_cases(folds=["loo", *FOLD_KINDS], kinds=NEAR))
def test_groups(kind: Kind, problem: GroupCase) -> None:
    X, values = kind(problem.case.X)
    y, size = problem.case.y, problem.n_groups
    path = greedy_path(X, y, size, n_runners_up=2, **problem.options)
    twin = literal_groups(values, y, problem.groups, size, **problem.literal_options)
    assert_follows_groups(path, twin, None)


@pytest.mark.parametrize("kind", [scaled, listed, stored_rows, stored_columns])
@pytest.mark.heavy
@pytest.mark.parametrize("direction", ["floating", "foba", "swap", "backward"])
@settings(max_examples=SWEEP)
@given(case=fold_cases(folds=["loo", "shuffled"], kinds=CONTINUOUS, max_features=6))
def test_directions(kind: Kind, direction: Any, case: Case) -> None:
    X, values = kind(case.X)
    options: dict[str, Any] = {"direction": direction} | case.options
    with tuned(held_features=2):
        path = greedy_path(X, case.y, case.n_features, **options)
    same = greedy_path(values, case.y, case.n_features, **options)
    moves = [(step.action, step.index) for step in path.steps]
    assert moves == [(step.action, step.index) for step in same.steps]
    search = literal_search(values, case.y, **case.literal_options)
    floor = 1e-12 * float(np.mean(np.square(case.y)))
    for best in path.sets:
        assert best.loss == pytest.approx(search.score(best.features), rel=1e-8, abs=floor)


# Options on one problem, against NumPy -----------------------------------------------------------

M, N, SIZE = 60, 20, 6


def problem(kind: Kind) -> tuple[Matrix, Any, Any]:
    """Our matrix, the array that it stands for, and targets."""
    rng = np.random.default_rng(4)
    values = rng.standard_normal((M, N)) + rng.standard_normal(N)
    values[:, 7] = values[:, 2]  # a tie
    X, values = kind(values)
    return X, values, values[:, :4] @ [1.0, -1.0, 0.5, 2.0] + 0.5 * rng.standard_normal(M)


def assert_same(path: SelectionPath, other: SelectionPath, values: Any) -> None:
    assert_array_equal(path.indices, other.indices)
    assert_allclose(path.losses, other.losses, rtol=1e-12)
    assert_allclose(path.standard_errors, other.standard_errors, rtol=1e-8)
    # Of equal columns only the sum of their coefficients is determined.
    assert_allclose(path.predict(values), other.predict(values), rtol=1e-9, atol=1e-10)
    assert path.chosen_size == other.chosen_size
    assert path.settings.alpha == pytest.approx(other.settings.alpha, rel=1e-12)
    for one, two in zip(path.steps, other.steps, strict=True):
        assert [index for index, _ in one.runners_up] == [index for index, _ in two.runners_up]


_GROUPS = {f"g{place}": [place, place + 10] for place in range(10)}
_COSTS = (1.0 + np.arange(N) % 3).tolist()
_WEIGHTS = np.random.default_rng(5).random(M) * (np.arange(M) % 5 > 0)
_SAMPLE_GROUPS = np.arange(M) % 12
EVERYWHERE: dict[str, dict[str, Any]] = {
    "weights": {"sample_weight": _WEIGHTS},
    "weights, folds": {"sample_weight": _WEIGHTS, "cv": 4},
    "no intercept": {"fit_intercept": False},
    "bounded": {"search": "bounded", "n_runners_up": 3},
    "exhaustive": {"search": "exhaustive", "n_runners_up": 3},
    "forced": {"forced_features": [9, 3], "excluded_features": [0, 15]},
    "a small penalty": {"alpha": 1e-6},
    "nested": {"alpha": [0.1, 1.0, 10.0]},
    "nested, folds": {"alpha": [0.1, 10.0], "cv": 4},
    "joint": {"alpha": [0.1, 1.0, 10.0], "alpha_rule": "joint"},
    "automatic penalty": {"alpha": "auto"},
    "penalty of the model": {"refit_alpha": "loo"},
    "groups": {"feature_groups": _GROUPS},
    "groups, absolute": {"feature_groups": _GROUPS, "loss": "absolute"},
    "costs": {"feature_costs": _COSTS},
    "costs, folds": {"feature_costs": _COSTS, "cv": 4},
    "blocks": {"block_rows": 7},
    "blocks, absolute": {"block_rows": 7, "loss": "absolute"},
    "threads": {"n_jobs": 2, "block_rows": 20},
    "repeated folds": {"cv": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)},
    "samples in groups": {"cv": GroupKFold(4), "groups": _SAMPLE_GROUPS},
    "patience": {"patience": 2},
}
_LABELS = np.where(np.random.default_rng(6).random(M) < 0.4, 1.0, -1.0)
LOCAL: dict[str, dict[str, Any]] = {
    **{name: {"direction": name} for name in ("floating", "foba", "swap", "backward")},
    "floating, folds": {"direction": "floating", "cv": 4},
    "floating, groups": {"direction": "floating", "feature_groups": _GROUPS},
    "swap, absolute": {"direction": "swap", "loss": "absolute"},
    "foba, weights": {"direction": "foba", "sample_weight": _WEIGHTS},
    "backward, absolute": {"direction": "backward", "loss": "absolute"},
    "backward, area, folds": {"direction": "backward", "loss": "auc", "cv": 4, "y": _LABELS},
    "backward, folds": {"direction": "backward", "cv": 4, "n_runners_up": 2},
    "backward, weights": {"direction": "backward", "sample_weight": _WEIGHTS},
    "backward, weights, folds": {"direction": "backward", "sample_weight": _WEIGHTS, "cv": 4},
    "backward, groups": {"direction": "backward", "feature_groups": _GROUPS},
    "backward, no intercept": {"direction": "backward", "fit_intercept": False},
    "backward, forced": {
        "direction": "backward",
        "forced_features": [9, 3],
        "excluded_features": [0, 15],
    },
    "backward, nested": {"direction": "backward", "alpha": [0.1, 10.0], "alpha_cv": 3},
    "all features": {"alpha": [0.1, 10.0], "alpha_rule": "all_features"},
    "all features, folds": {"alpha": [0.1, 10.0], "alpha_rule": "all_features", "cv": 4},
    "all features, weights": {
        "alpha": "auto",
        "alpha_rule": "all_features",
        "sample_weight": _WEIGHTS,
        "excluded_features": [3],
    },
    "penalty by folds": {"refit_alpha": "cv", "cv": 4},
    "penalty by folds, weights": {"refit_alpha": "cv", "cv": 4, "sample_weight": _WEIGHTS},
}


@every_kind
@pytest.mark.parametrize("name", EVERYWHERE)
def test_options(kind: Kind, name: str) -> None:
    X, values, y = problem(kind)
    options = EVERYWHERE[name]
    assert_same(greedy_path(X, y, SIZE, **options), greedy_path(values, y, SIZE, **options), values)


@pytest.mark.parametrize("kind", [scaled, listed, stored_rows, stored_columns])
@pytest.mark.parametrize("n_rows", [M, N // 2])
@pytest.mark.parametrize("name", LOCAL)
def test_options_of_all_features_and_removals(name: str, n_rows: int, kind: Kind) -> None:
    """With more rows than features, and with fewer."""
    _, values, y = problem(kind)
    X, values = kind(values[:n_rows])
    options = {"y": y} | LOCAL[name]
    for key in ("y", "sample_weight"):
        if key in options:
            options[key] = options[key][:n_rows]
    expected = greedy_path(values, n_features=SIZE, **options)
    with tuned(held_features=1 if "groups" in name else 3):
        path = greedy_path(X, n_features=SIZE, **options)
    moves = [(step.action, step.features) for step in path.steps]
    assert moves == [(step.action, step.features) for step in expected.steps]
    assert (path.refit_alphas or ()) == pytest.approx(expected.refit_alphas or (), rel=1e-9)
    assert_same(path, expected, values)


@every_kind
@pytest.mark.parametrize("cv", ["loo", 4])
def test_several_targets(kind: Kind, cv: Any) -> None:
    X, values, y = problem(kind)
    Y = np.stack([y, values[:, 5] - y**2], axis=1)
    assert_same(greedy_path(X, Y, SIZE, cv=cv), greedy_path(values, Y, SIZE, cv=cv), values)


@every_kind
def test_automatic_size(kind: Kind) -> None:
    X, values, y = problem(kind)
    for options in ({}, {"alpha": "auto", "size_rule": "min"}):
        path = greedy_path(X, y, "auto", **options)
        assert_same(path, greedy_path(values, y, "auto", **options), values)


@every_kind
def test_several_penalties(kind: Kind) -> None:
    X, values, y = problem(kind)
    options: dict[str, Any] = {"alpha": [0.1, 1.0, 10.0], "alpha_rule": "joint"}
    assert_same(greedy_path(X, y, SIZE, **options), greedy_path(values, y, SIZE, **options), values)


@every_kind
def test_checkpoint_and_extension(kind: Kind, tmp_path: Path) -> None:
    X, values, y = problem(kind)
    file = tmp_path / "path.json"
    expected = greedy_path(values, y, SIZE)
    stopped = greedy_path(X, y, SIZE, checkpoint=file, callback=lambda step: step.index == 1)
    assert_array_equal(stopped.indices, expected.indices[: len(stopped)])
    assert_same(greedy_path(X, y, SIZE, checkpoint=tmp_path / "other.json"), expected, values)
    assert_same(greedy_path(X, y, SIZE, checkpoint=tmp_path / "other.json"), expected, values)
    assert_same(extend_path(expected.truncated(2), X, y, SIZE), expected, values)


@every_kind
@pytest.mark.parametrize("name", ["tall", "wide", "duplicates", "constant columns", "rare binary"])
def test_named_problems(kind: Kind, name: str) -> None:
    X, y = named_problems()[name]
    own, values = kind(X)
    for search in ("bounded", "exhaustive"):
        path = greedy_path(own, y, 8, search=search)
        assert_same(path, greedy_path(values, y, 8, search=search), values)


@pytest.mark.parametrize("options", [{}, {"inner_cv": 3}, {"loss": "absolute"}], ids=str)
def test_assessment(options: dict[str, Any]) -> None:
    X, values, y = problem(scaled)
    ours, theirs = (cross_validate_path(data, y, 3, cv=3, **options) for data in (X, values))
    assert_allclose(ours.test_losses, theirs.test_losses, rtol=1e-10)
    for one, two in zip(ours.features, theirs.features, strict=True):
        assert_array_equal(one, two)


def test_values_that_are_not_finite() -> None:
    X = np.random.default_rng(0).standard_normal((30, 4))
    X[17, 2] = np.nan
    with pytest.raises(ValueError, match="row 17, column 2"):
        greedy_path(ListedColumns(X), X[:, 0], 2)


def test_integers_are_rounded_to_what_they_stand_for() -> None:
    matrix = ScaledIntegers.near(np.array([[1.0, 0.5], [100.0, 12.7]]))
    assert_allclose(matrix.part(slice(None)), [[1.0, 0.5], [100.0, 12.7]])
