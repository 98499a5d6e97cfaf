"""The categories of our own warnings, by which the command line knows what to show."""

from __future__ import annotations


class GreedyRLSWarning(UserWarning):
    """Something about the data or the request that the user should know."""


class NumericalWarning(GreedyRLSWarning, RuntimeWarning):
    """Rounding has ended the search."""
