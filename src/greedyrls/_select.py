"""From a checked problem to a path: penalty, search, size, penalty of the model."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from ._all_features import all_features_losses
from ._alphas import MORE_PENALTIES, Refit, auto_grid, model_penalties, problem_scale
from ._blas import limits_threads
from ._checkpoint import Checkpoint
from ._cluster import ClusterMatrix
from ._curves import LooCurve
from ._device import DeviceMatrix
from ._direction import FORWARD
from ._files import FileMatrix
from ._fingerprint import identity_of
from ._fold_state import FoldData
from ._kernels import Float
from ._loo_data import LooData
from ._many_folds import ManyFoldData
from ._matrix import PassedMatrix, not_on_device
from ._namespace import to_host
from ._nested import Nested, chosen_of, joint_surface, nested_surface
from ._path import SelectionPath
from ._plan import Data, Plan, rows_for_refit
from ._problem import Problem
from ._request import Request
from ._run import exchange_path, search_path, search_paths
from ._size import SizeChoice, choose_size, fold_covariance
from ._steps import Counters, StopReason
from ._surface import AlphaSurface, best_pair, one_error_pair

# Penalty of the search by another loss, in the scale of the grid.
_RIVAL_PENALTY = 1e-2
# It is taken if it is better by this many standard errors over folds, and right on so many samples
# more: of few samples a lucky two or three would decide. With a whole standard error it was often
# refused where it is truly better (tried on 23 problems).
_CLEARLY = 0.5
_SAMPLES = 4


@limits_threads
def select(
    problem: Problem, plan: Plan, request: Request, data: Data | None = None
) -> SelectionPath:
    """The whole procedure; `data` are those of the problem, if they are there already."""
    began = time.perf_counter()
    if isinstance(problem.X, DeviceMatrix):
        _check_device(request)
    plan.prepare(problem, request.limits.size, request.watch.verbose)
    before = problem.X.passes if isinstance(problem.X, PassedMatrix) else 0
    checkpoint = None
    if request.checkpoint is not None:
        checkpoint = Checkpoint(request.checkpoint, identity_of(problem, plan, request))
        if checkpoint.path is not None:
            return checkpoint.path
    told = ""
    asked = plan
    if plan.direction.name == "swap" and request.is_automatic:
        # The size is chosen on the forward path; then the set of that size is exchanged.
        plan = replace(plan, direction=FORWARD)
    if isinstance(request.alpha, float):
        data = plan.data(problem) if data is None else data
        path = search_path(
            plan,
            data,
            request.alpha,
            request.limits,
            request.watch,
            first_pass=1,
            began=began,
            log=None if checkpoint is None else checkpoint.search(),
        )
    else:
        data = plan.data(problem, is_shared=True) if data is None else data
        path, plan, told = _search_with_chosen_penalty(
            problem, plan, data, request, began, checkpoint
        )
    path = with_refit(path, plan, data, request.refit)
    path = _with_size(path, plan, data, request)
    if asked.direction != plan.direction:
        path = _exchanged(path, replace(plan, direction=asked.direction), data, request)
    if told and path.size_choice is not None:
        sentence = f"{path.size_choice.sentence} {told}"
        path = replace(path, size_choice=replace(path.size_choice, sentence=sentence))
    counters = replace(path.counters, seconds=time.perf_counter() - began)
    if isinstance(problem.X, PassedMatrix):
        counters = replace(counters, passes=problem.X.passes - before)
    path = replace(path, counters=counters)
    if checkpoint is not None:
        checkpoint.finish(path)
    return path


def _check_device(request: Request) -> None:
    """What is not computed on a device yet."""
    if request.alpha_rule == "all_features" and not isinstance(request.alpha, float):
        raise not_on_device("alpha_rule='all_features'")
    if request.rival is not None:
        raise not_on_device(f"loss={request.rival.name!r}")
    if request.checkpoint is not None:
        raise not_on_device("A checkpoint")


def _search_with_chosen_penalty(
    problem: Problem,
    plan: Plan,
    data: Data,
    request: Request,
    began: float,
    checkpoint: Checkpoint | None,
) -> tuple[SelectionPath, Plan, str]:
    """Choose the penalty by the rule; the path of that penalty, with the surface.

    Also the plan that was followed, and a sentence where there was another.
    """
    alphas = _grid(data, request, checkpoint)
    size = None if request.is_automatic else request.limits.size
    if request.alpha_rule == "joint":
        return _joint(plan, data, alphas, request, size, checkpoint), plan, ""
    limits, counters, told = request.limits, Counters(), ""
    if request.alpha_rule == "all_features":
        surface, counters = _all_features(problem, plan, data, alphas, checkpoint)
    else:
        plan, surface, counters, told = _nested(plan, data, alphas, request, size, checkpoint)
        # The path must reach the size that was chosen, however its own loss goes.
        limits = replace(limits, least=max(limits.least, surface.size))
    path = search_path(
        plan,
        data,
        surface.alpha,
        limits,
        request.watch,
        first_pass=1,
        began=began,
        log=None if checkpoint is None else checkpoint.search(),
    )
    return replace(path, surface=surface, counters=path.counters + counters), plan, told


def _nested(
    plan: Plan,
    data: Data,
    alphas: Float,
    request: Request,
    size: int | None,
    checkpoint: Checkpoint | None,
) -> tuple[Plan, AlphaSurface, Counters, str]:
    """The outer folds' choice: of the penalty, and of the loss to select by if there are two."""

    def nested(plan: Plan, alphas: Float, stages: tuple[int, ...], least: int = 0) -> Nested:
        assert request.outer is not None
        return nested_surface(
            plan,
            data,
            alphas,
            replace(request.limits, least=max(least, request.limits.least)),
            request.outer,
            request.refit,
            size,
            request.size_rule,
            request.watch.verbose,
            request.rival,
            None if checkpoint is None else lambda turn: checkpoint.stage(stages[turn]),
            len(stages) - 1,
        )

    # Records in a checkpoint: the grid, another loss, penalties beyond the grid.
    first = nested(plan, alphas, (0, *range(2, 2 + _more_penalties(request))))
    if request.rival is None:
        return plan, first.surface, first.counters, ""
    # A single penalty: the best of several would look good by chance.
    wanted = _RIVAL_PENALTY * problem_scale(data.problem, _diagonal(data))
    alphas = first.surface.alphas
    nearest = alphas[[int(np.argmin(np.abs(np.log(alphas / wanted))))]]
    other_plan = replace(plan, loss=request.rival)
    second = nested(other_plan, nearest, (1,), first.surface.size)
    counters = first.counters + second.counters
    count = data.problem.n_weighted
    is_better, told = _compare(first, second, request.rival.name, count)
    if data.problem.class_weights is not None:
        told = told.replace("the error rate", "the error rate (classes weighted)")
    if is_better:
        return other_plan, second.surface, counters, told
    return plan, first.surface, counters, told


