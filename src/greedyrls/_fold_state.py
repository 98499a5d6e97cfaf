"""The state of a search by folds: the models of all splits, moved together."""

from __future__ import annotations

import math
import os

import numpy as np
from numpy.typing import NDArray

from ._cluster import ClusterMatrix
from ._cluster_folds import ClusterFolds
from ._crew import ask
from ._device import DeviceMatrix
from ._files import FileMatrix
from ._fold_rows import FoldRows, local_block
from ._fold_space import FoldSpace, HeldOut
from ._fold_steps import FoldSteps, can_be_there, place_of_steps
from ._folds import Folds
from ._gram import GramColumns, Ranking
from ._held_out import HeldOutRows
from ._kernels import Float
from ._losses import Loss, stratum_factors
from ._namespace import Array, to_device, to_host
from ._problem import Problem

# Held-out columns of chosen features are kept up to this share of X (or these bytes).
_KEPT_SHARE = 0.25
_KEPT_BYTES = 1 << 24
# A chosen pivot this much smaller than A_bb is measured on the rows, with refined coefficients.
_REFINED_PIVOT = 1e-3


class FoldData:
    """What searches on the same rows and splits share: sums and Gram columns."""

    def __init__(self, problem: Problem, folds: Folds | ClusterFolds) -> None:
        self.problem = problem
        self.folds = folds
        self.rows = _rows_of(problem, folds)
        self.train, self.test, self.total = self.rows.start()
        # A column has `sets` × n numbers; together they may be a quarter of X.
        waiting = problem.n_samples // (4 * self.rows.n_sets)
        if isinstance(problem.X, FileMatrix):
            waiting = problem.X.room.gram_columns
        on_device = isinstance(problem.X, DeviceMatrix)
        products = self.rows.products_there if can_be_there(problem.X) else self.rows.products
        self.gram = GramColumns(products, waiting, retained=True, on_device=on_device)
        if isinstance(problem.X, FileMatrix):
            self.gram.widen(problem.X.share_of_waiting)

    @property
    def passes(self) -> int:
        """Over the data, so far."""
        return self.rows.passes


def _rows_of(problem: Problem, folds: Folds | ClusterFolds) -> FoldRows:
    """The rows with their splits, here or on a cluster."""
    is_partition = folds.is_partition
    if isinstance(folds, Folds):
        complements = [split.is_complement for split in folds.splits]
        return FoldRows(
            problem, [local_block(problem, folds, is_partition)], complements, is_partition
        )
    assert isinstance(problem.X, ClusterMatrix)
    crew, count = problem.X.crew, folds.n_splits
    blocks = crew.each(ask("fold_block", count, is_partition), problem.X.pieces, folds.ids)
    return FoldRows(problem, blocks, [True] * count, is_partition, crew)


