"""From a checked problem to a path: penalty, search, size, penalty of the model."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._base import Float, column, counted, limits_threads, number, plural, to_host
from .._criteria import FoldData, LooCurve, LooData, ManyFoldData
from .._data import NO_ARRAYS, WholeArrays, passes_over
from .._search import (
    NOTHING_KNOWN,
    Checkpoint,
    Data,
    Limits,
    Plan,
    Setup,
    exchange_path,
    rows_for_refit,
    search_path,
    search_paths,
)
from ..path import (
    FORWARD,
    AlphaSurface,
    Counters,
    Pair,
    SelectionPath,
    SizeChoice,
    StopReason,
    best_pair,
    choose_size,
    fold_covariance,
    known_digits,
)
from ._all_features import all_features_arrays, all_features_losses
from ._alphas import MORE_PENALTIES, Refit, auto_grid, model_penalties, problem_scale
from ._fingerprint import identity_of
from ._joint import joint_surface
from ._nested import Nested, Task, nested_surface
from ._outer_fold import chosen_of
from ._request import Request, Selected, make_selected, rival_problem

# Penalty of the search by another loss, in units of the scale of the grid.
_RIVAL_PENALTY = 1e-2
# That loss is used if it is better by this many standard errors over folds, and right on more than
# so many further samples: with few samples two or three would decide by chance. With a whole
# standard error it was often rejected although it is better (tried on 23 problems).
_CLEARLY = 0.5
_SAMPLES = 4
# The optimism is 2 to 4 % with 200 samples of 100 features, up to 9 % with 60 of 300
# (benchmarks/suites/claims.py).
_OPTIMISTIC = "As the best of many losses it is somewhat optimistic; assess gives one that is not."


@limits_threads
def select(request: Request, data: Data | None = None) -> Selected:
    """Run the whole selection; `data` are those of the problem, if they can be reused."""
    began = time.perf_counter()
    # Requests for parts of the same rows are made of each other.
    request = replace(request, kept={})
    problem, plan = request.problem, request.plan
    plan.prepare(problem, request.limits.size, request.options.verbose, _whole_arrays(request))
    before = passes_over(problem.X)
    checkpoint = None
    if request.checkpoint is not None:
        checkpoint = Checkpoint(request.checkpoint, identity_of(request))
        if checkpoint.path is not None:
            return make_selected(checkpoint.path, request, data)
    requested = plan
    if plan.direction.name == "swap" and request.is_automatic:
        # The size is chosen on the forward path; then the set of that size is exchanged.
        plan = replace(plan, direction=FORWARD)
    data = plan.data(problem, is_shared=request.searches_often) if data is None else data
    path, choice = _search(_Job(request, plan, data, checkpoint), began)
    plan, data, explanation = choice.job.plan, choice.job.data, choice.explanation
    if request.report is not None:
        request.report(len(path.steps))
    path = with_refit(path, plan, data, request.refit)
    path = _with_size(path, choice.pair, plan, data, request)
    if requested.direction != plan.direction:
        path = _exchanged(path, replace(plan, direction=requested.direction), data, request)
    if explanation and path.size_choice is not None:
        sentence = f"{path.size_choice.sentence} {explanation}"
        path = replace(path, size_choice=replace(path.size_choice, sentence=sentence))
    counters = replace(path.counters, seconds=time.perf_counter() - began)
    if problem.X.passes_dominate:
        counters = replace(counters, passes=passes_over(problem.X) - before)
    path = replace(path, counters=counters)
    if checkpoint is not None:
        checkpoint.finish(path)
    return make_selected(path, request, None if problem.X.passes_dominate else data)


def _whole_arrays(request: Request) -> WholeArrays:
    """Return what the rules for penalties need at once."""
    whole, problem = NO_ARRAYS, request.problem
    if request.alpha_rule == "all_features" and not isinstance(request.alpha, float):
        whole = all_features_arrays(problem, request.n_penalties + 2 * _more_penalties(request))
    if request.refit == "cv":
        # Columns of the chosen features with all folds left out, and their inverses.
        n_bytes = 16 * problem.n_samples * problem.n_columns(request.limits.size)
        whole = max(whole, WholeArrays(n_bytes, "refit_alpha='cv'", "use refit_alpha='loo'"))
    return whole


class _Job(NamedTuple):
    """A selection under way."""

    request: Request
    plan: Plan  # of the request, or the same with another loss
    data: Data
    checkpoint: Checkpoint | None

    def nested(self, alphas: Float, stages: tuple[int, ...] = (0,), least: int = 0) -> Nested:
        """Repeat the search in outer folds; `least` is a size that must be reached.

        `stages` are the records in a checkpoint: of these penalties, and of those beyond.
        """
        limits, checkpoint = self.request.outer_limits, self.checkpoint
        limits = replace(limits, least=max(least, limits.least))
        log = None if checkpoint is None else lambda turn: checkpoint.stage(stages[turn])
        task = Task(self.request, self.plan, self.data, limits)
        return nested_surface(task, alphas, log, len(stages) - 1)


class _Choice(NamedTuple):
    """How penalty, size and loss were chosen."""

    job: _Job  # with the plan that was used
    surface: AlphaSurface | None = None
    counters: Counters = Counters()
    pair: Pair | None = None  # the choice of the size by held-out losses
    explanation: str = ""  # of the choice between two losses


def _search(job: _Job, began: float) -> tuple[SelectionPath, _Choice]:
    """Choose the penalty by the rule and the size by held-out losses, and search the path."""
    request, choice, size_surface, number = job.request, _Choice(job), None, 0
    if not isinstance(request.alpha, float):
        alphas = _grid(job)
        if request.alpha_rule == "nested":
            choice = _nested(job, alphas)
        elif request.alpha_rule == "joint":
            joint = _joint(job, alphas)
            if not request.is_automatic or request.outer is None or joint.interrupted:
                return joint, choice
            assert joint.surface is not None
            choice = _Choice(job, joint.surface, joint.counters)
            number = len(joint.surface.alphas)  # one more search, after those of all penalties
        else:
            choice = _all_features(job, alphas)
    surface, limits = choice.surface, request.limits
    alpha = request.alpha if surface is None else surface.alpha
    assert isinstance(alpha, float)
    if surface is not None and surface.rule == "nested":
        limits = _limits_after(request, surface)
    elif request.is_automatic and request.outer is not None:
        nested = job.nested(np.array([alpha]))
        size_surface, counters = nested.surface, choice.counters + nested.counters
        choice = choice._replace(pair=nested.pair, counters=counters)
        limits = _limits_after(request, size_surface)
    log = NOTHING_KNOWN if job.checkpoint is None else job.checkpoint.search(number)
    setup = Setup(choice.job.plan, choice.job.data, limits, request.options.watch)
    path = search_path(setup, alpha, 1, began, log)
    counters = path.counters + choice.counters
    return replace(path, surface=surface, size_surface=size_surface, counters=counters), choice


def _limits_after(request: Request, surface: AlphaSurface) -> Limits:
    """Return the limits of the search on all rows, after that in the outer folds."""
    limits = request.outer_limits
    # The path must reach the chosen size, even if its own loss increases.
    least = max(limits.least, request.limits.least, surface.size)
    size = limits.size
    if request.is_automatic:
        size = min(size, max(least, surface.losses.shape[1]))
    return replace(limits, size=size, least=least)


def _nested(job: _Job, alphas: Float) -> _Choice:
    """Choose the penalty in outer folds, and the loss to select by if there are two."""
    request, plan, data = job.request, job.plan, job.data
    # Records in a checkpoint: the grid, another loss, penalties beyond the grid.
    first = job.nested(alphas, (0, *range(2, 2 + _more_penalties(request))))
    choice = _Choice(job, first.surface, first.counters, first.pair)
    if request.rival is None or first.surface.size == 0:
        return choice
    # A single penalty: the best of several would look good by chance.
    wanted = _RIVAL_PENALTY * problem_scale(data.problem, _diagonal(data))
    alphas = first.surface.alphas
    nearest = alphas[[int(np.argmin(np.abs(np.log(alphas / wanted))))]]
    other = job._replace(plan=replace(plan, loss=request.rival))
    if (problem := rival_problem(data.problem)) is not data.problem:
        other = other._replace(data=other.plan.data(problem, is_shared=True))
    second = other.nested(nearest, (1,), first.surface.size)
    count = data.problem.n_weighted
    is_better, explanation = _compare(first, second, request.rival.name, count)
    if data.problem.class_weights is not None:
        explanation = explanation.replace("the error rate", "the error rate (classes weighted)")
    if is_better and second.surface.size > 0:
        choice = _Choice(other, second.surface, first.counters, second.pair)
    return choice._replace(counters=choice.counters + second.counters, explanation=explanation)


def _compare(first: Nested, second: Nested, name: str, n_samples: int) -> tuple[bool, str]:
    """Return whether the second is clearly better, at the size of the first, and a sentence.

    Both are measured by the loss of the second, paired over folds.
    """
    assert first.measured is not None
    assert second.measured is not None
    assert first.surface.fold_shares is not None
    size = min(first.surface.size, second.measured.shape[2])
    one = first.measured[:, first.surface.row, size - 1]
    other = second.measured[:, 0, size - 1]
    shares = first.surface.fold_shares
    gain = float(shares @ (one - other))
    covariance = fold_covariance((one - other)[None], shares)
    error = np.inf if covariance is None else float(np.sqrt(max(0.0, covariance[0, 0])))
    is_better = gain > _CLEARLY * error and gain * n_samples > _SAMPLES
    # It must also beat a constant prediction of the most frequent class.
    guessing = second.surface.initial_loss
    if guessing is not None:
        is_better = is_better and (guessing - float(shares @ other)) * n_samples > _SAMPLES
    rates = column([float(shares @ other), float(shares @ one)])
    which = f"loss {name!r} rather than the squared one" if is_better else "squared loss"
    return is_better, (
        f"Selected by {which}: in the outer folds the error rate with {counted(size, 'feature')} "
        f"is {rates[0]} by {name!r} and {rates[1]} by squared loss (standard error of the "
        f"difference {number(error, 2)})."
    )


def _grid(job: _Job) -> Float:
    request, problem, checkpoint = job.request, job.data.problem, job.checkpoint
    if isinstance(request.alpha, np.ndarray):
        return request.alpha
    if checkpoint is not None and checkpoint.content.alphas is not None:
        return checkpoint.content.alphas  # with other threads, sums may differ in the last digit
    # With all features more penalties cost next to nothing: try them from the start.
    n_more = _more_penalties(request) if request.alpha_rule == "all_features" else 0
    alphas = auto_grid(problem_scale(problem, _diagonal(job.data)), n_more)
    if checkpoint is not None:
        checkpoint.keep(alphas=alphas)
    return alphas


def _more_penalties(request: Request) -> int:
    """Return how many penalties may be tried beyond the grid: none beyond a user's list."""
    return MORE_PENALTIES if isinstance(request.alpha, str) else 0


