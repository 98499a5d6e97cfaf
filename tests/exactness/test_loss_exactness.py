"""Every loss, leave-one-out and over folds, against literal refits; pruned counts against all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

from agreement import assert_follows, fold_shares, literal_fold_losses
from greedyrls import extend_path, greedy_path
from internals import Judge, LossState, make_loss, make_plan, make_problem
from literal import criterion, held_out_predictions, huberish, largest, literal_path
from problems import FOLD_KINDS, Case, fold_cases, two_classes
from sweeps import EXAMPLES
from traps import Traps
from tuning import Tune

SAME = 1e-9
# With equal predictions, areas depend on whether rounding keeps them equal.
CONTINUOUS = ["normal", "scaled", "far", "float32"]
SWEEP = max(15, min(300, EXAMPLES // 6))


def assert_is_literal(case: Case, loss: Any, **options: Any) -> None:
    everything = options | case.options
    path = greedy_path(case.X, case.y, case.n_features, loss=loss, n_runners_up=99, **everything)
    twin = literal_path(case.X, case.y, case.n_features, loss=loss, **case.literal_options)
    # Columns at 1e6 times their spread are known to 1e-10 of it, and leverages may take a digit.
    same = SAME + 4e-15 * float(np.abs(case.X.mean(axis=0)).max())
    assert_follows(path, twin, same, 1e-12 * float(np.mean(np.abs(case.y))))
    if case.splits == "loo":
        assert path.fold_losses is None
        return
    for k in range(1, len(path) + 1):
        expected = literal_fold_losses(case, path.indices[:k].tolist(), loss)
        assert_allclose(path.fold_losses[k - 1], expected, rtol=same, atol=1e-12)
        shares, K = fold_shares(case), len(expected)
        error = np.sqrt(np.sum((shares * (expected - shares @ expected)) ** 2) * K / (K - 1))
        assert path.standard_errors[k - 1] == pytest.approx(error, rel=1e-6, abs=1e-10)


@pytest.mark.heavy
@pytest.mark.parametrize("loss", ["absolute", huberish, largest])
@settings(max_examples=SWEEP)
@given(case=fold_cases(folds=["loo", "loo", "loo", *FOLD_KINDS]))
def test_losses_of_numbers(loss: Any, case: Case) -> None:
    assert_is_literal(case, loss)


@pytest.mark.heavy
@settings(max_examples=SWEEP)
@given(case=fold_cases(folds=["loo", "loo", "loo", *FOLD_KINDS], labelled=True))
def test_zero_one(case: Case) -> None:
    assert_is_literal(case, "zero_one")


@pytest.mark.heavy
@settings(max_examples=SWEEP)
@given(case=fold_cases(folds=["loo", "stratified"], labelled=True))
def test_balanced_zero_one(case: Case) -> None:
    assert_is_literal(case, "balanced_zero_one")


@pytest.mark.heavy
@settings(max_examples=SWEEP)
@given(case=fold_cases(folds=["loo", "stratified"], kinds=CONTINUOUS, labelled=True, max_classes=2))
def test_auc(case: Case) -> None:
    assert_is_literal(case, "auc")


LOSSES: dict[str, Any] = {
    "squared": "squared",
    "absolute": "absolute",
    "zero_one": "zero_one",
    "balanced_zero_one": "balanced_zero_one",
    "auc": "auc",
    "callable": huberish,
}


def labelled_problem(m: int = 90, n: int = 12) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(8)
    X, y = two_classes(m, n, seed=3, signal=0.5)
    X[:, 4] = X[:, 1]
    weights = rng.integers(0, 3, m).astype(float)
    return X, y, weights


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("name", ["absolute", "zero_one", "balanced_zero_one"])
def test_standard_errors_are_those_of_all_predictions_together(
    name: str, is_weighted: bool
) -> None:
    X, y, weights = labelled_problem(60, 8)
    w = weights if is_weighted else np.ones(60)
    used = np.flatnonzero(w)
    path = greedy_path(X, y, 4, loss=name, alpha=0.5, sample_weight=w, block_rows=7)
    splits = [(np.delete(np.arange(60), row), [row]) for row in used]
    loss = make_loss(name)
    for k in range(1, 5):
        chosen = path.indices[:k].tolist()
        found = held_out_predictions(X, y[:, None], splits, chosen, 0.5, True, w)
        P = np.vstack(found).T[:, None, :]
        covariance = loss.covariance(y[used, None], P, w[used])
        assert covariance is not None
        assert path.standard_errors[k - 1] == pytest.approx(covariance[0, 0] ** 0.5, rel=1e-9)


@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.parametrize("name", LOSSES)
def test_block_rows_order_and_type_change_nothing(name: str, cv: Any) -> None:
    X, y, weights = labelled_problem()
    X = X.astype(np.float32)
    settings: dict[str, Any] = {"loss": LOSSES[name], "cv": cv, "sample_weight": weights}
    path = greedy_path(X, y, 7, n_runners_up=2, **settings)
    blocks = (13, 1) if cv == "loo" else ()  # folds of X in memory have none
    for other in (
        greedy_path(np.asfortranarray(X), y, 7, n_runners_up=2, **settings),
        greedy_path(X.astype(np.float64), y, 7, n_runners_up=2, **settings),
        *(greedy_path(X, y, 7, n_runners_up=2, block_rows=rows, **settings) for rows in blocks),
        greedy_path(X[:, ::-1][:, ::-1], y, 7, n_runners_up=2, **settings),
    ):
        assert_array_equal(other.indices, path.indices)
        assert_allclose(other.losses, path.losses, rtol=1e-10)
        assert_allclose(other.standard_errors, path.standard_errors, rtol=1e-6)
        for one, two in zip(other.runners_up, path.runners_up, strict=True):
            assert [index for index, _ in one] == [index for index, _ in two]
            assert_allclose([loss for _, loss in one], [loss for _, loss in two], rtol=1e-10)


@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.parametrize("name", LOSSES)
def test_rows_of_no_weight_are_absent(name: str, cv: Any) -> None:
    X, y, weights = labelled_problem()
    ids = np.arange(len(y)) % 3
    kept = weights > 0
    options: dict[str, Any] = {"loss": LOSSES[name], "alpha": 0.5}
    path = greedy_path(X, y, 6, sample_weight=weights, cv=cv if cv == "loo" else ids, **options)
    other = greedy_path(
        X[kept],
        y[kept],
        6,
        sample_weight=weights[kept],
        cv=cv if cv == "loo" else ids[kept],
        **options,
    )
    assert_array_equal(path.indices, other.indices)
    assert_allclose(path.losses, other.losses, rtol=1e-10)
    assert_allclose(path.standard_errors, other.standard_errors, rtol=1e-7)
    assert_allclose(path.coef(), other.coef(), rtol=1e-9)


@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.parametrize("name", LOSSES)
def test_of_equal_columns_the_lowest_index_wins(name: str, cv: Any) -> None:
    X, y, _ = labelled_problem()
    X = X[:, [0, 5, 2, 5, 2, 5, 6, 7]]
    order = greedy_path(X, y, 8, cv=cv, loss=LOSSES[name], alpha=0.1).indices.tolist()
    assert [index for index in order if index in (1, 3, 5)] == [1, 3, 5]
    assert [index for index in order if index in (2, 4)] == [2, 4]


@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.parametrize("name", LOSSES)
def test_paths_of_every_loss_are_extended(name: str, cv: Any) -> None:
    X, y, weights = labelled_problem()
    options: dict[str, Any] = {"cv": cv, "loss": LOSSES[name], "sample_weight": weights}
    full = greedy_path(X, y, 9, forced_features=[3], **options)
    longer = extend_path(full.truncated(4), X, y, 9, **options)
    assert_array_equal(longer.indices, full.indices)
    assert_allclose(longer.losses, full.losses, rtol=1e-12)
    other = "absolute" if name != "absolute" else "squared"
    with pytest.raises(ValueError, match=r"selected with loss .*; pass the same, not"):
        extend_path(full.truncated(4), X, y, 9, **(options | {"loss": other}))


@pytest.mark.parametrize("name", LOSSES)
def test_small_tiles_change_nothing(name: str, tune: Tune) -> None:
    X, y, weights = labelled_problem()
    settings = [
        {"loss": LOSSES[name], "cv": cv, "sample_weight": w}
        for cv in ("loo", 3)
        for w in (None, weights)
    ]
    paths = [greedy_path(X, y, 7, **each) for each in settings]
    tune(
        loss_group_elements=200,
        fold_loss_group_elements=100,
        held_out_elements=1,
        zero_one_elements=30,
        zero_one_least_rows=1,
    )
    for each, path in zip(settings, paths, strict=True):
        other = greedy_path(X, y, 7, **each)
        assert_array_equal(other.indices, path.indices)
        assert_allclose(other.losses, path.losses, rtol=1e-11)


@pytest.mark.parametrize("classes", [3, 5])
@pytest.mark.parametrize("loss", ["zero_one", "balanced_zero_one"])
@pytest.mark.parametrize("cv", ["loo", "stratified"])
def test_many_classes_at_once(loss: str, cv: str, classes: int) -> None:
    rng = np.random.default_rng(classes)
    m = 12 * classes
    labels = np.arange(m) % classes
    X = rng.standard_normal((m, 6)) + rng.standard_normal((classes, 6))[labels]
    Y = 2.0 * (labels[:, None] == np.arange(classes)) - 1.0
    ids = np.arange(m) // classes % 3
    splits: Any = "loo"
    if cv != "loo":
        splits = [(np.flatnonzero(ids != f), np.flatnonzero(ids == f)) for f in range(3)]
    weights = rng.integers(1, 4, m).astype(float)
    for sample_weight in (None, weights):
        path = greedy_path(
            *(X, Y, 3), cv="loo" if cv == "loo" else ids, loss=loss, sample_weight=sample_weight
        )
        twin = literal_path(X, Y, 3, cv=splits, loss=loss, sample_weight=sample_weight)
        assert_array_equal(path.indices, twin.indices)
        assert_allclose(path.losses, twin.losses, rtol=1e-10)


# Pruned counts -----------------------------------------------------------------------------------


def counts_of_all(X: Any, y: Any, w: Any, chosen: list[int], alpha: float, intercept: bool) -> Any:
    """Whether each row is wrong with each feature added, (n × m), from leverages."""
    root = np.sqrt(w)[:, None]
    means, y_mean, h_start = np.zeros(X.shape[1]), 0.0, np.zeros(len(y))
    if intercept:
        means, y_mean, h_start = w @ X / w.sum(), w @ y / w.sum(), w / w.sum()
    Z, target = (X - means) * root, (y - y_mean) * root[:, 0]
    wrong = np.zeros((X.shape[1], len(y)), dtype=bool)
    for index in range(X.shape[1]):
        S = Z[:, [*chosen, index]]
        H = np.linalg.solve(S.T @ S + alpha * np.eye(S.shape[1]), S.T)
        errors = (target - S @ (H @ target)) / (1.0 - h_start - np.vecdot(S, H.T))
        with np.errstate(divide="ignore", invalid="ignore"):
            predictions = y - errors / root[:, 0]
        wrong[index] = ~(y * predictions > 1e-10)
    return wrong


def hard_columns(m: int, n: int, seed: int) -> tuple[Any, Any]:
    """A mix of what pruning must cope with: rare features, outliers, sparse ones, copies."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(m) < 0.4, 1.0, -1.0)
    X = rng.standard_normal((m, n)) + 0.3 * y[:, None] * rng.standard_normal(n)
    X[:, 5:15] = rng.random((m, 10)) < 0.01  # rare and binary
    X[:, 15:20] = (rng.random((m, 5)) < 0.02) * 1000.0 * rng.standard_normal((m, 5))
    X[:, 20:25] = rng.standard_cauchy((m, 5))
    X[:, 25:30] = rng.random((m, 5)) < 0.3 + 0.1 * y[:, None]
    X[:, 30] = X[:, 0]
    X[:, 31] = 4.0
    X[:, 32] = np.arange(m) == 7  # marks one row
    X[:, 33] = np.where(np.arange(m) == 9, 1e6, rng.standard_normal(m))
    X[:, 34] = 0.0
    return X, y