def _compare(first: Nested, second: Nested, name: str, n_samples: int) -> tuple[bool, str]:
    """Whether the second is clearly better, at the size of the first.

    Both in the measure of the second, paired over folds.
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
    which = f"loss {name!r} rather than the squared one" if is_better else "squared loss"
    return is_better, (
        f"Selected by {which}: in the outer folds the error rate with {size} "
        f"feature{'s' * (size != 1)} is {shares @ other:.4g} by {name!r} and {shares @ one:.4g} by "
        f"squared loss (standard error of the difference {error:.2g})."
    )


def _grid(data: Data, request: Request, checkpoint: Checkpoint | None) -> Float:
    if isinstance(request.alpha, np.ndarray):
        return request.alpha
    if checkpoint is not None and checkpoint.alphas is not None:
        return checkpoint.alphas  # with other threads, sums may end in another digit
    # With all features more penalties cost next to nothing: there is no need to add them later.
    n_more = _more_penalties(request) if request.alpha_rule == "all_features" else 0
    alphas = auto_grid(problem_scale(data.problem, _diagonal(data)), n_more)
    if checkpoint is not None:
        checkpoint.keep_alphas(alphas)
    return alphas


def _more_penalties(request: Request) -> int:
    """How many may be tried beyond the grid: a list of the user's is all there is."""
    return MORE_PENALTIES if isinstance(request.alpha, str) else 0


