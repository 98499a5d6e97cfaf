"""From a table to a result: read it, prepare it, analyse it, and return the model in its units."""

from .._base import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
