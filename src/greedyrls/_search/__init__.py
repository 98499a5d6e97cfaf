"""Searches: forward, backward, floating, exchanges; the plan of a search, checkpoints and runs."""

from .._base import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
