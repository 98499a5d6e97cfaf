"""X on a cluster, as pieces of rows on which functions run where they are."""

from __future__ import annotations

import numpy as np

from .._base import Float, Handle, ask
from .._data import Matrix, RemoteMatrix
from ._partitions import Partitions, RowsOfCluster
from ._pieces import Piece


class ClusterMatrix(RemoteMatrix):
    """X in pieces (`Piece`), on which the executor of a Dask client runs functions."""

    rows: Partitions

    def row_block_handles(self) -> list[Handle]:
        """Return handles of the row blocks of all pieces."""
        return self.executor.each(ask(Piece.row_block), self.pieces)

    def fold_block_handles(
        self, ids: tuple[Handle, ...], n_splits: int, is_partition: bool
    ) -> list[Handle]:
        """Return handles of the row blocks for folds; `ids` are the folds of the pieces' rows."""
        return self.executor.each(ask(Piece.fold_block, n_splits, is_partition), self.pieces, ids)

    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Return row, column and value of the first value that is not finite; None if all are."""
        top = 0
        answers = self.executor.answers(ask(Piece.first_non_finite), self.pieces)
        for rows, position in zip(self.counts, answers, strict=True):
            if position is not None:
                return top + position[0], position[1], position[2]
            top += rows
        return None

    def here(self) -> tuple[Matrix, Float, Float | None]:
        """Return X as a matrix that fetches rows when needed, with y (m × t) and the weights."""
        answers = list(self.executor.answers(ask(Piece.vectors), self.pieces))
        Y, weights = (np.concatenate(parts) for parts in zip(*answers, strict=True))
        return RowsOfCluster(self.rows), Y, weights if self.is_weighted else None
