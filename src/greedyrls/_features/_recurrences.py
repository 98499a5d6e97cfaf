"""The recurrences of feature space: what a chosen feature changes for all others.

Everything here has n columns and never sees a row of X. Symbols are those of docs/theory.md: of the
training rows A = X'X + P, its partial Cholesky factor L on the chosen features (stored |S| × n, a
chosen feature per row), δ_i and τ_i; of the rows that are tested ‖z_i‖², r·z_i and V_si = x_i·q_s.
With K splits all arrays have a leading axis, which "…" stands for. Leave-one-out is one model that
is tested on its training rows: V is L then, if the penalty is diagonal, and is not stored.

On the host only the filled part of arrays is read. Where a step is recorded on a device, their
shapes are fixed: the rest is 0, and indices of features and positions are vectors of length one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import (
    Array,
    ArrayLocation,
    Float,
    at,
    floor_at,
    location_of,
    namespace_of,
    numbers_on,
    put,
    put_at,
    put_border,
    put_row,
    raise_to,
    take,
    to_device,
    to_host,
)
from ._chosen_model import ChosenModel
from ._group_pairs import GroupPairs
from ._penalties import Penalty


class Pivot(NamedTuple):
    """The statistics of a feature to add, in one model or in each split: numbers, or (K × 1)."""

    delta: Any
    rho: Float  # (… × t)
    norm: Any  # ‖z‖²
    inner: Float  # (… × t) r·z
    mixed: Any = None  # (t) Σ r² z², if the spread of z is followed
    fourth: Any = None  # Σ z⁴, likewise


class Start(NamedTuple):
    """Inner products before the first step, on the training rows and on those that are tested."""

    diagonal: Float  # (… × n) ‖x_i‖²
    correlation: Float  # (… × t × n) x_i·y
    norms: Float  # (… × n) ‖x_i‖² of the latter
    inner: Float  # (… × t × n) x_i·y of the latter


# X'x_b (… × n) of a feature on the training rows, and on those that are tested.
Columns = tuple[Float, Float]
Index = Array | int


class Change(NamedTuple):
    """What all vectors of n need to follow when a feature is added."""

    feature: Index
    size: Index  # |S| before
    columns: Columns
    pivot: Pivot
    left: Float  # (… × 2 × |S|) l_b/√δ_b and q·q_s, or their sum where V is L
    slopes: Float  # (… × rows × 2)


def _slopes(q_q: Any, step: Float, q_r: Float, on_anchor: Float | None) -> Float:
    """Return the slopes (… × rows × 2) of δ, ‖z‖² (per unit of l), τ, r·z, a·z in −l and −q·z."""
    t = step.shape[-1]
    height = 2 + (2 if on_anchor is None else 3) * t
    slopes = location_of(step).zeros((*step.shape[:-1], height, 2))
    slopes[..., 0, 0] = 1.0  # −l² is −l times l
    slopes[..., 1, :1] = -q_q
    slopes[..., 1, 1] = 2.0
    slopes[..., 2 : 2 + t, 0] = step
    slopes[..., 2 + t : 2 + 2 * t, 0] = q_r - step * q_q
    slopes[..., 2 + t : 2 + 2 * t, 1] = step
    if on_anchor is not None:
        # Both a and z_i lose their part along z_b; z_b·z_i = √δ (q_b·z_i).
        slopes[..., 2 + 2 * t :, 1] = on_anchor
    return slopes


def entries(location: ArrayLocation, indices: NDArray[np.intp], *vectors: Float) -> list[Float]:
    """Return the entries of some features in vectors (… × n), on the host."""
    if not location.on_device:
        return [values.take(indices, axis=-1) for values in vectors]
    where = numbers_on(location, indices)
    return to_host(*(take(values, where) for values in vectors))


class Recurrences(ABC):
    """The part of a search's state that has no rows, of one model or of all splits."""

    pairs: GroupPairs | None

    def __init__(
        self,
        start: Start,
        penalty: Penalty,
        capacity: int,
        of_chosen: ArrayLocation,
        has_own_rows: bool,
    ) -> None:
        """Vectors of n numbers live where `start` does, those of |S| at `of_chosen`.

        `has_own_rows` says whether models are tested on rows that they were not trained on.
        """
        self.start = start
        self.diagonal, self.correlation, _, _ = start
        *models, t, n = self.correlation.shape
        self.location = location = location_of(self.diagonal)
        self.penalty = penalty
        self.selected: list[int] = []
        self.scale = self.diagonal + penalty.diagonal  # A_ii
        self._set_rows(self.scale, start.norms, start.correlation, start.inner)
        # Neither δ nor ‖z‖² is smaller than this.
        self._floors = location.zeros((*models, 2, n))
        self._floors[..., 0, :] = penalty.floor(self.scale)
        self._L = location.buffer((*models, capacity, n))
        # x_i·q_s, a chosen feature per row, where it is no entry of L.
        has_V = has_own_rows or not penalty.is_diagonal
        self._V = location.buffer((*models, capacity, n)) if has_V else None
        # Of the chosen rows and columns of L; q_u·q_s; w of the current models.
        self._inverse = of_chosen.zeros((*models, capacity, capacity))
        self._overlap = of_chosen.zeros((*models, capacity, capacity))
        self._weights = of_chosen.zeros((*models, capacity, t))

    def _set_rows(self, delta: Float, norms: Float, *others: Float) -> None:
        """Set all that a step changes: δ, ‖z_i‖², τ, r·z_i, and a·z_i with an anchor a.

        They lie in one array: a step updates them all by one product.
        """
        t = self.correlation.shape[-2]
        xp = namespace_of(delta)
        rows = xp.concat([delta[..., None, :], norms[..., None, :], *others], axis=-2)
        self.rows = rows
        self.delta, self.norms = rows[..., 0, :], rows[..., 1, :]
        self.tau, self.inner = rows[..., 2 : 2 + t, :], rows[..., 2 + t : 2 + 2 * t, :]
        self.anchored: Float | None = rows[..., 2 + 2 * t :, :] if len(others) > 2 else None

    @property
    def size(self) -> int:
        """The number of chosen features, |S|."""
        return len(self.selected)

    @property
    def capacity(self) -> int:
        """The number of features that fit into the arrays."""
        return int(self._L.shape[-2])

    @property
    def L(self) -> Float:
        """The rows of the factor so far, (… × |S| × n)."""
        return self._L[..., : self.size, :]

    @property
    def model(self) -> ChosenModel:
        """The current models; the product of L_SS⁻¹ with X_S' has the q_s as rows."""
        s = self.size
        return ChosenModel(self._inverse[..., :s, :s], self._weights[..., :s, :])

    def factor_of(self, indices: NDArray[np.intp]) -> Float:
        """Return columns of L, (… × |S| × c)."""
        columns: Float
        if self.location.on_device:
            columns = take(self.L, numbers_on(self.location, indices))
        else:
            columns = self.L[..., indices]
        return columns

    def beta_of(self, indices: NDArray[np.intp]) -> Float:
        """Return β = A_SS⁻¹ A_Si of candidates, (… × |S| × c)."""
        beta: Float = self.model.inverse.mT @ self.factor_of(indices)
        return beta

    def _step(
        self,
        index: Index,
        size: Index,
        factor: Float,
        beta: Float,
        pivot: Pivot,
        columns: Columns,
        along: Float | None = None,
    ) -> None:
        """Add a feature with factor and coefficients (… × |S|) on the chosen ones.

        With vectors for index and |S|, these are (… × capacity). An anchor loses `along` (t) z_b.
        """
        filled = slice(size) if isinstance(size, int) else slice(None)
        delta, rho, norm, inner, *_ = pivot
        root, q_q = delta**0.5, norm / delta
        left = location_of(factor).empty((*factor.shape[:-1], 2, factor.shape[-1]))
        on_chosen, both = left[..., 0, :], left[..., 1, :]
        on_chosen[...] = factor / root
        overlap = (self._overlap[..., filled, filled] @ on_chosen[..., None])[..., 0]
        if self._V is None:
            overlap = on_chosen - overlap
            both[...] = on_chosen + overlap
        else:
            both[...] = overlap = at(self._V[..., filled, :], index) / root - overlap
        slopes = _slopes(q_q, rho * root, inner / root, None if along is None else along * root)
        self._follow(Change(index, size, columns, pivot, left, slopes))
        put_border(self._inverse, size, beta / -root, 1.0 / root)
        put_border(self._overlap, size, overlap, q_q, is_symmetric=True)
        self._weights[..., filled, :] -= beta[..., None] * rho[..., None, :]
        put_row(self._weights, size, rho)

    def _follow(self, change: Change) -> None:
        """Update all vectors of n after a feature: a row of L and V, and what candidates lose.

        q·z_i = x_i·q − Σ_s (q·q_s) l_is, and x_i·q = l_i for every candidate i where V is L.
        """
        index, size, (on_train, on_test), pivot, left, slopes = change
        filled = slice(size) if isinstance(size, int) else slice(None)
        root = pivot.delta**0.5
        products: Float = left @ self._L[..., filled, :]  # becomes −l and −q·z_i
        if self._V is None:
            products -= on_train / root
        else:
            v = on_test / root - (left[..., :1, :] @ self._V[..., filled, :])[..., 0, :]
            put_row(self._V, size, v)
            products[..., 0, :] -= self.penalty.added(index, on_train) / root
            products[..., 1, :] -= v
        row = products[..., 0, :]
        put_at(row, index, -root)
        put_row(self._L, size, -row)
        lost = slopes @ products
        lost[..., :2, :] *= -row[..., None, :]
        self.rows += lost
        raise_to(self.rows[..., :2, :], self._floors)
        if self.pairs is not None:
            self.pairs.update(row, products[..., 1, :], pivot.norm / pivot.delta)

    def make_room(self, size: int) -> None:
        """Let all arrays have memory for `size` chosen features; if they grow, they double."""
        if size > self.capacity:
            self.grow(max(size, self.capacity + max(16, self.capacity)))

    def grow(self, capacity: int) -> None:
        """Enlarge all arrays for `capacity` chosen features."""
        more = capacity - self.capacity
        rows, square = (more, 0), (more, more)
        self._L = enlarged(self._L, rows)
        if self._V is not None:
            self._V = enlarged(self._V, rows)
        self._inverse = enlarged(self._inverse, square)
        self._overlap = enlarged(self._overlap, square)
        self._weights = enlarged(self._weights, rows)

    def place(self, features: list[int], columns: Columns, gram: Float, inverse: Float) -> None:
        """Move to any set of features: this removes all drift.

        columns (… × |S| × n) are those of its features, gram X_S'X_S on the training rows, and
        inverse L⁻¹ of their part of A.
        """
        s, order = len(features), np.array(features, dtype=np.intp)
        self.make_room(s)
        self.selected = list(features)
        correlation, inner = entries(self.location, order, self.correlation, self.start.inner)
        steps = inverse @ correlation.mT  # (… × |S| × t)
        forward, own, across_steps, q_r = to_device(
            self.location,
            inverse,
            inverse @ (gram + self.penalty.square(s)),
            steps.mT,
            inner @ inverse.mT,  # of r at the start
        )
        on_train, on_test = columns
        L = V = forward @ self.penalty.penalised(on_train)
        put(L, order, own)
        self._L[..., :s, :] = L
        if self._V is not None:
            V = self._V[..., :s, :] = forward @ on_test
        overlap = self._overlap_of(inverse)
        self._inverse[..., :s, :s], self._overlap[..., :s, :s] = inverse, overlap
        self._weights[..., :s, :] = inverse.mT @ steps
        (overlap,) = to_device(self.location, overlap)
        xp, across = self.location.xp, overlap @ L
        # ‖x_i − Σ_s l_is q_s‖², not δ_i minus its penalty: the difference would cancel where the
        # penalty is large.
        norms = self.start.norms - xp.sum(L * (2.0 * V - across), axis=-2)
        self._set_rows(
            floor_at(self.scale - xp.sum(L * L, axis=-2), self._floors[..., 0, :]),
            floor_at(norms, 0.0),
            self.correlation - across_steps @ L,
            self.start.inner - q_r @ L + across_steps @ (across - V),
        )
        if self.pairs is not None:
            self.pairs.rebuild(L, V, overlap)

    @abstractmethod
    def _overlap_of(self, inverse: Float) -> Float:
        """Return q_u·q_s of the chosen features, (… × |S| × |S|), from L⁻¹; L and V are made."""


def enlarged(values: Float, more: tuple[int, int]) -> Float:
    """Return values padded with zeros at the end of the last two axes."""
    *stack, height, width = values.shape
    wide: Float = location_of(values).zeros((*stack, height + more[0], width + more[1]))
    wide[..., :height, :width] = values
    return wide
