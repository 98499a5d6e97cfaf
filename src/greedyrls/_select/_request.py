"""What is asked for, checked: size, penalty, when to stop, what to tell."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import Float
from .._cluster import ClusterFolds
from .._problem import Folds, Loss, Problem, Shuffle, check_n_features, is_whole, make_loss
from .._search import (
    FEATURES,
    Callback,
    Limits,
    Plan,
    Watch,
    check_file,
    check_jobs,
    check_refit_folds,
    traits_of,
)
from ..path import AlphaRule, SizeRule, check_size_rule
from ._alphas import Refit, check_alpha_rule, check_alphas, check_refit
from ._outer import outer_folds

# With an automatic size, a search that watches its own loss ends when the smallest is so many steps
# old; all end with this many features unless another number is asked for.
PATIENCE = 10
MOST_FEATURES = 100


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for."""

    is_automatic: bool  # choose the size by the rule, rather than take the largest
    alpha: float | Float | Literal["auto"]
    alpha_rule: AlphaRule
    refit: Refit
    size_rule: SizeRule
    limits: Limits  # with the largest size that may be reached
    outer_limits: Limits  # the same for outer folds, which watch held-out losses unless told else
    is_capped: bool  # whether the size ends at max_features, rather than for want of samples
    outer: Folds | ClusterFolds | None  # where a penalty or size is chosen by held-out losses
    outer_groups: NDArray[np.generic] | None  # samples that belong together there
    rival: Loss | None  # another loss to select by, if it is clearly better in the outer folds
    watch: Watch
    checkpoint: Path | None  # where to write what is known, and to go on from
    n_jobs: int = 1  # threads over outer folds

    @property
    def searches_often(self) -> bool:
        """Whether there are several searches on the same data, which can share what they read."""
        return self.outer is not None or not isinstance(self.alpha, float)


def make_request(
    problem: Problem,
    plan: Plan,
    n_features: Any,
    *,
    shuffle: Shuffle,
    name: str = "n_features",
    alpha: Any = 1.0,
    alpha_rule: Any = "nested",
    alpha_cv: Any = None,
    refit_alpha: Any = None,
    size_rule: Any = "1se",
    max_features: int | None = None,
    patience: int | None = None,
    tol: float | None = None,
    n_runners_up: int = 0,
    checkpoint: Any = None,
    callback: Callback | None = None,
    verbose: int = 0,
    groups: ArrayLike | None = None,
    labels: NDArray[Any] | None = None,
    rival: str | None = None,
    n_jobs: int | None = None,
) -> Request:
    """Check everything that is asked for; `name` is what the caller calls `n_features`."""
    check_options(n_runners_up, patience, plan.strategy, plan.block_rows, callback)
    if max_features is not None:
        _check_whole("max_features", max_features)
    tolerance = _check_tol(tol)
    _check_with_direction(plan, patience, tol, checkpoint)
    penalties = check_alphas(alpha)
    rule = check_alpha_rule(alpha_rule)
    refit = _refit_rule(refit_alpha, penalties, rule)
    if refit == "cv":
        check_refit_folds(problem, plan)
    is_automatic = isinstance(n_features, str)
    is_nested = rule == "nested" and not isinstance(penalties, float)
    outer = None
    # Rows that are streamed to a device cannot be taken apart: there the size is chosen by the
    # search's own loss.
    if is_nested or (is_automatic and FEATURES["folds"].works_with(traits_of(problem.X))):
        outer = outer_folds(problem, plan, alpha_cv, groups, labels, shuffle)
    by_budget = n_features is None and problem.budget is not None
    if by_budget:
        n_features = min(problem.n_available, max_features or problem.n_available)
    if is_automatic:
        if n_features != "auto":
            raise ValueError(f"{name} must be a number or 'auto', got {n_features!r}.")
        size = _largest_size(problem, max_features, _fewest_rows(problem, plan, outer))
    else:
        size = check_n_features(n_features, problem, name)
        if max_features is not None and size > max_features:
            raise ValueError(f"{name}={size} is more than max_features={max_features}.")
    if tol is not None and patience is None:
        patience = 1
    if plan.direction.name == "backward":
        patience = None
    limits = Limits(size, patience, tolerance, by_budget=by_budget)
    outer_limits = limits
    watches_itself = outer is None or (rule == "joint" and not isinstance(penalties, float))
    if is_automatic and patience is None and watches_itself and plan.direction.name != "backward":
        limits = replace(limits, patience=PATIENCE)
    return Request(
        is_automatic=is_automatic,
        alpha=penalties,
        alpha_rule=rule,
        refit=refit,
        size_rule=check_size_rule(size_rule),
        limits=limits,
        outer_limits=outer_limits,
        is_capped=is_automatic and size == (max_features or MOST_FEATURES),
        outer=outer,
        outer_groups=None if groups is None or outer is None else np.asarray(groups),
        rival=make_loss(rival) if rival is not None and is_nested else None,
        watch=Watch(n_runners_up, callback, verbose),
        checkpoint=check_file(checkpoint),
        n_jobs=check_jobs(n_jobs),
    )


