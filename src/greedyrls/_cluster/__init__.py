"""Data on a Dask cluster: pieces of rows, folds, and the executor that runs functions on them."""

from typing import Any

from .._base import attach
from .._data import register_remote

__all__, __getattr__, __dir__ = attach(__name__, __file__)


def _here(X: Any, *vectors: Any) -> tuple[Any, ...]:
    from ._dask import rows_here

    return rows_here(X, *vectors)


register_remote("dask", _here)
