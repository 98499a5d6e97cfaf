"""Methods of the suite automatic: each chooses penalty, features and their number by itself.

Every method gets the same training rows and is fitted behind the same steps: columns that are
constant in the training rows are left out, the others standardised.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_selection import RFECV
from sklearn.linear_model import (
    LassoCV,
    LogisticRegression,
    LogisticRegressionCV,
    OrthogonalMatchingPursuitCV,
    Ridge,
)
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor

from .problems import Array, Draw, Labels, Problem

OURS = "ours"
MOST_FEATURES_OF_RFE = 130  # it refits 5 times for every feature: minutes beyond


@dataclass(frozen=True, slots=True)
class Method:
    """A method for regression, classes or both, and what is set."""

    title: str
    does: str
    regressor: Callable[[], Any] | None
    classifier: Callable[[], Any] | None

    def make(self, problem: Problem) -> Any:
        """An estimator for this problem; None where the method is of the other kind."""
        make = self.regressor if problem.score == "R²" else self.classifier
        return None if make is None else make()


def size_rules() -> tuple[str, ...]:
    """Every value that `size_rule` accepts, by the annotation of the estimator."""
    rules: tuple[str, ...] = typing.get_args(
        typing.get_type_hints(GreedyRLSRegressor.__init__)["size_rule"]
    )
    return rules


def default_rule() -> str:
    """The rule of an estimator as it comes."""
    return str(inspect.signature(GreedyRLSRegressor).parameters["size_rule"].default)


def ours(rule: str) -> Method:
    """Our estimators as they come but for the rule of size."""
    return Method(
        f"{OURS}, {rule}",
        f'`GreedyRLSRegressor` and `GreedyRLSClassifier`, `size_rule="{rule}"`',
        lambda: GreedyRLSRegressor(size_rule=rule),  # type: ignore[arg-type]
        lambda: GreedyRLSClassifier(size_rule=rule),  # type: ignore[arg-type]
    )


def why_not(name: str, problem: Problem) -> str | None:
    """Why a method is not run on a problem of its kind."""
    if name == "rfecv" and problem.n_features > MOST_FEATURES_OF_RFE:
        return f"not run: {5 * problem.n_features:,} refits"
    return None


def support(model: Any, n_features: int) -> Array:
    """Mask of the features that the model uses."""
    if hasattr(model, "support_"):
        return np.asarray(model.support_, dtype=bool)
    coefficients = np.asarray(model.coef_, dtype=float)
    # abess has features first where there are several classes, scikit-learn has classes first.
    if coefficients.ndim == 2 and coefficients.shape[0] != n_features:
        coefficients = coefficients.T
    return np.asarray(coefficients.reshape(n_features, -1).any(axis=1))


def score(model: Any, problem: Problem, draw: Draw, X: Array) -> float:
    """Score on the test rows, of which X are the prepared features."""
    if problem.score == "R²":
        return float(r2_score(draw.test_y, model.predict(X)))
    if problem.score == "accuracy":
        return float(accuracy_score(draw.test_y, model.predict(X)))
    return float(roc_auc_score(draw.test_y, model.decision_function(X)))


def _l1_logistic() -> Any:
    def choose(X: Array, n_classes: int) -> Any:
        # liblinear is for two classes only. It is quicker than saga, and its answers are sparser,
        # but with many rows of many columns it takes up to 15 times as long.
        is_large = X.shape[0] > X.shape[1] and X.size > 40_000
        return _logistic_cv("saga" if is_large or n_classes > 2 else "liblinear")

    return _ByData(choose)


def _logistic_cv(solver: str) -> Any:
    settings: dict[str, Any] = {"solver": solver, "random_state": 0}
    if "use_legacy_attributes" in inspect.signature(LogisticRegressionCV).parameters:
        settings |= {"l1_ratios": (1.0,), "use_legacy_attributes": False, "scoring": "accuracy"}
    else:
        settings |= {"penalty": "l1"}
    return LogisticRegressionCV(**settings)


def _abess_linear() -> Any:
    from abess.linear import LinearRegression

    return LinearRegression(cv=5)


def _abess_logistic() -> Any:
    from abess.linear import LogisticRegression as Logistic
    from abess.linear import MultinomialRegression

    return _ByData(lambda X, count: (Logistic if count == 2 else MultinomialRegression)(cv=5))


class _ByData:
    """A classifier that depends on X and the number of classes; inside, labels are 0, 1, 2, …"""

    def __init__(self, choose: Callable[[Array, int], Any]) -> None:
        self._choose = choose

    def fit(self, X: Array, y: Labels) -> _ByData:
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.model_ = self._choose(X, len(self.classes_))
        self.model_.fit(X, codes)
        self.coef_ = self.model_.coef_
        return self

    def predict(self, X: Array) -> Labels:
        labels: Labels = self.classes_[np.asarray(self.model_.predict(X)).astype(int)]
        return labels

    def decision_function(self, X: Array) -> Labels:
        # Of two classes. Probabilities of abess overflow, and then are no numbers.
        return X @ np.ravel(self.coef_) + np.ravel(self.model_.intercept_)


PEERS: dict[str, Method] = {
    "lasso": Method("LassoCV", "scikit-learn's `LassoCV()`", LassoCV, None),
    "l1": Method(
        "L1 logistic",
        "scikit-learn's `LogisticRegressionCV` with L1 penalty, by liblinear or saga",
        None,
        _l1_logistic,
    ),
    "omp": Method(
        "OMP",
        "scikit-learn's `OrthogonalMatchingPursuitCV()`",
        OrthogonalMatchingPursuitCV,
        None,
    ),
    "abess": Method(
        "abess",
        "`LinearRegression(cv=5)`, `LogisticRegression(cv=5)` and, for 3 classes, "
        "`MultinomialRegression(cv=5)` of abess",
        _abess_linear,
        _abess_logistic,
    ),
    "rfecv": Method(
        "RFECV",
        "scikit-learn's `RFECV` of `Ridge()` or `LogisticRegression()`",
        lambda: RFECV(Ridge()),
        lambda: RFECV(LogisticRegression()),
    ),
}
