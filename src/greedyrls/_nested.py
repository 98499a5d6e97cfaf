"""The penalty that selects: losses by penalty and size, honest or optimistic.

Nested: in each outer fold the selection is made anew on the training rows for every penalty, and
the models of all sizes predict the held-out rows. Gram columns serve all folds and penalties.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ._alphas import Refit, model_penalties
from ._checkpoint import FoldLog
from ._chosen import Chosen, chains_of
from ._cluster import ClusterMatrix
from ._cluster_folds import ClusterFolds
from ._crew import ask
from ._curves import StratumSums, held_out_losses
from ._device import DeviceMatrix
from ._folds import Folds
from ._kernel_matrix import KernelMatrix
from ._kernels import Float
from ._loo_data import LooData
from ._losses import Loss
from ._matrix import part, place_of
from ._namespace import numbers_on, take, take_rows, to_device
from ._path import SelectionPath
from ._plan import Data, Plan, check_loss, positive_rows, rows_for_refit
from ._problem import Problem
from ._progress import progress_bar
from ._row_order import Split
from ._run import Limits, search_paths
from ._shared_gram import share_columns
from ._size import SizeRule, fold_covariance
from ._steps import Counters
from ._surface import AlphaSurface, best_pair, one_error_pair


def chosen_of(path: SelectionPath) -> Chosen:
    """The features of a path and their moments."""
    moments = path.moments
    sets = [known.features for known in path.sets]
    return Chosen(
        moments.features,
        moments.gram,
        moments.correlation,
        moments.feature_means,
        moments.target_means,
        chains_of(sets, moments.features),
        moments.penalty,
    )


class Nested(NamedTuple):
    """What outer folds say of penalties and sizes."""

    surface: AlphaSurface
    measured: Float | None  # (F × A × k) the held-out losses in another measure
    counters: Counters


def nested_surface(
    plan: Plan,
    data: Data,
    alphas: Float,
    limits: Limits,
    outer: Folds | ClusterFolds,
    refit: Refit,
    size: int | None,
    size_rule: SizeRule,
    verbose: int = 0,
    measure: Loss | None = None,
    log: Callable[[int], FoldLog] | None = None,
    n_more: int = 0,
) -> Nested:
    """The held-out surface; the pair is chosen on all sizes by the rule, or at one size.

    `data` has all rows. Losses in another measure are returned as well, if one is given. While the
    best penalty is the first or last one, the next one beyond is tried, `n_more` times at most.
    `log` has a record for the grid (0) and for each penalty beyond; folds that it knows are not
    made again.
    """
    check_loss(plan.loss, data.problem, outer)
    found = _Losses.of(plan, data, alphas, limits, outer, refit, verbose, measure, _record(log, 0))
    surface = _outer_surface(data.problem, outer, alphas, found.losses, size, size_rule)
    for turn in range(1, n_more + 1):
        if (alpha := surface.beyond) is None:
            break
        one, known = np.array([alpha]), _record(log, turn)
        more = _Losses.of(plan, data, one, limits, outer, refit, verbose, measure, known)
        place = int(np.searchsorted(alphas, alpha))
        alphas, found = np.insert(alphas, place, alpha), found.with_row(place, more)
        surface = _outer_surface(data.problem, outer, alphas, found.losses, size, size_rule)
    return Nested(surface, found.measured, found.counters)


def _record(log: Callable[[int], FoldLog] | None, number: int) -> FoldLog | None:
    return None if log is None else log(number)


class _Losses(NamedTuple):
    """What outer folds say of penalties and sizes."""

    losses: Float  # (F × A × k)
    measured: Float | None  # (F × A × k) in another measure
    counters: Counters

    def with_row(self, place: int, more: _Losses) -> _Losses:
        """With those of one penalty more."""
        measured = self.measured
        if measured is not None and more.measured is not None:
            measured = np.insert(measured, place, more.measured[:, 0], axis=1)
        losses = np.insert(self.losses, place, more.losses[:, 0], axis=1)
        return _Losses(losses, measured, self.counters + more.counters)

    @staticmethod
    def of(
        plan: Plan,
        data: Data,
        alphas: Float,
        limits: Limits,
        outer: Folds | ClusterFolds,
        refit: Refit,
        verbose: int,
        measure: Loss | None,
        log: FoldLog | None,
    ) -> _Losses:
        """A selection for each penalty in each outer fold."""
        problem = data.problem
        shape = (outer.n_splits, len(alphas), limits.size)
        fold_losses = np.full(shape, np.nan)
        measured = None if measure is None else np.full(shape, np.nan)
        counters, before = Counters(), data.passes
        total = outer.n_splits * len(alphas)
        with closing(progress_bar(verbose, total, what="nested")) as bar:
            for place in range(outer.n_splits):
                known = None if log is None else log.known(place, shape[1:], measure is not None)
                if known is not None:
                    fold_losses[place] = known.losses
                    if measured is not None:
                        measured[place] = known.measured
                    for _ in alphas:
                        bar.update(None)
                    continue
                fold = _OuterFold(problem, plan, data, outer, place, refit)
                for row, path in enumerate(fold.paths(alphas, limits)):
                    losses = fold.losses(path)
                    fold_losses[place, row, : len(losses)] = losses
                    if measure is not None and measured is not None:
                        measured[place, row, : len(losses)] = fold.losses(path, measure)
                    counters += path.counters
                    bar.update(float(losses[-1]))
                del fold  # before the next one takes its memory
                if log is not None:
                    log.keep(fold_losses[place], None if measured is None else measured[place])
        counters += Counters(passes=data.passes - before)
        return _Losses(fold_losses, measured, counters)


def _outer_surface(
    problem: Problem,
    outer: Folds | ClusterFolds,
    alphas: Float,
    fold_losses: Float,
    size: int | None,
    size_rule: SizeRule,
) -> AlphaSurface:
    """What the losses of outer folds (F × A × k) come to, and the pair chosen."""
    if isinstance(outer, ClusterFolds):
        shares = outer.weights / outer.weights.sum()
    else:
        shares = np.array([_tested_weights(problem, split).sum() for split in outer.splits])
        shares /= shares.sum()
    losses = np.einsum("f,fak->ak", shares, fold_losses)
    errors = np.full_like(losses, np.nan)
    for row in range(len(alphas)):
        covariance = fold_covariance(fold_losses[:, row].T, shares)
        if covariance is not None:
            errors[row] = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    row, chosen = pair_at(losses, size, problem.n_forced)
    if size is None and size_rule == "1se":
        pair = one_error_pair(losses, fold_losses, shares, problem.n_forced)
        if pair is None:
            raise ValueError(
                "size_rule='1se' needs standard errors, which there are none of for a single outer "
                "fold; use size_rule='min', or other outer folds (alpha_cv)."
            )
        row, chosen, _ = pair
    return AlphaSurface(
        "nested",
        alphas,
        losses,
        errors,
        fold_losses,
        shares,
        outer.description,
        float(alphas[row]),
        chosen,
    )


def pair_at(losses: Float, size: int | None, least: int) -> tuple[int, int]:
    """Row and size of the smallest loss, over all sizes or at one.

    Where every path ended before the size asked for, the last size that one reached counts.
    """
    if size is None:
        return best_pair(losses, least)
    reached = np.flatnonzero(np.isfinite(losses).any(axis=0))
    if len(reached) == 0:
        raise ValueError("No penalty gave a finite loss; use larger values of alpha.")
    last = min(size, int(reached[-1]) + 1)
    return best_pair(losses[:, :last], last)


class _OuterFold:
    """The training rows of an outer fold: the others have lost their weight."""

    def __init__(
        self,
        problem: Problem,
        plan: Plan,
        whole: Data,
        outer: Folds | ClusterFolds,
        place: int,
        refit: Refit,
    ) -> None:
        self._whole = problem
        self._outer = outer
        self._place = place
        self._problem = training_part(problem, outer, place)
        self._plan = plan.within(self._problem)
        self._data: Data = self._plan.data(self._problem, is_shared=True)
        if isinstance(whole, LooData) and isinstance(self._data, LooData):
            share_columns(whole, self._data)
        self._refit = refit
        self._rows = rows_for_refit(refit, self._plan, self._data)
        self._known: dict[tuple[object, ...], Float] = {}
        self._penalties: dict[tuple[object, ...], Float] = {}

    def paths(self, alphas: Float, limits: Limits) -> Iterator[SelectionPath]:
        """The path of each penalty."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            for path in search_paths(self._plan, self._data, alphas, limits):
                if path.interrupted:
                    # A part of a search tells nothing of its penalty, and there is no other path.
                    raise KeyboardInterrupt
                yield path

    def losses(self, path: SelectionPath, measure: Loss | None = None) -> Float:
        """Held-out losses (k) of the models on a path, by its own loss or in another measure."""
        loss = self._plan.loss if measure is None else measure
        chosen = chosen_of(path)
        # Neighbouring penalties often find the same features, and with a penalty of its own the
        # model depends on these alone.
        same = path.settings.alpha if self._refit == "same" else 0.0
        sets = chosen.indices if path.is_nested else tuple(one.features for one in path.sets)
        key = (sets, tuple(one.count for one in path.sets), same, measure is None)
        if key not in self._known:
            if (known := key[:3]) not in self._penalties:
                self._penalties[known] = model_penalties(
                    self._refit,
                    path.settings.alpha,
                    self._rows,
                    chosen,
                    self._plan.loss,
                    is_fine=False,
                )
            penalties = self._penalties[known]
            self._known[key] = self._held_out(chosen, penalties, loss)
        return self._known[key]

    def _held_out(self, chosen: Chosen, penalties: Float, loss: Loss) -> Float:
        """Losses (k) on the rows held out, each size with its own penalty (k)."""
        problem, outer = self._whole, self._outer
        if isinstance(outer, ClusterFolds):
            assert isinstance(problem.X, ClusterMatrix)
            sums: StratumSums = problem.X.crew.total(
                ask("held_out_sums", self._place, chosen, penalties, loss),
                problem.X.pieces,
                outer.ids,
            )
            return sums.mean()
        test = positive_rows(problem.host_weights, outer.splits[self._place].test)
        X, indices = problem.here, np.array(chosen.indices)
        rows = numbers_on(place_of(X), test)
        weights = None if problem.weights is None else take_rows(problem.weights, rows)
        if problem.class_weights is not None:
            tested = _tested_weights(problem, outer.splits[self._place])
            weights = to_device(place_of(X), tested[tested > 0.0])[0]
        if isinstance(X, DeviceMatrix):
            columns = take(X.columns(indices), rows).T
        else:
            columns = part(X, test, indices)
        Y = take_rows(problem.Y, rows)
        return held_out_losses(chosen, penalties, columns, Y, weights, loss)


