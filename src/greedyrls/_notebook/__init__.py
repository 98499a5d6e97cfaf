"""Results as HTML for notebooks."""

from .._base import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
