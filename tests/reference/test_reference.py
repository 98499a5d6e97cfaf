"""The paper's algorithms against each other, against scikit-learn and against literal refits."""

from __future__ import annotations

import doctest
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.linear_model import Ridge, RidgeCV

from greedyrls import reference
from greedyrls.reference import (
    ReferenceSelection,
    greedy_rls,
    loo_brute_force,
    loo_dual,
    loo_primal,
    low_rank_ls_svm,
    random_selection,
    train_dual,
    train_primal,
    wrapper,
)

ALGORITHMS = [wrapper, low_rank_ls_svm, greedy_rls]
SELECTIONS = [*ALGORITHMS, random_selection]
SHAPES = [(12, 4), (4, 12), (9, 9), (3, 1), (20, 7)]


class Problem(NamedTuple):
    """Data of m samples and n features, with labels and weights."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    labels: NDArray[np.float64]
    weights: NDArray[np.float64]


def make_problem(seed: int, m: int, n: int, targets: int | None = None) -> Problem:
    """Normal data; targets depend on the features, with an offset that asks for an intercept."""
    generator = np.random.default_rng([seed, m, n])
    X = generator.normal(size=(m, n)) + generator.normal(size=n)
    shape = () if targets is None else (targets,)
    y = X @ generator.normal(size=(n, *shape)) + generator.normal(size=(m, *shape)) + 3.0
    labels = np.where(y > np.median(y), 1.0, -1.0)
    return Problem(X, y, labels, generator.uniform(0.2, 3.0, size=m))


def mean_absolute_error(y_true: NDArray[np.float64], y_pred: NDArray[np.float64]) -> float:
    return float(np.mean(np.abs(y_true - y_pred)))


def assert_same(first: ReferenceSelection, second: ReferenceSelection) -> None:
    np.testing.assert_array_equal(first.indices, second.indices)
    np.testing.assert_allclose(first.losses, second.losses, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(first.coef, second.coef, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(first.intercept, second.intercept, rtol=1e-10, atol=1e-10)
    assert first.coef.shape == second.coef.shape
    assert np.shape(first.intercept) == np.shape(second.intercept)


def seed_of(select: Any) -> dict[str, int]:
    """The seed, for the selection that takes one."""
    return {"random_state": 3} if select is random_selection else {}


@st.composite
def problems(draw: st.DrawFn, largest: int = 12) -> Problem:
    """Problems of any shape up to a size, wide and tall, with one target or several."""
    seed = draw(st.integers(0, 2**32 - 1))
    m, n = draw(st.integers(3, largest)), draw(st.integers(1, largest))
    return make_problem(seed, m, n, draw(st.sampled_from([None, 1, 3])))


@given(problem=problems(), alpha=st.sampled_from([0.05, 1.0, 30.0]))
@settings(max_examples=100, deadline=None)
def test_training_forms_agree_with_ridge(problem: Problem, alpha: float) -> None:
    X, y = problem.X, problem.y
    expected = Ridge(alpha=alpha, fit_intercept=False, solver="svd").fit(X, y).coef_.T
    expected = expected.reshape((X.shape[1], *y.shape[1:]))
    for train in (train_primal, train_dual):
        coef = train(X, y, alpha)
        assert coef.shape == expected.shape
        np.testing.assert_allclose(coef, expected, rtol=1e-9, atol=1e-10)


@given(problem=problems(), alpha=st.sampled_from([0.05, 1.0, 30.0]))
@settings(max_examples=100, deadline=None)
def test_leave_one_out_forms_agree(problem: Problem, alpha: float) -> None:
    X, y = problem.X, problem.y
    expected = loo_brute_force(X, y, alpha)
    assert expected.shape == y.shape
    np.testing.assert_allclose(loo_primal(X, y, alpha), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(loo_dual(X, y, alpha), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("m", "n"), SHAPES)
@pytest.mark.parametrize("targets", [None, 2])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_leave_one_out_agrees_with_ridge_cv(
    m: int, n: int, targets: int | None, fit_intercept: bool
) -> None:
    X, y, _, _ = make_problem(0, m, n, targets)
    model = RidgeCV(alphas=[0.7], fit_intercept=fit_intercept, store_cv_results=True).fit(X, y)
    predictions = loo_brute_force(X, y, 0.7, fit_intercept=fit_intercept)
    np.testing.assert_allclose((y - predictions) ** 2, model.cv_results_[..., 0], rtol=1e-8)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_brute_force_is_ridge_on_the_other_samples(fit_intercept: bool) -> None:
    X, y, _, weights = make_problem(1, 8, 3)
    weights[5] = 0.0
    expected = []
    for j in range(8):
        others = np.arange(8) != j
        model = Ridge(alpha=0.4, fit_intercept=fit_intercept)
        model.fit(X[others], y[others], sample_weight=weights[others])
        expected.append(model.predict(X[[j]])[0])
    actual = loo_brute_force(X, y, 0.4, fit_intercept=fit_intercept, sample_weight=weights)
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


@given(
    problem=problems(largest=8),
    alpha=st.sampled_from([0.1, 1.0, 20.0]),
    loss=st.sampled_from(["squared", "zero_one", mean_absolute_error]),
    fit_intercept=st.booleans(),
    weighted=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_algorithms_agree(
    problem: Problem, alpha: float, loss: Any, fit_intercept: bool, weighted: bool
) -> None:
    X, n_features = problem.X, min(problem.X.shape[1], 4)
    y = problem.labels if loss == "zero_one" else problem.y
    options = {
        "alpha": alpha,
        "loss": loss,
        "fit_intercept": fit_intercept,
        "sample_weight": problem.weights if weighted else None,
    }
    by_wrapper = wrapper(X, y, n_features, **options)
    assert_same(by_wrapper, low_rank_ls_svm(X, y, n_features, **options))
    assert_same(by_wrapper, greedy_rls(X, y, n_features, **options))


@given(seed=st.integers(0, 2**32 - 1), fit_intercept=st.booleans(), weighted=st.booleans())
@settings(max_examples=100, deadline=None)
def test_zero_one_agrees_where_predictions_are_exactly_zero(
    seed: int, fit_intercept: bool, weighted: bool
) -> None:
    # With 0/1 features many LOO predictions are 0, which the algorithms reach up to rounding.
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 2, size=(7, 5))
    y = generator.choice([-1, 1], size=7)
    weights = generator.integers(1, 4, size=7) if weighted else None
    first, second, third = (
        algorithm(X, y, 3, loss="zero_one", fit_intercept=fit_intercept, sample_weight=weights)
        for algorithm in ALGORITHMS
    )
    assert_same(first, second)
    assert_same(first, third)


@pytest.mark.parametrize("select", SELECTIONS)
@pytest.mark.parametrize("loss", ["squared", "zero_one", mean_absolute_error])
@pytest.mark.parametrize("targets", [None, 2])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_losses_and_model_are_those_of_the_chosen_columns(
    select: Any, loss: Any, targets: int | None, fit_intercept: bool
) -> None:
    X, y, labels, weights = make_problem(2, 14, 6, targets)
    y = labels if loss == "zero_one" else y
    options = {"fit_intercept": fit_intercept, "sample_weight": weights}
    selection = select(X, y, 4, alpha=0.5, loss=loss, **options, **seed_of(select))
    for s in range(4):
        predictions = loo_brute_force(X[:, selection.indices[: s + 1]], y, 0.5, **options)
        if callable(loss):
            expected = loss(y, predictions)
        else:
            errors = (y - predictions) ** 2 if loss == "squared" else predictions * y <= 0
            expected = (weights @ errors.reshape(14, -1).mean(axis=1)) / weights.sum()
        assert selection.losses[s] == pytest.approx(expected, rel=1e-10)
    model = Ridge(alpha=0.5, fit_intercept=fit_intercept)
    model.fit(X[:, selection.indices], y, sample_weight=weights)
    np.testing.assert_allclose(selection.coef, model.coef_.T, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(
        selection.intercept, np.broadcast_to(model.intercept_, y.shape[1:]), rtol=1e-9
    )


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_first_choice_is_the_best_single_feature(fit_intercept: bool) -> None:
    X, y, _, _ = make_problem(3, 15, 8)
    losses = [
        np.mean((y - loo_brute_force(X[:, [i]], y, 1.0, fit_intercept=fit_intercept)) ** 2)
        for i in range(8)
    ]
    for algorithm in ALGORITHMS:
        selection = algorithm(X, y, 1, fit_intercept=fit_intercept)
        assert selection.indices.tolist() == [int(np.argmin(losses))]
        assert selection.losses[0] == pytest.approx(min(losses), rel=1e-12)


@pytest.mark.parametrize("select", SELECTIONS)
def test_shorter_selection_is_a_prefix(select: Any) -> None:
    X, y, _, _ = make_problem(4, 10, 6)
    long, short = (select(X, y, n_features, **seed_of(select)) for n_features in (6, 2))
    assert sorted(long.indices.tolist()) == list(range(6))
    np.testing.assert_array_equal(short.indices, long.indices[:2])
    np.testing.assert_allclose(short.losses, long.losses[:2], rtol=1e-12)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_columns_equal_up_to_rounding_tie_and_the_lowest_index_wins(
    algorithm: Any, fit_intercept: bool
) -> None:
    X, y, _, _ = make_problem(5, 12, 4)
    options = {"fit_intercept": fit_intercept}
    b = int(algorithm(X, y, 1, **options).indices[0])
    best, others = X[:, [b]], np.delete(X, b, axis=1)
    for factor in (1.0, 1.0 + 1e-12, 1.0 - 1e-12):
        tied = np.hstack([others[:, :1], factor * best, others[:, 1:], best])
        assert algorithm(tied, y, 1, **options).indices.tolist() == [1]
    # A difference that is not rounding decides, wherever the better column stands.
    losses = [algorithm(factor * best, y, 1, **options).losses[0] for factor in (1.0, 1.001)]
    winner = int(np.argmin(losses))
    assert abs(losses[0] - losses[1]) > 1e-8 * min(losses)
    assert algorithm(np.hstack([best, 1.001 * best]), y, 1, **options).indices[0] == winner
    assert algorithm(np.hstack([1.001 * best, best]), y, 1, **options).indices[0] == 1 - winner


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_algorithms_agree_with_duplicate_and_constant_columns(fit_intercept: bool) -> None:
    X, y, _, weights = make_problem(14, 10, 3)
    X = np.hstack([X, X, np.zeros((10, 1)), np.ones((10, 1))])
    options = {"fit_intercept": fit_intercept, "sample_weight": weights}
    by_wrapper, by_low_rank, by_cache = (algorithm(X, y, 6, **options) for algorithm in ALGORITHMS)
    assert_same(by_wrapper, by_low_rank)
    assert_same(by_wrapper, by_cache)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("excess", "winner"), [(5e-11, 0), (2e-10, 1)])
@pytest.mark.parametrize("smallest", [3.0, -3.0])
def test_ties_reach_1e_10_relative(
    algorithm: Any, excess: float, winner: int, smallest: float
) -> None:
    X, y, _, _ = make_problem(15, 5, 2)
    values = iter([smallest + 3.0 * excess, smallest])
    selection = algorithm(X, y, 1, loss=lambda y_true, y_pred: next(values))
    assert selection.indices.tolist() == [winner]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_losses_equal_selects_in_index_order(algorithm: Any) -> None:
    X, y, _, _ = make_problem(6, 6, 4)
    selection = algorithm(X, y, 3, loss=lambda y_true, y_pred: -1.0)
    assert selection.indices.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(selection.losses, [-1.0, -1.0, -1.0])


@pytest.mark.parametrize("select", SELECTIONS)
@pytest.mark.parametrize("loss", ["squared", mean_absolute_error])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_zero_weight_is_an_absent_sample(select: Any, loss: Any, fit_intercept: bool) -> None:
    X, y, _, weights = make_problem(7, 11, 5)
    weights[[0, 6]] = 0.0
    options = {"loss": loss, "fit_intercept": fit_intercept, **seed_of(select)}
    kept = weights > 0
    assert_same(
        select(X, y, 3, sample_weight=weights, **options),
        select(X[kept], y[kept], 3, sample_weight=weights[kept], **options),
    )


@pytest.mark.parametrize("select", SELECTIONS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_scaling_weights_and_alpha_together_changes_nothing(
    select: Any, fit_intercept: bool
) -> None:
    X, y, _, weights = make_problem(8, 9, 5)
    options = {"fit_intercept": fit_intercept, **seed_of(select)}
    assert_same(
        select(X, y, 3, alpha=1.0, sample_weight=weights, **options),
        select(X, y, 3, alpha=7.0, sample_weight=7.0 * weights, **options),
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_intercept_makes_the_selection_blind_to_offsets(algorithm: Any) -> None:
    X, y, _, weights = make_problem(9, 10, 5)
    options = {"fit_intercept": True, "sample_weight": weights}
    plain = algorithm(X, y, 3, **options)
    moved = algorithm(X + np.arange(5.0), y + 10.0, 3, **options)
    np.testing.assert_array_equal(moved.indices, plain.indices)
    np.testing.assert_allclose(moved.losses, plain.losses, rtol=1e-10)
    np.testing.assert_allclose(moved.coef, plain.coef, rtol=1e-9)


def test_callable_loss_gets_targets_and_predictions_in_the_shape_of_y() -> None:
    X, y, _, weights = make_problem(10, 7, 3, 2)
    weights[2] = 0.0
    kept = weights > 0
    expected = loo_brute_force(X[kept][:, [0]], y[kept], 1.0, sample_weight=weights[kept])

    for select in ALGORITHMS:
        seen: list[NDArray[np.float64]] = []

        def loss(
            y_true: NDArray[np.float64],
            y_pred: NDArray[np.float64],
            seen: list[NDArray[np.float64]] = seen,
        ) -> float:
            np.testing.assert_array_equal(y_true, y[kept])
            seen.append(y_pred)
            return 0.0

        select(X, y, 1, loss=loss, sample_weight=weights)
        assert len(seen) == 3
        np.testing.assert_allclose(seen[0], expected, rtol=1e-10)


def test_zero_one_counts_a_zero_prediction_as_wrong() -> None:
    # Feature 0 is absent in the last sample, so the prediction there is 0.
    selection = greedy_rls([[1.0], [1.0], [0.0]], [1, 1, 1], 1, loss="zero_one")
    assert selection.losses[0] == pytest.approx(1 / 3)


@pytest.mark.parametrize("select", SELECTIONS)
def test_smallest_problems(select: Any) -> None:
    alone = select([[2.0]], [3.0], 1)
    assert alone.losses[0] == pytest.approx(9.0)
    assert alone.coef[0] == pytest.approx(6.0 / 5.0)
    pair = select([[2.0], [5.0]], [3.0, 7.0], 1, fit_intercept=True)
    assert pair.losses[0] == pytest.approx(16.0)


def test_random_selection_is_reproducible() -> None:
    X, y, _, _ = make_problem(11, 9, 30)
    first = random_selection(X, y, 10, random_state=5)
    assert_same(first, random_selection(X, y, 10, random_state=5))
    assert_same(first, random_selection(X, y, 10, random_state=np.random.default_rng(5)))
    other = random_selection(X, y, 10, random_state=6)
    assert first.indices.tolist() != other.indices.tolist()
    assert len(set(first.indices.tolist())) == 10


@pytest.mark.parametrize("select", SELECTIONS)
def test_inputs_are_not_modified(select: Any) -> None:
    problem = make_problem(12, 6, 4)
    for array in problem:
        array.setflags(write=False)
    copies = [array.copy() for array in problem]
    select(problem.X, problem.y, 2, fit_intercept=True, sample_weight=problem.weights)
    for array, copy in zip(problem, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("select", SELECTIONS)
def test_lists_and_other_dtypes_give_the_same(select: Any) -> None:
    X = np.array([[1, 0, 2], [0, 3, 1], [4, 1, 1], [2, 2, 0]])
    y = np.array([1, 2, 3, 5])
    expected = select(X.astype(np.float64), y.astype(np.float64), 2, **seed_of(select))
    assert_same(select(X.tolist(), y.tolist(), np.int64(2), alpha=1, **seed_of(select)), expected)
    assert_same(select(X.astype(np.float32), y.astype(np.int8), 2, **seed_of(select)), expected)


def with_value(array: NDArray[np.float64], place: Any, value: float) -> NDArray[np.float64]:
    changed = array.copy()
    changed[place] = value
    return changed


GOOD = make_problem(13, 5, 3)
BAD_DATA = [
    ({"X": GOOD.X[0]}, r"X has shape \(3,\)"),
    ({"X": GOOD.X[:4]}, r"X has shape \(4, 3\) and y \(5,\)"),
    ({"y": GOOD.y[:, np.newaxis, np.newaxis]}, r"y \(5, 1, 1\)"),
    ({"y": np.empty((5, 0))}, r"y \(5, 0\)"),
    ({"X": with_value(GOOD.X, (2, 1), np.nan)}, r"X\[2, 1\] is nan"),
    ({"y": with_value(GOOD.y, 3, np.inf)}, r"y\[3\] is inf"),
    ({"alpha": 0.0}, r"alpha is 0\.0"),
    ({"alpha": -2}, r"alpha is -2"),
    ({"alpha": np.inf}, r"alpha is inf"),
    ({"alpha": np.nan}, r"alpha is nan"),
    ({"alpha": "1"}, r"alpha is '1'"),
]
BAD_WEIGHTS = [
    ({"sample_weight": np.ones(4)}, r"sample_weight has shape \(4,\); pass shape \(5,\)"),
    ({"sample_weight": np.ones((5, 1))}, r"sample_weight has shape \(5, 1\)"),
    ({"sample_weight": [1, 1, -0.5, 1, 1]}, r"sample_weight holds -0\.5"),
    ({"sample_weight": [1, 1, np.nan, 1, 1]}, r"sample_weight\[2\] is nan"),
    ({"sample_weight": np.zeros(5)}, r"0 samples of positive weight; pass at least 1"),
    (
        {"sample_weight": [0, 0, 2, 0, 0], "fit_intercept": True},
        r"1 samples of positive weight; pass at least 2 with fit_intercept=True",
    ),
    (
        {"X": GOOD.X[:1], "y": GOOD.y[:1], "fit_intercept": True},
        r"at least 2 with fit_intercept=True",
    ),
    ({"X": np.empty((0, 3)), "y": []}, r"0 samples of positive weight"),
]
BAD_SELECTIONS = [
    ({"n_features": 0}, r"n_features is 0; pass an integer in 1\.\.3"),
    ({"n_features": 4}, r"n_features is 4"),
    ({"n_features": 1.5}, r"n_features is 1\.5"),
    ({"loss": "hinge"}, r"loss is 'hinge'; pass 'squared', 'zero_one' or a callable"),
    ({"y": [1, -1, 0, 1, 1], "loss": "zero_one"}, r"y holds 0\.0; recode"),
    ({"loss": lambda y_true, y_pred: np.nan}, r"is nan"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_DATA)
@pytest.mark.parametrize(
    "function", [train_primal, train_dual, loo_primal, loo_dual, loo_brute_force]
)
def test_training_refuses_bad_input(function: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        function(**({"X": GOOD.X, "y": GOOD.y, "alpha": 1.0} | changes))


@pytest.mark.parametrize(("changes", "message"), BAD_WEIGHTS)
def test_brute_force_refuses_bad_weights(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loo_brute_force(**({"X": GOOD.X, "y": GOOD.y, "alpha": 1.0} | changes))


@pytest.mark.parametrize(("changes", "message"), [*BAD_DATA, *BAD_WEIGHTS, *BAD_SELECTIONS])
@pytest.mark.parametrize("select", SELECTIONS)
def test_selection_refuses_bad_input(select: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        select(**({"X": GOOD.X, "y": GOOD.y, "n_features": 2} | changes))


def test_public_names_are_listed_in_order_and_have_examples_that_run() -> None:
    names = reference.__all__
    assert names == sorted(names)
    for name in names:
        assert ">>> " in getattr(reference, name).__doc__
    results = doctest.testmod(reference)
    assert results.attempted >= len(names)
    assert results.failed == 0
