"""A backward search on an X that is not in memory: its models, and losses, by passes over X.

The factor of [X; √α] takes the rows as they come, a few at a time: [R; rows] = Q R again. A column
of constants before the others leaves in R what is left of them after centring. W = X A⁻¹ is made a
few rows at a time for the losses, and held of as many features as memory allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .._base import NO_DIGITS, SMALLEST_D, Float
from .._data import Matrix, WholeArrays
from .._problem import Folds, Loss, Problem
from ._backward import BackwardState, whole_bytes
from ._backward_fit import BackwardFit
from ._backward_rows import BackwardRows, n_at_start
from ._choice import NumericalLimit
from ._search_state import chosen_groups

Rows = NDArray[np.intp]

# Rows that a factor takes at a time, at least, and as a multiple of the number of features.
_LEAST_ROWS, _ROWS_PER_FEATURE = 256, 2
# Columns of W that fit into memory, at least.
_LEAST_COLUMNS = 8


class Factor(NamedTuple):
    """The model on features: R⁻¹ with [X; √α] = QR, and its coefficients."""

    inverse: Float  # (features × features)
    w: Float  # (features × t)
    means: Float  # (n) of all columns of X, minus the shift
    is_constant: NDArray[np.bool_]  # (n) columns that are 0 after centring


class RowPasses:
    """Models of a backward search, on some rows each, by passes over an X that is not in memory.

    Each model is tested on some rows. For leave-one-out these are scaled by the roots of their
    weights.
    """

    def __init__(
        self,
        problem: Problem,
        training: Sequence[BackwardRows],
        tested: Sequence[Rows],
        is_scaled: bool,
    ) -> None:
        self._X = X = problem.here
        self._training, self._tested, self._is_scaled = training, tested, is_scaled
        self._is_centred = problem.fit_intercept
        # Means of all rows are subtracted first: of columns far from the origin, R would have the
        # digits of their means, not of what is left without them.
        self._shift = np.zeros(problem.n_features)
        if self._is_centred:
            weights = np.ones(problem.n_samples) if problem.weights is None else problem.weights
            self._shift = X.sums(weights[None] / weights.sum(), None, False)[0][0]
        self.capacity = _capacity(X)  # features of which W is held

    def factors(self, features: Sequence[int], alpha: float) -> list[Factor]:
        """Return the factors of all models on some features, by one pass."""
        first, count = int(self._is_centred), len(features)
        width = first + count + len(self._training[0].y)
        triangles = [np.zeros((0, width)) for _ in self._training]
        for number, where, x in self._tiles(features, [rows.rows for rows in self._training]):
            rows, triangle = self._training[number], triangles[number]
            top = len(triangle)
            stacked = np.empty((top + len(x), width), order="F")
            stacked[:top] = triangle
            stacked[top:, :first] = 1.0
            stacked[top:, first : first + count] = x
            if rows.root is not None:
                stacked[top:] *= rows.root[where, None]
            stacked[top:, first + count :] = rows.y[:, where].T
            (triangle,) = linalg.qr(stacked, overwrite_a=True, mode="r", check_finite=False)
            triangles[number] = triangle[:width].copy()
        return [self._factor(triangle, features, alpha) for triangle in triangles]

    def _factor(self, triangle: Float, features: Sequence[int], alpha: float) -> Factor:
        """Return the factor of features from R of the constant, the features and the targets."""
        first, count = int(self._is_centred), len(features)
        chosen = slice(first, first + count)
        means, is_constant = np.zeros(len(self._shift)), np.zeros(len(self._shift), dtype=bool)
        columns = triangle[chosen, chosen]
        if self._is_centred:
            means[features] = triangle[0, chosen] / triangle[0, 0]
            squares = np.square(columns).sum(axis=0)
            raw = np.square(triangle[0, 0] * (self._shift + means)[features]) + squares
            is_constant[features] = squares <= NO_DIGITS * raw
            columns[:, is_constant[features]] = 0.0
        stacked = np.zeros((len(columns) + count, triangle.shape[1] - first), order="F")
        stacked[: len(columns)] = triangle[chosen, first:]
        stacked[len(columns) :][np.diag_indices(count)] = math.sqrt(alpha)
        (stacked,) = linalg.qr(stacked, overwrite_a=True, mode="r", check_finite=False)
        inverse = linalg.solve_triangular(
            stacked[:count, :count], np.eye(count), check_finite=False
        )
        return Factor(inverse, inverse @ stacked[:count, count:], means, is_constant)

    def tested(
        self, features: Sequence[int], factors: Sequence[Factor]
    ) -> Iterator[tuple[int, slice, Float]]:
        """Yield a model, some of its tested rows, and these (rows × features) minus its means."""
        chosen = list(features)
        for number, where, x in self._tiles(features, self._tested):
            factor, root = factors[number], self._training[number].root
            x -= factor.means[chosen]
            x[:, factor.is_constant[chosen]] = 0.0
            if root is not None and self._is_scaled:
                x *= root[where, None]
            yield number, where, x

    def _tiles(
        self, features: Sequence[int], sets: Sequence[Rows]
    ) -> Iterator[tuple[int, slice, Float]]:
        """Yield a set, some of its rows, and these (rows × features) minus the shift: one pass."""
        order = np.array(features, dtype=np.intp)
        height = max(_LEAST_ROWS, _ROWS_PER_FEATURE * len(order))
        for inside, chunk in self._X.chunks():
            for top in range(0, chunk.shape[0], height):
                x = chunk.columns(order, slice(top, top + height)).T - self._shift[order]
                start = inside.start + top
                for number, rows in enumerate(sets):
                    where = slice(*np.searchsorted(rows, (start, start + len(x))))
                    if where.start < where.stop:
                        yield number, where, x[rows[where] - start]


def _capacity(X: Matrix) -> int:
    """Return the number of columns of float64 that fit into the memory that X may use."""
    m, n = X.shape
    return n if X.memory is None else max(_LEAST_COLUMNS, X.memory.column_bytes // (8 * m))


class BackwardByPasses(BackwardState):
    """The state of a backward search with more rows than features, which are not in memory."""

    _factors: Sequence[Factor] = ()
    _likely: Sequence[int] = ()  # features that are likely removed next

    @cached_property
    def _reader(self) -> RowPasses:
        models = self._training or [self._all]
        tested = self._tested or [self._all.rows]
        return RowPasses(self.problem, models, tested, is_scaled=self._folds is None)

    @cached_property
    def _capacity(self) -> int:
        """The number of features of which W is held, those of a group at least."""
        return max(self._reader.capacity, int(self.layout.widths(self.layout.firsts).max()))

    def _fit(self) -> None:
        self._fits, self._factors = [], []  # free their memory
        self._factors = self._reader.factors(self.selected, self.alpha)
        self._fits = [self._unread(number) for number in range(len(self._factors))]
        held = self._hold(self.selected)
        for number, where, x in self._reader.tested(self.selected, self._factors):
            fit, factor = self._fits[number], self._factors[number]
            assert fit.inverse is not None
            fit.r[:, where] -= (x @ factor.w).T
            fit.W[:, where] = fit.inverse[held] @ x.T
            if fit.d is not None:
                fit.d[where] -= np.square(x @ factor.inverse).sum(axis=1)
        if any(fit.d is not None and fit.d.min() < SMALLEST_D for fit in self._fits):
            raise NumericalLimit("a sample's leverage is 1 up to rounding")
        self._factors = [factor._replace(inverse=factor.w) for factor in self._factors]

    def _unread(self, number: int) -> BackwardFit:
        """Return a model with r and d as if without features, and without W."""
        factor, rows = self._factors[number], self._all
        root, d = None, None
        if self._folds is None:
            targets, r, root, d = self._targets(), rows.y.copy(), rows.root, np.ones(len(rows.rows))
            d -= 0.0 if rows.unit is None else np.square(rows.unit)
        else:
            targets = self._test_targets(number)
            r = targets[0] - self._training[number].target_means[:, None]
        A = factor.inverse @ factor.inverse.T
        return BackwardFit(
            *targets, root, r[:0], np.diag(A).copy(), factor.w, r, d, A, None, self.alpha
        )

    def _hold(self, features: Sequence[int]) -> Rows:
        """Make room for W of as many features as fit; returns their positions."""
        order = {index: position for position, index in enumerate(self.selected)}
        positions = [order[index] for index in features if index in order]
        held = np.array(positions[: self._capacity], dtype=np.intp)
        for fit in self._fits:
            fit.held, fit.W = held.copy(), fit.r[:0]  # frees its memory
            fit.W = np.empty((len(held), fit.r.shape[1]))
        return held

    def _losses_by_fit(self, positions: Rows) -> list[Float]:
        """Return losses without some features or groups, in one pass if W of some is not held.

        Losses that are no sums over rows take several.
        """
        groups = list(positions[:, None])
        if not self.layout.is_single:
            groups = chosen_groups(self, positions)
        if self._fits[0].holds(np.concatenate(groups)):
            losses = [self._without(fit, groups) for fit in self._fits]
        elif self.criterion_loss.is_additive:
            losses = self._scan(groups)
        else:
            parts = [self._read(batch) for batch in self._batches(groups)]
            losses = [np.concatenate(values, axis=1) for values in zip(*parts, strict=True)]
        order = np.argsort(np.concatenate(losses).sum(axis=0))
        members = np.concatenate([groups[entry] for entry in order.tolist()])
        self._likely = [self.selected[position] for position in members.tolist()]
        return losses

    def _without(self, fit: BackwardFit, groups: Sequence[Rows]) -> Float:
        """Return losses of a model without some groups, of which W is held."""
        if not self.layout.is_single:
            return fit.group_losses(self.criterion_loss, groups)
        return fit.losses(self.criterion_loss)[:, fit.slots(np.concatenate(groups))]

    def _scan(self, groups: Sequence[Rows]) -> list[Float]:
        """Return losses without each group, and hold W of the likeliest features: one pass."""
        self.passes += 1
        held, every = self._hold(list(self._likely) or self.selected), np.arange(self.size)
        totals: list[Float] = [np.zeros(()) for _ in self._fits]
        for number, where, x in self._reader.tested(self.selected, self._factors):
            fit = self._fits[number]
            assert fit.inverse is not None
            W = fit.inverse @ x.T
            fit.W[:, where] = W[held]
            totals[number] = totals[number] + self._without(fit.part(where, W, every), groups)
        return totals

    def _read(self, groups: Sequence[Rows]) -> list[Float]:
        """Return losses without some groups, whose W is held then: a pass."""
        members = np.concatenate(groups)
        if not self._fits[0].holds(members):
            self._hold_all([self.selected[position] for position in members.tolist()])
        return [self._without(fit, groups) for fit in self._fits]

    def _batches(self, groups: Sequence[Rows]) -> Iterator[Sequence[Rows]]:
        """Yield groups, as many at a time as fit."""
        batch: list[Rows] = []
        for group in groups:
            if batch and sum(map(len, batch)) + len(group) > self._capacity:
                yield batch
                batch = []
            batch.append(group)
        yield batch

    def _hold_all(self, features: Sequence[int]) -> None:
        """Hold W of features by a pass, as many as fit."""
        self.passes += 1
        held = self._hold(features)
        for number, where, x in self._reader.tested(self.selected, self._factors):
            fit = self._fits[number]
            assert fit.inverse is not None
            fit.W[:, where] = fit.inverse[held] @ x.T

    def remove(self, features: Sequence[int]) -> None:
        """Take a feature, or the columns of a group, out of all models."""
        order = {index: position for position, index in enumerate(self.selected)}
        if not self._fits[0].holds(np.array([order[index] for index in features])):
            self._hold_all(list(dict.fromkeys([*features, *self._likely])))
        super().remove(features)


def backward_state(
    problem: Problem, loss: Loss, folds: Folds | None, alpha: float
) -> BackwardState:
    """Return the state of a backward search on any X in this process."""
    kind = BackwardByPasses if _is_by_passes(problem, folds) else BackwardState
    return kind(problem, loss, folds, alpha)


def _is_by_passes(problem: Problem, folds: Folds | None) -> bool:
    """Return whether models are made by passes over X, which all have more rows than features."""
    counted = problem.has_weight
    fewest = problem.n_weighted
    if folds is not None:
        fewest = min(split.n_trained_on(counted) for split in folds.splits)
    return not problem.X.is_in_memory and n_at_start(problem) < fewest


def backward_arrays(problem: Problem, folds: Folds | None) -> WholeArrays:
    """Return the arrays that a search on an X that is not in memory needs."""
    count, m = n_at_start(problem), problem.n_samples
    instead = "exclude features, or search forward (direction='forward')"
    if not _is_by_passes(problem, folds):
        what = f"all {count} columns, since direction='backward' starts with more than rows"
        return WholeArrays(int(whole_bytes(problem, folds)), what, instead)
    splits = 1 if folds is None else folds.n_splits
    width = count + 1 + problem.n_targets
    # R and A⁻¹ of each model; what the latter are made of; columns of W.
    n_bytes = 8 * (width * width * (2 * splits + 8) + _LEAST_COLUMNS * m)
    return WholeArrays(n_bytes, f"direction='backward' from {count} features", instead)
