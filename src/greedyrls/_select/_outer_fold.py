"""One outer fold: searches on its training rows, and their models on the rows held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import REFINED_PIVOT, Float, ask, numbers_on, take, take_rows, to_device, to_host
from .._cluster import Piece
from .._criteria import (
    LooData,
    LossMoments,
    Summed,
    Tests,
    corrected_by,
    held_out_components,
    part_of,
    summed_moments,
)
from .._features import Chain, Chosen, chains_of
from .._problem import ClusterFolds, Folds, Loss, Problem, Split, guess_without_features
from .._search import (
    Data,
    KnownSteps,
    Limits,
    Plan,
    Searches,
    Setup,
    positive_rows,
    rows_for_refit,
    takes_compiled_steps,
    takes_no_pass,
)
from .._steppers import LOSSES as _COMPILED_MEASURES
from .._steppers import CompiledSearch, CompiledTests, best_positions
from ..path import Counters, Moments, SelectionPath, Step
from ._alphas import Refit, model_penalties, penalties_to_try

# Bytes that copies of X by the searches of all outer folds may take, to be kept for further ones.
_KEPT_BYTES = 1 << 28


def chosen_of(path: SelectionPath) -> Chosen:
    """Return the features of a path with their moments."""
    sets = [feature_set.features for feature_set in path.sets]
    return _with_moments(path.moments, chains_of(sets, path.moments.features))


def model_of(path: SelectionPath, size: int) -> Chosen:
    """Return the features of one size of a path, with their moments."""
    moments = path.moments.of(path.sets[size - 1].features)
    return _with_moments(moments, _one_model(len(moments.features)))


def _with_moments(moments: Moments, chains: tuple[Chain, ...]) -> Chosen:
    return Chosen(
        moments.features,
        moments.gram,
        moments.correlation,
        moments.feature_means,
        moments.target_means,
        chains,
        moments.penalty,
    )


def _compiled_model(data: LooData, search: CompiledSearch, size: int) -> Chosen:
    """Return the same of a compiled search."""
    start, indices = data.start, search.indices[:size]
    return Chosen(
        tuple(indices),
        search.gram()[:size, :size],
        start.correlation[:, indices].T,
        start.means[indices],
        start.target_means,
        _one_model(len(indices)),
    )


def _one_model(count: int) -> tuple[Chain, ...]:
    return (Chain(np.arange(count), np.array([count])),)


class HeldOut(NamedTuple):
    """The losses of a path's models on the rows held out."""

    losses: Float  # (k)
    initial_loss: float  # without features
    part: Summed | None  # sums for standard errors: without features, and of all sizes (1 + k)


class Searched(NamedTuple):
    """The path of a penalty in a fold, and the losses of its models on the rows held out."""

    row: int
    size: int  # the number of steps
    steps: tuple[Step, ...]  # none of a search in compiled code
    held_out: HeldOut
    measured: Float | None  # (k) in another measure
    counters: Counters


# What searches in outer folds need of the rows, by the number of the fold, for further searches on
# the same problem and folds.
KeptData = dict[int, tuple[Problem, object, LooData]]


