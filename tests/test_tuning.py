"""Settings and traps for tests stand for attributes that exist, and are undone."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest

from greedyrls import greedy_path
from traps import POINTS, trapped
from tuning import SETTINGS, Tune, change, tuned

# Settings that take one of a few values; others take any.
VALUES: dict[str, list[Any]] = {
    "fold_engine": ["compiled", "numpy", "many", "large", "models"],
    "compiled_steps": [True, False],
    "compiled_kernel": [True, False],
    "compiled_moves": ["remove", "begin", "general"],
    "dask_engine": ["cluster", "default", "file"],
    "rebuild_every_step": [True, False],
    "skip_rows": [True, False],
    "feature_kernels": [True, False],
    "kernels_on_processor": [True, False],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_stand_for_attributes(name: str) -> None:
    for value in VALUES.get(name, [1]):
        with tuned(**{name: value}):
            pass


@pytest.mark.parametrize("name", POINTS)
def test_points_stand_for_functions(name: str) -> None:
    assert all(callable(resolve_name(f"greedyrls.{attribute}")) for attribute in POINTS[name])


def test_what_is_unknown(tune: Tune) -> None:
    with pytest.raises(TypeError, match=r"no setting \['tile'\]; .*'tile_elements'"):
        tune(tile=1)
    with pytest.raises(ValueError, match=r"'one' is not one of \['compiled', 'numpy', .*\]"):
        tune(fold_engine="one")
    with trapped() as traps, pytest.raises(KeyError, match=r"no point 'add'; .*'add feature'"):
        traps.watch("add")


def test_attributes_that_have_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETTINGS, "moved", lambda value: {"_base.kernels.MOVED": value})
    with pytest.raises(AttributeError, match="MOVED"):
        change(monkeypatch, moved=1)
    monkeypatch.setitem(POINTS, "moved", ("_base.kernels.moved",))
    with trapped() as traps, pytest.raises(AttributeError, match="moved"):
        traps.watch("moved")


def test_settings_and_traps_are_undone() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 8)), rng.standard_normal(40)
    with tuned(rebuild_every_step=True), trapped() as traps:
        calls = traps.watch("add feature")
        assert greedy_path(X, y, 3, search="bounded").counters.rebuilds == len(calls) == 3
        assert traps.interrupt("add feature", 2) == []
        assert len(greedy_path(X, y, 3, search="bounded")) == 1
    assert greedy_path(X, y, 3, search="bounded").counters.rebuilds == 0
    assert len(calls) == 4
