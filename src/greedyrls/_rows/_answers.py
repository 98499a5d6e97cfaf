"""Answers of row blocks: sums over their rows, which are added up over blocks.

And arguments of their questions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from ._zero_one import Support


class ArraySum(NamedTuple):
    """One array, which is added up over blocks."""

    values: Float


class TargetSums(NamedTuple):
    """Sums of targets and weights, before the first pass."""

    weight: float  # Σ w
    target_means: Float  # (t) Σ w y / Σ w
    weight_squares: float  # Σ w²
    n_weighted: float  # number of w that are not 0
    largest_weight: float


class RawSums(NamedTuple):
    """Sums of the first pass, in which X is not centred yet."""

    products: Float  # (t + 1 × n) Σ w (y − mean) x, then Σ w x
    squares: Float  # (n) Σ w x²


class Products(NamedTuple):
    """v'X for several vectors v, X not centred, and Σ v."""

    values: Float  # (c × n)
    sums: Float  # (c)


class Moments(NamedTuple):
    """Moments of z of several candidates."""

    norms: Float  # (c) ‖z‖²
    correlations: Float  # (t × c) r·z


class ColumnShapes(NamedTuple):
    """Largest distances of columns from their means; these answers are not added up."""

    largest: Float  # (n) max |x_i − mean_i|
    outside: Float  # (n) the same outside the support of rare features
    support: Support


class Losses(NamedTuple):
    """Leave-one-out sums of several candidates, and moments of their spread over the rows."""

    losses: Float  # (t × c) Σ of squared LOO errors
    mixed: Float  # (t × c) Σ r² z²
    fourth: Float  # (c) Σ z⁴


class Scores(NamedTuple):
    """Exact leave-one-out sums of several candidates, and the moments they are computed from."""

    losses: Float  # (t × c) Σ over rows of the squared LOO error
    delta: Float  # (c)
    rho: Float  # (t × c)
    norms: Float  # (c) ‖z‖²
    correlations: Float  # (t × c) r·z
    mixed: Float  # (t × c) Σ r² z²
    fourth: Float  # (c) Σ z⁴


class SupportSums(NamedTuple):
    """Sums over the rows in which each of several candidates is not 0."""

    exact: Float  # (t × c) squared leave-one-out errors with the candidate
    before: Float  # (t × c) squared leave-one-out errors without it
    r_z: Float  # (t × c)
    z_z: Float  # (c)


class SampleStatistics(NamedTuple):
    """Sums over rows of r and h that the driver needs after a step, with g = ω∘r.

    a is the anchor: g at the last pass that computed X'g, minus its components along the features
    added since. Before the first such pass there is no anchor, and its sums are 0.
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

    @classmethod
    def unpacked(cls, values: Float) -> SampleStatistics:
        """Return the statistics that lie one after the other in a vector, (6t + 4)."""
        return cls(*values[:-4].reshape(6, -1), *values[-4:].tolist())

    @classmethod
    def of_models(cls, values: Float) -> SampleStatistics:
        """Return the statistics of several models, (c × 6t + 4), with one more axis (c) each."""
        by_target = values[:, :-4].reshape(len(values), 6, -1)
        return cls(*by_target.transpose(1, 0, 2), *values[:, -4:].T)


class RoughSums(NamedTuple):
    """Sums over a sample of rows of positive weight, to find columns with large means."""

    rows: float
    x: Float  # (n) Σ x
    xx: Float  # (n) Σ (x − mean)², with the mean of the block
    weight: float  # Σ w, of all rows
    target_means: Float  # (t) Σ w y / Σ w, of all rows


class SetSums(NamedTuple):
    """Weighted sums of X and Y minus their shifts over each set of rows (the first axis)."""

    weight: Float  # (sets)
    x: Float  # (sets × n)
    xx: Float  # (sets × n)
    xy: Float  # (sets × t × n)
    y: Float  # (sets × t)
    yy: Float  # (sets × t)


class StepSums(NamedTuple):
    """Sums over the held-out rows of each split when a feature is added."""

    norms: Float  # (K) ‖z‖²
    inner: Float  # (K × t) r·z
    energy: Float  # (K × t) ‖r‖² after the step


class RefinedSums(NamedTuple):
    """Sums over the training rows of a split for a feature that the chosen ones nearly span."""

    products: Float  # (|S|) X_S'z
    norm: float  # ‖z‖²
    inner: Float  # (t) z·(y − X_S w)


class Candidates(NamedTuple):
    """The columns of some candidates in the models of all splits."""

    indices: NDArray[np.intp]  # (c)
    means: Float  # (K × c) over the training rows
    beta: Float  # (K × |S| × c)
    rho: Float  # (K × t × c)
    starts: NDArray[np.intp] | None = None  # where each begins, if some have several columns

    @property
    def n_candidates(self) -> int:
        """The number of candidates."""
        return len(self.indices) if self.starts is None else len(self.starts)
