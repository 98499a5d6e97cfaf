"""Cutting rows, columns and candidates into parts, so that temporaries stay small."""

from __future__ import annotations

from collections.abc import Iterator

from ._namespaces import Array


def slices(count: int, width: int) -> Iterator[slice]:
    """Yield slices of 0, …, count − 1, of at most `width` numbers each, in order."""
    for first in range(0, count, width):
        yield slice(first, min(count, first + width))


def batches(values: Array, width: int) -> Iterator[Array]:
    """Yield the entries of an array along its first axis, at most `width` at a time."""
    for part in slices(len(values), width):
        yield values[part]
