"""scikit-learn estimators around the path."""

from .._base import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