def _diagonal(data: Data) -> Float:
    """Return ‖x_i‖² about the means of all rows, (n)."""
    (diagonal,) = to_host(data.start.diagonal)
    return diagonal


def _joint(job: _Job, alphas: Float) -> SelectionPath:
    """Search the paths of all penalties; returns the one whose loss is the smallest."""
    request, plan, data, checkpoint = job
    paths: list[SelectionPath] = []
    setup = Setup(plan, data, request.limits, request.options.watch)
    size = None if request.is_automatic else request.limits.size
    for _ in range(1 + _more_penalties(request)):
        paths += search_paths(setup, alphas, checkpoint, len(paths), request.n_jobs)
        paths.sort(key=lambda path: path.settings.alpha)
        surface = joint_surface(paths, request.limits.size, size, data.problem.n_forced)
        if surface.beyond is None or any(path.interrupted for path in paths):
            break
        alphas = np.array([surface.beyond])
    total = sum((path.counters for path in paths), Counters())
    chosen = replace(paths[surface.row], surface=surface, counters=total)
    if any(path.interrupted for path in paths):
        # Other penalties were not tried, or not to the end.
        chosen = replace(chosen, stop_reason=StopReason.INTERRUPTED)
    return chosen


def _all_features(job: _Job, alphas: Float) -> _Choice:
    """Choose the penalty by the loss with all features, the rule of the paper."""
    _, plan, data, checkpoint = job
    if checkpoint is not None and checkpoint.content.all_features is not None:
        return _Choice(job, _all_features_surface(alphas, checkpoint.content.all_features))
    loo_data = data if isinstance(data, LooData) else LooData(data.problem)
    before = 0 if loo_data is not data else loo_data.samples.passes
    losses = all_features_losses(loo_data, alphas, plan.loss)
    if checkpoint is not None:
        checkpoint.keep(all_features=losses)
    passes = loo_data.samples.passes - before
    return _Choice(job, _all_features_surface(alphas, losses), Counters(passes=passes))


