"""Prepared rows on a Dask cluster, where a selection is made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data import origin_of
from ._fold_plan import FoldPlan
from ._preparation import Prepared
from ._table import InputError

# Seconds in which a scheduler must answer.
_TIMEOUT = 10


@dataclass(frozen=True, slots=True, eq=False)
class RemoteRows:
    """Features, target and weights as Dask arrays with the same chunks of rows."""

    X: Any
    y: Any
    weights: Any

    def fit_arguments(self, plan: FoldPlan, prepared: Prepared) -> tuple[tuple[Any, ...], FoldPlan]:
        """Return the arguments of `fit`, and the folds that go with them.

        Folds are arrays of fold ids, with which the selection can run on the cluster. Folds in time
        order do not test every row, so they stay as they are.
        """
        if prepared.time is not None:
            return (self.X, self.y, self.weights, prepared.groups), plan
        folds = FoldPlan(
            None, self._ids(plan.penalty, prepared), self._ids(plan.criterion, prepared)
        )
        return (self.X, self.y, self.weights), folds

    def _ids(self, folds: Any, prepared: Prepared) -> Any:
        if folds is None or isinstance(folds, str):
            return folds
        ids = np.full(len(prepared.y), -1, dtype=np.int64)
        splits = folds.split(np.empty((len(ids), 0)), prepared.y, prepared.groups)
        for number, (_, test) in enumerate(splits):
            ids[test] = number
        return _cut(ids, self.X.chunks[0])


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler at an address."""
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(
            f"--scheduler {address} needs Dask: pip install 'greedyrls[dask]'."
        ) from error
    connect: Any = Client
    try:
        client = connect(address, timeout=_TIMEOUT)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"--scheduler {address}: cannot connect ({error or type(error).__name__}). Start a "
            "scheduler with 'dask scheduler' and workers with 'dask worker ADDRESS', and pass the "
            "address that it shows, such as tcp://host:8786."
        ) from error
    with client:
        if not client.nthreads():
            raise InputError(
                f"--scheduler {address}: it has no workers. Start some with "
                f"'dask worker {address}'."
            )
        yield client


def on_cluster(prepared: Prepared, client: Any) -> Prepared:
    """Return the data with their rows on a cluster: about one piece for each thread there.

    Workers read columns that stay in a file from the file. Others are sent to them.
    """
    delayed, da = _dask()
    m, n = prepared.X.shape
    height = -(-m // min(m, sum(client.nthreads().values())))
    tops = range(0, m, height)
    heights = tuple(min(height, m - top) for top in tops)
    X: Any = prepared.X
    if origin_of(X).is_file:
        read = delayed(X.rows, pure=False)
        pieces = [read(top, top + rows) for top, rows in zip(tops, heights, strict=True)]
    else:
        pieces = [delayed(X[top : top + height]) for top in tops]
    arrays = [
        da.from_delayed(piece, (rows, n), np.float64)
        for piece, rows in zip(pieces, heights, strict=True)
    ]
    weights = None if prepared.weights is None else _cut(prepared.weights, heights)
    remote = RemoteRows(da.concatenate(arrays, axis=0), _cut(prepared.y, heights), weights)
    return replace(prepared, remote=remote)


def _cut(values: NDArray[Any], heights: tuple[int, ...]) -> Any:
    _, da = _dask()
    return da.from_array(values, chunks=(heights,))


def _dask() -> tuple[Any, Any]:
    """Return `dask.delayed` and `dask.array`, which have no types."""
    import dask.array
    from dask.delayed import delayed

    return delayed, dask.array
