"""What was asked for: growth of the time with m and n, and how it compares with the peers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.problems import GROWTH_LIBRARIES, PROBLEMS, SERIES_M, SERIES_N
from libraries import ALGORITHM_3, OMP, OURS

from .measurements import Measurement
from .rows import Row

TALL, MIDDLE = "normal-50000x1000", "normal-5000x1000"
SMALL, WIDE = "normal-500x1000", "normal-200x20000"


@dataclass(frozen=True, slots=True)
class Growth:
    """Exponent of the time in the number of samples (m) or features (n)."""

    library: str
    along: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    slope: float
    complete: bool  # whether every size of the series was measured


@dataclass(frozen=True, slots=True)
class Target:
    """One asked number, the measured one, and whether it was reached (None: not measured)."""

    asked: str
    limit: str
    measured: float | None
    reached: bool | None


class Results:
    """Measurements by problem and library; None where there is none."""

    def __init__(self, rows: list[Row]) -> None:
        self._by_key = {(row.problem, row.library): row.measurement for row in rows}

    def get(self, problem: str, library: str = OURS) -> Measurement | None:
        return self._by_key.get((problem, library))

    def times_ours(self, problem: str, library: str) -> float | None:
        """Time of a library over the time of ours, from the same rounds of calls."""
        ours, theirs = self.get(problem), self.get(problem, library)
        return None if ours is None or theirs is None else theirs.seconds / ours.seconds


def growth(rows: list[Row]) -> list[Growth]:
    """Slopes of log time over log size, for each library with three sizes or more."""
    results = Results(rows)
    slopes = []
    for along, series in (("m", SERIES_M), ("n", SERIES_N)):
        for library in GROWTH_LIBRARIES:
            points = [
                (getattr(PROBLEMS[problem], along), measurement.seconds)
                for problem in series
                if (measurement := results.get(problem, library)) is not None
            ]
            if len(points) < 3:
                continue
            sizes, seconds = zip(*points, strict=True)
            slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
            slopes.append(Growth(library, along, sizes, seconds, slope, len(points) == len(series)))
    return slopes


def targets(rows: list[Row], slopes: list[Growth]) -> list[Target]:
    """Compare the asked numbers with the measured ones."""
    results = Results(rows)

    def ours(value: Callable[[Measurement], float | None]) -> float | None:
        measurement = results.get(TALL)
        return None if measurement is None else value(measurement)

    def over_omp(problem: str) -> float | None:
        times = results.times_ours(problem, OMP)
        return None if times is None else 1 / times

    def slope(along: str) -> float | None:
        return next(
            (
                growth.slope
                for growth in slopes
                if growth.library == OURS and growth.along == along and growth.complete
            ),
            None,
        )

    return [
        _at_most(0.6, f"{TALL}: time in k GEMVs", ours(lambda m: m.ratio_to_k_gemv)),
        _at_most(1.0, f"{TALL}: time over that of OMP", over_omp(TALL)),
        _at_most(6, f"{TALL}: passes over the data", ours(lambda m: m.answer.passes)),
        _at_most(0.15, f"{TALL}: peak memory beyond X, in X", ours(lambda m: m.peak_over_X)),
        _at_least(
            60,
            f"{MIDDLE}: Algorithm 3's time over ours",
            results.times_ours(MIDDLE, ALGORITHM_3),
        ),
        _at_most(2.0, f"{SMALL}: time over that of OMP", over_omp(SMALL)),
        _at_most(2.0, f"{WIDE}: time over that of OMP", over_omp(WIDE)),
        _at_most(1.05, "growth with m, 5,000 to 200,000 samples: exponent", slope("m")),
        _at_most(1.05, "growth with n, 500 to 8,000 features: exponent", slope("n")),
    ]


def _at_most(limit: float, asked: str, measured: float | None) -> Target:
    return Target(asked, f"<= {limit:g}", measured, None if measured is None else measured <= limit)


def _at_least(limit: float, asked: str, measured: float | None) -> Target:
    return Target(asked, f">= {limit:g}", measured, None if measured is None else measured >= limit)
