"""Digests of numbers, however they lie in memory or in a file."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._matrix import Matrix, not_on_device
from ._sparse import SparseMatrix

# Bytes of X that are put into order at a time, and at least so many rows: where columns lie
# together, rows share the lines of the cache.
_CHUNK_BYTES = 1 << 20
_CHUNK_ROWS = 8


def text_digest(text: str) -> str:
    """Of any text."""
    # Names may hold lone surrogates, which have no bytes of their own.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def array_digest(values: NDArray[Any]) -> str:
    """Of shape and numbers."""
    digest = hashlib.sha256(str(values.shape).encode())
    digest.update(bytes_of(values))
    return digest.hexdigest()


def matrix_digest(X: Matrix) -> str:
    """A digest of the numbers row by row, however they lie in memory or in a file."""
    if X.on_device:
        raise not_on_device("A digest of X")
    digest = hashlib.sha256()
    if isinstance(X, SparseMatrix):
        for part in X.arrays:
            step = _CHUNK_BYTES // 8
            for first in range(0, len(part), step):
                some = part[first : first + step]
                digest.update(bytes_of(some.astype(np.int64) if some.dtype.kind == "i" else some))
        return digest.hexdigest()
    height = max(_CHUNK_ROWS, _CHUNK_BYTES // max(1, X.dtype.itemsize * X.shape[1]))
    for _, chunk in X.chunks():
        for top in range(0, len(chunk), height):
            digest.update(bytes_of(chunk.part(slice(top, top + height))))
    return digest.hexdigest()


def bytes_of(values: NDArray[Any]) -> memoryview:
    """As they lie in C order; no copy where they do."""
    if values.dtype.itemsize > 8:  # between its numbers a long double has bytes of no meaning
        values = values.astype(np.float64)
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
