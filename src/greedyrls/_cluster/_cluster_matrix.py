"""X on a cluster, as pieces of rows that answer questions where they are."""

from __future__ import annotations

from .._base import Handle, ask
from .._data import RemoteMatrix
from ._pieces import Piece


class ClusterMatrix(RemoteMatrix):
    """X in pieces (`Piece`), asked by the executor of a Dask client."""

    def row_block_handles(self) -> list[Handle]:
        """Row blocks of all pieces, where these are."""
        return self.executor.each(ask(Piece.row_block), self.pieces)

    def fold_block_handles(
        self, ids: tuple[Handle, ...], n_splits: int, is_partition: bool
    ) -> list[Handle]:
        """Row blocks for folds, where the pieces are; `ids` are the folds of their rows."""
        return self.executor.each(ask(Piece.fold_block, n_splits, is_partition), self.pieces, ids)

    def non_finite_value(self) -> tuple[int, int, float] | None:
        """Row, column and value of one that is not finite."""
        top = 0
        answers = self.executor.answers(ask(Piece.first_non_finite), self.pieces)
        for rows, place in zip(self.counts, answers, strict=True):
            if place is not None:
                return top + place[0], place[1], place[2]
            top += rows
        return None
