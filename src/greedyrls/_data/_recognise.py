"""What a user passed as X: a matrix of the kind that fits it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy import sparse

from .._base import Array, is_foreign
from ._dense import DenseMatrix
from ._device_matrix import DeviceMatrix, as_device_matrix
from ._devices import on_device
from ._files import DataFile, as_file
from ._matrix import Matrix
from ._remote import is_dask
from ._sparse import SparseMatrix
from ._sparse_files import SparseFile

# Checks an array, a data frame or a sparse matrix, and returns it as numbers.
Check = Callable[[Any], Any]


def is_plain(X: Any) -> bool:
    """Whether scikit-learn's validation can read it: an array, a data frame or a sparse matrix."""
    return not (isinstance(X, DataFile | SparseFile | Matrix) or is_dask(X) or is_foreign(X))


def matrix_of(X: Any, memory_limit: int | str | None, check: Check) -> Matrix:
    """X in memory or in a file, as a matrix of NumPy's numbers; a matrix as it is."""
    if isinstance(X, Matrix):
        return X
    if is_dask(X):
        raise TypeError(
            "X is a Dask collection; this takes data in memory. Load it first (X.compute())."
        )
    if isinstance(X, SparseFile) and memory_limit is None:
        return X.matrix()
    if (file := as_file(X, memory_limit)) is not None:
        return file
    checked = check(X)
    return SparseMatrix.from_scipy(checked) if sparse.issparse(checked) else DenseMatrix(checked)


def matrix_on(device: Any, X: Any, memory_limit: int | str | None, check: Check) -> DeviceMatrix:
    """X in memory, for a search on a device."""
    if memory_limit is not None:
        raise ValueError(
            f"Pass memory_limit={memory_limit!r} or device={device!r}, not both: X is either read "
            "from a file or moved to a device."
        )
    if isinstance(X, DataFile | SparseFile | Matrix) or sparse.issparse(X):
        raise TypeError(
            f"device={device!r} is for dense data in memory, got X of type {type(X).__name__}. Use "
            "device=None, or for a .npy file numpy.load(file, mmap_mode='r')."
        )
    return on_device(X if is_foreign(X) else check(X), device)


def matrix_there(X: Array) -> Matrix | None:
    """An array of a device, or a matrix of one, where it is; None for anything else."""
    if isinstance(X, Matrix):
        return X if X.on_device else None
    return as_device_matrix(X) if is_foreign(X) else None
