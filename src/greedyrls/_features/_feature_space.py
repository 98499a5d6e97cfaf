"""Feature space of one model of all rows: pivots measured on the rows, and an anchor of bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import (
    HOST,
    REFINED_PIVOT,
    Float,
    to_device,
    to_host,
)
from ._group_pairs import GroupPairs
from ._penalties import Penalty
from ._recurrences import Change, Pivot, Recurrences, Start, enlarged, entries
from ._spread import Spread


class Coefficients(NamedTuple):
    """Coefficients of candidates on the chosen features."""

    beta: Float  # (|S| × c) A_SS⁻¹ A_Si
    penalty: Float  # (c) P_ii + β'Pβ
    shrinkage: Float  # (t × c) w'Pβ


class Seen(NamedTuple):
    """The numbers needed to add a candidate, on the host."""

    factor: Float  # (|S|) of L
    delta: float
    anchored: Float  # (t), if there is an anchor


class FeatureSpace(Recurrences):
    """The part of a search's state that has no rows, for one model.

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
        start = Start(diagonal, correlation, diagonal, correlation)
        super().__init__(start, penalty, capacity, HOST, has_own_rows=False)
        self.pairs = pairs
        (self._squares,) = to_host(diagonal)
        self.spread: Spread | None = None  # of z over the rows, if it is followed
        self._doubtful = penalty.doubtful(self.scale)
        self._gram = np.zeros((capacity, capacity))  # X_S'X_S, for the coefficients
        self._chosen = np.zeros(capacity, dtype=np.intp)

    @property
    def gram(self) -> Float:
        """X_S'X_S without the penalty, in the order of choice."""
        return self._gram[: self.size, : self.size]

    def coefficients(self, indices: NDArray[np.intp]) -> Coefficients:
        """Return β and the penalty terms of c candidates in O(|S|² c)."""
        return self.terms(indices, self.beta_of(indices))

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
        beta: Float = self.model.inverse.T @ self._look(index).factor
        return beta

    def pivot_scale(self, index: int) -> float:
        """Return A_ii, the scale of a feature's pivot."""
        return float(self._squares[index] + self.penalty.of(index))

    def set_anchor(self, products: Float) -> None:
        """Set the anchor a from a·x_i of all features (t × n); stores a·z_i."""
        (of_chosen,) = entries(self.location, self._chosen[: self.size], products)
        on_pivots = of_chosen @ self.model.inverse.T
        anchored = products - to_device(self.location, on_pivots)[0] @ self.L
        if self.anchored is None:
            self._set_rows(self.delta, self.norms, self.tau, self.inner, anchored)
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
        s, seen = self.size, self._look(index)
        self.make_room(s + 1)
        along = self.anchor_along(index, pivot.norm)
        self._step(index, s, seen.factor, beta, pivot, (column, column), along)
        self._note(index)
        return float(abs(seen.delta - pivot.delta) / self.pivot_scale(index))

    def _note(self, index: int) -> None:
        s = self.size
        self._gram[s, s] = self._squares[index]
        self._chosen[s] = index
        self.selected.append(index)

    def _follow(self, change: Change) -> None:
        super()._follow(change)
        pivot = change.pivot
        if self.spread is not None:
            root = math.sqrt(pivot.delta)
            r_q = np.sqrt(pivot.mixed / pivot.delta)
            self.spread.update(
                self._L[change.size, :], pivot.rho * root, r_q, pivot.fourth**0.25 / root
            )
        self._keep_products(change.columns[0])

    def _keep_products(self, column: Float) -> None:
        """Keep X_S'x_b of X'x_b."""
        s = self.size
        self._gram[s, :s] = self._gram[:s, s] = column[self._chosen[:s]]

    def grow(self, capacity: int) -> None:
        """Enlarge all arrays for `capacity` chosen features."""
        more = capacity - self.capacity
        super().grow(capacity)
        self._gram = enlarged(self._gram, (more, more))
        self._chosen = np.pad(self._chosen, (0, more))

    def _overlap_of(self, inverse: Float) -> Float:
        # q̃_u·q̃_s, rows and penalty together, is 1 or 0: subtract the part of the penalty.
        s = len(inverse)
        overlap: Float = np.eye(s) - inverse @ self.penalty.square(s) @ inverse.T
        return overlap


def inverse_pivots(space: FeatureSpace) -> Float:
    """Return 1/δ of the chosen features when they were added, (|S|)."""
    pivots: Float = np.square(np.diagonal(space._inverse)[: space.size])
    return pivots


def note_step(space: FeatureSpace, index: int, products: Float) -> None:
    """Note a feature that a stepper added, with X_S'x_b (|S| + 1); `take_back` is to follow."""
    s = space.size
    space.make_room(s + 1)
    space._gram[s, : s + 1] = space._gram[: s + 1, s] = products
    space._chosen[s] = index
    space.selected.append(index)
    space.penalty.note(index)


def note_set(space: FeatureSpace, features: Sequence[int], gram: Float) -> None:
    """Note a set to which a stepper moved, with X_S'X_S."""
    s = len(features)
    space.make_room(s)
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
