"""Criteria: which feature to add or remove, by leave-one-out or by folds, and the models moved."""

from .._base import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
