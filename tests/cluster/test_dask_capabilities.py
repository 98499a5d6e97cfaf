"""The column of Dask in the capability table, cell by cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from capability_trials import Kind, check_cell
from clusters import cut
from internals import FEATURES, KINDS
from tuning import tuned

pytest_plugins = ["cluster_fixture"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("client"),
    pytest.mark.xdist_group("dask"),
]


DASK = Kind("Dask", lambda X: cut(X, 17), lambda y: cut(y, 17))


@pytest.mark.parametrize("feature", FEATURES)
def test_a_cell_is_true(feature: str, tmp_path: Path) -> None:
    """On the cluster, or in this process where the cluster does not support it."""
    check_cell(feature, DASK, tmp_path)


ON_FILES = [name for name, feature in FEATURES.items() if feature.works_with(KINDS["file"])]


@pytest.mark.parametrize("feature", ON_FILES)
def test_what_works_with_files_works_with_collections_larger_than_memory(
    feature: str, tmp_path: Path
) -> None:
    with tuned(dask_engine="file", fetched_bytes=100):
        check_cell(feature, DASK, tmp_path)
