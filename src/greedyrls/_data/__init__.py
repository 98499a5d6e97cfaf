"""Matrices: where the numbers of X are and how they are read."""

from .._base import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
