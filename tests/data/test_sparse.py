"""A sparse X gives the answer of the same X made dense, without being made dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, SelectionPath, greedy_path
from greedyrls.assess import cross_validate_path, permutation_null, resample_path
from internals import LooData, SelectionState, SparseMatrix, make_plan, make_problem, support_bounds

FORMATS = {
    "csc_array": sparse.csc_array,
    "csr_array": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "csr_matrix": sparse.csr_matrix,
    "coo_array": sparse.coo_array,
    "lil_matrix": sparse.lil_matrix,
}


def data(
    seed: int, m: int = 90, n: int = 40, density: float = 0.1, binary: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """A dense array with many zeros, and a target that a few columns tell."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(m, n)) * (generator.random((m, n)) < density)
    if binary:
        X = (X != 0.0).astype(np.float64)
    return X, X[:, :4] @ [3.0, -2.0, 1.5, 1.0] + 0.3 * generator.normal(size=m)


def assert_same(path: SelectionPath, expected: SelectionPath) -> None:
    assert_array_equal(path.indices, expected.indices)
    assert_allclose(path.losses, expected.losses, rtol=1e-9)
    assert_allclose(path.standard_errors, expected.standard_errors, rtol=1e-7)
    assert_allclose(path.coef(), expected.coef(), rtol=1e-7, atol=1e-9)
    for own, other in zip(path.runners_up, expected.runners_up, strict=True):
        assert [index for index, _ in own] == [index for index, _ in other]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format(form: str) -> None:
    X, y = data(0)
    given = FORMATS[form](X)
    path = greedy_path(given, y, 8, alpha=0.5, n_runners_up=2)
    assert_same(path, greedy_path(X, y, 8, alpha=0.5, n_runners_up=2))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.int8, bool])
def test_every_type_of_number(dtype: Any) -> None:
    X, y = data(1)
    X = np.round(3 * X).astype(dtype)
    expected = greedy_path(X.astype(np.float64), y, 6, alpha=0.5)
    assert_same(greedy_path(sparse.csc_array(X), y, 6, alpha=0.5), expected)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("cv", ["loo", 4])
@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one", "balanced_zero_one", "auc"])
def test_every_criterion(loss: str, cv: Any, fit_intercept: bool, is_weighted: bool) -> None:
    X, y = data(2, density=0.3)
    generator = np.random.default_rng(5)
    options: dict[str, Any] = {"loss": loss, "cv": cv, "fit_intercept": fit_intercept}
    if is_weighted:
        options["sample_weight"] = generator.random(len(y)) * (generator.random(len(y)) < 0.9)
    if loss not in ("squared", "absolute"):
        y = np.where(y > np.median(y), 1.0, -1.0)
    expected = greedy_path(X, y, 6, alpha=0.5, n_runners_up=1, **options)
    path = greedy_path(sparse.csr_array(X), y, 6, alpha=0.5, n_runners_up=1, **options)
    assert_array_equal(path.indices, expected.indices)
    assert_allclose(path.losses, expected.losses, rtol=1e-9)


@pytest.mark.parametrize("search", ["bounded", "exhaustive"])
@pytest.mark.parametrize("block_rows", [None, 1, 7, 33])
@pytest.mark.parametrize("targets", [1, 3])
def test_blocks_targets_and_strategies(search: Any, block_rows: Any, targets: int) -> None:
    X, y = data(3, density=0.05, binary=True)
    Y = np.stack([y, y[::-1], np.cos(y)], axis=1)[:, :targets]
    options = {"alpha": 0.3, "search": search, "block_rows": block_rows}
    expected = greedy_path(X, Y, 10, alpha=0.3)
    assert_same(greedy_path(sparse.csc_array(X), Y, 10, **options), expected)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(40))
