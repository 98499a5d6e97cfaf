"""The stable JSON format of a path (docs/path-format.md): plain numbers and strings."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ._path import Counters, Moments, SelectionPath, Settings, Step, StopReason

FORMAT = "greedyrls.path"
VERSION = 1


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
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ValueError(f"This is not a {FORMAT} document: it is not JSON ({error}).") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        found = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise ValueError(f"This is not a {FORMAT} document: its format is {found!r}.")
    if document.get("version") != VERSION:
        raise ValueError(
            f"This {FORMAT} document has version {document.get('version')!r}; this release reads "
            f"version {VERSION}. A newer greedyrls may be needed."
        )
    try:
        return _path(document)
    except KeyError as error:
        raise ValueError(f"This {FORMAT} document is damaged: {error} is missing.") from error
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(f"This {FORMAT} document is damaged: {error}.") from error


def _path(document: dict[str, Any]) -> SelectionPath:
    settings = document["settings"]
    names = settings["feature_names_in"]
    moments = document["moments"]
    steps = tuple(_step(step) for step in document["steps"])
    k, t = len(steps), len(moments["target_means"])
    gram = np.zeros((k, k))
    for row, values in enumerate(_of_length(moments["gram_lower"], k, "gram_lower")):
        gram[row, : row + 1] = values
        gram[: row + 1, row] = values
    correlation = np.asarray(moments["correlation"], dtype=np.float64).reshape(k, t)
    means = np.asarray(_of_length(moments["feature_means"], k, "feature_means"), dtype=np.float64)
    n = int(settings["n_features_in"])
    if not all(0 <= step.index < n for step in steps):
        raise ValueError(f"a step's index is not between 0 and {n - 1}")
    if names is not None:
        names = tuple(str(name) for name in _of_length(names, n, "feature_names_in"))
    return SelectionPath(
        steps=steps,
        initial_loss=float(document["initial_loss"]),
        settings=Settings(
            alpha=float(settings["alpha"]),
            fit_intercept=bool(settings["fit_intercept"]),
            n_samples=int(settings["n_samples"]),
            n_features_in=n,
            excluded_features=tuple(int(index) for index in settings["excluded_features"]),
            feature_names_in=names,
            weighted=bool(settings["weighted"]),
            single_target=bool(settings["single_target"]),
        ),
        moments=Moments(
            gram, correlation, means, np.asarray(moments["target_means"], dtype=np.float64)
        ),
        counters=Counters(**document["counters"]),
        stop_reason=StopReason(document["stop_reason"]),
    )


def _step(step: dict[str, Any]) -> Step:
    if step["action"] != "add":
        raise ValueError(f"unknown action {step['action']!r}")
    return Step(
        index=int(step["index"]),
        loss=float(step["loss"]),
        standard_error=float(step["standard_error"]),
        runners_up=tuple((int(r["index"]), float(r["loss"])) for r in step["runners_up"]),
        forced=bool(step["forced"]),
        seconds=float(step["seconds"]),
    )


def _of_length(values: list[Any], length: int, name: str) -> list[Any]:
    if len(values) != length:
        raise ValueError(f"{name} has {len(values)} entries, expected {length}")
    return values
