"""The scikit-learn estimator for regression: a predictor and selector in one, around the path."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import validate_data

from .._base import Float, exported, is_foreign, numpy_of
from .._data import DataFile, SparseFile, is_dask
from .._problem import named_columns, numeric, refuse_dates, with_names
from ._base import SPARSE, GreedyRLSBase


@exported("greedyrls")
class GreedyRLSRegressor(MultiOutputMixin, RegressorMixin, GreedyRLSBase):
    """Ridge regression on features selected by the exact leave-one-out criterion.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default="auto"
        How many features, forced ones included: a number, a share of all features in (0, 1], or
        "auto", by `size_rule`. With `feature_groups` groups are counted. None, with a `budget`: as
        many as it pays for.
    alpha : float, list of float, or "auto", default="auto"
        Ridge penalty of the search, greater than 0: a number, or several of which `alpha_rule`
        chooses one. "auto" is 7 values in the data's own scale, and up to 3 more where the best is
        the last of them.
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
    direction : {"forward", "backward", "floating", "foba", "swap"}, default="forward"
        Which way the search goes; docs/directions.md says when to use which.
    backward_ratio : float, optional
        For direction "foba": the share of the last gain that a removal may cost; 0.5 by default.
    feature_groups : list of ids, list of lists, or dict, optional
        Features that are selected together, as the one-hot columns of a category: an id for each
        column, lists of columns, or a dict of such lists by name. Numbers of features then count
        groups. See `greedy_path`.
    feature_costs : list of float, or dict, optional
        What features cost: each step then takes what lowers the loss most for each unit of cost.
    budget : float, optional
        With `feature_costs`: the features selected cost no more together.
    alpha_rule : {"nested", "joint", "all_features"}, default="nested"
        How one of several penalties is chosen: by outer folds in which the selection is made anew
        (honest), by the criterion's own loss (optimistic), or with all features, as in the paper.
    alpha_cv : int, splitter, array of fold ids, or list of (train, test), optional
        The outer folds. A number is shuffled by `random_state`, or by groups if there are any. By
        default those of `cv` where that is a splitter, fold ids or by groups; else 5 (or `cv`, a
        number from 3 to 10).
    refit_alpha : "same", "loo", "cv" or float, optional
        Penalty of the model on the chosen features: that of the search, the best one by exact
        leave-one-out on these features (the default with ``alpha="auto"``), the best one by the
        folds of `cv`, or a number.
    size_rule : {"min", "1se"}, default="1se"
        For "auto": the size of smallest held-out loss in the outer folds, or the smallest size
        within one standard error of the difference from it. It may be 0: nothing predicts y.
    max_features : int, optional
        For "auto": the largest size tried, by default 100 or one less than there are samples.
    patience, tol : int and float, optional
        Early stop: when the smallest loss is `patience` steps old (10 for "auto"), where less than
        the share `tol` is no improvement.
    n_runners_up : int, default=0
        How many next best features to record at each step on ``path_``.
    device : str or device, optional
        Where to select if X is in host memory: "cuda", for example. By default computation follows
        X. See `greedy_path`, and docs/gpu.md for what is computed on a device.
    checkpoint : str or path, optional
        A file that is written after each step and outer fold; fitted again after a crash, with the
        same data and parameters, the estimator goes on from there. See `greedy_path`. A
        cross-validation of the estimator has other data in each fold: none can be shared there.
    random_state : int, RandomState, Generator or None, default=0
        Of outer folds that are made of a number.
    n_jobs : int, optional
        Threads over outer folds, or over blocks of rows where there are none; -1 takes all cores.
        The answer is the same. For X in memory; a function for `loss` is called by one thread.
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
        the place after the last, those of a group have the same.
    n_features_ : int
        How many features; with `feature_groups` how many groups.
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
            With a tensor of PyTorch or an array of CuPy the selection runs on its device.
        y : array-like of shape (m,) or (m, t)
        sample_weight : array-like of shape (m,), optional
        groups : array-like of shape (m,), optional
            For folds that keep groups together: `cv`, or `alpha_cv` where `cv` is leave-one-out.

        Returns
        -------
        self
        """
        refuse_dates(y)
        if isinstance(X, DataFile | SparseFile) or is_dask(X) or is_foreign(X):
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

        Returns
        -------
        ndarray of shape (m,) or (m, t)
            Of a device array one of the same kind, on its device.
        """
        values = self._predictions(X)
        return values[:, 0] if self.path_.settings.single_target else values

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """R² of the predictions.

        Parameters
        ----------
        X : array-like of shape (m, n)
        y : array-like of shape (m,) or (m, t)
        sample_weight : array-like of shape (m,), optional

        Returns
        -------
        float
        """
        predictions = numpy_of(self.predict(X))
        return float(r2_score(numpy_of(y), predictions, sample_weight=numpy_of(sample_weight)))