def _tested_weights(problem: Problem, split: Split) -> Float:
    """What each held-out row of a split counts; weights of classes are of its training rows."""
    classes = problem.class_weights
    if classes is not None:
        return classes.weights(classes.factors(split.train))[split.test]
    weights = problem.host_weights
    return np.ones(len(split.test)) if weights is None else weights[split.test]


def training_part(problem: Problem, outer: Folds | ClusterFolds, place: int) -> Problem:
    """The problem whose rows of an outer fold have lost their weight."""
    if isinstance(outer, ClusterFolds):
        X = problem.X
        assert isinstance(X, ClusterMatrix)
        pieces = X.crew.each(ask("without", place), X.pieces, outer.ids)
        count = int(outer.train_counts[place])
        part = replace(X, pieces=tuple(pieces), is_weighted=True, n_weighted=count)
        return replace(problem, X=part, weights=part.stand_ins()[1])
    split = outer.splits[place]
    class_weights = problem.class_weights
    if class_weights is None:
        weights, given = np.zeros(problem.n_samples), problem.host_weights
        weights[split.train] = 1.0 if given is None else given[split.train]
    else:
        class_weights = class_weights.within(split.train)
        weights = class_weights.weights()
    training = replace(
        problem,
        weights=to_device(place_of(problem.here), weights)[0],
        class_weights=class_weights,
    )
    if isinstance(problem.X, KernelMatrix):
        # No centre is where the model is tested.
        held_out = problem.X.centers_at(weights == 0.0)
        training = replace(training, excluded=tuple(sorted({*problem.excluded, *held_out})))
        if not training.n_available:
            raise ValueError(
                "All candidates for centres are held out by one outer fold; allow more of them "
                "(max_candidates), or pass a number for alpha."
            )
    return training


def joint_surface(
    paths: Sequence[SelectionPath], length: int, size: int | None, least: int
) -> AlphaSurface:
    """The criterion's own losses along the path of each penalty."""
    alphas = np.array([path.settings.alpha for path in paths])
    losses = np.full((len(alphas), length), np.nan)
    errors = np.full((len(alphas), length), np.nan)
    for row, path in enumerate(paths):
        losses[row, : len(path)] = path.losses
        errors[row, : len(path)] = path.standard_errors
    row, chosen = pair_at(losses, size, least)
    return AlphaSurface("joint", alphas, losses, errors, None, None, "", float(alphas[row]), chosen)