def _diagonal(data: Data) -> Float:
    """‖x_i‖² about the means, of all rows, (n)."""
    if isinstance(data, LooData):
        (diagonal,) = to_host(data.start.diagonal)
        return diagonal
    total = data.total
    if not data.problem.fit_intercept:
        return total.xx
    return np.maximum(total.xx - total.x**2 / total.weight, 0.0)


def _joint(
    plan: Plan,
    data: Data,
    alphas: Float,
    request: Request,
    size: int | None,
    checkpoint: Checkpoint | None,
) -> SelectionPath:
    """The paths of all penalties; the one whose own loss is the smallest."""
    paths: list[SelectionPath] = []
    for _ in range(1 + _more_penalties(request)):
        paths += search_paths(
            plan, data, alphas, request.limits, request.watch, checkpoint, len(paths)
        )
        paths.sort(key=lambda path: path.settings.alpha)
        surface = joint_surface(paths, request.limits.size, size, data.problem.n_forced)
        if surface.beyond is None or any(path.interrupted for path in paths):
            break
        alphas = np.array([surface.beyond])
    total = sum((path.counters for path in paths), Counters())
    chosen = replace(paths[surface.row], surface=surface, counters=total)
    if any(path.interrupted for path in paths):
        # Then other penalties were not tried, or not to the end.
        chosen = replace(chosen, stop_reason=StopReason.INTERRUPTED)
    return chosen


def _all_features(
    problem: Problem, plan: Plan, data: Data, alphas: Float, checkpoint: Checkpoint | None
) -> tuple[AlphaSurface, Counters]:
    """The paper's rule."""
    if isinstance(problem.X, FileMatrix | ClusterMatrix):
        where = "in a file" if isinstance(problem.X, FileMatrix) else "on a cluster"
        raise ValueError(
            f"alpha_rule='all_features' needs all features at once, and X is {where}; pass a "
            "number for alpha, or use alpha_rule='nested' or 'joint'."
        )
    if checkpoint is not None and checkpoint.all_features is not None:
        return _all_features_surface(alphas, checkpoint.all_features), Counters()
    loo_data = data if isinstance(data, LooData) else LooData(problem)
    before = 0 if loo_data is not data else loo_data.samples.passes
    losses = all_features_losses(loo_data, alphas, plan.loss)
    if checkpoint is not None:
        checkpoint.keep_all_features(losses)
    passes = loo_data.samples.passes - before
    return _all_features_surface(alphas, losses), Counters(passes=passes)


def _all_features_surface(alphas: Float, losses: Float) -> AlphaSurface:
    """A single column of losses (A)."""
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
    """The path with the penalty of the model at each size."""
    path = replace(path, settings=replace(path.settings, refit_alpha=refit))
    if refit == "same":
        return path
    rows = rows_for_refit(refit, plan, data)
    penalties = model_penalties(
        refit, path.settings.alpha, rows, chosen_of(path), plan.loss, is_fine=True
    )
    return replace(path, refit_alphas=tuple(penalties.tolist()))


def _with_size(path: SelectionPath, plan: Plan, data: Data, request: Request) -> SelectionPath:
    """The path with the size chosen by the rule, and why."""
    if not request.is_automatic:
        return replace(path, size_choice=_given_size(path, data.problem.unit))
    stopped = path.stop_reason.sentence
    if path.stop_reason is StopReason.REACHED:
        stopped = f"The search ended with the largest size tried, {len(path)}."
    forced = data.problem.n_forced
    if path.surface is not None and path.surface.rule == "nested":
        unit = data.problem.unit
        choice = _nested_size(path, path.surface, forced, request, stopped, unit)
    else:
        covariance = _covariance(path, plan, data) if request.size_rule == "1se" else None
        choice = choose_size(
            request.size_rule,
            path.losses,
            covariance,
            forced,
            plan.measure,
            stopped,
            data.problem.unit,
        )
    if choice.size == request.limits.size and request.is_capped:
        hint = f"{choice.sentence} More features may do better (max_features)."
        choice = replace(choice, sentence=hint)
    return replace(path, size_choice=choice)


