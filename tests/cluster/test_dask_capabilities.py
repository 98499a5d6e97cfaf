"""The column of Dask in the capability table, cell by cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from capability_trials import Kind, check_cell
from clusters import cut
from internals import FEATURES

pytest_plugins = ["cluster_fixture"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("client"),
    pytest.mark.xdist_group("dask"),
]


@pytest.mark.parametrize("feature", FEATURES)
def test_a_cell_is_true(feature: str, tmp_path: Path) -> None:
    check_cell(feature, Kind("Dask", lambda X: cut(X, 17), lambda y: cut(y, 17)), tmp_path)
