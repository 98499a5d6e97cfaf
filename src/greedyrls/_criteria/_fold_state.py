"""The state of a search by folds: the models of all splits, updated together."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import (
    CHOSEN_SHARE,
    HOST,
    LOSS_ROUNDING,
    TIE,
    TIE_ROUNDING,
    Float,
    ask,
    to_host,
)
from .._features import (
    FoldSpace,
    GramColumns,
    HeldOut,
    Ranking,
    fold_pairs,
    penalty_of,
)
from .._problem import Folds, Loss, Problem, RemoteFolds, layout_of, stratum_factors
from .._rows import (
    FoldBlock,
    FoldRemovals,
    FoldRows,
    HeldOutRows,
    energy,
    fold_at_set,
    fold_leftovers,
    fold_removal_losses,
    fold_stratum_weights,
    local_block,
    removal_values,
    split_losses,
    step_sums,
)
from ..path import Moments
from ._choice import NumericalLimit
from ._entries import bar_spanned, chosen_groups, open_candidates
from ._fold_refinement import careful_coefficients, orthogonal_factors
from ._fold_steps import FoldSteps, location_of_steps, supports_steps

# Bytes that held-out columns of chosen features may take, however small X is.
_KEPT_BYTES = 1 << 24


class FoldData:
    """The sums and Gram columns that searches on the same rows and splits share."""

    def __init__(self, problem: Problem, folds: Folds | RemoteFolds) -> None:
        self.problem = problem
        self.folds = folds
        self.rows = _rows_of(problem, folds)
        self.train, self.test, self.total = self.rows.start()
        self.layout = layout_of(problem)
        self.pairs = None if self.layout.is_single else fold_pairs(self.rows, self.layout)
        # A column has `sets` × n numbers; together they may be a quarter of X.
        waiting = problem.n_samples // (4 * self.rows.n_sets)
        if problem.X.memory is not None:
            waiting = problem.X.memory.gram_columns
        on_device = problem.X.location.on_device
        products = self.rows.products_there if supports_steps(problem.X) else self.rows.products
        self.gram = GramColumns(products, waiting, retained=True, on_device=on_device)
        if problem.X.memory is not None:
            self.gram.widen(lambda: problem.X.share_of_waiting)

    @property
    def passes(self) -> int:
        """The number of passes over the data so far."""
        return self.rows.passes

    @property
    def fold_shares(self) -> Float:
        """The weight of each split in the loss, (K)."""
        shares: Float = self.test.weight / self.test.weight.sum()
        return shares


def _rows_of(problem: Problem, folds: Folds | RemoteFolds) -> FoldRows:
    """Return the rows with their splits, in this process or on a cluster."""
    is_partition = folds.is_partition
    if isinstance(folds, Folds):
        complements = [split.is_complement for split in folds.splits]
        return FoldRows(
            problem, [local_block(problem, folds, is_partition)], complements, is_partition
        )
    assert problem.X.remote is not None
    remote, count = problem.X.remote, folds.n_splits
    blocks = remote.fold_block_handles(folds.ids, count, is_partition)
    return FoldRows(problem, blocks, [True] * count, is_partition, remote.executor)


class _Column(NamedTuple):
    """The products X'x_b of a feature, minus means, on training, held-out and all rows."""

    on_train: Float  # (K × n)
    on_test: Float  # (K × n)
    total: Float  # (n) minus the shift only


