"""RankRLS with selected features: a scikit-learn estimator that puts samples in order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from .._base import Float, exported, numpy_of
from .._criteria import FoldCurve, ManyFoldData
from .._data import loaded, matrix_of, opened, origin_of, rows_here
from .._problem import (
    ClassWeights,
    FeatureList,
    Folds,
    Pairs,
    Problem,
    Split,
    check_queries_together,
    check_weights,
    make_pairs,
    named_columns,
    numeric,
    one_per_row,
    refuse_dates,
    rows_in_pairs,
    with_names,
)
from .._search import check_input
from .._select import (
    Caller,
    Options,
    Selected,
    check_alphas,
    chosen_of,
    make_request,
    problem_of,
    select,
)
from ..metrics import mean_ndcg, ndcg_of, pairwise_error_of, query_numbers, with_ties
from ..path import SelectionPath, SizeRule
from ._base import SPARSE, GreedyRLSBase

# Groups are the queries, which the criterion leaves out by folds of its own.
_CALLER = Caller({"n_features": "n_features_to_select"}, takes_shares=True, has_folds=True)
# Scores of samples left out that differ by less, relative to those of their query, are tied.
_ROUNDING = 1e-11


@exported("greedyrls")
class GreedyRLSRanker(GreedyRLSBase):
    """Ranking (RankRLS) on features selected by the exact leave-query-out criterion.

    Samples belong to queries, and only the order within a query matters. The model is linear
    without intercept and fits the differences of all pairs of samples of the same query,

        Σ_queries Σ_{i<j} ((y_i − y_j) − (f_i − f_j))² + alpha·‖w‖²,

    and each step adds the feature that makes this error smallest on left-out queries: exactly as if
    the model were refitted for every candidate and every query.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features, including forced ones: a number, a share of all features in (0, 1], or
        "auto" to choose it by `size_rule`.
    alpha : float, list of float, or "auto", default="auto"
        Ridge penalty of the search, greater than 0, added to the sum over all pairs: a number, or a
        list from which `alpha_rule` chooses one. "auto" tries 7 values scaled to the data, and up
        to 3 more if the best value is at an end of the grid.
    forced_features, excluded_features : list of int or str, or mask, optional
        Features added before the search, and features never chosen.
    alpha_rule : {"nested", "joint"}, default="nested"
        How one of several penalties is chosen: by outer folds of queries in which the selection is
        repeated (honest), or by the criterion's own loss (optimistic).
    alpha_cv : int, splitter, or array of fold ids, optional
        The outer folds, which must keep queries together: a number of folds, a splitter that takes
        groups, or the fold of each sample. By default 5 of several queries each (each query its
        own, if there are no more than 10).
    refit_alpha : "same", "cv" or float, optional
        Penalty of the model on the chosen features: that of the search, the one of smallest
        leave-query-out loss for these features (the default with ``alpha="auto"``), or a number.
    size_rule : {"min", "1se"}, default="1se"
        For "auto": the size of smallest held-out loss in the outer folds, or the smallest size
        within one standard error of the paired difference from it. The result may be 0 features, if
        nothing predicts y.
    max_features : int, optional
        For "auto": the largest size to try. The default is 100, or the number of samples minus one
        if that is smaller.
    patience, tol : int and float, optional
        Early stopping: stop after `patience` steps (10 for "auto") without an improvement of the
        loss by more than the relative amount `tol`.
    n_runners_up : int, default=0
        Number of next best features to record at each step of ``path_``.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the outer folds if `alpha_cv` is a number and there are no groups.
    n_jobs : int, optional
        Number of outer folds that are searched at the same time, in threads; -1 uses all cores.
        The result does not depend on it. With a number for `alpha` and for the size there are no
        outer folds: then threads work on blocks of rows if X is large and there are no groups, and
        `n_jobs` has no effect on a search that leaves out queries.
    verbose : int, default=0
        1 shows a progress bar on long runs (needs tqdm).

    Attributes
    ----------
    selected_ : ndarray of shape (k,)
        Chosen features in the order of selection.
    support_ : ndarray of bool of shape (n,)
        Mask of the chosen features.
    ranking_ : ndarray of int of shape (n,)
        Rank of each feature on the path (1 is the first chosen); features not on the path share the
        rank after the last.
    n_features_ : int
        Number of chosen features, k.
    alpha_ : float
        Penalty of the search.
    coef_ : ndarray of shape (n,)
        Coefficients, 0 for features not chosen.
    intercept_ : float
        Always 0: an order within queries needs none.
    path_ : SelectionPath
        Order, losses and models of all sizes. ``path_.losses`` are mean squared errors of a pair,
        ((y_i − y_j) − (f_i − f_j))², in queries that were left out.
    ndcg_path_ : ndarray of shape (n_sizes,)
        Mean NDCG (`greedyrls.metrics.mean_ndcg`) of the models of all sizes on left-out queries.
        NaN if y does not vary within any query, or if one query outweighs all others beyond
        rounding.
    pairwise_error_path_ : ndarray of shape (n_sizes,)
        Share of misordered pairs (`greedyrls.metrics.pairwise_error`), likewise.
    ndcg_ : float
        NDCG at the chosen size.
    pairwise_error_ : float
        Share of misordered pairs at the chosen size.
    n_queries_ : int
        Number of queries that have pairs.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Cost: O(m·n) for a step where steps are compiled, else O(m·n·(k + s)) with queries of s samples
    (of large ones 2·k count). Memory: a copy of X in float64, minus its means in each query, plus
    m·s numbers, and m·n for each penalty where steps are compiled (up to 64 MB each; beyond that
    they are not). The cost does not depend on the number of queries. A sparse X stays sparse: its
    means are stored beside it. Of an X in a file the means of the queries are kept in memory, and
    each query has a model of its own (16·k·n bytes). With the defaults there are 36 selections, one
    for each of 7 penalties and 5 outer folds and one on all queries; with a number for `alpha` a
    single one.

    The losses and NDCG along the path are of queries left out, but by features that were searched
    for with these queries: they are optimistic, the more so the more features were searched.
    Cross-validate the estimator, by queries, to know the quality of the whole procedure.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyrls import GreedyRLSRanker
    >>> rng = np.random.default_rng(0)
    >>> queries = np.repeat(np.arange(30), 8)
    >>> X = rng.standard_normal((240, 20)) + rng.standard_normal((30, 20))[queries]
    >>> y = (X[:, 3] - X[:, 7] + rng.standard_normal(240) > 1.0).astype(int)
    >>> model = GreedyRLSRanker(2, alpha=1.0).fit(X, y, groups=queries)
    >>> model.selected_.tolist()
    [3, 7]
    >>> round(model.ndcg_, 2), round(model.pairwise_error_, 2)
    (0.93, 0.08)
    """

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        alpha: float | ArrayLike | Literal["auto"] = "auto",
        forced_features: FeatureList | None = None,
        excluded_features: FeatureList | None = None,
        alpha_rule: Literal["nested", "joint"] = "nested",
        alpha_cv: Any = None,
        refit_alpha: float | Literal["same", "cv"] | None = None,
        size_rule: SizeRule = "1se",
        max_features: int | None = None,
        patience: int | None = None,
        tol: float | None = None,
        n_runners_up: int = 0,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Select features and fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n), or data in a file (`greedyrls.files`)
            Features that are constant within each query carry no information about the order.
        y : array-like of shape (m,)
            Relevance of each sample to its query, the larger the better.
        groups : array-like of shape (m,), optional
            The query of each sample. A query of a single sample has no pairs and is left out.
            Without groups all samples belong to one query and are left out one by one.
        sample_weight : array-like of shape (m,), optional
            A pair counts by the product of the weights of its samples.

        Returns
        -------
        self
        """
        check_input(X, "ranker", "GreedyRLSRanker")
        refuse_dates(y)
        X, y, sample_weight, groups = rows_here(X, y, sample_weight, groups)
        X, y = opened(loaded(X)), numpy_of(y)
        if origin_of(X).is_file:
            self._take_shape(X)
            X, y = matrix_of(X, None, numeric), column_or_1d(y, warn=True)
            check_consistent_length(np.broadcast_to(0, X.shape[0]), y)
        else:
            with named_columns(X):
                X, y = validate_data(self, with_names(X), y, accept_sparse=SPARSE, y_numeric=True)
                X = numeric(X)
        self._select(X, y, sample_weight, groups)
        return self

    def _search(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any,
        groups: Any,
        labels: NDArray[Any] | None,
        class_weights: ClassWeights | None,
    ) -> SelectionPath:
        """The path, and what is measured along it."""
        weights = check_weights(numpy_of(sample_weight), len(Y))
        pairs = None
        if groups is not None:
            query_of = query_numbers(groups, len(Y))
            self._check_queries(rows_in_pairs(query_of, weights)[1])
            pairs = make_pairs(X, Y, query_of, weights)
        options = self._options(pairs, len(Y))
        problem = self._problem(X, Y, weights, pairs, options)
        request = make_request(problem, options, None if pairs is None else pairs.query_of)
        if pairs is not None and isinstance(request.outer, Folds):
            check_queries_together(pairs, request.outer)
        selected = select(request)
        self.n_queries_ = 1 if pairs is None else pairs.n_queries
        self._measure(selected, Y, pairs)
        return selected.path

    def _options(self, pairs: Pairs | None, n_samples: int) -> Options:
        """The parameters, for a problem whose rows stand for pairs."""
        return replace(
            Options.of(vars(self), _CALLER),
            # Of all samples: an intercept takes the means out, whichever sample is left out.
            fit_intercept=pairs is None,
            cv="loo" if pairs is None else pairs.folds,
            alpha_rule=self._alpha_rule(),
            alpha_cv=self._outer_folds(pairs, n_samples),
            refit_alpha=self._refit(pairs),
        )

    def _check_queries(self, query_of: NDArray[np.intp]) -> None:
        """Enough queries to leave one out, also in outer folds."""
        count = len(np.unique(query_of))
        if count < 2:
            raise ValueError(
                f"groups has {count} quer{'y' if count == 1 else 'ies'} with two or more samples "
                "(of positive weight); leaving one out needs at least 2. Pass more queries, or "
                "leave out groups: then all samples are of one, and left out one by one."
            )
        if count < 3 and self._has_choice() and self.alpha_rule == "nested":
            raise ValueError(
                f"groups has {count} queries with two or more samples (of positive weight); "
                "choosing alpha in outer folds of queries needs at least 3. Pass a number for "
                "alpha, or alpha_rule='joint'."
            )

    def _has_choice(self) -> bool:
        """Whether the penalty is one of several."""
        return not isinstance(check_alphas(self.alpha), float)

    def _problem(
        self, X: Any, y: Any, weights: Float | None, pairs: Pairs | None, options: Options
    ) -> Problem:
        """The ridge problem whose rows stand for pairs."""
        names = getattr(self, "feature_names_in_", None)
        if pairs is None:
            weights = np.ones(len(y)) if weights is None else weights
            X, target, row_weights = X, y, weights * weights.sum()
        else:
            X, target, row_weights = pairs.X, pairs.y, pairs.weights
        names = None if names is None else tuple(names)
        return problem_of(X, target, options, sample_weight=row_weights, feature_names=names)

    def _alpha_rule(self) -> str:
        if not isinstance(self.alpha_rule, str) or self.alpha_rule not in ("nested", "joint"):
            raise ValueError(
                f"alpha_rule must be 'nested' or 'joint' for a ranker, got {self.alpha_rule!r}."
            )
        return self.alpha_rule

    def _refit(self, pairs: Pairs | None) -> Any:
        """The rule for the penalty of the models; samples are left out one by one if all pair."""
        rule: Any = self.refit_alpha
        if isinstance(rule, str) and rule not in ("same", "cv"):
            raise ValueError(
                f"refit_alpha must be 'same', 'cv' or a number greater than 0, got {rule!r}."
            )
        if rule is None:
            is_own = self.alpha_rule == "nested" or isinstance(self.alpha, str)
            rule = "cv" if self._has_choice() and is_own else "same"
        return "loo" if isinstance(rule, str) and rule == "cv" and pairs is None else rule

    def _outer_folds(self, pairs: Pairs | None, n_samples: int) -> Any:
        """Fold ids of all samples as those of the samples in pairs; others as they are."""
        given = self.alpha_cv
        is_list = hasattr(given, "__array__") or isinstance(given, list | tuple)
        if pairs is None or not is_list:
            return given
        return one_per_row(given, n_samples, "alpha_cv")[pairs.rows]

    def _measure(self, selected: Selected, y: Any, pairs: Pairs | None) -> None:
        """NDCG and misordered pairs of the models of all sizes, on queries left out."""
        path, problem, data = selected.path, selected.problem, selected.data
        if not isinstance(data, ManyFoldData):
            data = ManyFoldData(problem, _each_alone(problem) if pairs is None else pairs.folds)
        (rows,) = problem.has_weight.nonzero()
        query_of, samples = np.zeros(len(rows), dtype=np.intp), rows
        if pairs is not None:
            rows = rows[np.argsort(pairs.query_of[rows], kind="stable")]
            query_of, samples = pairs.query_of[rows], pairs.rows[rows]
        relevance = y[samples].astype(np.float64)
        penalties = np.array(path.refit_alphas or [path.settings.alpha] * len(path))
        errors = FoldCurve(data, chosen_of(path)).own_errors(penalties)[:, 0, rows]
        # Within a query all scores may be moved and stretched alike: what counts is their order.
        assert problem.weights is not None
        scores = problem.Y[rows, 0] - errors / np.sqrt(problem.weights[rows])
        same = np.zeros(len(relevance))  # the scores of a model without features
        self._unordered = (
            ndcg_of(relevance, same, query_of),
            pairwise_error_of(relevance, same, query_of),
        )
        known = np.isfinite(scores).all(axis=1)
        self.ndcg_path_ = np.full(len(path), np.nan)
        self.pairwise_error_path_ = np.full(len(path), np.nan)
        for size in np.flatnonzero(known):
            # Equal samples have equal scores, but for the rounding of y less the errors.
            summands = np.maximum(np.abs(problem.Y[rows, 0]), np.abs(scores[size]))
            largest = np.zeros(query_of[-1] + 1)
            np.maximum.at(largest, query_of, summands)
            values = with_ties(scores[size], query_of, _ROUNDING * largest[query_of])
            self.ndcg_path_[size] = ndcg_of(relevance, values, query_of)
            self.pairwise_error_path_[size] = pairwise_error_of(relevance, values, query_of)

    def _use(self, k: int) -> None:
        super()._use(k)
        # A constant changes no order.
        self.coef_, self.intercept_ = self.coef_[0], 0.0
        self.ndcg_, self.pairwise_error_ = self._unordered
        if k:
            self.ndcg_ = float(self.ndcg_path_[k - 1])
            self.pairwise_error_ = float(self.pairwise_error_path_[k - 1])

    @property
    def _nothing(self) -> str:
        return "nothing orders the samples better than chance"

    def predict(self, X: Any) -> Float:
        """Predict scores: within a query, samples with larger scores come first.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples.

        Returns
        -------
        ndarray of shape (m,)
        """
        return self._predictions(X)[:, 0]

    def score(self, X: Any, y: Any, groups: ArrayLike | None = None) -> float:
        """Return the mean NDCG of the scores (`greedyrls.metrics.mean_ndcg`).

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples.
        y : array-like of shape (m,)
            Relevances.
        groups : array-like of shape (m,), optional
            The query of each sample. Without it all samples belong to one query.

        Returns
        -------
        float
        """
        return mean_ndcg(y, self.predict(X), groups)


def _each_alone(problem: Problem) -> Folds:
    """A fold for each sample that has a weight."""
    m = problem.n_samples
    rows = problem.has_weight.nonzero()[0]
    return Folds(tuple(Split(row, None, m) for row in rows[:, None]), m, "loo")
