"""The state of a search by folds: the models of all splits, moved together."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ._files import FileMatrix
from ._fold_rows import FoldRows
from ._fold_space import FoldSpace, HeldOut
from ._folds import Folds
from ._gram import GramColumns, Ranking
from ._kernels import Float
from ._losses import Loss
from ._problem import Problem

# Held-out columns of chosen features are kept up to this share of X (or these bytes).
_KEPT_SHARE = 0.25
_KEPT_BYTES = 1 << 24
_BUFFER_COLUMNS = 32
# A chosen pivot this much smaller than A_bb is measured on the rows, with refined coefficients.
_REFINED_PIVOT = 1e-3


class FoldData:
    """What searches on the same rows and splits share: sums and Gram columns."""

    def __init__(self, problem: Problem, folds: Folds) -> None:
        self.problem = problem
        self.folds = folds
        self.rows = FoldRows(problem, folds)
        self.train, self.test, self.total = self.rows.start()
        # A column has `sets` × n numbers; together they may be a quarter of X.
        waiting = problem.n_samples // (4 * self.rows.n_sets)
        if isinstance(problem.X, FileMatrix):
            waiting = problem.X.room.gram_columns
        self.gram = GramColumns(self.rows.products, waiting, retained=True)
        if isinstance(problem.X, FileMatrix):
            self.gram.widen(problem.X.share_of_waiting)

    @property
    def passes(self) -> int:
        """Over the data, so far."""
        return self.rows.passes


class SplitRows:
    """Held-out rows of one split: targets, residuals, and columns of the chosen features."""

    def __init__(self, data: FoldData, split: int, target_means: Float, limit: int) -> None:
        self.rows = data.folds.splits[split].test
        weights = data.problem.weights
        self.weights = np.ones(len(self.rows)) if weights is None else weights[self.rows]
        self.y = np.ascontiguousarray(data.problem.Y[self.rows].T)  # (t × rows)
        self.r = np.ascontiguousarray((data.rows.Y[self.rows] - target_means).T)
        self._data = data.rows
        self._limit = limit
        # Columns of the first chosen features, in buffers that take memory only as they fill.
        self._buffers: list[Float] = []
        self._chosen: list[int] = []
        self._means: list[float] = []

    def column(self, index: int, mean: float, places: slice = slice(None)) -> Float:
        """x_b less its mean over the training rows."""
        return self._data.column(index, self.rows[places]) - mean

    def chosen(self, places: slice = slice(None)) -> Iterator[tuple[slice, Float]]:
        """Columns of the chosen features (… × rows), some at a time, with their places in S."""
        size, known = len(self._chosen), 0
        for buffer in self._buffers:
            count = min(len(buffer), size - known)
            yield slice(known, known + count), buffer[:count, places]
            known += count
        for place in range(known, size):
            column = self.column(self._chosen[place], self._means[place], places)
            yield slice(place, place + 1), column[None]

    def step(
        self, index: int, column: Float, mean: float, beta: Float, rho: Float
    ) -> tuple[float, Float, Float]:
        """Add a feature with its column of all rows; ‖z‖², r·z before, ‖r‖² after."""
        column = column[self.rows] - mean
        z = column.copy()
        for places, columns in self.chosen():
            z -= beta[places] @ columns
        weighted = self.weights * z
        norm, inner = float(weighted @ z), self.r @ weighted
        self.r = self.r - rho[:, None] * z
        self._keep(column)
        self._chosen.append(index)
        self._means.append(mean)
        return norm, inner, np.square(self.r) @ self.weights

    def _keep(self, column: Float) -> None:
        """Keep the column of the feature chosen next, if the limit allows."""
        place = len(self._chosen)
        if place >= self._limit:
            return
        if place % _BUFFER_COLUMNS == 0:
            size = min(_BUFFER_COLUMNS, self._limit - place)
            self._buffers.append(np.empty((size, len(column))))
        self._buffers[-1][place % _BUFFER_COLUMNS] = column


class FoldState:
    """Everything that changes during a search by folds."""

    def __init__(self, data: FoldData, alpha: float, loss: Loss, capacity: int) -> None:
        self.data = data
        self.problem = data.problem
        self.criterion_loss = loss
        _check_memory(data.rows.n_splits, capacity, data.problem.n_features)
        self.space = FoldSpace(
            data.train, data.test, alpha, data.problem.fit_intercept, min(capacity, 64)
        )
        problem = data.problem
        column_bytes = 8 * sum(len(split.test) for split in data.folds.splits)
        limit = int(max(_KEPT_BYTES, _KEPT_SHARE * problem.X.nbytes) // column_bytes)
        if isinstance(problem.X, FileMatrix):
            limit = 0  # it keeps columns itself
        self.splits = [
            SplitRows(data, split, self.space.target_means[split], limit)
            for split in range(data.rows.n_splits)
        ]
        self.shares = data.test.weight / data.test.weight.sum()  # (K)
        self.barred = np.full(problem.n_features, -np.inf)
        self.barred[list(problem.excluded)] = np.inf
        self.target_energy = self.space.energy.sum(axis=0)  # (t)
        self.exact_evaluations = 0
        self.rebuilds = 0
        self.gram = np.zeros((0, 0))  # X_S'X_S of all rows
        self._passes_before = data.rows.passes
        self.total_test_weight = float(data.test.weight.sum())
        self.fold_losses = self._fold_losses()
        self.initial_loss = abs(self.loss)

    @property
    def size(self) -> int:
        """How many features are chosen."""
        return self.space.size

    @property
    def candidates(self) -> NDArray[np.intp]:
        """Features that may be added."""
        return np.flatnonzero(self.barred < 0.0)

    @property
    def passes(self) -> int:
        """Over the data, the first one included."""
        return self.data.rows.passes - self._passes_before + 1

    def _fold_losses(self) -> Float:
        """Loss of the current model on each split's held-out rows, (K)."""
        if self.criterion_loss.name == "squared":
            energy: Float = self.space.energy.mean(axis=1) / self.data.test.weight
            return energy
        return np.array([self._split_loss(split) for split in self.splits])

    def _split_loss(self, split: SplitRows) -> float:
        positive = split.weights > 0
        predictions = (split.y - split.r)[:, None, positive]
        values = self.criterion_loss.values(
            split.y[:, positive].T, predictions, split.weights[positive]
        )
        return float(values[0])

    @property
    def loss(self) -> float:
        """Held-out loss of the current model: a mean over the splits, by their weight."""
        return float(self.shares @ self.fold_losses)

    @property
    def standard_error(self) -> float:
        """Of the loss as a mean over splits; not a number for a single split."""
        count = len(self.shares)
        if count < 2:
            return math.nan
        squares = np.square(self.shares * (self.fold_losses - self.loss)).sum()
        return math.sqrt(float(squares) * count / (count - 1))

    def mean_loss(self, total: float) -> float:
        """Losses are means already."""
        return total

    def measure(self, index: int) -> None:
        """Nothing is to be known of a feature before it is added."""

    def add(self, index: int, pivot: object, ranking: Ranking, remaining: int) -> None:
        """Add a feature to the models of all splits."""
        data, space = self.data, self.space
        values = data.gram.take(index, ranking, remaining)
        train, test, total = data.rows.by_split(values)
        beta = space.coefficients([index])[:, :, 0]
        if self.size:
            scale = space.diagonal[:, index] + space.penalty
            for split in np.flatnonzero(space.delta[:, index] < _REFINED_PIVOT * scale):
                beta[split] = self._refined(int(split), index, beta[split])
        rho = space.tau[:, :, index] / space.delta[:, index, None]
        column = data.rows.column(index)
        answers = [
            split.step(index, column, float(space.means[place, index]), beta[place], rho[place])
            for place, split in enumerate(self.splits)
        ]
        norms, inner, energy = (np.array(values) for values in zip(*answers, strict=True))
        space.add(index, beta, *space.columns(train, test, index), HeldOut(norms, inner, energy))
        self.barred[index] = np.inf
        if isinstance(self.problem.X, FileMatrix):
            self.problem.X.pin(index)
        self._remember_gram(total)
        self.fold_losses = self._fold_losses()

    def _refined(self, split: int, index: int, beta: Float) -> Float:
        """β of a feature that the chosen ones nearly span, corrected on a split's training rows.

        Its z is mostly the error of β there. The pivot and its τ are measured with the new one.
        """
        space, rows = self.space, self.data.folds.splits[split].train
        weights = self.problem.weights
        columns = np.array([*space.selected, index])
        means = space.means[split, columns]
        w = space.weights()[split]
        for is_last in (False, False, True):
            products, norm, inner = np.zeros(self.size), 0.0, np.zeros(w.shape[1])
            for places, x in self.data.rows.tiles_of(rows, columns):
                x -= means
                z = x[:, -1] - x[:, :-1] @ beta
                weighted = z if weights is None else z * weights[rows[places]]
                if is_last:
                    residual = self.data.rows.Y[rows[places]] - space.target_means[split]
                    norm += float(weighted @ z)
                    inner += weighted @ (residual - x[:, :-1] @ w)
                else:
                    products += weighted @ x[:, :-1]
            if not is_last:
                beta = space.corrected(split, beta, products)
        space.delta[split, index] = norm + space.penalty * (1.0 + float(beta @ beta))
        space.tau[split, :, index] = inner + space.penalty * (beta @ w)
        return beta

    def _remember_gram(self, column: Float) -> None:
        """The chosen features' products over all rows, for the coefficients."""
        chosen = self.space.selected
        size = len(chosen)
        gram = np.zeros((size, size))
        gram[:-1, :-1] = self.gram
        gram[-1] = gram[:, -1] = column[chosen]
        self.gram = gram

    def moments(self) -> tuple[Float, Float, Float, Float]:
        """Gram, correlation, means of the chosen features and of the targets, over all rows."""
        total, rows, chosen = self.data.total, self.data.rows, self.space.selected
        weight = float(total.weight)
        if not self.problem.fit_intercept:
            zeros = np.zeros(len(chosen))
            return self.gram.copy(), total.xy[:, chosen].T.copy(), zeros, np.zeros_like(total.y)
        means, targets = total.x[chosen] / weight, total.y / weight
        gram = self.gram - weight * np.outer(means, means)
        correlation = total.xy[:, chosen].T - weight * np.outer(means, targets)
        return gram, correlation, means + rows.shift[chosen], targets + rows.target_shift


def _physical_bytes() -> float:
    """The memory of this machine, as far as it tells."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf


def _check_memory(n_splits: int, n_chosen: int, n_features: int) -> None:
    """An error before, rather than in the midst of, a search that cannot fit."""
    needed = 16.0 * n_splits * n_chosen * n_features
    if needed > _physical_bytes():
        raise MemoryError(
            f"{n_splits} splits of {n_features} features need {needed / 1e9:.1f} GB for a path of "
            f"{n_chosen}, more than this machine has. Use fewer folds (groups in "
            "GroupKFold(10), for instance), or ask for fewer features."
        )
