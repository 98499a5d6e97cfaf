"""Probabilities: against refits and SciPy, what they may not depend on, where there are none."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, special
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold

import literal
import probability_twin as twin
from greedyrls import GreedyKernelRLSClassifier, GreedyRLSClassifier
from greedyrls.assess import PathAssessment, cross_validate_path
from greedyrls.files import open_npy
from internals import fit_sigmoid, make_folds, numpy_of, penalty_scale, refit_grid
from traps import interrupted_at
from tuning import Tune

Array = np.ndarray[Any, Any]


def classes(m: int = 45, n: int = 6, count: int = 2, seed: int = 0) -> tuple[Array, Array, Array]:
    """Data of overlapping classes of unlike frequency as text, and weights of which some are 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) * rng.uniform(0.5, 2.0, n) + rng.standard_normal(n)
    signal = X[:, 1] - X[:, 4] + 1.5 * rng.standard_normal(m)
    edges = np.quantile(signal, [0.65] if count == 2 else [0.4, 0.8])
    y = np.array(["low", "middle", "top"])[np.searchsorted(edges, signal)]
    return X, y, rng.integers(0, 4, m).astype(float)


def codes_of(y: Array) -> Array:
    found = np.unique(y)
    codes = np.where(found[None, :] == y[:, None], 1.0, -1.0)
    return codes[:, 1:] if len(found) == 2 else codes


