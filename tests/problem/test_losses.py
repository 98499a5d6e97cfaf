"""Losses of held-out predictions, against scikit-learn and against literal loops."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics

from internals import make_loss

SEEDS = range(40)
ADDITIVE = ["squared", "absolute", "zero_one", "balanced_zero_one"]
Sample = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def sample(seed: int, *, labels: bool, targets: int | None = None) -> Sample:
    """Targets with every class twice, predictions with ties within and between classes, weights."""
    rng = np.random.default_rng(seed)
    t = targets or int(rng.choice([1, 3]))
    m, c = int(rng.integers(2 * t + 4, 40)), int(rng.integers(1, 6))
    Y = rng.standard_normal((m, t))
    if labels:
        classes = rng.permutation(np.arange(m) % max(2, t))
        Y = np.where(classes[:, None] == np.arange(t), 1.0, -1.0)
    P = rng.standard_normal((t, c, m)) + 0.5 * Y.T[:, None, :]
    if seed % 2:
        P = np.round(P, int(rng.integers(0, 2)))
    weights = None if seed % 3 == 0 else rng.uniform(0.1, 3.0, m)
    return Y, P, weights


def problem_for(name: str, seed: int) -> Sample:
    return sample(
        seed, labels="zero_one" in name or name == "auc", targets=1 if name == "auc" else None
    )


def predicted_class(Y: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Classes 0, 1, ... of one candidate, (m); an undecided row gets a class that is wrong."""
    if Y.shape[1] == 1:
        undecided = P[0] == 0
        chosen = (P[0] > 0).astype(int)
    else:
        undecided = np.sort(P, axis=0)[-1] == np.sort(P, axis=0)[-2]
        chosen = P.argmax(axis=0)
    return np.where(undecided, (true_class(Y) + 1) % max(2, Y.shape[1]), chosen)


def true_class(Y: np.ndarray) -> np.ndarray:
    return (Y[:, 0] > 0).astype(int) if Y.shape[1] == 1 else Y.argmax(axis=1)


def expected(name: str, Y: np.ndarray, P: np.ndarray, weights: np.ndarray | None) -> float:
    """The loss of one candidate, P (t × m), by scikit-learn."""
    options: dict[str, Any] = {"sample_weight": weights}
    if name == "squared":
        return metrics.mean_squared_error(Y, P.T, **options)
    if name == "absolute":
        return metrics.mean_absolute_error(Y, P.T, **options)
    if name == "zero_one":
        return metrics.zero_one_loss(true_class(Y), predicted_class(Y, P), **options)
    if name == "balanced_zero_one":
        return 1 - metrics.balanced_accuracy_score(true_class(Y), predicted_class(Y, P), **options)
    return 1 - metrics.roc_auc_score(Y[:, 0], P[0], **options)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [*ADDITIVE, "auc"])
def test_values_are_those_of_scikit_learn(name: str, seed: int) -> None:
    Y, P, weights = problem_for(name, seed)
    loss = make_loss(name)
    loss.check(Y, weights, [np.arange(len(Y))], Y.shape[1] == 1)
    values = loss.values(Y, P, weights)
    assert values.shape == P.shape[1:2]
    wanted = [expected(name, Y, P[:, index], weights) for index in range(P.shape[1])]
    assert_allclose(values, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ADDITIVE)
def test_additive_losses_are_weighted_means(name: str, seed: int) -> None:
    Y, P, weights = problem_for(name, seed)
    loss = make_loss(name)
    assert loss.is_additive
    shares, losses = loss.sample_weights(Y, weights), loss.sample_losses(Y, P)
    assert losses.shape == P.shape[1:]
    assert losses.dtype == np.float64
    assert_allclose(shares.sum(), 1.0, rtol=1e-14)
    assert_allclose(losses @ shares, loss.values(Y, P, weights), rtol=1e-12, atol=1e-15)
    if name == "balanced_zero_one":
        totals = np.bincount(true_class(Y), shares)
        assert_allclose(totals, 1.0 / len(totals), rtol=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ADDITIVE)
