"""scikit-learn estimators on kernel centres found one by one: regression and classification."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin

from .._base import Float, exported
from .._data import rows_here
from .._problem import ClassWeight, check_weighted_classes, code_classes, make_class_weights
from ..path import AlphaRule, SizeRule
from ._classifier import ProbabilityMixin
from ._kernel_base import GreedyKernelBase


@exported("greedyrls")
class GreedyKernelRLS(MultiOutputMixin, RegressorMixin, GreedyKernelBase):
    """Kernel ridge regression on few centres, found one by one by the exact leave-one-out loss.

    The model is f(x) = Σ_i w_i k(x, c_i) + b. Each step adds the candidate whose addition gives
    the smallest leave-one-out (or held-out) loss of the model that minimises
    Σ_j (y_j − f(x_j))² + alpha · w'K_cc w, where K_cc is the kernel of the centres with each other
    and b is not penalised.

    Parameters
    ----------
    n_centers : int, float or "auto", default="auto"
        Number of centres: a number, a share of the candidates in (0, 1], or "auto" to choose it by
        `size_rule`.
    kernel : {"rbf", "laplacian", "poly", "polynomial"} or callable, default="rbf"
        As in `sklearn.metrics.pairwise`: exp(−gamma ‖x − c‖²), exp(−gamma ‖x − c‖₁),
        (gamma x·c + coef0)^degree, or a function ``(X, Y) -> array`` of the values of all pairs of
        rows, symmetric and positive semidefinite.
    gamma : float, list of float, "scale" or "auto", default="scale"
        "scale" is 1 / (d · variance of X), "auto" is 1 / d. From a list, the value of smallest loss
        is chosen: the loss of the outer folds if they choose the penalty, otherwise that of the
        search itself, which is optimistic.
    degree, coef0 : float, default=3 and 1
        Parameters of the polynomial kernel.
    alpha : float, list of float, or "auto", default="auto"
        Penalty of the search, greater than 0: a number, or a list from which `alpha_rule` chooses
        one. "auto" tries 7 values scaled to the kernel's columns, and up to 3 more if the best
        value is at an end of the grid.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised intercept.
    centers : array-like of shape (n, d), optional
        Candidates for centres; by default the rows of X with a positive weight.
    max_candidates : int, optional
        Maximum number of candidates. If X has more rows, this many are drawn at random. Candidates
        are kept in memory, also if X is in a file.
    random_state : int, RandomState or None, default=0
        Seed of that draw, and of the outer folds if `alpha_cv` is a number.
    n_jobs : int, optional
        Threads over the values of `gamma`, where it is a list; -1 takes all cores. The answer is
        the same. It has no effect yet on a kernel of one width, which is computed by one thread
        that keeps its columns.
    cv : "loo", int, splitter, array of fold ids, or list of (train, test), default="loo"
        Cross-validation of the search: exact leave-one-out, or folds. Rows that are left out remain
        candidates for centres.
    loss : str or callable, default="squared"
        Loss of the held-out predictions. Losses other than "squared" look at all pairs at every
        step. See `greedy_path`.
    alpha_rule : {"nested", "joint"}, default="nested"
        How one of several penalties is chosen: by outer folds in which the search is repeated
        without the held-out rows (honest), or by the criterion's own loss (optimistic).
    alpha_cv : int, splitter, array of fold ids, or list of (train, test), optional
        The outer folds. A number gives folds shuffled by `random_state`, or folds by groups if
        `groups` is given. The default is the folds of `cv` if that is a splitter, fold ids or by
        groups, otherwise 5 folds (or `cv` folds if it is a number from 3 to 10).
    refit_alpha : "same", "loo" or float, optional
        Penalty of the model on the chosen centres: that of the search, the best one by exact
        leave-one-out on these centres (the default with ``alpha="auto"``), or a number.
    size_rule : {"min", "1se"}, default="min"
        For "auto": the size of smallest loss, or the smallest size within one standard error of it.
    max_centers : int, optional
        For "auto": the largest size to try. The default is 100, or the number of samples minus one
        if that is smaller.
    patience, tol : int and float, optional
        Early stopping: stop after `patience` steps (10 for "auto") without an improvement of the
        loss by more than the relative amount `tol`.
    n_runners_up : int, default=0
        Number of next best candidates to record at each step of ``path_``.
    memory_limit : int or str, optional
        Memory that a search may use in addition to X, in bytes or as text such as "2GB"; a quarter
        of the machine's memory if None. If the kernel matrix takes at most half of it, all values
        are stored, and each is computed once.
    verbose : int, default=0
        1 shows a progress bar on long runs (needs tqdm).

    Attributes
    ----------
    centers_ : array of shape (k, d)
        The centres in the order of selection.
    center_indices_ : ndarray of shape (k,)
        Row numbers of the centres in X (or in `centers`).
    dual_coef_ : ndarray of shape (k,) or (t, k)
        Weights w of the centres.
    intercept_ : float or ndarray of shape (t,)
    n_centers_ : int
        Number of centres, k.
    alpha_ : float
        Penalty of the search.
    gamma_ : float or None
        The value of gamma that was used; None for a callable kernel.
    gamma_losses_ : ndarray
        The loss of each gamma, in ascending order of gamma, by which it was chosen.
    path_ : SelectionPath
        Order, losses and models of all sizes. Its features are candidates: feature i is row
        ``candidate_indices_[i]`` of X (or of `centers`), and ``path_.predict`` takes the kernel of
        the points with all candidates.
    candidate_indices_ : ndarray of shape (n,)
    n_kernel_evaluations_ : int
        Number of kernel values that the fit computed.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Memory: the kernel matrix of m rows and n candidates if it takes at most half of `memory_limit`;
    otherwise a piece of it at a time, and O(k (m + n)). Time: about a product of the matrix with a
    vector for each centre, and scoring candidates. If the matrix is not stored, it is evaluated 3
    to 9 times for every 10 centres. With the defaults there are 36 searches, one for each of 7
    penalties and 5 outer folds and one on all samples; with a number for `alpha` one.

    A candidate whose kernel column the chosen ones span up to rounding (less than 1e-8 of it, with
    its penalty, is left) is passed over: of equal points only the first can be chosen. A search
    without remaining candidates ends.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyrls import GreedyKernelRLS
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> y = np.sin(2 * X[:, 0])
    >>> model = GreedyKernelRLS(8, alpha=1e-3, gamma=1.0).fit(X, y)
    >>> model.centers_.shape, round(model.score(X, y), 2)
    ((8, 1), 1.0)
    """

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Find centres and fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or data in a file (`greedyrls.files`)
            Samples.
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
        X, y, sample_weight, groups = rows_here(X, y, sample_weight, groups)
        X, y = self._check_points(X, y=y, multi_output=True, y_numeric=True)
        self._select(X, y, sample_weight, groups)
        return self

    def _use(self, k: int) -> None:
        super()._use(k)
        if self.path_.settings.single_target:
            self.dual_coef_, self.intercept_ = self.dual_coef_[0], float(self.intercept_[0])

    def predict(self, X: Any) -> Float:
        """Predict with the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or data in a file (`greedyrls.files`)
            Samples.

        Returns
        -------
        ndarray of shape (m,) or (m, t)
        """
        values = self._predictions(X)
        return values[:, 0] if self.path_.settings.single_target else values


@exported("greedyrls")
class GreedyKernelRLSClassifier(ProbabilityMixin, GreedyKernelBase):
    """Kernel ridge (LS-SVM) classification on few centres, found one by one.

    Two classes are coded as −1 and +1; more than two as one target each (one against the rest),
    with one set of centres for all. See `GreedyKernelRLS` for the model and all parameters.

    Parameters
    ----------
    n_centers, kernel, gamma, degree, coef0, alpha, fit_intercept, centers, max_candidates
        As in `GreedyKernelRLS`.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes in the fit and in the losses that choose centres, penalty and size: a
        dict of weights by label (1 for other labels), or "balanced" to give all classes the same
        total weight. They multiply `sample_weight`; `score` ignores them. In outer folds, balanced
        weights are computed from the training rows.
    probability : bool, default=True
        Whether to enable `predict_proba`. If outer folds choose the penalty, this takes one more
        search to the chosen size in each outer fold.
    cv : "loo", int, splitter, array of fold ids, or list of (train, test), default="loo"
        Cross-validation of the search; a number is stratified K-fold.
    loss : str or callable, default="squared"
        Loss of the held-out predictions: "squared", "absolute", "zero_one", "balanced_zero_one",
        "auc" (two classes) or a function. Losses other than "squared" look at all pairs at every
        step.
    random_state, alpha_rule, alpha_cv, refit_alpha, size_rule, max_centers, patience, tol, \
