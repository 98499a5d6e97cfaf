"""A Dask cluster that tests share: ``pytest_plugins = ["cluster_fixture"]`` in a test module.

It is closed after the last of several tests in a row that want it. Not to be imported: pytest does.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from distributed import Client

from clusters import SHARED
from tuning import tuned


@pytest.fixture
def client() -> Iterator[Client]:
    """Two worker processes; Dask collections find them by themselves.

    Searches run there even though the data of tests are small.
    """
    with tuned(dask_engine="cluster"):
        yield SHARED.client()


def wants_cluster(item: pytest.Item | None) -> bool:
    return "client" in getattr(item, "fixturenames", ())


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if wants_cluster(item) and not wants_cluster(nextitem):
        SHARED.close()
