"""Read matrices with their vectors: svmlight, NumPy archives, HDF5, Zarr and PLINK genotypes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._table import Column, InputError, Numbers, Table, Unusable, make_texts
from ._columns import make_numbers, texts_of_values
from ._files import Source, guarded, need, shown
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
    return _table_of_arrays(source, _arrays(source), wanted)


def read_stored(source: Source, wanted: Wanted, matrix_limit: int) -> Table:
    """Read a table from the datasets of an HDF5 file or Zarr group, as from a NumPy archive."""
    library = {"hdf5": "h5py", "zarr": "zarr"}[source.format]
    need(source, library, source.format)
    with guarded(source, f"its {library} data"):
        if library == "h5py":
            import h5py

            with h5py.File(source.path, "r") as file:
                arrays = _datasets(source, file, matrix_limit)
        else:
            import zarr

            arrays = _datasets(source, zarr.open(str(source.path), mode="r"), matrix_limit)
    return _table_of_arrays(source, arrays, wanted)


def _datasets(source: Source, opened: Any, matrix_limit: int) -> dict[str, NDArray[Any]]:
    """Load the datasets at the top of a file or group; a single array is X."""
    is_group = hasattr(opened, "keys")
    members = {name: opened[name] for name in opened} if is_group else {"X": opened}
    arrays = {}
    for name, member in members.items():
        if not hasattr(member, "shape") or member.ndim not in (1, 2):
            continue  # a group, a single number, an array of more dimensions
        _check_size(source, member.shape, matrix_limit, f"open_{source.format}")
        values = member[()]
        # Texts of any length; other objects are left to `_column`.
        is_text = values.dtype.kind in "OT" and all(isinstance(v, str | bytes) for v in values.flat)
        if is_text:
            values = np.array([v.decode() if isinstance(v, bytes) else v for v in values.flat])
        arrays[name] = values
    return arrays


def _check_size(source: Source, shape: Any, matrix_limit: int, opener: str) -> None:
    size = 8 * int(np.prod(shape))
    if size > matrix_limit:
        raise InputError(
            f"{source}: {' × '.join(map(str, shape))} numbers take {size / 2**30:.2f} GiB in "
            f"memory, the limit is {matrix_limit / 2**30:.2f} GiB. In Python greedy_path reads "
            f"them from the file: greedyrls.files.{opener}."
        )


def read_plink(source: Source, wanted: Wanted, matrix_limit: int) -> Table:
    """Read genotypes, with the phenotypes of the .fam file as the target."""
    from ...files import open_plink, read_phenotypes

    need(source, "bed_reader", "plink")
    for suffix in (".bim", ".fam"):
        if not source.path.with_suffix(suffix).exists():
            raise InputError(
                f"{source}: there is no {source.path.with_suffix(suffix).name} beside it; PLINK "
                "genotypes are three files of one name: .bed, .bim (markers) and .fam (people)."
            )
    with guarded(source, "its PLINK genotypes"):
        data = open_plink(source.path)
        _check_size(source, data.shape, matrix_limit, "open_plink")
        values, phenotypes = data.rows(0, len(data)), read_phenotypes(source.path)
    columns = dict(zip(data.feature_names or (), values.T, strict=True))
    target = None
    if not np.isnan(phenotypes).all():
        target = tidy([*columns, "phenotype"]).names[-1]
        columns[target] = phenotypes
    table = _table(source, columns, len(data), wanted, target)
    if target is None:
        hint = "The phenotypes (the sixth column of the .fam file) are all missing."
        return replace(table, hint=hint)
    return table


def _table_of_arrays(source: Source, arrays: dict[str, NDArray[Any]], wanted: Wanted) -> Table:
    """Make a table of a matrix, its names, and vectors."""
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