def _exchanged(path: SelectionPath, plan: Plan, data: Data, request: Request) -> SelectionPath:
    """The path whose set of the chosen size was exchanged for a better one, with its penalties."""
    choice, size = path.size_choice, path.chosen_size
    assert choice is not None
    if path.stop_reason in (StopReason.INTERRUPTED, StopReason.CALLBACK):
        # Who has asked to stop does not want to wait for exchanges.
        settings = replace(path.settings, direction=plan.direction.name)
        return replace(path, settings=settings)
    found = exchange_path(plan, data, path, size, request.watch)
    found = with_refit(found, plan, data, request.refit)
    before, after = float(path.losses[size - 1]), float(found.losses[size - 1])
    told = [choice.sentence]
    is_whole = found.stop_reason is path.stop_reason
    if after < before:
        moved = f"from {before:.6g} to {after:.6g}."
        told.append(f"Exchanges of features took its {plan.measure} {moved}")
    elif is_whole:
        told.append("No exchange of one of them for another feature lowers the loss.")
    if not is_whole:
        told.append(found.stop_reason.sentence)
    return replace(found, size_choice=replace(choice, sentence=" ".join(told)))


def _given_size(path: SelectionPath, unit: str) -> SizeChoice:
    count = f"{len(path)} {unit}{'' if len(path) == 1 else 's'}"
    if path.stop_reason in (StopReason.REACHED, StopReason.EXHAUSTED):
        return SizeChoice(len(path), "given", f"{count}, as asked.")
    return SizeChoice(len(path), "given", f"{count}. {path.stop_reason.sentence}")


def _nested_size(
    path: SelectionPath,
    surface: AlphaSurface,
    forced: int,
    request: Request,
    stopped: str,
    unit: str,
) -> SizeChoice:
    """The size that was chosen together with the penalty."""
    size = min(surface.size, len(path))
    measure = f"held-out loss of the outer folds, {surface.losses[surface.row, size - 1]:.6g}"
    count = f"{size} {unit}{'' if size == 1 else 's'}"
    best_row, best_size = best_pair(surface.losses, forced)
    is_best = (surface.row, surface.size) == (best_row, best_size)
    if request.size_rule == "min" or is_best:
        why = f"the smallest {measure}"
        if request.size_rule == "1se":
            why += "; no smaller size is within one standard error of the difference"
    else:
        assert surface.fold_losses is not None
        assert surface.fold_shares is not None
        pair = one_error_pair(surface.losses, surface.fold_losses, surface.fold_shares, forced)
        error = np.nan if pair is None else pair[2]
        why = (
            f"the fewest whose {measure}, is within one standard error of the difference "
            f"({error:.6g}) of the smallest, {surface.losses[best_row, best_size - 1]:.6g} at "
            f"{best_size} {unit}s with alpha={surface.alphas[best_row]:.4g}"
        )
    sentence = f"{count} chosen by rule '{request.size_rule}': {why}. {stopped}"
    return SizeChoice(size, request.size_rule, sentence)


def _covariance(path: SelectionPath, plan: Plan, data: Data) -> Float | None:
    """Of the losses of all sizes, from samples or splits."""
    fold_losses = path.fold_losses
    if fold_losses is not None and isinstance(data, FoldData | ManyFoldData):
        return fold_covariance(fold_losses, data.fold_shares)
    assert isinstance(data, LooData)
    curve = LooCurve(data.samples, data.problem, chosen_of(path), plan.loss)
    return curve.covariance(path.settings.alpha)
