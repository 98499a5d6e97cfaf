"""The scikit-learn estimator for regression: a predictor and selector in one, around the path."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import validate_data

from .._base import Float, exported, numpy_of
from .._data import opened, origin_of
from .._problem import named_columns, numeric, refuse_dates, with_names
from .._select import given_rows
from ._base import SPARSE, GreedyRLSBase


@exported("greedyrls")
class GreedyRLSRegressor(MultiOutputMixin, RegressorMixin, GreedyRLSBase):
    """Ridge regression on features selected by the exact leave-one-out criterion.

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
        Cross-validation of the search: exact leave-one-out, or folds (a number is K-fold without
        shuffling).
    loss : str or callable, default="auto"
        Loss of the held-out predictions: "squared" (also "auto"), "absolute" or a function
        ``(y_true, y_pred) -> float``, lower is better. See `greedy_path`.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised intercept.
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
        The outer folds. A number gives folds shuffled by `random_state`, or folds by groups if
        `groups` is given. The default is the folds of `cv` if that is a splitter, fold ids or by
        groups, otherwise 5 folds (or `cv` folds if it is a number from 3 to 10).
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
        Number of searches (penalties in outer folds) that run at the same time, in threads, or in
        processes if steps are not compiled and take long; -1 uses all cores. A single search by
        leave-one-out, and X in a file, use threads for blocks of rows if X is large. The result
        does not depend on it. A callable `loss` is called from one thread. It has no effect on a
        single search by folds of X in memory, nor on X on a device or a cluster.
    verbose : int, default=0
        1 shows a progress bar on long runs (needs tqdm).

    Attributes
    ----------
    selected_ : ndarray of shape (k,)
        Chosen features in the order of selection.
    support_ : ndarray of bool of shape (n,)
        Mask of the chosen features.
    ranking_ : ndarray of int of shape (n,)
        Rank of each feature on the path (1 is the first chosen); features not on the path share
        the rank after the last, and those of a group share one.
    n_features_ : int
        Number of chosen features, or of groups with `feature_groups`.
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
        X : array-like of shape (m, n), data in a file (`greedyrls.files`), or a Dask collection
            With a PyTorch tensor or CuPy array the selection runs on its device.
        y : array-like of shape (m,) or (m, t)
            Target values.
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
        X, y, sample_weight, groups = given_rows(X, y, sample_weight, groups, self._all_options)
        X = opened(X)
        if not origin_of(X).is_plain:
            self._take_shape(X)
        else:
            with named_columns(X):
                X, y = validate_data(
                    self,
                    with_names(X),
                    numpy_of(y),
                    accept_sparse=SPARSE,
                    multi_output=True,
                    y_numeric=True,
                    ensure_all_finite=False,
                )
                X = numeric(X)
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
            Samples.

        Returns
        -------
        ndarray of shape (m,) or (m, t)
            For a device array, an array of the same kind on its device.
        """
        values = self._predictions(X)
        return values[:, 0] if self.path_.settings.single_target else values

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return R² of the predictions.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples.
        y : array-like of shape (m,) or (m, t)
            Target values.
        sample_weight : array-like of shape (m,), optional
            Weight of each sample; 1 by default.

        Returns
        -------
        float
        """
        predictions = numpy_of(self.predict(X))
        return float(r2_score(numpy_of(y), predictions, sample_weight=numpy_of(sample_weight)))
