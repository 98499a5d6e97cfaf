"""Features that are added together, and what features cost."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._kernels import Float


class Grouping(NamedTuple):
    """What is asked for, checked."""

    groups: tuple[tuple[int, ...], ...] | None = None  # all features, in groups
    names: tuple[str, ...] | None = None  # of the groups
    costs: Float | None = None  # (n)
    budget: float | None = None


def grouping_of(
    feature_groups: Any,
    feature_costs: Any,
    budget: Any,
    n_features: int,
    feature_names: tuple[str, ...] | None,
) -> Grouping:
    """Check `feature_groups`, `feature_costs` and `budget`."""
    for name, value in (
        ("feature_groups", feature_groups),
        ("feature_costs", feature_costs),
        ("budget", budget),
    ):
        if value is not None:
            raise ValueError(f"{name} is not there yet, for {n_features} {feature_names}.")
    return Grouping()