def _all_features_surface(alphas: Float, losses: Float) -> AlphaSurface:
    """Return a surface with a single column of losses (A)."""
    row, _ = best_pair(losses[:, None], 1)
    return AlphaSurface(
        "all_features",
        alphas,
        losses[:, None],
        np.full((len(alphas), 1), np.nan),
        None,
        None,
        "",
        float(alphas[row]),
        0,
    )


def with_refit(path: SelectionPath, plan: Plan, data: Data, refit: Refit) -> SelectionPath:
    """Return the path with the penalty of the model at each size."""
    path = replace(path, settings=replace(path.settings, refit_alpha=refit))
    if refit == "same":
        return path
    rows = rows_for_refit(refit, plan, data)
    penalties = model_penalties(
        refit, path.settings.alpha, rows, chosen_of(path), plan.loss, is_fine=True
    )
    return replace(path, refit_alphas=tuple(penalties.tolist()))


def _with_size(
    path: SelectionPath, pair: Pair | None, plan: Plan, data: Data, request: Request
) -> SelectionPath:
    """Return the path with the size chosen by the rule, and the reason."""
    if not request.is_automatic:
        return replace(path, size_choice=_requested_size(path, data.problem.unit))
    stopped, unit = path.stop_reason.sentence, data.problem.unit
    if path.stop_reason is StopReason.REACHED:
        stopped = f"The search ended with the largest size tried, {len(path)}."
    if pair is not None:
        choice = _nested_size(path, pair, request, stopped, unit)
    else:
        covariance = _covariance(path, plan, data) if request.size_rule == "1se" else None
        choice = choose_size(
            request.size_rule,
            path.losses,
            covariance,
            data.problem.n_forced,
            plan.measure,
            stopped,
            unit,
            path.initial_loss,
        )
    if choice.size == request.limits.size and request.is_capped:
        most = request.options.name("max_features")
        hint = f"{choice.sentence} More {plural(unit)} may do better ({most})."
        choice = replace(choice, sentence=hint)
    return replace(path, size_choice=choice)


