"""`greedy_path` and `extend_path`: from data to a path."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._base import limits_threads
from .._criteria import Strategy
from .._data import passes_over
from .._problem import (
    FeatureCosts,
    FeatureGroups,
    FeatureList,
    Problem,
    check_n_features,
)
from .._search import Callback, Limits, PathSteps, Plan, Setup, search_path, steps_up_to, supported
from ..path import AlphaRule, DirectionName, SelectionPath, Settings, SizeRule
from ._entrance import given_rows, problem_of, select_path
from ._options import Options
from ._request import asked_features, plan_of
from ._select import with_refit


def greedy_path(
    X: Any,
    y: Any,
    n_features: int | Literal["auto"] | None,
    *,
    alpha: float | ArrayLike | Literal["auto"] = 1.0,
    cv: Any = "loo",
    loss: Any = "squared",
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
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
    search: Strategy = "auto",
    block_rows: int | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    device: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    callback: Callback | None = None,
    random_state: int | np.random.Generator | None = 0,
    verbose: int = 0,
) -> SelectionPath:
    """Select features one at a time by the exact held-out error of a ridge model.

    Each step adds the feature that gives ridge regression the smallest leave-one-out (or
    cross-validation) loss: the same answer as refitting the model for every candidate with every
    sample (or fold) left out.

    Parameters
    ----------
    X : array-like of shape (m, n)
        Data: a NumPy array of any real type and memory order (never copied as a whole), a pandas or
        polars data frame, a SciPy sparse matrix, data in a file (`greedyrls.files`), or a Dask
        array or data frame, which is processed on the cluster of the current `distributed.Client`
        (see docs/guide/scale.md). With a PyTorch tensor or CuPy array the search runs on its
        device (see docs/guide/gpu.md); other data in memory can be moved to a device with `device`.
    y : array-like of shape (m,) or (m, t)
        One target, or several that share one set of features. Classes are coded as −1 and +1; more
        than two as one column each, +1 in the column of the class (`GreedyRLSClassifier` does so).
    n_features : int, "auto" or None
        Number of features to select, including forced ones. "auto" chooses it by `size_rule`. With
        `feature_groups` it counts groups. None selects as many as the `budget` allows.
    alpha : float, list of float, or "auto", default=1.0
        Ridge penalty of the search, as in `sklearn.linear_model.Ridge`; greater than 0. From a
        list, `alpha_rule` chooses one value, the middle one of equally good ones. "auto" tries 7
        values scaled to the data, the median sum of squares of a feature times 1e-4 to 1e2, and up
        to 3 more if the best value is at an end of the grid.
    cv : "loo", int, splitter, array of fold ids, or list of (train, test), default="loo"
        Exact leave-one-out, or folds: a number (K-fold without shuffling, by groups if there are
        any), any scikit-learn splitter, the fold of each sample, or row numbers. The loss is the
        mean over the splits, each counting by the weight of its test samples.
    loss : str or callable, default="squared"
        "squared", "absolute", "zero_one" (share of wrong classes; a prediction within 1e-10 of the
        border is wrong), "balanced_zero_one" (mean over classes of that), "auc" (1 − area under the
        ROC curve of the held-out predictions), or a function ``(y_true, y_pred) -> float``, lower
        is better, that gets all leave-one-out predictions, or those of each fold, but no weights.
        Ties go to the lowest column, or to the smallest squared loss if all candidates tie by
        "balanced_zero_one".
    fit_intercept : bool, default=True
        Whether the model has an unpenalised intercept. It is refitted for each left-out sample or
        fold. False is the setting of the paper.
    sample_weight : array-like of shape (m,), optional
        Weights of the samples in the fit and in the loss. A sample is left out whole, whatever
        its weight.
    groups : array-like of shape (m,), optional
        Group of each sample, for splitters that keep groups together and for a number of folds.
    forced_features, excluded_features : list of int or str, or mask, optional
        Features added before the search, in this order, and features never chosen; by column
        number or by name.
    direction : {"forward", "backward", "floating", "foba", "swap"}, default="forward"
        Search direction. "forward" adds one feature at a time. "backward" starts with all features
        and removes one at a time. "floating" removes features again after each addition while that
        beats the best set known of the smaller size. "foba" removes features again while the loss
        rises by less than `backward_ratio` of the last gain. "swap" goes forward, then exchanges
        single features until no exchange helps. ``path.sets`` has the best set of each size,
        ``path.steps`` all additions and removals. docs/guide/directions.md says when to use which.
    backward_ratio : float, optional
        For "foba": in (0, 1), 0.5 by default.
    feature_groups : list of ids, list of lists, or dict, optional
        Features that are added together, such as the one-hot columns of a category, by the exact
        loss of the model with all of them: an id for each column (None, −1 or NaN for a column on
        its own), lists of columns by number or name, or a dict of such lists by name. Sizes then
        count groups, and runners-up are named by the first column of a group. A forced or excluded
        feature takes its group with it. See docs/guide/groups.md.
    feature_costs : list of float, or dict, optional
        Costs of the features, greater than 0: a number for each column (summed over a group), or a
        dict of costs by name of a column or group, 1 for others. Each step then adds the feature
        that lowers the loss most per unit of cost, or raises it least if none lowers it.
    budget : float, optional
        Largest total cost of the selected features, including forced ones. Requires
        `feature_costs`. The search continues with affordable features, and ends
        (``path.stop_reason`` BUDGET) when there are none.
    alpha_rule : {"nested", "joint", "all_features"}, default="nested"
        How one of several penalties is chosen. "nested": by the held-out loss of outer folds in
        which the selection is repeated, at `n_features`, or together with the number of features.
        "joint": by the criterion's own loss along each path, which is optimistic after a search.
        "all_features": by the leave-one-out loss with all features, as in the paper.
    alpha_cv : int, splitter, array of fold ids, or list of (train, test), optional
        The outer folds of "nested". A number gives folds shuffled by `random_state`, so that the
        order of the rows does not matter, or folds by groups if `groups` is given. The default is
        the folds of `cv` if that is a splitter, fold ids or by groups, otherwise 5 folds (or `cv`
        folds if it is a number from 3 to 10).
    refit_alpha : "same", "loo", "cv" or float, optional
        Penalty of the models on the chosen features (``path.coef(k)``, ``path.predict``): that of
        the search, the one of smallest leave-one-out loss for these features, of smallest loss
        over the folds of `cv` (which test every row once; squared loss), or a number. By default
        "loo" for ``alpha="auto"`` and for a list with the nested rule, else "same".
    size_rule : {"min", "1se"}, default="1se"
        For "auto": the size of smallest held-out loss in the outer folds, or the smallest size
        whose loss is within one standard error of the paired difference from it. The result may be
        0 features, if nothing predicts y.
    max_features : int, optional
        For "auto": the largest size to try. The default is 100, or the number of samples minus one
        if that is smaller.
    patience : int, optional
        Stop after this many steps without an improvement of the loss. Without it, "auto" stops at
        twice the size of the best held-out loss plus ten.
    tol : float, optional
        Smallest relative decrease of the loss that counts as an improvement. Without `patience` the
        first smaller decrease ends the search.
    n_runners_up : int, default=0
        Number of next best features to record at each step, with the exact loss each would have
        given. With leave-one-out and squared loss each costs exact evaluations.
    search : {"auto", "bounded", "exhaustive"}, default="auto"
        For leave-one-out with squared loss: rule out candidates by bounds, or score every one;
        "auto" uses the cheaper one. The result does not depend on it.
    block_rows : int, optional
        Rows of X worked on at a time, for leave-one-out or X in a file. The answer is the same for
        any value. An error for folds of X in memory, and for X on a cluster, which have no such
        blocks.
    n_jobs : int, optional
        Number of searches that run at the same time, for several penalties or outer folds of X in
        memory; -1 uses all cores. They run in threads, or in processes if steps are not compiled
        (`greedyrls.show_versions`) and take long. A single search by leave-one-out, and X in a
        file, use as many threads for blocks of rows if X is large. The result does not depend on
        it. It has no effect on a single search by folds of X in memory, nor on X on a device or a
        cluster. A callable `loss` is called from one thread. While several threads run, BLAS has
        one.
    checkpoint : str or path, optional
        A file that is written after each step and after each outer fold. Repeating the call after a
        crash resumes from there; repeating it after the end returns the path. A file of other data
        or parameters, or a damaged one, raises an error. Only the name of a callable `loss` is
        compared. If `alpha` is a number, `n_features` may be larger.
    memory_limit : int or str, optional
        For X in a file (a `numpy.memmap`, a dataset of h5py, zarr or bed-reader, or what
        `greedyrls.files` opens): memory that the search may use, in bytes or as text such as
        "2GB". X is then read sequentially, ``path.counters.passes`` times. The result does not
        depend on it. By default this applies to memory maps larger than a quarter of the machine's
        memory.
    device : str or device, optional
        Device to compute on if X is in host memory (a NumPy array or memory map, a data frame, a
        CPU tensor): "cuda", "cuda:1" (PyTorch), "cupy", or a device object of either. X is copied
        there if it fits into 0.6 of the free memory; otherwise its rows are streamed at every pass,
        ``path.counters.passes`` times. By default the computation runs where X is. See
        docs/guide/gpu.md for what is supported.
    callback : callable, optional
        Called with each `Step`; stops the search when it returns True. Not called for steps that
        are read from a checkpoint.
    random_state : int, Generator or None, default=0
        Seed of the outer folds if `alpha_cv` is a number.
    verbose : int, default=0
        1 shows a progress bar (needs tqdm) on runs longer than half a second.

    Returns
    -------
    SelectionPath
        ``path.sentence`` says what was chosen and why. A KeyboardInterrupt after the first step
        returns the steps made so far, with ``path.interrupted`` set.

    Notes
    -----
    Cost: a few passes over X, O(m·n) each, and O(k·(n + m)) per step on n- and m-vectors where the
    bounds are effective, and at most O(m·n·k) per step otherwise. With folds and squared loss
    O(K·k·n) per step for K splits. With other losses every step looks at all candidates, O(m·n·k)
    (for two classes and "zero_one" only at rows that could change sides). Several penalties share
    passes and Gram columns; "nested" makes a selection for each penalty and outer fold, on one set
    of Gram columns. Memory beyond X: O(k·n) for feature space, several vectors of length m, and
    cached columns in float64, up to a quarter of the size of X (or a few MB). Folds need 2·K·k·n
    numbers for K splits. If that is too much, and every row is tested once with squared loss, all
    folds share one factorisation: O(m·n·(k + s)) per step and m·s numbers for any number of folds
    of s rows.

    Features should be on comparable scales, as for any ridge model.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls import greedy_path
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> path = greedy_path(X, y, 3, alpha=0.01, forced_features=["sex"])
    >>> path.names()
    ['sex', 'bmi', 's5']
    >>> path = greedy_path(X, y, "auto", alpha=0.01, cv=10, size_rule="1se")
    >>> path.names(path.chosen_size)
    ['bmi', 's5', 'bp', 's3', 'sex', 's1', 's2']
    """
    options = Options.of(locals())
    return select_path(X, y, options, sample_weight=sample_weight, groups=groups).path


def extend_path(
    path: SelectionPath,
    X: Any,
    y: Any,
    n_features: int,
    *,
    cv: Any = "loo",
    loss: Any = "squared",
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_runners_up: int = 0,
    patience: int | None = None,
    search: Strategy = "auto",
    block_rows: int | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    device: Any = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> SelectionPath:
    """Continue a path to more features without searching for the first ones again.

    Parameters
    ----------
    path : SelectionPath
        A path, which may be interrupted or read from JSON. Its penalties, intercept, excluded
        features, groups, costs, budget and direction are used again. A path made with
        ``direction="swap"`` cannot be continued: it exchanges features at its last size only, so
        that a longer path does not begin with it.
    X, y, sample_weight
        The data that the path was selected from, because a path holds no data. Other data are
        detected by their losses and raise an error.
    n_features : int
        The number of features of the longer path.
    cv, loss, groups
        The values that the path was selected with.
    n_runners_up, patience, search, block_rows, n_jobs, memory_limit, device, callback, verbose
        As in `greedy_path`.

    Returns
    -------
    SelectionPath
        The same as `greedy_path` with this number of features; `path` is not changed.

    Notes
    -----
    Cost of the known features: one or two passes over X, and O(m·k) for each.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls import extend_path, greedy_path
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> path = greedy_path(X, y, 2, alpha=0.01)
    >>> extend_path(path, X, y, 4).names()
    ['bmi', 's5', 'bp', 's1']
    """
    options = Options.of(locals())
    settings = path.settings
    if settings.direction == "swap":
        raise ValueError(
            "The path was made with direction='swap', which exchanges features at its last size "
            "only: a longer path does not begin with this one. Call greedy_path with the larger "
            "n_features."
        )
    options = replace(
        options,
        fit_intercept=settings.fit_intercept,
        excluded_features=list(settings.excluded_features),
        feature_groups=_groups_of(settings),
        direction=settings.direction,
        backward_ratio=settings.backward_ratio,
    )
    names = settings.feature_names_in
    X, y, sample_weight, groups = given_rows(X, y, sample_weight, groups, options)
    problem = problem_of(X, y, options, sample_weight=sample_weight, feature_names=names)
    if settings.feature_costs is not None:
        costs = np.array(settings.feature_costs)
        problem = replace(problem, costs=costs, budget=settings.budget)
    if settings.direction != "forward":
        problem = replace(problem, forced=_forced_in(path))  # which are not removed
    _check_same_data(path, problem)
    size = check_n_features(n_features, problem)
    if size < len(path):
        raise ValueError(
            f"n_features={size} is less than the {len(path)} {problem.unit}s of the path; "
            "use path.truncated(k) to shorten one."
        )
    options.check()
    problem = supported(problem, asked_features(problem, options))
    plan = plan_of(problem, options, groups)
    _check_same_plan(path, plan)
    return _extended(path, problem, plan, size, options)


@limits_threads
def _extended(
    path: SelectionPath, problem: Problem, plan: Plan, size: int, options: Options
) -> SelectionPath:
    """Continue the path to a size, by the plan that it was made with."""
    settings, direction = path.settings, plan.direction.name
    began = time.perf_counter()
    limits, watch = Limits(size, options.patience), options.watch
    plan.prepare(problem, size, watch.verbose)
    problem.X.kept.take_along(path.indices.tolist())
    data = plan.data(problem)
    has_turns = direction in ("floating", "foba")
    known = PathSteps(steps_up_to(path.steps, size) if has_turns else path.steps)
    longer = search_path(Setup(plan, data, limits, watch), settings.alpha, 1, began, known)
    longer = replace(longer, counters=path.counters + longer.counters)
    longer = with_refit(longer, plan, data, settings.refit_alpha)
    longer = replace(longer, surface=path.surface, size_surface=path.size_surface)
    if problem.X.passes_dominate:
        passes = path.counters.passes + passes_over(problem.X)
        longer = replace(longer, counters=replace(longer.counters, passes=passes))
    return longer


def _forced_in(path: SelectionPath) -> tuple[int, ...]:
    """Return the features that were forced into a path."""
    steps = (index for step in path.steps if step.forced for index in step.features)
    last = (best.features[-1] for best in path.sets if best.forced)
    return tuple(dict.fromkeys([*steps, *last]))


def _groups_of(settings: Settings) -> dict[str, list[int]] | None:
    """Return the groups that a path was selected with."""
    if settings.feature_groups is None or settings.group_names is None:
        return None
    pairs = zip(settings.group_names, settings.feature_groups, strict=True)
    return {name: list(columns) for name, columns in pairs}


def _check_same_plan(path: SelectionPath, plan: Plan) -> None:
    """Raise an error if folds or loss differ from those of the path, by their names."""
    settings = path.settings
    if plan.cv != settings.cv:
        raise ValueError(
            f"The path was selected with cv: {settings.cv}; this is cv: {plan.cv}. Pass the same "
            "cv and groups."
        )
    if plan.loss.name != settings.loss:
        raise ValueError(
            f"The path was selected with loss {settings.loss!r}; pass the same, not "
            f"{plan.loss.name!r}."
        )


def _check_same_data(path: SelectionPath, problem: Problem) -> None:
    """Raise an error if shapes, weights or names differ from those of the path."""
    settings = path.settings
    if (problem.n_samples, problem.n_features) != (settings.n_samples, settings.n_features_in):
        raise ValueError(
            f"The data are not those of the path: X is {problem.n_samples} × {problem.n_features}, "
            f"the path was selected from {settings.n_samples} × {settings.n_features_in}."
        )
    if problem.is_weighted != settings.weighted:
        raise ValueError(
            "The path was selected "
            + ("with sample weights; pass the same." if settings.weighted else "without weights.")
        )
    names = settings.feature_names_in
    if names and problem.feature_names and names != problem.feature_names:
        raise ValueError("The columns of X have other names than those of the path.")
    if problem.n_targets != len(path.moments.target_means):
        raise ValueError(
            f"y has {problem.n_targets} targets; the path has {len(path.moments.target_means)}."
        )
    if problem.single_target != settings.single_target:
        dimensions = 1 if settings.single_target else 2
        raise ValueError(f"y of the path has {dimensions} dimensions; pass it in the same shape.")
