"""scikit-learn estimators: predictors and selectors in one, thin around the path."""

from __future__ import annotations

import copy
import math
import numbers
import warnings
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ._greedy import select
from ._kernels import Float
from ._path import SelectionPath
from ._problem import FeatureList, Problem, check_n_features, make_problem

# With "auto", the search ends when the smallest loss is this many steps old.
_PATIENCE = 10


class _GreedyRLS(SelectorMixin, BaseEstimator):
    """What the regressor and the classifier share: parameters, selection, model of a size."""

    path_: SelectionPath

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        forced_features: FeatureList | None = None,
        excluded_features: FeatureList | None = None,
        n_runners_up: int = 0,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.forced_features = forced_features
        self.excluded_features = excluded_features
        self.n_runners_up = n_runners_up
        self.verbose = verbose

    def _select(self, X: Any, Y: Any, sample_weight: ArrayLike | None) -> None:
        """Search, and take the model of the size asked for."""
        names = getattr(self, "feature_names_in_", None)
        problem = make_problem(
            X,
            Y,
            alpha=self.alpha,
            fit_intercept=self.fit_intercept,
            sample_weight=sample_weight,
            forced_features=self.forced_features,
            excluded_features=self.excluded_features,
            feature_names=None if names is None else tuple(names),
        )
        automatic = isinstance(self.n_features_to_select, str)
        size = _size(self.n_features_to_select, problem)
        self.path_ = select(
            problem,
            size,
            n_runners_up=self.n_runners_up,
            patience=_PATIENCE if automatic else None,
            verbose=self.verbose,
        )
        if self.path_.interrupted:
            warnings.warn(
                f"The search was interrupted; the model has the {len(self.path_)} features found "
                "so far.",
                stacklevel=3,
            )
        best = min(max(self.path_.best_size, len(problem.forced)), len(self.path_))
        self._use(best if automatic else len(self.path_))

    def _use(self, k: int) -> None:
        """Take the model on the first k features of the path."""
        path, n = self.path_, self.n_features_in_
        self.n_features_ = k
        self.selected_ = path.indices[:k]
        self.support_ = np.zeros(n, dtype=bool)
        self.support_[self.selected_] = True
        self.ranking_ = np.full(n, len(path) + 1)
        self.ranking_[path.indices] = np.arange(1, len(path) + 1)
        chosen = np.atleast_2d(path.coef(k))
        coef = np.zeros((len(chosen), n))
        coef[:, self.selected_] = chosen
        self.coef_: Float = coef
        self.intercept_: Any = np.atleast_1d(path.intercept(k))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "path_")

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _predictions(self, X: Any) -> Float:
        """Values of the linear model, (m × t)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        coef = np.atleast_2d(self.coef_)[:, self.selected_]
        values: Float = X[:, self.selected_] @ coef.T + self.intercept_
        return values

    def with_n_features(self, k: int) -> Self:
        """The fitted estimator with another number of features, without a new fit.

        Parameters
        ----------
        k : int
            Number of features, 1 to the length of ``path_``.

        Returns
        -------
        estimator
            A fitted copy; this one is not changed.
        """
        check_is_fitted(self)
        if isinstance(k, bool) or not isinstance(k, numbers.Integral):
            raise TypeError(f"k must be a whole number, got {k!r}.")
        if not 1 <= int(k) <= len(self.path_):
            raise ValueError(
                f"k={k} is not on the path, which has 1 to {len(self.path_)} features; fit with a "
                "larger n_features_to_select to go further."
            )
        other = copy.copy(self)
        other.n_features_to_select = int(k)
        other._use(int(k))
        return other


class GreedyRLSRegressor(MultiOutputMixin, RegressorMixin, _GreedyRLS):
    """Ridge regression on features selected by the exact leave-one-out criterion.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features, forced ones included: a number, a share of all features in (0, 1], or
        "auto" for the size with the smallest leave-one-out loss; the path is grown until that has
        not improved for 10 steps, to at most one feature less than there are samples.
    alpha : float, default=1.0
        Ridge penalty of search and model, greater than 0.
    fit_intercept : bool, default=True
        Whether there is an unpenalised intercept.
    forced_features, excluded_features : list of int or str, or mask, optional
        Features added before the search, and features never chosen.
    n_runners_up : int, default=0
        How many next best features to record at each step on ``path_``.
    verbose : int, default=0
        1 shows a progress bar on long runs (needs tqdm).

    Attributes
    ----------
    selected_ : ndarray of shape (k,)
        Chosen features in the order of selection.
    support_ : ndarray of bool of shape (n,)
        Mask of the chosen features.
    ranking_ : ndarray of int of shape (n,)
        Place of each feature on the path (1 is the first chosen); features not on the path share
        the place after the last.
    n_features_ : int
        k.
    path_ : SelectionPath
        Order, losses and models of all sizes.
    coef_ : ndarray of shape (n,) or (t, n)
        Coefficients, 0 for features not chosen.
    intercept_ : float or ndarray of shape (t,)
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Cost: see `greedy_path`; ``predict`` looks at the selected columns only, apart from
    scikit-learn's check of X.

    The leave-one-out loss of a searched set is optimistic, the more so the more features were
    searched; estimate the quality of the whole procedure by cross-validating the estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls import GreedyRLSRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GreedyRLSRegressor(4, alpha=0.01).fit(X, y)
    >>> model.get_feature_names_out().tolist()
    ['bmi', 'bp', 's1', 's5']
    >>> model.with_n_features(2).selected_.tolist()
    [2, 8]
    """

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Select features and fit the model.

        Parameters
        ----------
        X : array-like of shape (m, n)
        y : array-like of shape (m,) or (m, t)
        sample_weight : array-like of shape (m,), optional

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, ensure_all_finite=False)
        self._select(X, y, sample_weight)
        return self

    def _use(self, k: int) -> None:
        super()._use(k)
        if self.path_.settings.single_target:
            self.coef_, self.intercept_ = self.coef_[0], float(self.intercept_[0])

    def predict(self, X: Any) -> Float:
        """Predictions of the model on the selected features.

        Parameters
        ----------
        X : array-like of shape (m, n)

        Returns
        -------
        ndarray of shape (m,) or (m, t)
        """
        values = self._predictions(X)
        return values[:, 0] if self.path_.settings.single_target else values


class GreedyRLSClassifier(ClassifierMixin, _GreedyRLS):
    """Ridge (LS-SVM) classification on features selected by the exact leave-one-out criterion.

    Two classes are coded as −1 and +1; more than two as one target each (one against the rest),
    with one set of features for all.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features, forced ones included: a number, a share of all features in (0, 1], or
        "auto" for the size with the smallest leave-one-out loss; the path is grown until that has
        not improved for 10 steps, to at most one feature less than there are samples.
    alpha : float, default=1.0
        Ridge penalty of search and model, greater than 0.
    fit_intercept : bool, default=True
        Whether there is an unpenalised intercept.
    forced_features, excluded_features : list of int or str, or mask, optional
        Features added before the search, and features never chosen.
    n_runners_up : int, default=0
        How many next best features to record at each step on ``path_``.
    verbose : int, default=0
        1 shows a progress bar on long runs (needs tqdm).

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        The labels.
    selected_, support_, ranking_, n_features_, path_
        As in `GreedyRLSRegressor`.
    coef_ : ndarray of shape (1, n) or (c, n)
        Coefficients of the decision function, 0 for features not chosen.
    intercept_ : ndarray of shape (1,) or (c,)
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Cost: see `greedy_path`, with one target for two classes and c for c classes.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from greedyrls import GreedyRLSClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = GreedyRLSClassifier(3).fit(scale(X), y)
    >>> model.selected_.tolist(), round(model.score(scale(X), y), 2)
    ([12, 9, 6], 0.94)
    """

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Select features and fit the model.

        Parameters
        ----------
        X : array-like of shape (m, n)
        y : array-like of shape (m,)
            Labels of any kind, at least two different ones.
        sample_weight : array-like of shape (m,), optional

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, ensure_all_finite=False)
        check_classification_targets(y)
        binarizer = LabelBinarizer(neg_label=-1, pos_label=1)
        codes = binarizer.fit_transform(y).astype(np.float64)
        classes = binarizer.classes_
        if len(classes) < 2:
            raise ValueError(
                f"Classifier can't train when only one class is present: every label is "
                f"{classes.tolist()[0]!r}. Pass data of at least 2 classes."
            )
        _check_weighted_classes(y, sample_weight)
        self._select(X, codes[:, 0] if codes.shape[1] == 1 else codes, sample_weight)
        self.classes_: NDArray[Any] = classes
        return self

    def decision_function(self, X: Any) -> Float:
        """Values of the linear model: their sign (two classes) or the largest (more) decides.

        Parameters
        ----------
        X : array-like of shape (m, n)

        Returns
        -------
        ndarray of shape (m,) for two classes, (m, c) for c
        """
        values = self._predictions(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels.

        Parameters
        ----------
        X : array-like of shape (m, n)

        Returns
        -------
        ndarray of shape (m,)
        """
        values = self.decision_function(X)
        places = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[places]
        return labels


