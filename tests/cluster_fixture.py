"""A Dask cluster that tests share: ``pytest_plugins = ["cluster_fixture"]`` in a test module.

One for the whole session, or for each process of pytest-xdist. Not to be imported: pytest does.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from distributed import Client

from clusters import processes


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    """Two worker processes; Dask collections find them by themselves."""
    with processes(2) as client:
        yield client
