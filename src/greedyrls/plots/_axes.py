"""Axes of charts: the pixel of a value, and round numbers for the ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values and the range of pixels that it is drawn on."""

    low: float
    high: float
    start: float  # the pixel of low
    end: float
    is_log: bool = False

    def place(self, value: float) -> float:
        """Return the pixel of a value; a logarithmic axis clips values far below its low end."""
        low, high, where = self.low, self.high, value
        if self.is_log:
            low, high, where = math.log(low), math.log(high), math.log(max(value, low / 1e3))
        share = 0.5 if high == low else (where - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def inside(self, value: float) -> float:
        """Return the pixel of a value, clipped to the ends of the axis."""
        first, last = sorted((self.start, self.end))
        return min(max(self.place(value), first), last)

    def ticks(self, most: int) -> list[float]:
        """Return at most `most` round numbers within the range."""
        ticks = _round_powers(self.low, self.high) if self.is_log else []
        if len(ticks) < 2:
            ticks = _round_steps(self.low, self.high, most)
        return ticks[:: math.ceil(len(ticks) / most)] if ticks else []

    def whole_ticks(self, most: int) -> list[int]:
        """Return the low end and round whole numbers that are not too close to it."""
        gap = abs(self.end - self.start) / (1.6 * most)
        first = int(self.low)
        others = [int(tick) for tick in self.ticks(most) if tick == int(tick) and tick > first]
        return [first, *(tick for tick in others if self.place(tick) - self.place(first) > gap)]


def _round_steps(low: float, high: float, most: int) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for factor in (1.0, 2.0, 5.0, 10.0, 20.0):
        step = factor * power
        first, last = math.ceil(low / step), math.floor(high / step)
        if last - first + 1 <= most:
            break
    # Rounded, because 3 · 0.1 is not 0.3.
    return [float(f"{multiple * step:.12g}") for multiple in range(first, last + 1)]


def _round_powers(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten, or the powers alone if these suffice."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1.0,) if high > 300.0 * low else (1.0, 2.0, 5.0)
    ticks = [float(f"{factor}e{power}") for power in decades for factor in factors]
    return [tick for tick in ticks if low <= tick <= high]
