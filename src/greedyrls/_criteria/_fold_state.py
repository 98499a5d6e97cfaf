"""The state of a search by folds: the models of all splits, updated together."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import CHOSEN_SHARE, HOST, LOSS_ROUNDING, TIE, Float, ask, to_host
from .._data import physical_bytes
from .._features import FoldSpace, Ranking, fold_pairs, penalty_of
from .._problem import ClusterFolds, Folds, Loss, Problem, stratum_factors
from .._rows import (
    FoldBlock,
    FoldRows,
    SetSums,
    energy,
    fold_at_set,
    fold_leftovers,
    fold_stratum_weights,
    local_block,
    split_losses,
    split_values,
    step_sums,
    training_products,
)
from ._choice import Judge
from ._fold_criterion import removal_losses, row_losses, squared_losses, squared_row_losses
from ._fold_refinement import careful_coefficients
from ._fold_steps import FoldSteps, location_of_steps, supports_steps
from ._samples import StartSums
from ._search_state import FoldMeans, Held, SearchData, SearchState, SetColumns, removals_of

# Bytes that held-out columns of chosen features may take, however small X is.
_KEPT_BYTES = 1 << 24
# Gram columns kept of a sparse X, which is small next to them: to multiply it by several vectors
# together saves nothing.
_SPARSE_WAITING = 8


class FoldData(SearchData):
    """The sums and Gram columns that searches on the same rows and splits share."""

    samples: FoldRows

    def __init__(self, problem: Problem, folds: Folds | ClusterFolds) -> None:
        super().__init__(problem)
        self.folds = folds
        self.samples = rows = _rows_of(problem, folds)
        self.train, self.test, self.total = rows.start()
        self._means, self.start = _moments(self.total, rows, problem.fit_intercept)
        self.pairs = None if self.layout.is_single else fold_pairs(rows, self.layout)
        # A column has `sets` × n numbers; together they may be a quarter of X.
        waiting = problem.n_samples // (4 * rows.n_sets)
        if problem.X.is_sparse:
            waiting = min(waiting, _SPARSE_WAITING)
        products = rows.products_there if supports_steps(problem.X) else rows.products
        self.gram = self._prefetched(products, waiting, True)

    @property
    def fold_shares(self) -> Float:
        """The weight of each split in the loss, (K)."""
        shares: Float = self.test.weight / self.test.weight.sum()
        return shares

    def centred(self, index: int, total: Float, others: Any = slice(None)) -> Float:
        """Return X'x_b of a feature over all rows minus means, from its sums with others."""
        products: Float = total - self._means[index] * self.total.x[others]
        return products


def _moments(total: SetSums, rows: FoldRows, fit_intercept: bool) -> tuple[Float, StartSums]:
    """Return the means of all rows after the shift, and sums that do not depend on the shift."""
    weight = float(total.weight)
    divisor = weight if fit_intercept else np.inf
    means, targets = total.x / divisor, total.y / divisor
    diagonal = np.maximum(total.xx - total.x * means, 0.0)
    correlation = total.xy - total.y[:, None] * means
    where = means + rows.shift, targets + rows.target_shift
    return means, StartSums(weight, *where, diagonal, correlation)


def _rows_of(problem: Problem, folds: Folds | ClusterFolds) -> FoldRows:
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


def _centred(data: FoldData, space: FoldSpace, index: int, values: Float) -> Float:
    """Return the parts of the Gram column of a feature from its sums over sets of rows."""
    (values,) = to_host(values)
    train, test, total = data.samples.by_split(values)
    on_train, on_test = space.columns(train, test, index)
    return np.concatenate([on_train, on_test, data.centred(index, total)[None]])


