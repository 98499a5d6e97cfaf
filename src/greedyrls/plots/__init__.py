"""Plots of selections with matplotlib (``plot`` extra), for the screen or a paper.

Each function draws on the given axes, or on those of a new figure, and returns them. Axes as narrow
as one column of a paper get smaller text.
"""

from .._base import attach

_, __getattr__, __dir__ = attach(__name__, __file__)

__all__ = [
    "plot_assessment",
    "plot_coefficients",
    "plot_path",
    "plot_predictions",
    "plot_stability",
    "plot_stability_index",
    "plot_surface",
]