@pytest.mark.parametrize("loss", ["zero_one", "balanced_zero_one"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("m", "alpha"), [(500, 1e-2), (800, 30.0), (2000, 1.0)])
def test_pruned_counts_are_those_of_all_rows(
    m: int, alpha: float, fit_intercept: bool, weighted: bool, loss: str, traps: Traps
) -> None:
    pairs = traps.watch("find wrong predictions")
    X, y = hard_columns(m, 60, seed=m)
    weights = None
    if weighted:
        weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], m)
    w = np.ones(m) if weights is None else weights
    problem = make_problem(X, y, fit_intercept=fit_intercept, sample_weight=weights)
    plan = make_plan(problem, loss=loss)
    state, search = plan.search(plan.data(problem), alpha, 6)
    assert isinstance(state, LossState)
    shares = w / w.sum()
    if loss == "balanced_zero_one":
        shares = 0.5 * w / np.where(y > 0, w[y > 0].sum(), w[y < 0].sum())
    chosen: list[int] = []
    looked = 0
    for step in range(5):
        pairs.clear()
        expected = counts_of_all(X, y, w, chosen, alpha, fit_intercept)
        losses = np.full(60, np.nan)
        losses[state.candidates] = state.candidate_losses(state.candidates, Judge(), 1)[0]
        looked += sum(Z.size for Z, *_ in pairs)
        free = np.setdiff1d(np.arange(60), chosen)
        if shares.std() == 0.0:
            counts = np.count_nonzero(expected[free], axis=1)
            assert_array_equal(np.rint(losses[free] * m), counts)
        assert_allclose(losses[free], expected[free] @ shares, rtol=0, atol=1e-12)
        # Some steps along hard features, whatever their loss.
        feature = [3, 20, 27, 6, 17][step] if m != 2000 else search.choose(state, 0, 1).feature
        state.add(feature, state.measure(feature), lambda count: [], 1)
        chosen.append(feature)
        assert state.loss == pytest.approx(float(expected[feature] @ shares), abs=1e-12)
    assert looked < 5 * 60 * m


