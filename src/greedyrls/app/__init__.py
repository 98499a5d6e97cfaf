"""From a table to a result: reading, preparing, analysing, the model in the units of the data."""

from .._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
