"""What searches share, whatever their rows are: candidates, Gram columns, moves, removals, ties."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import (
    HOST,
    ArrayLocation,
    Float,
    Handle,
    numbers_on,
    put,
    take,
    to_host,
    true_indices,
)
from .._features import FeatureSpace, FoldSpace, GramColumns, Ranking, inverse_factor
from .._problem import Loss, Problem, layout_of
from .._rows import BlockSet, Removals
from ..path import Moments
from ._choice import (
    HasCandidates,
    HasSelection,
    NumericalLimit,
    fold_error,
    mean_tolerances,
    tie_tolerances,
)
from ._samples import StartSums

# Gram columns fetched at a time where features come and go, and a pass takes longer than products.
_BATCH = 32


class SearchData:
    """The sums and Gram columns that searches on the same rows share for any penalty."""

    samples: BlockSet[Any]
    start: StartSums  # over all rows
    gram: GramColumns

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.layout = layout_of(problem)

    @property
    def passes(self) -> int:
        """The number of passes over the data so far."""
        return self.samples.passes

    def _prefetched(
        self, fetch: Callable[[Sequence[int]], Float], waiting: int, is_retained: bool
    ) -> GramColumns:
        """Return Gram columns of which at most `waiting` are kept ahead of their use.

        If X is in a file, their number is their share of the memory.
        """
        X = self.problem.X
        waiting = waiting if X.memory is None else X.memory.gram_columns
        gram = GramColumns(fetch, waiting, is_retained, X.location.on_device)
        if X.memory is not None:
            gram.widen(lambda: X.share_of_waiting)
        elif X.centers is not None:
            # A chosen centre takes its neighbours with it, which were ranked next.
            gram.narrow()
        return gram


def open_candidates(state: HasCandidates, too_expensive: NDArray[np.bool_] | None = None) -> None:
    """Make all features candidates but those chosen, excluded, spanned or too expensive (n)."""
    barred, problem = state.barred, state.problem
    barred[:] = -np.inf
    barred[[*problem.excluded, *state.layout.others, *state.selected]] = np.inf
    if too_expensive is not None:
        barred[too_expensive] = np.inf
    state.bar_spanned()


def chosen_groups(state: HasSelection, positions: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the positions of the columns of chosen groups among all chosen columns."""
    order = {column: position for position, column in enumerate(state.selected)}
    entries = state.layout.entries(state.selected)
    return [
        np.array([order[column] for column in state.layout.members(entries[position])])
        for position in positions.tolist()
    ]


class Held(NamedTuple):
    """A set of features to which a search will return."""

    selected: tuple[int, ...]
    blocks: tuple[Handle, ...]
    removals: Removals  # of all its features
    n_updates: int = 0  # since its rows were computed from scratch

    def removal_of(self, index: int) -> Removals:
        """The removal of one of its features."""
        beta, delta, rho, _ = self.removals
        place = [self.selected.index(index)]
        return Removals(beta[:, place], delta[place], rho[:, place])


class SetColumns:
    """The Gram columns of chosen features, which are kept if a search may move to any set of them.

    A column is X'x_b (n), or several of these (parts × n) where splits have sums of their own; the
    last is that of all rows. `centred` makes it of a feature and the sums that were fetched.
    """

    def __init__(
        self, gram: GramColumns, centred: Callable[[int, Float], Float], shape: tuple[int, ...]
    ) -> None:
        self._gram = gram
        self._centred = centred
        self._shape = shape
        self.kept: dict[int, Float] | None = None

    def take(self, index: int, ranking: Ranking, remaining: int) -> Float:
        """Return the column of a feature to add; `ranking` names the likely next ones."""
        if self.kept is not None and index in self.kept:  # it was chosen before
            return self.kept[index].copy()
        column = self._centred(index, self._gram.take(index, ranking, remaining))
        if self.kept is not None:
            self.kept[index] = column.copy()
        return column

    def of(self, order: list[int]) -> Float:
        """Return columns (… × |S| × n), in one pass for those that are not kept; keep them all."""
        if self.kept is None:
            self.kept = {}
        missing = [index for index in order if index not in self.kept]
        if missing:
            for index, values in zip(missing, self._gram.columns(missing), strict=True):
                self.kept[index] = self._centred(index, values)
        columns = np.empty((*self._shape[:-1], len(order), self._shape[-1]))
        for position, index in enumerate(order):
            columns[..., position, :] = self.kept[index]
        return columns


