"""Feature space: factors, correlations and Gram columns, updated by recurrence."""

from .._base import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
