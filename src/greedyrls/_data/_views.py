"""Views of another matrix, without a copy: some of its rows are the default of `Matrix.take`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from ._matrix import Answer, Matrix, Rows

if TYPE_CHECKING:
    from ._file_memory import Needs, Room

# Rows that are read and thrown away rather than the reading be interrupted.
_GAP = 64
# Traits that a view has from its matrix.
_TRAITS = (
    *("shape", "dtype", "location", "noun", "is_in_memory", "passes_dominate"),
    *("keeps_columns", "has_own_threads", "kept"),
)


class View(Matrix):
    """Another matrix, in another form, which is read by the passes of that matrix."""

    def __init__(self, whole: Matrix) -> None:
        self._whole = whole
        for trait in _TRAITS:
            setattr(self, trait, getattr(whole, trait))

    @property
    def memory(self) -> Room | None:
        """The division of the memory that X may use; None if it is not limited."""
        return self._whole.memory

    # Attributes that the matrix changes while it is read, and so are looked up each time. mypy does
    # not allow a property without a setter in place of an attribute.

    @property
    def column_bytes(self) -> int | None:  # type: ignore[override]  # changes while X is read
        """Memory for columns of chosen features in bytes."""
        return self._whole.column_bytes

    @property
    def rows_read(self) -> int:  # type: ignore[override]  # changes while X is read
        """Rows of the view read so far."""
        return self._whole.rows_read * self.shape[0] // self._whole.shape[0]

    @property
    def share_of_waiting(self) -> float:  # type: ignore[override]  # changes while X is read
        """The share of the last pass that was spent waiting for values."""
        return self._whole.share_of_waiting

    def fetch(self, indices: Iterable[int]) -> None:
        """Make columns available, by a pass if one of them is missing."""
        self._whole.fetch(indices)

    def reserve(
        self, needs: Needs, verbose: int = 0, chunk_rows: int | None = None, n_jobs: int = 1
    ) -> None:
        """Divide the memory that X may use for a search; raise an error if it is too little."""
        self._whole.reserve(needs, verbose, chunk_rows, n_jobs)


class RowsOf(View):
    """Some rows of a matrix, which are read, with all others, by the passes of that matrix."""

    def __init__(self, whole: Matrix, rows: NDArray[np.intp]) -> None:
        """Return the view; `rows` are ascending, and none of them is repeated."""
        super().__init__(whole)
        self._rows = rows
        self.shape = len(rows), whole.shape[1]
        self.is_sparse = whole.is_sparse

    def columns(self, indices: Any, rows: Any = slice(None)) -> Float:
        """Return columns as float64, one per row of the result, for all rows or some."""
        return self._whole.columns(indices, self._rows[rows])

    def chunks(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield all rows in order, by one pass over the whole matrix."""
        for rows, chunk in self._whole.chunks():
            inside, part = self._within(rows, chunk)
            if part is not None:
                yield inside, part

    def sums(self, V: Float, weights: Float | None, with_squares: bool) -> tuple[Float, Float]:
        """Return V X, and the weighted sums of squares of the columns if `with_squares`.

        The other rows are multiplied by 0, which costs less than to sort them out.
        """
        count = self._whole.shape[0]
        wide, wide_weights = np.zeros((len(V), count)), np.zeros(count)
        wide[:, self._rows] = V
        wide_weights[self._rows] = 1.0 if weights is None else weights
        return self._whole.sums(wide, wide_weights, with_squares)

    def part(self, rows: Rows, indices: NDArray[np.intp] | None = None) -> NDArray[Any]:
        """Return rows of some columns (or all), (rows × c), as float64 or in the type of X."""
        taken = self._rows[rows]
        if indices is not None or not isinstance(rows, slice):
            return self._whole.part(taken, indices)
        # Rows next to each other are read without columns having to be fetched.
        runs = np.split(taken, np.flatnonzero(np.diff(taken) > _GAP) + 1)
        parts = [
            self._whole.part(slice(run[0], run[-1] + 1))[run - run[0]] for run in runs if len(run)
        ]
        return np.concatenate(parts) if parts else np.empty((0, self.shape[1]))

    def take(self, rows: Rows) -> Matrix:
        """Return some of the rows, as another view."""
        return RowsOf(self._whole, self._rows[rows])

    def map_tiles(
        self, question: Callable[[slice, Matrix], Answer], n_vectors: int
    ) -> Iterator[Answer]:
        """Yield `question(rows, tile)` for tiles of rows sized for matrix products."""

        def ask(rows: slice, tile: Matrix) -> list[Answer]:
            inside, part = self._within(rows, tile)
            return [] if part is None else [question(inside, part)]

        for answers in self._whole.map_tiles(ask, n_vectors):
            yield from answers

    def tiles_by_set(
        self, sets: Sequence[Any], shift: Float, cache: dict[int, Any]
    ) -> Iterator[tuple[int, Any, Matrix]]:
        """Yield number, rows and values minus the shift of each set, tile by tile: one pass."""
        members = [self._rows if rows is None else self._rows[rows] for rows in sets]
        for number, rows, tile in self._whole.tiles_by_set(members, shift, cache):
            yield number, np.searchsorted(self._rows, rows), tile

    def _within(self, rows: slice, tile: Matrix) -> tuple[slice, Matrix | None]:
        """Return which rows of the view a tile of the matrix has, and their values if any."""
        first, last = np.searchsorted(self._rows, (rows.start, rows.stop)).tolist()
        inside = slice(first, last)
        if last == first:
            return inside, None
        if last - first == rows.stop - rows.start:
            return inside, tile
        return inside, tile.take(self._rows[inside] - rows.start)
