"""Row blocks: a part of the rows of X with its part of the residuals r and of d = 1 − h.

A block is a value. Questions to it are functions of a block (`_row_sums`, `_scores`, `_row_losses`,
`_at_set`, `_group_blocks`), and answers of several blocks are added up (`add_up`).
Only vectors of feature space pass between a block and the driver: z of a candidate stays where the
block is, and the driver holds a reference to it. Blocks are immutable: `begin`, `anchored`, `moved`
and `chose` return new ones. All blocks of a search are a `BlockSet`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np

from .._base import (
    HOST,
    Executor,
    Float,
    Handle,
    SerialExecutor,
    add_up,
    contiguous,
    long_call,
    namespace_of,
    to_device,
)
from .._data import Matrix
from ._columns import ColumnStore

Answer = TypeVar("Answer", bound=tuple[Any, ...])
Block = TypeVar("Block")


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows of X with their part of r (t × rows) and d (rows), after `chosen` were added."""

    X: Matrix
    y: Float  # (t × rows) the targets as given
    r: Float
    d: Float
    weights: Float | None
    root_weights: Float | None
    means: Float | None
    columns: ColumnStore
    chosen: tuple[int, ...] = ()
    anchor: Float | None = None  # (t × rows)

    @classmethod
    def from_rows(cls, X: Matrix, Y: Float, weights: Float | None) -> RowBlock:
        """Return a block before the start, in which r is the raw targets and nothing is centred."""
        root = None if weights is None else namespace_of(weights).sqrt(weights)
        y, d = contiguous(Y.T), X.location.ones(X.shape[0])
        return cls(X, y, y, d, weights, root, None, ColumnStore(X, root, None, 0))

    def separate(self, count: int) -> RowBlock:
        """Return the block for a search with a store of chosen columns of its own."""
        return replace(self, columns=self.columns.attached(self.X, count))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.d.shape[0])

    def begin(
        self,
        target_means: Float,
        means: Float | None,
        total_weight: float | None,
        spare_bytes: float,
    ) -> RowBlock:
        """Return the block at the empty model; a total weight means that there is an intercept.

        `spare_bytes` is the memory for kept columns, in bytes per row.
        """
        location = self.X.location
        (centre,) = to_device(location, target_means)
        r = self.r - centre[:, None]
        d = location.ones(self.n_rows)
        if means is not None and isinstance(means, np.ndarray):
            (means,) = to_device(location, means)
        if total_weight is not None:
            d -= (1.0 if self.weights is None else self.weights) / total_weight
        if self.weights is not None:
            # A row of weight 0 has r = z = 0 whatever the feature, and any d will do: this one is
            # neither the largest nor the smallest, which bound the losses of candidates.
            d[self.weights == 0.0] = 0.5
        if self.root_weights is not None:
            r *= self.root_weights
        columns = ColumnStore(self.X, self.root_weights, means, spare_bytes * self.n_rows)
        return replace(self, r=r, d=d, means=means, columns=columns)

    def anchored(self) -> RowBlock:
        """Return the block with g = ω∘r as its new anchor."""
        return replace(self, anchor=self.r / (self.d * self.d))

    def piece(self, rows: slice, X: Matrix) -> RowBlock:
        """Return a slice of the rows as a block whose X is in memory."""

        def cut(vector: Float | None) -> Float | None:
            return None if vector is None else vector[rows]

        return replace(
            self,
            X=X,
            y=self.y[:, rows],
            r=self.r[:, rows],
            d=self.d[rows],
            weights=cut(self.weights),
            root_weights=cut(self.root_weights),
            columns=self.columns.piece(X, rows),
            anchor=None if self.anchor is None else self.anchor[:, rows],
        )

    def pieces(self) -> Iterator[tuple[slice, RowBlock]]:
        """Yield slices of the rows with blocks whose X is in memory, one at a time: one pass."""
        if self.X.is_in_memory:
            yield slice(0, self.n_rows), self
        else:
            for rows, chunk in self.X.chunks():
                yield rows, self.piece(rows, chunk)

    def over_chunks(self, question: Callable[[RowBlock], Answer]) -> Answer:
        """Add up the answers of chunks of the rows, which are in memory one at a time."""
        return add_up(question(piece) for _, piece in self.pieces())

    def advance(
        self, z: Float, index: int, delta: float, rho: Float, along: Float | None
    ) -> RowBlock:
        """Return the block with the feature added."""
        return self.moved(z, delta, rho, along).chose(index)

    def moved(self, z: Float, delta: float, rho: Float, along: Float | None) -> RowBlock:
        """Apply r ← r − z ρ, h ← h + z²/δ, a ← a − z (a·z)/‖z‖²; call `chose` next."""
        r, d, anchor = self.r - rho[:, None] * z, self.d - (z * z) / delta, self.anchor
        if anchor is not None and along is not None:
            anchor = anchor - along[:, None] * z
        return replace(self, r=r, d=d, anchor=anchor)

    def chose(self, index: int, column: Float | None = None) -> RowBlock:
        """Return a moved block with the feature added to `chosen`, and keep its column."""
        self.columns.keep(index, column)
        return replace(self, chosen=(*self.chosen, index))

    def filled_weights(self) -> Float:
        """Return w (rows), which is 1 without weights."""
        return np.ones(len(self.d)) if self.weights is None else self.weights

    def positive_root(self) -> Float:
        """Return √w, and 1 for rows of weight 0, which no loss counts."""
        root = self.root_weights
        return np.ones(len(self.d)) if root is None else np.where(root > 0.0, root, 1.0)


class BlockSet(Generic[Block]):
    """The interface of a search to its row blocks, wherever they are."""

    feature_location = HOST  # where vectors of n features are

    def __init__(
        self,
        blocks: Iterable[Handle],
        shape: tuple[int, int],
        executor: Executor | None = None,
    ) -> None:
        self._blocks = list(blocks)
        self._executor: Executor = SerialExecutor() if executor is None else executor
        self._rows, self._n_features = shape
        self.passes = 0
        self.exact_evaluations = 0

    def fork(self, count: int = 0) -> Self:
        """The same rows for another search; blocks are values, and share their columns.

        `count` is the expected number of chosen features.
        """
        other = copy.copy(self)
        other.passes = other.exact_evaluations = 0
        return other

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The current blocks, or references to them if they are in other processes."""
        return tuple(self._blocks)

    def total(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> Any:
        """Sum the results of all blocks; `parts` are further arguments, one item per block."""
        return self._executor.total(question, self._blocks, *parts)

    def each(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> list[Handle]:
        """Return the result of each block; `parts` are further arguments, one item per block."""
        return self._executor.each(question, self._blocks, *parts)

    def become(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> None:
        """Replace every block by its answer to a question."""
        self._blocks = self.each(question, *parts)

    def _pass(self, count: int) -> AbstractContextManager[None]:
        """Allow BLAS threads for products of X with vectors, unless the blocks have threads."""
        is_serial = isinstance(self._executor, SerialExecutor)
        return long_call(float(count) * self._rows * self._n_features if is_serial else 0.0)