def rare(m: int, share: float = 0.04, n: int = 12, seed: int = 0) -> tuple[Array, Array]:
    """A class of 4 % that two of the features say something of."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    u = 1.2 * X[:, 2] - 0.9 * X[:, 7]
    shift = np.quantile(u + rng.logistic(size=200_000 // m * m).reshape(-1, m)[:50], 1 - share)
    return X, (u + rng.logistic(size=m) > shift).astype(int)


def expected(model: Any, margins: Array, Y: Array, weights: Array, X: Array) -> Array:
    used = weights > 0
    sigmoids = [
        twin.literal_sigmoid(margins[used, target], Y[used, target] > 0, weights[used])
        for target in range(Y.shape[1])
    ]
    return twin.literal_probabilities(model.decision_function(X), sigmoids)


@pytest.mark.parametrize(
    ("count", "class_weight", "refit"),
    [(2, None, "same"), (3, "balanced", "same"), (2, "balanced", "loo"), (3, None, "loo")],
)
def test_margins_of_outer_folds_are_literal(count: int, class_weight: Any, refit: str) -> None:
    X, y, w = classes(count=count)
    Y, fold_of = codes_of(y), np.arange(len(y)) % 3
    splits = [(np.flatnonzero(fold_of != one), np.flatnonzero(fold_of == one)) for one in range(3)]
    model = GreedyRLSClassifier(
        3,
        alpha=[1.0, 20.0],
        alpha_cv=fold_of,
        refit_alpha=refit,
        class_weight=class_weight,
        loss="squared",
    ).fit(X, y, w)

    def fitted(train: Array) -> Array:
        return w * literal.balanced_factors(y if class_weight else None, w, train)

    def penalties(train: Array, own: Array) -> Any:
        centred = X[train] - own @ X[train] / own.sum()
        return refit_grid(penalty_scale(own @ centred**2, ()), is_fine=True)

    margins = twin.outer_margins(
        *(X, Y, splits, 3, model.alpha_),
        refit="same" if refit == "same" else penalties,
        weights=w,
        fitted=fitted,
        fit_intercept=True,
    )
    assert model.calibration_.source == "outer folds"
    assert model.calibration_.n_samples == np.count_nonzero(w)
    assert_allclose(model.predict_proba(X), expected(model, margins, Y, w, X), atol=2e-6)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_margins_of_other_rows_are_literal(count: int, cv: Any, fit_intercept: bool) -> None:
    """Leave-one-out, and folds, on the features that all rows chose."""
    X, y, w = classes(count=count, seed=1)
    Y = codes_of(y)
    model = GreedyRLSClassifier(3, alpha=2.0, cv=cv, refit_alpha=5.0, fit_intercept=fit_intercept)
    model.fit(X, y, w)
    rows = np.arange(len(y))
    splits: Any = [(np.delete(rows, row), rows[[row]]) for row in rows]
    if cv == 3:
        splits = [
            (np.setdiff1d(rows, test), test)
            for test in (split.test for split in fold_splits(X, y, w))
        ]
    margins = twin.refitted_margins(X, Y, splits, model.selected_.tolist(), 5.0, w, fit_intercept)
    assert model.calibration_.source == ("leave-one-out" if cv == "loo" else "folds")
    assert "selected with these samples" in model.calibration_.sentence
    assert_allclose(model.predict_proba(X), expected(model, margins, Y, w, X), atol=2e-6)


def fold_splits(X: Array, y: Array, w: Array) -> Any:
    return make_folds(3, len(y), y=y, labels=y, groups=None, weights=w).splits


def test_kernel_margins_of_outer_folds_are_those_of_fits_without_them() -> None:
    X, y, w = classes(60)
    X, w = X[:, [1, 4]], w + 1.0
    fold_of = np.arange(60) % 3
    options: dict[str, Any] = {"gamma": 0.4, "refit_alpha": "same"}
    model = GreedyKernelRLSClassifier(4, alpha=[0.1, 1.0], alpha_cv=fold_of, **options)
    model.fit(X, y, w)
    margins = np.empty((60, 1))
    for one in range(3):
        train, test = fold_of != one, fold_of == one
        part = GreedyKernelRLSClassifier(4, alpha=model.alpha_, **options)
        margins[test, 0] = part.fit(X[train], y[train], w[train]).decision_function(X[test])
    found = model.predict_proba(X)
    assert_allclose(found, expected(model, margins, codes_of(y), w, X), atol=2e-6)
    alone = GreedyKernelRLSClassifier(4, alpha=1.0, gamma=0.4).fit(X, y)
    assert alone.calibration_.source == "leave-one-out"
    assert_allclose(alone.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "options", [{"alpha": 3.0}, {"alpha": [1.0, 30.0]}, {"alpha": 3.0, "cv": 3}]
)
@pytest.mark.parametrize("kind", ["sparse", "file", "device", "order", "blocks"])
def test_the_same_everywhere(kind: str, options: Any, tmp_path: Path, tune: Tune) -> None:
    X, y, w = classes(80, count=3, seed=2)
    fold_of = np.arange(80) % 4
    options = options | {"cv" if "cv" in options else "alpha_cv": fold_of}
    options["loss"] = "squared"
    model = GreedyRLSClassifier(3, **options).fit(X, y, w)
    assert (model.calibration_.slopes > 0).all()
    given, order = X, np.arange(80)
    if kind == "sparse":
        given = sparse.csr_array(X)
    elif kind == "file":
        np.save(tmp_path / "X.npy", X)
        given = open_npy(tmp_path / "X.npy", memory_limit="64KB")
    elif kind == "device":
        strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
        given = strict.asarray(X)
    elif kind == "blocks":
        tune(curve_elements=1)
        given = np.asfortranarray(X)
    else:
        order = np.random.default_rng(5).permutation(80)
        given = X[order]
        options |= {key: options[key][order] for key in ("cv", "alpha_cv") if key in options}
    other = GreedyRLSClassifier(3, **options).fit(given, y[order], w[order])
    assert_allclose(other.calibration_.slopes, model.calibration_.slopes, rtol=1e-8)
    assert_allclose(other.predict_proba(X), model.predict_proba(X), rtol=1e-8)
    if kind in ("sparse", "file", "device"):
        found = model.predict_proba(given)
        assert type(found) is (type(given) if kind == "device" else np.ndarray)
        assert_allclose(numpy_of(found), model.predict_proba(X), rtol=1e-9)


def test_rows_that_are_tested_repeatedly_count_once() -> None:
    X, y, _ = classes(80)
    cv = [*StratifiedKFold(4).split(X, y)]
    once = GreedyRLSClassifier(2, alpha=1.0, cv=cv).fit(X, y)
    twice = GreedyRLSClassifier(2, alpha=1.0, cv=[*cv, *cv]).fit(X, y)
    assert_allclose(twice.predict_proba(X), once.predict_proba(X), rtol=1e-8)
    some = GreedyRLSClassifier(2, alpha=1.0, cv=ShuffleSplit(3, random_state=0)).fit(X, y)
    assert some.calibration_.n_samples < 80


def test_margins_of_groups_are_of_other_groups() -> None:
    """Leaving out single rows of a group whose rows are alike would know too much."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    X = rng.standard_normal((40, 30))[groups] + 0.01 * rng.standard_normal((200, 30))
    y = rng.integers(0, 2, 40)[groups]
    alone = GreedyRLSClassifier(20, alpha=0.01).fit(X, y)
    together = GreedyRLSClassifier(20, alpha=0.01, cv=GroupKFold(5)).fit(X, y, groups=groups)
    assert together.calibration_.slopes[0] < 0.5 * alone.calibration_.slopes[0]


