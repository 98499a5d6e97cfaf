"""Models of compiled searches on rows that an outer fold holds out, without the interpreter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float, native
from .._criteria import LooData, Summed, Tests
from .._problem import Loss
from ._compiled_rows import LOSSES, TAKEN


class TestedModels(NamedTuple):
    """The penalties of models of all sizes, and mean losses on rows held out."""

    positions: NDArray[np.int64]  # (k) of the penalties in the grid
    losses: Float  # (1 + k) first without features
    part: Summed | None  # sums for standard errors
    measured: Float | None  # (1 + k) in another measure


def best_positions(search: object, grid: Float, size: int) -> NDArray[np.int64] | None:
    """Return the position in an ascending grid of the penalty of each size, by leave-one-out.

    The slow twin is `_criteria.best_penalties`; None if rounding may decide.
    """
    module = native()
    assert module is not None
    positions = np.zeros(size, dtype=np.int64)
    nothing = (None,) * 7
    return positions if module.test_models(search, grid, positions, *nothing) == TAKEN else None


class CompiledTests:
    """Rows that an outer fold holds out, with one loss; the slow twin is `OuterFold.held_out`."""

    def __init__(
        self,
        data: LooData,
        rows: NDArray[np.intp],
        Y: Float,
        weights: Float | None,
        guess: Float,
        loss: Loss,
        tests: Tests | None,
    ) -> None:
        """Y (rows × t) and the weights are of the rows; `guess` (t) predicts without features."""
        strata, filled = loss.strata(Y), np.ones(len(rows)) if weights is None else weights
        count = loss.n_strata(Y.shape[1])
        shares, scales, clusters = filled, np.zeros(count), np.arange(len(rows))
        if tests is not None:
            shares, scales = tests.share * loss.sample_weights(Y, weights), tests.scales
            clusters = np.unique(tests.clusters, return_inverse=True)[1]
        scaled = shares * scales[strata]
        amounts = np.zeros((count, int(clusters.max(initial=-1)) + 1))
        np.add.at(amounts, (strata, clusters), scaled)
        self._amounts = amounts @ amounts.T
        self._weights = np.bincount(strata, shares, count).astype(np.float64)
        self._has_part = tests is not None
        if loss.name == "squared":
            first = np.square(Y - guess).mean(axis=1)
        else:
            first = loss.sample_losses(Y, np.repeat(guess[:, None, None], len(Y), axis=2))[0]
        self._module = native()
        assert self._module is not None
        self._handle = self._module.new_tests(
            LOSSES[loss.name],
            data.problem.n_samples,
            rows.astype(np.int64),
            np.ascontiguousarray(Y.T),
            data.start.target_means,
            np.ascontiguousarray(first, dtype=np.float64),
            filled,
            np.bincount(strata, filled, count),
            strata.astype(np.int64),
            clusters.astype(np.int64),
            shares,
            self._weights,
            scaled,
            amounts.ravel(),
        )

    def test(
        self, search: object, grid: Float, size: int, measure: CompiledTests | None
    ) -> TestedModels | None:
        """Choose the penalties of models of all sizes by leave-one-out, and test the models.

        None if rounding may decide.
        """
        width, n_strata = 1 + size, len(self._weights)
        positions, values = np.zeros(size, dtype=np.int64), np.empty(width)
        part: Summed | None = None
        sums: tuple[Float | None, ...] = (None, None, None)
        if self._has_part:
            of_strata = np.empty((2, n_strata, width))
            part = Summed(
                np.empty((width, width)), of_strata[0], self._amounts, of_strata[1], self._weights
            )
            sums = part.squares, part.products, part.centres
        other = None if measure is None else measure._handle
        measured = None if measure is None else np.empty(width)
        assert self._module is not None
        answer = self._module.test_models(
            search, grid, positions, self._handle, values, *sums, other, measured
        )
        return TestedModels(positions, values, part, measured) if answer == TAKEN else None
