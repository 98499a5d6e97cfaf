"""Folds of rows that are on a cluster: the number of the fold of each row stays with the row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base import Float, Handle


@dataclass(frozen=True, slots=True, eq=False)
class ClusterFolds:
    """Splits that each test the rows of a fold, and train on all others."""

    ids: tuple[Handle, ...]  # for each piece, the fold of each row; −1 for none
    n_samples: int
    description: str
    counts: Float  # (K) rows of positive weight in each fold
    weights: Float  # (K) their total weight
    n_untested: int  # rows of positive weight in no fold
    is_plain: bool = False  # from a number of folds: rows in their order
    name: str = "cv"  # the parameter that they come from, for errors

    @property
    def remote(self) -> ClusterFolds:
        """The folds themselves, since their rows are in other processes."""
        return self

    @property
    def n_splits(self) -> int:
        """The number of splits, K."""
        return len(self.counts)

    @property
    def n_tested(self) -> int:
        """An upper bound of the number of tested rows."""
        return self.n_samples

    @property
    def is_partition(self) -> bool:
        """Whether every row of positive weight is tested."""
        return self.n_untested == 0

    @property
    def has_splits_within(self) -> bool:
        """Whether, with a fold left out, others have rows to train on and to test on."""
        total = self.counts.sum() + self.n_untested
        largest_two = np.sort(self.counts)[-2:].sum()
        return self.n_splits > 1 and bool(total > largest_two)

    @property
    def train_counts(self) -> Float:
        """The number of rows of positive weight that each split trains on, (K)."""
        total: Float = self.counts.sum() + self.n_untested - self.counts
        return total