class OuterFold:
    """The training rows of an outer fold; the other rows have weight 0."""

    def __init__(
        self,
        problem: Problem,
        plan: Plan,
        outer: Folds | ClusterFolds,
        number: int,
        refit: Refit,
        tests: Tests | None,
        kept: KeptData | None = None,
    ) -> None:
        self._whole = problem
        self._outer = outer
        self._number = number
        self._tests = tests
        of_problem, of_outer, known = (kept or {}).get(number, (None, None, None))
        if of_problem is not problem or of_outer is not outer:
            known = None
        self._problem = training_part(problem, outer, number) if known is None else known.problem
        self._plan = plan.within(self._problem)
        self._data: Data
        if known is not None:
            self._data = known
        else:
            self._data = self._plan.data(self._problem, is_shared=True)
            if kept is not None and type(self._data) is LooData and _is_small(problem, outer):
                kept[number] = problem, outer, self._data
        # Whether searches take compiled steps, which need no interpreter lock.
        data = self._data
        self.is_compiled = isinstance(data, LooData) and takes_compiled_steps(self._plan, data)
        self._refit = refit
        self._rows = rows_for_refit(refit, self._plan, self._data)
        self._results: dict[tuple[object, ...], HeldOut] = {}
        self._penalties: dict[tuple[object, ...], Float] = {}
        self._searches: dict[tuple[float, ...], Searches] = {}
        self._compiled_tests: dict[bool, CompiledTests] = {}  # by whether it is another measure
        self._grid: Float | None = None

    @property
    def has_columns_in_memory(self) -> bool:
        """Whether searches can run at the same time, after the first has begun.

        A search that makes passes over X fetches columns for those after it.
        """
        is_forward = self._plan.direction.name == "forward"
        return is_forward and isinstance(self._data, LooData) and takes_no_pass(self._data)

    def searches(
        self, alphas: Float, limits: Limits, done: Mapping[int, tuple[Step, ...]] | None = None
    ) -> Searches:
        """Return the searches of penalties; steps in `done` are replayed, not searched again."""
        key = tuple(alphas.tolist())
        if key not in self._searches:
            known = {row: KnownSteps(steps) for row, steps in (done or {}).items()}
            setup = Setup(self._plan, self._data, limits)
            self._searches[key] = Searches(setup, alphas, logs=known)
        return self._searches[key]

    def searched(
        self, searches: Searches, row: int, size: int, until: int | None, measure: Loss | None
    ) -> Searched:
        """Search with a penalty to a size, or `until` one if given, and test the models."""
        compiled = self._searched_in_c(searches, row, size, measure)
        if compiled is not None:
            return compiled
        path = self._path(searches, row, until)
        measured = None if measure is None else self.held_out(path, measure).losses
        counters = searches.spent(row, path.counters)
        return Searched(row, len(path.steps), path.steps, self.held_out(path), measured, counters)

    @staticmethod
    def _path(searches: Searches, row: int, size: int | None = None) -> SelectionPath:
        """Return the path of a penalty, to a size or to its end."""
        (path,) = searches.paths([row], size)
        if path.interrupted:
            # An incomplete search is no evidence for its penalty, and there is no other path.
            raise KeyboardInterrupt
        return path

    def _searched_in_c(
        self, searches: Searches, row: int, size: int, measure: Loss | None
    ) -> Searched | None:
        """Search and test the models of a penalty in compiled code, without making a path.

        None if the general engine is to do it, because rounding may decide or for other data.
        """
        loss, data = self._plan.loss, self._data
        if not (self.is_compiled and isinstance(data, LooData)) or self._refit == "cv":
            return None
        if any(one is not None and one.name not in _COMPILED_MEASURES for one in (loss, measure)):
            return None
        reached = searches.reach(row, size)
        if reached is None:
            return None
        grid = self._penalties_to_try(float(searches.alphas[row]))
        measure_tests = None if measure is None else self._tests_in_c(data, measure)
        tests, search = self._tests_in_c(data, None), reached.search.handle
        models = tests.test(search, grid, size, measure_tests)
        if models is None:
            return None
        held_out = HeldOut(models.losses[1:], float(models.losses[0]), models.part)
        measured = None if models.measured is None else models.measured[1:]
        return Searched(row, size, (), held_out, measured, reached.spent)

    def model(self, alpha: float, size: int) -> tuple[Chosen, float]:
        """Return the features that a search with `alpha` selects, and their model's penalty."""
        searches, data = self.searches(np.array([alpha]), Limits(size)), self._data
        reached = None
        if self._refit == "loo" and isinstance(data, LooData) and self.is_compiled:
            reached = searches.reach(0, size)
        if reached is not None:
            assert isinstance(data, LooData)
            grid = penalties_to_try(data, is_fine=True)
            positions = best_positions(reached.search.handle, grid, size)
            if positions is not None:
                return _compiled_model(data, reached.search, size), float(grid[positions[-1]])
        path = self._path(searches, 0)
        chosen = model_of(path, len(path))
        (penalty,) = self.penalties(chosen, alpha, is_fine=True)
        return chosen, float(penalty)

    def _penalties_to_try(self, alpha: float) -> Float:
        """Return the ascending penalties of models of a search with `alpha`."""
        if isinstance(self._refit, str) and self._refit == "same":
            return np.array([alpha])
        if self._grid is None:
            if isinstance(self._refit, float):
                self._grid = np.array([self._refit])
            else:
                assert isinstance(self._data, LooData)
                self._grid = penalties_to_try(self._data, is_fine=False)
        return self._grid

    def _tests_in_c(self, data: LooData, measure: Loss | None) -> CompiledTests:
        if (measure is not None) not in self._compiled_tests:
            problem, loss = self._whole, self._plan.loss if measure is None else measure
            assert isinstance(self._outer, Folds)
            test, weights = _tested_rows(problem, self._outer, self._number)
            self._compiled_tests[measure is not None] = CompiledTests(
                data,
                test,
                problem.Y[test],
                weights,
                self._guess(loss, data.start.target_means),
                loss,
                None if measure is not None else self._tests,
            )
        return self._compiled_tests[measure is not None]

    def held_out(self, path: SelectionPath, measure: Loss | None = None) -> HeldOut:
        """Return held-out losses of a path's models, by its loss or in another measure."""
        loss = self._plan.loss if measure is None else measure
        chosen = chosen_of(path)
        # Neighbouring penalties often select the same features. Unless the model has the penalty of
        # the search, it depends on these alone.
        same = path.settings.alpha if self._refit == "same" else 0.0
        sets = chosen.indices if path.is_nested else tuple(one.features for one in path.sets)
        key = (sets, tuple(one.count for one in path.sets), same, measure is None)
        if key not in self._results:
            if (shared_key := key[:3]) not in self._penalties:
                self._penalties[shared_key] = self.penalties(
                    chosen, path.settings.alpha, is_fine=False
                )
            penalties = self._penalties[shared_key]
            self._results[key] = self._tested(chosen, penalties, loss)
        return self._results[key]

    def penalties(self, chosen: Chosen, alpha: float, is_fine: bool) -> Float:
        """Return the penalties (k) of models on features that were selected with `alpha`."""
        loss = self._plan.loss
        return model_penalties(self._refit, alpha, self._rows, chosen, loss, is_fine)

    def forget(self) -> None:
        """Clear the cached results: shorter paths will not be needed again."""
        self._results.clear()
        self._penalties.clear()

    def _guess(self, loss: Loss, means: Float) -> Float:
        """Return the predictions of a model without features, (t)."""
        training = self._problem
        if training.X.remote is not None:
            return guess_without_features(loss, np.empty((0, len(means))), None, means)
        (Y,) = to_host(training.Y)
        return guess_without_features(loss, Y, training.host_weights, means)

    def _tested(self, chosen: Chosen, penalties: Float, loss: Loss) -> HeldOut:
        """Return losses on the rows held out, each size with its own penalty (k)."""
        problem, outer = self._whole, self._outer
        guess = self._guess(loss, chosen.target_means)
        if outer.remote is not None:
            remote = problem.X.remote
            assert remote is not None
            moments: LossMoments = remote.executor.total(
                ask(Piece.held_out_moments, self._number, chosen, penalties, guess, loss),
                remote.pieces,
                outer.remote.ids,
            )
            values = moments.values()
            share = None if self._tests is None else summed_moments(moments, self._tests)
            return HeldOut(values[1:], float(values[0]), share)
        test, weights = _tested_rows(problem, outer, self._number)
        X, indices = problem.here, np.array(chosen.indices)
        rows = numbers_on(X.location, test)
        if X.location.on_device:
            columns = take(X.columns(indices), rows).T
        else:
            columns = X.part(test, indices).astype(np.float64)
        Y = take_rows(problem.Y, rows)
        fitted_to = self._data if self._rows is None else self._rows
        if isinstance(fitted_to, LooData):
            chosen = corrected_by(fitted_to.samples, self._problem, chosen, REFINED_PIVOT)
        values, components = held_out_components(
            chosen, penalties, guess, columns, Y, weights, loss
        )
        added = (
            None if self._tests is None or components is None else part_of(components, self._tests)
        )
        assert added is None or isinstance(added, Summed)
        return HeldOut(values[1:], float(values[0]), added)


