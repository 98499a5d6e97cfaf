"""The matrix protocol: the operations on X that the engine needs, however X is stored.

A kind of X is a subclass of `Matrix`. It declares its capabilities by traits, and the engine checks
traits, never types. A new kind needs `shape`, `dtype`, `columns` and `chunks`; all other methods
have a default in terms of these, which a kind overrides if it has a faster way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._base import (
    DEVICE_ELEMENTS,
    HOST,
    LEAST_TILE_ROWS,
    ArrayLocation,
    Float,
    as_float,
    numbers_on,
    slices,
)
from ._kept_columns import KeptColumns

if TYPE_CHECKING:
    from ._device_matrix import DeviceMatrix
    from ._file_memory import Needs, Room
    from ._kernel_matrix import KernelMatrix
    from ._remote import RemoteMatrix

Rows = slice | NDArray[np.intp]
Answer = TypeVar("Answer")
# Elements of X sorted by set at a time: large enough for efficient matrix products of each set.
SET_ELEMENTS = 1 << 22
# Rows multiplied at a time by gathered columns: enough for an efficient matrix product.
PRODUCT_ROWS = 4096


class Matrix(ABC):
    """X (m × n) for one search or several."""

    # The number of samples m and of features n.
    shape: tuple[int, int]
    # The type of the values of X.
    dtype: Any

    # Traits that a kind of X declares, here and in the properties below
    # Namespace and device of the vectors that are combined with X.
    location: ArrayLocation = HOST
    # Where X is, for messages: "X is in a file", "not supported with X in a file".
    noun: str = "in memory"
    # Most values are 0: products cost O(nnz), rows are sparse again, and X is never shifted.
    is_sparse: bool = False
    # All values are in memory at `location`: any rows can be taken.
    is_in_memory: bool = False
    # Reading, sending or computing X takes far longer than arithmetic with it. Columns that would
    # cost a pass (`kept.missing`) are fetched in passes that are made anyway.
    passes_dominate: bool = False
    # X itself keeps the columns of chosen features, within its memory limit.
    keeps_columns: bool = False
    # Products of all rows with vectors need no tiles.
    is_whole_tile: bool = False
    # X uses threads of its own.
    has_own_threads: bool = False
    # Bytes that X may take in memory; None: no limit.
    memory_limit: int | None = None
    # Memory for columns of chosen features in bytes; None: a share of the size of X.
    column_bytes: int | None = None
    # The columns that X keeps, and requests to its next pass.
    kept: KeptColumns = KeptColumns()
    # The device array if kernels may read it, else None.
    device_array: Any = None
    # The array in memory if compiled code may read it, else None.
    host_array: NDArray[Any] | None = None
    # Rows read, sent or computed so far, if passes dominate the time.
    rows_read: int = 0
    # The share of the last pass that was spent waiting for values.
    share_of_waiting: float = 0.0

    @property
    def nbytes(self) -> int:
        """The size of X in bytes as a dense array in memory."""
        m, n = self.shape
        return int(m * n * np.dtype(self.dtype).itemsize)

    def __sizeof__(self) -> int:
        """Return the size that schedulers of clusters use."""
        return self.nbytes

    @property
    def remote(self) -> RemoteMatrix | None:
        """The matrix of references to its rows if these are in other processes, else None."""
        return None

    @property
    def device(self) -> DeviceMatrix | None:
        """The matrix on a device that computes products with X; None if the processor does."""
        return None

    @property
    def centers(self) -> KernelMatrix | None:
        """The kernel matrix if columns are k(·, c_i) and the penalty is on functions, else None."""
        return None

    @property
    def memory(self) -> Room | None:
        """The division of the memory that X may use; None if it is not limited."""
        return None

    # Operations

    @abstractmethod
    def columns(self, indices: Any, rows: Any = slice(None)) -> Float:
        """Return columns as float64, one per row of the result, for all rows or some.

        The caller may overwrite the result.
        """

    @abstractmethod
    def chunks(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield all rows in order, as matrices in memory with their slices of rows: one pass."""

    def sums(self, V: Float, weights: Float | None, with_squares: bool) -> tuple[Float, Float]:
        """Return V X (c × n) in float64, and sums of squares of the columns (n), in one pass.

        V is (c × m). The squares are weighted, and undefined unless `with_squares`.
        """
        products = self.location.zeros((V.shape[0], self.shape[1]))
        squares = self.location.zeros(self.shape[1])
        for rows, chunk in self.chunks():
            chunk_weights = None if weights is None else weights[rows]
            product, square = chunk.sums(V[:, rows], chunk_weights, with_squares)
            products += product
            if with_squares:
                squares += square
        return products, squares

    def part(self, rows: Rows, indices: NDArray[np.intp] | None = None) -> NDArray[Any]:
        """Return rows of some columns (or all), (rows × c), as float64 or in the type of X."""
        every = np.arange(self.shape[1]) if indices is None else indices
        return self.columns(every, rows).T

    def take(self, rows: Rows) -> Matrix:
        """Return rows as a matrix, which is a view if they are a slice.

        They are ascending. Matrices in memory copy them, others have a view.
        """
        # Imported here because its module imports this one.
        from ._views import RowsOf

        return RowsOf(self, np.arange(self.shape[0])[rows])

    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Return row, column and value of a NaN or infinite value, or None."""
        for rows, chunk in self.chunks():
            position = chunk.first_non_finite()
            if position is not None:
                return rows.start + position[0], *position[1:]
        return None

    def entries(
        self, indices: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], Float]:
        """Return rows, columns and values of the nonzero values of some columns."""
        parts = []
        for rows, chunk in self.chunks():
            where, owners, values = chunk.entries(indices)
            parts.append((where + rows.start, owners, values))
        where, owners, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return where, owners, values

    def distances(
        self, means: Float | None, is_used: NDArray[np.bool_] | None
    ) -> tuple[Float, Float]:
        """Return the largest |x_i − mean_i| of the used rows and the number of nonzero x_i, (n)."""
        largest, count = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        for rows, chunk in self.chunks():
            chunk_used = None if is_used is None else is_used[rows]
            far, nonzero = chunk.distances(means, chunk_used)
            np.maximum(largest, far, out=largest)
            count += nonzero
        return largest, count

    # Passes over tiles of rows

    def map_tiles(
        self, question: Callable[[slice, Matrix], Answer], n_vectors: int
    ) -> Iterator[Answer]:
        """Yield `question(rows, tile)` for tiles of rows sized for matrix products.

        This is one pass. `n_vectors` is the number of vectors that multiply each tile.
        """
        if self.is_whole_tile:
            yield question(slice(0, self.shape[0]), self)
            return
        for rows, chunk in self.chunks():
            for part, tile in _row_tiles(chunk, n_vectors):
                yield question(slice(rows.start + part.start, rows.start + part.stop), tile)

    def tiles_by_set(
        self, sets: Sequence[Any], shift: Float, cache: dict[int, Any]
    ) -> Iterator[tuple[int, Any, Matrix]]:
        """Yield number, rows and values minus the shift of each set, tile by tile: one pass.

        Sets are sorted row numbers, None for all rows; the caller may overwrite the values.
        `cache` may hold what is the same in the next pass.
        """
        n = self.shape[1]
        is_shifted = bool(shift.any())
        height = max(LEAST_TILE_ROWS, SET_ELEMENTS // n)
        # The buffer is allocated once and reused.
        buffer: NDArray[Any] = np.empty((0, n), dtype=self.dtype)
        for inside, chunk in self.chunks():
            for top in range(inside.start, inside.stop, height):
                end = min(inside.stop, top + height)
                # A copy unless X is in C order.
                tile = np.ascontiguousarray(
                    chunk.part(slice(top - inside.start, end - inside.start))
                )
                for number, members in enumerate(sets):
                    rows = np.arange(top, end)
                    if members is not None:
                        first, last = np.searchsorted(members, (top, end))
                        rows = members[first:last]
                    if len(rows) > len(buffer):
                        buffer = np.empty((len(rows), n), dtype=tile.dtype)
                    if len(rows):
                        target = buffer[: len(rows)]
                        taken = np.take(tile, rows - top, axis=0, out=target, mode="clip")
                        x = taken.astype(np.float64, copy=False)
                        if is_shifted:
                            x -= shift
                        yield number, rows, _dense(x)

    # Columns, memory and threads

    def fetch(self, indices: Iterable[int]) -> None:  # noqa: B027 (most kinds need none)
        """Make columns available, by a pass if one of them is missing."""

    def reserve(  # noqa: B027 (most kinds need none)
        self, needs: Needs, verbose: int = 0, chunk_rows: int | None = None, n_jobs: int = 1
    ) -> None:
        """Divide the memory that X may use for a search; raise an error if it is too little."""


def whole_sets(
    X: Matrix, sets: Sequence[Any], cache: dict[int, Any]
) -> Iterator[tuple[int, Any, Matrix]]:
    """Yield number, rows and values of each set, all its rows at once, which `cache` keeps."""
    for number, members in enumerate(sets):
        if number not in cache:
            cache[number] = X if members is None else X.take(members)
        yield number, np.arange(X.shape[0]) if members is None else members, cache[number]


def product(X: Matrix, V: Float) -> Float:
    """Multiply V (c × m) by X in float64, (c × n), reading X once."""
    return X.sums(V, None, False)[0]


def columns_once(X: Matrix, indices: NDArray[np.intp], rows: Rows = slice(None)) -> Float:
    """Return columns as `X.columns` does; those that cost a pass are read by one, and not kept."""
    if not (X.keeps_columns and X.kept.missing(indices.tolist())):
        return X.columns(indices, rows)
    order = np.arange(X.shape[0])[rows]
    result = np.empty((len(indices), len(order)))
    for inside, chunk in X.chunks():
        (where,) = ((order >= inside.start) & (order < inside.stop)).nonzero()
        result[:, where] = chunk.columns(indices, order[where] - inside.start)
    return result


def pin_column(X: Matrix, index: int) -> None:
    """Keep the column of a chosen feature, if X keeps columns itself."""
    if X.keeps_columns:
        X.fetch([index])
        X.kept.pin(index)


def passes_over(X: Matrix) -> int:
    """Return the number of passes over X so far, if these dominate the time."""
    return -(-X.rows_read // X.shape[0])


def column_numbers(X: Matrix, indices: NDArray[np.intp]) -> Any:
    """Return indices in the form that `columns` uses without a transfer."""
    return indices if X.device_array is None else numbers_on(X.location, indices)


def single_column(X: Matrix, index: int) -> Float:
    """Return one column as float64, (m), which must not be overwritten."""
    if X.device_array is not None:
        return as_float(X.device_array[:, index])  # without a transfer
    column: Float = X.columns(np.array([index]))[0, :]
    return column


def _row_tiles(X: Matrix, n_vectors: int) -> Iterator[tuple[slice, Matrix]]:
    """Yield tiles of rows of a matrix in memory, sized for products with so many vectors."""
    m, height = X.shape[0], PRODUCT_ROWS
    if X.is_sparse:
        height = max(1, m)  # slicing rows of a sparse X is slow
    elif X.location.on_device:
        height = max(PRODUCT_ROWS, DEVICE_ELEMENTS // max(1, n_vectors))
    for rows in slices(m, height):
        yield rows, X if height >= m else X.take(rows)


def _dense(values: NDArray[Any]) -> Matrix:
    # Imported here because its module imports this one.
    from ._dense import DenseMatrix

    return DenseMatrix(values)
