"""What a row block answers where there are folds, and what it is asked with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float


class RoughSums(NamedTuple):
    """Of some rows of positive weight, to see which means are far out."""

    rows: float
    x: Float  # (n) Σ x
    xx: Float  # (n) Σ (x − mean)², with the mean of the block
    weight: float  # Σ w, of all rows
    target_means: Float  # (t) Σ w y / Σ w, of all rows


class SetSums(NamedTuple):
    """Weighted sums over each set of rows, of X and Y less their shifts; first axis: the sets."""

    weight: Float  # (sets)
    x: Float  # (sets × n)
    xx: Float  # (sets × n)
    xy: Float  # (sets × t × n)
    y: Float  # (sets × t)
    yy: Float  # (sets × t)


class SetProducts(NamedTuple):
    """Σ w x_b x_i over each set of rows."""

    values: Float  # (B × sets × n)


class StepSums(NamedTuple):
    """A feature on the held-out rows of each split as it is added."""

    norms: Float  # (K) ‖z‖²
    inner: Float  # (K × t) r·z
    energy: Float  # (K × t) ‖r‖² after the step


class RefinedSums(NamedTuple):
    """A feature that the chosen ones nearly span, on the training rows of one split."""

    products: Float  # (|S|) X_S'z
    norm: float  # ‖z‖²
    inner: Float  # (t) z·(y − X_S w)


class SplitSums(NamedTuple):
    """Sums over the held-out rows of each split."""

    values: Float  # (K × …)


class Candidates(NamedTuple):
    """Some candidates in the models of all splits."""

    indices: NDArray[np.intp]
    means: Float  # (K × c) over the training rows
    beta: Float  # (K × |S| × c)
    rho: Float  # (K × t × c)