class FoldState:
    """The state of a search by folds."""

    def __init__(self, data: FoldData, alpha: float, loss: Loss, capacity: int) -> None:
        self.data = data
        self.problem = data.problem
        self.criterion_loss = loss
        problem = data.problem
        column_bytes = 8 * data.folds.n_tested
        limit = int(max(_KEPT_BYTES, CHOSEN_SHARE * problem.X.nbytes) // column_bytes)
        if problem.X.keeps_columns:
            limit = 0
        location = location_of_steps(
            problem.X, data.rows.n_splits, data.folds.n_tested, capacity, limit
        )
        if location is None:
            _check_memory(data.rows.n_splits, capacity, problem.n_features)
            capacity, location = min(capacity, 64), HOST
        penalty = penalty_of(problem.X, alpha, capacity)
        arguments = (data.train, data.test, penalty, problem.fit_intercept)
        self.space = FoldSpace(*arguments, capacity, location, data.pairs)
        self.target_energy: Float = self.space.start_energy.sum(axis=0)  # (t)
        self.rows = data.rows.fork()
        self.rows.become(ask(FoldBlock.opened, self.space.target_means, limit))
        self.steps: FoldSteps | None = None
        if location is not HOST:
            by_sets = data.rows.by_split(np.eye(data.rows.n_sets))
            self.steps = FoldSteps(self.space, by_sets)
            self.steps.attach(self.rows)
        self.shares = data.fold_shares  # (K)
        self.layout = data.layout
        self.barred = np.full(problem.n_features, -np.inf)
        self.barred[[*problem.excluded, *self.layout.others]] = np.inf
        self.is_spanned = False  # whether nothing is left of any candidate
        self.bar_spanned()
        self.exact_evaluations = 0
        self.rebuilds = 0
        self.gram = np.zeros((0, 0))  # X_S'X_S of all rows
        self._passes_before = data.rows.passes
        # Products of features that were chosen, where the search may move to any set of them.
        self._columns: dict[int, _Column] | None = None
        self.total_test_weight = float(data.test.weight.sum())
        # For a loss that is a mean over rows: the weights of the strata, (K × strata), and the
        # factors by which the weights of rows are multiplied to give their shares.
        self._strata = np.ones((len(self.shares), 1))
        if loss.is_additive and not problem.X.location.on_device:
            self._strata = self.rows.total(ask(fold_stratum_weights, loss)).values
        self.factors = stratum_factors(self._strata)
        self.fold_losses = self._fold_losses()
        self.initial_loss = abs(self.loss)

    @property
    def size(self) -> int:
        """The number of chosen features."""
        return self.space.size

    @property
    def candidates(self) -> NDArray[np.intp]:
        """The features that may be added."""
        return np.flatnonzero(self.barred < 0.0)

    @property
    def passes(self) -> int:
        """The number of passes over the data; the first search counts the pass all start from."""
        return self.rows.passes + self.data.rows.passes - self._passes_before

    def _fold_losses(self) -> Float:
        """Return the loss of the current model on each split's held-out rows, (K)."""
        if self.criterion_loss.name == "squared":
            energy = self.space.energy if self.steps is None else self.steps.report.energy
            losses: Float = energy.mean(axis=1) / self.data.test.weight
            return losses
        loss = self.criterion_loss
        if loss.is_additive:
            sums = self.rows.total(ask(split_losses, loss)).values
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
        """Standard error of the loss as a mean over splits; NaN for a single split."""
        count = len(self.shares)
        if count < 2:
            return math.nan
        squares = np.square(self.shares * (self.fold_losses - self.loss)).sum()
        return math.sqrt(float(squares) * count / (count - 1))

    def mean_loss(self, total: float) -> float:
        """Return the loss unchanged: choices have means already."""
        return total

    def measure(self, index: int) -> None:
        """Return None: a step by folds needs no measurement in advance."""

    def add(self, index: int, pivot: object, ranking: Ranking, remaining: int) -> None:
        """Add a feature to the models of all splits."""
        data, space = self.data, self.space
        values = data.gram.take(index, ranking, remaining)
        if self.steps is not None:
            report = self.steps.add(index, values)
            self.barred[index] = np.inf
            self.gram = _bordered(self.gram, report.gram[: self.size])
            self.fold_losses = self._fold_losses()
            return
        (values,) = to_host(values)
        train, test, total = data.rows.by_split(values)
        beta = careful_coefficients(space, self.rows, index)
        rho = space.tau[:, :, index] / space.delta[:, index, None]
        means = space.means[:, index].copy()
        leftovers = self.rows.each(ask(fold_leftovers, index, means, beta))
        sums = self.rows.total(ask(step_sums, rho), leftovers)
        self.rows.become(ask(FoldBlock.advanced, index, means, rho), leftovers)
        columns = space.columns(train, test, index)
        space.add(index, beta, *columns, HeldOut(*sums))
        if self._columns is not None:
            self._columns[index] = _Column(*columns, total)
        self.barred[index] = np.inf
        self.bar_spanned()
        self.gram = _bordered(self.gram, total[space.selected])
        self.fold_losses = self._fold_losses()

    @property
    def selected(self) -> list[int]:
        """The chosen features in the order of choice."""
        return self.space.selected

    def keep_columns(self, features: Sequence[int] = ()) -> None:
        """Keep the Gram columns of chosen features, and of `features`, for `move_to`."""
        self._gram_columns([*self.selected, *features])

    def tie(self, loss: float) -> float:
        """Return the difference up to which another loss ties with this one."""
        if self.criterion_loss.name != "squared":
            return TIE * abs(loss) + LOSS_ROUNDING * self.initial_loss
        weight = self.total_test_weight * self.problem.n_targets
        scale = float(self.target_energy.sum()) / weight
        return TIE * abs(loss) + TIE_ROUNDING * math.sqrt(abs(loss) * scale)

    def held(self) -> None:
        """Return None: with folds no stored set makes a move to another one faster."""

    def move_to(self, features: Sequence[int], held: None = None) -> None:
        """Move to any set of features, without the accumulated rounding of earlier steps."""
        order, space = list(features), self.space
        splits, n = space.means.shape
        on_train, on_test = np.empty((2, splits, len(order), n))
        columns = self._gram_columns(order)
        for position, column in enumerate(columns):
            on_train[:, position], on_test[:, position] = column.on_train, column.on_test
        self.gram = _gram_of(columns, order)
        try:
            inverse = orthogonal_factors(space, self.rows, order, on_train)
        except np.linalg.LinAlgError as error:
            raise NumericalLimit("the chosen features are dependent up to rounding") from error
        space.move_to(order, on_train, on_test, inverse)
        means, weights = space.means[:, order], space.model.weights
        self.rows.become(partial(fold_at_set, features=tuple(order), means=means, weights=weights))
        space.energy = self.rows.total(energy).values
        open_candidates(self)
        self.fold_losses = self._fold_losses()

    def _gram_columns(self, order: list[int]) -> list[_Column]:
        """Return products of features, in one pass for those that were never chosen."""
        if self._columns is None:
            self._columns = {}
        missing = [index for index in order if index not in self._columns]
        if missing:
            for index, values in zip(missing, self.data.gram.columns(missing), strict=True):
                train, test, total = self.data.rows.by_split(values)
                columns = self.space.columns(train, test, index)
                self._columns[index] = _Column(*columns, total)
        return [self._columns[index] for index in order]

    def removal_bounds(self) -> Float:
        """With squared loss the losses themselves, up to rounding; else nothing is known."""
        if self.criterion_loss.name != "squared" or not self.layout.is_single:
            return np.full(len(self.layout.entries(self.selected)), -np.inf)
        squares = self.space.removal_squares(np.arange(self.size)).sum(axis=(0, 1))
        losses: Float = squares / (self.total_test_weight * self.problem.n_targets)
        # These come from sums that may cancel, the exact losses from the rows. Any bound below the
        # exact loss gives the same choice; the margin is wider than the rounding of the sums.
        return losses * (1.0 - TIE) - 2.0 * LOSS_ROUNDING * self.initial_loss

    def removal_losses(self, positions: NDArray[np.intp]) -> tuple[Float, Float]:
        """Exact losses on the held-out rows without some of the chosen features, and ties."""
        self.exact_evaluations += len(positions)
        if self.layout.is_single:
            beta, _, rho = self.space.model.removals(positions)
            removals = FoldRemovals(beta, rho)
        else:
            groups = chosen_groups(self, positions)
            beta, _, rho, starts = self.space.model.group_removals(groups)
            removals = FoldRemovals(beta, rho, starts)
        loss = self.criterion_loss
        if loss.is_additive:
            question = partial(
                fold_removal_losses, loss=loss, factors=self.factors, removals=removals
            )
        else:
            question = partial(removal_values, loss=loss, removals=removals)
        losses = self.shares @ self.rows.total(question).values
        if loss.name != "squared":
            return losses, TIE * np.abs(losses) + LOSS_ROUNDING * self.initial_loss
        weight = self.total_test_weight * self.problem.n_targets
        scale = self.target_energy.sum() / weight
        return losses, TIE * losses + TIE_ROUNDING * np.sqrt(losses * scale)

    def bar_spanned(self) -> None:
        """Features that the chosen ones span are no candidates from now on."""
        spanned = self.space.penalty.spanned(self.space.delta, self.space.scale)
        self.is_spanned = bar_spanned(self, spanned)

    def moments(self) -> Moments:
        """Return the moments of the chosen features and the targets over all rows."""
        total, rows, chosen = self.data.total, self.data.rows, self.space.selected
        weight, raw = float(total.weight), self.gram
        penalty = self.space.penalty.matrix()
        if self._columns is not None:  # then of all features that were ever chosen
            chosen = list(self._columns)
            raw = _gram_of(self._gram_columns(chosen), chosen)
        if not self.problem.fit_intercept:
            zeros = np.zeros(len(chosen))
            correlation = total.xy[:, chosen].T.copy()
            none = np.zeros_like(total.y)
            return Moments(tuple(chosen), raw.copy(), correlation, zeros, none, penalty)
        means, targets = total.x[chosen] / weight, total.y / weight
        gram = raw - weight * np.outer(means, means)
        correlation = total.xy[:, chosen].T - weight * np.outer(means, targets)
        return Moments(
            tuple(chosen),
            gram,
            correlation,
            means + rows.shift[chosen],
            targets + rows.target_shift,
            penalty,
        )


def _gram_of(columns: Sequence[_Column], order: list[int]) -> Float:
    """Return X_S'X_S over all rows, minus the shift, from the products of these features."""
    gram = np.array([column.total[order] for column in columns]).reshape(len(order), len(order))
    symmetric: Float = 0.5 * (gram + gram.T)
    return symmetric


def _bordered(gram: Float, row: Float) -> Float:
    """Append the products of the last feature with the chosen ones over all rows (|S|)."""
    size = len(row)
    larger = np.zeros((size, size))
    larger[:-1, :-1] = gram
    larger[-1] = larger[:, -1] = row
    return larger


def _split_loss(loss: Loss, split: HeldOutRows) -> float:
    """Return the loss of the current model on a split's held-out rows."""
    (used,) = split.weights[0].nonzero()
    predictions = (split.y - split.r)[0][:, None, used]
    return float(loss.values(split.y[0, :, used], predictions, split.weights[0, used])[0])


def physical_bytes() -> float:
    """Return the physical memory of this machine in bytes; infinite if it is not available."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf


def _check_memory(n_splits: int, n_chosen: int, n_features: int) -> None:
    """Raise a MemoryError before a search that cannot fit, rather than during it."""
    needed = 16.0 * n_splits * n_chosen * n_features
    if needed > physical_bytes():
        raise MemoryError(
            f"{n_splits} splits of {n_features} features need {needed / 1e9:.1f} GB for a path of "
            f"{n_chosen}, more than this machine has. Use fewer folds (groups in "
            "GroupKFold(10), for instance), or ask for fewer features."
        )
