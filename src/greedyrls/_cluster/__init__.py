"""Data on a Dask cluster: pieces of rows, folds, and the executor that runs functions on them."""

from typing import Any

from .._base import attach
from .._data import register_remote

__all__, __getattr__, __dir__ = attach(__name__, __file__)


def _gather(X: Any, y: Any, sample_weight: Any) -> Any:
    from ._dask import gather_rows

    return gather_rows(X, y, sample_weight, False)


register_remote("dask", _gather)
