"""Outer folds, in which the whole selection is repeated: the user's, or by default."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import LeaveOneOut

from .._base import is_whole
from .._cluster import k_folds, merged_folds
from .._problem import ClusterFolds, Folds, Problem, Shuffle, make_folds, shuffled_ids
from .._search import Plan, folds_of, has_splits_within, n_classes
from ._options import Options
from ._outer_fold import training_part

# The number of outer folds if the criterion is leave-one-out.
OUTER_FOLDS = 5
# More folds of the criterion than this, such as one per group, are merged to few outer ones.
_MANY_FOLDS = 10


def criterion_groups(options: Options, groups: ArrayLike | None) -> ArrayLike | None:
    """Return the groups for the criterion; None if they are meant for the outer folds alone."""
    if takes_groups(options.cv) or (options.alpha_cv is None and not options.caller.has_folds):
        return groups
    is_used = options.caller.has_folds or takes_groups(options.alpha_cv)
    if groups is not None and not is_used:
        raise ValueError(
            f"groups are used by neither {options.name('cv')} nor {options.name('alpha_cv')}; "
            "leave them out, or pass a number of folds or a splitter such as GroupKFold as one of "
            "the two."
        )
    return None


def takes_groups(cv: Any) -> bool:
    """Return whether `cv` is a number of folds, or a splitter that is not leave-one-out."""
    is_splitter = hasattr(cv, "split") and not isinstance(cv, str) and not hasattr(cv, "__array__")
    return is_whole(cv) or (is_splitter and not isinstance(cv, LeaveOneOut))


def outer_folds(
    problem: Problem,
    plan: Plan,
    alpha_cv: Any,
    groups: ArrayLike | None,
    labels: NDArray[Any] | None,
    shuffle: Shuffle,
) -> Folds | ClusterFolds:
    """Return the folds in which the selection is repeated; a number gives shuffled folds."""
    if problem.n_weighted < 4:
        raise ValueError(
            "Choosing alpha in outer folds needs at least 4 samples, there are "
            f"n_samples={problem.n_weighted}; pass a number for alpha."
        )
    if alpha_cv is None:
        folds = _default_outer_folds(problem, plan, groups, labels, shuffle)
    else:
        folds = _user_outer_folds(problem, alpha_cv, groups, labels, shuffle)
    is_small = train_counts(problem, folds) < 2
    if is_small.any():
        raise ValueError(
            f"Split {np.argmax(is_small)} of alpha_cv ({folds.description}) trains on fewer than 2 "
            "samples; use other outer folds, or a number for alpha."
        )
    return folds


def train_counts(problem: Problem, folds: Folds | ClusterFolds) -> NDArray[Any]:
    """Return the number of rows of positive weight that each split trains on, (K)."""
    if folds.remote is not None:
        return folds.remote.train_counts
    counted = problem.has_weight
    return np.array([split.n_trained_on(counted) for split in folds.splits])


def _user_outer_folds(
    problem: Problem,
    alpha_cv: Any,
    groups: ArrayLike | None,
    labels: NDArray[Any] | None,
    shuffle: Shuffle,
) -> Folds | ClusterFolds:
    folds = None
    if not isinstance(alpha_cv, str):
        groups_used = groups if takes_groups(alpha_cv) else None
        folds = folds_of(
            problem, alpha_cv, groups_used, labels, shuffle, "alpha_cv", takes_loo=False
        )
    if folds is None:
        raise ValueError(
            f"alpha_cv={alpha_cv!r}: the selection is repeated for each outer fold and penalty; "
            "use a number of folds, a splitter or fold ids."
        )
    return folds


def _default_outer_folds(
    problem: Problem,
    plan: Plan,
    groups: ArrayLike | None,
    labels: NDArray[Any] | None,
    shuffle: Shuffle,
) -> Folds | ClusterFolds:
    """Return the folds of the criterion unless they come from a number; else shuffled ones.

    A user's folds may keep rows together; a number of folds does not say anything about the rows.
    """
    own = plan.folds
    if own is not None and own.is_plain:
        folds = _shuffled(problem, plan, groups, labels, shuffle)
        if _are_fit(problem, plan, folds):
            return folds
    usable = None if own is None else _usable(problem, own)
    if own is None or usable is None:
        return _shuffled(problem, plan, groups, labels, shuffle)
    if usable.n_splits > _MANY_FOLDS and own.is_partition:
        return _merged(problem, own)
    return usable


def _usable(problem: Problem, folds: Folds | ClusterFolds) -> Folds | ClusterFolds | None:
    """Return the splits whose training rows can be split again; None if there are none."""
    if folds.remote is not None:
        return folds if folds.remote.has_splits_within else None
    counted = problem.has_weight
    splits = tuple(
        split
        for split in folds.splits
        if has_splits_within(folds, counted & _is_in(split.train, problem.n_samples))
    )
    return replace(folds, splits=splits) if splits else None


def _outer_count(plan: Plan, n_weighted: int) -> int:
    """Return the number of outer folds: that of the criterion, if it is small."""
    count = OUTER_FOLDS if plan.folds is None else plan.folds.n_splits
    count = count if 2 < count <= _MANY_FOLDS else OUTER_FOLDS
    return max(2, min(count, n_weighted // 2))


def _are_fit(problem: Problem, plan: Plan, outer: Folds | ClusterFolds) -> bool:
    """Return whether the criterion can be computed within each of the outer folds.

    Some losses need every class in each test, and a class of few rows may be missing in one.
    """
    if not plan.loss.needs_every_class:
        return True
    try:
        for number in range(outer.n_splits):
            plan.within(training_part(problem, outer, number))
    except ValueError:
        return False
    return True


def _shuffled(
    problem: Problem,
    plan: Plan,
    groups: ArrayLike | None,
    labels: NDArray[Any] | None,
    shuffle: Shuffle,
) -> Folds | ClusterFolds:
    """Return shuffled folds: by groups, or stratified by classes, if there are any."""
    count = _outer_count(plan, problem.n_weighted)
    if (remote := problem.X.remote) is not None:
        classes = n_classes(problem)
        return k_folds(
            remote, count, classes, is_outer=True, shuffle=shuffle, name="alpha_cv", takes_loo=False
        )
    counted = problem.has_weight
    if groups is None and labels is not None:
        return _stratified(problem, labels, counted, count, shuffle)
    if groups is not None:
        count = max(2, min(count, len(np.unique(np.asarray(groups)[counted]))))
    try:
        folds = folds_of(problem, count, groups, labels, shuffle, "alpha_cv", takes_loo=False)
    except ValueError as error:
        raise ValueError(
            f"The penalty is chosen in {count} outer folds: {error} Or pass your own outer folds "
            "as alpha_cv, or a number for alpha."
        ) from error
    assert folds is not None
    return folds


def _merged(problem: Problem, folds: Folds | ClusterFolds) -> Folds | ClusterFolds:
    """Merge folds to fewer, larger ones, so that groups stay together."""
    if folds.remote is not None:
        assert problem.X.remote is not None
        return merged_folds(problem.X.remote, folds.remote, OUTER_FOLDS, n_classes(problem))
    fold_of = np.empty(folds.n_samples, dtype=np.intp)
    for number, split in enumerate(folds.splits):
        fold_of[split.test] = number % OUTER_FOLDS
    merged = make_folds(fold_of, folds.n_samples, y=None, labels=None, groups=None, weights=None)
    assert merged is not None
    return replace(merged, description=f"{OUTER_FOLDS} folds, merged of {folds.description}")


def _is_in(rows: NDArray[np.intp], count: int) -> NDArray[np.bool_]:
    flags = np.zeros(count, dtype=bool)
    flags[rows] = True
    return flags


def _stratified(
    problem: Problem,
    labels: NDArray[Any],
    counted: NDArray[np.bool_],
    count: int,
    shuffle: Shuffle,
) -> Folds:
    """Return stratified folds; a class of one sample is never tested, but trained on."""
    sizes = np.unique(labels[counted], return_counts=True)[1]
    shared = sizes[sizes > 1]
    if not len(shared):
        raise ValueError(
            "No class has 2 samples: the penalty cannot be chosen in outer folds. Pass a number "
            "for alpha."
        )
    count = min(count, int(shared.min()))
    ids = shuffled_ids(
        count, problem.n_samples, labels, problem.host_weights, shuffle, is_outer=True
    )
    folds = folds_of(problem, ids, None, labels)
    assert isinstance(folds, Folds)
    return replace(folds, description=f"{count}-fold, stratified{shuffle.words}")
