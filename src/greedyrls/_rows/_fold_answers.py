"""Answers of row blocks for folds, and the arguments of their questions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float


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


class SetProducts(NamedTuple):
    """Σ w x_b x_i over each set of rows."""

    values: Float  # (B × sets × n)


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


class SplitSums(NamedTuple):
    """Sums over the held-out rows of each split."""

    values: Float  # (K × …)


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
