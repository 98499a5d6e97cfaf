"""Means, standard errors, verdicts and ranks, from the results of all data sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from . import data
from .methods import METHODS, OURS
from .store import About, Cell, read
from .tasks import Array


@dataclass(frozen=True, slots=True)
class Row:
    """One data set at one size: scores over the same splits for each method that has them all."""

    about: About
    k: int
    scores: dict[str, Array]
    seconds: dict[str, float]
    """Mean time of the call that selected, which may have answered for smaller sizes too."""

    missing: dict[str, str]
    """Why the other methods have no scores."""

    @property
    def repeats(self) -> int:
        """Number of splits."""
        return len(self.scores[OURS])

    def mean(self, method: str) -> float:
        """Mean score."""
        return float(self.scores[method].mean())

    def error(self, method: str) -> float:
        """Standard error of the mean score over the splits."""
        return standard_error(self.scores[method])

    def best(self, methods: Sequence[str]) -> str:
        """The one of these with the largest mean score."""
        return max(methods, key=self.mean)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How far a method is behind the best of the others; negative where it is ahead."""

    row: Row
    best_other: str
    behind: float
    own_error: float
    paired_error: float

    @property
    def within_own(self) -> bool:
        """Not behind by more than the standard error of its mean."""
        return self.behind <= self.own_error

    @property
    def within_paired(self) -> bool:
        """Not behind by more than the standard error of the difference on the same splits."""
        return self.behind <= self.paired_error


@dataclass(frozen=True, slots=True)
class Rank:
    """Mean place of a method: over the rows it has, and over those that hardly any method lacks."""

    method: str
    mean: float
    rows: int
    complete_rows: int
    mean_of_complete: float | None
    beyond_own: int
    """In how many rows it is behind the best other by more than its own standard error."""

    beyond_paired: int
    """The same by the standard error of the paired difference."""


def standard_error(values: Array) -> float:
    """Of the mean, from the spread of the values; not known from a single one."""
    if len(values) < 2:
        return float("nan")
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def rows_in(folder: Path) -> list[Row]:
    """The rows of all data sets that have results of ours, in the order of the data sets."""
    files = [folder / f"{name}.json" for name in data.NAMES]
    stores = [read(file) for file in files if file.exists()]
    rows = [_row(store.about, k, store.cells) for store in stores for k in store.about.sizes]
    return [row for row in rows if OURS in row.scores]


def _row(about: About, k: int, cells: Sequence[Cell]) -> Row:
    """Scores of the methods that have as many splits as ours; reasons for the rest."""
    here = [cell for cell in cells if cell.k == k]
    scored: dict[str, dict[int, Cell]] = defaultdict(dict)
    for cell in here:
        if cell.score is not None:
            scored[cell.method][cell.split] = cell
    splits = sorted(scored[OURS])
    row = Row(about, k, {}, {}, {})
    for method in METHODS:
        found = [scored[method][split] for split in splits if split in scored[method]]
        if not splits or len(found) < len(splits):
            reasons = [cell.missing for cell in here if cell.method == method and cell.missing]
            row.missing[method] = reasons[0] if reasons else "not run on all splits"
            continue
        row.scores[method] = np.array([cell.score for cell in found])
        row.seconds[method] = float(np.mean([cell.seconds for cell in found]))
    return row


def verdict(row: Row, method: str = OURS) -> Verdict:
    """A method against the best of all others."""
    best = row.best([other for other in row.scores if other != method])
    difference = row.scores[best] - row.scores[method]
    return Verdict(
        row=row,
        best_other=best,
        behind=float(difference.mean()),
        own_error=row.error(method),
        paired_error=standard_error(difference),
    )


def ranks(rows: Sequence[Row]) -> list[Rank]:
    """Places by mean score, 1 is the best, equal means share theirs; sorted.

    A method that lacks rows is ranked on those it has, among fewer others. The second mean is over
    the rows that all methods have which have more than half of them.
    """
    places = [_places(row) for row in rows]
    counts = {method: sum(method in place for place in places) for method in METHODS}
    common = [method for method in METHODS if 2 * counts[method] > len(rows)]
    complete = [place for place in places if all(method in place for method in common)]
    found = []
    for method in METHODS:
        if not counts[method]:
            continue
        verdicts = [verdict(row, method) for row in rows if method in row.scores]
        rank = Rank(
            method=method,
            mean=float(np.mean([place[method] for place in places if method in place])),
            rows=counts[method],
            complete_rows=len(complete),
            mean_of_complete=_mean_place(method, complete),
            beyond_own=sum(not v.within_own for v in verdicts),
            beyond_paired=sum(not v.within_paired for v in verdicts),
        )
        found.append(rank)
    return sorted(found, key=lambda rank: rank.mean)


def _mean_place(method: str, places: Sequence[dict[str, float]]) -> float | None:
    if not places or not all(method in place for place in places):
        return None
    return float(np.mean([place[method] for place in places]))


def _places(row: Row) -> dict[str, float]:
    # Rounded, or sums of the same scores in another order would not be equal.
    means = [round(row.mean(method), 9) for method in row.scores]
    return dict(zip(row.scores, rankdata(-np.array(means)).tolist(), strict=True))
