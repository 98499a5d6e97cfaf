"""What is asked for, checked: size, penalty, when to stop, what to tell."""

from __future__ import annotations

import math
import numbers
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import LeaveOneOut, StratifiedKFold

from ._alphas import Refit, check_alpha_rule, check_alphas, check_refit
from ._folds import Folds, make_folds
from ._kernels import Float
from ._plan import Plan, split_target, splits_within
from ._problem import Problem, check_n_features
from ._run import Callback, Limits
from ._size import SizeRule, check_size_rule
from ._surface import AlphaRule

# With an automatic size, the search ends when the smallest loss is this many steps old, or with
# this many features unless another number is asked for.
PATIENCE = 10
MOST_FEATURES = 100
# Outer folds where the criterion is leave-one-out.
OUTER_FOLDS = 5
# So many folds of the criterion, such as one for each group, are merged into few outer ones.
_MANY_FOLDS = 10


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for."""

    size: int  # the largest that may be reached
    is_automatic: bool  # choose the size by the rule, rather than take the largest
    alpha: float | Float | Literal["auto"]
    alpha_rule: AlphaRule
    refit: Refit
    size_rule: SizeRule
    limits: Limits
    is_capped: bool  # whether the size ends at max_features, rather than for want of samples
    outer: Folds | None  # for alpha_rule "nested"
    n_runners_up: int
    callback: Callback | None
    verbose: int


def make_request(
    problem: Problem,
    plan: Plan,
    n_features: Any,
    *,
    name: str = "n_features",
    alpha: Any = 1.0,
    alpha_rule: Any = "nested",
    alpha_cv: Any = None,
    refit_alpha: Any = None,
    size_rule: Any = "min",
    max_features: int | None = None,
    patience: int | None = None,
    tol: float | None = None,
    n_runners_up: int = 0,
    callback: Callback | None = None,
    verbose: int = 0,
    groups: ArrayLike | None = None,
    labels: NDArray[Any] | None = None,
) -> Request:
    """Check everything that is asked for; `name` is what the caller calls `n_features`."""
    check_options(n_runners_up, patience, plan.strategy, plan.block_rows, callback)
    if max_features is not None:
        _check_whole("max_features", max_features)
    tolerance = _check_tol(tol)
    penalties = check_alphas(alpha)
    rule = check_alpha_rule(alpha_rule)
    refit = _refit_rule(refit_alpha, penalties, rule)
    outer = None
    if not isinstance(penalties, float) and rule == "nested":
        outer = _outer_folds(problem, plan, alpha_cv, groups, labels)
    is_automatic = isinstance(n_features, str)
    if is_automatic:
        if n_features != "auto":
            raise ValueError(f"{name} must be a number or 'auto', got {n_features!r}.")
        size = _largest_size(problem, max_features, _fewest_rows(problem, plan, outer))
        patience = PATIENCE if patience is None else patience
    else:
        size = check_n_features(n_features, problem, name)
        if max_features is not None and size > max_features:
            raise ValueError(f"{name}={size} is more than max_features={max_features}.")
    if tol is not None and patience is None:
        patience = 1
    return Request(
        size=size,
        is_automatic=is_automatic,
        alpha=penalties,
        alpha_rule=rule,
        refit=refit,
        size_rule=check_size_rule(size_rule),
        limits=Limits(size, patience, tolerance),
        is_capped=is_automatic and size == (max_features or MOST_FEATURES),
        outer=outer,
        n_runners_up=n_runners_up,
        callback=callback,
        verbose=verbose,
    )


def criterion_groups(cv: Any, alpha_cv: Any, groups: ArrayLike | None) -> ArrayLike | None:
    """Groups for the criterion; they may be meant for the outer folds alone."""
    if alpha_cv is None or _takes_groups(cv):
        return groups
    if groups is not None and not _takes_groups(alpha_cv):
        raise ValueError(
            "groups are used by neither cv nor alpha_cv; leave them out, or pass a number of folds "
            "or a splitter such as GroupKFold as one of the two."
        )
    return None


def _takes_groups(cv: Any) -> bool:
    """A number of folds, or a splitter that is not leave-one-out."""
    is_splitter = hasattr(cv, "split") and not isinstance(cv, str) and not hasattr(cv, "__array__")
    return _is_whole(cv) or (is_splitter and not isinstance(cv, LeaveOneOut))


def _refit_rule(refit_alpha: Any, alpha: float | Float | str, rule: AlphaRule) -> Refit:
    """None is "loo" where the penalty of the search is chosen for the search alone."""
    if refit_alpha is not None:
        return check_refit(refit_alpha)
    is_grid = isinstance(alpha, np.ndarray)
    return "loo" if isinstance(alpha, str) or (is_grid and rule == "nested") else "same"


def _outer_folds(
    problem: Problem,
    plan: Plan,
    alpha_cv: Any,
    groups: ArrayLike | None,
    labels: NDArray[Any] | None,
) -> Folds:
    """The folds in which the selection is made anew."""
    counted = np.ones(problem.n_samples, dtype=bool)
    if problem.weights is not None:
        counted = problem.weights > 0.0
    if counted.sum() < 4:
        raise ValueError(
            f"Choosing alpha in outer folds needs at least 4 samples, there are n_samples="
            f"{counted.sum()}; pass a number for alpha."
        )
    if alpha_cv is None:
        folds = _default_outer_folds(problem, plan, groups, labels, counted)
    else:
        folds = _given_outer_folds(problem, alpha_cv, groups, labels)
    for number, split in enumerate(folds.splits):
        if counted[split.train].sum() < 2:
            raise ValueError(
                f"Split {number} of alpha_cv ({folds.description}) trains on fewer than 2 samples; "
                "use other outer folds, or a number for alpha."
            )
    return folds


def _given_outer_folds(
    problem: Problem, alpha_cv: Any, groups: ArrayLike | None, labels: NDArray[Any] | None
) -> Folds:
    folds = None
    if not isinstance(alpha_cv, str):
        try:
            folds = make_folds(
                alpha_cv,
                problem.n_samples,
                y=split_target(problem),
                labels=labels,
                groups=groups if _takes_groups(alpha_cv) else None,
                weights=problem.weights,
            )
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
    if plan.folds is not None:
        usable = [
            split
            for split in plan.folds.splits
            if splits_within(plan.folds, counted & _is_in(split.train, problem.n_samples))
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
        folds = make_folds(
            cv,
            problem.n_samples,
            y=split_target(problem),
            labels=labels,
            groups=groups,
            weights=problem.weights,
        )
    except ValueError as error:
        raise ValueError(
            f"The penalty is chosen in {count} outer folds: {error} Or pass outer folds of your "
            "own as alpha_cv, or a number for alpha."
        ) from error
    assert folds is not None
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


def _largest_size(problem: Problem, max_features: int | None, rows: int) -> int:
    """With an automatic size, where a search ends at the latest; `rows` are those it trains on."""
    if problem.n_available == 0:
        raise ValueError("All features of X are excluded: there is nothing to choose from.")
    most = MOST_FEATURES if max_features is None else max_features
    if max_features is not None and max_features < len(problem.forced):
        raise ValueError(
            f"max_features={max_features} is less than the {len(problem.forced)} forced features."
        )
    return max(1, len(problem.forced), min(problem.n_available, most, rows - 1))


def _fewest_rows(problem: Problem, plan: Plan, outer: Folds | None) -> int:
    """About the fewest rows of positive weight that a model of the procedure is fitted to."""
    counted = np.ones(problem.n_samples, dtype=bool)
    if problem.weights is not None:
        counted = problem.weights > 0.0
    fewest = int(counted.sum())
    if outer is not None:
        fewest = min(int(counted[split.train].sum()) for split in outer.splits)
    if plan.folds is not None:
        # The share that a split of the criterion leaves of the rows of an outer fold.
        share = min(counted[split.train].sum() for split in plan.folds.splits) / counted.sum()
        fewest = int(fewest * share)
    return max(2, fewest)


def _check_tol(tol: Any) -> float:
    if tol is None:
        return 0.0
    if isinstance(tol, bool) or not isinstance(tol, numbers.Real):
        raise TypeError(f"tol must be None or a number, 0 or more; got {tol!r}.")
    value = float(tol)
    if not (math.isfinite(value) and value >= 0.0):
        raise ValueError(f"tol must be None or a number, 0 or more; got {tol!r}.")
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _check_whole(name: str, value: Any) -> None:
    if not _is_whole(value) or value < 1:
        raise ValueError(f"{name} must be None or a whole number, 1 or more; got {value!r}.")


def check_options(
    n_runners_up: int,
    patience: int | None,
    search: str,
    block_rows: int | None,
    callback: Any,
) -> None:
    """Options that go with any search."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}.")
    if not _is_whole(n_runners_up) or n_runners_up < 0:
        raise ValueError(f"n_runners_up must be a whole number, 0 or more; got {n_runners_up!r}.")
    for name, value in (("patience", patience), ("block_rows", block_rows)):
        if value is not None:
            _check_whole(name, value)
    if search not in ("auto", "bounded", "exhaustive"):
        raise ValueError(f"search must be 'auto', 'bounded' or 'exhaustive', got {search!r}.")
