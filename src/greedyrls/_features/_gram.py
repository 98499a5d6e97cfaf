"""Gram columns X'x_b in prefetched batches.

One column costs a pass over X that waits for memory; sixteen cost little more. The features chosen
next are nearly always among today's best bounds, so a miss fetches those too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._base import ColumnCache, CopiedLock, Float

# Given a count, the likely next features, best first.
Ranking = Callable[[int], Sequence[int]]

# A product with this many vectors takes about twice the time of one with a single vector.
_FIRST_WIDTH = 16
# On a device, where reading X takes longer than multiplying it with as many.
_DEVICE_WIDTH = 64
_SMALLEST_WIDTH = 4
_LARGEST_WIDTH = 64
# So few candidates, if a quarter of them are still to be chosen, are all fetched at once.
_ALL_WIDTH = 128


class GramColumns:
    """Columns fetched by feature, and the width of the next batch.

    `fetch` makes the columns of some features by one pass over the data. At most `limit` wait.
    One search needs each column once; where several searches share them, used ones are retained.
    These may run at the same time: none fetches a column that another is fetching.
    """

    def __init__(
        self,
        fetch: Callable[[Sequence[int]], Float],
        limit: int,
        retained: bool = False,
        on_device: bool = False,
    ) -> None:
        self.fetch = fetch
        self.waiting = ColumnCache(max(_SMALLEST_WIDTH, limit))
        self._width = _DEVICE_WIDTH if on_device else _FIRST_WIDTH
        self._least = _DEVICE_WIDTH // 2 if on_device else _SMALLEST_WIDTH
        self._share_of_waiting: Callable[[], float] | None = None
        self._margin = 3  # columns fetched for each one that was of use
        self._used = 0
        self._ranks: dict[int, int] = {}  # in the ranking that was asked last
        self._retained = retained
        self._lock = CopiedLock()
        self.version = 0  # another one when columns have come or gone, but for those taken

    def widen(self, waiting: Callable[[], float]) -> None:
        """X is in a file: `waiting` tells which share of the last pass was spent waiting for it.

        More vectors fill that time, and spare passes.
        """
        self._share_of_waiting = waiting

    def narrow(self) -> None:
        """Fetch no more columns than are of use: rankings change, and X is in memory."""
        self._width = self._least = self._margin = 1

    def expect(self, width: int) -> None:
        """Have batches of at least this width: a search that comes and goes needs many columns."""
        self._least, self._width = max(self._least, width), max(self._width, width)

    def __contains__(self, index: int) -> bool:
        return index in self.waiting

    def take(self, index: int, ranking: Ranking, remaining: int) -> Float:
        """The column of a chosen feature; fetched with others on a miss."""
        with self._lock:
            if index not in self.waiting:
                self._fetched(self.batch(ranking, remaining, index))
            self._used += 1
            column: Float = (self.waiting.get if self._retained else self.waiting.pop)(index)
            return column

    def fetch_likely(self, ranking: Ranking, remaining: int, missing: int | None = None) -> None:
        """Fetch a batch with a missing column, or before the first of its columns is needed."""
        with self._lock:
            likely = ranking(len(self.waiting) + _ALL_WIDTH + 2)
            first = [*likely[:1]] if missing is None else [missing]
            if first:
                self._fetched(self.batch(lambda count: likely[:count], remaining, first[0]))

    def columns(self, indices: Sequence[int]) -> Float:
        """Copies of the columns of some features; one pass for those that are not there."""
        with self._lock:
            return np.array(self.waiting.gather(indices, self._fetched))

    def _fetched(self, indices: Sequence[int]) -> Float:
        """Fetch columns by one pass, and keep them."""
        columns = self.fetch(indices)
        self.keep(indices, columns)
        return columns

    def batch(self, ranking: Ranking, remaining: int, missing: int) -> list[int]:
        """The features to fetch in a pass: the missing one and the best of `ranking`.

        `remaining` is how many features are still to be chosen, the missing one included.
        """
        self._adapt()
        ranked = ranking(len(self.waiting) + _ALL_WIDTH + 2)
        self._ranks = {index: rank for rank, index in enumerate(ranked)}
        likely = [index for index in self.waiting.missing(ranked) if index != missing]
        limit = self.waiting.limit
        if len(likely) < min(_ALL_WIDTH, 4 * remaining, limit):
            return [missing, *likely]  # all there are: never another pass for Gram columns
        # Past the last feature nothing is needed; a quarter more allows for wrong guesses.
        width = min(self._width, remaining + remaining // 4, limit)
        return [missing, *likely[: width - 1]]

    def keep(self, indices: Sequence[int], columns: Float) -> None:
        """Remember fetched columns, dropping the least likely beyond the limit."""
        self.version += 1
        lowest = len(self.waiting) + len(indices) + _ALL_WIDTH
        first = indices[:1]  # of a batch: the one that is needed now
        self.waiting.add(
            indices, columns, lambda index: 1 if index in first else -self._ranks.get(index, lowest)
        )

    def _adapt(self) -> None:
        """Some times as wide as the last batch was of use: a wrong guess costs arithmetic only."""
        least = self._least
        if self._share_of_waiting is not None:
            least = _FIRST_WIDTH + int((_LARGEST_WIDTH - _FIRST_WIDTH) * self._share_of_waiting())
            # Half of the limit at most, because others wait as well.
            least = max(_SMALLEST_WIDTH, min(least, self.waiting.limit // 2))
            self._width = max(self._width, least)
        if self._used:
            self._width = min(_LARGEST_WIDTH, max(least, self._margin * self._used))
        self._used = 0
