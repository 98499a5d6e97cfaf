"""Conversion of svmlight text to memory-mapped arrays, by columns and by rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

# Bytes of text parsed at a time, and values converted at a time.
_TEXT = 1 << 24
_VALUES = 1 << 20
# An upper limit costs nothing, since rows are sparse.
_MOST_FEATURES = 2**31 - 1
_ABOUT = "about.json"
_FORMAT = "greedyrls.svmlight"


def convert(path: Path, folder: Path, zero_based: bool) -> None:
    """Write the arrays, and at last the file that marks them as complete."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _ABOUT).unlink(missing_ok=True)
    targets, counts, n = _write_rows(path, folder, zero_based)
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])
    m, total = len(targets), int(indptr[-1])
    if m == 0:
        raise ValueError(f"{path} has no rows.")
    np.save(folder / "rows_indptr.npy", indptr)
    np.save(folder / "y.npy", targets)
    _with_header(folder / "rows_indices", np.dtype(np.int64), total)
    _with_header(folder / "rows_data", np.dtype(np.float64), total)
    _write_columns(folder, indptr, n)
    about = {"format": _FORMAT, "version": 1, "shape": [m, n], "values": total}
    (folder / _ABOUT).write_text(json.dumps(about), encoding="utf-8")


def shape_of(folder: Path) -> tuple[int, int]:
    """Return m and n of a converted file."""
    try:
        about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        if about["format"] != _FORMAT or about["version"] != 1:
            raise ValueError("another format")
        m, n = (int(value) for value in about["shape"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{folder} holds no converted svmlight file, or only a part of one ({error}); run "
            "greedyrls.files.convert_svmlight."
        ) from error
    return m, n


def _pieces(path: Path, zero_based: bool) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield the rows in pieces, with their targets."""
    size = path.stat().st_size
    for offset in range(0, size, _TEXT):
        try:
            X, y = load_svmlight_file(
                str(path),
                n_features=_MOST_FEATURES,
                zero_based=zero_based,
                offset=offset,
                length=_TEXT,
            )
        except ValueError as error:
            raise ValueError(
                f"{path} is not svmlight text, near byte {offset} of {size}: {error}"
            ) from error
        X = sparse.csr_array(X)
        X.sum_duplicates()
        X.eliminate_zeros()
        if len(y):
            yield X, y


def _write_rows(
    path: Path, folder: Path, zero_based: bool
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Write indices and values; return targets, the number of values in each row, and n."""
    targets, counts, n = [np.empty(0)], [np.empty(0, dtype=np.int64)], 1
    with (folder / "rows_indices").open("wb") as indices, (folder / "rows_data").open("wb") as data:
        for X, y in _pieces(path, zero_based):
            X.indices.astype(np.int64).tofile(indices)
            X.data.astype(np.float64).tofile(data)
            targets.append(y)
            counts.append(np.diff(X.indptr).astype(np.int64))
            if len(X.indices):
                n = max(n, int(X.indices.max()) + 1)
    return np.concatenate(targets), np.concatenate(counts), n


def _with_header(path: Path, dtype: np.dtype[Any], count: int) -> None:
    """Convert a file of raw numbers to an .npy file."""
    array = open_memmap(path.with_suffix(".npy"), "w+", dtype, (count,))
    with path.open("rb") as file:
        for first in range(0, count, _VALUES):
            part = slice(first, min(count, first + _VALUES))
            array[part] = np.fromfile(file, dtype, part.stop - part.start)
    array.flush()
    path.unlink()


def _write_columns(folder: Path, indptr: NDArray[Any], n: int) -> None:
    """Write indices and values by columns: count first, then write each value to its position."""
    indices = np.load(folder / "rows_indices.npy", mmap_mode="r")
    data = np.load(folder / "rows_data.npy", mmap_mode="r")
    counts = np.zeros(n, dtype=np.int64)
    for first in range(0, len(indices), _VALUES):
        counts += np.bincount(indices[first : first + _VALUES], minlength=n)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    np.save(folder / "columns_indptr.npy", starts)
    rows = open_memmap(folder / "columns_indices.npy", "w+", np.int64, indices.shape)
    values = open_memmap(folder / "columns_data.npy", "w+", np.float64, indices.shape)
    free = starts[:-1].copy()
    for first in range(0, len(indices), _VALUES):
        part = np.asarray(indices[first : first + _VALUES])
        order = np.argsort(part, kind="stable")
        positions = np.arange(first, first + len(part))[order]
        columns, begins, sizes = np.unique(part[order], return_index=True, return_counts=True)
        # Values of a column are in the order of rows, after those of earlier pieces.
        where = np.repeat(free[columns] - begins, sizes) + np.arange(len(part))
        rows[where] = np.searchsorted(indptr, positions, side="right") - 1
        values[where] = data[positions]
        free[columns] += sizes
    rows.flush()
    values.flush()
