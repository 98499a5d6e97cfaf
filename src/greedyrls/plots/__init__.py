"""Pictures of selections, for a screen or a paper (matplotlib, ``plot`` extra).

Each function draws on the axes given, or on those of a new figure, and returns them. In axes as
narrow as one column of a paper, text has the sizes of print.
"""

from .._lazy import attach

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
