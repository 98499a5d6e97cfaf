"""Conversion of a user's X to a matrix of the appropriate kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from scipy import sparse

from .._base import Array, numpy_of, other_namespace
from ._chunked import chunked_source
from ._dense import DenseMatrix
from ._device_matrix import DeviceMatrix, as_device_matrix, is_in_host_memory
from ._devices import on_device
from ._files import DataFile, FileMatrix, as_file
from ._matrix import Matrix
from ._plink import PlinkSource
from ._remote import RemoteMatrix
from ._sparse import SparseMatrix
from ._sparse_files import SparseFile

# Brings a collection whose rows are in other processes here, with vectors over its rows.
Here = Callable[..., tuple[Any, ...]]
# Such functions by the library of the collection; `_cluster` registers Dask.
_REMOTE: dict[str, Here] = {}

# Checks an array, data frame or sparse matrix, and returns it as numbers.
Check = Callable[[Any], Any]


def register_remote(library: str, here: Here) -> None:
    """Register a function that brings the collections of a library to this process."""
    _REMOTE[library] = here


def rows_here(X: Any, *vectors: Any) -> tuple[Any, ...]:
    """Return X with vectors over its rows, in this process if X is a registered collection.

    X is then an array, data frame or sparse matrix, or a file if it does not fit into memory.
    """
    library = _library_of(X)
    return (X, *vectors) if library is None else _REMOTE[library](X, *vectors)


def _library_of(X: Any) -> str | None:
    """Return the library of a collection with remote rows, without importing anything."""
    library = type(X).__module__.partition(".")[0].partition("_")[0]  # dask or dask_expr
    return library if library in _REMOTE and hasattr(X, "__dask_graph__") else None


# Classes of open files by library, and those of what holds several of them.
_OPEN_FILES = {
    "h5py": ("Dataset", "Group", "File"),
    "zarr": ("Array", "Group"),
    "bed_reader": ("open_bed",),
}


def _file_library(X: Any) -> str | None:
    """Return the library of an open file, without importing anything."""
    library = type(X).__module__.partition(".")[0]
    return library if type(X).__name__ in _OPEN_FILES.get(library, ()) else None


def opened(X: Any) -> Any:
    """Return a file that h5py, zarr or bed-reader opened as a DataFile; others as they are."""
    library = _file_library(X)
    if library is None:
        return X
    if library == "bed_reader":
        source = PlinkSource(X)
        return DataFile(source, feature_names=source.marker_names)
    return DataFile(chunked_source(X))


class Origin(NamedTuple):
    """The kind of a user's X; all are False for arrays, data frames and sparse matrices."""

    is_lazy: bool = False  # a Dask collection: its rows are on a cluster, or not computed yet
    is_file: bool = False
    on_device: bool = False  # an array of another namespace than NumPy's

    @property
    def is_plain(self) -> bool:
        """Whether scikit-learn's validation can read it."""
        return not any(self)


def origin_of(X: Any) -> Origin:
    """Return the kind of X, without reading any of it."""
    is_lazy = _library_of(X) is not None or isinstance(X, RemoteMatrix)
    is_file = isinstance(X, DataFile | SparseFile) or _file_library(X) is not None
    return Origin(is_lazy, is_file, not is_file and other_namespace(X) is not None)


def is_matrix(X: object) -> TypeGuard[Matrix]:
    """Return whether X is a matrix of the engine already, as that of a file is."""
    return isinstance(X, Matrix)


def is_gathered(X: object) -> TypeGuard[RemoteMatrix]:
    """Return whether X is a collection whose rows were gathered on its cluster."""
    return isinstance(X, RemoteMatrix)


class Kind(NamedTuple):
    """What X is before it is a matrix: its name in the capability table, its place in messages."""

    name: str
    noun: str


def kind_of(X: Any) -> Kind:
    """The kind of a user's X for what works with NumPy's numbers; nothing of it is read.

    Tensors in host memory are such numbers, and sparse files are read as sparse matrices.
    """
    if _library_of(X) is not None:
        return Kind("Dask", RemoteMatrix.noun)
    if isinstance(X, DataFile) or _file_library(X) is not None:
        return Kind("file", FileMatrix.noun)
    if other_namespace(X) is not None and not is_in_host_memory(X.device):
        return Kind("device", DeviceMatrix.noun)
    return Kind("NumPy", Matrix.noun)


def loaded(X: Any) -> Any:
    """Arrays of a device or a cluster as NumPy arrays, sparse files as sparse matrices.

    Others are returned as they are, and collections that do not fit into memory as files.
    """
    (X,) = rows_here(X)
    if not isinstance(X, SparseFile):
        return numpy_of(X)
    form = X.to_scipy()
    if form.nnz > np.iinfo(np.int32).max:
        return form
    # Some of scikit-learn's functions take no others, and SciPy does not look at memory maps.
    parts = form.data, form.indices.astype(np.int32), form.indptr.astype(np.int32)
    return sparse.csc_array(parts, shape=form.shape)


def matrix_of(X: Any, memory_limit: int | str | None, check: Check) -> Matrix:
    """Convert X in memory or in a file to a matrix; a matrix is returned unchanged."""
    if isinstance(X, Matrix):
        return X
    if _library_of(X) is not None:
        raise TypeError(
            "X is a Dask collection; this takes data in memory. Load it first (X.compute())."
        )
    if isinstance(X, SparseFile) and memory_limit is None:
        return X.matrix()
    X = opened(X)
    # An array that owns its memory is not a view of a memory map.
    is_own = type(X) is np.ndarray and X.base is None
    if not is_own or memory_limit is not None:
        file = as_file(X, memory_limit)
        if file is not None:
            return file
    checked = check(X)
    return SparseMatrix.from_scipy(checked) if sparse.issparse(checked) else DenseMatrix(checked)


def matrix_on(device: Any, X: Any, memory_limit: int | str | None, check: Check) -> DeviceMatrix:
    """Convert X in memory to a matrix for a search on a device."""
    if memory_limit is not None:
        raise ValueError(
            f"Pass memory_limit={memory_limit!r} or device={device!r}, not both: X is either read "
            "from a file or moved to a device."
        )
    if origin_of(X).is_file or isinstance(X, Matrix) or sparse.issparse(X):
        raise TypeError(
            f"device={device!r} is for dense data in memory, got X of type {type(X).__name__}. Use "
            "device=None, or for a .npy file numpy.load(file, mmap_mode='r')."
        )
    return on_device(X if other_namespace(X) is not None else check(X), device)


def device_matrix_of(X: Array) -> Matrix | None:
    """Return a device array, or a matrix of one, as a matrix on its device; else None."""
    if isinstance(X, Matrix):
        return X if X.location.on_device else None
    return as_device_matrix(X) if other_namespace(X) is not None else None
