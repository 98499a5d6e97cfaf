"""Sample space: blocks of rows and the questions they answer."""

from .._base import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
