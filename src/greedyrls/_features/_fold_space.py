"""Feature space of all splits at once: factors of the training rows, held-out inner products.

The recurrences of docs/theory.md ("Folds"), with a leading axis for the K splits. For each split
A = X_T'X_T + P on its training rows T, all columns minus their means over T; L its partial factor.
On the held-out rows F: ‖z_i‖², r·z_i, V_si = x_i·q_s, q_u·q_s and ‖r‖². No row of X is read.

On the host only the filled part of arrays is read. On a device, where a step is recorded, their
shapes are fixed: the rest is 0, and indices of features and positions are vectors of length one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import (
    HOST,
    Array,
    ArrayLocation,
    Float,
    at,
    copy,
    location_of,
    namespace_of,
    numbers_on,
    put_at,
    put_row,
    raise_to,
    take,
    to_device,
    to_host,
    with_last,
)
from .._problem import Part
from .._rows import Candidates, SetSums
from ._chosen_model import ChosenModel
from ._group_pairs import FoldPairs, GroupPairs, joint_coefficients
from ._penalties import Penalty


class HeldOut(NamedTuple):
    """The statistics of a chosen feature on the held-out rows: (K), (K × t), (K × t)."""

    norms: Float  # ‖z‖²
    inner: Float  # r·z
    energy: Float  # ‖r‖² after the step


class FoldSpace:
    """The part of a search's state that has no rows, for all splits."""

    def __init__(
        self,
        train: SetSums,
        test: SetSums,
        penalty: Penalty,
        fit_intercept: bool,
        capacity: int,
        location: ArrayLocation = HOST,
        pairs: FoldPairs | None = None,
    ) -> None:
        self.penalty = penalty
        self._test_x = test.x
        self._test_weight = test.weight[:, None]
        self._train_weight = train.weight[:, None]
        divisor = train.weight[:, None] if fit_intercept else np.inf
        self.means = train.x / divisor  # (K × n) over the training rows, after the shift
        self.target_means = train.y / divisor  # (K × t)
        means, targets = self.means, self.target_means
        self.pairs = None if pairs is None else pairs.centred(means, train, test)
        self.diagonal = np.maximum(train.xx - train.x * means, 0.0)
        self.correlation = train.xy - train.y[:, :, None] * means[:, None, :]
        self._test_norms = np.maximum(
            test.xx - 2.0 * means * test.x + test.weight[:, None] * means**2, 0
        )
        on_means = test.y - test.weight[:, None] * targets  # Σ over F of y minus its training mean
        self._test_inner = (
            test.xy
            - targets[:, :, None] * test.x[:, None, :]
            - on_means[:, :, None] * means[:, None, :]
        )
        self.energy: Float = test.yy - targets * (test.y + on_means)  # (K × t) ‖r‖²
        self.scale = self.diagonal + penalty.diagonal  # (K × n) A_ii
        self.delta = self.scale.copy()  # (K × n)
        self._floor = penalty.floor(self.scale)  # no pivot is smaller
        self.tau = self.correlation.copy()  # (K × t × n)
        self.norms = self._test_norms.copy()  # (K × n)
        self.inner = self._test_inner.copy()  # (K × t × n)
        self.start_energy = self.energy.copy()
        self.selected: list[int] = []
        self.location = location
        if location.on_device:
            self._send()
        K, t, n = self.tau.shape
        self._L = location.buffer((K, capacity, n))
        self._V = location.buffer((K, capacity, n))
        self._inverse = location.zeros((K, capacity, capacity))  # of the chosen columns of L
        self._overlap = location.zeros((K, capacity, capacity))  # q_u·q_s
        self._weights = location.zeros((K, capacity, t))

    def _send(self) -> None:
        """Move the arrays from the host, where sums are added up, to the device in one transfer."""
        names = [name for name, value in vars(self).items() if isinstance(value, np.ndarray)]
        for name in ("target_means", "start_energy"):
            names.remove(name)  # read on the host
        sent = to_device(self.location, *(getattr(self, name) for name in names))
        for name, value in zip(names, sent, strict=True):
            setattr(self, name, value)

    @property
    def size(self) -> int:
        """The number of chosen features, |S|."""
        return len(self.selected)

    @property
    def capacity(self) -> int:
        """The number of features that fit into the arrays."""
        return int(self._L.shape[1])

    def columns(self, train: Float, test: Float, index: Array | int) -> tuple[Float, Float]:
        """Return X'x_b of a feature on training and held-out rows from its sums (K × n)."""
        mean = at(self.means, index)[:, None]
        on_train = train - self._train_weight * mean * self.means
        on_test = (
            test
            - mean * self._test_x
            - self.means * (at(self._test_x, index)[:, None] - self._test_weight * mean)
        )
        return on_train, on_test

    def losses(self) -> Float:
        """Return held-out sums of squares with each feature added, (K × t × n)."""
        rho = self.tau / self.delta[:, None, :]
        values: Float = rho * self.norms[:, None, :]
        values -= 2.0 * self.inner
        values *= rho
        values += self.energy[:, :, None]
        return values

    def candidate_losses(self, candidates: NDArray[np.intp]) -> Float:
        """The same of some candidates, (K × t × c)."""
        pairs = self.pairs
        if pairs is None:
            known: Float = self.losses()[:, :, candidates]
            return known
        losses: Float = np.empty((*self.energy.shape, len(candidates)))
        for part in pairs.layout.parts(candidates):
            rho = self._joint_coefficients(pairs, part)
            W = pairs.norm_matrices(part, self.norms)
            change = (W[:, None] @ rho[..., None])[..., 0]
            change -= 2.0 * self.inner[:, :, part.columns]
            change *= rho
            losses[:, :, part.positions] = self.energy[:, :, None] + change.sum(axis=-1)
        return losses

    def _joint_coefficients(self, pairs: GroupPairs, part: Part) -> Float:
        """Return ρ = D⁻¹τ of groups, (K × t × g × b)."""
        roots, _ = pairs.roots(part, self.delta, self.penalty.diagonal)
        return joint_coefficients(roots, self.tau[:, :, part.columns])

    def coefficients(self, indices: list[int] | NDArray[np.intp]) -> Float:
        """Return β = A_SS⁻¹ A_Si of candidates, (K × |S| × c)."""
        s = self.size
        inverse = self._inverse[:, :s, :s].mT
        L: Float
        if not self.location.on_device:
            L = self._L[:, :s, indices]
        else:
            L = take(self._L[:, :s, :], numbers_on(self.location, np.asarray(indices)))
        result: Float = inverse @ L
        return result

    def padded_coefficients(self, index: Array) -> Float:
        """Return β of one candidate, padded with zeros, (K × capacity)."""
        beta: Float = (self._inverse.mT @ at(self._L, index)[:, :, None])[:, :, 0]
        return beta

    def candidates(self, indices: NDArray[np.intp]) -> Candidates:
        """Return candidates as the row blocks score them: means, β and ρ in all splits."""
        pairs = self.pairs
        if pairs is None:
            where = numbers_on(self.location, indices)
            rho = take(self.tau, where) / take(self.delta, where)[:, None, :]
            return Candidates(indices, take(self.means, where), self.coefficients(indices), rho)
        columns, starts = pairs.layout.columns(indices), pairs.layout.starts(indices)
        assert starts is not None
        rho = np.empty((*self.energy.shape, len(columns)))
        for part in pairs.layout.parts(indices):
            positions = starts[part.positions][:, None] + np.arange(part.width)
            rho[:, :, positions] = self._joint_coefficients(pairs, part)
        return Candidates(columns, self.means[:, columns], self.coefficients(columns), rho, starts)

    @property
    def model(self) -> ChosenModel:
        """The current models of all splits."""
        s = self.size
        return ChosenModel(self._inverse[:, :s, :s], self._weights[:, :s])

    def corrected(self, split: int, index: int, beta: Float, products: Float) -> Float:
        """Refine β, one step; products (|S|) are X_S'z, which should be P_SSβ − P_Si."""
        model = ChosenModel(*to_host(*(values[split, ...] for values in self.model)))
        return model.corrected(beta, products - self.penalty.pulled(index, beta))

    def set_pivot(self, split: int, index: int, beta: Float, norm: float, inner: Float) -> None:
        """Set δ and τ of a candidate in a split from its ‖z‖² and r·z (t) on the training rows."""
        (w,) = to_host(self.model.weights[split, ...])
        pulled = self.penalty.pulled([index], beta[:, None])
        (left,) = self.penalty.norms([index], beta[:, None], pulled)
        self.delta[split, index] = norm + float(left)
        (tau,) = to_device(self.location, inner + w.T @ pulled[:, 0])
        self.tau[split, :, index] = tau

    def add(
        self, index: int, beta: Float, on_train: Float, on_test: Float, measured: HeldOut
    ) -> None:
        """Add a feature with coefficients beta (K × |S|) on the chosen ones.

        on_train and on_test are X'x_b on training and held-out rows (K × n).
        """
        if self.size == self.capacity:
            self.grow(self.size + max(16, self.size))
        self.move(index, self.size, beta, on_train, on_test, measured)
        self.selected.append(index)

    def move(
        self,
        index: Array | int,
        size: Array | int,
        beta: Float,
        on_train: Float,
        on_test: Float,
        measured: HeldOut,
    ) -> None:
        """Do the arithmetic of `add`; with vectors for index and |S|, beta is (K × capacity)."""
        xp = namespace_of(beta)
        filled = slice(size) if isinstance(size, int) else slice(None)
        delta = copy(at(self.delta, index))
        rho, root = at(self.tau, index) / delta[:, None], xp.sqrt(delta)[:, None]
        L, V = self._L[:, filled], self._V[:, filled]
        on_chosen = copy(at(L, index))  # (K × s)
        across = self._overlap[:, filled, filled] @ on_chosen[:, :, None]
        overlap = (at(V, index) - across[:, :, 0]) / root
        both = xp.stack((on_chosen, overlap), axis=1) @ L  # (K × 2 × n)
        row = (self.penalty.added(index, on_train) - both[:, 0]) / root
        v = (on_test - (on_chosen[:, None, :] @ V)[:, 0]) / root
        put_row(self._V, size, v)
        q_z = v - both[:, 1]
        put_at(row, index, root[:, 0])
        put_row(self._L, size, row)
        q_q = (measured.norms / delta)[:, None]
        self._update_candidates(row, q_z, q_q, measured.inner / root, rho * root)

        put_row(self._inverse, size, with_last(beta / -root, size, 1.0 / root[:, 0]))
        overlap = with_last(overlap, size, q_q[:, 0])
        put_row(self._overlap, size, overlap)
        put_at(self._overlap[:, : overlap.shape[1]], size, overlap)
        self._weights[:, filled] -= beta[:, :, None] * rho[:, None, :]
        put_row(self._weights, size, rho)
        self.energy[...] = measured.energy

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
        more = capacity - self.capacity
        rows, square = (more, 0), (more, more)
        self._L, self._V = _enlarged(self._L, rows), _enlarged(self._V, rows)
        self._inverse = _enlarged(self._inverse, square)
        self._overlap = _enlarged(self._overlap, square)
        self._weights = _enlarged(self._weights, rows)

    def move_to(
        self,
        features: list[int],
        on_train: Float,
        on_test: Float,
        inverse: Float,
    ) -> None:
        """Move to any set of features; `energy` must be measured on the rows afterwards.

        on_train and on_test are X'x_b of its features (K × |S| × n), inverse (K × |S| × |S|) is
        L⁻¹ of their part of A.
        """
        s = len(features)
        if self.capacity < s:
            self.grow(s + max(16, s))
        self.selected = list(features)
        back = inverse.transpose(0, 2, 1)
        L, V = inverse @ on_train, inverse @ on_test
        L[:, :, features] += inverse @ self.penalty.square(s)
        overlap = V[:, :, features] @ back
        overlap = 0.5 * (overlap + overlap.transpose(0, 2, 1))
        steps = inverse @ self.correlation[:, :, features].transpose(0, 2, 1)  # (K × |S| × t)
        q_r = self._test_inner[:, :, features] @ back  # (K × t × |S|) of r at the start
        across = overlap @ L
        self._L[:, :s], self._V[:, :s] = L, V
        self._inverse[:, :s, :s], self._overlap[:, :s, :s] = inverse, overlap
        self._weights[:, :s] = back @ steps
        self.delta = np.maximum(self.scale - np.square(L).sum(axis=1), self._floor)
        self.tau = self.correlation - steps.transpose(0, 2, 1) @ L
        norms = self._test_norms + (L * (across - 2.0 * V)).sum(axis=1)
        self.norms = np.maximum(norms, 0.0)
        self.inner = self._test_inner - q_r @ L + steps.transpose(0, 2, 1) @ (across - V)
        if self.pairs is not None:
            self.pairs.rebuild(L, V, overlap)

    def removal_squares(self, positions: NDArray[np.intp]) -> Float:
        """‖r‖² on the held-out rows without each of some chosen features, (K × t × c).

        With z = X_S β = Σ_s c_s q_s it is ‖r + z ρ‖².
        """
        s = self.size
        inverse, weights = self.model
        overlap = self._overlap[:, :s, :s]
        on_pivots = inverse[:, :, positions]
        c = on_pivots / np.square(on_pivots).sum(axis=1)[:, None, :]  # (K × |S| × c)
        back = inverse.transpose(0, 2, 1)
        steps = inverse @ self.correlation[:, :, self.selected].transpose(0, 2, 1)
        q_r = self._test_inner[:, :, self.selected] @ back - steps.transpose(0, 2, 1) @ overlap
        rho = weights.mT[:, :, positions]
        norms = (c * (overlap @ c)).sum(axis=1)[:, None, :]
        squares: Float = self.energy[:, :, None] + rho * (2.0 * (q_r @ c) + rho * norms)
        return np.maximum(squares, 0.0)


def _enlarged(values: Float, more: tuple[int, int]) -> Float:
    """Return values padded with zeros at the end of the last two axes."""
    stack, height, width = values.shape
    wide: Float = location_of(values).zeros((stack, height + more[0], width + more[1]))
    wide[:, :height, :width] = values
    return wide