def test_additive_covariance_is_the_literal_sum(name: str, seed: int) -> None:
    Y, P, weights = problem_for(name, seed)
    loss = make_loss(name)
    shares, losses = loss.sample_weights(Y, weights), loss.sample_losses(Y, P)
    strata = true_class(Y) if name == "balanced_zero_one" else np.zeros(len(Y), dtype=int)
    wanted = np.zeros((P.shape[1], P.shape[1]))
    for stratum in set(strata.tolist()):
        rows = [row for row in range(len(Y)) if strata[row] == stratum]
        n, total = len(rows), sum(shares[row] for row in rows)
        means = [sum(shares[j] * a[j] for j in rows) / total for a in losses]
        for j in rows:
            for a in range(len(losses)):
                for b in range(len(losses)):
                    spread = (losses[a, j] - means[a]) * (losses[b, j] - means[b])
                    wanted[a, b] += shares[j] ** 2 * spread * n / (n - 1)
    covariance = loss.covariance(Y, P, weights)
    assert covariance is not None
    assert_allclose(covariance, wanted, rtol=1e-11, atol=1e-16)
    assert_array_equal(covariance, covariance.T)


def test_unweighted_covariance_is_the_textbook_one() -> None:
    Y, P, _ = sample(3, labels=False)
    loss = make_loss("squared")
    losses = loss.sample_losses(Y, P)
    assert_allclose(loss.covariance(Y, P, None), np.cov(losses) / len(Y), rtol=1e-12)


