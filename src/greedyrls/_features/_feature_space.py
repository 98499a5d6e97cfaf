"""Feature space: pivots, factor, correlations and inner products, by recurrence.

Everything here has n columns and never sees a row of X. Symbols are those of docs/theory.md:
A = X'X + P, its partial Cholesky factor L on the chosen features (stored |S| × n, a chosen feature
per row), δ_i, τ_i, and for each candidate ‖z_i‖² and r·z_i.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import (
    REFINED_PIVOT,
    ArrayLocation,
    Float,
    location_of,
    numbers_on,
    raise_to,
    stacked,
    take,
    to_device,
    to_host,
)
from ._chosen_model import ChosenModel
from ._group_pairs import GroupPairs
from ._penalties import Penalty
from ._spread import Spread


class Coefficients(NamedTuple):
    """Coefficients of candidates on the chosen features."""

    beta: Float  # (|S| × c) A_SS⁻¹ A_Si
    penalty: Float  # (c) P_ii + β'Pβ
    shrinkage: Float  # (t × c) w'Pβ


class Pivot(NamedTuple):
    """The statistics of a candidate, measured in the data."""

    delta: float
    rho: Float  # (t)
    norm: float  # ‖z‖²
    inner: Float  # (t) r·z
    mixed: Float  # (t) Σ r² z²
    fourth: float  # Σ z⁴


class Seen(NamedTuple):
    """The numbers needed to add a candidate, on the host."""

    factor: Float  # (|S|) of L
    delta: float
    anchored: Float  # (t), if there is an anchor


def _slopes(q_q: float, step: Float, q_r: Float, along: Float | None, root: float) -> Float:
    """Return the slopes (rows × 2) of δ, ‖z‖² (per unit of l), τ, r·z, a·z in −l and −q·z."""
    t = len(step)
    if t == 1 and along is None:
        lost, r = float(step[0]), float(q_r[0])
        return np.array([(1.0, 0.0), (-q_q, 2.0), (lost, 0.0), (r - lost * q_q, lost)])
    slopes = np.zeros((2 + (2 if along is None else 3) * t, 2))
    slopes[0, 0] = 1.0  # −l² is −l times l
    slopes[1] = -q_q, 2.0
    slopes[2 : 2 + t, 0] = step
    slopes[2 + t : 2 + 2 * t, 0] = q_r - step * q_q
    slopes[2 + t : 2 + 2 * t, 1] = step
    if along is not None:
        # Both a and z_i lose their part along z_b; z_b·z_i = √δ (q_b·z_i).
        slopes[2 + 2 * t :, 1] = along * root
    return slopes


def entries(location: ArrayLocation, indices: NDArray[np.intp], *vectors: Float) -> list[Float]:
    """Return the entries of some features in vectors (… × n), on the host."""
    if not location.on_device:
        return [values.take(indices, axis=-1) for values in vectors]
    where = numbers_on(location, indices)
    return to_host(*(take(values, where) for values in vectors))


class FeatureSpace:
    """The part of a search's state that has no rows.

    Vectors of n numbers live on the device of `diagonal`, vectors of |S| numbers on the host.
    """

    def __init__(
        self,
        diagonal: Float,
        correlation: Float,
        penalty: Penalty,
        capacity: int = 16,
        pairs: GroupPairs | None = None,
    ) -> None:
        t, n = correlation.shape
        self.location = location_of(diagonal)
        self.diagonal = diagonal
        self.correlation = correlation
        self.penalty = penalty
        self.pairs = pairs
        self.selected: list[int] = []
        (self._squares,) = to_host(diagonal)
        # δ, ‖z‖², τ, r·z and a·z in one array: a step updates them all by one product.
        self.scale = diagonal + penalty.diagonal  # A_ii
        rows = [self.scale[None, :], diagonal[None, :], correlation, correlation]
        self._set_rows(stacked(rows))
        # Neither δ nor ‖z‖² is smaller than this.
        zeros = self.location.zeros((1, n))
        self._floors = stacked([zeros + penalty.floor(self.scale), zeros])
        self.spread: Spread | None = None  # of z over the rows, if it is followed
        self._doubtful = penalty.doubtful(self.scale)
        self._L = self.location.empty((capacity, n))
        # x_i·q_s, a chosen feature per row, where it is no entry of L.
        self._V = None if penalty.is_diagonal else self.location.empty((capacity, n))
        self._inverse = np.zeros((capacity, capacity))  # of the chosen rows and columns of L
        self._overlap = np.zeros((capacity, capacity))  # q_u·q_s
        self._gram = np.zeros((capacity, capacity))  # X_S'X_S, for the coefficients
        self._weights = np.zeros((capacity, t))  # w of the current model
        self._chosen = np.zeros(capacity, dtype=np.intp)

    def _set_rows(self, rows: Float) -> None:
        """Set all rows that a step changes: δ, ‖z_i‖², τ, r·z_i, and a·z_i with an anchor a."""
        t = self.correlation.shape[0]
        self._rows = rows
        self.delta, self.norms = rows[0, :], rows[1, :]
        self.tau, self.inner = rows[2 : 2 + t, :], rows[2 + t : 2 + 2 * t, :]
        self.anchored: Float | None = rows[2 + 2 * t :, :] if rows.shape[0] > 2 + 2 * t else None

    @property
    def size(self) -> int:
        """|S|."""
        return len(self.selected)

    @property
    def L(self) -> Float:
        """The rows of the factor so far, (|S| × n)."""
        return self._L[: self.size, :]

    @property
    def gram(self) -> Float:
        """X_S'X_S without the penalty, in the order of choice."""
        return self._gram[: self.size, : self.size]

    @property
    def model(self) -> ChosenModel:
        """The model of the chosen features; the product of L_SS⁻¹ with X_S' has the q_s as rows."""
        s = self.size
        return ChosenModel(self._inverse[:s, :s], self._weights[:s])

    def coefficients(self, indices: NDArray[np.intp]) -> Coefficients:
        """Return β and the penalty terms of c candidates in O(|S|² c)."""
        s = self.size
        return self.terms(indices, self._inverse[:s, :s].T @ self.factor_of(indices))

    def factor_of(self, indices: NDArray[np.intp]) -> Float:
        """Return columns of L, (|S| × c), on the host."""
        return self._L[: self.size, indices]

    def _look(self, index: int) -> Seen:
        """Return the numbers needed to add one candidate, on the host."""
        anchored = self.delta[:1] if self.anchored is None else self.anchored[:, index]
        return Seen(self._L[: self.size, index], self.delta[index], anchored)

    def terms(self, indices: NDArray[np.intp], beta: Float) -> Coefficients:
        """Return β (|S| × c) with its penalty terms."""
        pulled = self.penalty.pulled(indices, beta)
        penalty = self.penalty.norms(indices, beta, pulled)
        return Coefficients(beta, penalty, self._weights[: self.size].T @ pulled)

    def beta(self, index: int) -> Float:
        """Return β (|S|) of one candidate."""
        s = self.size
        return self._inverse[:s, :s].T @ self._look(index).factor

    def pivot_scale(self, index: int) -> float:
        """Return A_ii, the scale of a feature's pivot."""
        return float(self._squares[index] + self.penalty.of(index))

    def set_anchor(self, products: Float) -> None:
        """Set the anchor a from a·x_i of all features (t × n); stores a·z_i."""
        s = self.size
        (of_chosen,) = entries(self.location, self._chosen[:s], products)
        on_pivots = of_chosen @ self._inverse[:s, :s].T
        anchored = products - to_device(self.location, on_pivots)[0] @ self._L[:s, :]
        if self.anchored is None:
            self._set_rows(stacked([self._rows, anchored]))
        else:
            self.anchored[:, :] = anchored

    def forget(self) -> None:
        """Drop what was fetched for the current set, since another one takes its place."""

    def anchor_along(self, index: int, norm: float) -> Float | None:
        """Return (a·z_b)/‖z_b‖² (t), which the anchor loses when b is added."""
        if self.anchored is None:
            return None
        on_anchor = self._look(index).anchored
        return on_anchor / norm if norm > 0.0 else 0.0 * on_anchor

    def untrusted(self) -> NDArray[np.bool_]:
        """Return a mask of the candidates whose pivot is mostly rounding."""
        is_lost: NDArray[np.bool_] = self.delta < self._doubtful
        return is_lost

    def add(self, index: int, column: Float, beta: Float, pivot: Pivot) -> float:
        """Add a feature; returns the drift of its pivot, |δ − its value in the data| / A_bb.

        column (n) is X'x_b and beta (|S|) its coefficients on the chosen features. The pivot comes
        from the data, so that rounding of the recurrence does not accumulate in it.
        """
        delta, rho, norm, inner, _, _ = pivot
        s = self.size
        if s == self._L.shape[0]:
            self._grow()
        seen = self._look(index)
        drift = abs(seen.delta - delta) / self.pivot_scale(index)
        root = math.sqrt(delta)
        step = rho * root
        left = np.empty((2, s))
        on_chosen, both = left
        np.divide(seen.factor, root, out=on_chosen)
        overlap = self._overlap[:s, :s] @ on_chosen
        if self._V is None:
            np.subtract(on_chosen, overlap, out=overlap)
            np.add(on_chosen, overlap, out=both)
        else:
            both[:] = overlap = self._V[:s, index] / root - overlap
        slopes = _slopes(norm / delta, step, inner / root, self.anchor_along(index, norm), root)
        self._follow(index, column, pivot, left, slopes)
        self._inverse[s, :s] = beta / -root
        self._inverse[s, s] = 1.0 / root
        self._overlap[s, :s] = self._overlap[:s, s] = overlap
        self._overlap[s, s] = norm / delta
        self._gram[s, s] = self._squares[index]
        self._weights[:s] -= beta[:, None] * rho
        self._weights[s] = rho
        self._chosen[s] = index
        self.selected.append(index)
        return float(drift)

    def _follow(self, index: int, column: Float, pivot: Pivot, left: Float, slopes: Float) -> None:
        """All vectors of n after a feature: a row of L, what candidates lose, X_S'x_b.

        q·z_i = x_i·q − Σ_s (q·q_s) l_is, and x_i·q = l_i for every candidate i if the penalty is
        diagonal. left (2 × |S|) is l_b/√δ_b and q·q_s, in that case their sum.
        """
        s, root = self.size, math.sqrt(pivot.delta)
        products: Float = left @ self._L[:s, :]  # becomes −l and −q·z_i
        if self._V is None:
            products -= column / root
        else:
            self._V[s, :] = column / root - left[0] @ self._V[:s, :]
            products[0, :] -= self.penalty.added(index, column) / root
            products[1, :] -= self._V[s, :]
        row = products[0, :]
        row[index] = -root
        self._L[s, :] = -row
        change = slopes @ products
        change[:2, :] *= -row
        self._rows += change
        raise_to(self._rows[:2, :], self._floors)
        if self.pairs is not None:
            self.pairs.update(row, products[1, :], -slopes[1, 0])
        if self.spread is not None:
            r_q = np.sqrt(pivot.mixed / pivot.delta)
            self.spread.update(self._L[s, :], pivot.rho * root, r_q, pivot.fourth**0.25 / root)
        self._keep_products(column)

    def _keep_products(self, column: Float) -> None:
        """Keep X_S'x_b of X'x_b."""
        s = self.size
        self._gram[s, :s] = self._gram[:s, s] = column[self._chosen[:s]]

    def _grow(self) -> None:
        """Enlarge all arrays for twice as many chosen features."""
        old, n = self._L.shape
        padding = (0, max(16, old))
        more = self.location.empty((padding[1], n))
        self._L = self.location.xp.concat([self._L, more])
        if self._V is not None:
            self._V = self.location.xp.concat([self._V, more])
        self._inverse = np.pad(self._inverse, padding)
        self._overlap = np.pad(self._overlap, padding)
        self._gram = np.pad(self._gram, padding)
        self._weights = np.pad(self._weights, (padding, (0, 0)))
        self._chosen = np.pad(self._chosen, padding)


