"""X on a cluster: what the driver knows of data that it never holds.

The rows are cut into pieces that stay where they are. The driver has handles of them, which a crew
puts questions to, and knows how many rows each has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .._base import Crew, Handle


@dataclass(frozen=True, slots=True, eq=False)
class ClusterMatrix:
    """The shape of X, and handles of its pieces (`_pieces.Piece`) with their y and weights."""

    crew: Crew
    pieces: tuple[Handle, ...]
    counts: tuple[int, ...]  # rows of each piece
    n_features: int
    dtype: np.dtype[Any]
    nbytes: int
    is_sparse: bool
    n_targets: int
    single_target: bool  # whether y has one dimension
    is_weighted: bool
    n_weighted: int  # rows that have a weight
    classes: NDArray[Any] | None  # of a classification: the pieces know that of each row
    feature_names: tuple[str, ...] | None
    shape: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", (sum(self.counts), self.n_features))

    def stand_ins(self) -> tuple[Any, Any]:
        """For y and the weights, which are not here."""
        m, _ = self.shape
        return Elsewhere(m, self.n_targets), Elsewhere(m) if self.is_weighted else None

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


class Elsewhere:
    """Stands for an array whose rows are on a cluster: it has a shape, and nothing else."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"The rows are on a cluster, and this needs them here ({name}). Load the data into "
            "memory (X.compute()) for it."
        )


def is_dask(X: Any) -> bool:
    """Whether it is a Dask array or data frame; Dask is not imported for that."""
    root = type(X).__module__.split(".")[0]
    return root in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")
