"""Compiled steps against the general engine and against literal refits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiled_steps import (
    LABELS,
    LOOPS,
    assert_same_path,
    compiled_path,
    needs_compiled_steps,
    numpy_path,
    step_cases,
)
from problems import Case
from sweeps import EXAMPLES

pytestmark = needs_compiled_steps


@pytest.mark.heavy
@pytest.mark.parametrize("loop", LOOPS)
@settings(max_examples=EXAMPLES)
@given(case=step_cases())
def test_squared_loss(loop: str, case: Case) -> None:
    path, _ = compiled_path(case, loop)
    assert_same_path(path, numpy_path(case), case)


@pytest.mark.heavy
@settings(max_examples=EXAMPLES)
@given(case=step_cases())
def test_absolute_loss(case: Case) -> None:
    path, _ = compiled_path(case, loss="absolute")
    assert_same_path(path, numpy_path(case, loss="absolute"), case)


@pytest.mark.heavy
@pytest.mark.parametrize("loss", LABELS)
@settings(max_examples=EXAMPLES)
@given(case=step_cases(is_labelled=True))
def test_wrong_classes(loss: str, case: Case) -> None:
    path, _ = compiled_path(case, loss=loss)
    assert_same_path(path, numpy_path(case, loss=loss), case)
