"""Feature space on a device: vectors of n numbers live there, what has |S| numbers on the host.

What the host decides by comes in as few transfers as possible; and where Triton kernels can be
launched, they move all vectors at once (`FusedFeatures`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._base import Float, address_of, numbers_on, take, to_device, to_host
from .._data import fused as _fused
from .._rows import MOST_CHOSEN, Added, AddedNumbers, Chosen, FusedFeatures, Reported, Vectors
from ._feature_space import FeatureSpace, Seen
from ._penalties import Penalty
from ._recurrences import Change, Pivot


class DeviceFeatures(FeatureSpace):
    """Feature space whose vectors of n numbers live on a device."""

    def __init__(
        self,
        diagonal: Float,
        correlation: Float,
        penalty: Penalty,
        capacity: int,
        barred: Float,
    ) -> None:
        """`barred` (n) is +inf for features that are no candidates; the state changes it."""
        self._seen: dict[int, Seen] = {}  # since the last step
        # Entries of X_S'X_S that were not fetched yet, with their row.
        self._waiting: list[tuple[int, Float]] = []
        self._kept: list[int] = []  # rows that are in `_products`, likewise
        self._barred = barred
        self._kernels: FusedFeatures | None = None
        super().__init__(diagonal, correlation, penalty, capacity)
        # Where kernels can be launched: X_S'X_S as they leave it.
        self._can_fuse = correlation.shape[0] == 1 and _fused.runs_at(self.location)
        if self._can_fuse:
            self._products = self.location.zeros((capacity, capacity))

    def _set_rows(self, delta: Float, norms: Float, *others: Float) -> None:
        self._kernels = None
        super()._set_rows(delta, norms, *others)

    @property
    def fused(self) -> FusedFeatures | None:
        """The GPU kernels for these vectors; None where they cannot be used."""
        if not self._can_fuse or self.capacity > MOST_CHOSEN:
            return None
        if self._kernels is None:
            spread = self.spread
            self._kernels = FusedFeatures(
                Vectors(
                    self.rows,
                    self._floors,
                    self._floors[0, :],
                    self._doubtful,
                    self._barred,
                    self._L,
                    self._products,
                    None if spread is None else (spread.mixed_root, spread.fourth_root),
                )
            )
        return self._kernels

    @property
    def chosen(self) -> Chosen:
        """The chosen features as the kernels need them; for one target."""
        s = self.size
        return Chosen(
            self._inverse[:s, :s],
            np.full(s, self.penalty.diagonal),
            self._weights[:s, 0],
            self._overlap[:s, :s],
            self._chosen[:s],
        )

    def note(self, index: int) -> None:
        """Note a feature that kernels added; `take_chosen` is to follow."""
        self._keep_row(self.size)
        self._note(index)
        self._seen = {}

    def take_chosen(self, known: Chosen) -> None:
        """Update the arrays of |S| numbers after kernels have added features."""
        s = self.size
        self._inverse[:s, :s] = known.inverse
        self._weights[:s, 0] = known.weights
        self._overlap[:s, :s] = known.overlap

    def remember_reported(self, reported: Reported) -> None:
        """Keep what kernels reported of candidates: one of them is likely added next."""
        self._seen = {
            index: Seen(
                reported.factor[:, position],
                float(reported.delta[position]),
                reported.anchored[:, position],
            )
            for position, index in enumerate(reported.indices.tolist())
        }

    @property
    def gram(self) -> Float:
        """X_S'X_S without the penalty, in the order of choice; it is fetched when it is needed."""
        if self._kept or self._waiting:
            first = [self._products] if self._kept else []
            values = to_host(*first, *(row for _, row in self._waiting))
            products = values.pop(0) if self._kept else self._gram
            rows = [(s, products[s, :s]) for s in self._kept]
            rows += [(s, row) for (s, _), row in zip(self._waiting, values, strict=True)]
            for s, row in rows:
                self._gram[s, :s] = self._gram[:s, s] = row
            self._kept, self._waiting = [], []
        return super().gram

    def factor_of(self, indices: NDArray[np.intp]) -> Float:
        """Return columns of L, (|S| × c), on the host."""
        # One of them is likely added next: what that takes comes along.
        where = numbers_on(self.location, indices)
        vectors = [self.L, self.delta[None, :]] + ([] if self.anchored is None else [self.anchored])
        factor, *rest = to_host(*(take(vector, where) for vector in vectors if vector.shape[0]))
        if not self.size:
            rest, factor = [factor, *rest], np.empty((0, len(indices)))
        self._seen = {
            index: Seen(factor[:, position], float(rest[0][0, position]), rest[-1][:, position])
            for position, index in enumerate(indices.tolist())
        }
        return factor

    def _look(self, index: int) -> Seen:
        if index not in self._seen:
            self.factor_of(np.array([index]))
        return self._seen[index]

    def set_anchor(self, products: Float) -> None:
        """Set the anchor a from a·x_i of all features (t × n); stores a·z_i."""
        super().set_anchor(products)
        self._seen = {}

    def forget(self) -> None:
        """Drop what was fetched for the current set."""
        self._kept, self._waiting, self._seen = [], [], {}

    def add(self, index: int, column: Float, beta: Float, pivot: Pivot) -> float:
        """Add a feature; returns the drift of its pivot, |δ − its value in the data| / A_bb."""
        drift = super().add(index, column, beta, pivot)
        self._seen = {}
        return drift

    def _follow(self, change: Change) -> None:
        kernels = self.fused
        if kernels is None:
            left, slopes = to_device(self.location, change.left, change.slopes)
            super()._follow(change._replace(left=left, slopes=slopes))
            return
        (column, _), pivot, s = change.columns, change.pivot, self.size
        root = math.sqrt(pivot.delta)
        q_fourth = pivot.fourth**0.25 / root
        lost = abs(float(pivot.rho[0] * root)) * pivot.fourth**0.25 / root
        rest = math.sqrt(pivot.mixed[0] / pivot.delta) + lost * q_fourth
        address = float(address_of(column))
        numbers = AddedNumbers(s, float(change.feature), root, lost, rest, q_fourth, address)
        kernels.follow(column, Added(numbers, change.slopes, change.left, self._chosen[:s]))
        self._keep_row(s)

    def _keep_products(self, column: Float) -> None:
        """X_S'x_b comes to the host when it is needed."""
        if self.size:
            chosen = numbers_on(self.location, self._chosen[: self.size])
            self._waiting.append((self.size, take(column, chosen)))

    def _keep_row(self, s: int) -> None:
        """The same where kernels leave it."""
        if s:
            self._kept.append(s)

    def grow(self, capacity: int) -> None:
        """Enlarge all arrays for `capacity` chosen features."""
        if self._can_fuse:
            _ = self.gram  # what waits is in memory that is about to be replaced
            self._products = self.location.zeros((capacity, capacity))
            self._kernels = None
        super().grow(capacity)
