"""Steps and sets of a path in JSON, checked when they are read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, get_args

from .._base import JsonObject, as_number, as_whole, or_null
from ._sets import best_sets, with_shared_order
from ._steps import Action, FeatureSet, Step

# The version of the path format that these steps belong to.
VERSION = 4
_CALLABLE = "callable:"


def step_object(step: Step) -> dict[str, Any]:
    """Return a step of a path as a JSON object."""
    return {
        "action": step.action,
        "index": step.index,
        "features": list(step.features),
        "loss": step.loss,
        "standard_error": or_null(step.standard_error),
        "fold_losses": list(step.fold_losses),
        "runners_up": [{"index": index, "loss": loss} for index, loss in step.runners_up],
        "forced": step.forced,
        "seconds": step.seconds,
    }


def set_object(best: FeatureSet) -> dict[str, Any]:
    """Return a set of a path as a JSON object."""
    return {
        "features": list(best.features),
        "loss": best.loss,
        "standard_error": or_null(best.standard_error),
        "fold_losses": list(best.fold_losses),
        "runners_up": [{"index": index, "loss": loss} for index, loss in best.runners_up],
        "forced": best.forced,
    }


def is_growing(steps: tuple[Step, ...], start: FeatureSet | None) -> bool:
    """Whether features are only added, so that the sets follow from the steps.

    A search with a start only removes features.
    """
    return start is None and all(step.action == "add" for step in steps)


def read_steps(entries: list[Any], n: int, is_signed: bool) -> tuple[Step, ...]:
    """Read steps that `step_object` wrote as part of another document."""
    steps = []
    for entry in entries:
        # Steps of old checkpoints do not list their features.
        is_old = isinstance(entry, dict) and "features" not in entry
        added = {"a step": {"features": None}} if is_old else {}
        steps.append(JsonObject(entry, "a step", VERSION - is_old, added))
    return tuple(read_step(step, n, is_signed) for step in steps)


def is_function(loss: str) -> bool:
    """Whether a loss is a user's function, by its name; only these may be negative."""
    return loss.startswith(_CALLABLE)


def read_loss(values: JsonObject, key: str, is_signed: bool) -> float:
    """Read a loss, which may be negative only if `is_signed`."""
    return values.number(key) if is_signed else values.positive(key)


def _error(values: JsonObject, key: str) -> float:
    """Read a standard error; null, which version 1 did not have, becomes NaN."""
    if values.version > 1 and not values.has(key):
        return math.nan
    return values.positive(key)


def read_sets(
    document: JsonObject,
    steps: tuple[Step, ...],
    start: FeatureSet | None,
    n: int,
    is_signed: bool,
) -> tuple[FeatureSet, ...]:
    """Read the sets of a path; those of a search that only adds follow from its steps."""
    if not document.has("sets"):
        if not is_growing(steps, start):
            raise ValueError("sets is null though features were removed, or could be")
        return best_sets(steps)
    sets = tuple(read_set(one, n, is_signed) for one in document.parts("sets", "a set"))
    if not sets or (start is None and len(sets) > len(steps)):
        raise ValueError(f"it has {len(sets)} sets for {len(steps)} steps")
    counts = [best.count for best in sets]
    if any(later <= earlier for earlier, later in pairwise(counts)):
        raise ValueError("its sets do not grow")
    return with_shared_order(sets)


def check_steps(
    steps: tuple[Step, ...], start: FeatureSet | None, excluded: tuple[int, ...]
) -> None:
    """Raise an error if a step adds a feature twice or removes one that was not added."""
    if len(set(excluded)) < len(excluded):
        raise ValueError("a feature is chosen or excluded more than once")
    now = set() if start is None else set(start.features)
    for step in steps:
        features = set(step.features)
        is_twice = len(features) < len(step.features) or step.index not in features
        is_wrong = features & now if step.action == "add" else features - now
        if is_twice or is_wrong or features & set(excluded):
            verb = "chosen or excluded more than once"
            if step.action == "remove":
                verb = "removed though it is not there"
            raise ValueError(f"a feature is {verb}")
        now = now | features if step.action == "add" else now - features


def read_set(values: JsonObject, n: int, is_signed: bool) -> FeatureSet:
    entries = values.entries("features")
    features = tuple(as_whole(index, "features", 0, n) for index in entries)
    if not features or len(set(features)) < len(features):
        raise ValueError("a set has no features, or one of them twice")
    return FeatureSet(
        features,
        len(features),
        read_loss(values, "loss", is_signed),
        _error(values, "standard_error"),
        tuple(_fold_losses(values, is_signed)),
        _runners_up(values, n, is_signed),
        values.flag("forced"),
    )


def _runners_up(values: JsonObject, n: int, is_signed: bool) -> tuple[tuple[int, float], ...]:
    return tuple(
        (one.whole("index", 0, n), read_loss(one, "loss", is_signed))
        for one in values.parts("runners_up", "a runner-up")
    )


def read_step(step: JsonObject, n: int, is_signed: bool) -> Step:
    index = step.whole("index", 0, n)
    features: tuple[int, ...] = (index,)
    action: Any = step.one_of("action", get_args(Action))
    if step.version > 2 or step.has("features"):
        entries = step.entries("features")
        features = tuple(as_whole(one, "features", 0, n) for one in entries)
        if features[:1] != (index,):
            raise ValueError(f"index {index} is not the first of the features of its step")
    return Step(
        index=index,
        loss=read_loss(step, "loss", is_signed),
        standard_error=_error(step, "standard_error"),
        runners_up=_runners_up(step, n, is_signed),
        fold_losses=tuple(_fold_losses(step, is_signed)),
        forced=step.flag("forced"),
        seconds=step.positive("seconds"),
        action=action,
        features=features,
    )


def _fold_losses(step: JsonObject, is_signed: bool) -> list[float]:
    numbers = [as_number(value, "fold_losses") for value in step.entries("fold_losses")]
    if not is_signed and any(number < 0.0 for number in numbers):
        raise ValueError("fold_losses has a number below 0")
    return numbers


def check_fold_losses(steps: Sequence[Step | FeatureSet], cv: str) -> None:
    """Raise an error unless all steps have as many fold losses, and leave-one-out has none."""
    counts = {len(step.fold_losses) for step in steps}
    if len(counts) > 1:
        raise ValueError(f"fold_losses has {min(counts)} to {max(counts)} entries in the steps")
    if (cv == "loo") != (counts == {0}):
        raise ValueError(f"fold_losses has {counts.pop()} entries in each step for cv {cv!r}")