n_runners_up, memory_limit, n_jobs, verbose
        As in `GreedyKernelRLS`.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        The labels.
    calibration_ : Calibration or None
        The sigmoids of `predict_proba`; ``calibration_.sentence`` says what they were fitted to.
    dual_coef_ : ndarray of shape (1, k) or (c, k)
    intercept_ : ndarray of shape (1,) or (c,)
    centers_, center_indices_, n_centers_, alpha_, gamma_, gamma_losses_, path_, \
candidate_indices_, n_kernel_evaluations_, n_features_in_, feature_names_in_
        As in `GreedyKernelRLS`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from greedyrls import GreedyKernelRLSClassifier
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = GreedyKernelRLSClassifier(10, alpha=0.01, gamma=2.0).fit(X, y)
    >>> model.score(X, y) > 0.99
    True
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        n_centers: int | float | Literal["auto"] = "auto",
        *,
        kernel: Any = "rbf",
        gamma: float | ArrayLike | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        alpha: float | ArrayLike | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        class_weight: ClassWeight | None = None,
        probability: bool = True,
        centers: Any = None,
        max_candidates: int | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        cv: Any = "loo",
        loss: Any = "squared",
        alpha_rule: AlphaRule = "nested",
        alpha_cv: Any = None,
        refit_alpha: float | Literal["same", "loo"] | None = None,
        size_rule: SizeRule = "min",
        max_centers: int | None = None,
        patience: int | None = None,
        tol: float | None = None,
        n_runners_up: int = 0,
        memory_limit: int | str | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_centers,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            alpha=alpha,
            fit_intercept=fit_intercept,
            centers=centers,
            max_candidates=max_candidates,
            random_state=random_state,
            n_jobs=n_jobs,
            cv=cv,
            loss=loss,
            alpha_rule=alpha_rule,
            alpha_cv=alpha_cv,
            refit_alpha=refit_alpha,
            size_rule=size_rule,
            max_centers=max_centers,
            patience=patience,
            tol=tol,
            n_runners_up=n_runners_up,
            memory_limit=memory_limit,
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
        """Find centres and fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or data in a file (`greedyrls.files`)
            Samples.
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
        X, y, sample_weight, groups = rows_here(X, y, sample_weight, groups)
        X, y = self._check_points(X, y=y)
        coded = code_classes(y)
        check_weighted_classes(y, sample_weight)
        assert coded.classes is not None
        weights = make_class_weights(self.class_weight, y, coded.classes)
        self._select(X, coded.values, sample_weight, groups, labels=y, class_weights=weights)
        self.classes_ = coded.classes
        return self

    def decision_function(self, X: Any) -> Float:
        """Values of the model. Their sign (two classes) or the largest of them decides the class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or data in a file (`greedyrls.files`)
            Samples.

        Returns
        -------
        ndarray of shape (m,) for two classes, (m, c) for c
        """
        values = self._predictions(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or data in a file (`greedyrls.files`)
            Samples.

        Returns
        -------
        ndarray of shape (m,)
        """
        values = self.decision_function(X)
        indices = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[indices]
        return labels
