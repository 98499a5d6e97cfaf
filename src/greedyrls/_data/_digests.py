"""Digests of arrays that do not depend on their memory order or storage."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._column_major import ColumnFileMatrix
from ._dense import DenseMatrix
from ._matrix import Matrix
from ._sparse import SparseMatrix

# Bytes of X that are reordered at a time, and the least number of rows: in Fortran order, rows
# share cache lines.
_CHUNK_BYTES = 1 << 20
_CHUNK_ROWS = 8


def text_digest(text: str) -> str:
    """Return the digest of a text."""
    # Names may hold lone surrogates, which UTF-8 cannot encode.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def array_digest(values: NDArray[Any]) -> str:
    """Return the digest of the shape and values of an array."""
    digest = hashlib.sha256(str(values.shape).encode())
    digest.update(bytes_of(values))
    return digest.hexdigest()


def matrix_digest(X: Matrix) -> str:
    """Return the digest of the values row by row, in memory or in a file.

    A file that is stored by columns has another one, by columns: to read its rows takes long.
    """
    digest = hashlib.sha256()
    if isinstance(X, SparseMatrix):
        for part in X.arrays:
            step = _CHUNK_BYTES // 8
            for first in range(0, len(part), step):
                values = part[first : first + step]
                digest.update(
                    bytes_of(values.astype(np.int64) if values.dtype.kind == "i" else values)
                )
        return digest.hexdigest()
    if isinstance(X, ColumnFileMatrix):
        for digests in X.over_tiles(_column_digests):
            digest.update(digests)
        return digest.hexdigest()
    height = max(_CHUNK_ROWS, _CHUNK_BYTES // max(1, X.dtype.itemsize * X.shape[1]))
    for _, chunk in X.chunks():
        for top in range(0, chunk.shape[0], height):
            digest.update(bytes_of(chunk.part(slice(top, top + height))))
    return digest.hexdigest()


def _column_digests(columns: slice, tile: DenseMatrix) -> bytes:
    """Return the digests of columns, which do not depend on the width of tiles."""
    return b"".join(hashlib.sha256(bytes_of(column)).digest() for column in tile.values.T)


def bytes_of(values: NDArray[Any]) -> memoryview:
    """Return the bytes of an array in C order, without a copy if it is."""
    if values.dtype.itemsize > 8:  # a long double has padding bytes
        values = values.astype(np.float64)
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
