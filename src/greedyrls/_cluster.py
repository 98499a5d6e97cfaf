"""X on a cluster: what the driver knows of data that it never holds.

The rows are cut into pieces that stay where they are. The driver has handles of them, which a crew
puts questions to, and knows how many rows each has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from ._crew import Crew, Handle


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
    has_labels: bool  # whether the pieces know the class of each row
    n_weighted: int  # rows that have a weight
    shape: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", (sum(self.counts), self.n_features))


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
