"""The contract of a library adapter: a module with the attributes of `Library`.

An adapter imports its library at the top, so importing the adapter fails where the library is
missing, and the run says so. Adapters keep no state: `select` is the call that is timed.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from harness.problems import Array, Problem

ALPHA = 1.0  # the ridge penalty of every library that has one
OURS = "greedyrls_engine"
ALGORITHM_3 = "algorithm3"
OMP = "sklearn_omp"

# The order of the rows in the tables; ours comes first, because the others are compared with it.
LIBRARIES = (
    OURS,
    ALGORITHM_3,
    "rlscore_greedy",
    "sklearn_sfs",
    "mlxtend_sfs",
    OMP,
    "abess_linear",
    "fastcan_selector",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """Selected columns, and what the library counts of its own work, if it does."""

    indices: tuple[int, ...]
    passes: int | None = None
    exact_evaluations: int | None = None


class Library(Protocol):
    """What a module in this folder has."""

    name: str
    """As printed."""

    does: str
    """What it selects by, in a sentence that the table prints."""

    same_criterion: bool
    """Whether its answer must equal ours; the run fails where it does not."""

    keeps_order: bool
    """Whether `indices` are in the order of selection (otherwise only the sets are compared)."""

    def version(self) -> str:
        """Version of the installed library."""

    def can_run(self, problem: Problem) -> str | None:
        """None, or the reason why the problem is out of reach."""

    def select(self, X: Array, y: Array, k: int) -> Answer:
        """Select k columns of X."""


def load(module: str) -> Library:
    """Import one adapter; raises ImportError where its library is missing."""
    return cast(Library, importlib.import_module(f"libraries.{module}"))


def as_indices(columns: Sequence[int] | Array) -> tuple[int, ...]:
    """Column numbers as plain integers."""
    return tuple(int(column) for column in columns)


if TYPE_CHECKING:
    from libraries import (
        abess_linear,
        algorithm3,
        fastcan_selector,
        greedyrls_engine,
        mlxtend_sfs,
        rlscore_greedy,
        sklearn_omp,
        sklearn_sfs,
    )

    # mypy holds every adapter against the contract here.
    _checked: tuple[Library, ...] = (
        greedyrls_engine,
        algorithm3,
        rlscore_greedy,
        sklearn_sfs,
        mlxtend_sfs,
        sklearn_omp,
        abess_linear,
        fastcan_selector,
    )
