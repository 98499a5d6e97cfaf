"""Folds of rows that are not in this process."""

from __future__ import annotations

from typing import Protocol

from .._base import Handle


class RemoteFolds(Protocol):
    """Folds of rows that are on a cluster, where the fold of each row stays with the row."""

    @property
    def ids(self) -> tuple[Handle, ...]:
        """Of each piece of the rows the fold of each row, −1 for none."""

    @property
    def n_splits(self) -> int:
        """K."""

    @property
    def n_tested(self) -> int:
        """How many rows are tested, at most."""

    @property
    def is_partition(self) -> bool:
        """Whether every row that has a weight is tested."""
