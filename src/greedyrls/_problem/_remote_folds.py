"""Folds of rows that are not in this process."""

from __future__ import annotations

from typing import Protocol

from .._base import Handle


class RemoteFolds(Protocol):
    """Folds of rows that are on a cluster, where the fold of each row stays with the row."""

    @property
    def ids(self) -> tuple[Handle, ...]:
        """For each piece, the fold of each row, or −1 for none."""

    @property
    def n_splits(self) -> int:
        """The number of splits K."""

    @property
    def n_tested(self) -> int:
        """An upper bound of the number of test rows."""

    @property
    def is_partition(self) -> bool:
        """Whether every row of positive weight is tested."""
