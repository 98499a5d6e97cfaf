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
from sklearn.utils.validation import check_is_fitted, validate_data

from ._kernels import Float
from ._labels import check_weighted_classes, code_classes
from ._outer import criterion_groups
from ._path import SelectionPath
from ._plan import make_plan
from ._problem import FeatureList, Problem, make_problem
from ._request import make_request, open_loss
from ._select import select
from ._size import SizeRule
from ._surface import AlphaRule


class _GreedyRLS(SelectorMixin, BaseEstimator):
    """What the regressor and the classifier share: parameters, selection, model of a size."""

    path_: SelectionPath

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        alpha: float | ArrayLike | Literal["auto"] = "auto",
        cv: Any = "loo",
        loss: Any = "auto",
        fit_intercept: bool = True,
        forced_features: FeatureList | None = None,
        excluded_features: FeatureList | None = None,
        alpha_rule: AlphaRule = "nested",
        alpha_cv: Any = None,
        refit_alpha: float | Literal["same", "loo"] | None = None,
        size_rule: SizeRule = "min",
        max_features: int | None = None,
        patience: int | None = None,
        tol: float | None = None,
        n_runners_up: int = 0,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
        self.cv = cv
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.forced_features = forced_features
        self.excluded_features = excluded_features
        self.alpha_rule = alpha_rule
        self.alpha_cv = alpha_cv
        self.refit_alpha = refit_alpha
        self.size_rule = size_rule
        self.max_features = max_features
        self.patience = patience
        self.tol = tol
        self.n_runners_up = n_runners_up
        self.verbose = verbose

    def _select(
        self,
        X: Any,
        Y: Any,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        labels: NDArray[Any] | None = None,
    ) -> None:
        """Search, and take the model of the size asked for."""
        names = getattr(self, "feature_names_in_", None)
        problem = make_problem(
            X,
            Y,
            fit_intercept=self.fit_intercept,
            sample_weight=sample_weight,
            forced_features=self.forced_features,
            excluded_features=self.excluded_features,
            feature_names=None if names is None else tuple(names),
        )
        loss, rival = open_loss(self.loss, labels)
        plan = make_plan(
            problem,
            cv=self.cv,
            groups=criterion_groups(self.cv, self.alpha_cv, groups),
            loss=loss,
            labels=labels,
        )
        request = make_request(
            problem,
            plan,
            _number_of_features(self.n_features_to_select, problem),
            name="n_features_to_select",
            alpha=self.alpha,
            alpha_rule=self.alpha_rule,
            alpha_cv=self.alpha_cv,
            refit_alpha=self.refit_alpha,
            size_rule=self.size_rule,
            max_features=self.max_features,
            patience=self.patience,
            tol=self.tol,
            n_runners_up=self.n_runners_up,
            verbose=self.verbose,
            groups=groups,
            labels=labels,
            rival=rival,
        )
        self.path_ = select(problem, plan, request)
        if self.path_.interrupted:
            warnings.warn(
                f"The search was interrupted; the model has {self.path_.chosen_size} of the "
                f"{len(self.path_)} features found so far.",
                stacklevel=3,
            )
        self.alpha_ = self.path_.settings.alpha
        self._use(self.path_.chosen_size)

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

    # scikit-learn's diagram is text of its own in two places, which notebooks ask in turn.
    def _repr_html_inner(self) -> str:
        return self._with_path(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        # There is none with sklearn.set_config(display="text").
        if "text/html" in bundle:
            bundle["text/html"] = self._with_path(bundle["text/html"])
        return bundle

    def _with_path(self, diagram: str) -> str:
        from ._html import estimator_html

        is_fitted = self.__sklearn_is_fitted__()
        return estimator_html(diagram, self.path_, self.n_features_) if is_fitted else diagram

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

        The features are the first k of the path, whose penalty was chosen for the size of this
        estimator; a fit with ``n_features_to_select=k`` chooses it for k.

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
        "auto", by `size_rule`.
    alpha : float, list of float, or "auto", default="auto"
        Ridge penalty of the search, greater than 0: a number, or several of which `alpha_rule`
        chooses one. "auto" is 7 values in the data's own scale.
    cv : "loo", int, splitter, array of fold ids, or list of (train, test), default="loo"
        What the search goes by: exact leave-one-out, or folds (a number is K-fold without
        shuffling).
    loss : str or callable, default="auto"
        What is measured on held-out predictions: "squared" (also "auto"), "absolute" or a function
        ``(y_true, y_pred) -> float``, lower is better. See `greedy_path`.
    fit_intercept : bool, default=True
        Whether there is an unpenalised intercept.
    forced_features, excluded_features : list of int or str, or mask, optional
        Features added before the search, and features never chosen.
    alpha_rule : {"nested", "joint", "all_features"}, default="nested"
        How one of several penalties is chosen: by outer folds in which the selection is made anew
        (honest), by the criterion's own loss (optimistic), or with all features, as in the paper.
    alpha_cv : int, splitter, array of fold ids, or list of (train, test), optional
        The outer folds; by default those of `cv`, or 5 for leave-one-out.
    refit_alpha : "same", "loo" or float, optional
        Penalty of the model on the chosen features: that of the search, the best one by exact
        leave-one-out on these features (the default with ``alpha="auto"``), or a number.
    size_rule : {"min", "1se"}, default="min"
        For "auto": the size of smallest loss, or the smallest size within one standard error of
        the paired difference from it. With the nested rule the losses are those of the outer folds.
    max_features : int, optional
        For "auto": the largest size tried, by default 100 or one less than there are samples.
    patience, tol : int and float, optional
        Early stop: when the smallest loss is `patience` steps old (10 for "auto"), where less than
        the share `tol` is no improvement.
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
    alpha_ : float
        Penalty of the search.
    path_ : SelectionPath
        Order, losses and models of all sizes; ``path_.sentence`` says what was chosen and why, and
        ``path_.surface`` has the losses by penalty and size.
    coef_ : ndarray of shape (n,) or (t, n)
        Coefficients, 0 for features not chosen.
    intercept_ : float or ndarray of shape (t,)
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Cost: with the defaults 36 selections, one for each of 7 penalties and 5 outer folds and one on
    all samples, at about half of the time of a single one each; with a number for `alpha` a single
    one. See `greedy_path`. ``predict`` looks at the selected columns only, apart
    from scikit-learn's check of X.

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

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Select features and fit the model.

        Parameters
        ----------
        X : array-like of shape (m, n)
        y : array-like of shape (m,) or (m, t)
        sample_weight : array-like of shape (m,), optional
        groups : array-like of shape (m,), optional
            For folds that keep groups together: `cv`, or `alpha_cv` where `cv` is leave-one-out.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, ensure_all_finite=False)
        self._select(X, y, sample_weight, groups)
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
        "auto", by `size_rule`.
    alpha : float, list of float, or "auto", default="auto"
        Ridge penalty of the search, greater than 0: a number, or several of which `alpha_rule`
        chooses one. "auto" is 7 values in the data's own scale.
    cv : "loo", int, splitter, array of fold ids, or list of (train, test), default="loo"
        What the search goes by: exact leave-one-out, or folds (a number is stratified
        K-fold).
    loss : str or callable, default="auto"
        What is measured on held-out predictions: "squared", "absolute",
        "zero_one", "balanced_zero_one", "auc" (two classes) or a function
        ``(y_true, y_pred) -> float``, lower is better. See `greedy_path`. "auto" is "squared";
        where outer folds choose the penalty they also try "zero_one", which is taken if its
        error rate there is lower by more than half a standard error and four samples.
    fit_intercept : bool, default=True
        Whether there is an unpenalised intercept.
    forced_features, excluded_features : list of int or str, or mask, optional
        Features added before the search, and features never chosen.
    alpha_rule : {"nested", "joint", "all_features"}, default="nested"
        How one of several penalties is chosen: by outer folds in which the selection is made anew
        (honest), by the criterion's own loss (optimistic), or with all features, as in the paper.
    alpha_cv : int, splitter, array of fold ids, or list of (train, test), optional
        The outer folds; by default those of `cv`, or 5 stratified ones for leave-one-out.
    refit_alpha : "same", "loo" or float, optional
        Penalty of the model on the chosen features: that of the search, the best one by exact
        leave-one-out on these features (the default with ``alpha="auto"``), or a number.
    size_rule : {"min", "1se"}, default="min"
        For "auto": the size of smallest loss, or the smallest size within one standard error of
        the paired difference from it. With the nested rule the losses are those of the outer folds.
    max_features : int, optional
        For "auto": the largest size tried, by default 100 or one less than there are samples.
    patience, tol : int and float, optional
        Early stop: when the smallest loss is `patience` steps old (10 for "auto"), where less than
        the share `tol` is no improvement.
    n_runners_up : int, default=0
        How many next best features to record at each step on ``path_``.
    verbose : int, default=0
        1 shows a progress bar on long runs (needs tqdm).

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        The labels.
    selected_, support_, ranking_, n_features_, alpha_, path_
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
    ([12, 6, 0], 0.95)
    """

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Select features and fit the model.

        Parameters
        ----------
        X : array-like of shape (m, n)
        y : array-like of shape (m,)
            Labels of any kind, at least two different ones.
        sample_weight : array-like of shape (m,), optional
        groups : array-like of shape (m,), optional
            For folds that keep groups together: `cv`, or `alpha_cv` where `cv` is leave-one-out.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, ensure_all_finite=False)
        coded = code_classes(y)
        check_weighted_classes(y, sample_weight)
        self._select(X, coded.values, sample_weight, groups, labels=y)
        assert coded.classes is not None
        self.classes_: NDArray[Any] = coded.classes
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


def _number_of_features(n_features_to_select: Any, problem: Problem) -> Any:
    """A share of all features as a number of them; anything else as it is."""
    wrong = (
        "n_features_to_select must be a whole number, a share in (0, 1] or 'auto', got "
        f"{n_features_to_select!r}."
    )
    if isinstance(n_features_to_select, str):
        if n_features_to_select != "auto":
            raise ValueError(wrong)
        return n_features_to_select
    if isinstance(n_features_to_select, bool) or not isinstance(n_features_to_select, numbers.Real):
        raise TypeError(wrong)
    if isinstance(n_features_to_select, numbers.Integral):
        return int(n_features_to_select)
    share = float(n_features_to_select)
    if not 0.0 < share <= 1.0:
        raise ValueError(
            f"n_features_to_select={share} as a share must be in (0, 1]; for a number of features "
            "pass a whole number."
        )
    if problem.n_available == 0:
        raise ValueError("All features of X are excluded: there is nothing to choose from.")
    # A product such as 0.29 · 100 is below 29 by rounding only.
    size = max(1, math.floor(share * problem.n_features * (1 + 1e-12)))
    return max(len(problem.forced), min(size, problem.n_available))