class FoldState:
    """Everything that changes during a search by folds."""

    def __init__(self, data: FoldData, alpha: float, loss: Loss, capacity: int) -> None:
        self.data = data
        self.problem = data.problem
        self.criterion_loss = loss
        problem = data.problem
        column_bytes = 8 * data.folds.n_tested
        limit = int(max(_KEPT_BYTES, _KEPT_SHARE * problem.X.nbytes) // column_bytes)
        if isinstance(problem.X, FileMatrix):
            limit = 0  # it keeps columns itself
        place = place_of_steps(problem.X, data.rows.n_splits, data.folds.n_tested, capacity, limit)
        known = (data.train, data.test, alpha, problem.fit_intercept)
        if place is None:
            _check_memory(data.rows.n_splits, capacity, problem.n_features)
            self.space = FoldSpace(*known, min(capacity, 64))
        else:
            self.space = FoldSpace(*known, capacity, place)
        self.target_energy: Float = self.space.start_energy.sum(axis=0)  # (t)
        self.rows = data.rows.fork()
        self.rows.become(ask("opened", self.space.target_means, limit))
        self._steps: FoldSteps | None = None
        if place is not None:
            by_sets = data.rows.by_split(np.eye(data.rows.n_sets))
            self._steps = FoldSteps(self.space, by_sets)
            self._take_place()
        self.shares = data.test.weight / data.test.weight.sum()  # (K)
        self.barred = np.full(problem.n_features, -np.inf)
        self.barred[list(problem.excluded)] = np.inf
        self.exact_evaluations = 0
        self.rebuilds = 0
        self.gram = np.zeros((0, 0))  # X_S'X_S of all rows
        self._passes_before = data.rows.passes
        self.total_test_weight = float(data.test.weight.sum())
        # For a loss that is a mean over rows: what the strata weigh, (K × strata), and the shares
        # of rows, which are their weights times these factors.
        self._strata = np.ones((len(self.shares), 1))
        if loss.is_additive and not isinstance(problem.X, DeviceMatrix):
            self._strata = self.rows.total(ask("stratum_weights", loss)).values
        self.factors = stratum_factors(self._strata)
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
        """Over the data; the pass that all searches start from is the first one's."""
        return self.rows.passes + self.data.rows.passes - self._passes_before

    def _fold_losses(self) -> Float:
        """Loss of the current model on each split's held-out rows, (K)."""
        if self.criterion_loss.name == "squared":
            energy = self.space.energy if self._steps is None else self._steps.found.energy
            losses: Float = energy.mean(axis=1) / self.data.test.weight
            return losses
        loss = self.criterion_loss
        if loss.is_additive:
            sums = self.rows.total(ask("split_losses", loss)).values
            present = self._strata > 0.0
            means = np.where(present, sums / np.where(present, self._strata, 1.0), 0.0)
            values: Float = means.sum(axis=1) / np.count_nonzero(present, axis=1)
            return values
        (block,) = self.rows.blocks  # a loss of all rows together needs them here
        return np.array([_split_loss(loss, split) for split in block.splits])

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
        if self._steps is not None:
            self._add_there(self._steps, index, values)
            return
        (values,) = to_host(values)
        train, test, total = data.rows.by_split(values)
        beta = self._coefficients(index)
        rho = space.tau[:, :, index] / space.delta[:, index, None]
        means = space.means[:, index].copy()
        leftovers = self.rows.each(ask("leftovers", index, means, beta))
        sums = self.rows.total(ask("step_sums", rho), leftovers)
        self.rows.become(ask("advanced", index, means, rho), leftovers)
        space.add(index, beta, *space.columns(train, test, index), HeldOut(*sums))
        self.barred[index] = np.inf
        self._remember_gram(total[space.selected])
        self.fold_losses = self._fold_losses()

    def _add_there(self, steps: FoldSteps, index: int, values: Array) -> None:
        """The same on a device."""
        if steps.is_full:
            self.settle()
            self.space.grow()
            self._take_place()
        is_doubtful = self.size > 0 and steps.found.pivots[index] < _REFINED_PIVOT
        found = steps.add(index, values, self._coefficients(index) if is_doubtful else None)
        self.barred[index] = np.inf
        self._remember_gram(found.gram[: self.size])
        self.fold_losses = self._fold_losses()

    def settle(self) -> None:
        """Tell the blocks of features that were added in their memory."""
        if self._steps is not None:
            self.rows.become(ask("noted", tuple(self.space.selected)))

    def _take_place(self) -> None:
        """Room for the held-out rows of as many features as the recurrences have room for."""
        assert self._steps is not None
        self.rows.become(ask("with_room", self.space.capacity))
        self._steps.take_place(self.rows.blocks[0])

    def held_out_sums(self, candidates: NDArray[np.intp]) -> Float:
        """Held-out sums of squares of all splits with some candidates added, (t × c)."""
        if self._steps is not None:
            return self._steps.found.losses[:, candidates]
        sums: Float = self.space.losses()[:, :, candidates].sum(axis=0)
        return sums

    def _coefficients(self, index: int) -> Float:
        """β of a feature (K × |S|), refined in splits where the chosen ones nearly span it."""
        space = self.space
        known = (
            space.coefficients([index])[:, :, 0],
            space.delta[:, index],
            space.diagonal[:, index],
        )
        beta, delta, diagonal = to_host(*known)
        if self.size:
            scale = diagonal + space.penalty
            for split in np.flatnonzero(delta < _REFINED_PIVOT * scale):
                beta[split] = self._refined(int(split), index, beta[split])
        return beta

    def _refined(self, split: int, index: int, beta: Float) -> Float:
        """β of a feature that the chosen ones nearly span, corrected on a split's training rows.

        Its z is mostly the error of β there. The pivot and its τ are measured with the new one.
        """
        space = self.space
        columns = np.array([*space.selected, index])
        w, means = to_host(space.weights()[split, ...], space.means[split, ...])
        known = (split, columns, means[columns], space.target_means[split])
        for _ in range(2):
            sums = self.rows.total(ask("refined_sums", *known, beta, w))
            beta = space.corrected(split, beta, sums.products)
        _, norm, inner = self.rows.total(ask("refined_sums", *known, beta, w))
        space.delta[split, index] = norm + space.penalty * (1.0 + float(beta @ beta))
        (tau,) = to_device(space.place, inner + space.penalty * (beta @ w))
        space.tau[split, :, index] = tau
        return beta

    def _remember_gram(self, row: Float) -> None:
        """The chosen features' products over all rows (|S|), for the coefficients."""
        size = len(row)
        gram = np.zeros((size, size))
        gram[:-1, :-1] = self.gram
        gram[-1] = gram[:, -1] = row
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


def _split_loss(loss: Loss, split: HeldOutRows) -> float:
    """The loss of the current model on a split's held-out rows."""
    (used,) = split.weights[0].nonzero()
    predictions = (split.y - split.r)[0][:, None, used]
    return float(loss.values(split.y[0, :, used], predictions, split.weights[0, used])[0])


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
