"""The matrix protocol: X as the engine asks for it, wherever its numbers are.

A kind of X is a subclass of `Matrix`. It says what it can do by traits, and the engine asks for
traits, never for types. A new kind needs `shape`, `dtype`, `columns` and `chunks`; all other verbs
have a default in terms of these, which a kind replaces where it knows something faster.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._base import HOST, LEAST_TILE_ROWS, ArrayLocation, Float

if TYPE_CHECKING:
    from ._file_memory import Needs, Room
    from ._kernel_matrix import KernelMatrix
    from ._remote import RemoteMatrix

Rows = slice | NDArray[np.intp]
Answer = TypeVar("Answer")
# Elements of X sorted by set at a time: each set's share should still be a matrix product worth
# its name.
SET_ELEMENTS = 1 << 22
# Rows multiplied at a time with gathered columns: enough for a matrix product to run at speed.
PRODUCT_ROWS = 4096


# What to do about data on a device that an option does not support.
AS_NUMPY = (
    "pass X, y and sample_weight as NumPy arrays (X.cpu().numpy() of a tensor, X.get() of a CuPy "
    "array), without device="
)


class NotOnDevice(ValueError):
    """Something that is not supported with data on a device."""


def not_on_device(what: str) -> ValueError:
    """The error for a verb that matrices on a device do not have."""
    return NotOnDevice(f"{what} is not supported with X on a device; {AS_NUMPY}.")


class Matrix(ABC):
    """X (m × n) for one search or several."""

    # Traits: what a kind of X declares, here and in the properties below
    # Where vectors that go with X live: namespace and device.
    location: ArrayLocation = HOST
    # Where it is, in messages: "X is in a file", "not supported with X in a file".
    noun: str = "in memory"
    # Most values are 0: products cost O(nnz), some rows of it are sparse again, nothing is shifted.
    is_sparse: bool = False
    # All values are in memory, where vectors that go with X live: any rows can be taken.
    is_in_memory: bool = False
    # A pass over X takes far longer than arithmetic with it: it is read, sent or computed. Columns
    # that would cost one (`missing`) are taken along in passes that are made anyway.
    passes_dominate: bool = False
    # Columns of chosen features are kept by X itself, within the memory it may use.
    keeps_columns: bool = False
    # X computes with threads of its own.
    has_own_threads: bool = False
    # Memory for columns of chosen features in bytes; None: a share of the size of X.
    column_bytes: int | None = None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The number of samples m and of features n."""

    @property
    @abstractmethod
    def dtype(self) -> Any:
        """The type of the numbers as given."""

    @property
    def nbytes(self) -> int:
        """The size of all of X in bytes, were it dense and in memory."""
        m, n = self.shape
        return int(m * n * np.dtype(self.dtype).itemsize)

    def __len__(self) -> int:
        return self.shape[0]

    def __sizeof__(self) -> int:
        """What schedulers of clusters count for it."""
        return self.nbytes

    @property
    def remote(self) -> RemoteMatrix | None:
        """Handles of its rows, if these are in other processes, which are asked for sums."""
        return None

    @property
    def centers(self) -> KernelMatrix | None:
        """The kernel and its centres, if columns are k(·, c_i) and the penalty is of functions."""
        return None

    @property
    def device_array(self) -> Any:
        """The array itself, if kernels of a device may read it."""
        return None

    @property
    def is_in_host_memory(self) -> bool:
        """Whether NumPy can read its values as they lie."""
        return True

    @property
    def memory(self) -> Room | None:
        """How the memory it may use is shared out; None if it is not limited."""
        return None

    @property
    def vectors_at_a_time(self) -> int:
        """How many vectors `product` is given at a time."""
        return sys.maxsize

    @property
    def n_kept(self) -> int:
        """How many columns X keeps that would cost a pass."""
        return 0

    @property
    def passes(self) -> int:
        """How often X was read or sent as a whole, if that is what takes time."""
        return 0

    @property
    def on_device(self) -> bool:
        """Whether vectors that go with X live on a device."""
        return self.location.on_device

    # Verbs

    @abstractmethod
    def columns(self, indices: Any, rows: Any = slice(None)) -> Float:
        """Some columns as float64, one per row of the result, all rows or some.

        The caller may overwrite the result.
        """

    @abstractmethod
    def chunks(self) -> Iterator[tuple[slice, Matrix]]:
        """All rows in order, as matrices in memory, with the rows that each has: one pass."""

    def product(self, V: Float) -> Float:
        """V (c × m) times X, (c × n), accumulated in float64, X read once."""
        result = self.location.zeros((V.shape[0], self.shape[1]))
        for rows, chunk in self.chunks():
            result += chunk.product(V[:, rows])
        return result

    def start_sums(self, V: Float, weights: Float | None) -> tuple[Float, Float]:
        """V X and the weighted sums of squares of the columns, in one pass."""
        products = self.location.zeros((V.shape[0], self.shape[1]))
        squares = self.location.zeros(self.shape[1])
        for rows, chunk in self.chunks():
            own = None if weights is None else weights[rows]
            some, square = chunk.start_sums(V[:, rows], own)
            products += some
            squares += square
        return products, squares

    def single(self, index: int) -> Float:
        """One column as float64, (m); not to be overwritten."""
        column: Float = self.columns(np.array([index]))[0]
        return column

    def part(self, rows: Rows, indices: NDArray[np.intp] | None = None) -> NDArray[Any]:
        """Some rows of some columns (or of all), (rows × c), as float64 or in its own type."""
        every = np.arange(self.shape[1]) if indices is None else indices
        return self.columns(every, rows).T

    def ordered_part(
        self, rows: NDArray[np.intp], indices: NDArray[np.intp] | None
    ) -> tuple[NDArray[Any], bool]:
        """`part` in the memory order of X, and whether rows lie together there."""
        return self.part(rows, indices), False

    def take(self, rows: Rows) -> Matrix:
        """Some rows, as a view where they are a slice."""
        raise ValueError(
            f"This would copy rows of X, which is {self.noun}, into memory. Pass X as an array if "
            "it fits, or a part of it."
        )

    def sample_rows(self, weights: Float, count: int) -> Any:
        """About as many rows of those that have a weight, to guess means from; None: they are 0."""
        return self.part(slice(0, min(count, self.shape[0])))

    def column_numbers(self, indices: NDArray[np.intp]) -> Any:
        """Indices as `columns` takes them without moving them."""
        return indices

    def first_non_finite(self) -> tuple[int, int] | None:
        """Row and column of a value that is NaN or infinite."""
        for rows, chunk in self.chunks():
            found = chunk.first_non_finite()
            if found is not None:
                return rows.start + found[0], found[1]
        return None

    def value(self, row: int, column: int) -> float:
        """A single value."""
        return float(self.columns(np.array([column]), slice(row, row + 1))[0, 0])

    def entries(
        self, indices: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], Float]:
        """Rows, columns and values of all that is not 0 in some columns."""
        parts = []
        for rows, chunk in self.chunks():
            where, owners, values = chunk.entries(indices)
            parts.append((where + rows.start, owners, values))
        where, owners, values = (np.concatenate(some) for some in zip(*parts, strict=True))
        return where, owners, values

    def nonzero_counts(self) -> Float:
        """How many values of each column are not 0, (n)."""
        return self.distances(None, None)[1]

    def distances(
        self, means: Float | None, is_used: NDArray[np.bool_] | None
    ) -> tuple[Float, Float]:
        """The largest |x_i − mean_i| in the rows that are used, and how many x_i are not 0, (n)."""
        largest, count = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        for rows, chunk in self.chunks():
            own = None if is_used is None else is_used[rows]
            far, some = chunk.distances(means, own)
            np.maximum(largest, far, out=largest)
            count += some
        return largest, count

    # Passes over tiles of rows

    def map_tiles(
        self, question: Callable[[slice, Matrix], Answer], n_vectors: int
    ) -> Iterator[Answer]:
        """What `question(rows, tile)` answers for tiles of rows of a size for matrix products.

        One pass. `n_vectors` are as many as the question multiplies each tile with.
        """
        for rows, chunk in self.chunks():
            for some, tile in chunk.row_tiles(n_vectors):
                yield question(slice(rows.start + some.start, rows.start + some.stop), tile)

    def tiles_by_set(
        self, sets: Sequence[Any], shift: Float, cache: dict[int, Any]
    ) -> Iterator[tuple[int, Any, Matrix]]:
        """Number, rows and values minus the shift of the rows of each set, tile by tile: one pass.

        Sets are sorted row numbers, None for all rows; the caller may overwrite the values. What
        is the same in the next pass may be kept in `cache`.
        """
        n = self.shape[1]
        is_shifted = bool(shift.any())
        height = max(LEAST_TILE_ROWS, SET_ELEMENTS // n)
        # Memory that is used again and again needs to be made only once.
        buffer: NDArray[Any] = np.empty((0, n), dtype=self.dtype)
        for inside, chunk in self.chunks():
            for top in range(inside.start, inside.stop, height):
                end = min(inside.stop, top + height)
                # A copy if rows do not lie together.
                tile = np.ascontiguousarray(
                    chunk.part(slice(top - inside.start, end - inside.start))
                )
                for number, own in enumerate(sets):
                    rows = np.arange(top, end)
                    if own is not None:
                        first, last = np.searchsorted(own, (top, end))
                        rows = own[first:last]
                    if len(rows) > len(buffer):
                        buffer = np.empty((len(rows), n), dtype=tile.dtype)
                    if len(rows):
                        some = buffer[: len(rows)]
                        taken = np.take(tile, rows - top, axis=0, out=some, mode="clip")
                        x = taken.astype(np.float64, copy=False)
                        if is_shifted:
                            x -= shift
                        yield number, rows, _dense(x)

    def row_tiles(self, n_vectors: int) -> Iterator[tuple[slice, Matrix]]:
        """Tiles of rows of a matrix in memory, of a size for products with so many vectors."""
        m = self.shape[0]
        for top in range(0, m, PRODUCT_ROWS):
            rows = slice(top, min(m, top + PRODUCT_ROWS))
            yield rows, self.take(rows)

    # Columns that cost a pass: no-ops where they do not

    def missing(self, indices: Iterable[int]) -> list[int]:
        """Those of some columns that would cost a pass."""
        return []

    def take_along(self, indices: Iterable[int]) -> None:  # noqa: B027 (most kinds need none)
        """Have the next pass, whatever it is made for, bring some columns."""

    def prefetch(self, indices: Iterable[int]) -> None:  # noqa: B027 (most kinds need none)
        """Columns that the next pass may bring as well; earlier ones are forgotten."""

    def fetch(self, indices: Iterable[int]) -> None:  # noqa: B027 (most kinds need none)
        """Have some columns at hand, by a pass if one of them is missing."""

    def pin(self, index: int) -> None:  # noqa: B027 (most kinds need none)
        """Keep the column of a chosen feature, where X keeps columns itself."""

    # Memory and threads

    def reserve(  # noqa: B027 (most kinds need none)
        self, needs: Needs, verbose: int = 0, chunk_rows: int | None = None, n_jobs: int = 1
    ) -> None:
        """Share out the memory X may use for a search; an error if it is too little."""

    def share_of_waiting(self) -> float:
        """The share of the last pass that was spent waiting for values."""
        return 0.0

    def row_blocks(self, block_rows: int | None) -> list[tuple[slice, Matrix]]:
        """X cut into blocks of at most so many rows (views); one block if it is not in memory."""
        m = self.shape[0]
        height = m if block_rows is None or not self.is_in_memory else max(1, min(m, block_rows))
        pieces = [slice(top, min(m, top + height)) for top in range(0, m, height)]
        return [(rows, self if height == m else self.take(rows)) for rows in pieces]


def _dense(values: NDArray[Any]) -> Matrix:
    # A kind of this class, whose module imports this one.
    from ._dense import DenseMatrix

    return DenseMatrix(values)
