"""Feature space of all splits at once: means of training rows, products with held-out rows.

Arrays have a leading axis for the K splits (docs/theory.md, "Folds"): A = X_T'X_T + P on the
training rows T of each split, all columns minus their means over T. No row of X is read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._base import (
    HOST,
    Array,
    ArrayLocation,
    Float,
    at,
    copy,
    numbers_on,
    take,
    to_device,
    to_host,
)
from .._problem import Part
from .._rows import Candidates, SetSums, StepSums
from ._chosen_model import ChosenModel
from ._group_pairs import FoldPairs, GroupPairs, joint_coefficients
from ._penalties import Penalty
from ._recurrences import Columns, Index, Pivot, Recurrences, Start


class FoldSpace(Recurrences):
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
        divisor = train.weight[:, None] if fit_intercept else np.inf
        means, targets = train.x / divisor, train.y / divisor  # over the training rows
        weight = test.weight[:, None]
        on_means = test.y - weight * targets  # Σ over F of y minus its training mean
        diagonal = np.maximum(train.xx - train.x * means, 0.0)
        correlation = train.xy - train.y[:, :, None] * means[:, None, :]
        norms = np.maximum(test.xx - 2.0 * means * test.x + weight * means**2, 0)
        inner = (
            test.xy
            - targets[:, :, None] * test.x[:, None, :]
            - on_means[:, :, None] * means[:, None, :]
        )
        energy = test.yy - targets * (test.y + on_means)  # (K × t) ‖r‖²
        self.target_means, self.start_energy = targets, energy.copy()
        # In one transfer from the host, where sums are added up.
        *start, self.means, self.energy, self._test_x, self._test_weight, self._train_weight = (
            to_device(
                location, diagonal, correlation, norms, inner,
                means, energy, test.x, weight, train.weight[:, None],
            )
        )  # fmt: skip
        super().__init__(Start(*start), penalty, capacity, location, has_own_rows=True)
        self.pairs = None if pairs is None else pairs.centred(means, train, test)

    def columns(self, train: Float, test: Float, index: Index) -> Columns:
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
            return Candidates(indices, take(self.means, where), self.beta_of(indices), rho)
        columns, starts = pairs.layout.columns(indices), pairs.layout.starts(indices)
        assert starts is not None
        rho = np.empty((*self.energy.shape, len(columns)))
        for part in pairs.layout.parts(indices):
            positions = starts[part.positions][:, None] + np.arange(part.width)
            rho[:, :, positions] = self._joint_coefficients(pairs, part)
        return Candidates(columns, self.means[:, columns], self.beta_of(columns), rho, starts)

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

    def add(self, index: int, beta: Float, columns: Columns, measured: StepSums) -> None:
        """Add a feature with coefficients beta (K × |S|) on the chosen ones."""
        self.make_room(self.size + 1)
        self.move(index, self.size, beta, columns, measured)
        self.selected.append(index)

    def move(
        self, index: Index, size: Index, beta: Float, columns: Columns, measured: StepSums
    ) -> None:
        """Do the arithmetic of `add`; with vectors for index and |S|, beta is (K × capacity)."""
        filled = slice(size) if isinstance(size, int) else slice(None)
        delta = copy(at(self.delta, index))[:, None]
        pivot = Pivot(delta, at(self.tau, index) / delta, measured.norms[:, None], measured.inner)
        factor = copy(at(self._L[:, filled], index))
        self._step(index, size, factor, beta, pivot, columns)
        self.energy[...] = measured.energy

    def _overlap_of(self, inverse: Float) -> Float:
        assert self._V is not None
        overlap: Float = self._V[:, : self.size, self.selected] @ inverse.mT
        return 0.5 * (overlap + overlap.mT)

    def removal_squares(self, positions: NDArray[np.intp]) -> Float:
        """‖r‖² on the held-out rows without each of some chosen features, (K × t × c).

        With z = X_S β = Σ_s c_s q_s it is ‖r + z ρ‖².
        """
        s = self.size
        inverse, weights = self.model
        overlap = self._overlap[:, :s, :s]
        on_pivots = inverse[:, :, positions]
        c = on_pivots / np.square(on_pivots).sum(axis=1)[:, None, :]  # (K × |S| × c)
        back = inverse.mT
        steps = inverse @ self.correlation[:, :, self.selected].mT
        q_r = self.start.inner[:, :, self.selected] @ back - steps.mT @ overlap
        rho = weights.mT[:, :, positions]
        norms = (c * (overlap @ c)).sum(axis=1)[:, None, :]
        squares: Float = self.energy[:, :, None] + rho * (2.0 * (q_r @ c) + rho * norms)
        return np.maximum(squares, 0.0)