class FoldState(FoldMeans, SearchState):
    """The state of a search by folds, with a model for each split."""

    data: FoldData
    features: FoldSpace
    samples: FoldRows

    def __init__(self, data: FoldData, alpha: float, loss: Loss, capacity: int) -> None:
        problem, n_splits = data.problem, data.samples.n_splits
        super().__init__(data, data.samples.fork(), loss)
        column_bytes = 8 * data.folds.n_tested
        limit = int(max(_KEPT_BYTES, CHOSEN_SHARE * problem.X.nbytes) // column_bytes)
        if problem.X.keeps_columns:
            limit = 0
        location = location_of_steps(problem.X, n_splits, data.folds.n_tested, capacity, limit)
        if location is None:
            _check_memory(n_splits, capacity, problem.n_features)
            capacity, location = min(capacity, 64), HOST
        penalty = penalty_of(problem.X, alpha, capacity)
        arguments = (data.train, data.test, penalty, problem.fit_intercept)
        self.features = FoldSpace(*arguments, capacity, location, data.pairs)
        self.target_energy: Float = self.features.start_energy.sum(axis=0)  # (t)
        self.samples.become(ask(FoldBlock.opened, self.features.target_means, limit))
        self.steps: FoldSteps | None = None
        if location is not HOST:
            by_sets = data.samples.by_split(np.eye(data.samples.n_sets))
            self.steps = FoldSteps(self.features, by_sets)
            self.steps.attach(self.samples)
        self.shares = data.fold_shares  # (K)
        self.bar_spanned()
        # A Gram column is that of the training rows of each split, of its test rows, of all rows.
        shape = (2 * n_splits + 1, problem.n_features)
        self._columns = SetColumns(data.gram, partial(_centred, data, self.features), shape)
        self._training = slice(n_splits)
        self._products: list[Float] = []  # of each feature with those chosen before, over all rows
        self.total_test_weight = float(data.test.weight.sum())
        self.loss_weight = self.total_test_weight * problem.n_targets
        # For a loss that is a mean over rows: the weights of the strata, (K × strata), and the
        # factors by which the weights of rows are multiplied to give their shares.
        self._strata = np.ones((len(self.shares), 1))
        if loss.is_additive and not problem.X.location.on_device:
            self._strata = self.samples.total(ask(fold_stratum_weights, loss)).values
        self.factors = stratum_factors(self._strata)
        self._measure()
        self.initial_loss = abs(self.loss)

    def _measure(self) -> None:
        self.fold_losses = self._fold_losses()

    def _fold_losses(self) -> Float:
        """Return the loss of the current model on each split's held-out rows, (K)."""
        if self.criterion_loss.name == "squared":
            energy = self.features.energy if self.steps is None else self.steps.report.energy
            losses: Float = energy.mean(axis=1) / self.data.test.weight
            return losses
        loss = self.criterion_loss
        if loss.is_additive:
            sums = self.samples.total(ask(split_losses, loss)).values
            present = self._strata > 0.0
            means = np.where(present, sums / np.where(present, self._strata, 1.0), 0.0)
            values: Float = means.sum(axis=1) / np.count_nonzero(present, axis=1)
            return values
        (block,) = self.samples.blocks  # a loss of all rows together needs them here
        predictions = ((split, (split.y - split.r)[0][:, None]) for split in block.splits)
        return np.concatenate([split_values(loss, *each) for each in predictions])

    def measure(self, index: int) -> None:
        """Return None: a step by folds needs no measurement in advance."""

    def add(self, index: int, pivot: object, ranking: Ranking, remaining: int) -> None:
        """Add a feature to the models of all splits."""
        data, space = self.data, self.features
        products: Float
        if self.steps is not None:
            report = self.steps.add(index, self.gram.take(index, ranking, remaining))
            products = data.centred(index, report.gram[: self.size], self.selected)
        else:
            column = self._columns.take(index, ranking, remaining)
            count = data.samples.n_splits
            beta = careful_coefficients(space, self.samples, index)
            rho = space.tau[:, :, index] / space.delta[:, index, None]
            means = space.means[:, index].copy()
            leftovers = self.samples.each(ask(fold_leftovers, index, means, beta))
            sums = self.samples.total(ask(step_sums, rho), leftovers)
            self.samples.become(ask(FoldBlock.advanced, index, means, rho), leftovers)
            space.add(index, beta, (column[:count], column[count:-1]), sums)
            products = column[-1, self.selected]
        self.barred[index] = np.inf
        self.bar_spanned()
        self._products.append(products)
        self._measure()

    def note_step(self, index: int, energies: Float, gram: Float) -> None:
        """Note a feature that a stepper added, with ‖r‖² (K × 1) and the products (capacity)."""
        assert self.steps is not None
        self.features.selected.append(index)
        self.steps.report = self.steps.report._replace(energy=energies)
        self._products.append(self.data.centred(index, gram[: self.size], self.selected))
        self.barred[index] = np.inf
        self._measure()

    def held(self) -> None:
        """Return None: with folds no stored set makes a move to another one faster."""

    def _factor_sums(self, order: list[int], inverse: Float, split: int = 0) -> Float:
        means = self.features.means[split, order]
        question = partial(
            training_products, split=split, features=tuple(order), means=means, inverse=inverse
        )
        sums: Float = self.samples.total(question).values
        return sums

    def _place(self, order: list[int], columns: Float, inverse: Float, held: Held | None) -> None:
        space, count = self.features, self.data.samples.n_splits
        on_train, on_test = columns[:count], columns[count:-1]
        space.place(order, (on_train, on_test), on_train[..., order], inverse)
        means, weights = space.means[:, order], space.model.weights
        question = partial(fold_at_set, features=tuple(order), means=means, weights=weights)
        self.samples.become(question)
        space.energy = self.samples.total(energy).values

    def _least_without(self) -> Float:
        """Return the losses themselves, up to rounding."""
        squares = self.features.removal_squares(np.arange(self.size)).sum(axis=(0, 1))
        losses: Float = squares / self.loss_weight
        # These come from sums that may cancel, the exact losses from the rows. Any bound below the
        # exact loss gives the same choice; the margin is wider than the rounding of the sums.
        return losses * (1.0 - TIE) - 2.0 * LOSS_ROUNDING * self.initial_loss

    def removal_losses(self, positions: NDArray[np.intp]) -> tuple[Float, Float]:
        """Exact losses on the held-out rows without some of the chosen features, and ties."""
        losses = removal_losses(self, removals_of(self, positions))
        return losses, self.tolerances(losses)

    def candidate_losses(
        self, candidates: NDArray[np.intp], judge: Judge, count: int
    ) -> tuple[Float, Float]:
        """Return mean losses with each candidate added, and tolerances of ties."""
        if self.criterion_loss.name == "squared":
            return squared_losses(self, candidates, judge, count)
        losses = row_losses(self, candidates)
        return losses, self.tolerances(losses)

    def squared_losses(self, candidates: NDArray[np.intp]) -> Float:
        """Return squared losses of candidates, (c), to break ties of the criterion's loss."""
        return squared_row_losses(self, candidates)

    @property
    def _chosen_gram(self) -> Float:
        gram = np.empty((self.size, self.size))
        for last, products in enumerate(self._products):
            gram[last, : last + 1] = gram[: last + 1, last] = products
        return gram


def _check_memory(n_splits: int, n_chosen: int, n_features: int) -> None:
    """Raise a MemoryError before a search that cannot fit, rather than during it."""
    needed = 16.0 * n_splits * n_chosen * n_features
    if needed > physical_bytes():
        raise MemoryError(
            f"{n_splits} splits of {n_features} features need {needed / 1e9:.1f} GB for a path of "
            f"{n_chosen}, more than this machine has. Use fewer folds (groups in "
            "GroupKFold(10), for instance), or ask for fewer features."
        )
