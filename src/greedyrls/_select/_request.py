"""The validated request: criterion, penalties, outer folds, sizes and threads for a problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import Float
from .._data import Matrix
from .._problem import ClusterFolds, Folds, Loss, Problem, check_n_features, make_loss, make_shuffle
from .._search import (
    Data,
    Limits,
    Plan,
    check_file,
    check_jobs,
    check_refit_folds,
    check_supported,
    is_compiled,
    make_plan,
    supported,
)
from ..path import AlphaRule, SelectionPath, SizeRule
from ._alphas import N_PENALTIES, Refit, check_refit
from ._options import Options
from ._outer import criterion_groups, outer_folds, train_counts
from ._outer_fold import KeptData

# With an automatic size, a search that watches its own loss ends after so many steps without a
# smaller one; all end with this many features unless the user sets another number.
PATIENCE = 10
MOST_FEATURES = 100
# Elements of X from which a single search by NumPy, with threads over rows, is faster than compiled
# steps.
_WORTH_THREADS = 1 << 23
# Elements of X below which threads for compiled searches wait for the interpreter, not for steps.
_WORTH_SEARCHES = 1 << 15
# Estimates for the time of a selection: steps of a search whose size is chosen, seconds of a step
# by NumPy whatever the data, and for each element of X.
_USUAL_STEPS = 30
_STEP_SECONDS, _ELEMENT_SECONDS = 4e-4, 6e-10
# Seconds of work from which processes pay: they take some to start, on a busy machine ten.
_WORTH_PROCESSES = 10.0


@dataclass(frozen=True, slots=True)
class Request:
    """The validated request for a problem, with the options it was made from."""

    options: Options
    problem: Problem
    plan: Plan
    is_automatic: bool  # choose the size by the rule, instead of using the largest
    alpha: float | Float | Literal["auto"]
    refit: Refit
    limits: Limits  # with the largest size that may be reached
    outer_limits: Limits  # the same for outer folds, which watch held-out losses by default
    is_capped: bool  # whether max_features limits the size, rather than the number of samples
    outer: Folds | ClusterFolds | None  # if a penalty or size is chosen by held-out losses
    outer_groups: NDArray[np.generic] | None  # the group of each sample in the outer folds
    rival: Loss | None  # another loss to select by, if it is clearly better in the outer folds
    checkpoint: Path | None  # the file of results so far
    n_jobs: int  # threads over searches; those over rows are the plan's
    report: Callable[[int], None] | None = None  # is told the steps of searches that have ended
    kept: KeptData = field(default_factory=dict)  # what the searches in outer folds share

    @property
    def alpha_rule(self) -> AlphaRule:
        """The rule by which one of several penalties is chosen."""
        rule: AlphaRule = self.options.alpha_rule
        return rule

    @property
    def size_rule(self) -> SizeRule:
        """The rule by which an automatic size is chosen."""
        rule: SizeRule = self.options.size_rule
        return rule

    @property
    def searches_often(self) -> bool:
        """Whether several searches run on the same data, and can share columns."""
        return self.outer is not None or not isinstance(self.alpha, float)

    @property
    def n_steps(self) -> int:
        """About the number of steps of all searches."""
        size = min(_USUAL_STEPS, self.limits.size) if self.is_automatic else self.limits.size
        return size * (1 + (1 if self.outer is None else self.outer.n_splits) * self.n_penalties)

    @property
    def n_penalties(self) -> int:
        """The number of penalties that are tried, without those beyond the grid."""
        if isinstance(self.alpha, np.ndarray):
            return len(self.alpha)
        return 1 if isinstance(self.alpha, float) else N_PENALTIES

    def pays_processes(self, plan: Plan, count: int = 1) -> bool:
        """Return whether so many selections by a plan run faster in processes than in threads.

        Compiled steps do not hold the interpreter lock, and others may take less time than
        processes need to start. Kernel functions and their centres stay in this process.
        """
        X = self.problem.X
        if is_compiled(plan, self.problem) or not X.is_in_memory or X.centers is not None:
            return False
        m, n = X.shape
        work = float(m * n)
        if plan.folds is not None:
            work *= self.limits.size + m / plan.folds.n_splits
        elif plan.loss.name != "squared":
            work *= self.limits.size
        return count * self.n_steps * (_STEP_SECONDS + _ELEMENT_SECONDS * work) > _WORTH_PROCESSES


def make_request(
    problem: Problem,
    options: Options,
    groups: ArrayLike | None = None,
    labels: NDArray[Any] | None = None,
) -> Request:
    """Validate all options for the problem; `labels` are those of a classification."""
    options.check()
    problem = supported(problem, asked_features(problem, options))
    groups_of_criterion = None if groups is None else criterion_groups(options, groups)
    plan = plan_of(problem, options, groups_of_criterion, labels)
    penalties, rule = options.penalties, options.alpha_rule
    refit = _refit_rule(options.refit_alpha, penalties, rule)
    if refit == "cv":
        check_refit_folds(problem, plan)
    is_chosen = not isinstance(penalties, float)
    is_nested, is_automatic = rule == "nested" and is_chosen, isinstance(options.n_features, str)
    outer = None
    if is_nested or is_automatic:
        shuffle = make_shuffle(options.random_state)
        outer = outer_folds(problem, plan, options.alpha_cv, groups, labels, shuffle)
    limits = _limits(problem, plan, options, outer)
    watches_itself = outer is None or (rule == "joint" and is_chosen)
    search_limits = limits
    if is_automatic and watches_itself and limits.patience is None:
        search_limits = replace(limits, patience=None if _is_backward(plan) else PATIENCE)
    # With several penalties on the same rows, only compiled searches are independent.
    has_parts = outer is not None or (is_chosen and is_compiled(plan, problem))
    is_spread = has_parts and _spreads_searches(problem, plan)
    n_jobs = check_jobs(options.n_jobs) if is_spread else 1
    if is_compiled(plan, problem) and problem.X.shape[0] * problem.X.shape[1] < _WORTH_SEARCHES:
        n_jobs = 1
    request = Request(
        options=options,
        problem=problem,
        plan=replace(plan, n_jobs=1) if is_spread else plan,
        is_automatic=is_automatic,
        alpha=penalties,
        refit=refit,
        limits=search_limits,
        outer_limits=limits,
        is_capped=is_automatic and limits.size == (options.max_features or MOST_FEATURES),
        outer=outer,
        outer_groups=None if groups is None or outer is None else np.asarray(groups),
        rival=_rival(problem, options, labels) if is_nested else None,
        checkpoint=None if options.checkpoint is None else check_file(options.checkpoint),
        n_jobs=n_jobs,
    )
    _check_data(problem.X, request)
    return request


def _check_data(X: Matrix, request: Request) -> None:
    """Errors for what is not supported on this kind of X, and not a matter of the plan."""
    if request.alpha_rule == "all_features" and not isinstance(request.alpha, float):
        check_supported(X, "all_features", "alpha_rule='all_features'")
    if request.checkpoint is not None:
        check_supported(X, "checkpoint", "A checkpoint")


def asked_features(problem: Problem, options: Options) -> list[str]:
    """Return the rows of the capability table that a selection needs, beside those of any."""
    loss, is_chosen = options.criterion, not isinstance(options.penalties, float)
    by_all = is_chosen and options.alpha_rule == "all_features"
    by_folds = isinstance(options.refit_alpha, str) and options.refit_alpha == "cv"
    asked = {
        "loss": loss.name != "squared",
        "whole_loss": not loss.is_additive,
        "folds": not isinstance(options.cv, str),
        "groups": problem.is_grouped,
        "direction": options.searched.name != "forward",
        "all_features": by_all or by_folds,
        "checkpoint": options.checkpoint is not None,
    }
    return [feature for feature, is_asked in asked.items() if is_asked]


def plan_of(
    problem: Problem,
    options: Options,
    groups: ArrayLike | None = None,
    labels: NDArray[Any] | None = None,
) -> Plan:
    """Return the plan of a search; `groups` are the criterion's.

    Threads are those over rows; a compiled search has none unless X is large.
    """
    plan = make_plan(
        problem,
        cv=options.cv,
        groups=groups,
        loss=options.criterion,
        labels=labels,
        strategy=options.search,
        block_rows=options.block_rows,
        n_jobs=options.n_jobs,
        direction=options.searched,
        cv_name=options.name("cv"),
    )
    m, n = problem.X.shape
    is_quick = m * n < _WORTH_THREADS and is_compiled(plan, problem)
    return replace(plan, n_jobs=1) if is_quick else plan


def _is_backward(plan: Plan) -> bool:
    return plan.direction.name == "backward"


def _spreads_searches(problem: Problem, plan: Plan) -> bool:
    """Return whether threads run searches in parallel, instead of working on blocks of rows.

    Searches on a file or device share what they read, and a user's function may not be thread-safe.
    """
    is_function = plan.loss.name.startswith("callable:")
    X = problem.X
    return X.is_in_memory and not X.location.on_device and not is_function


def _rival(problem: Problem, options: Options, labels: NDArray[Any] | None) -> Loss | None:
    """Return another loss to compare with for a classification with loss="auto"; else None."""
    if labels is None or not options.has_auto_loss:
        return None
    if not problem.X.is_in_memory and problem.X.device is None:
        return None  # it would cost a pass for every step of every fold
    return make_loss("zero_one")


def _limits(
    problem: Problem, plan: Plan, options: Options, outer: Folds | ClusterFolds | None
) -> Limits:
    """Return the limits of a search; it stops by its own loss only if the user asks for it."""
    size = options.size(problem)
    by_budget = size is None
    if size is None:
        size = min(problem.n_available, options.max_features or problem.n_available)
        size = check_n_features(size, problem, options.name("n_features"))
    elif isinstance(size, str):
        size = _largest_size(problem, options, _fewest_rows(problem, plan, outer))
    patience = options.patience
    if options.tol is not None and patience is None:
        patience = 1
    if _is_backward(plan):
        patience = None
    return Limits(size, patience, options.tolerance, by_budget=by_budget)


def _refit_rule(refit_alpha: Any, alpha: float | Float | str, rule: AlphaRule) -> Refit:
    """Return the rule for refitting; by default "loo" if the penalty is chosen for the search."""
    if refit_alpha is not None:
        return check_refit(refit_alpha)
    is_grid = isinstance(alpha, np.ndarray)
    return "loo" if isinstance(alpha, str) or (is_grid and rule == "nested") else "same"


def _largest_size(problem: Problem, options: Options, rows: int) -> int:
    """Return the largest size to try if it is automatic; `rows` is the number of training rows."""
    if problem.n_available == 0:
        raise ValueError("All features of X are excluded: there is nothing to choose from.")
    most = MOST_FEATURES if options.max_features is None else options.max_features
    if most < problem.n_forced and options.max_features is not None:
        raise ValueError(
            f"{options.name('max_features')}={most} is less than the {problem.n_forced} forced "
            f"{problem.unit}s."
        )
    return max(1, problem.n_forced, min(problem.n_available, most, rows - 1))


def _fewest_rows(problem: Problem, plan: Plan, outer: Folds | ClusterFolds | None) -> int:
    """Estimate the fewest rows of positive weight that any model is fitted to."""
    counted = problem.n_weighted
    fewest = counted
    if outer is not None:
        fewest = int(train_counts(problem, outer).min())
    if plan.folds is not None:
        # The share of an outer fold's rows on which a split of the criterion trains.
        fewest = int(fewest * (int(train_counts(problem, plan.folds).min()) / counted))
    return max(2, fewest)


class Selected(NamedTuple):
    """A path with the problem, plan and folds that it was made with."""

    path: SelectionPath
    problem: Problem
    plan: Plan
    outer: Folds | ClusterFolds | None  # the folds in which the penalty was chosen
    refit: Refit
    data: Data | None = None  # of the problem, if they can be reused
    n_jobs: int = 1  # threads over outer folds
    kept: KeptData | None = None  # what searches in the outer folds share

    @property
    def weights(self) -> Float:
        """The weights of rows (m), without class weights."""
        problem = self.problem
        classes = problem.class_weights
        row_weights = problem.host_weights if classes is None else classes.sample_weights
        return np.ones(problem.n_samples) if row_weights is None else row_weights

    @property
    def penalty(self) -> float:
        """The penalty of the model of the chosen size."""
        penalties, size = self.path.refit_alphas, self.path.chosen_size
        return self.path.settings.alpha if penalties is None else penalties[size - 1]


def make_selected(path: SelectionPath, request: Request, data: Data | None) -> Selected:
    """Return a path with its problem and folds, and the plan of the loss that was chosen."""
    plan, problem, rival = request.plan, request.problem, request.rival
    if rival is not None and path.settings.loss == rival.name:
        plan, problem = replace(plan, loss=rival), rival_problem(problem)
    return Selected(
        path, problem, plan, request.outer, request.refit, data, request.n_jobs, request.kept
    )


def rival_problem(problem: Problem) -> Problem:
    """Return the problem for searches by the rival loss."""
    return supported(problem, ["loss"])
