"""The classifier's own choice of the loss to select by, against two selections made by hand."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale

from assess_checks import ALPHAS as TWIN_ALPHAS
from assess_checks import labels
from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, greedy_path
from greedyrls.assess import cross_validate_path
from shuffled import shuffled_splits
from tuning import Tune

ALPHAS = [0.1, 1.0, 10.0]


def data(name: str) -> tuple[Any, Any]:
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return scale(X[:400, 10:34]), y[:400]
    X, y = load_wine(return_X_y=True)
    return scale(X), y


def error_rates(X: Any, y: Any, k: int, alpha: float, loss: str) -> np.ndarray:
    """Of models selected on each of five folds, by hand."""
    rates = []
    for train, test in shuffled_splits(len(y), 5, labels=y):
        model = GreedyRLSClassifier(k, alpha=alpha, loss=loss).fit(X[train], y[train])
        rates.append(1.0 - accuracy_score(y[test], model.predict(X[test])))
    return np.array(rates)


@pytest.mark.parametrize(("name", "k"), [("digits", 3), ("digits", 12), ("wine", 4)])
def test_the_better_loss_in_outer_folds(name: str, k: int) -> None:
    X, y = data(name)
    model = GreedyRLSClassifier(k, alpha=ALPHAS, refit_alpha="same").fit(X, y)
    squared = GreedyRLSClassifier(k, alpha=ALPHAS, refit_alpha="same", loss="squared").fit(X, y)
    alpha = squared.alpha_
    # Of ALPHAS, the one closest (as a ratio) to a hundredth of the number of samples.
    near = min(ALPHAS, key=lambda value: abs(np.log(value / (0.01 * len(y)))))
    one = error_rates(X, y, k, alpha, "squared")
    other = error_rates(X, y, k, near, "zero_one")
    sizes = np.array([len(test) for _, test in shuffled_splits(len(y), 5, labels=y)])
    shares = sizes / sizes.sum()
    difference = one - other
    gain = shares @ difference
    spread = np.sqrt(np.square(shares * (difference - gain)).sum() * 5 / 4)
    taken = "zero_one" if gain > 0.5 * spread and gain * len(y) > 4 else "squared"
    assert model.path_.settings.loss == taken
    hand = GreedyRLSClassifier(
        k, alpha=alpha if taken == "squared" else near, refit_alpha="same", loss=taken
    )
    assert model.selected_.tolist() == hand.fit(X, y).selected_.tolist()
    told = re.search(r"is (\S+) by 'zero_one' and (\S+) by squared loss", model.path_.sentence)
    assert told is not None
    assert float(told[1]) == pytest.approx(shares @ other, abs=5e-4)
    assert float(told[2]) == pytest.approx(shares @ one, abs=5e-4)


def test_both_losses_are_taken_somewhere() -> None:
    taken = {
        GreedyRLSClassifier(k, alpha=ALPHAS).fit(*data(name)).path_.settings.loss
        for name, k in [("digits", 8), ("wine", 4)]
    }
    assert taken == {"squared", "zero_one"}


def test_an_automatic_size_goes_with_the_loss_taken() -> None:
    X, y = data("digits")
    model = GreedyRLSClassifier(max_features=6, alpha=ALPHAS).fit(X, y)
    path = model.path_
    assert path.settings.loss in ("squared", "zero_one")
    assert path.surface is not None
    assert path.surface.size == model.n_features_
    losses, _ = path.held_out
    assert np.isfinite(losses[: model.n_features_]).all()


def test_nothing_else_is_tried_where_no_folds_choose() -> None:
    X, y = data("wine")
    for options in ({"alpha": 1.0}, {"alpha_rule": "joint"}, {"alpha_rule": "all_features"}):
        path = GreedyRLSClassifier(3, **options).fit(X, y).path_
        assert path.settings.loss == "squared"
        assert "Selected by" not in path.sentence


def test_for_numbers_it_is_squared() -> None:
    X, _ = data("wine")
    target = X @ np.arange(13.0)
    path = GreedyRLSRegressor(3).fit(X, target).path_
    again = GreedyRLSRegressor(3, loss="squared").fit(X, target).path_
    assert path.settings.loss == "squared"
    assert path.indices.tolist() == again.indices.tolist()
    assert "Selected by" not in path.sentence


def test_greedy_path_wants_a_loss() -> None:
    X, y = data("wine")
    with pytest.raises(ValueError, match="loss='auto' is not supported"):
        greedy_path(X, np.where(y == 0, 1.0, -1.0), 2, loss="auto")


def test_an_assessment_makes_the_same_choice() -> None:
    X, y = data("digits")
    splits = list(StratifiedKFold(3).split(X, y))
    assessment = cross_validate_path(
        X, y, 3, cv=splits, alpha=ALPHAS, task="classification", n_random=0
    )
    for (train, test), features, losses in zip(
        splits, assessment.features, assessment.test_losses, strict=True
    ):
        model = GreedyRLSClassifier(3, alpha=ALPHAS).fit(X[train], y[train])
        assert features.tolist() == model.selected_.tolist()
        assert losses[-1] == pytest.approx(1.0 - model.score(X[test], y[test]), abs=1e-12)


def test_a_few_lucky_samples_do_not_decide(tune: Tune) -> None:
    X, y = labels(30, classes=3, seed=12)
    splits = [train for train, _ in StratifiedKFold(3).split(X, y)]

    def taken() -> set[str]:
        models = [
            GreedyRLSClassifier(2, alpha=TWIN_ALPHAS).fit(X[rows], y[rows]) for rows in splits
        ]
        return {model.path_.settings.loss for model in models}

    assert taken() == {"squared"}
    tune(loss_choice_samples=0)
    assert taken() == {"squared", "zero_one"}
