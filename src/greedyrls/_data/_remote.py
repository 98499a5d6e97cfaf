"""X on a cluster: what the driver knows of data that it never holds.

The rows are cut into pieces that stay where they are. The driver has handles of them, to which an
executor puts questions, and knows how many rows each has.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .._base import Executor, Handle
from ._matrix import Matrix


class RemoteMatrix(Matrix):
    """The shape of X, and handles of its pieces (`_cluster.Piece`) with their y and weights."""

    noun = "on a cluster"

    def __init__(
        self,
        *,
        executor: Executor,
        pieces: tuple[Handle, ...],
        counts: tuple[int, ...],  # rows of each piece
        n_features: int,
        dtype: np.dtype[Any],
        nbytes: int,
        is_sparse: bool,
        n_targets: int,
        single_target: bool,  # whether y has one dimension
        is_weighted: bool,
        n_weighted: int,  # rows that have a weight
        classes: NDArray[Any] | None,  # of a classification: the pieces know that of each row
        feature_names: tuple[str, ...] | None,
    ) -> None:
        self.executor = executor
        self.pieces = pieces
        self.counts = counts
        self.n_features = n_features
        self._dtype = dtype
        self._nbytes = nbytes
        self.is_sparse = is_sparse
        self.n_targets = n_targets
        self.single_target = single_target
        self.is_weighted = is_weighted
        self.n_weighted = n_weighted
        self.classes = classes
        self.feature_names = feature_names

    @property
    def remote(self) -> RemoteMatrix:
        """The handles of its rows."""
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples m and of features n."""
        return sum(self.counts), self.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers as given."""
        return self._dtype

    @property
    def nbytes(self) -> int:
        """The size of all pieces in bytes."""
        return self._nbytes

    def reweighted(self, pieces: tuple[Handle, ...], n_weighted: int) -> RemoteMatrix:
        """The same rows with other weights, which pieces of as many rows have."""
        other = copy.copy(self)
        other.pieces, other.is_weighted, other.n_weighted = pieces, True, n_weighted
        return other

    def columns(self, indices: Any, rows: Any = slice(None)) -> NoReturn:
        """Not here."""
        raise _not_here("columns")

    def chunks(self) -> NoReturn:
        """Not here."""
        raise _not_here("chunks")

    @abstractmethod
    def row_block_handles(self) -> list[Handle]:
        """Row blocks of all pieces, where these are."""

    @abstractmethod
    def fold_block_handles(
        self, ids: tuple[Handle, ...], n_splits: int, is_partition: bool
    ) -> list[Handle]:
        """Row blocks for folds, where the pieces are; `ids` are the folds of their rows."""

    @abstractmethod
    def non_finite_value(self) -> tuple[int, int, float] | None:
        """Row, column and value of one that is not finite."""

    def stand_ins(self) -> tuple[Any, Any]:
        """For y and the weights, which are not here."""
        m, _ = self.shape
        return RemoteArray(m, self.n_targets), RemoteArray(m) if self.is_weighted else None

    def check_options(self, memory_limit: Any, device: Any) -> None:
        """Errors for options of data that are here."""
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


class RemoteArray:
    """Stands for an array whose rows are on a cluster: it has a shape, and nothing else."""

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