def inverse_pivots(space: FeatureSpace) -> Float:
    """Return 1/δ of the chosen features when they were added, (|S|)."""
    pivots: Float = np.square(np.diagonal(space._inverse)[: space.size])
    return pivots


def note_step(space: FeatureSpace, index: int, products: Float) -> None:
    """Note a feature that a stepper added, with X_S'x_b (|S| + 1); `take_back` is to follow."""
    s = space.size
    if s == space._L.shape[0]:
        space._grow()
    space._gram[s, : s + 1] = space._gram[: s + 1, s] = products
    space._chosen[s] = index
    space.selected.append(index)
    space.penalty.note(index)


def note_set(space: FeatureSpace, features: Sequence[int], gram: Float) -> None:
    """Note a set to which a stepper moved, with X_S'X_S."""
    s = len(features)
    while space._L.shape[0] < s:
        space._grow()
    space._gram[:s, :s] = gram
    space._chosen[:s] = features
    space.selected = list(features)


def note_model(space: FeatureSpace, inverse: Float) -> None:
    """Note the model of a set that is known by its Gram matrix, given L⁻¹ of its part of A."""
    s = space.size
    (correlation,) = entries(space.location, space._chosen[:s], space.correlation)
    space._inverse[:s, :s] = inverse
    space._weights[:s] = inverse.T @ (inverse @ correlation.T)


def extend_model(space: FeatureSpace) -> bool:
    """Note the model of a set by that without its last feature, unless this loses digits."""
    s = space.size - 1
    index, inverse, products = space.selected[-1], space._inverse[:s, :s], space._gram[s, :s]
    scale = space.pivot_scale(index)
    on_pivots = inverse @ products
    delta = scale - float(on_pivots @ on_pivots)
    if delta < REFINED_PIVOT * scale:
        return False
    beta = on_pivots @ inverse
    rho = (space.correlation[:, index] - products @ space._weights[:s]) / delta
    space._inverse[s, :s] = beta / -math.sqrt(delta)
    space._inverse[s, s] = 1.0 / math.sqrt(delta)
    space._weights[:s] -= beta[:, None] * rho
    space._weights[s] = rho
    return True


def take_back(space: FeatureSpace, size: int) -> list[int]:
    """Return the features that were only noted, after the first `size`, and forget them."""
    noted = space.selected[size:]
    del space.selected[size:]
    space.penalty.take_back(size)
    return noted
