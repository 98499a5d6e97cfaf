"""Failures of random sweeps come as tests that reproduce them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold

import fuzzing
from problems import Case, fold_cases


class TooMany(AssertionError):
    """What the sweep below fails with."""


@settings(max_examples=50)
@given(case=fold_cases(), data=st.data())
def sweep_that_fails(case: Case, data: Any, kind: str) -> None:
    number = data.draw(st.integers(0, 100))
    if case.X.shape[1] > 2 and number > 10:
        raise TooMany(kind, case.X.shape, number)


def an_item(**more: Any) -> Any:
    return SimpleNamespace(
        obj=sweep_that_fails, nodeid="the sweep", stash=pytest.Stash(), fixturenames=[], **more
    )


def test_a_failure_is_written_as_a_test() -> None:
    item = an_item()
    with pytest.raises(TooMany) as failure, fuzzing.watched(item, "7"):
        sweep_that_fails(kind="some")
    text = fuzzing.reproduction(item)
    assert text is not None
    names: dict[str, Any] = {}
    exec(text, names)
    with pytest.raises(TooMany) as again:
        names["test_found_by_fuzzing"]()
    assert again.value.args == failure.value.args == ("some", failure.value.args[1], 11)


def test_a_seed_draws_the_same_again() -> None:
    texts = []
    for _ in range(2):
        item = an_item()
        with pytest.raises(TooMany), fuzzing.watched(item, "7"):
            sweep_that_fails(kind="some")
        texts.append(fuzzing.reproduction(item))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        np.array(["a", "é"], dtype=object),
        {"alpha": 0.1, "cv": [(np.array([0]), np.array([1]))], "names": ("x",)},
        [float("inf"), float("-inf"), None, True, "it's", b"\x00"],
        Case(np.eye(2), np.array([0.1, 1e-300]), 1, {"cv": 3}, "loo"),
    ],
)
def test_values_are_written_to_the_last_bit(value: Any) -> None:
    writer = fuzzing._Writer()
    code = writer.code(value)
    names: dict[str, Any] = {}
    exec("\n".join(writer.imports), names)
    same = eval(code, names)
    if isinstance(value, np.ndarray):
        assert same.dtype == value.dtype
        assert same.flags.f_contiguous == value.flags.f_contiguous
    assert fuzzing._Writer().code(same) == code


def test_splitters_are_written() -> None:
    writer = fuzzing._Writer()
    code = writer.code(KFold(4, shuffle=True, random_state=3))
    names: dict[str, Any] = {}
    exec("\n".join(writer.imports), names)
    assert repr(eval(code, names)) == repr(KFold(4, shuffle=True, random_state=3))
