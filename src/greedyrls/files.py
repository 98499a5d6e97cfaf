"""Data larger than memory: files that can be passed as X.

The objects returned by these functions can be passed to `greedyrls.greedy_path`,
`greedyrls.extend_path`, and ``fit`` and ``predict`` of the estimators. A search reads such a file
sequentially a few times, within `memory_limit`; see docs/guide/scale.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ._data import (
    ArraySource,
    DataFile,
    ParquetSource,
    PlinkSource,
    SparseFile,
    chunked_source,
    convert,
    opened_bed,
    opened_hdf5,
    opened_zarr,
    parquet_files,
    shape_of,
)

__all__ = [
    "DataFile",
    "SparseFile",
    "convert_svmlight",
    "open_hdf5",
    "open_npy",
    "open_parquet",
    "open_plink",
    "open_svmlight",
    "open_zarr",
    "read_phenotypes",
]

Name = str | os.PathLike[str]


def open_npy(path: Name, memory_limit: int | str | None = None) -> DataFile:
    """Open an array that `numpy.save` wrote.

    Parameters
    ----------
    path : str or path
        A .npy file with a two-dimensional array of any real type; C order is read faster.
    memory_limit : int or str, optional
        Memory that a search may use, in bytes or as text such as "2GB"; by default a quarter of the
        machine's memory.

    Returns
    -------
    DataFile

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from greedyrls import files, greedy_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 20))
    >>> y = X[:, 3] - X[:, 7] + rng.normal(size=1000)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", X)
    ...     path = greedy_path(files.open_npy(f"{folder}/X.npy", memory_limit="50MB"), y, 2)
    >>> path.indices.tolist()
    [7, 3]
    """
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, EOFError) as error:
        message = f"{path} cannot be read as a .npy file; is it complete? ({error})"
        raise ValueError(message) from error
    if not isinstance(array, np.memmap):
        raise ValueError(f"{path} is not a single array of numbers, as numpy.save writes it.")
    return DataFile(ArraySource(array), memory_limit)


@overload
def open_parquet(
    path: Name,
    target: None = None,
    columns: Sequence[str] | None = None,
    memory_limit: int | str | None = None,
) -> DataFile: ...


@overload
def open_parquet(
    path: Name,
    target: str | Sequence[str],
    columns: Sequence[str] | None = None,
    memory_limit: int | str | None = None,
) -> tuple[DataFile, NDArray[Any]]: ...


def open_parquet(
    path: Name,
    target: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    memory_limit: int | str | None = None,
) -> DataFile | tuple[DataFile, NDArray[Any]]:
    """Open a Parquet file, or a folder of them (needs pyarrow).

    Parameters
    ----------
    path : str or path
        A file, or a folder whose ``*.parquet`` files, including those of subfolders, are read in
        the order of their names. Names of folders do not become columns.
    target : str or list of str, optional
        The column (or columns) to be predicted, which is read into memory.
    columns : list of str, optional
        The features; by default all columns but the target. They must be numeric, without missing
        values.
    memory_limit : int or str, optional
        As for `open_npy`. The largest row group counts towards it.

    Returns
    -------
    X : DataFile
        The features, with the names of their columns.
    y : ndarray of shape (m,) or (m, t)
        The target, only returned if `target` is given.
    """
    names = [target] if isinstance(target, str) else list(target or ())
    source = ParquetSource(parquet_files(Path(path)), columns, names)
    repeated = sorted(set(names) & set(source.names))
    if repeated:
        raise ValueError(f"Column {repeated[0]!r} is both the target and a feature.")
    X = DataFile(source, memory_limit, source.names)
    if not names:
        return X
    values = source.values(names)
    return X, values[0] if isinstance(target, str) else np.column_stack(values)


def convert_svmlight(path: Name, folder: Name, *, zero_based: bool = False) -> None:
    """Convert an svmlight (LIBSVM) text file once, for `open_svmlight`.

    Parameters
    ----------
    path : str or path
        The text file.
    folder : str or path
        Folder to write the arrays to, by columns and by rows: 32 bytes for each value.
    zero_based : bool, default=False
        Whether the features in the file are numbered from 0 rather than from 1.
    """
    convert(Path(path), Path(folder), zero_based)


def open_svmlight(folder: Name) -> tuple[SparseFile, NDArray[Any]]:
    """Open a converted svmlight file: a sparse X whose arrays are memory maps.

    Parameters
    ----------
    folder : str or path
        The folder that `convert_svmlight` wrote to.

    Returns
    -------
    X : SparseFile
    y : ndarray of shape (m,)
    """
    directory = Path(folder)
    X = SparseFile(directory, shape_of(directory))
    y: NDArray[Any] = np.load(directory / "y.npy")
    if len(y) != X.shape[0]:
        raise ValueError(f"{folder} is damaged: it has {len(y)} targets for {X.shape[0]} rows.")
    return X, y


def open_hdf5(
    path: Name, dataset: str | None = None, memory_limit: int | str | None = None
) -> DataFile:
    """Open a dataset of an HDF5 file (needs h5py: ``pip install 'greedyrls[hdf5]'``).

    An `h5py.Dataset` can also be passed as X itself.

    Parameters
    ----------
    path : str or path
        An HDF5 file.
    dataset : str, optional
        The name of a two-dimensional dataset of any real type, such as "study/X"; by default "X",
        or the only such dataset at the top of the file.
    memory_limit : int or str, optional
        As for `open_npy`. Chunks of the file next to each other, by rows or by columns, count
        towards it.

    Returns
    -------
    DataFile
    """
    return DataFile(chunked_source(opened_hdf5(Path(path), dataset)), memory_limit)


def open_zarr(
    path: Name, dataset: str | None = None, memory_limit: int | str | None = None
) -> DataFile:
    """Open a Zarr array (needs zarr: ``pip install 'greedyrls[zarr]'``).

    A `zarr.Array` can also be passed as X itself.

    Parameters
    ----------
    path : str or path
        An array or a group.
    dataset : str, optional
        The name of a two-dimensional array of a group; by default "X", or the only such array.
    memory_limit : int or str, optional
        As for `open_hdf5`.

    Returns
    -------
    DataFile
    """
    return DataFile(chunked_source(opened_zarr(Path(path), dataset)), memory_limit)


def open_plink(path: Name, memory_limit: int | str | None = None) -> DataFile:
    """Open PLINK genotypes (needs bed-reader: ``pip install 'greedyrls[plink]'``).

    A `bed_reader.open_bed` can also be passed as X itself.

    Parameters
    ----------
    path : str or path
        A .bed file, with .bim and .fam files of the same name beside it.
    memory_limit : int or str, optional
        As for `open_npy`.

    Returns
    -------
    DataFile
        The number of copies (0, 1 or 2) of the first allele, for each person and marker; a missing
        call is the mean of the calls of that marker in this file. The names of the features are
        the ids of the markers.
    """
    source = PlinkSource(opened_bed(Path(path)))
    return DataFile(source, memory_limit, source.marker_names)


def read_phenotypes(path: Name) -> NDArray[np.float64]:
    """Read the phenotypes of PLINK genotypes, the sixth column of the .fam file.

    Parameters
    ----------
    path : str or path
        The .bed file.

    Returns
    -------
    ndarray of shape (m,)
        NaN where it is missing: -9, text, and 0 if all others are 1 (control) or 2 (case).
    """
    return PlinkSource(opened_bed(Path(path))).phenotypes