class SearchState(ABC):
    """The models of a search, and the candidates that are left."""

    data: SearchData
    features: FeatureSpace | FoldSpace
    target_energy: Float  # (t) sums of squares of the empty model
    loss_weight: float  # by which sums of squares over rows and targets are divided
    initial_loss: float  # of the empty model
    _columns: SetColumns
    _training: Any = ...  # which parts of a Gram column are those of the training rows

    def __init__(
        self,
        data: SearchData,
        samples: BlockSet[Any],
        loss: Loss,
    ) -> None:
        self.data = data
        self.problem = problem = data.problem
        self.layout = data.layout
        self.start = data.start
        self.gram = data.gram
        self.samples = samples
        self.criterion_loss = loss
        # −inf for candidates, +inf for features that are chosen or excluded: a floor of bounds.
        self.barred = samples.feature_location.full(problem.n_features, -np.inf)
        put(self.barred, np.array(problem.excluded, dtype=np.intp), np.inf)
        put(self.barred, self.layout.others, np.inf)
        self.is_spanned = False  # whether nothing is left of any candidate
        self.rebuilds = 0
        self._passes_before = data.passes

    @property
    def passes(self) -> int:
        """The number of passes over the data; the first search counts the pass all start from."""
        return self.samples.passes + self.data.passes - self._passes_before

    @property
    def exact_evaluations(self) -> int:
        """The number of times a candidate's loss was computed on the rows."""
        return self.samples.exact_evaluations

    @property
    def selected(self) -> list[int]:
        """The chosen features in the order of choice."""
        return self.features.selected

    @property
    def size(self) -> int:
        """The number of chosen features."""
        return self.features.size

    @property
    def candidates(self) -> NDArray[np.intp]:
        """The features that may be added."""
        return true_indices(self.barred < 0.0)

    def bar_spanned(self) -> None:
        """Features that the chosen ones span are no candidates from now on."""
        spanned = self.features.penalty.spanned(self.features.delta, self.features.scale)
        if spanned is not None:
            self.barred[spanned] = np.inf
            self.is_spanned = not (self.barred < 0.0).any()

    def tolerances(self, losses: Float) -> Float:
        """Return how far above each mean loss (c) another one counts as equal."""
        is_squared = self.criterion_loss.name == "squared"
        energy = float(self.target_energy.sum())
        scale = energy / self.loss_weight if is_squared else self.initial_loss
        return mean_tolerances(losses, scale, is_squared)

    def tie(self, loss: float) -> float:
        """Return the difference up to which another loss ties with this one."""
        return float(self.tolerances(np.array(loss)))

    @property
    def keeps_columns(self) -> bool:
        """Whether this search may move to any set of features."""
        return self._columns.kept is not None

    def keep_columns(self, features: Sequence[int] = ()) -> None:
        """Keep the Gram columns of chosen features, and of `features`, for `move_to`."""
        self._columns.of([*self.selected, *features])
        if not self.problem.X.is_in_memory:
            self.gram.expect(_BATCH)

    def gram_column(self, index: int, ranking: Ranking, remaining: int) -> Float:
        """Return the Gram column of a feature to add; `ranking` names the likely next ones."""
        return self._columns.take(index, ranking, remaining)

    def move_to(self, features: Sequence[int], held: Held | None = None) -> None:
        """Move to any set of features, without the accumulated rounding of earlier steps.

        From a held set, minus one feature, this takes a fraction of the time.
        """
        order = list(features)
        columns = self._columns.of(order)
        inverse = inverse_of(self, order, columns[self._training][..., order])
        self._place(order, columns, inverse, held)
        open_candidates(self)
        self._measure()

    @abstractmethod
    def _factor_sums(self, order: list[int], inverse: Float, split: int = 0) -> Float:
        """Return Σ q q' of features over the training rows, q = L⁻¹ x, (|S| × |S|)."""

    @abstractmethod
    def _place(self, order: list[int], columns: Float, inverse: Float, held: Held | None) -> None:
        """Move features and rows to a set, given its Gram columns and L⁻¹."""

    @abstractmethod
    def _measure(self) -> None:
        """Update what is known of the current models from their rows."""

    def removal_bounds(self) -> Float | None:
        """Return lower bounds of the losses without each chosen feature, (|S|).

        None for groups and other losses, of which nothing is known without a look at the rows, and
        where the losses themselves take less time.
        """
        if not self.layout.is_single or self.criterion_loss.name != "squared":
            return None
        return self._least_without()

    @abstractmethod
    def _least_without(self) -> Float:
        """Return bounds of squared losses, minus a margin for rounding, (|S|)."""

    @property
    @abstractmethod
    def _chosen_gram(self) -> Float:
        """X_S'X_S of the chosen features over all rows, minus means."""

    def moments(self) -> Moments:
        """Return the moments of the chosen features and the targets over all rows.

        Where the search may move to any set, these are all features that were ever chosen.
        """
        chosen = self.selected
        if self._columns.kept is None:
            gram = self._chosen_gram.copy()
        else:
            chosen = list(self._columns.kept)
            columns = self._columns.of(chosen)
            gram = (columns if columns.ndim == 2 else columns[-1])[:, chosen]
            gram = 0.5 * (gram + gram.T)
            gram[np.diag_indices(len(chosen))] = self.start.diagonal[chosen]
        location, matrix = self.samples.feature_location, self.features.penalty.matrix()
        return moments_of_set(self.start, chosen, gram, matrix, location)


