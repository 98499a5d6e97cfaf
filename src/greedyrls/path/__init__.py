"""The result of a search: steps, sets, sizes, surfaces and their file format; no engine."""

from .._base import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
