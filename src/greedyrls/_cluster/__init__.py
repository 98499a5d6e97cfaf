"""Data on a Dask cluster: pieces of rows, folds, and the executor that asks them."""

from .._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
