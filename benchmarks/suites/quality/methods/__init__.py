"""The contract of a method: a module in this folder with the attributes of `Method`.

A method imports its library at the top, so importing the module fails where the library is
missing, and the run says so. Methods keep no state: `select` is the call that is timed.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ..tasks import Array, Labels, Task

# For each size a set of columns, or several in rows, whose scores are averaged.
Chosen = dict[int, NDArray[np.intp]]

OURS = "ours_auto"

# The order of the columns in the tables; ours come first.
METHODS = (
    OURS,
    "ours_paper",
    "lasso_path",
    "omp",
    "abess_linear",
    "abess_logistic",
    "univariate_f",
    "rfe",
    "sfs",
    "random_sets",
)


class Method(Protocol):
    """What a module in this folder has."""

    title: str
    """As the tables print it."""

    does: str
    """What it selects by and with which settings, in a sentence that the page prints."""

    one_call: bool
    """Whether one call answers for all sizes; otherwise there is a call for each."""

    def why_not(self, X: Array, task: Task, k: int) -> str | None:
        """None, or the reason why k features of X are out of reach."""

    def select(self, X: Array, y: Labels, sizes: Sequence[int], task: Task, seed: int) -> Chosen:
        """Columns for each size, without the sizes that could not be reached."""


def load(module: str) -> Method:
    """Import one method; raises ImportError where its library is missing."""
    return cast(Method, importlib.import_module(f"{__name__}.{module}"))


def first(order: Sequence[int] | NDArray[np.intp], sizes: Sequence[int]) -> Chosen:
    """The beginnings of an order, for the sizes that it reaches."""
    return {k: np.asarray(order[:k], dtype=np.intp) for k in sizes if k <= len(order)}


def too_few_rows(X: Array, k: int) -> str | None:
    """The reason of methods without a ridge penalty, which fit as many rows perfectly and end."""
    return f"only {len(X)} training rows, and no ridge penalty" if k >= len(X) else None


if TYPE_CHECKING:
    from . import (
        abess_linear,
        abess_logistic,
        lasso_path,
        omp,
        ours_auto,
        ours_paper,
        random_sets,
        rfe,
        sfs,
        univariate_f,
    )

    # mypy holds every method against the contract here.
    _checked: tuple[Method, ...] = (
        ours_auto,
        ours_paper,
        lasso_path,
        omp,
        abess_linear,
        abess_logistic,
        univariate_f,
        rfe,
        sfs,
        random_sets,
    )