def test_rare_features_are_bounded_from_below(seed: int) -> None:
    """Random problems full of rare features: what is ruled out is never better."""
    generator = np.random.default_rng(seed)
    m, n = int(generator.integers(40, 400)), int(generator.integers(20, 200))
    X, y = data(seed, m, n, float(generator.choice([0.005, 0.02, 0.06])), bool(seed % 2))
    y = y + generator.standard_t(2, size=m)
    options: dict[str, Any] = {"alpha": float(10.0 ** generator.uniform(-3, 2))}
    if seed % 3 == 0:
        options["sample_weight"] = generator.random(m) ** 3
    k = min(12, n)
    found = greedy_path(sparse.csc_array(X), y, k, search="bounded", **options)
    expected = greedy_path(X, y, k, search="exhaustive", **options)
    assert_array_equal(found.indices, expected.indices)
    assert_allclose(found.losses, expected.losses, rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_rare_features_are_bounds(seed: int) -> None:
    X, y = data(seed, 300, 80, 0.02, bool(seed % 2))
    problem = make_problem(sparse.csc_array(X), y)
    state = SelectionState(LooData(problem), 0.5, 10)
    for index in (0, 1, 2, 3):
        state.add(index, state.measure(index), lambda count: [], 4 - index)
        candidates = state.candidates
        bounds = support_bounds(state, candidates)
        exact = state.score(candidates).losses.sum(axis=0)
        assert (bounds <= exact * (1 + 1e-9)).all()
        # They would be of no use if they were far below.
        assert (np.median(exact - bounds) / exact.mean()) < 0.01


def test_rare_features_are_ruled_out_without_a_look_at_all_rows() -> None:
    generator = np.random.default_rng(0)
    drawn = generator.random((3000, 4000))
    X = sparse.csc_array(np.where(drawn < 0.003, drawn / 0.003, 0.0))
    y = X @ (generator.normal(size=4000) * (generator.random(4000) < 0.01))
    y += 0.1 * generator.normal(size=3000)
    path = greedy_path(X, y, 20, alpha=1.0)
    # Without bounds of their own, thousands would be scored at every step.
    assert path.counters.exact_evaluations < 400


def test_it_is_never_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(4, 120, 60)
    given = sparse.csc_array(X)
    expected = greedy_path(X, y, 6, alpha=0.5)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("X was made dense")

    for kind in (sparse.csc_array, sparse.csr_array):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    assert_same(greedy_path(given, y, 6, alpha=0.5), expected)


def test_what_is_given_is_not_changed_and_not_copied() -> None:
    X, y = data(5)
    given = sparse.csc_array(X)
    before = given.copy()
    greedy_path(given, y, 5, alpha=0.5)
    assert_array_equal(given.toarray(), before.toarray())
    held = SparseMatrix.from_scipy(given)
    assert np.shares_memory(held._by_columns.data, given.data)


def test_stored_zeros_and_duplicates() -> None:
    X, y = data(6)
    rows, columns = X.nonzero()
    values = X[rows, columns]
    halves = np.concatenate([values / 2, values / 2, [0.0]])
    places = (np.concatenate([rows, rows, [0]]), np.concatenate([columns, columns, [7]]))
    given = sparse.coo_matrix((halves, places), shape=X.shape)
    assert_same(greedy_path(given, y, 6, alpha=0.5), greedy_path(X, y, 6, alpha=0.5))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_named(value: float) -> None:
    X, y = data(7)
    X[11, 5] = value
    with pytest.raises(ValueError, match=r"row 11, column 5"):
        greedy_path(sparse.csr_array(X), y, 3)


def test_penalty_and_size_are_chosen_alike() -> None:
    X, y = data(8, 120, 30, 0.2)
    expected = greedy_path(X, y, "auto", alpha=[0.1, 1.0, 10.0])
    path = greedy_path(sparse.csc_array(X), y, "auto", alpha=[0.1, 1.0, 10.0])
    assert path.chosen_size == expected.chosen_size
    assert path.settings.alpha == expected.settings.alpha
    assert_allclose(path.surface.losses, expected.surface.losses, rtol=1e-9)
    assert_allclose(path.refit_alphas, expected.refit_alphas)


@pytest.mark.parametrize("rule", ["joint", "all_features"])
def test_other_rules_for_the_penalty(rule: Any) -> None:
    for shape in ((60, 90), (90, 20)):
        X, y = data(9, *shape, 0.2)
        options = {"alpha": [0.1, 1.0, 10.0], "alpha_rule": rule}
        expected = greedy_path(X, y, 4, **options)
        path = greedy_path(sparse.csc_array(X), y, 4, **options)
        assert path.settings.alpha == expected.settings.alpha
        assert_allclose(path.surface.losses, expected.surface.losses, rtol=1e-8)


def test_estimators() -> None:
    X, y = data(10, 100, 20, 0.3)
    given = sparse.csr_matrix(X)
    dense, thin = GreedyRLSRegressor().fit(X, y), GreedyRLSRegressor().fit(given, y)
    assert_array_equal(dense.selected_, thin.selected_)
    assert_allclose(thin.predict(given), dense.predict(X), rtol=1e-9, atol=1e-9)
    assert_allclose(thin.path_.predict(given, 2), dense.path_.predict(X, 2), rtol=1e-9, atol=1e-9)
    assert thin.transform(given).shape == (100, len(thin.selected_))
    labels = np.array(["low", "high"])[(y > 0).astype(int)]
    dense, thin = GreedyRLSClassifier().fit(X, labels), GreedyRLSClassifier().fit(given, labels)
    assert_array_equal(dense.selected_, thin.selected_)
    assert_array_equal(thin.predict(given), dense.predict(X))


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_assessments(loss: str) -> None:
    X, y = data(11, 80, 15, 0.3)
    given = sparse.csc_array(X)
    options: dict[str, Any] = {"alpha": 0.5, "loss": loss}
    expected = cross_validate_path(X, y, 4, cv=4, **options)
    found = cross_validate_path(given, y, 4, cv=4, **options)
    assert_allclose(found.test_losses, expected.test_losses, rtol=1e-8)
    assert_allclose(found.random_losses, expected.random_losses, rtol=1e-8)
    resampled = resample_path(given, y, 3, n_resamples=5, resample="bootstrap", **options)
    for own, other in zip(
        resampled.selections,
        resample_path(X, y, 3, n_resamples=5, resample="bootstrap", **options).selections,
        strict=True,
    ):
        assert_array_equal(own, other)
    null = permutation_null(given, y, 3, n_permutations=5, **options)
    again = permutation_null(X, y, 3, n_permutations=5, **options)
    assert_allclose(null.null_losses, again.null_losses, rtol=1e-8)


def test_plans_take_it() -> None:
    X, y = data(12)
    problem = make_problem(sparse.csc_array(X), y)
    assert make_plan(problem, cv=3).data(problem).problem.n_features == X.shape[1]
