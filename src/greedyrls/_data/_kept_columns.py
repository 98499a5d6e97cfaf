"""Columns that X keeps because they would cost a pass, and requests to the next pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .._base import ColumnCache


class KeptColumns:
    """The columns of an X whose columns cost no pass: none is missing, and requests are no-ops."""

    def missing(self, indices: Iterable[int]) -> list[int]:
        """Return the columns that would cost a pass."""
        return []

    def take_along(self, indices: Iterable[int]) -> None:
        """Request that the next pass, whatever its purpose, also fetches these columns."""

    def prefetch(self, ranking: Callable[[int], Sequence[int]], count: int) -> None:
        """Let the next pass also fetch the `count` likeliest missing columns, and no earlier ones.

        ranking(k) are the k likeliest columns.
        """

    def pin(self, index: int) -> None:
        """Keep a fetched column, that of a chosen feature, from now on."""


class FetchedColumns(KeptColumns):
    """Columns that passes fetch and a cache keeps; with `is_free`, none is worth a pass."""

    def __init__(self, cache: ColumnCache, is_free: bool = False) -> None:
        self.cache = cache
        self._is_free = is_free
        self._wanted: dict[int, None] = {}
        self._likely: list[int] = []

    def missing(self, indices: Iterable[int]) -> list[int]:
        """Return the columns that would cost a pass."""
        return [] if self._is_free else self.cache.missing(indices)

    def take_along(self, indices: Iterable[int]) -> None:
        """Request that the next pass, whatever its purpose, also fetches these columns."""
        self._wanted.update(dict.fromkeys(int(index) for index in indices))

    def prefetch(self, ranking: Callable[[int], Sequence[int]], count: int) -> None:
        """Let the next pass also fetch the `count` likeliest missing columns, no earlier ones."""
        self._likely = self.missing(ranking(len(self.cache) + count))[:count]

    def pin(self, index: int) -> None:
        """Keep a fetched column, that of a chosen feature, from now on."""
        self.cache.pin(index)

    def due(self) -> list[int]:
        """Return the columns that the pass beginning now fetches as well; requests are done."""
        requests = dict.fromkeys([*self._wanted, *self._likely])
        self._wanted, self._likely = {}, []
        return self.cache.missing(requests)
