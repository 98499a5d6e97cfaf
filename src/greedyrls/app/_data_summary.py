"""A description of the data and of how a selection was made from them."""

from __future__ import annotations

import importlib.metadata
import platform
from dataclasses import dataclass
from typing import Literal

from .._base import exported

# Packages whose versions are recorded with a result.
_PACKAGES = ("greedyrls", "numpy", "scipy", "scikit-learn", "pyarrow")


@exported("greedyrls.app")
@dataclass(frozen=True, slots=True)
class Feature:
    """A feature as the search saw it: a column or the indicator of a text, standardised.

    The search saw (value − mean)/scale.
    """

    column: str
    level: str | None
    mean: float
    scale: float

    @property
    def name(self) -> str:
        """The column, and the text that the feature indicates."""
        return self.column if self.level is None else f"{self.column}={self.level}"


@exported("greedyrls.app")
@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """Summary of a column of the data."""

    name: str
    kind: Literal["number", "flag", "text"]
    n_missing: int
    # Smallest, mean and largest number and standard deviation; None for text.
    low: float | None = None
    mean: float | None = None
    high: float | None = None
    deviation: float | None = None
    # The most frequent values of text and classes, with their counts.
    n_levels: int | None = None
    levels: tuple[tuple[str, int], ...] = ()


@exported("greedyrls.app")
@dataclass(frozen=True, slots=True)
class DataSummary:
    """Description of the data that the selection was made from."""

    file: str
    n_bytes: int
    sha256: str
    n_rows: int
    n_columns: int
    n_features: int  # candidate features, after text is encoded
    target: ColumnSummary
    columns: tuple[ColumnSummary, ...] = ()  # columns on the path
    notes: tuple[str, ...] = ()  # what was done to the data before the search, in sentences


@exported("greedyrls.app")
@dataclass(frozen=True, slots=True)
class Origin:
    """How a result was made; the command is empty if it was made in Python."""

    command: str
    parameters: dict[str, str | int | float | bool | None]
    versions: dict[str, str]
    date: str
    seconds: float


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
