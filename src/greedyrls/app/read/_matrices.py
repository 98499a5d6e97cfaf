"""Read matrices with their vectors: svmlight, NumPy arrays, HDF5, Zarr and PLINK genotypes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._data import ArraySource, PlinkSource, chunked_source, opened_bed
from .._table import Column, InputError, Numbers, Table, Unusable, make_texts
from ._columns import make_numbers, texts_of_values
from ._files import Source, guarded, need, shown
from ._names import Names, tidy
from ._wanted import Wanted

_NAMES = ("feature_names", "names")
# Bytes of rows that are read at a time if only some of their columns are kept.
_CHUNK_BYTES = 1 << 26


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
    return _table(source, arrays, wanted, Names(list(arrays)), m, "target")


def read_npz(source: Source, wanted: Wanted) -> Table:
    """Read a table from a NumPy archive: a matrix, its names, and vectors."""
    return _named(source, _arrays(source)).table(source, wanted)


def read_matrix(source: Source, wanted: Wanted, matrix_limit: int) -> Table:
    """Read a table from a .npy, HDF5, Zarr or PLINK file; only columns in use are loaded."""
    file = open_matrix(source)
    n = sum(name not in file.vectors for name in wanted.used(file.names))
    _check_size(source, (file.n_rows, n), matrix_limit)
    return file.table(source, wanted)


@dataclass(frozen=True, slots=True)
class MatrixFile:
    """A matrix, with vectors beside it, as the columns of a table."""

    X: Any  # an array, or what reads rows or columns of a file
    names: Names  # of the columns of the matrix, then of the vectors
    vectors: Mapping[str, NDArray[Any]]
    target: str | None
    hint: str = ""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    def positions(self, names: Sequence[str]) -> NDArray[np.intp]:
        """Return where columns are in the matrix."""
        place = {name: index for index, name in enumerate(self.names.names)}
        return np.array([place[name] for name in names], dtype=np.intp)

    def read(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return whole columns, each as an array."""
        inside = [name for name in names if name not in self.vectors]
        positions = self.positions(inside)
        if isinstance(self.X, np.ndarray):
            columns = [self.X[:, position] for position in positions]
        else:
            columns = list(_columns_of(self.X, positions).T)
        matrix = dict(zip(inside, columns, strict=True))
        return {name: matrix[name] if name in matrix else self.vectors[name] for name in names}

    def table(self, source: Source, wanted: Wanted) -> Table:
        """Return the columns in use as a table in memory."""
        with guarded(source, "its numbers"):
            arrays = self.read(wanted.used(self.names))
        return _table(source, arrays, wanted, self.names, self.n_rows, self.target, self.hint)