def test_better_than_the_margin_through_a_sigmoid() -> None:
    X, y = rare(3000, 0.15)
    train, test = slice(0, 1500), slice(1500, None)
    model = GreedyRLSClassifier(2, alpha=[10.0], loss="squared").fit(X[train], y[train])
    p = model.predict_proba(X[test])[:, 1]
    naive = special.expit(model.decision_function(X[test]))
    assert brier_score_loss(y[test], p) < 0.75 * brier_score_loss(y[test], naive)
    assert log_loss(y[test], p) < 0.75 * log_loss(y[test], naive)
    assert log_loss(y[test], p) < log_loss(y[test], np.full(len(p), y[train].mean()))


@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 10.0}])
def test_a_rare_class_keeps_its_share(class_weight: Any) -> None:
    """Weights of classes move predictions, not probabilities."""
    X, y = rare(4000)
    model = GreedyRLSClassifier(2, alpha=[10.0], loss="squared", class_weight=class_weight)
    p = model.fit(X, y).predict_proba(X)[:, 1]
    assert p.mean() == pytest.approx(y.mean(), abs=0.004)
    order = np.argsort(p)
    for part in np.array_split(order, 4):
        assert p[part].mean() == pytest.approx(y[part].mean(), abs=0.025)
    is_weighted = class_weight is not None
    assert (model.predict(X).mean() > 2 * y.mean()) == is_weighted
    assert np.mean(p > 0.5) < y.mean()


def test_noise_has_the_shares_of_the_classes() -> None:
    """Wide noise: features that all samples chose fit them well, and say nothing."""
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(4):
        X, y = rng.standard_normal((60, 400)), (np.arange(60) % 3 == 0).astype(int)
        model = GreedyRLSClassifier(5, alpha=[10.0], loss="squared").fit(X, y)
        p = model.predict_proba(rng.standard_normal((200, 400)))[:, 1]
        errors.append(np.abs(p - 1 / 3).mean())
        assert (p < 0.75).all()
    assert np.median(errors) < 0.08
    seen = GreedyRLSClassifier(5, alpha=10.0).fit(X, y)
    surely = np.abs(seen.predict_proba(rng.standard_normal((200, 400)))[:, 1] - 1 / 3).mean()
    assert surely > 3 * np.median(errors)


def test_margins_that_order_classes_wrongly_give_their_share() -> None:
    X = np.vstack([np.eye(6), -np.eye(6)])[:, :2]
    y = np.array([0, 1, 0, 1, 1, 1] * 2)
    model = GreedyRLSClassifier(1, alpha=1e6).fit(X, y)
    assert_array_equal(model.calibration_.slopes, 0.0)
    assert_allclose(model.predict_proba(X), np.tile([1 / 3, 2 / 3], (12, 1)))
    assert "do not order the classes" in model.calibration_.sentence


def test_sigmoid_and_scipy() -> None:
    rng = np.random.default_rng(0)
    for scale in (1e-6, 1.0, 1e5):
        for _ in range(5):
            z = rng.standard_normal(50)
            is_positive = z + rng.standard_normal(50) > 0.5
            w = rng.uniform(0.0, 3.0, 50)
            found = fit_sigmoid(scale * z + scale, is_positive, w, 0.5)
            slope, intercept = twin.literal_sigmoid(z, is_positive, w)
            assert found.slope * scale == pytest.approx(slope, rel=1e-5)
            assert found.intercept == pytest.approx(intercept - slope, rel=1e-4, abs=1e-5)


def test_sigmoid_at_its_limits() -> None:
    z = np.linspace(-1.0, 1.0, 40)
    ones = np.ones(40)
    apart = fit_sigmoid(z, z > 0, ones, 0.5)
    assert 0.0 < apart.slope < 1e3
    assert_allclose(special.expit(apart.slope + apart.intercept), 21 / 22, atol=0.05)
    far = fit_sigmoid(np.append(z, 1e9), np.append(z > 0, True), np.ones(41), 0.5)
    assert far.slope > 0.0
    assert np.isfinite(far.intercept)
    for values, positive in (
        (-z, z > 0),
        (ones, z > 0),
        (1e8 + 1e-8 * z, z > 0),
        (z, np.zeros(40, dtype=bool)),
    ):
        assert fit_sigmoid(values, positive, ones, 0.2) == (0.0, pytest.approx(special.logit(0.2)))
    counts = np.arange(40) % 3
    repeated = fit_sigmoid(z.repeat(counts), (z > 0.1).repeat(counts), np.ones(counts.sum()), 0.5)
    weighted = fit_sigmoid(z, z > 0.1, counts.astype(float), 0.5)
    assert_allclose(weighted, repeated, rtol=1e-9)