def delong(y: np.ndarray, P: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """DeLong's covariance of areas under the curve, pair by pair."""
    positives, negatives = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    result = np.zeros((len(P), len(P)))
    for own, other, sign in [(positives, negatives, 1), (negatives, positives, -1)]:
        own_weights = weights[own] / weights[own].sum()
        other_weights = weights[other] / weights[other].sum()
        components = np.zeros((len(P), len(own)))
        for a, predictions in enumerate(P):
            for i, row in enumerate(own):
                for j, rival in enumerate(other):
                    order = np.sign(sign * (predictions[row] - predictions[rival]))
                    components[a, i] += other_weights[j] * (1 + order) / 2
        areas = components @ own_weights
        centred = (components - areas[:, None]) * own_weights
        result += centred @ centred.T * len(own) / (len(own) - 1)
    return result


@pytest.mark.parametrize("seed", SEEDS)
def test_auc_covariance_is_delong(seed: int) -> None:
    Y, P, weights = sample(seed, labels=True, targets=1)
    covariance = make_loss("auc").covariance(Y, P, weights)
    assert covariance is not None
    wanted = delong(Y[:, 0], P[0], np.ones(len(Y)) if weights is None else weights)
    assert_allclose(covariance, wanted, rtol=1e-11, atol=1e-15)
    assert_array_equal(covariance, covariance.T)


def test_unweighted_delong_is_the_published_formula() -> None:
    Y, P, _ = sample(5, labels=True, targets=1)
    is_positive = Y[:, 0] > 0
    differences = P[0][:, is_positive, None] - P[0][:, None, ~is_positive]
    right = (1 + np.sign(differences)) / 2
    first, second = right.mean(axis=2), right.mean(axis=1)
    wanted = np.cov(first) / first.shape[1] + np.cov(second) / second.shape[1]
    assert_allclose(make_loss("auc").covariance(Y, P, None), wanted, rtol=1e-12)


@pytest.mark.parametrize("name", [*ADDITIVE, "auc"])
def test_scaled_weights_change_nothing(name: str) -> None:
    Y, P, weights = problem_for(name, 4)
    assert weights is not None
    loss = make_loss(name)
    assert_allclose(loss.values(Y, P, 7 * weights), loss.values(Y, P, weights), rtol=1e-13)
    before, after = loss.covariance(Y, P, weights), loss.covariance(Y, P, 7 * weights)
    assert before is not None
    assert_allclose(after, before, rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize("name", ["zero_one", "balanced_zero_one"])
def test_equal_counts_are_equal_values(name: str) -> None:
    # Ties between candidates must not be broken by rounding: one error each, in different rows.
    m = 49
    y = np.where(np.arange(m) % 2, 1.0, -1.0)
    rows = np.arange(0, m, 2)
    P = np.tile(y, (1, len(rows), 1))
    P[0, np.arange(len(rows)), rows] *= -1
    assert len(set(make_loss(name).values(y[:, None], P, None).tolist())) == 1


def test_equal_areas_are_equal_values() -> None:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(49) < 20, 1.0, -1.0)
    ranks = np.argsort(np.argsort(rng.standard_normal(49))).astype(float)
    P = np.stack([np.concatenate([rng.permutation(ranks[:20]), ranks[20:]]) for _ in range(9)])
    assert len(set(make_loss("auc").values(y[:, None], P[None], None).tolist())) == 1


def test_undecided_predictions_are_errors() -> None:
    y = np.array([[1.0], [-1.0], [1.0], [-1.0], [1.0]])
    P = np.array([[[0.0, 0.0, 1e-11, -1e-9, np.nan]]])
    assert_array_equal(make_loss("zero_one").sample_losses(y, P), [[1, 1, 1, 0, 1]])
    Y = np.array([[1.0, -1.0, -1.0], [-1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]])
    P = np.array([[0.3, 0.1, 0.2], [0.3, 0.2, 0.2 + 1e-9], [0.1, 0.2 + 1e-11, 0.1]])[:, None, :]
    assert_array_equal(make_loss("zero_one").sample_losses(Y, P), [[1, 1, 0]])


def test_auc_of_constant_predictions_is_one_half() -> None:
    Y, P, weights = sample(1, labels=True, targets=1)
    loss = make_loss("auc")
    constant = np.full_like(P, 0.3)
    assert_allclose(loss.values(Y, constant, weights), 0.5, rtol=1e-14)
    assert_allclose(loss.covariance(Y, constant, weights), 0.0, atol=1e-30)
    assert_array_equal(loss.values(Y, np.tile(Y.T, (1, 2, 1)), weights), 0.0)
    assert_allclose(loss.values(Y, -np.tile(Y.T, (1, 2, 1)), weights), 1.0, rtol=1e-14)


@pytest.mark.parametrize("name", ["balanced_zero_one", "auc"])
def test_a_class_of_one_sample_adds_no_variance(name: str) -> None:
    y = np.array([[1.0], [-1.0], [-1.0], [-1.0]])
    P = np.array([[[0.5, -1.0, 0.7, -0.2], [-0.5, 1.0, -0.7, -0.6]]])
    covariance = make_loss(name).covariance(y, P, None)
    assert covariance is not None
    assert np.isfinite(covariance).all()
    assert (np.diag(covariance) > 0).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", [*ADDITIVE, "auc", "callable"])
def test_nothing_is_written_to(name: str, seed: int) -> None:
    def careless(y_true: np.ndarray, y_pred: np.ndarray) -> float:
        y_true -= y_pred
        y_pred[:] = 0.0
        return float(np.mean(y_true**2))

    Y, P, weights = problem_for(name, seed)
    before = Y.copy(), P.copy()
    for array in (Y, P):
        array.flags.writeable = False
    loss = make_loss(careless if name == "callable" else name)
    loss.values(Y, P, weights)
    loss.covariance(Y, P, weights)
    assert_array_equal(Y, before[0])
    assert_array_equal(P, before[1])


@pytest.mark.parametrize("targets", [1, 3])
def test_functions_see_one_candidate_at_a_time(targets: int) -> None:
    shapes = []

    def median_error(y_true: np.ndarray, y_pred: np.ndarray) -> float:
        shapes.append((y_true.shape, y_pred.shape))
        return metrics.median_absolute_error(y_true, y_pred)

    Y, P, weights = sample(2, labels=False, targets=targets)
    loss = make_loss(median_error)
    assert loss.name == "callable:median_error"
    assert not loss.is_additive
    loss.check(Y, weights, [np.arange(len(Y))], targets == 1)
    wanted = [metrics.median_absolute_error(Y, P[:, index].T) for index in range(P.shape[1])]
    assert_allclose(loss.values(Y, P, weights), wanted, rtol=1e-14)
    shape = (len(Y),) if targets == 1 else Y.shape
    assert shapes == [(shape, shape)] * P.shape[1]
    assert loss.covariance(Y, P, weights) is None


def test_an_object_is_named_by_its_class() -> None:
    class Pinball:
        def __call__(self, y_true: np.ndarray, y_pred: np.ndarray) -> float:
            return 0.25

    assert make_loss(Pinball()).name == "callable:Pinball"


@pytest.mark.parametrize(
    "value", [2, 2.0, np.float32(2), np.int64(2), np.array(2.0), np.array(2), Fraction(2)]
)
def test_functions_may_return_any_real_number(value: Any) -> None:
    assert_array_equal(make_loss(lambda *_: value).values(*sample(0, labels=False)), 2.0)


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        (float("nan"), ValueError, "'callable:<lambda>' must return a finite number, got nan"),
        (np.float64("inf"), ValueError, r"finite number, got np.float64\(inf\)"),
        (np.array(np.nan), ValueError, "finite number, got"),
        (np.ones(3), ValueError, r"one number, got an array of shape \(3,\)"),
        (np.ones((1, 1)), ValueError, r"one number, got an array of shape \(1, 1\)"),
        ([1.0], TypeError, r"one number, got \[1.0\] of type list"),
        (None, TypeError, "one number, got None of type NoneType"),
        ("0.5", TypeError, "one number, got '0.5' of type str"),
        (1j, TypeError, "one number, got 1j of type complex"),
        (True, TypeError, "one number, got True of type bool"),
        (np.True_, TypeError, "one number, got np.True_ of type bool"),
        (np.array(None), TypeError, "one number, got None"),
    ],
)
def test_functions_must_return_one_number(value: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        make_loss(lambda *_: value).values(*sample(0, labels=False))


def test_errors_of_functions_come_through() -> None:
    def broken(y_true: np.ndarray, y_pred: np.ndarray) -> float:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        make_loss(broken).values(*sample(0, labels=False))


@pytest.mark.parametrize("loss", ["auc", lambda *_: 0.0])
@pytest.mark.parametrize("method", ["sample_weights", "sample_losses"])
def test_only_means_have_losses_of_samples(loss: Any, method: str) -> None:
    Y, P, weights = sample(0, labels=True, targets=1)
    with pytest.raises(TypeError, match="is not a mean over samples"):
        getattr(make_loss(loss), method)(Y, weights if method == "sample_weights" else P)


@pytest.mark.parametrize(
    ("loss", "error"),
    [("logistic", ValueError), (3, TypeError), (None, TypeError), ([], TypeError)],
)
def test_unknown_losses_are_named(loss: Any, error: type[Exception]) -> None:
    with pytest.raises(
        error, match="'squared', 'zero_one', 'balanced_zero_one', 'absolute', 'auc'"
    ):
        make_loss(loss)
    with pytest.raises(error) as caught:
        make_loss(loss)
    assert repr(loss) in str(caught.value)


@pytest.mark.parametrize("name", ["squared", "absolute", "zero_one", "balanced_zero_one", "auc"])
def test_names_are_kept(name: str) -> None:
    assert make_loss(name).name == name


def codes(classes: list[int], n_classes: int) -> np.ndarray:
    return np.where(np.array(classes)[:, None] == np.arange(n_classes), 1.0, -1.0)


TWO = np.array([[1.0], [1.0], [-1.0], [-1.0], [1.0], [-1.0]])
FOLDS = [np.array([0, 2, 3]), np.array([1, 4]), np.array([5])]
BOTH = ["balanced_zero_one", "auc"]
ALL = ["zero_one", *BOTH]


def check(name: str, Y: np.ndarray, folds: list[np.ndarray] | None = None, **kwargs: Any) -> None:
    groups = folds or [np.arange(len(Y))]
    options = {"weights": None, "single_target": Y.shape[1] == 1, **kwargs}
    make_loss(name).check(Y, groups_of_rows=groups, **options)


@pytest.mark.parametrize("name", ALL)
def test_labels_must_be_signs(name: str) -> None:
    y = TWO.copy()
    y[3:5, 0] = 0.0, 2.0
    match = rf"loss='{name}' needs labels -1 and \+1, but y has 0.0 in row 3\. Code two classes as"
    with pytest.raises(ValueError, match=match):
        check(name, y)
    with pytest.raises(ValueError, match=r"in row 3, column 0\. .*use GreedyRLSClassifier"):
        check(name, y, single_target=False)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("label", [-1, 1])
def test_one_class_is_not_enough(name: str, label: int) -> None:
    match = re.escape(f"at least 2 classes; y has only class {label:+d}.")
    with pytest.raises(ValueError, match=match):
        check(name, np.full((5, 1), float(label)))
    weights = np.where(TWO[:, 0] == label, 1.0, 0.0)
    with pytest.raises(ValueError, match=match):
        check(name, TWO, weights=weights)


@pytest.mark.parametrize("name", ["zero_one", "balanced_zero_one"])
def test_codes_must_be_one_against_the_rest(name: str) -> None:
    for value, count in [(1.0, 2), (-1.0, 0)]:
        Y = codes([0, 1, 2, 0], 3)
        Y[2] = [-1.0, value, value]
        with pytest.raises(ValueError, match=rf"exactly one \+1 in each row.*row 2 has {count}\."):
            check(name, Y)
    with pytest.raises(ValueError, match=r"but y has 0\.5 in row 1, column 2"):
        check(name, np.where(np.arange(12).reshape(4, 3) == 5, 0.5, codes([0, 1, 2, 0], 3)))
    with pytest.raises(ValueError, match="y has only the class of column 1"):
        check(name, codes([1, 1, 1], 3))


def test_auc_is_for_two_classes() -> None:
    with pytest.raises(ValueError, match=r"y has 3 targets or classes\. Use 'zero_one'"):
        check("auc", codes([0, 1, 2], 3))


@pytest.mark.parametrize("name", BOTH)
def test_every_fold_needs_every_class(name: str) -> None:
    check(name, TWO, FOLDS[:1] * 2)
    with pytest.raises(
        ValueError, match=r"fold 1 has no test sample of class -1\. .*StratifiedKFold"
    ):
        check(name, TWO, FOLDS)
    with pytest.raises(ValueError, match=r"fold 1 has no test sample of class \+1"):
        check(name, TWO, [FOLDS[0], FOLDS[2]])
    with pytest.raises(ValueError, match=r"fold 0 has no test sample of class \+1"):
        check(name, TWO, FOLDS[:2], weights=np.array([0.0, 1, 1, 1, 1, 1]))


def test_every_fold_needs_every_one_of_several_classes() -> None:
    Y = codes([0, 1, 2, 0, 1, 1], 3)
    check("balanced_zero_one", Y)
    with pytest.raises(ValueError, match="fold 1 has no test sample of the class of column 2"):
        check("balanced_zero_one", Y, [np.arange(3), np.arange(3, 6)])
    with pytest.raises(ValueError, match="there is none of the class of column 3"):
        check("balanced_zero_one", codes([0, 1, 2, 0], 4))


@pytest.mark.parametrize("name", ["squared", "absolute", "zero_one"])
def test_other_losses_take_any_folds(name: str) -> None:
    check(name, TWO, FOLDS)
    check(name, codes([0, 1, 1, 0, 0, 0], 3), FOLDS)


@pytest.mark.parametrize("name", ["squared", "absolute"])
def test_errors_have_any_target(name: str) -> None:
    check(name, np.zeros((3, 2)))
