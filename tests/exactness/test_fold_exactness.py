"""Squared loss over folds against literal refits, and what the path says of its folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, LeaveOneOut, LeavePOut

from agreement import assert_follows, fold_shares, literal_fold_losses
from greedyrls import (
    extend_path,
    greedy_path,
)
from literal import literal_path
from problems import FOLD_KINDS, Case, fold_cases, named_problems, splits_of
from sweeps import EXAMPLES
from tuning import Tune

SAME = 1e-9


def scale_of(case: Case) -> float:
    """Of the losses: what the empty model's loss rounds to is not known of a smaller one."""
    return float(np.mean(case.y**2))


@pytest.mark.heavy
@settings(max_examples=max(20, min(400, EXAMPLES // 3)))
@given(case=fold_cases())
def test_path_and_all_candidates_are_those_of_literal_refits(case: Case) -> None:
    path = greedy_path(case.X, case.y, case.n_features, n_runners_up=99, **case.options)
    twin = literal_path(case.X, case.y, case.n_features, **case.literal_options)
    steps = assert_follows(path, twin, SAME, 1e-12 * scale_of(case))
    for place, step in enumerate(path.steps[:steps]):
        searched = set(twin.candidate_losses[place]) - {step.index}
        assert {index for index, _ in step.runners_up} == (set() if step.forced else searched)


@pytest.mark.heavy
@settings(max_examples=max(20, min(400, EXAMPLES // 3)))
@given(case=fold_cases())
def test_fold_losses_and_standard_errors(case: Case) -> None:
    path = greedy_path(case.X, case.y, case.n_features, **case.options)
    shares = fold_shares(case)
    assert path.fold_losses is not None
    for k in range(1, len(path) + 1):
        step = path.steps[k - 1]
        expected = literal_fold_losses(case, path.indices[:k].tolist())
        floor = 1e-12 * (scale_of(case) + expected.max())
        assert_allclose(path.fold_losses[k - 1], expected, rtol=SAME, atol=floor)
        assert step.fold_losses == tuple(path.fold_losses[k - 1])
        assert step.loss == pytest.approx(shares @ expected, rel=SAME, abs=floor)
        K = len(shares)
        spread = shares * (expected - shares @ expected)
        error = np.sqrt(np.sum(spread**2) * K / (K - 1))
        assert step.standard_error == pytest.approx(error, rel=1e-6, abs=10 * floor)


@pytest.mark.heavy
@settings(max_examples=max(20, min(200, EXAMPLES // 5)))
@given(case=fold_cases())
def test_losses_and_models_are_those_of_scikit_learn(case: Case) -> None:
    path = greedy_path(case.X, case.y, case.n_features, **case.options)
    alpha, fit_intercept = case.options["alpha"], case.options["fit_intercept"]
    weights = case.options.get("sample_weight", np.ones(len(case.X)))
    X, Y = case.X.astype(float), case.y.reshape(len(case.X), -1)
    for k in range(1, len(path) + 1):
        columns = X[:, path.indices[:k]]
        total = tested = 0.0
        for train, test in case.splits:
            ridge = Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="svd")
            ridge.fit(columns[train], Y[train], weights[train])
            errors = (ridge.predict(columns[test]).reshape(Y[test].shape) - Y[test]) ** 2
            total += weights[test] @ errors.mean(axis=1)
            tested += weights[test].sum()
        floor = 1e-11 * scale_of(case)
        assert path.losses[k - 1] == pytest.approx(total / tested, rel=1e-8, abs=floor)
        whole = Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="svd")
        whole.fit(columns, Y, weights)
        expected = whole.predict(columns).reshape(case.y.shape)
        assert_allclose(path.predict(case.X, k), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", ["tall", "wide", "duplicates", "constant columns", "rare binary"])
def test_as_many_folds_as_rows_are_leave_one_out(
    name: str, alpha: float, fit_intercept: bool, weighted: bool
) -> None:
    X, y = named_problems()[name]
    X, y = X[:40, :50], y[:40]
    options: dict[str, Any] = {"alpha": alpha, "fit_intercept": fit_intercept}
    if weighted:
        options["sample_weight"] = np.random.default_rng(1).random(len(y)) + 0.1
    loo = greedy_path(X, y, 8, **options)
    # Row numbers as pairs: a LeaveOneOut splitter would be taken for what it is.
    for cv in (
        KFold(len(y)),
        LeavePOut(1),
        len(y),
        np.arange(len(y)),
        list(LeaveOneOut().split(X)),
    ):
        path = greedy_path(X, y, 8, cv=cv, **options)
        assert path.indices.tolist() == loo.indices.tolist()
        assert_allclose(path.losses, loo.losses, rtol=SAME)
        assert_allclose(path.standard_errors, loo.standard_errors, rtol=1e-7)
    assert greedy_path(X, y, 8, cv=LeaveOneOut(), **options).settings.cv == "loo"


@pytest.mark.parametrize("cv", [5, KFold(4, shuffle=True, random_state=1), "ids", "pairs"])
def test_of_equal_columns_the_lowest_index_wins(cv: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4))[:, [0, 1, 2, 1, 3, 1, 2]]
    y = X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.standard_normal(40)
    if cv == "ids":
        cv = np.arange(40) % 3 - 1
    elif cv == "pairs":
        cv = [(np.arange(20), np.arange(20, 30)), (np.arange(10, 40), np.arange(10))]
    order = greedy_path(X, y, 7, cv=cv, alpha=0.1, n_runners_up=2).indices.tolist()
    assert order[:2] == [1, 2]
    assert [index for index in order if index in (1, 3, 5)] == [1, 3, 5]
    assert [index for index in order if index in (2, 6)] == [2, 6]


@pytest.mark.parametrize("shift", [0.0, 1e4])
@pytest.mark.parametrize("seed", range(4))
def test_tiny_losses_of_a_target_without_noise(seed: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 12)) + shift
    y = (X[:, [7, 2, 9]] - shift) @ [1.0, -2.0, 0.5] + 3.0
    cv = KFold(5, shuffle=True, random_state=seed)
    splits = list(cv.split(X))
    path = greedy_path(X, y, 5, cv=cv, alpha=1e-8, n_runners_up=2)
    assert set(path.indices[:3].tolist()) == {7, 2, 9}
    twin = literal_path(X, y, 3, cv=splits, alpha=1e-8)
    assert path.losses[2] < 1e-16
    # A residual is a difference of numbers of the size of X and y: no more of it can be known.
    rounding = 1e-14 * (1.0 + shift)
    for loss, expected in zip(path.losses, twin.losses, strict=False):
        floor = rounding * (np.sqrt(expected) + rounding)
        assert loss == pytest.approx(expected, rel=SAME, abs=floor)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", sorted(named_problems().keys() - {"outliers"}))
def test_named_problems(name: str, alpha: float) -> None:
    X, y = named_problems()[name]
    cv = KFold(3, shuffle=True, random_state=0)
    path = greedy_path(X, y, 12, cv=cv, alpha=alpha)
    for k in (1, 5, 12):
        case = Case(X, y, 12, {"alpha": alpha, "fit_intercept": True}, list(cv.split(X)))
        expected = literal_fold_losses(case, path.indices[:k].tolist())
        assert_allclose(path.fold_losses[k - 1], expected, rtol=SAME)


def tall_case(fold_kind: str) -> Case:
    rng = np.random.default_rng(5)
    X, y = named_problems()["autocorrelated"]
    options, splits = splits_of(fold_kind, rng, len(y), None)
    return Case(X, y, 15, options | {"alpha": 0.3, "fit_intercept": True}, splits)


@pytest.mark.parametrize("fold_kind", FOLD_KINDS)
def test_small_tiles_and_budgets_change_nothing(fold_kind: str, tune: Tune) -> None:
    case = tall_case(fold_kind)
    path = greedy_path(case.X, case.y, case.n_features, **case.options)
    tune(
        fold_tile_elements=1,
        held_out_elements=1,
        held_out_kept_bytes=0,
        held_out_kept_share=0.05,
        held_out_buffer_columns=2,
        fold_loss_rounding=1e6,  # the rows decide at every step
    )
    again = greedy_path(case.X, case.y, case.n_features, **case.options)
    assert path.indices.tolist() == again.indices.tolist()
    assert_allclose(path.losses, again.losses, rtol=1e-10)
    assert_allclose(path.fold_losses, again.fold_losses, rtol=1e-10)


@pytest.mark.parametrize("fold_kind", FOLD_KINDS)
def test_a_path_by_folds_is_extended(fold_kind: str) -> None:
    case = tall_case(fold_kind)
    full = greedy_path(case.X, case.y, case.n_features, **case.options)
    folds = {name: case.options[name] for name in ("cv", "groups") if name in case.options}
    longer = extend_path(full.truncated(6), case.X, case.y, case.n_features, **folds)
    assert longer.indices.tolist() == full.indices.tolist()
    assert_allclose(longer.losses, full.losses, rtol=1e-12)
    assert_allclose(longer.coef(), full.coef(), rtol=1e-9)
    with pytest.raises(ValueError, match=r"selected with cv: .*; this is cv: loo\. Pass"):
        extend_path(full.truncated(6), case.X, case.y, case.n_features)
