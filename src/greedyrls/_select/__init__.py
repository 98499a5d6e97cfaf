"""From data and options to a path: penalties, sizes, nested choice, `greedy_path`."""

from .._base import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
