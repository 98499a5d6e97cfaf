"""Assess a selection: test error, stability, and comparison with permuted targets.

Selecting features by a loss makes that loss optimistic: with enough features to choose from, some
fit the samples at hand by chance. The functions here repeat the whole selection, including the
choice of penalty and size, on other samples or targets.
"""

from .._base import attach

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