def with_threads(plan: Plan, request: Request) -> Plan:
    """The plan, whose rows are spread over threads where there are no outer folds to spread."""
    return plan if request.outer is not None else replace(plan, n_jobs=request.n_jobs)


def _check_with_direction(plan: Plan, patience: Any, tol: Any, checkpoint: Any) -> None:
    """What does not go with every direction."""
    name = plan.direction.name
    if name != "forward" and checkpoint is not None:
        raise ValueError(
            f"checkpoint= is for direction='forward', got direction={name!r}; leave it out."
        )
    given = [
        f"{key}={value!r}"
        for key, value in (("patience", patience), ("tol", tol))
        if value is not None
    ]
    if name == "backward" and given:
        raise ValueError(
            f"{' and '.join(given)} cannot end a search with direction='backward', which reaches "
            "small sets last; leave it out."
        )


def open_loss(loss: Any, labels: NDArray[Any] | None) -> tuple[Any, str | None]:
    """What to select by, and what else to try: "auto" is open for a classification."""
    if not (isinstance(loss, str) and loss == "auto"):
        return loss, None
    return "squared", None if labels is None else "zero_one"


def _refit_rule(refit_alpha: Any, alpha: float | Float | str, rule: AlphaRule) -> Refit:
    """None is "loo" where the penalty of the search is chosen for the search alone."""
    if refit_alpha is not None:
        return check_refit(refit_alpha)
    is_grid = isinstance(alpha, np.ndarray)
    return "loo" if isinstance(alpha, str) or (is_grid and rule == "nested") else "same"


def _largest_size(problem: Problem, max_features: int | None, rows: int) -> int:
    """With an automatic size, where a search ends at the latest; `rows` are those it trains on."""
    if problem.n_available == 0:
        raise ValueError("All features of X are excluded: there is nothing to choose from.")
    most = MOST_FEATURES if max_features is None else max_features
    if max_features is not None and max_features < problem.n_forced:
        raise ValueError(
            f"max_features={max_features} is less than the {problem.n_forced} forced "
            f"{problem.unit}s."
        )
    return max(1, problem.n_forced, min(problem.n_available, most, rows - 1))


def _fewest_rows(problem: Problem, plan: Plan, outer: Folds | ClusterFolds | None) -> int:
    """About the fewest rows of positive weight that a model of the procedure is fitted to."""
    counted = problem.n_weighted
    fewest = counted
    if outer is not None:
        fewest = _fewest_trained_on(problem, outer)
    if plan.folds is not None:
        # The share that a split of the criterion leaves of the rows of an outer fold.
        fewest = int(fewest * (_fewest_trained_on(problem, plan.folds) / counted))
    return max(2, fewest)


def _fewest_trained_on(problem: Problem, folds: Folds | ClusterFolds) -> int:
    """Of the splits, rows of positive weight."""
    if folds.remote is not None:
        return int(folds.remote.train_counts.min())
    counted = problem.has_weight
    return min(split.n_trained_on(counted) for split in folds.splits)


def _check_tol(tol: Any) -> float:
    if tol is None:
        return 0.0
    if isinstance(tol, bool) or not isinstance(tol, numbers.Real):
        raise TypeError(f"tol must be None or a number, 0 or more; got {tol!r}.")
    value = float(tol)
    if not (math.isfinite(value) and value >= 0.0):
        raise ValueError(f"tol must be None or a number, 0 or more; got {tol!r}.")
    return value


def _check_whole(name: str, value: Any) -> None:
    if not is_whole(value) or value < 1:
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
    if not is_whole(n_runners_up) or n_runners_up < 0:
        raise ValueError(f"n_runners_up must be a whole number, 0 or more; got {n_runners_up!r}.")
    for name, value in (("patience", patience), ("block_rows", block_rows)):
        if value is not None:
            _check_whole(name, value)
    if search not in ("auto", "bounded", "exhaustive"):
        raise ValueError(f"search must be 'auto', 'bounded' or 'exhaustive', got {search!r}.")
