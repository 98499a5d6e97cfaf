"""The band of permuted targets, for any plot of losses by size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import Float, percent
from ..assess import PermutationNull
from . import _parts as parts

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_PERMUTED: dict[str, Any] = {"color": parts.PURPLE, "linestyle": (0, (1, 1)), "linewidth": 1.6}


def check_null(null: object, measure: str, subject: str) -> None:
    """Raise an error unless the permutations are None or have the measure of the plot."""
    if null is None:
        return
    if not isinstance(null, PermutationNull):
        raise TypeError(
            "null must be a PermutationNull (of greedyrls.assess.permutation_null) or None, got "
            f"{parts.shown(null)}."
        )
    if null.measure != measure:
        raise ValueError(
            f"The permutations are measured in {null.measure!r} and the {subject} in {measure!r}; "
            "make both with the same measure."
        )


def draw_null(
    ax: Axes, null: PermutationNull, band: tuple[Float, Float], level: float
) -> tuple[Artist | None, Artist]:
    """Draw the band and the median of the permutations."""
    sizes = np.arange(1, len(null.losses) + 1)
    area = parts.band(ax, sizes, *band, color=parts.PURPLE, alpha=0.2)
    words = "permuted" if parts.is_narrow(ax) else "own, permuted targets"
    style = {**_PERMUTED, "label": f"{words} ({percent(level)})"}
    return area, parts.curve(ax, sizes, np.median(null.null_losses, axis=0), **style)
