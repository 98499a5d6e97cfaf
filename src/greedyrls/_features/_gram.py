"""Gram columns X'x_b in prefetched batches.

One column costs a pass over X that waits for memory; sixteen cost little more. The features chosen
next are nearly always among today's best bounds, so a miss fetches those too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._base import Float

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
    """

    def __init__(
        self,
        fetch: Callable[[Sequence[int]], Float],
        limit: int,
        retained: bool = False,
        on_device: bool = False,
    ) -> None:
        self.fetch = fetch
        self._columns: dict[int, Float] = {}
        self._width = _DEVICE_WIDTH if on_device else _FIRST_WIDTH
        self._least = _DEVICE_WIDTH // 2 if on_device else _SMALLEST_WIDTH
        self._waiting: Callable[[], float] | None = None
        self._used = 0
        self._places: dict[int, int] = {}  # in the ranking that was asked last
        self._limit = max(_SMALLEST_WIDTH, limit)
        self._retained = retained
        self.version = 0  # another one when columns have come or gone, but for those taken

    def widen(self, waiting: Callable[[], float]) -> None:
        """X is in a file: `waiting` tells which share of the last pass was spent waiting for it.

        More vectors fill that time, and spare passes.
        """
        self._waiting = waiting

    def expect(self, width: int) -> None:
        """Have batches of at least this width: a search that comes and goes needs many columns."""
        self._least, self._width = max(self._least, width), max(self._width, width)

    def __contains__(self, index: int) -> bool:
        return index in self._columns

    @property
    def waiting(self) -> dict[int, Float]:
        """The columns that are there, by feature."""
        return self._columns

    def take(self, index: int, ranking: Ranking, remaining: int) -> Float:
        """The column of a chosen feature; fetched with others on a miss."""
        if index not in self._columns:
            batch = self.batch(ranking, remaining, index)
            self.keep(batch, self.fetch(batch))
        self._used += 1
        return self._columns[index] if self._retained else self._columns.pop(index)

    def columns(self, indices: Sequence[int]) -> Float:
        """Copies of the columns of some features; one pass for those that are not there."""
        missing = [index for index in indices if index not in self._columns]
        fetched = {}
        if missing:
            values = self.fetch(missing)
            fetched = dict(zip(missing, values, strict=True))
        result = np.array(
            [fetched[index] if index in fetched else self._columns[index] for index in indices]
        )
        if missing:
            self.keep(missing, values)
        return result

    def batch(self, ranking: Ranking, remaining: int, missing: int) -> list[int]:
        """The features to fetch in a pass: the missing one and the best of `ranking`.

        `remaining` is how many features are still to be chosen, the missing one included.
        """
        self._adapt()
        ranked = ranking(len(self._columns) + _ALL_WIDTH + 2)
        self._places = {index: place for place, index in enumerate(ranked)}
        likely = [index for index in ranked if index != missing and index not in self._columns]
        if len(likely) < min(_ALL_WIDTH, 4 * remaining, self._limit):
            return [missing, *likely]  # all there are: never another pass for Gram columns
        # Past the last feature nothing is needed; a quarter more allows for wrong guesses.
        width = min(self._width, remaining + remaining // 4, self._limit)
        return [missing, *likely[: width - 1]]

    def keep(self, indices: Sequence[int], columns: Float) -> None:
        """Remember fetched columns, dropping the least likely beyond the limit."""
        self.version += 1
        self._columns.update((index, columns[place, :]) for place, index in enumerate(indices))
        surplus = len(self._columns) - self._limit
        if surplus <= 0:
            return
        # The first of a batch is the one that is needed now.
        others = [index for index in self._columns if index not in indices[:1]]
        others.sort(key=lambda index: -self._places.get(index, len(self._columns) + _ALL_WIDTH))
        for unlikely in others[:surplus]:
            del self._columns[unlikely]

    def _adapt(self) -> None:
        """Three times as wide as the last batch was of use: a wrong guess costs arithmetic only."""
        least = self._least
        if self._waiting is not None:
            least = _FIRST_WIDTH + int((_LARGEST_WIDTH - _FIRST_WIDTH) * self._waiting())
            least = max(_SMALLEST_WIDTH, min(least, self._limit // 2))  # others wait as well
            self._width = max(self._width, least)
        if self._used:
            self._width = min(_LARGEST_WIDTH, max(least, 3 * self._used))
        self._used = 0
