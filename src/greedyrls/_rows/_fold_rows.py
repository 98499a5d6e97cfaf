"""Sample space for folds: sums over sets of rows, added up over all blocks.

A split trains on some rows and tests on others. Feature space needs sums over both, which can be
combined: if a split trains on all rows that it does not test, its training sums are those of the
other test sets, or of all rows minus its test rows, and one pass over X serves all splits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._base import DWARFED, Array, Executor, Float, Handle, ask, to_host
from .._problem import Folds, Problem, report_non_finite
from ._answers import SetSums
from ._blocks import BlockSet
from ._fold_blocks import FoldBlock
from ._fold_sums import fold_products, fold_set_sums, rough_sums

# Columns are shifted by a rough mean if its square is this many times the variance: without, two
# digits would be lost. (A shift is cheap; `_samples._FAR` is about work for every Gram column.)
_SHIFTED = 100.0
_HERE = (np.ndarray, np.generic, float, int)


def _sums_of_others(parts: Float) -> tuple[Float, Float]:
    """Return for each part (K × …) the sum of all others, and the total (…).

    Cumulative sums from both sides are added instead of subtracting from the total: otherwise a
    large part would lose the digits of the others.
    """
    others = np.zeros_like(parts)
    np.cumsum(parts[:-1], axis=0, out=others[1:])
    total = others[-1] + parts[-1]
    if len(parts) > 1:
        others[:-1] += np.cumsum(parts[:0:-1], axis=0)[::-1]
    return others, total


def local_block(problem: Problem, folds: Folds, is_partition: bool) -> FoldBlock:
    """Return all rows of a problem in memory (or in a file) as one block."""
    # Row sets that are summed: the test rows of each split, training rows that are not the
    # complement, and all rows unless these are the sum of the test sets.
    # On a device, rows are sorted there.
    tests = tuple(
        split.tested if problem.X.location.on_device else split.test for split in folds.splits
    )
    direct = tuple(
        split.explicit_train for split in folds.splits if split.explicit_train is not None
    )
    trains = tuple(split.train for split in folds.splits) if direct else ()
    every = () if is_partition else (None,)
    return FoldBlock.from_rows(
        problem.here, problem.Y, problem.weights, (*tests, *direct, *every), trains
    )


class FoldRows(BlockSet[FoldBlock]):
    """The rows of X in blocks, with sums by split.

    `complements` says for each split whether it trains on all rows that it does not test.
    """

    def __init__(
        self,
        problem: Problem,
        blocks: Sequence[Handle],
        complements: Sequence[bool],
        is_partition: bool,
        executor: Executor | None = None,
    ) -> None:
        super().__init__(blocks, problem.X.shape, executor)
        self._problem = problem
        self.n_splits = len(complements)
        # Index of the set of training rows of each split, None if these are the complement.
        self._direct: list[int | None] = []
        self.n_sets = self.n_splits
        for is_complement in complements:
            self._direct.append(None if is_complement else self.n_sets)
            self.n_sets += not is_complement
        self._is_partition = is_partition
        self._all = self.n_sets
        self.n_sets += not is_partition
        self.shift, self.target_shift = self._shifts()
        self.become(ask(FoldBlock.begin, self.shift, self.target_shift))

    def total(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> Any:
        """Return the sum of all answers on the host; each of `parts` has an item per block."""
        answer = super().total(question, *parts)
        sums: list[Any] = list(answer)
        remote = [index for index, value in enumerate(sums) if not isinstance(value, _HERE)]
        if remote:  # on a device: in one transfer
            fetched = to_host(*(sums[index] for index in remote))
            for index, value in zip(remote, fetched, strict=True):
                sums[index] = value
        return type(answer)(*sums)

    def _shifts(self) -> tuple[Float, Float]:
        """Return rough means of y and of columns whose mean is large relative to their spread.

        Other columns get 0. A shift need not be exact to avoid cancellation.
        """
        n, t = self._problem.n_features, self._problem.n_targets
        if not self._problem.fit_intercept:
            return np.zeros(n), np.zeros(t)
        rough = self.total(rough_sums)
        with np.errstate(over="ignore", invalid="ignore"):
            means = rough.x / max(1.0, rough.rows)
            is_far = np.square(means) > _SHIFTED * (rough.xx / max(1.0, rough.rows))
        return np.where(is_far & np.isfinite(means), means, 0.0), rough.target_means

    def start(self) -> tuple[SetSums, SetSums, SetSums]:
        """Return sums over the training rows and test rows of each split, and over all rows."""
        train, test, total = self._start()
        if self._is_partition:
            return train, test, total
        lost = (total.xx > DWARFED * train.xx).any(axis=1)
        lost |= total.weight > DWARFED * train.weight
        again = [split for split in np.flatnonzero(lost).tolist() if self._direct[split] is None]
        if again:
            # The training rows of these splits become sets, now and in later passes.
            for split in again:
                self._direct[split] = self.n_sets
                self.n_sets += 1
            self.become(ask(FoldBlock.with_sets, again))
            train, test, total = self._start()
        return train, test, total

    def _start(self) -> tuple[SetSums, SetSums, SetSums]:
        self.passes += 1
        sums: SetSums = self.total(fold_set_sums)
        with np.errstate(over="ignore", invalid="ignore"):
            parts = [self.by_split(values) for values in sums]
        train, test, total = (SetSums(*column) for column in zip(*parts, strict=True))
        if not np.isfinite(total.xx).all():
            report_non_finite(self._problem)
        return train, test, total

    def products(self, indices: Sequence[int]) -> Float:
        """Return Σ w x_b x_i over each set of rows, X minus its shift, (B × sets × n): one pass."""
        (values,) = to_host(self.products_there(indices))
        return values

    def products_there(self, indices: Sequence[int]) -> Array:
        """Compute `products` without moving the result to the host."""
        self.passes += 1
        question = ask(fold_products, np.array(indices, dtype=np.intp))
        with self._pass(len(indices)):
            return super().total(question).values

    def by_split(self, values: Float) -> tuple[Float, Float, Float]:
        """Return training and test sums of each split (K × …) and the total (…), from sums over the
        sets (sets × …)."""
        test = values[: self.n_splits]
        if self._is_partition:
            train, total = _sums_of_others(test)
        else:
            total = values[self._all]
            train = total - test
        for split, number in enumerate(self._direct):
            if number is not None:
                train[split] = values[number]
        return train, test, total
