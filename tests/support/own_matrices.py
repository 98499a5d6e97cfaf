"""Kinds of X on which the same exactness tests run.

Two are not known to the package: the matrix protocol, as a user would implement it. The others are
files of optional libraries; `stored_kinds` has those that are installed.
"""

from __future__ import annotations

import importlib.util
import io
import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from greedyrls import files
from internals import DenseMatrix, Matrix

Array = NDArray[Any]
# Genotypes are read from files, until the end of the tests.
_FOLDER = tempfile.TemporaryDirectory(prefix="greedyrls-plink-")
_NUMBERS = itertools.count()


class ListedColumns(Matrix):
    """A list of columns, which is read a few rows at a time: the four verbs that a kind needs."""

    noun = "in a list of columns"

    def __init__(self, X: Array, height: int = 5) -> None:
        self._columns = [np.array(column) for column in X.T]
        self._height = height

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._columns[0]), len(self._columns)

    @property
    def dtype(self) -> Any:
        return self._columns[0].dtype

    def columns(self, indices: Any, rows: Any = slice(None)) -> NDArray[np.float64]:
        taken = [self._columns[index][rows] for index in indices]
        length = len(np.arange(self.shape[0])[rows])
        return np.array(taken, dtype=np.float64).reshape(len(taken), length)

    def chunks(self) -> Iterator[tuple[slice, Matrix]]:
        m = self.shape[0]
        for top in range(0, m, self._height):
            rows = slice(top, min(m, top + self._height))
            yield rows, DenseMatrix(np.stack([column[rows] for column in self._columns], axis=1))


class ScaledIntegers(Matrix):
    """Whole numbers of 8 bits in memory, with a factor for each column."""

    noun = "of scaled integers"
    is_in_memory = True
    dtype = np.dtype(np.float64)

    def __init__(self, codes: NDArray[np.int8], factors: NDArray[np.float64]) -> None:
        self._codes, self._factors = codes, factors

    @classmethod
    def near(cls, X: Array) -> ScaledIntegers:
        """The numbers nearest to those of an array."""
        largest = np.abs(X).max(axis=0).astype(np.float64)
        # Whole numbers that fit stay what they are.
        is_whole = (largest <= 127) & (np.round(X) == X).all(axis=0)
        factors = np.where(is_whole, 1.0, np.where(largest > 0.0, largest / 127.0, 1.0))
        return cls(np.round(X / factors).astype(np.int8), factors)

    @property
    def shape(self) -> tuple[int, int]:
        return self._codes.shape[0], self._codes.shape[1]

    def columns(self, indices: Any, rows: Any = slice(None)) -> NDArray[np.float64]:
        return np.ascontiguousarray(self.part(rows, indices).T)

    def chunks(self) -> Iterator[tuple[slice, Matrix]]:
        for top in range(0, self.shape[0], 7):
            rows = slice(top, min(self.shape[0], top + 7))
            yield rows, DenseMatrix(self.part(rows))

    def part(self, rows: Any, indices: Any = None) -> Array:
        every = slice(None) if indices is None else indices
        return self._codes[rows][:, every] * self._factors[every]

    def take(self, rows: Any) -> ScaledIntegers:
        return ScaledIntegers(self._codes[rows], self._factors)


class StoredRows:
    """An array as a file from which rows are read: what a format needs."""

    name, overhead = "an array", 0

    def __init__(self, X: Array) -> None:
        self._X = X
        self.shape, self.dtype = X.shape, X.dtype

    def chunks(self, height: int) -> Iterator[Array]:
        for top in range(0, len(self._X), min(height, 7)):
            yield self._X[top : top + min(height, 7)].copy()

    def read(self, start: int, stop: int) -> Array:
        return self._X[start:stop].copy()


class StoredColumns(StoredRows):
    """The same of a file that is stored by columns."""

    step = 2

    def read_columns(self, columns: Any, rows: Any) -> Array:
        return np.ascontiguousarray(self._X[rows][:, columns])


def stored_rows(X: Array) -> tuple[Any, Array]:
    """A file of a format that the package does not know."""
    return files.DataFile(StoredRows(X)), X


def stored_columns(X: Array) -> tuple[Any, Array]:
    """The same, stored by columns."""
    return files.DataFile(StoredColumns(X)), X


def listed(X: Array) -> tuple[Matrix, Array]:
    """A matrix for tests, and the array that it stands for."""
    return ListedColumns(X), X


def scaled(X: Array) -> tuple[Matrix, Array]:
    """The same of another kind, which rounds the array."""
    matrix = ScaledIntegers.near(X)
    return matrix, matrix.part(slice(None))


def hdf5_rows(X: Array) -> tuple[Any, Array]:
    """A dataset of an HDF5 file in memory, in wide chunks."""
    return _hdf5(X, (min(5, len(X)), X.shape[1])), X


def hdf5_columns(X: Array) -> tuple[Any, Array]:
    """The same in tall chunks, which are read by columns."""
    return _hdf5(X, (len(X), min(3, X.shape[1]))), X


def zarr_array(X: Array) -> tuple[Any, Array]:
    """A Zarr array in memory."""
    import zarr

    chunks = (max(1, len(X) // 3), max(1, X.shape[1] // 2))
    array = zarr.create_array(
        zarr.storage.MemoryStore(), shape=X.shape, chunks=chunks, dtype=X.dtype
    )
    array[:] = X
    return array, X


def genotypes(X: Array) -> tuple[Any, Array]:
    """PLINK genotypes with missing calls, made of the thirds of each column."""
    codes = genotypes_of(X)
    path = Path(_FOLDER.name, f"{next(_NUMBERS)}.bed")
    values = np.where(np.isnan(codes), np.nanmean(codes, axis=0), codes)
    return files.open_plink(write_bed(path, codes)), values


def genotypes_of(X: Array) -> Array:
    """0, 1, 2 and NaN for a matrix of numbers."""
    low, high = np.quantile(X, [1 / 3, 2 / 3], axis=0)
    codes = (low < X).astype(np.float64) + (high < X)
    rows, columns = np.indices(X.shape)
    codes[(7 * rows + 3 * columns) % 29 == 4] = np.nan  # at most one of few rows
    return codes


def write_bed(path: Path, codes: Array, **properties: Any) -> Path:
    """Write genotypes with the .bim and .fam files beside them."""
    from bed_reader import to_bed

    to_bed(path, codes, properties=properties)
    return path


def _hdf5(X: Array, chunks: tuple[int, int]) -> Any:
    import h5py

    file = h5py.File(io.BytesIO(), "w")
    return file.create_dataset("X", data=X, chunks=chunks)


def stored_kinds() -> list[Callable[[Array], tuple[Any, Array]]]:
    """Kinds of files whose libraries are installed."""
    kinds = {"h5py": [hdf5_rows, hdf5_columns], "zarr": [zarr_array], "bed_reader": [genotypes]}
    return [
        kind
        for library, functions in kinds.items()
        if importlib.util.find_spec(library) is not None
        for kind in functions
    ]


KINDS = [listed, scaled, *stored_kinds()]
