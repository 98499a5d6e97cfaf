"""The scikit-learn estimator for classes: a predictor and selector in one, around the path."""

from __future__ import annotations

import os
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from .._base import Float, exported, numpy_of
from .._cluster import check_classes_on_cluster
from .._data import is_gathered, opened, origin_of
from .._problem import (
    ClassWeight,
    FeatureCosts,
    FeatureGroups,
    FeatureList,
    check_weighted_classes,
    code_classes,
    make_class_weights,
    named_columns,
    numeric,
    refuse_dates,
    with_names,
)
from .._select import given_rows
from ..path import AlphaRule, DirectionName, SizeRule, map_rows
from ._base import SPARSE, GreedyRLSBase
from ._classifier import ProbabilityMixin
from ._regressor import GreedyRLSRegressor

__all__ = ["GreedyRLSClassifier", "GreedyRLSRegressor"]


@exported("greedyrls")
class GreedyRLSClassifier(ProbabilityMixin, GreedyRLSBase):
    """Ridge (LS-SVM) classification on features selected by the exact leave-one-out criterion.

    Two classes are coded as −1 and +1; more than two as one target each (one against the rest),
    with one set of features for all.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default="auto"
        Number of features, including forced ones: a number, a share of all features in (0, 1], or
        "auto" to choose it by `size_rule`. With `feature_groups` it counts groups. None selects as
        many as the `budget` allows.
    alpha : float, list of float, or "auto", default="auto"
        Ridge penalty of the search, greater than 0: a number, or a list from which `alpha_rule`
        chooses one. "auto" tries 7 values scaled to the data, and up to 3 more if the best value is
        at an end of the grid.
    cv : "loo", int, splitter, array of fold ids, or list of (train, test), default="loo"
        Cross-validation of the search: exact leave-one-out, or folds (a number is stratified
        K-fold).
    loss : str or callable, default="auto"
        Loss of the held-out predictions: "squared", "absolute", "zero_one", "balanced_zero_one",
        "auc" (two classes) or a function ``(y_true, y_pred) -> float``, lower is better. See
        `greedy_path`. "auto" is "squared". If outer folds choose the penalty, they also try
        "zero_one", and use it if its error rate is lower by more than half a standard error and
        four samples.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised intercept.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes in the fit and in the losses that choose features, penalty and size:
        a dict of weights by label (1 for other labels), or "balanced" to give all classes the same
        total weight. They multiply `sample_weight`; `score` ignores them. In outer folds, balanced
        weights are computed from the training rows.
    probability : bool, default=True
        Whether to enable `predict_proba`. If outer folds choose the penalty, this takes one more
        search to the chosen size in each outer fold.
    forced_features, excluded_features : list of int or str, or mask, optional
        Features added before the search, and features never chosen.
    direction : {"forward", "backward", "floating", "foba", "swap"}, default="forward"
        Search direction; see docs/guide/directions.md for when to use which.
    backward_ratio : float, optional
        For direction "foba": the share of the last gain that a removal may cost; 0.5 by default.
    feature_groups : list of ids, list of lists, or dict, optional
        Features that are selected together, such as the one-hot columns of a category: an id for
        each column, lists of columns, or a dict of such lists by name. Numbers of features then
        count groups. See `greedy_path`.
    feature_costs : list of float, or dict, optional
        Costs of the features. Each step then selects the feature that lowers the loss most per unit
        of cost.
    budget : float, optional
        Largest total cost of the selected features. Requires `feature_costs`.
    alpha_rule : {"nested", "joint", "all_features"}, default="nested"
        How one of several penalties is chosen: by outer folds in which the selection is repeated
        (honest), by the criterion's own loss (optimistic), or with all features, as in the paper.
    alpha_cv : int, splitter, array of fold ids, or list of (train, test), optional
        The outer folds. A number gives stratified folds shuffled by `random_state`, or folds by
        groups if `groups` is given. The default is the folds of `cv` if that is a splitter, fold
        ids or by groups, otherwise 5 folds (or `cv` folds if it is a number from 3 to 10).
    refit_alpha : "same", "loo", "cv" or float, optional
        Penalty of the model on the chosen features: that of the search, the best one by exact
        leave-one-out on these features (the default with ``alpha="auto"``), the best one by the
        folds of `cv`, or a number.
    size_rule : {"min", "1se"}, default="1se"
        For "auto": the size of smallest held-out loss in the outer folds, or the smallest size
        within one standard error of the difference from it. The result may be 0 features, if
        nothing predicts y.
    max_features : int, optional
        For "auto": the largest size to try. The default is 100, or the number of samples minus one
        if that is smaller.
    patience, tol : int and float, optional
        Early stopping: stop after `patience` steps (10 for "auto") without an improvement of the
        loss by more than the relative amount `tol`.
    n_runners_up : int, default=0
        Number of next best features to record at each step of ``path_``.
    device : str or device, optional
        Device to compute on if X is in host memory, such as "cuda". By default the computation runs
        where X is. See `greedy_path`, and docs/guide/gpu.md for what is supported on a device.
    checkpoint : str or path, optional
        A file that is written after each step and outer fold. Fitting again after a crash, with the
        same data and parameters, resumes from there. See `greedy_path`. It cannot be used when the
        estimator is cross-validated, because each fold has different data.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the outer folds if `alpha_cv` is a number.
    n_jobs : int, optional
        Number of searches that run at the same time, or of threads over blocks of rows if there is
        only one; -1 uses all cores. The result does not depend on it. See `GreedyRLSRegressor`.
    verbose : int, default=0
        1 shows a progress bar on long runs (needs tqdm).

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        The labels.
    calibration_ : Calibration or None
        The sigmoids of `predict_proba`; ``calibration_.sentence`` says what they were fitted to.
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
    ([12, 11, 9], 0.94)
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] | None = "auto",
        *,
        alpha: float | ArrayLike | Literal["auto"] = "auto",
        cv: Any = "loo",
        loss: Any = "auto",
        fit_intercept: bool = True,
        class_weight: ClassWeight | None = None,
        probability: bool = True,
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
        super().__init__(
            n_features_to_select,
            alpha=alpha,
            cv=cv,
            loss=loss,
            fit_intercept=fit_intercept,
            forced_features=forced_features,
            excluded_features=excluded_features,
            direction=direction,
            backward_ratio=backward_ratio,
            feature_groups=feature_groups,
            feature_costs=feature_costs,
            budget=budget,
            alpha_rule=alpha_rule,
            alpha_cv=alpha_cv,
            refit_alpha=refit_alpha,
            size_rule=size_rule,
            max_features=max_features,
            patience=patience,
            tol=tol,
            n_runners_up=n_runners_up,
            device=device,
            checkpoint=checkpoint,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.class_weight = class_weight
        self.probability = probability

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
        X : array-like of shape (m, n), data in a file (`greedyrls.files`), or a Dask collection
            With a PyTorch tensor or CuPy array the selection runs on its device.
        y : array-like of shape (m,)
            Labels of any kind, at least two different ones.
        sample_weight : array-like of shape (m,), optional
            Weight of each sample; 1 by default.
        groups : array-like of shape (m,), optional
            Group of each sample. The folds of `cv`, or of `alpha_cv` if `cv` is leave-one-out, keep
            groups together.

        Returns
        -------
        self
        """
        refuse_dates(y)
        X, y, sample_weight, groups = given_rows(
            X,
            y,
            sample_weight,
            groups,
            self._all_options,
            is_classification=True,
            class_weight=self.class_weight,
        )
        X = opened(X)
        if is_gathered(X):
            self._take_shape(X)
            check_classes_on_cluster(X)
            assert X.classes is not None
            self._select(X, None, None, groups, labels=X.classes)
            self.classes_ = X.classes
            return self
        origin = origin_of(X)
        y, sample_weight = numpy_of(y), numpy_of(sample_weight)
        if not origin.is_plain:
            self._take_shape(X)
            y = column_or_1d(y, warn=True)
            check_consistent_length(np.broadcast_to(0, X.shape[0]), y)
        else:
            with named_columns(X):
                X, y = validate_data(
                    self, with_names(X), y, accept_sparse=SPARSE, ensure_all_finite=False
                )
                X = numeric(X)
        coded = code_classes(y)
        check_weighted_classes(y, sample_weight)
        assert coded.classes is not None
        weights = make_class_weights(self.class_weight, y, coded.classes)
        self._select(X, coded.values, sample_weight, groups, labels=y, class_weights=weights)
        self.classes_ = coded.classes
        return self

    def decision_function(self, X: Any) -> Float:
        """Values of the linear model. Their sign (two classes) or the largest of them decides the
        class.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples.

        Returns
        -------
        ndarray of shape (m,) for two classes, (m, c) for c
            For a device array, an array of the same kind on its device.
        """
        values = self._predictions(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples.

        Returns
        -------
        ndarray of shape (m,)
            For a device array, an array of the same kind on its device if the labels are numbers.
        """
        values = self.decision_function(X)
        labels: NDArray[Any] = map_rows(self._labels, values, None, self.classes_.dtype)
        return labels

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy: the share of correct labels.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples.
        y : array-like of shape (m,)
            Labels.
        sample_weight : array-like of shape (m,), optional
            Weight of each sample; 1 by default.

        Returns
        -------
        float
        """
        labels = numpy_of(self.predict(X))
        return float(accuracy_score(numpy_of(y), labels, sample_weight=numpy_of(sample_weight)))
