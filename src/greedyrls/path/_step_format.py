"""Steps and sets of a path in JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, get_args

from .._base import (
    ERROR_OR_NULL,
    LOSS,
    NOT_NEGATIVE,
    ArrayOf,
    Codec,
    Key,
    Kind,
    ListOf,
    Row,
    Sizes,
    Text,
    Whole,
)
from ._steps import FeatureSet, LossName, Step

_CALLABLE = "callable:"

INDEX = Whole(end="n")
_OF_MODELS: dict[str, Kind | Key] = {
    "loss": LOSS,
    "standard_error": ERROR_OR_NULL,
    "fold_losses": Key(ArrayOf("*", LOSS), since=2),
    "runners_up": ListOf(Row((INDEX, LOSS), ("index", "loss"))),
}


def is_function(loss: str) -> bool:
    """Whether a loss is a user's function, by its name; only that may give losses below 0."""
    return loss.startswith(_CALLABLE)


class LossNameKind(Text):
    """The name of a loss, which says whether losses may be below 0."""

    binds = "signed"

    def read(self, value: Any, name: str, sizes: Sizes) -> str:
        loss: str = super().read(value, name, sizes)
        if not is_function(loss) and loss not in get_args(LossName):
            raise ValueError(f"unknown {name} {loss!r:.40}")
        sizes["signed"] = is_function(loss)
        return loss


def _step(values: dict[str, Any], sizes: Sizes) -> Step:
    _check_error(values, sizes)
    if values["features"] is None:
        values["features"] = (values["index"],)
    if values["features"][:1] != (values["index"],):
        raise ValueError(f"index {values['index']} is not the first of the features of its step")
    return Step(**values)


def _set(values: dict[str, Any], sizes: Sizes) -> FeatureSet:
    features = values.pop("features")
    if not features or len(set(features)) < len(features):
        raise ValueError("a set has no features, or one of them twice")
    return FeatureSet(features, len(features), **values)


def _check_error(values: dict[str, Any], sizes: Sizes) -> None:
    if sizes["version"] == 1 and math.isnan(values["standard_error"]):
        raise ValueError("standard_error is null, which version 1 does not have")


STEP_CODEC = Codec(
    Step,
    {
        **_OF_MODELS,
        "index": INDEX,
        "features": Key(ListOf(INDEX), since=3, default=None),
        "seconds": NOT_NEGATIVE,
    },
    keys="action index features loss standard_error fold_losses runners_up forced seconds",
    make=_step,
)
SET_CODEC = Codec(
    FeatureSet,
    {**_OF_MODELS, "features": ListOf(INDEX)},
    keys="features loss standard_error fold_losses runners_up forced",
    make=_set,
)


def is_growing(steps: tuple[Step, ...], start: FeatureSet | None) -> bool:
    """Whether features are only added, so that the sets follow from the steps.

    A search with a start only removes features.
    """
    return start is None and all(step.action == "add" for step in steps)


def check_sets(
    sets: tuple[FeatureSet, ...], steps: tuple[Step, ...], start: FeatureSet | None
) -> None:
    """Whether there are as many as there may be, each larger than the one before."""
    if not sets or (start is None and len(sets) > len(steps)):
        raise ValueError(f"it has {len(sets)} sets for {len(steps)} steps")
    if any(later.count <= earlier.count for earlier, later in pairwise(sets)):
        raise ValueError("its sets do not grow")


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


def check_groups(steps: tuple[Step, ...], groups: tuple[tuple[int, ...], ...] | None) -> None:
    """Whether each step adds a whole group, or a single feature of none."""
    owner = {column: group for group in groups or () for column in group}
    for step in steps:
        if set(step.features) != set(owner.get(step.index, (step.index,))):
            raise ValueError(f"the step with feature {step.index} is not that of a whole group")


def check_fold_losses(steps: Sequence[Step | FeatureSet], cv: str) -> None:
    """Raise an error unless all steps have as many fold losses, and leave-one-out has none."""
    counts = {len(step.fold_losses) for step in steps}
    if len(counts) > 1:
        raise ValueError(f"fold_losses has {min(counts)} to {max(counts)} entries in the steps")
    if (cv == "loo") != (counts == {0}):
        raise ValueError(f"fold_losses has {counts.pop()} entries in each step for cv {cv!r}")