def _is_small(problem: Problem, outer: Folds | ClusterFolds) -> bool:
    """Return whether the data of all folds can be kept: searches may copy X."""
    X = problem.X
    n_bytes = 8 * outer.n_splits * X.shape[0] * X.shape[1]
    return X.is_in_memory and not X.location.on_device and n_bytes <= _KEPT_BYTES


def _tested_rows(
    problem: Problem, outer: Folds, number: int
) -> tuple[NDArray[np.intp], Float | None]:
    """Return the rows that a fold holds out and that have a weight, and their weights."""
    split = outer.splits[number]
    test = positive_rows(problem.host_weights, split.test)
    weights = None if problem.host_weights is None else problem.host_weights[test]
    if problem.class_weights is not None:
        tested = tested_weights(problem, split)
        weights = tested[tested > 0.0]
    return test, weights


def tested_weights(problem: Problem, split: Split) -> Float:
    """Return the weights of a split's held-out rows; class weights follow from training rows."""
    classes = problem.class_weights
    if classes is not None:
        return classes.weights(classes.factors(split.train))[split.test]
    weights = problem.host_weights
    return np.ones(len(split.test)) if weights is None else weights[split.test]


def training_part(problem: Problem, outer: Folds | ClusterFolds, number: int) -> Problem:
    """Return the problem with weight 0 for the held-out rows of an outer fold."""
    if outer.remote is not None:
        X = problem.X.remote
        assert X is not None
        pieces = X.executor.each(ask(Piece.without, number), X.pieces, outer.remote.ids)
        count = int(outer.remote.train_counts[number])
        part = X.reweighted(tuple(pieces), count)
        return replace(problem, X=part, weights=part.stand_ins()[1])
    split = outer.splits[number]
    class_weights = problem.class_weights
    if class_weights is None:
        weights, row_weights = np.zeros(problem.n_samples), problem.host_weights
        weights[split.train] = 1.0 if row_weights is None else row_weights[split.train]
    else:
        class_weights = class_weights.within(split.train)
        weights = class_weights.weights()
    training = replace(
        problem,
        weights=to_device(problem.X.location, weights)[0],
        class_weights=class_weights,
    )
    if problem.X.centers is not None:
        # Rows on which the model is tested cannot be centres.
        held_out = problem.X.centers.centers_at(weights == 0.0)
        training = replace(training, excluded=tuple(sorted({*problem.excluded, *held_out})))
        if not training.n_available:
            raise ValueError(
                "All candidates for centres are held out by one outer fold; allow more of them "
                "(max_candidates), or pass a number for alpha."
            )
    return training
