"""X as the engine asks for it, whether it is an array, a sparse matrix or a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import HOST, Float, Place, kernels
from ._device_matrix import DeviceMatrix
from ._files import FileMatrix
from ._sparse import SparseMatrix
from ._stream import StreamedMatrix

HostMatrix = NDArray[Any] | SparseMatrix | FileMatrix
Matrix = HostMatrix | DeviceMatrix
# Whose columns cost a pass: they are taken along in those that are made anyway.
PassedMatrix = FileMatrix | StreamedMatrix
# Numbers in a line of the cache.
_LINE = 8

Rows = slice | NDArray[np.intp]


def place_of(X: Matrix) -> Place:
    """Where vectors live that go with X."""
    return X.place if isinstance(X, DeviceMatrix) else HOST


class NotOnDevice(ValueError):
    """Something that is not computed on a device."""


def not_on_device(what: str) -> ValueError:
    """The error for what is not computed there."""
    return NotOnDevice(
        f"{what} cannot be computed on a device yet; pass X, y and sample_weight as NumPy arrays "
        "(X.cpu().numpy() of a tensor, X.get() of a CuPy array), without device=."
    )


def on_host(X: Matrix) -> HostMatrix:
    """X where it must not be on a device."""
    if isinstance(X, DeviceMatrix):
        raise not_on_device("This")
    return X


def product(V: Float, X: Matrix) -> Float:
    """V (c × m) times X (m × n), accumulated in float64, X read once."""
    if isinstance(X, np.ndarray):
        return kernels.product(V, X)
    return X.product(V)


def start_sums(V: Float, X: Matrix, weights: Float | None) -> tuple[Float, Float]:
    """V X and the weighted sums of squares of the columns of X, in one pass."""
    if isinstance(X, SparseMatrix):
        return X.product(V), X.squares(weights)
    if isinstance(X, FileMatrix | DeviceMatrix):
        return X.start_sums(V, weights)
    return kernels.start_sums(V, X, weights)


def columns(X: Matrix, indices: NDArray[np.intp], rows: Rows = slice(None)) -> Float:
    """Some columns as float64, one per row of the result, all rows or some."""
    if isinstance(X, np.ndarray):
        return kernels.gather(X[rows], indices)
    if isinstance(X, DeviceMatrix):
        assert isinstance(rows, slice)
        return X.columns(indices, rows)
    return X.columns(indices, rows)


def part(X: Matrix, rows: NDArray[np.intp], indices: NDArray[np.intp]) -> Float:
    """Some rows of some columns as float64, (rows × c)."""
    X = on_host(X)
    if isinstance(X, SparseMatrix):
        return X.part(rows, indices)
    if isinstance(X, FileMatrix):
        return X.columns(indices, rows).T
    values: Float = X[np.ix_(rows, indices)].astype(np.float64)
    return values


def take(X: Matrix, rows: Rows) -> Matrix:
    """Some rows: a view where they are a slice of an array."""
    if isinstance(X, DeviceMatrix):
        if not isinstance(rows, slice):
            raise not_on_device("selections on some of the rows")
        return X.take(rows)
    return X[rows] if isinstance(X, np.ndarray) else X.take(rows)


def first_non_finite(X: Matrix) -> tuple[int, int] | None:
    """Row and column of a value that is NaN or infinite."""
    if isinstance(X, np.ndarray):
        return kernels.first_non_finite(X)
    return X.first_non_finite()


def value(X: Matrix, row: int, column: int) -> float:
    """A single value."""
    if isinstance(X, SparseMatrix):
        return float(X.part(np.array([row]), np.array([column]))[0, 0])
    if isinstance(X, FileMatrix):
        return float(X.rows(row, row + 1)[0, column])
    if isinstance(X, DeviceMatrix):
        return X.value(row, column)
    return float(X[row, column])


def rows_and_columns(
    X: Matrix, rows: NDArray[np.intp], indices: NDArray[np.intp] | None
) -> tuple[NDArray[Any], bool]:
    """Some rows of some columns (or all) of X, (rows × c), in its memory order.

    Also whether rows lie together there.
    """
    X = on_host(X)
    if isinstance(X, SparseMatrix):
        return X.part(rows, indices), True
    if isinstance(X, FileMatrix):
        every = np.arange(X.shape[1]) if indices is None else indices
        return X.columns(every, rows).T, False
    by_rows = abs(X.strides[0]) >= abs(X.strides[1])
    if indices is None:
        taken = X[rows] if by_rows else X.T[:, rows].T
    elif not by_rows:
        taken = X.T[np.ix_(indices, rows)].T
    elif _LINE * len(indices) < X.shape[1]:
        taken = X[np.ix_(rows, indices)]
    else:  # whole rows, rather than jump to nearly every cache line of them
        taken = np.take(X[rows], indices, axis=1)
    return taken, by_rows


def entries_of(
    X: Matrix, indices: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], Float]:
    """Rows, columns and values of all that is not 0 in some columns."""
    X = on_host(X)
    if isinstance(X, SparseMatrix):
        return X.entries(indices)
    if isinstance(X, FileMatrix):
        raise TypeError("a file has no entries to look for")
    support = [np.flatnonzero(X[:, column]) for column in indices]
    where = np.concatenate([np.empty(0, dtype=np.intp), *support])
    owners = np.repeat(indices, [len(places) for places in support])
    return where, owners, X[where, owners].astype(np.float64)
