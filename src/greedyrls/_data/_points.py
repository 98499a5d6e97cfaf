"""Points in a file: rows of a matrix that are read when they are used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._base import Float
from ._file_memory import default_limit, size_in_words
from ._matrix import Matrix, Rows


class MatrixPoints:
    """The rows of a matrix minus an origin (d), indexed as an array (m × d) is.

    `memory_limit` is that of the file in bytes, None for the default.
    """

    def __init__(
        self, X: Matrix, memory_limit: int | None = None, origin: Float | None = None
    ) -> None:
        self._X, self._origin = X, origin
        self.shape = X.shape  # the number of points m and their dimension d
        self.memory_limit = memory_limit

    def __sub__(self, origin: Float) -> MatrixPoints:
        whole = origin if self._origin is None else self._origin + origin
        return MatrixPoints(self._X, self.memory_limit, whole)

    def _moved(self, values: Any) -> Float:
        """Return points as a new array, minus the origin."""
        points: Float = np.array(values, dtype=np.float64)
        if self._origin is not None:
            points -= self._origin
        return points

    def __getitem__(self, rows: Rows) -> Float:
        """Return points in memory; those of row numbers are read in one pass."""
        if isinstance(rows, slice):
            return self._moved(self._X.part(rows))
        result = np.empty((len(rows), self.shape[1]))
        order = np.argsort(rows, kind="stable")
        for inside, chunk in self._X.chunks():
            first, last = np.searchsorted(rows[order], (inside.start, inside.stop))
            wanted = order[first:last]
            result[wanted] = self._moved(chunk.part(rows[wanted] - inside.start))
        return result

    def chunks(self) -> Iterator[Float]:
        """Yield all points in order, some of them at a time: one pass."""
        for _, chunk in self._X.chunks():
            yield self._moved(chunk.part(slice(None)))

    def check_memory(self, count: int) -> None:
        """Raise an error if so many points, as candidates, would take more than half the memory."""
        limit = default_limit() if self.memory_limit is None else self.memory_limit
        if 16 * count * self.shape[1] > limit:
            raise ValueError(
                f"{count} candidates for centres take {size_in_words(8 * count * self.shape[1])}, "
                f"more than half of memory_limit, {size_in_words(limit)}. Use max_candidates, or "
                "allow more."
            )

    def var(self) -> float:
        """Return the variance of all coordinates, as of an array."""
        count, mean, squares = 0, 0.0, 0.0
        for points in self.chunks():
            more, distance = points.size, float(points.mean()) - mean
            squares += float(points.var()) * more + distance**2 * count * more / (count + more)
            count += more
            mean += distance * more / count
        return squares / count

    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Return row, column and value of a NaN or infinite coordinate, or None."""
        return self._X.first_non_finite()


def point_blocks(points: Any) -> Iterator[Any]:
    """Yield points in memory as they are, those of a file in chunks."""
    if isinstance(points, MatrixPoints):
        yield from points.chunks()
    else:
        yield points
