"""Where Triton kernels find named numbers: constants from the tuples that declare them."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from ._answers import SampleStatistics, Scores
from ._fused_features import AddedNumbers, BoundTerms


def positions(kind: Any, *names: str) -> list[Any]:
    """Return the positions of fields of a tuple as constants that are compiled in."""
    return [tl.constexpr(kind._fields.index(name)) for name in names]


# Rows of scores, (7 × c) for one target.
LOSSES, DELTA, RHO, NORMS, CORRELATIONS, MIXED, FOURTH = positions(
    Scores, "losses", "delta", "rho", "norms", "correlations", "mixed", "fourth"
)
# Statistics, (10) for one target.
R_R, G_R, G_G, A_R, A_G, A_A, LOSS_SQUARES, LOSS_WEIGHTS, LARGEST_D, SMALLEST_D = positions(
    SampleStatistics,
    *("r_r", "g_r", "g_g", "a_r", "a_g", "a_a"),
    *("loss_squares", "loss_weights", "largest_d", "smallest_d"),
)
# Numbers that bounds are made of.
ENERGY, ALONG_R, ALONG_ANCHOR, DISTANCE, CURVE, GROWTH = positions(
    BoundTerms, "energy", "along_r", "along_anchor", "distance", "curve", "growth"
)
# Numbers of a feature that was chosen.
SIZE, FEATURE, ROOT, LOST, REST, Q_FOURTH, ADDRESS = positions(
    AddedNumbers, "size", "feature", "root", "lost", "rest", "q_fourth", "address"
)