def _check_weighted_classes(y: NDArray[Any], sample_weight: ArrayLike | None) -> None:
    """Samples of weight 0 are no samples: two classes must have weight."""
    if sample_weight is None:
        return
    weights = np.asarray(sample_weight)
    if weights.shape == y.shape and weights.any() and len(np.unique(y[weights != 0])) < 2:
        raise ValueError(
            "Classifier can't train when only one class is present: all samples of positive "
            f"weight have the label {y[weights != 0].tolist()[0]!r}."
        )


def _size(n_features_to_select: Any, problem: Problem) -> int:
    """The largest number of features that the search may reach."""
    if problem.n_available == 0:
        raise ValueError("All features of X are excluded: there is nothing to choose from.")
    if n_features_to_select == "auto":
        return max(1, len(problem.forced), min(problem.n_available, problem.n_samples - 1))
    wrong = (
        "n_features_to_select must be a whole number, a share in (0, 1] or 'auto', got "
        f"{n_features_to_select!r}."
    )
    if isinstance(n_features_to_select, str):
        raise ValueError(wrong)
    if isinstance(n_features_to_select, bool) or not isinstance(n_features_to_select, numbers.Real):
        raise TypeError(wrong)
    if isinstance(n_features_to_select, numbers.Integral):
        return check_n_features(n_features_to_select, problem, "n_features_to_select")
    share = float(n_features_to_select)
    if not 0.0 < share <= 1.0:
        raise ValueError(
            f"n_features_to_select={share} as a share must be in (0, 1]; for a number of features "
            "pass a whole number."
        )
    # A product such as 0.29 · 100 is below 29 by rounding only.
    size = max(1, math.floor(share * problem.n_features * (1 + 1e-12)))
    return max(len(problem.forced), min(size, problem.n_available))
