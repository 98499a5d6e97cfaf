"""Outer folds, in which the whole selection is made anew: given, or made of the criterion's."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import LeaveOneOut, StratifiedKFold

from ._cluster import ClusterMatrix
from ._cluster_folds import ClusterFolds, k_folds, merged_folds
from ._folds import Folds, make_folds
from ._matrix import not_on_device
from ._plan import Plan, folds_of, has_splits_within, n_classes
from ._problem import Problem, is_whole
from ._stream import StreamedMatrix

# Where the criterion is leave-one-out.
OUTER_FOLDS = 5
# So many folds of the criterion, such as one for each group, are merged into few outer ones.
_MANY_FOLDS = 10


def criterion_groups(cv: Any, alpha_cv: Any, groups: ArrayLike | None) -> ArrayLike | None:
    """Groups for the criterion; they may be meant for the outer folds alone."""
    if alpha_cv is None or takes_groups(cv):
        return groups
    if groups is not None and not takes_groups(alpha_cv):
        raise ValueError(
            "groups are used by neither cv nor alpha_cv; leave them out, or pass a number of folds "
            "or a splitter such as GroupKFold as one of the two."
        )
    return None


def takes_groups(cv: Any) -> bool:
    """A number of folds, or a splitter that is not leave-one-out."""
    is_splitter = hasattr(cv, "split") and not isinstance(cv, str) and not hasattr(cv, "__array__")
    return is_whole(cv) or (is_splitter and not isinstance(cv, LeaveOneOut))


def outer_folds(
    problem: Problem,
    plan: Plan,
    alpha_cv: Any,
    groups: ArrayLike | None,
    labels: NDArray[Any] | None,
) -> Folds | ClusterFolds:
    """The folds in which the selection is made anew."""
    if isinstance(problem.X, StreamedMatrix):
        raise not_on_device("A choice of alpha in outer folds of data that are streamed")
    if isinstance(problem.X, ClusterMatrix):
        return _cluster_outer_folds(problem, problem.X, plan, alpha_cv, groups)
    counted = problem.has_weight
    if counted.sum() < 4:
        raise ValueError(_too_few(int(counted.sum())))
    folds: Folds | ClusterFolds
    if alpha_cv is None:
        folds = _default_outer_folds(problem, plan, groups, labels, counted)
    else:
        folds = _given_outer_folds(problem, alpha_cv, groups, labels)
    assert isinstance(folds, Folds)
    for number, split in enumerate(folds.splits):
        if split.n_trained_on(counted) < 2:
            raise ValueError(
                f"Split {number} of alpha_cv ({folds.description}) trains on fewer than 2 samples; "
                "use other outer folds, or a number for alpha."
            )
    return folds


def _too_few(count: int) -> str:
    return (
        f"Choosing alpha in outer folds needs at least 4 samples, there are n_samples={count}; "
        "pass a number for alpha."
    )


def _cluster_outer_folds(
    problem: Problem, X: ClusterMatrix, plan: Plan, alpha_cv: Any, groups: ArrayLike | None
) -> ClusterFolds:
    """The same for rows on a cluster."""
    if X.n_weighted < 4:
        raise ValueError(_too_few(X.n_weighted))
    if alpha_cv is not None:
        folds = _given_outer_folds(problem, alpha_cv, groups, None)
    elif isinstance(plan.folds, ClusterFolds) and plan.folds.has_splits_within:
        folds = plan.folds
        if folds.n_splits > _MANY_FOLDS and folds.is_partition:
            folds = merged_folds(X, folds, OUTER_FOLDS, n_classes(problem))
    else:
        count = max(2, min(OUTER_FOLDS, X.n_weighted // 2))
        folds = k_folds(X, count, n_classes(problem), is_outer=True)
    assert isinstance(folds, ClusterFolds)
    if folds.train_counts.min() < 2:
        raise ValueError(
            f"alpha_cv ({folds.description}) trains on fewer than 2 samples; use other outer "
            "folds, or a number for alpha."
        )
    return folds


def _given_outer_folds(
    problem: Problem, alpha_cv: Any, groups: ArrayLike | None, labels: NDArray[Any] | None
) -> Folds | ClusterFolds:
    folds = None
    if not isinstance(alpha_cv, str):
        try:
            folds = folds_of(problem, alpha_cv, groups if takes_groups(alpha_cv) else None, labels)
        except (TypeError, ValueError) as error:
            message = re.sub(r"\bcv\b", "alpha_cv", str(error)).replace(", or 'loo'", "")
            raise type(error)(message) from error
    if folds is None:
        raise ValueError(
            f"alpha_cv={alpha_cv!r}: the selection is made anew for each outer fold and penalty; "
            "use a number of folds, a splitter or fold ids."
        )
    return folds


def _default_outer_folds(
    problem: Problem,
    plan: Plan,
    groups: ArrayLike | None,
    labels: NDArray[Any] | None,
    counted: NDArray[np.bool_],
) -> Folds:
    """Those of the criterion, as far as it has splits within them; else a few folds."""
    if isinstance(plan.folds, Folds):
        usable = [
            split
            for split in plan.folds.splits
            if has_splits_within(plan.folds, counted & _is_in(split.train, problem.n_samples))
        ]
        if len(usable) > _MANY_FOLDS and plan.folds.is_partition:
            return _merged(plan.folds)
        if usable:
            return replace(plan.folds, splits=tuple(usable))
    count = max(2, min(OUTER_FOLDS, int(counted.sum()) // 2))
    cv: Any = count
    if groups is not None:
        cv = max(2, min(count, len(np.unique(np.asarray(groups)[counted]))))
    elif labels is not None:
        cv = _fold_ids(labels, counted, count)
    try:
        folds = folds_of(problem, cv, groups, labels)
    except ValueError as error:
        raise ValueError(
            f"The penalty is chosen in {count} outer folds: {error} Or pass outer folds of your "
            "own as alpha_cv, or a number for alpha."
        ) from error
    assert isinstance(folds, Folds)
    if labels is not None and groups is None:
        return replace(folds, description=f"{len(folds.splits)}-fold, stratified")
    return folds


def _merged(folds: Folds) -> Folds:
    """Fewer, larger folds: several of the given ones each, so that groups stay together."""
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


def _fold_ids(labels: NDArray[Any], counted: NDArray[np.bool_], count: int) -> NDArray[np.intp]:
    """Stratified folds; a class of one sample is never tested, since it must be trained on."""
    _, class_of, sizes = np.unique(labels[counted], return_inverse=True, return_counts=True)
    shared = np.flatnonzero(counted)[sizes[class_of] > 1]
    ids = np.full(len(labels), -1, dtype=np.intp)
    classes = labels[shared]
    smallest = int(sizes[sizes > 1].min(initial=len(labels)))
    n_folds = max(2, min(count, smallest))
    if len(shared) < n_folds:
        raise ValueError(
            "No class has 2 samples: the penalty cannot be chosen in outer folds. Pass a number "
            "for alpha."
        )
    for fold, (_, test) in enumerate(StratifiedKFold(n_folds).split(classes, classes)):
        ids[shared[test]] = fold
    return ids