def _exchanged(path: SelectionPath, plan: Plan, data: Data, request: Request) -> SelectionPath:
    """Improve the set of the chosen size by exchanges; returns the path with its penalties."""
    choice, size = path.size_choice, path.chosen_size
    assert choice is not None
    if size == 0 or path.stop_reason in (StopReason.INTERRUPTED, StopReason.CALLBACK):
        # If the set is empty or the user asked to stop, skip the exchange phase.
        settings = replace(path.settings, direction=plan.direction.name)
        return replace(path, settings=settings)
    exchanged = exchange_path(plan, data, path, size, request.options.watch)
    exchanged = with_refit(exchanged, plan, data, request.refit)
    before, after = float(path.losses[size - 1]), float(exchanged.losses[size - 1])
    sentences = [choice.sentence]
    is_whole = exchanged.stop_reason is path.stop_reason
    if after < before:
        moved = f"from {number(before, 6)} to {number(after, 6)}."
        sentences.append(f"Exchanges of features took its {plan.measure} {moved}")
    elif is_whole:
        sentences.append("No exchange of one of them for another feature lowers the loss.")
    if not is_whole:
        sentences.append(exchanged.stop_reason.sentence)
    return replace(exchanged, size_choice=replace(choice, sentence=" ".join(sentences)))


def _requested_size(path: SelectionPath, unit: str) -> SizeChoice:
    count = counted(len(path), unit)
    if path.stop_reason in (StopReason.REACHED, StopReason.EXHAUSTED):
        return SizeChoice(len(path), "given", f"{count}, as asked.")
    return SizeChoice(len(path), "given", f"{count}. {path.stop_reason.sentence}")


def _nested_size(
    path: SelectionPath, pair: Pair, request: Request, stopped: str, unit: str
) -> SizeChoice:
    """Return the size chosen by held-out losses, with a sentence that explains it."""
    surface = path.surface if path.size_surface is None else path.size_surface
    assert surface is not None
    size = min(pair.size, len(path))

    def sized(size: int) -> str:
        return counted(size, unit) if size else f"no {plural(unit)}"

    def loss(size: int) -> str:
        value = surface.initial_loss if size == 0 else surface.losses[pair.row, size - 1]
        return number(value, known_digits(value or 0.0, surface.initial_loss))

    measure = f"held-out loss of the outer folds, {loss(size)}"
    if request.size_rule == "min" or pair.size == pair.best_size:
        why = f"the smallest {measure}"
        if request.size_rule == "1se" and pair.size > 0:
            why += "; no smaller size is within one standard error of the difference"
    else:
        why = (
            f"the fewest whose {measure}, is within one standard error of the difference "
            f"({number(pair.error, 6)}) of the smallest, {loss(pair.best_size)} at "
            f"{sized(pair.best_size)}"
        )
    sentence = f"{sized(size)} chosen by rule '{request.size_rule}': {why}. {_OPTIMISTIC} {stopped}"
    return SizeChoice(size, request.size_rule, sentence[0].upper() + sentence[1:])


def _covariance(path: SelectionPath, plan: Plan, data: Data) -> Float | None:
    """Return the covariance of the losses of all sizes, from samples or splits."""
    fold_losses = path.fold_losses
    if fold_losses is not None and isinstance(data, FoldData | ManyFoldData):
        return fold_covariance(fold_losses, data.fold_shares)
    assert isinstance(data, LooData)
    curve = LooCurve(data.samples, data.problem, chosen_of(path), plan.loss)
    return curve.covariance(path.settings.alpha)
