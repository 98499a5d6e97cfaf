"""Common base of the estimators: parameters, selection, the model of a size."""

from __future__ import annotations

import copy
import numbers
import os
import warnings
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base import (
    Float,
    GreedyRLSWarning,
    OwnInit,
    checked_device_array,
    counted,
    location_of,
    numbers_on,
    take,
)
from .._data import opened, origin_of
from .._problem import (
    ClassWeights,
    FeatureCosts,
    FeatureGroups,
    FeatureList,
    constant_scores,
    named_columns,
    numeric,
    with_names,
)
from .._select import Caller, Options, select_path
from ..path import AlphaRule, DirectionName, SelectionPath, SizeRule, linear_values
from ._classifier import NoProbabilities
from ._shapes import TakesShape

# Parameters of the linear estimators that have another name in `greedy_path`.
CALLER = Caller(
    {"n_features": "n_features_to_select"},
    takes_shares=True,
    takes_auto_loss=True,
)
# Sparse formats of X that are not converted.
SPARSE = ("csc", "csr")


class GreedyRLSBase(OwnInit, NoProbabilities, TakesShape, SelectorMixin, BaseEstimator):
    """Common base of regressor and classifier: parameters, selection, model of a size."""

    path_: SelectionPath

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] | None = "auto",
        *,
        alpha: float | ArrayLike | Literal["auto"] = "auto",
        cv: Any = "loo",
        loss: Any = "auto",
        fit_intercept: bool = True,
        forced_features: FeatureList | None = None,
        excluded_features: FeatureList | None = None,
        direction: DirectionName = "forward",
        backward_ratio: float | None = None,
        feature_groups: FeatureGroups | None = None,
        feature_costs: FeatureCosts | None = None,
        budget: float | None = None,
        alpha_rule: AlphaRule = "nested",
        alpha_cv: Any = None,
        refit_alpha: float | Literal["same", "loo", "cv"] | None = None,
        size_rule: SizeRule = "1se",
        max_features: int | None = None,
        patience: int | None = None,
        tol: float | None = None,
        n_runners_up: int = 0,
        device: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
        self.cv = cv
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.forced_features = forced_features
        self.excluded_features = excluded_features
        self.direction = direction
        self.backward_ratio = backward_ratio
        self.feature_groups = feature_groups
        self.feature_costs = feature_costs
        self.budget = budget
        self.alpha_rule = alpha_rule
        self.alpha_cv = alpha_cv
        self.refit_alpha = refit_alpha
        self.size_rule = size_rule
        self.max_features = max_features
        self.patience = patience
        self.tol = tol
        self.n_runners_up = n_runners_up
        self.device = device
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _select(
        self,
        X: Any,
        Y: Any,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        labels: NDArray[Any] | None = None,
        class_weights: ClassWeights | None = None,
    ) -> None:
        """Search, and use the model of the size asked for."""
        self.path_ = self._search(X, Y, sample_weight, groups, labels, class_weights)
        if self.path_.interrupted:
            warnings.warn(
                f"The search was interrupted; the model has {self.path_.chosen_size} of the "
                f"{counted(len(self.path_), 'feature')} found so far.",
                GreedyRLSWarning,
                stacklevel=3,
            )
        elif self.path_.chosen_size == 0:
            warnings.warn(
                f"No features were chosen: {self._nothing}. with_n_features(k) returns the model "
                "with k features of the path; n_features_to_select=k selects k of them.",
                GreedyRLSWarning,
                stacklevel=3,
            )
        self.alpha_ = self.path_.settings.alpha
        self._use(self.path_.chosen_size)

    @property
    def _nothing(self) -> str:
        """The reason why no features were chosen, in words."""
        return nothing_predicts(self, self.fit_intercept)

    @property
    def _all_options(self) -> Options:
        """The parameters as options of a selection."""
        return Options.of(vars(self), CALLER)

    def _search(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any,
        groups: Any,
        labels: NDArray[Any] | None,
        class_weights: ClassWeights | None,
    ) -> SelectionPath:
        """Return the path of the search."""
        names = getattr(self, "feature_names_in_", None)
        wants_probabilities = self._wants_probabilities
        selected = select_path(
            X,
            Y,
            self._all_options,
            sample_weight=sample_weight,
            groups=groups,
            labels=labels,
            class_weights=class_weights,
            feature_names=None if names is None else tuple(names),
        )
        if wants_probabilities:
            self._calibrate(selected, self.verbose)
        return selected.path

    def _use(self, k: int) -> None:
        """Use the model on the first k features of the path."""
        path, n = self.path_, self.n_features_in_
        self.n_features_ = k
        self.selected_ = path.features(k)
        self.support_ = np.zeros(n, dtype=bool)
        self.support_[self.selected_] = True
        self.ranking_ = _ranking(path, k, n)
        chosen = np.atleast_2d(path.coef(k))
        coef = np.zeros((len(chosen), n))
        coef[:, self.selected_] = chosen
        self.coef_: Float = coef
        self.intercept_: Any = np.atleast_1d(path.intercept(k))
        if not k and is_classifier(self):
            self.intercept_ = constant_scores(self.intercept_)

    @property
    def _model_size(self) -> int:
        """The number of features (or groups) of the model."""
        return self.n_features_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "path_")

    # scikit-learn has two methods that return its diagram, and notebooks may call either.
    def _repr_html_inner(self) -> str:
        return self._with_path(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        # The key is missing with sklearn.set_config(display="text").
        if "text/html" in bundle:
            bundle["text/html"] = self._with_path(bundle["text/html"])
        return bundle

    def _with_path(self, diagram: str) -> str:
        from .._notebook import estimator_html

        is_fitted = self.__sklearn_is_fitted__()
        return estimator_html(diagram, self.path_, self.n_features_) if is_fitted else diagram

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _predictions(self, X: Any) -> Float:
        """Return the values of the linear model, (m × t)."""
        check_is_fitted(self)
        coef = np.atleast_2d(self.coef_)[:, self.selected_]
        X = opened(X)
        origin = origin_of(X)
        if origin.is_lazy or origin.on_device:
            self._check_columns(checked_device_array(X) if origin.on_device else X)
            values_there: Float = linear_values(
                X, self.selected_, coef, np.atleast_1d(self.intercept_)
            )
            return values_there
        if origin.is_file:
            self._check_columns(X)
            from_file: Float = X.linear(self.selected_, coef, self.intercept_)
            return from_file
        with named_columns(X):
            X = numeric(validate_data(self, with_names(X), accept_sparse=SPARSE, reset=False))
        values: Float = X[:, self.selected_] @ coef.T + self.intercept_
        return values

    def transform(self, X: Any) -> Any:
        """Return X reduced to the selected features.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples.

        Returns
        -------
        array of shape (m, k)
            The selected columns, in the order of X. For a device array, an array of the same kind.
        """
        if not origin_of(X).on_device:
            return super().transform(with_names(X))
        self._check_columns(checked_device_array(X))
        (chosen,) = self._get_support_mask().nonzero()
        return take(X, numbers_on(location_of(X), chosen))

    def with_n_features(self, k: int) -> Self:
        """Return the fitted estimator with another number of features, without fitting again.

        The features are the first k of the path (or, with another `direction` than forward, its
        best set of k). Their penalty was chosen for the size of this estimator; a fit with
        ``n_features_to_select=k`` chooses it for k.

        Parameters
        ----------
        k : int
            Number of features, 0 to the length of ``path_``. A model with 0 predicts the mean of
            the targets; `n_features_to_select` is then left as it is.

        Returns
        -------
        estimator
            A fitted copy; this one is not changed.
        """
        check_is_fitted(self)
        if isinstance(k, bool) or not isinstance(k, numbers.Integral):
            raise TypeError(f"k must be a whole number, got {k!r}.")
        if not 0 <= int(k) <= len(self.path_):
            raise ValueError(
                f"k={k} is not on the path, which has 0 to {len(self.path_)} features; fit with a "
                "larger n_features_to_select to go further."
            )
        other = copy.copy(self)
        if k:  # 0 is not a valid parameter
            other.n_features_to_select = int(k)
        other._use(int(k))
        return other


def nothing_predicts(estimator: BaseEstimator, fit_intercept: bool) -> str:
    """Return a sentence that a model without features is the best."""
    constant = "its mean" if fit_intercept else "0"
    if is_classifier(estimator):
        constant = "the most frequent class"
    return f"nothing predicts the target better than {constant}"


def _ranking(path: SelectionPath, k: int, n: int) -> NDArray[np.intp]:
    """Return the rank of each feature on the path; all other features share the next rank.

    If sets are not nested, the features of size k come first, in their order.
    """
    if not path.is_nested:
        features = path.features(k)
        ranking = np.full(n, len(features) + 1)
        ranking[features] = np.arange(1, len(features) + 1)
        return ranking
    ranking = np.full(n, len(path) + 1)
    before = 0
    for rank, chosen in enumerate(path.sets, 1):
        ranking[list(chosen.order[before : chosen.count])] = rank
        before = chosen.count
    return ranking
