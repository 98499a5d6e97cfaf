"""Hypothesis settings for all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

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
