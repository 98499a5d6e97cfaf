"""Read matrices without named columns: svmlight files and NumPy archives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._table import Column, InputError, Numbers, Table, Unusable, make_texts
from ._columns import make_numbers, texts_of_values
from ._files import Source, guarded, shown
from ._names import Names, tidy
from ._wanted import Wanted

_NAMES = ("feature_names", "names")


def read_svmlight(source: Source, wanted: Wanted, matrix_limit: int) -> Table:
    """Read a dense table from an svmlight file; columns are named by its indices."""
    from sklearn.datasets import load_svmlight_file

    with guarded(source, "its svmlight data"), source.open() as file:
        X, y, ids = load_svmlight_file(file, zero_based=True, query_id=True)
    m, n = X.shape
    if len(ids) not in (0, m):
        raise InputError(
            f"{source}: {len(ids)} of {m} rows have a query id (qid); give each of them one, or "
            "none."
        )
    # Zeros have no entries, so a file that counts from 0 may lack index 0: nothing is lost.
    first = 0 if (X.indices == 0).any() else 1
    size = m * (n - first) * 8
    if size > matrix_limit:
        raise InputError(
            f"{source}: its {m} rows and {n - first} columns take {size / 2**30:.2f} GiB as a "
            f"dense table, the limit is {matrix_limit / 2**30:.2f} GiB. In Python "
            "greedy_path takes a sparse X as it is."
        )
    arrays: dict[str, NDArray[Any]] = {"target": y}
    if len(ids):
        arrays["qid"] = ids
    dense = X.toarray(order="F")
    arrays |= {f"x{index}": dense[:, index] for index in range(first, n)}
    return _table(source, arrays, m, wanted, "target")


def read_npz(source: Source, wanted: Wanted) -> Table:
    """Read a table from a NumPy archive: a matrix, its names, and vectors."""
    arrays = _arrays(source)
    X = arrays.pop(_matrix_name(source, arrays))
    m, n = X.shape
    names = [f"x{index}" for index in range(n)]
    for key in _NAMES:
        if key in arrays and arrays[key].ndim == 1 and arrays[key].dtype.kind in "US":
            with guarded(source, key):
                names = [
                    str(name, "utf-8") if isinstance(name, bytes) else name
                    for name in arrays.pop(key).tolist()
                ]
            if len(names) != n:
                raise InputError(f"{source}: {key} has {len(names)} names for {n} columns.")
            break
    others = {
        name: array.reshape(m) for name, array in arrays.items() if array.shape in ((m,), (m, 1))
    }
    if "y" in arrays and "y" not in others:
        raise InputError(
            f"{source}: y has shape {arrays['y'].shape}, but X has {m} rows; it must have one "
            "value for each."
        )
    known = tidy([*names, *others])
    target = known.names[n + list(others).index("y")] if "y" in others else None
    columns = dict(zip(known.names, [*X.T, *others.values()], strict=True))
    table = _table(source, columns, m, wanted, target, known)
    return replace(table, notes=tuple(wanted.name_notes(known)))


def _arrays(source: Source) -> dict[str, NDArray[Any]]:
    with guarded(source, "its NumPy archive"), source.open() as file:
        # Archives are zip files. NumPy would take anything else for a single array or a pickle.
        if file.read(4) not in (b"PK\3\4", b"PK\5\6"):
            raise InputError(f"{source}: is not an archive written by numpy.savez.")
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            return {name: _array(source, archive, name) for name in archive.files}


def _array(source: Source, archive: Any, name: str) -> NDArray[Any]:
    try:
        array = archive[name]
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise InputError(
            f"{source}: {shown(name)} holds pickled objects, which are never loaded, since "
            "loading can run code; save it as numbers or as text."
        ) from error
    if not isinstance(array, np.ndarray):
        raise InputError(f"{source}: {shown(name)} is not an array written by numpy.savez.")
    return array


def _matrix_name(source: Source, arrays: dict[str, NDArray[Any]]) -> str:
    if "indptr" in arrays:
        raise InputError(f"{source}: holds a sparse matrix; pass it to greedyrls in Python.")
    matrices = [
        name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "biuf"
    ]
    if "X" in matrices:
        return "X"
    if "X" in arrays or len(matrices) != 1:
        found = ", ".join(
            f"{shown(name)} {array.dtype} {array.shape}" for name, array in arrays.items()
        )
        raise InputError(
            f"{source}: must have a matrix of numbers named X, or just one matrix; it has "
            f"{found or 'no arrays'}."
        )
    return matrices[0]


def _table(
    source: Source,
    arrays: dict[str, NDArray[Any]],
    m: int,
    wanted: Wanted,
    target: str | None,
    names: Names | None = None,
) -> Table:
    names = names or Names(list(arrays))
    columns: dict[str, Column] = {}
    for name in wanted.used(names):
        with guarded(source, f"column {shown(name)}"):
            columns[name] = _column(arrays[name], name in wanted.as_text)
    return Table(source.name, columns, m, target, tuple(names.names))


def _column(values: NDArray[Any], as_text: bool) -> Column:
    kind = values.dtype.kind
    if kind in "US" or (as_text and kind in "biuf"):
        return texts_of_values(values)
    if kind == "M" and as_text:
        written = np.datetime_as_string(values.astype("M8[us]")).tolist()
        return make_texts([None if text == "NaT" else text for text in written])
    if kind == "b":
        return Numbers(values.astype(np.float64), is_flag=True)
    if kind in "iuf":
        return make_numbers(values.astype(np.float64, copy=False))
    words = {"M": "dates", "m": "durations", "c": "complex numbers", "V": "records"}
    return Unusable(words.get(kind, f"values of type {values.dtype}"))
