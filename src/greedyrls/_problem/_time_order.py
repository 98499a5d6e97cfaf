"""Folds in the order of time: train on what came before, test on what follows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._row_order import Split

Rows = NDArray[np.intp]


class TimeOrderedSplit:
    """The later half of the rows in a few tests, each by what came before it.

    Without ties it is scikit-learn's ``TimeSeriesSplit(K, test_size=m // (2 * K))``: the first half
    is always trained on, so that folds in folds still have rows to learn from. `groups` of `split`
    are units that are never taken apart, rows of the same time or given groups; `starts` and `ends`
    are their first and last time. A unit is tested where it starts, and trained on only if it ended
    before the test began.

    Parameters
    ----------
    n_splits : int
        K, the number of tests.
    starts, ends : ndarray of shape (units,)
    words : str
        What orders the rows, such as "the order of 'sold'".
    keeps_classes : bool
        Whether y are classes, all of which every training part must have.
    """

    def __init__(
        self,
        n_splits: int,
        starts: NDArray[Any],
        ends: NDArray[Any],
        words: str = "time order",
        keeps_classes: bool = False,
    ) -> None:
        self.n_splits = n_splits
        self.starts = starts
        self.ends = ends
        self.words = words
        self.keeps_classes = keeps_classes

    @property
    def description(self) -> str:
        """The folds in words, for sentences."""
        return f"{self.n_splits} folds in {self.words}"

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits K."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield training and test rows of each fold."""
        if groups is None:
            raise ValueError("groups is None")
        units = np.asarray(groups)
        start, end = self.starts[units], self.ends[units]
        bounds = self._bounds(start, end, y)
        for number, bound in enumerate(bounds):
            is_later = start >= bound
            if number + 1 < len(bounds):
                is_later &= start < bounds[number + 1]
            yield np.flatnonzero(end < bound), np.flatnonzero(is_later)

    def remade(
        self, y: NDArray[Any] | None, groups: Any, counted: NDArray[np.bool_]
    ) -> tuple[Split, ...]:
        """Split a subset of the rows as if it were all rows."""
        rows = np.flatnonzero(counted)
        try:
            pairs = list(self.split(rows, None if y is None else y[rows], groups[rows]))
        except ValueError as error:
            raise ValueError(f"{self.description}, within earlier rows: {error}.") from error
        return tuple(Split(rows[test], rows[train], len(counted)) for train, test in pairs)

    def most(self, y: Any, groups: NDArray[Any]) -> int:
        """Return the largest possible number of splits of the rows."""
        return len(self._begins(self.starts[groups], self.ends[groups], y)[0])

    def _begins(self, start: NDArray[Any], end: NDArray[Any], y: Any) -> tuple[NDArray[Any], Rows]:
        """Return times at which a test can begin, and the number of rows that start before each."""
        times, first = np.unique(np.sort(start), return_index=True)
        can_begin = first > 0
        ended = np.searchsorted(np.sort(end), times)  # rows that ended before each
        can_begin &= ended > 0
        if self.keeps_classes:
            for label in np.unique(y):
                can_begin &= times > end[y == label].min()
        return times[can_begin], first[can_begin]

    def _bounds(self, start: NDArray[Any], end: NDArray[Any], y: Any) -> list[Any]:
        """Return the time at which each test begins."""
        m, count = len(start), self.n_splits
        times, first = self._begins(start, end, y)
        if len(times) < count:
            n_times = "is 1 time" if len(times) == 1 else f"are {len(times)} times"
            raise ValueError(
                f"there {n_times} at which a test can begin, with rows "
                f"{'of every class ' if self.keeps_classes else ''}before it, too few for {count}"
            )
        size = max(1, m // (2 * count))
        chosen: list[int] = []
        for number in range(count):
            lowest = chosen[-1] + 1 if chosen else 0
            highest = len(times) - (count - number)  # leave times for later tests
            wanted = m - (count - number) * size
            near = int(np.argmin(np.abs(first[lowest : highest + 1] - wanted)))
            chosen.append(lowest + near)
        return [times[index] for index in chosen]