def test_scikit_learn_conventions() -> None:
    X, y, _ = classes(60, count=3)
    model = GreedyRLSClassifier(3, alpha=1.0)
    assert clone(model).get_params()["probability"] is True
    with pytest.raises(NotFittedError):
        model.predict_proba(X)
    found = model.fit(X, y).predict_proba(X)
    assert found.shape == (60, 3)
    assert_allclose(found.sum(axis=1), 1.0)
    assert_allclose(model.predict_log_proba(X), np.log(found))
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), found)
    assert repr(again.calibration_) == repr(model.calibration_)
    renamed = GreedyRLSClassifier(3, alpha=1.0).fit(X, np.where(y == "low", "z", y))
    assert_allclose(renamed.predict_proba(X)[:, [2, 0, 1]], found, rtol=1e-8)
    far = np.full((1, 6), 1e300)
    assert_allclose(model.predict_proba(far).sum(axis=1), 1.0)


def test_where_there_are_none() -> None:
    X, y, _ = classes(60)
    without = GreedyRLSClassifier(3, alpha=1.0, probability=False).fit(X, y)
    assert not hasattr(without, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba") as caught:
        without.predict_proba(X)
    assert "probability=True" in str(caught.value.__cause__ or caught.value)
    model = GreedyRLSClassifier(3, alpha=1.0).fit(X, y)
    assert_array_equal(without.predict(X), model.predict(X))
    smaller = model.with_n_features(2)
    assert not hasattr(smaller, "predict_proba")
    assert hasattr(model.with_n_features(3), "predict_proba")
    for value in ("yes", 1, None):
        with pytest.raises(TypeError, match="probability must be True or False, got"):
            GreedyRLSClassifier(3, alpha=1.0, probability=value).fit(X, y)


def test_an_interrupt_while_they_are_fitted_leaves_the_model() -> None:
    X, y, _ = classes(60)
    model = GreedyRLSClassifier(3, alpha=[1.0], loss="squared")
    with (
        interrupted_at("fit probabilities", 1),
        pytest.warns(UserWarning, match="Interrupted while probabilities were fitted"),
    ):
        model.fit(X, y)
    assert len(model.predict(X)) == 60
    assert model.calibration_ is None
    assert not hasattr(model, "predict_proba")
    assert hasattr(model.fit(X, y), "predict_proba")


@pytest.mark.parametrize(
    ("count", "class_weight", "alpha"),
    [(2, None, 2.0), (3, "balanced", 2.0), (2, "balanced", [0.5, 20.0]), (3, None, [0.5, 20.0])],
)
def test_assessed_on_rows_held_out(count: int, class_weight: Any, alpha: Any) -> None:
    X, y, w = classes(90, count=count)
    found = cross_validate_path(
        *(X, y, 3),
        cv=StratifiedKFold(3),
        alpha=alpha,
        loss="squared",
        class_weight=class_weight,
        sample_weight=w,
        n_random=0,
    ).class_rates
    assert found is not None
    scores = []
    for train, test in StratifiedKFold(3).split(X, y):
        model = GreedyRLSClassifier(3, alpha=alpha, loss="squared", class_weight=class_weight)
        model.fit(X[train], y[train], w[train])
        p, own = model.predict_proba(X[test]), w[test]
        shares = np.array([w[train][y[train] == one].sum() for one in model.classes_])
        guess = np.tile(shares / shares.sum(), (len(test), 1))
        scores.append(
            [
                own.sum(),
                twin.brier(p, y[test], own),
                log_loss(y[test], p, sample_weight=own),
                twin.brier(guess, y[test], own),
                log_loss(y[test], guess, sample_weight=own),
            ]
        )
    own, *losses = np.array(scores).T
    told = [
        found.brier_score,
        found.log_loss,
        found.initial_brier_score,
        found.initial_log_loss,
    ]
    assert_allclose(told, [np.average(one, weights=own) for one in losses], rtol=1e-6)


def test_assessments_say_so_and_keep_it() -> None:
    X, y = rare(400, 0.3)
    found = cross_validate_path(X, y, 2, alpha=10.0, cv=3, n_random=0)
    rates = found.class_rates
    assert rates is not None
    assert f"Brier score {rates.brier_score:.3f} (0." in found.sentence
    assert f"log loss {rates.log_loss:.3f} (0." in found.sentence
    again = PathAssessment.from_json(found.to_json())
    assert again.to_json() == found.to_json()
    assert again.class_rates is not None
    assert again.class_rates.log_loss == rates.log_loss
    document = json.loads(found.to_json())
    del document["class_rates"]["probabilities"]
    old = PathAssessment.from_json(json.dumps(document))
    assert old.class_rates is not None
    assert old.class_rates.brier_score is None
    assert "Brier" not in old.sentence
