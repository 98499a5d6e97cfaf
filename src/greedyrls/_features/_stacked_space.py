"""The recurrences of feature space with a leading axis: of splits, or of searches in lockstep.

Splits make one choice together, and keep products with held-out rows, V_si = x_i·q_s, beside the
factor L. Searches make a choice each, and test on the rows they train on: V = L.

On the host only the filled part of arrays is read. On a device, where a step is recorded, their
shapes are fixed: the rest is 0, and indices of features and positions are vectors of length one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .._base import (
    HOST,
    Array,
    ArrayLocation,
    Float,
    at,
    copy,
    namespace_of,
    put_at,
    put_row,
    raise_to,
    with_last,
)
from ._group_pairs import GroupPairs


class StepPivots(NamedTuple):
    """The features that are added, one for each element of the leading axis."""

    delta: Float  # (K)
    rho: Float  # (K × t)
    norms: Float  # (K) ‖z‖²
    inner: Float  # (K × t) r·z


class StackedSpace:
    """Numbers of all features and of the chosen ones, with a leading axis of length K."""

    delta: Float  # (K × n)
    tau: Float  # (K × t × n)
    norms: Float  # (K × n)
    inner: Float  # (K × t × n)
    pairs: GroupPairs | None = None
    _floor: Any  # no pivot is smaller

    def __init__(
        self,
        shape: tuple[int, int, int],
        capacity: int,
        keeps_products: bool,
        location: ArrayLocation = HOST,
    ) -> None:
        """Allocate the arrays of chosen features; shape is K, t and n."""
        stack, t, n = shape
        self.location = location
        self._L = location.buffer((stack, capacity, n))
        self._V = location.buffer((stack, capacity, n)) if keeps_products else None
        self._inverse = location.zeros((stack, capacity, capacity))  # of the chosen columns of L
        self._overlap = location.zeros((stack, capacity, capacity))  # q_u·q_s
        self._weights = location.zeros((stack, capacity, t))

    @property
    def capacity(self) -> int:
        """The number of features that fit into the arrays."""
        return int(self._L.shape[1])

    def _at(self, values: Array, index: Array | int) -> Array:
        """Take the elements of the features that are added, along the last axis."""
        return at(values, index)

    def _put_at(self, values: Array, index: Array | int, numbers: Array) -> None:
        """Set the elements of the features that are added, along the last axis."""
        put_at(values, index, numbers)

    def advance(
        self,
        index: Array | int,
        size: Array | int,
        beta: Float,
        column: Float,
        on_test: Float,
        pivots: StepPivots,
    ) -> None:
        """Add features with coefficients beta (K × |S|) on the chosen ones.

        column (K × n) is A_ib and on_test (K × n) is x_i·x_b on the held-out rows. With vectors for
        index and |S|, beta is (K × capacity).
        """
        xp = namespace_of(beta)
        filled = slice(size) if isinstance(size, int) else slice(None)
        root = xp.sqrt(pivots.delta)[:, None]
        L = self._L[:, filled]
        V = L if self._V is None else self._V[:, filled]
        on_chosen = copy(self._at(L, index))  # (K × s)
        across = self._overlap[:, filled, filled] @ on_chosen[:, :, None]
        overlap = (self._at(V, index) - across[:, :, 0]) / root
        both = xp.stack((on_chosen, overlap), axis=1) @ L  # (K × 2 × n)
        row = (column - both[:, 0]) / root
        v = row
        if self._V is not None:
            v = (on_test - (on_chosen[:, None, :] @ V)[:, 0]) / root
            put_row(self._V, size, v)
        q_z = v - both[:, 1]
        self._put_at(row, index, root[:, 0])
        put_row(self._L, size, row)
        q_q = (pivots.norms / pivots.delta)[:, None]
        self._update_candidates(row, q_z, q_q, pivots.inner / root, pivots.rho * root)

        put_row(self._inverse, size, with_last(beta / -root, size, 1.0 / root[:, 0]))
        overlap = with_last(overlap, size, q_q[:, 0])
        put_row(self._overlap, size, overlap)
        put_at(self._overlap[:, : overlap.shape[1]], size, overlap)
        self._weights[:, filled] -= beta[:, :, None] * pivots.rho[:, None, :]
        put_row(self._weights, size, pivots.rho)

    def _update_candidates(
        self, row: Float, q_z: Float, q_q: Float, q_r: Float, step: Float
    ) -> None:
        """Update all features after a pivot with l and q·z (K × n), q·q (K × 1) and q·r (K × t)."""
        squares = row * row
        self.delta -= squares
        raise_to(self.delta, self._floor)
        squares *= q_q
        squares -= (2.0 * row) * q_z
        self.norms += squares
        raise_to(self.norms, 0.0)
        self.inner += (step * q_q - q_r)[:, :, None] * row[:, None, :]
        self.inner -= step[:, :, None] * q_z[:, None, :]
        self.tau -= step[:, :, None] * row[:, None, :]
        if self.pairs is not None:
            self.pairs.update(row, q_z, q_q)

    def grow(self, capacity: int) -> None:
        """Enlarge all arrays for `capacity` chosen features."""
        if (more := capacity - self.capacity) > 0:
            rows, square = (more, 0), (more, more)
            self._L = self._enlarged(self._L, rows)
            self._V = None if self._V is None else self._enlarged(self._V, rows)
            self._inverse = self._enlarged(self._inverse, square)
            self._overlap = self._enlarged(self._overlap, square)
            self._weights = self._enlarged(self._weights, rows)

    def _enlarged(self, values: Float, more: tuple[int, int]) -> Float:
        """Return values padded with zeros at the end of the last two axes."""
        stack, height, width = values.shape
        wide = self.location.zeros((stack, height + more[0], width + more[1]))
        wide[:, :height, :width] = values
        return wide
