"""Steps and sets of a path in JSON: written plainly, read with care."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, get_args

from .._base import JsonObject, as_number, as_whole, or_null
from ._sets import best_sets, with_shared_order
from ._steps import Action, FeatureSet, Step

# The version of the path format whose steps these are.
VERSION = 4
_CALLABLE = "callable:"


def step_object(step: Step) -> dict[str, Any]:
    """A step of a path."""
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


def set_object(known: FeatureSet) -> dict[str, Any]:
    """A set of a path."""
    return {
        "features": list(known.features),
        "loss": known.loss,
        "standard_error": or_null(known.standard_error),
        "fold_losses": list(known.fold_losses),
        "runners_up": [{"index": index, "loss": loss} for index, loss in known.runners_up],
        "forced": known.forced,
    }


def is_growing(steps: tuple[Step, ...], start: FeatureSet | None) -> bool:
    """Whether features are only added: the sets are then known from the steps.

    From a start they are only removed, if there is more than one.
    """
    return start is None and all(step.action == "add" for step in steps)


def read_steps(entries: list[Any], n: int, is_signed: bool) -> tuple[Step, ...]:
    """Steps that are in another document, as `step_object` made them."""
    steps = []
    for entry in entries:
        # Those of an old checkpoint do not name their features.
        is_old = isinstance(entry, dict) and "features" not in entry
        added = {"a step": {"features": None}} if is_old else {}
        steps.append(JsonObject(entry, "a step", VERSION - is_old, added))
    return tuple(read_step(step, n, is_signed) for step in steps)


def is_function(loss: str) -> bool:
    """Whether a loss is a user's function, by its name; only that may give losses below 0."""
    return loss.startswith(_CALLABLE)


def read_loss(values: JsonObject, key: str, is_signed: bool) -> float:
    """A loss; below 0 only where losses have a sign."""
    return values.number(key) if is_signed else values.positive(key)


def _error(values: JsonObject, key: str) -> float:
    """A number of at least 0, or null where there is none; version 1 always had one."""
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
    """The sets of a path; those of a search that only adds are known from its steps."""
    if not document.has("sets"):
        if not is_growing(steps, start):
            raise ValueError("sets is null though features were removed, or could be")
        return best_sets(steps)
    sets = tuple(read_set(one, n, is_signed) for one in document.parts("sets", "a set"))
    if not sets or (start is None and len(sets) > len(steps)):
        raise ValueError(f"it has {len(sets)} sets for {len(steps)} steps")
    counts = [known.count for known in sets]
    if any(later <= earlier for earlier, later in pairwise(counts)):
        raise ValueError("its sets do not grow")
    return with_shared_order(sets)


def check_steps(
    steps: tuple[Step, ...], start: FeatureSet | None, excluded: tuple[int, ...]
) -> None:
    """Whether what is added was not there, and what is removed was."""
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


def read_set(known: JsonObject, n: int, is_signed: bool) -> FeatureSet:
    found = known.entries("features")
    features = tuple(as_whole(index, "features", 0, n) for index in found)
    if not features or len(set(features)) < len(features):
        raise ValueError("a set has no features, or one of them twice")
    return FeatureSet(
        features,
        len(features),
        read_loss(known, "loss", is_signed),
        _error(known, "standard_error"),
        tuple(_fold_losses(known, is_signed)),
        _runners_up(known, n, is_signed),
        known.flag("forced"),
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
        found = step.entries("features")
        features = tuple(as_whole(one, "features", 0, n) for one in found)
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
    """One for each split: as many at every step, none for leave-one-out."""
    counts = {len(step.fold_losses) for step in steps}
    if len(counts) > 1:
        raise ValueError(f"fold_losses has {min(counts)} to {max(counts)} entries in the steps")
    if (cv == "loo") != (counts == {0}):
        raise ValueError(f"fold_losses has {counts.pop()} entries in each step for cv {cv!r}")
