"""What a selection was made from and how, without the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .._base import exported


@exported("greedyrls.app")
@dataclass(frozen=True, slots=True)
class Feature:
    """A feature as the search saw it: a column, or whether it has a certain text, put in scale.

    The search saw (value − mean)/scale.
    """

    column: str
    level: str | None
    mean: float
    scale: float

    @property
    def name(self) -> str:
        """The column, and the text it must have."""
        return self.column if self.level is None else f"{self.column}={self.level}"


@exported("greedyrls.app")
@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """A column of the data in short."""

    name: str
    kind: Literal["number", "flag", "text"]
    n_missing: int
    # Of numbers: smallest, mean, largest, standard deviation; None for text.
    low: float | None = None
    mean: float | None = None
    high: float | None = None
    deviation: float | None = None
    # Of text and classes: the most frequent values and how often each is there.
    n_levels: int | None = None
    levels: tuple[tuple[str, int], ...] = ()


@exported("greedyrls.app")
@dataclass(frozen=True, slots=True)
class DataSummary:
    """The data that the selection was made from, without the data."""

    file: str
    n_bytes: int
    sha256: str
    n_rows: int
    n_columns: int
    n_features: int  # columns to choose from, once text is coded
    target: ColumnSummary
    columns: tuple[ColumnSummary, ...] = ()  # those on the path
    notes: tuple[str, ...] = ()  # what was done to the data before the search, in sentences


@exported("greedyrls.app")
@dataclass(frozen=True, slots=True)
class Origin:
    """How a result was made."""

    command: str
    parameters: dict[str, str | int | float | bool | None]
    versions: dict[str, str]
    date: str
    seconds: float