def test_pruned_and_unpruned_searches_agree(tune: Tune) -> None:
    X, y = hard_columns(1500, 60, seed=2)
    path = greedy_path(X, y, 12, loss="zero_one", alpha=0.5, n_runners_up=4)
    tune(skip_rows=False)
    everything = greedy_path(X, y, 12, loss="zero_one", alpha=0.5, n_runners_up=4)
    assert_array_equal(path.indices, everything.indices)
    assert_array_equal(path.losses, everything.losses)
    assert path.runners_up == everything.runners_up


@pytest.mark.parametrize("name", LOSSES)
def test_runners_up_are_the_next_best(name: str) -> None:
    X, y, weights = labelled_problem(40, 8)
    options: dict[str, Any] = {"loss": LOSSES[name], "alpha": 2.0}
    for cv in ("loo", np.arange(40) % 3):
        path = greedy_path(X, y, 3, cv=cv, n_runners_up=3, sample_weight=weights, **options)
        splits: Any = cv
        if not isinstance(cv, str):
            splits = [(np.flatnonzero(cv != f), np.flatnonzero(cv == f)) for f in range(3)]
        twin = literal_path(X, y, 3, cv=splits, sample_weight=weights, **options)
        for place, step in enumerate(path.steps):
            assert step.index == twin.indices[place]
            known = dict(twin.candidate_losses[place])
            known.pop(step.index)
            best = sorted(known.values())[:3]
            assert_allclose([loss for _, loss in step.runners_up], best, rtol=SAME)
            for index, loss in step.runners_up:
                assert loss == pytest.approx(known[index], rel=SAME)


def test_the_initial_loss_is_that_of_no_features() -> None:
    X, y, weights = labelled_problem(40, 8)
    for name, loss in LOSSES.items():
        for intercept in (True, False):
            path = greedy_path(
                *(X, y, 1), loss=loss, fit_intercept=intercept, sample_weight=weights
            )
            expected = criterion(
                *(X, y, "loo", []),
                loss=loss,
                alpha=1.0,
                fit_intercept=intercept,
                weights=weights,
            )
            if name != "auc":  # leave-one-out means differ by class: in theory 1, rounding aside
                assert path.initial_loss == pytest.approx(expected, rel=1e-10)
