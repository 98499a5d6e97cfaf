"""Hypothesis settings and fixtures for all tests."""

from __future__ import annotations

import os
from functools import partial

import pytest
from hypothesis import HealthCheck, settings

from traps import Traps
from tuning import Tune, change

pytest.register_assert_rewrite("agreement")

# The number of problems of the exactness sweeps; the default is what CI runs.
EXAMPLES = int(os.environ.get("GREEDYRLS_EXAMPLES", "2000"))

settings.register_profile(
    "greedyrls",
    deadline=None,
    # The same problems at every run of CI; other ones at every run by hand.
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("greedyrls")


@pytest.fixture
def tune(monkeypatch: pytest.MonkeyPatch) -> Tune:
    """Changes settings of the engine (tuning.SETTINGS) until the end of the test."""
    return partial(change, monkeypatch)


@pytest.fixture
def traps(monkeypatch: pytest.MonkeyPatch) -> Traps:
    """Interrupts, watches or replaces calls (traps.POINTS) until the end of the test."""
    return Traps(monkeypatch)
