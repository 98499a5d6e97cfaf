"""The stable JSON format of a path (docs/path-format.md): plain numbers and strings."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ._kernels import Float
from ._path import Counters, Moments, SelectionPath, Settings, Step, StopReason

FORMAT = "greedyrls.path"
VERSION = 1
_LARGEST_WHOLE = 1 << 62


def encode(path: SelectionPath, indent: int | None = None) -> str:
    """Text of a path; floats are written so that they are read back exactly."""
    settings, moments, counters = path.settings, path.moments, path.counters
    lower = [moments.gram[row, : row + 1].tolist() for row in range(len(path))]
    document = {
        "format": FORMAT,
        "version": VERSION,
        "settings": {
            "alpha": settings.alpha,
            "fit_intercept": settings.fit_intercept,
            "n_samples": settings.n_samples,
            "n_features_in": settings.n_features_in,
            "excluded_features": list(settings.excluded_features),
            "feature_names_in": (
                None if settings.feature_names_in is None else list(settings.feature_names_in)
            ),
            "weighted": settings.weighted,
            "single_target": settings.single_target,
        },
        "initial_loss": path.initial_loss,
        "steps": [
            {
                "action": step.action,
                "index": step.index,
                "loss": step.loss,
                "standard_error": step.standard_error,
                "runners_up": [{"index": index, "loss": loss} for index, loss in step.runners_up],
                "forced": step.forced,
                "seconds": step.seconds,
            }
            for step in path.steps
        ],
        "moments": {
            "gram_lower": lower,
            "correlation": moments.correlation.tolist(),
            "feature_means": moments.feature_means.tolist(),
            "target_means": moments.target_means.tolist(),
        },
        "counters": {
            "passes": counters.passes,
            "exact_evaluations": counters.exact_evaluations,
            "rebuilds": counters.rebuilds,
            "seconds": counters.seconds,
        },
        "stop_reason": path.stop_reason.value,
    }
    return json.dumps(document, indent=indent, allow_nan=False)


def decode(text: str | bytes) -> SelectionPath:
    """A path from its text, or a ValueError that says what is wrong with it."""
    if not isinstance(text, str | bytes):
        raise TypeError(
            f"from_json takes the text of a {FORMAT} document, got {type(text).__name__}; read a "
            "file with pathlib.Path(...).read_text()."
        )
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"This is not a {FORMAT} document: it is not JSON ({error}). Pass the text itself, not "
            "the name of a file."
        ) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        found = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise ValueError(f"This is not a {FORMAT} document: its format is {found!r}.")
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise ValueError(
            f"This {FORMAT} document has version {version!r}; this release reads "
            f"version {VERSION}. A newer greedyrls may be needed."
        )
    try:
        return _path(_Object(document, "document"))
    except ValueError as error:
        raise ValueError(f"This {FORMAT} document is damaged: {error}.") from error


class _Object:
    """A JSON object whose values are asked for by key, and checked."""

    def __init__(self, values: Any, name: str) -> None:
        if not isinstance(values, dict):
            raise ValueError(f"{name} is not an object")
        self._values = values
        self._name = name

    def value(self, key: str) -> Any:
        """Whatever is there."""
        if key not in self._values:
            raise ValueError(f"{key!r} is missing in {self._name}")
        return self._values[key]

    def part(self, key: str) -> _Object:
        """An object."""
        return _Object(self.value(key), key)

    def entries(self, key: str, length: int | None = None) -> list[Any]:
        """A list."""
        return _entries(self.value(key), key, length)

    def array(self, key: str, length: int) -> Float:
        """A vector."""
        return np.array([_number(value, key) for value in self.entries(key, length)])

    def number(self, key: str) -> float:
        """A finite number."""
        return _number(self.value(key), key)

    def positive(self, key: str, zero_too: bool = True) -> float:
        """A number of at least, or above, 0."""
        value = self.number(key)
        if value < 0.0 or (value == 0.0 and not zero_too):
            raise ValueError(f"{key} is {value}")
        return value

    def whole(self, key: str, least: int = 0, end: int = _LARGEST_WHOLE) -> int:
        """A whole number from `least` to below `end`."""
        return _whole(self.value(key), key, least, end)

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.value(key)
        if not isinstance(value, bool):
            raise ValueError(f"{key} is {value!r}, not true or false")
        return value


def _entries(values: Any, name: str, length: int | None) -> list[Any]:
    if not isinstance(values, list):
        raise ValueError(f"{name} is not a list")
    if length is not None and len(values) != length:
        raise ValueError(f"{name} has {len(values)} entries, expected {length}")
    return values


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} has {value!r}, which is no number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} has a number that is not finite")
    return number


def _whole(value: Any, name: str, least: int, end: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < end:
        raise ValueError(f"{name} has {str(value)[:40]}, which is no whole number in its range")
    return value


def _path(document: _Object) -> SelectionPath:
    settings = _settings(document.part("settings"))
    n = settings.n_features_in
    steps = tuple(_step(_Object(step, "a step"), n) for step in document.entries("steps"))
    if not steps:
        raise ValueError("it has no steps")
    used = [*(step.index for step in steps), *settings.excluded_features]
    if len(set(used)) < len(used):
        raise ValueError("a feature is chosen or excluded more than once")
    moments = _moments(document.part("moments"), len(steps))
    if settings.single_target and len(moments.target_means) > 1:
        raise ValueError(f"single_target is true for {len(moments.target_means)} targets")
    counters = document.part("counters")
    reason = document.value("stop_reason")
    if reason not in [known.value for known in StopReason]:
        raise ValueError(f"unknown stop_reason {reason!r}")
    return SelectionPath(
        steps=steps,
        initial_loss=document.positive("initial_loss"),
        settings=settings,
        moments=moments,
        counters=Counters(
            passes=counters.whole("passes"),
            exact_evaluations=counters.whole("exact_evaluations"),
            rebuilds=counters.whole("rebuilds"),
            seconds=counters.positive("seconds"),
        ),
        stop_reason=StopReason(reason),
    )


def _settings(settings: _Object) -> Settings:
    n = settings.whole("n_features_in", 1)
    names = settings.value("feature_names_in")
    if names is not None:
        names = tuple(_entries(names, "feature_names_in", n))
        if not all(isinstance(name, str) for name in names):
            raise ValueError("feature_names_in has a name that is no string")
    excluded = settings.entries("excluded_features")
    return Settings(
        alpha=settings.positive("alpha", zero_too=False),
        fit_intercept=settings.flag("fit_intercept"),
        n_samples=settings.whole("n_samples", 1),
        n_features_in=n,
        excluded_features=tuple(_whole(index, "excluded_features", 0, n) for index in excluded),
        feature_names_in=names,
        weighted=settings.flag("weighted"),
        single_target=settings.flag("single_target"),
    )


def _moments(moments: _Object, k: int) -> Moments:
    t = len(moments.entries("target_means"))
    if t == 0:
        raise ValueError("it has no targets")
    gram = np.zeros((k, k))
    for row, values in enumerate(moments.entries("gram_lower", k)):
        numbers = [
            _number(value, "gram_lower") for value in _entries(values, "gram_lower", row + 1)
        ]
        gram[row, : row + 1] = gram[: row + 1, row] = numbers
    if (np.diagonal(gram) < 0).any():
        raise ValueError("gram_lower has a negative sum of squares")
    correlation = [
        [_number(value, "correlation") for value in _entries(row, "correlation", t)]
        for row in moments.entries("correlation", k)
    ]
    return Moments(
        gram,
        np.array(correlation),
        moments.array("feature_means", k),
        moments.array("target_means", t),
    )


def _step(step: _Object, n: int) -> Step:
    if step.value("action") != "add":
        raise ValueError(f"unknown action {step.value('action')!r}")
    runners_up = [_Object(one, "a runner-up") for one in step.entries("runners_up")]
    return Step(
        index=step.whole("index", 0, n),
        loss=step.positive("loss"),
        standard_error=step.positive("standard_error"),
        runners_up=tuple((one.whole("index", 0, n), one.positive("loss")) for one in runners_up),
        forced=step.flag("forced"),
        seconds=step.positive("seconds"),
    )
