"""Datasets of HDF5 files and Zarr arrays, which are stored in chunks, whole ones at a time.

h5py and zarr are loaded only here, when a file is opened by its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import required
from ._file_sources import NUMERIC, Source
from ._matrix import Rows


def opened_hdf5(path: Path, dataset: str | None) -> Any:
    """Open a dataset of an HDF5 file; its name may be left out if it is the only one or "X"."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    h5py = required("h5py", f"{path}: HDF5 files need h5py: pip install 'greedyrls[hdf5]'.")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read as an HDF5 file; is it complete? ({error})"
        ) from error
    return _member(file, str(path), dataset)


def opened_zarr(path: Path, dataset: str | None) -> Any:
    """Open a Zarr array, or one of a group; its name may be left out as for `opened_hdf5`."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    zarr = required("zarr", f"{path}: Zarr arrays need zarr: pip install 'greedyrls[zarr]'.")
    try:
        opened = zarr.open(str(path), mode="r")
    except Exception as error:  # of any kind, on what is not Zarr
        raise ValueError(f"{path} cannot be read as Zarr; is it complete? ({error})") from error
    if dataset is not None and not hasattr(opened, "keys"):
        raise ValueError(f"{path} is a single Zarr array; leave out dataset={dataset!r}.")
    return _member(opened, str(path), dataset)


def _member(opened: Any, name: str, dataset: str | None) -> Any:
    """Return the matrix with a name, or the one that is meant, of a file or group."""
    if not hasattr(opened, "keys"):
        return opened
    names = sorted(opened.keys())
    matrices = [key for key in names if len(getattr(opened[key], "shape", ())) == 2]
    if dataset is None:
        dataset = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    found = None if dataset is None else opened.get(dataset)
    if found is None or hasattr(found, "keys"):
        what = "is a group" if found is not None else "is not there"
        what = f"dataset {dataset!r} {what}" if dataset else f"{len(matrices)} of its datasets fit"
        raise ValueError(
            f"{name}: {what}; pass dataset= with the name of a matrix. At the top are "
            f"{', '.join(map(repr, names[:8])) or 'none'}{', …' if len(names) > 8 else ''}."
        )
    return found


def chunked_source(dataset: Any) -> Source:
    """Return how to read an `h5py.Dataset` or `zarr.Array`: by rows, or by columns if cheaper."""
    source = ChunkedSource(dataset)
    (m, n), (height, width) = source.shape, source.chunk_shape
    # A band of chunks is decoded at once: the smaller one of both kinds.
    return ColumnChunks(dataset) if width * m < height * n else source


class ChunkedSource:
    """A matrix in chunks, read in bands of whole chunks next to each other."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        if not getattr(getattr(dataset, "id", None), "valid", True):
            raise ValueError("X is in an HDF5 file that was closed; keep it open while X is used.")
        if hasattr(dataset, "keys"):
            some = ", ".join(map(repr, sorted(dataset.keys())[:8]))
            raise ValueError(f"X is a group ({self.name}); pass one of its datasets: {some}.")
        if len(dataset.shape) != 2:
            raise ValueError(
                f"X must have 2 dimensions, but {self.name} has shape {tuple(dataset.shape)}."
            )
        if np.dtype(dataset.dtype).kind not in NUMERIC:
            raise ValueError(f"X must be numeric; the numbers in {self.name} are {dataset.dtype}.")
        m, n = (int(length) for length in dataset.shape)
        self.shape, self.dtype = (m, n), np.dtype(dataset.dtype)
        # Rows and columns that are stored together; a dataset without chunks is stored by rows.
        height, width = dataset.chunks or (1, n)
        self.chunk_shape = min(int(height), m), min(int(width), n)

    @property
    def overhead(self) -> int:
        """Bytes of the band in use and of the next one, if they are larger than a row."""
        height = self.chunk_shape[0]
        return 0 if height == 1 else 2 * height * self.shape[1] * self.dtype.itemsize

    @property
    def name(self) -> str:
        """The names of the file and of the dataset, for error messages."""
        file = getattr(getattr(self._dataset, "file", None), "filename", None)
        if file is None:
            return str(getattr(self._dataset, "store_path", "X"))
        return f"{file}, dataset {self._dataset.name!r}"

    def chunks(self, height: int) -> Iterator[NDArray[Any]]:
        """Yield all rows in order, at most `height` at a time; chunks of the file are read once."""
        m, step = self.shape[0], self.chunk_shape[0]
        band_height = max(step, height // step * step)
        for top in range(0, m, band_height):
            band = self.read(top, min(m, top + band_height))
            for first in range(0, len(band), height):
                yield band[first : first + height]

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return consecutive rows as a new array."""
        return self._read(slice(start, stop), slice(None))

    def _read(self, rows: slice, columns: slice) -> NDArray[Any]:
        try:
            values = np.asarray(self._dataset[rows, columns])
        except Exception as error:  # of any kind: closed, cut short, without the right filter
            raise OSError(f"{self.name} cannot be read; is the file open? ({error})") from error
        return values


class ColumnChunks(ChunkedSource):
    """A matrix whose chunks have more rows than columns, for its shape: read by columns."""

    @property
    def step(self) -> int:
        """The number of columns that are stored together."""
        return self.chunk_shape[1]

    @property
    def overhead(self) -> int:
        """Bytes of the bands of columns in use."""
        return 0 if self.step == 1 else 2 * self.step * self.shape[0] * self.dtype.itemsize

    def read_columns(self, columns: slice | NDArray[np.intp], rows: Rows) -> NDArray[Any]:
        """Return rows of columns as a new array, (rows × c), in Fortran order."""
        near = rows if isinstance(rows, slice) and rows.step is None else slice(None)
        inside = slice(None) if near is rows else rows
        if isinstance(columns, slice):
            return np.asfortranarray(self._read(near, columns)[inside])
        count = len(range(*rows.indices(self.shape[0]))) if isinstance(rows, slice) else len(rows)
        values = np.empty((len(columns), count), dtype=self.dtype)
        bands = columns // self.step
        for band in np.unique(bands).tolist():
            (places,) = np.nonzero(bands == band)
            first, last = columns[places].min(), columns[places].max() + 1
            read = self._read(near, slice(int(first), int(last)))[inside]
            values[places] = read[:, columns[places] - first].T
        return values.T