def moments_of_set(
    start: StartSums,
    chosen: Sequence[int],
    gram: Float,
    matrix: Float | None,
    location: ArrayLocation = HOST,
) -> Moments:
    """Return the moments of chosen features from X_S'X_S, and the matrix that α multiplies."""
    where = numbers_on(location, np.array(chosen, dtype=np.intp))
    correlation, means = to_host(take(start.correlation, where), take(start.means, where))
    target_means = start.target_means.copy()
    return Moments(tuple(chosen), gram, correlation.T.copy(), means, target_means, matrix)


def inverse_of(state: SearchState, order: list[int], gram: Float) -> Float:
    """Return L⁻¹ of the part of A of some features, (… × |S| × |S|)."""
    square = state.features.penalty.square(len(order))
    try:
        A = 0.5 * (gram + gram.mT) + square
        return inverse_factor(A, square, partial(state._factor_sums, order))
    except np.linalg.LinAlgError as error:
        raise NumericalLimit("the chosen features are dependent up to rounding") from error


def mean_losses(state: SearchState, sums: Float) -> tuple[Float, Float]:
    """Return mean losses (c) from sums of squares (t × c), and the tolerances of ties."""
    with np.errstate(invalid="ignore"):  # NaN: no model is left without a row or a fold
        tolerances = tie_tolerances(np.maximum(sums, 0.0), state.target_energy)
    return sums.sum(axis=0) / state.loss_weight, tolerances / state.loss_weight


def removals_of(state: SearchState, positions: NDArray[np.intp]) -> Removals:
    """Some of the chosen features, or groups, as the others leave them."""
    state.samples.exact_evaluations += len(positions)
    model = state.features.model
    if state.layout.is_single:
        return Removals(*model.removals(positions))
    return Removals(*model.group_removals(chosen_groups(state, positions)))


class FoldMeans:
    """Losses of a state by folds: means over folds, by their weight."""

    shares: Float  # (K) the weight of each split in the loss
    fold_losses: Float  # (K)

    @property
    def loss(self) -> float:
        """Held-out loss of the current model."""
        return float(self.shares @ self.fold_losses)

    @property
    def standard_error(self) -> float:
        """Standard error of the loss as a mean over splits; NaN for a single split."""
        return fold_error(self.shares, self.fold_losses)

    def mean_loss(self, total: float) -> float:
        """Return the loss unchanged: choices have means already."""
        return total
