"""The validated problem: targets, weights, folds, losses, groups of features, labels and names."""

from .._base import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
