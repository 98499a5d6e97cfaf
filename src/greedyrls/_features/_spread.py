"""Bounds of how z_i of candidates that were scored is spread over the rows, by recurrence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._base import ArrayLocation, Float, namespace_of, put, raise_to, to_device
from .._rows import TINY_FOURTH, UNKNOWN

if TYPE_CHECKING:
    from ._feature_space import FeatureSpace


def column_on(location: ArrayLocation, values: Float | float) -> Any:
    """Return numbers per target (t) as a column for use with (t × n); a float stays a float."""
    if isinstance(values, float):
        return values
    if not location.on_device:
        return values[:, None]
    # A single number goes with the operation and needs no transfer.
    return float(values[0]) if len(values) == 1 else to_device(location, values[:, None])[0]


def follow_spread(space: FeatureSpace) -> None:
    """Bound from now on how z of candidates that were scored is spread over the rows."""
    space.spread = Spread(space.location, *space.correlation.shape)


class Spread:
    """Lower bounds of ‖r∘z_i‖ and upper ones of ‖z_i‖₄."""

    def __init__(self, location: ArrayLocation, n_targets: int, n_features: int) -> None:
        self._location = location
        self._shape = n_targets, n_features
        self.forget()

    def forget(self) -> None:
        """Know nothing of any candidate."""
        self.mixed_root = self._location.zeros(self._shape)  # at most ‖r∘z_i‖
        self.fourth_root = self._location.full(self._shape[1], UNKNOWN)  # at least (Σ z_i⁴)^¼

    def remember(self, indices: NDArray[np.intp], mixed: Float, fourth: Float) -> None:
        """Store Σ r² z² (t × c) and Σ z⁴ (c) of candidates that were scored."""
        put(self.mixed_root, indices, np.sqrt(mixed))
        put(self.fourth_root, indices, np.sqrt(np.sqrt(fourth)))
        if not (fourth.min() > TINY_FOURTH and fourth.max() < np.inf):
            # Fourth powers that underflow or overflow bound nothing.
            lost = indices[~((fourth > TINY_FOURTH) & (fourth < np.inf))]
            put(self.mixed_root, lost, 0.0)
            put(self.fourth_root, lost, UNKNOWN)

    def update(self, row: Float, step: Float, r_q: Float, q_fourth: float) -> None:
        """Update all bounds after a feature with l in `row`: r ← r − t q, z_i ← z_i − l_i q.

        The first loses at most ‖t q∘z_i‖ ≤ |t| ‖q‖₄ ‖z_i‖₄ and ‖(r − t q)∘l_i q‖.
        """
        size = namespace_of(row).abs(row)
        lost = np.abs(step) * q_fourth
        self.mixed_root -= column_on(self._location, lost) * self.fourth_root
        self.mixed_root -= column_on(self._location, r_q + lost * q_fourth) * size
        raise_to(self.mixed_root, 0.0)
        size *= q_fourth
        self.fourth_root += size
