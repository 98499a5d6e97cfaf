"""Pictures of selections, for a screen or a paper (matplotlib, ``plot`` extra).

Each function draws on the axes given, or on those of a new figure, and returns them. In axes as
narrow as one column of a paper, text has the sizes of print.
"""

from __future__ import annotations

from ._draw_assessment import plot_assessment
from ._draw_coefficients import plot_coefficients
from ._draw_path import plot_path
from ._draw_predictions import plot_predictions
from ._draw_stability import plot_stability, plot_stability_index
from ._draw_surface import plot_surface

__all__ = [
    "plot_assessment",
    "plot_coefficients",
    "plot_path",
    "plot_predictions",
    "plot_stability",
    "plot_stability_index",
    "plot_surface",
]
