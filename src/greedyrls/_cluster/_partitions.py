"""Partitions of a Dask collection as matrices on the workers, and their rows in this process.

A search whose options need all rows together runs in this process: on X in memory if it fits, else
on X as a file whose rows are on the workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._base import Float, Handle, batches, frame_numbers
from .._data import DataFile, DenseMatrix, FileMatrix, Matrix, SparseMatrix, default_limit
from .._problem import feature_names_of

# Bytes of X up to which it takes less time to fetch X than to ask the cluster a hundred questions.
_SMALL = 1 << 28
# Bytes of rows that are fetched together.
_FETCHED = 1 << 26


@dataclass(frozen=True, slots=True, eq=False)
class Partitions:
    """The partitions of X with rows, each computed once and kept by its worker."""

    client: Any
    matrices: tuple[Handle, ...]
    counts: tuple[int, ...]  # rows of each
    n_features: int
    dtype: np.dtype[Any]
    nbytes: int
    is_sparse: bool
    labels: Any  # of the columns of a data frame, else None
    feature_names: tuple[str, ...] | None
    overhead: int = 0  # bytes of memory that reading takes in addition to the rows
    name: str = "the Dask collection"  # for error messages

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples m and of features n."""
        return sum(self.counts), self.n_features

    @property
    def is_small(self) -> bool:
        """Whether it pays to fetch X rather than to work on the cluster."""
        return self.nbytes <= _SMALL

    @property
    def fits(self) -> bool:
        """Whether X may take that much memory of this process."""
        return self.nbytes <= default_limit()

    def slices(self) -> list[slice]:
        """Return the rows of each partition."""
        ends = np.cumsum([0, *self.counts]).tolist()
        return [slice(start, stop) for start, stop in pairwise(ends)]

    def here(self) -> Any:
        """Return X in memory if it fits, else as a file whose rows are fetched when needed."""
        if not self.fits:
            return ClusterFile(self, feature_names=self.feature_names)
        if self.is_sparse:
            return sparse.vstack(self.client.gather(self._each(_as_scipy)), format="csc")
        m, _ = self.shape
        values = self.read(0, m)
        if self.labels is None:
            return values
        import pandas as pd

        return pd.DataFrame(values, columns=self.labels)

    def chunks(self, height: int) -> Iterator[NDArray[Any]]:
        """Yield all rows in order, `height` at a time (the last chunk may be shorter)."""
        m, _ = self.shape
        for top in range(0, m, height):
            yield self.read(top, min(m, top + height))

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return consecutive rows as a new array."""
        values = np.empty((stop - start, self.n_features), dtype=self.dtype)
        height = max(1, _FETCHED // max(1, self.n_features * self.dtype.itemsize))
        wanted: list[tuple[slice, Handle]] = []
        count = 0
        for rows, X in zip(self.slices(), self.matrices, strict=True):
            first, last = max(start, rows.start), min(stop, rows.stop)
            for top in range(first, last, height):
                end = min(last, top + height)
                inside = slice(top - rows.start, end - rows.start)
                part = self.client.submit(_rows_of, X, inside, pure=False)
                wanted.append((slice(top - start, end - start), part))
                count += end - top
                if count >= height:
                    self._fill(values, wanted)
                    wanted, count = [], 0
        self._fill(values, wanted)
        return values

    def _fill(self, values: NDArray[Any], wanted: Sequence[tuple[slice, Handle]]) -> None:
        """Fetch rows together."""
        parts = self.client.gather([part for _, part in wanted])
        for (rows, _), part in zip(wanted, parts, strict=True):
            values[rows] = part

    def columns(self, indices: Sequence[int]) -> Float:
        """Return columns in the type of X, (c × m)."""
        order = np.array(indices, dtype=np.intp)
        parts = self.client.gather(self._each(_columns_of, [order] * len(self.counts)))
        return np.concatenate(parts, axis=1).astype(self.dtype, copy=False)

    def sums(self, V: Float, weights: Float | None, with_squares: bool) -> tuple[Float, Float]:
        """Return V X and the weighted sums of squares of the columns, computed by the workers."""
        rows = self.slices()
        parts = [V[:, inside] for inside in rows]
        own = [None if weights is None else weights[inside] for inside in rows]
        answers = self._each(_sums_of, parts, own, [with_squares] * len(rows))
        products, squares = self.client.submit(_total, answers, pure=False).result()
        return products, squares

    def _each(self, question: Any, *parts: Sequence[Any]) -> list[Handle]:
        """Return the answers of the workers for each partition, as futures."""
        answers: list[Handle] = self.client.map(question, self.matrices, *parts, pure=False)
        return answers


def _rows_of(X: Matrix, rows: slice) -> NDArray[Any]:
    return np.ascontiguousarray(X.part(rows))


def _columns_of(X: Matrix, indices: NDArray[np.intp]) -> NDArray[Any]:
    return np.ascontiguousarray(X.part(slice(None), indices).T)


def _as_scipy(X: SparseMatrix) -> Any:
    return X.by_rows


def _sums_of(X: Matrix, V: Float, weights: Float | None, with_squares: bool) -> tuple[Float, Float]:
    return X.sums(V, weights, with_squares)


def _total(answers: Sequence[tuple[Float, Float]]) -> tuple[Float, Float]:
    """Add up products and squares in the order of the rows."""
    products, squares = zip(*answers, strict=True)
    return np.sum(products, axis=0), np.sum(squares, axis=0)


class ClusterFile(DataFile):
    """A Dask collection that is read like a file."""

    def __init__(self, rows: Partitions, feature_names: tuple[str, ...] | None = None) -> None:
        super().__init__(rows, feature_names=feature_names)
        self._rows = rows

    def matrix(self, memory_limit: int | None = None) -> RowsOfCluster:
        """Return the matrix for one search."""
        return RowsOfCluster(self._rows, memory_limit)


class RowsOfCluster(FileMatrix):
    """X (m × n) on a cluster for a search in this process, within some bytes of memory.

    Sums are computed by the workers, and columns are fetched without a pass.
    """

    noun = "on a cluster"

    def __init__(self, rows: Partitions, memory_limit: int | None = None) -> None:
        super().__init__(rows, memory_limit)
        self._rows = rows

    def fetch(self, indices: Any) -> None:
        """Have some columns."""
        cache = self.kept.cache
        lacking = list(dict.fromkeys(cache.missing(indices)))
        width = max(1, _FETCHED // max(1, self.shape[0] * self.dtype.itemsize))
        for some in batches(lacking, width):
            incoming = cache.receive(some, lambda: np.empty(self.shape[0], self.dtype))
            cache.put_rows(incoming, slice(0, self.shape[0]), self._rows.columns(some))
            cache.finish(incoming)

    def sums(self, V: Float, weights: Float | None, with_squares: bool) -> tuple[Float, Float]:
        """Return V X and the weighted sums of squares of the columns; one pass by the workers."""
        self.rows_read += self.shape[0]
        return self._rows.sums(V, weights, with_squares)


def as_matrix(chunk: Any) -> Matrix:
    """Return a partition of X as a matrix."""
    if sparse.issparse(chunk):
        return SparseMatrix.from_scipy(chunk)
    values = frame_numbers(chunk) if hasattr(chunk, "columns") else np.asarray(chunk)
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"X must be numeric, got {values.dtype}. Encode text columns first, or drop them."
        )
    if values.ndim != 2:
        raise ValueError(f"X must have 2 dimensions, got an array of shape {values.shape}.")
    return DenseMatrix(values)


def _facts_of(X: Matrix) -> tuple[int, int, str, int, bool]:
    return (*X.shape, str(X.dtype), X.nbytes, X.is_sparse)


def partitions_of(X: Any, client: Any) -> Partitions:
    """Compute the partitions of a Dask collection, which stay on the workers."""
    matrices = client.map(as_matrix, chunks_of(client, X, "X"), pure=False)
    facts = client.gather(client.map(_facts_of, matrices, pure=False))
    columns = {n for _, n, *_ in facts}
    if len(columns) != 1:
        raise ValueError(f"Partitions of X have different numbers of columns: {sorted(columns)}.")
    counts = [rows for rows, *_ in facts]
    if not any(counts):
        raise ValueError("Found array with 0 sample(s) in X; at least 2 are needed.")
    kept = [number for number, rows in enumerate(counts) if rows]
    is_sparse = all(is_sparse for *_, is_sparse in facts)
    dtype = np.result_type(*(np.dtype(kind) for _, _, kind, *_ in facts))
    n_features = columns.pop()
    nbytes = sum(size for *_, size, _ in facts)
    return Partitions(
        client=client,
        matrices=tuple(matrices[number] for number in kept),
        counts=tuple(counts[number] for number in kept),
        n_features=n_features,
        dtype=dtype,
        nbytes=nbytes if is_sparse else sum(counts) * n_features * dtype.itemsize,
        is_sparse=is_sparse,
        labels=getattr(X, "columns", None),
        feature_names=feature_names_of(X),
    )


def chunks_of(client: Any, values: Any, name: str) -> list[Handle]:
    """Return futures of the partitions of rows."""
    if hasattr(values, "dask") and hasattr(values, "chunks"):  # an array
        if values.ndim == 2 and len(values.chunks[1]) > 1:
            values = values.rechunk({1: -1})
        parts = values.to_delayed().ravel().tolist()
    else:
        parts = list(values.to_delayed())
    if not parts:
        raise ValueError(f"{name} has no partitions.")
    return list(client.compute(parts))
