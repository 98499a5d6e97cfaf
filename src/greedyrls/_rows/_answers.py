"""What a row block answers: sums over its rows, which are added up over blocks."""

from __future__ import annotations

from typing import NamedTuple

from .._base import Float
from ._zero_one import Support


class TargetSums(NamedTuple):
    """What is known before the first pass."""

    weight: float  # Σ w
    target_means: Float  # (t) Σ w y / Σ w
    weight_squares: float  # Σ w²
    n_weighted: float  # how many w are not 0
    largest_weight: float


class RawSums(NamedTuple):
    """The first pass; X is not centred yet."""

    products: Float  # (t + 1 × n) Σ w (y − mean) x, then Σ w x
    squares: Float  # (n) Σ w x²


class Products(NamedTuple):
    """v'X for some vectors v, X not centred, and Σ v."""

    values: Float  # (c × n)
    sums: Float  # (c)


class Moments(NamedTuple):
    """Of what is left of some candidates."""

    norms: Float  # (c) ‖z‖²
    correlations: Float  # (t × c) r·z


class Along(NamedTuple):
    """How far the anchor goes along a candidate."""

    values: Float  # (t) a·z


class FeatureSums(NamedTuple):
    """One number for each of some features."""

    values: Float


class ColumnShapes(NamedTuple):
    """How far the values of a column are from its mean; answers of blocks are not added up."""

    largest: Float  # (n) max |x_i − mean_i|
    outside: Float  # (n) the same outside the support of rare features
    support: Support


class CandidateLosses(NamedTuple):
    """Weighted sums of any loss with each feature added."""

    values: Float  # (n)
    looked: int  # how many pairs of row and candidate were looked at


class Losses(NamedTuple):
    """Leave-one-out sums of some candidates, and how they are spread over the rows."""

    losses: Float  # (t × c) Σ of squared LOO errors
    mixed: Float  # (t × c) Σ r² z²
    fourth: Float  # (c) Σ z⁴


class Scores(NamedTuple):
    """Exact leave-one-out sums of some candidates, and what was measured on the way."""

    losses: Float  # (t × c) Σ over rows of the squared LOO error
    delta: Float  # (c)
    rho: Float  # (t × c)
    norms: Float  # (c) ‖z‖²
    correlations: Float  # (t × c) r·z
    mixed: Float  # (t × c) Σ r² z²
    fourth: Float  # (c) Σ z⁴


class SupportSums(NamedTuple):
    """Sums over the rows in which each of some candidates is not 0."""

    exact: Float  # (t × c) squared leave-one-out errors, if it were added
    before: Float  # (t × c) the same as they are
    r_z: Float  # (t × c)
    z_z: Float  # (c)


class SampleStatistics(NamedTuple):
    """What the driver knows of r and h after a step: sums over rows, with g = ω∘r.

    a is the anchor: g at the last pass that computed X'g, without its parts along the features
    added since. There is none before the first such pass; its sums are then 0.
    """

    r_r: Float  # (t)
    g_r: Float  # (t) Σ ω r²: the leave-one-out sum of the current model
    g_g: Float  # (t)
    a_r: Float  # (t)
    a_g: Float  # (t)
    a_a: Float  # (t)
    loss_squares: float  # Σ_j v_j², v_j = w_j · (mean over targets of the squared LOO error)
    loss_weights: float  # Σ_j v_j w_j
    largest_d: float
    smallest_d: float
