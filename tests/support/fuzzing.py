"""Fresh random problems on request, and for each failure a test that reproduces it.

`python3 dev.py fuzz` runs every test that draws problems (Hypothesis) with new seeds. What such a
test failed on, after Hypothesis has made it small, is written out as Python.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import seed
from hypothesis.strategies import DataObject

_FAILED_ON = pytest.StashKey[dict[str, Any]]()


def function_of(item: pytest.Item) -> Any:
    """The function behind a test."""
    return getattr(item, "obj", None)


def is_sweep(item: pytest.Item) -> bool:
    """Whether the test draws its problems."""
    return bool(getattr(function_of(item), "is_hypothesis_test", False))


class Draws:
    """What a test drew interactively, in this order; in place of Hypothesis's data object."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self._next = iter(values)

    def draw(self, strategy: Any, label: Any = None) -> Any:
        """The next of the values, whatever the strategy."""
        return next(self._next)


class _Recorder:
    """Hypothesis's data object, and a list of what was drawn from it."""

    def __init__(self, data: DataObject) -> None:
        self._data = data
        self.drawn = Draws([])

    def draw(self, strategy: Any, label: Any = None) -> Any:
        value = self._data.draw(strategy, label)
        self.drawn.values.append(copy.deepcopy(value))
        return value


@contextmanager
def watched(item: pytest.Item, run_seed: str) -> Iterator[None]:
    """Draw by a seed of the run and of the test alone, and remember what the test failed on.

    The last failing call is the smallest: Hypothesis ends with it.
    """
    function = function_of(item)
    test = function.hypothesis
    inner: Callable[..., Any] = test.inner_test
    seed(f"{run_seed} {item.nodeid}")(function)

    @functools.wraps(inner)
    def remembering(*args: Any, **arguments: Any) -> Any:
        own = {
            name: _Recorder(value) if isinstance(value, DataObject) else value
            for name, value in arguments.items()
        }
        before = {
            name: value.drawn if isinstance(value, _Recorder) else _copied(value)
            for name, value in own.items()
        }
        try:
            return inner(*args, **own)
        except Exception:
            item.stash[_FAILED_ON] = before
            raise

    test.inner_test = remembering
    try:
        yield
    finally:
        test.inner_test = inner


def _copied(value: Any) -> Any:
    """The value as it is before the test works on it; fixtures that cannot be copied stay."""
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def reproduction(item: pytest.Item) -> str | None:
    """A test file that fails as the test did, if it failed on something that was drawn."""
    drawn = item.stash.get(_FAILED_ON, None)
    if drawn is None:
        return None
    function = function_of(item)
    writer = _Writer()
    writer.imports.add(f"from {function.__module__} import {function.__name__} as check")
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    fixtures = set(getattr(item, "fixturenames", ())) - set(parameters)
    arguments = [
        f"        {name}={name if name in fixtures else writer.code(value)},"
        for name, value in drawn.items()
    ]
    own = ", ".join(name for name in drawn if name in fixtures)
    lines = [
        f'"""Found by fuzzing {item.nodeid}."""',
        "",
        *sorted(writer.imports),
        "",
        "",
        f"def test_found_by_fuzzing({own}):",
        "    check.hypothesis.inner_test(",
        *arguments,
        "    )",
    ]
    return "\n".join(lines) + "\n"


class _Writer:
    """Values as Python code, and the imports that it needs."""

    def __init__(self) -> None:
        self.imports: set[str] = set()

    def code(self, value: Any) -> str:
        """An expression whose value it is."""
        if isinstance(value, np.ndarray):
            self.imports.add("import numpy as np")
            order = ', order="F"' if value.ndim > 1 and value.flags.f_contiguous else ""
            return f"np.array({self.code(value.tolist())}, dtype={value.dtype.str!r}{order})"
        if isinstance(value, np.generic):
            return self.code(value.item())
        if isinstance(value, float) and not math.isfinite(value):
            return f"float({str(value)!r})"
        if isinstance(value, dict):
            return (
                "{" + ", ".join(f"{self.code(k)}: {self.code(v)}" for k, v in value.items()) + "}"
            )
        if type(value) is list:
            return "[" + ", ".join(map(self.code, value)) + "]"
        if type(value) is tuple:
            return "(" + "".join(f"{self.code(part)}, " for part in value) + ")"
        if isinstance(value, Draws):
            self.imports.add("from fuzzing import Draws")
            return f"Draws({self.code(value.values)})"
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [f for f in dataclasses.fields(value) if f.init]
            parts = (f"{f.name}={self.code(getattr(value, f.name))}" for f in fields)
            return f"{self._named(type(value))}({', '.join(parts)})"
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return f"{self._named(type(value))}({', '.join(map(self.code, value))})"
        if callable(value) and hasattr(value, "__name__"):
            return self._named(value)
        if type(value).__module__.split(".")[0] == "sklearn":
            self._named(type(value))
        return repr(value)

    def _named(self, thing: Any) -> str:
        """Its name, imported."""
        if thing.__module__ != "builtins":
            self.imports.add(f"from {thing.__module__} import {thing.__name__}")
        return str(thing.__name__)
