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
    SparseFile,
    convert,
    parquet_files,
    shape_of,
)

__all__ = [
    "DataFile",
    "SparseFile",
    "convert_svmlight",
    "open_npy",
    "open_parquet",
    "open_svmlight",
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
