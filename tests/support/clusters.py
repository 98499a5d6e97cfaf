"""Dask clusters of worker processes for tests, and what must be equal there and in memory."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal

from greedyrls import SelectionPath

Array = np.ndarray


@contextmanager
def processes(count: int) -> Iterator[Client]:
    """The client of a cluster of its own, with one thread in each worker process."""
    with (
        # Idle workers watch themselves a hundred times a second: time that other tests need.
        dask.config.set(
            {
                "distributed.worker.profile.enabled": False,
                "distributed.admin.system-monitor.interval": "10s",
                "distributed.admin.tick.interval": "1s",
            }
        ),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            dashboard_address=":0",  # any free port, beside other clusters
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


class SharedCluster:
    """One cluster for all tests that come one after the other and want it."""

    def __init__(self) -> None:
        self._open: ExitStack | None = None
        self._client: Client | None = None

    def client(self) -> Client:
        """Its client; started if need be."""
        if self._client is None:
            self._open = ExitStack()
            self._client = self._open.enter_context(processes(2))
        return self._client

    def close(self) -> None:
        """Until somebody wants it again."""
        if self._open is not None:
            self._open.close()
        self._open = self._client = None


SHARED = SharedCluster()


def problem(seed: int = 0, m: int = 46, n: int = 8) -> tuple[Array, Array, Array]:
    """X, y and weights, a third of which are 0."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(m, n))
    effects = np.array([2.0, -1.5, 1.0, 0.6, 0.3])[:n]
    y = X[:, : len(effects)] @ effects + generator.normal(size=m)
    weights = generator.random(m) * (generator.random(m) < 0.67)
    return X, y, weights


def cut(values: Array, rows: int | Sequence[int] = (19, 27)) -> Any:
    """A Dask array in chunks of some rows."""
    chunks = rows if isinstance(rows, int) else tuple(rows)
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


def assert_same_path(found: SelectionPath, expected: SelectionPath) -> None:
    """The same answer, whoever had the rows."""
    assert_array_equal(found.indices, expected.indices)
    assert_allclose(found.losses, expected.losses, rtol=1e-9)
    assert_allclose(found.initial_loss, expected.initial_loss, rtol=1e-9)
    assert_allclose(found.standard_errors, expected.standard_errors, rtol=1e-9, equal_nan=True)
    assert found.stop_reason is expected.stop_reason
    assert found.chosen_size == expected.chosen_size
    assert_allclose(found.settings.alpha, expected.settings.alpha, rtol=1e-9)
    alpha = expected.settings.alpha
    assert replace(found.settings, alpha=alpha) == expected.settings
    for size in range(1, len(expected) + 1):
        assert_allclose(found.coef(size), expected.coef(size), rtol=1e-8, atol=1e-11)
        assert_allclose(found.intercept(size), expected.intercept(size), rtol=1e-8, atol=1e-11)
    _assert_same_fold_losses(found, expected)
    for step, same in zip(found.steps, expected.steps, strict=True):
        assert step.forced == same.forced
        assert [index for index, _ in step.runners_up] == [index for index, _ in same.runners_up]
        losses = [loss for _, loss in same.runners_up]
        assert_allclose([loss for _, loss in step.runners_up], losses, rtol=1e-9)
    if expected.refit_alphas is None:
        assert found.refit_alphas is None
    else:
        assert_allclose(found.refit_alphas, expected.refit_alphas, rtol=1e-9)
    _assert_same_surface(found.surface, expected.surface)
    assert found.sentence == expected.sentence


def _assert_same_fold_losses(found: SelectionPath, expected: SelectionPath) -> None:
    if expected.fold_losses is None:
        assert found.fold_losses is None
    else:
        assert_allclose(found.fold_losses, expected.fold_losses, rtol=1e-9)


def _assert_same_surface(found: Any, expected: Any) -> None:
    assert (found is None) == (expected is None)
    if expected is None:
        return
    assert (found.rule, found.folds, found.size) == (expected.rule, expected.folds, expected.size)
    for name in ("alphas", "losses", "standard_errors", "fold_losses", "fold_shares"):
        same = getattr(expected, name)
        assert (getattr(found, name) is None) == (same is None)
        if same is not None:
            assert_allclose(getattr(found, name), same, rtol=1e-9, atol=1e-13, equal_nan=True)
