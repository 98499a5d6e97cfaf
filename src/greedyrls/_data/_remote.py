"""X on a cluster, as seen by the driver, which never holds the data.

The rows are divided into pieces that stay where they are. The driver has references to them, which
it passes to an executor, and knows the number of rows of each.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, NoReturn, Protocol

from numpy.typing import NDArray

from .._base import Executor, Float, Handle
from ._file_sources import Source
from ._matrix import Matrix


class RemoteRows(Source, Protocol):
    """The pieces of X, which can also be read like a file."""

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of rows of each piece."""

    @property
    def nbytes(self) -> int:
        """The size of all pieces in bytes."""

    @property
    def is_sparse(self) -> bool:
        """Whether all pieces are sparse."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns, if they have any."""


class RemoteMatrix(Matrix):
    """The shape of X and references to its pieces (`_cluster.Piece`), with their y and weights."""

    noun = "on a cluster"

    def __init__(
        self,
        *,
        executor: Executor,
        pieces: tuple[Handle, ...],
        rows: RemoteRows,
        n_targets: int,
        single_target: bool,  # whether y has one dimension
        is_weighted: bool,
        n_weighted: int,  # number of rows of positive weight
        classes: NDArray[Any] | None,  # of a classification: the pieces have the class of each row
    ) -> None:
        self.executor = executor
        self.pieces = pieces
        self.rows = rows
        self.shape, self.dtype, self.counts = rows.shape, rows.dtype, rows.counts
        self.is_sparse = rows.is_sparse
        self.n_targets = n_targets
        self.single_target = single_target
        self.is_weighted = is_weighted
        self.n_weighted = n_weighted
        self.classes = classes
        self.feature_names = rows.feature_names

    @property
    def remote(self) -> RemoteMatrix:
        """This matrix, which has references to its rows."""
        return self

    @property
    def nbytes(self) -> int:
        """The size of all pieces in bytes."""
        return self.rows.nbytes

    def reweighted(self, pieces: tuple[Handle, ...], n_weighted: int) -> RemoteMatrix:
        """Return the same rows with other weights, in pieces of the same sizes."""
        other = copy.copy(self)
        other.pieces, other.is_weighted, other.n_weighted = pieces, True, n_weighted
        return other

    def columns(self, indices: Any, rows: Any = slice(None)) -> NoReturn:
        """Raise an error: the values are not in this process."""
        raise _not_here("columns")

    def chunks(self) -> NoReturn:
        """Raise an error: the values are not in this process."""
        raise _not_here("chunks")

    @abstractmethod
    def row_block_handles(self) -> list[Handle]:
        """Return references to row blocks of all pieces."""

    @abstractmethod
    def fold_block_handles(
        self, ids: tuple[Handle, ...], n_splits: int, is_partition: bool
    ) -> list[Handle]:
        """Return references to row blocks for folds; `ids` are the folds of their rows."""

    @abstractmethod
    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Return row, column and value of one that is not finite, or None."""

    def stand_ins(self) -> tuple[Any, Any]:
        """Return placeholders for y and the weights, which are not in this process."""
        m, _ = self.shape
        return RemoteArray(m, self.n_targets), RemoteArray(m) if self.is_weighted else None

    @abstractmethod
    def here(self) -> tuple[Matrix, Float, Float | None]:
        """Return X as a matrix that fetches rows when needed, with y (m × t) and the weights."""


class RemoteArray:
    """Placeholder for an array whose rows are on a cluster; it has a shape, but no values."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getattr__(self, name: str) -> NoReturn:
        raise _not_here(name)


def _not_here(name: str) -> AttributeError:
    return AttributeError(
        f"The rows are on a cluster, and this operation ({name}) needs them in memory. Load the "
        "data first (X.compute())."
    )


def check_remote_options(memory_limit: Any, device: Any) -> None:
    """Raise an error for options that a Dask collection does not take."""
    if memory_limit is not None:
        raise ValueError(
            f"memory_limit is for X in a file, got {memory_limit!r}; X is a Dask collection, "
            "and Dask's workers have limits of their own."
        )
    if device is not None:
        raise ValueError(
            f"device is for X in memory, got {device!r}; X is a Dask collection. Load it "
            "(X.compute()), or leave device out."
        )
