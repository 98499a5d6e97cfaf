"""How good a selection really is: honest curves, stability, and how far noise alone would get.

Selecting features by a loss makes that loss too good: with enough features to choose from, some fit
the samples at hand by chance. Everything here repeats the whole selection, with its choice of
penalty and size, on samples or targets that it was not made on.
"""

from .._lazy import attach

_, __getattr__, __dir__ = attach(__name__, __file__)

__all__ = [
    "PathAssessment",
    "PermutationNull",
    "Predictions",
    "Stability",
    "cross_validate_path",
    "path_warnings",
    "permutation_null",
    "resample_path",
]