def _columns_of(X: Any, positions: NDArray[np.intp]) -> NDArray[Any]:
    """Return whole columns of a matrix in a file, (m × c), by one pass."""
    if hasattr(X, "read_columns"):
        columns: NDArray[Any] = X.read_columns(positions, slice(None))
        return columns
    m, n = X.shape
    values = np.empty((m, len(positions)), X.dtype, order="F")
    top = 0
    for chunk in X.chunks(max(1, _CHUNK_BYTES // (n * X.dtype.itemsize))):
        values[top : top + len(chunk)] = chunk[:, positions]
        top += len(chunk)
    return values


def open_matrix(source: Source) -> MatrixFile:
    """Open a .npy, HDF5, Zarr or PLINK file; vectors beside the matrix are loaded."""
    if source.format == "plink":
        return _open_plink(source)
    if source.format == "npy":
        with guarded(source, "its NumPy array"):
            array = np.load(source.path, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.memmap) or array.ndim != 2 or array.dtype.kind not in "biuf":
            raise InputError(
                f"{source}: must hold a matrix of numbers, as numpy.save writes it; it has "
                f"{getattr(array, 'dtype', 'objects')} {getattr(array, 'shape', '')}."
            )
        return _named(source, {"X": array}, is_stored=True)
    library = {"hdf5": "h5py", "zarr": "zarr"}[source.format]
    need(source, library, source.format)
    with guarded(source, f"its {library} data"):
        opened: Any
        if library == "h5py":
            import h5py

            opened = h5py.File(source.path, "r")
        else:
            import zarr

            opened = zarr.open(str(source.path), mode="r")
        return _named(source, _members(opened), is_stored=True)


def _members(opened: Any) -> dict[str, Any]:
    """Return the datasets at the top of a file or group, vectors loaded; a single array is X."""
    members = {name: opened[name] for name in opened} if hasattr(opened, "keys") else {"X": opened}
    arrays = {}
    for name, member in members.items():
        if not hasattr(member, "shape") or member.ndim not in (1, 2):
            continue  # a group, a single number, an array of more dimensions
        if member.ndim == 2 and np.dtype(member.dtype).kind in "biuf" and member.shape[1] > 1:
            arrays[name] = member
            continue
        values = member[()]
        # Texts of any length; other objects are left to `column_of_array`.
        is_text = values.dtype.kind in "OT" and all(isinstance(v, str | bytes) for v in values.flat)
        if is_text:
            values = np.array([v.decode() if isinstance(v, bytes) else v for v in values.flat])
        arrays[name] = values
    return arrays


def _check_size(source: Source, shape: tuple[int, int], matrix_limit: int) -> None:
    size = 8 * shape[0] * shape[1]
    if size > matrix_limit:
        raise InputError(
            f"{source}: {' × '.join(map(str, shape))} numbers take {size / 2**30:.2f} GiB in "
            f"memory, the limit is {matrix_limit / 2**30:.2f} GiB. In Python greedy_path reads "
            f"them from the file: greedyrls.files.open_{source.format}."
        )


def _open_plink(source: Source) -> MatrixFile:
    """Open genotypes, with the phenotypes of the .fam file as the target."""
    need(source, "bed_reader", "plink")
    for suffix in (".bim", ".fam"):
        if not source.path.with_suffix(suffix).exists():
            raise InputError(
                f"{source}: there is no {source.path.with_suffix(suffix).name} beside it; PLINK "
                "genotypes are three files of one name: .bed, .bim (markers) and .fam (people)."
            )
    with guarded(source, "its PLINK genotypes"):
        X = PlinkSource(opened_bed(source.path))
        markers, phenotypes = list(X.marker_names), X.phenotypes
    if np.isnan(phenotypes).all():
        hint = "The phenotypes (the sixth column of the .fam file) are all missing."
        return MatrixFile(X, Names(markers), {}, None, hint)
    target = tidy([*markers, "phenotype"]).names[-1]
    return MatrixFile(X, Names([*markers, target]), {target: phenotypes}, target)


def _named(source: Source, arrays: dict[str, Any], is_stored: bool = False) -> MatrixFile:
    """Name the columns of a matrix among arrays, and of the vectors beside it."""
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
        name: np.asarray(array).reshape(m)
        for name, array in arrays.items()
        if array.shape in ((m,), (m, 1))
    }
    if "y" in arrays and "y" not in others:
        raise InputError(
            f"{source}: y has shape {arrays['y'].shape}, but X has {m} rows; it must have one "
            "value for each."
        )
    known = tidy([*names, *others])
    target = known.names[n + list(others).index("y")] if "y" in others else None
    vectors = dict(zip(known.names[n:], others.values(), strict=True))
    if is_stored:
        X = ArraySource(X) if isinstance(X, np.ndarray) else chunked_source(X)
    return MatrixFile(X, known, vectors, target)


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
    wanted: Wanted,
    names: Names,
    m: int,
    target: str | None,
    hint: str = "",
) -> Table:
    columns: dict[str, Column] = {}
    for name in wanted.used(names):
        with guarded(source, f"column {shown(name)}"):
            columns[name] = column_of_array(arrays[name], name in wanted.as_text)
    notes = tuple(wanted.name_notes(names))
    return Table(source.name, columns, m, target, tuple(names.names), notes, hint=hint)


def column_of_array(values: NDArray[Any], as_text: bool) -> Column:
    """Return a column from an array of any type."""
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
