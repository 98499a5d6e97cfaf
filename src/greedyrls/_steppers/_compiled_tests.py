"""Models of compiled searches on rows that an outer fold holds out, without the interpreter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float, native
from .._criteria import LooData, Summed, Tests
from .._problem import Loss
from ._compiled_rows import LOSSES, TAKEN


class Losses(NamedTuple):
    """Mean losses on rows held out, without features and of all sizes, and their sums."""

    values: Float  # (1 + k)
    part: Summed | None  # for standard errors


def best_positions(search: object, grid: Float, size: int) -> NDArray[np.int64] | None:
    """Return the position in an ascending grid of the penalty of each size, by leave-one-out.

    The slow twin is `_criteria.best_penalties`; None if rounding may decide.
    """
    positions = np.zeros(size, dtype=np.int64)
    if len(grid) == 1:
        return positions
    module = native()
    assert module is not None
    return positions if module.best_penalties(search, grid, positions) == TAKEN else None


class CompiledTests:
    """The rows that an outer fold holds out, with one loss; the slow twin is `OuterFold.held_out`."""

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
        """Y (rows × t) and the weights are those of the rows; `guess` (t) is made without features."""
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
        self._weights = np.bincount(strata, shares, count)
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

    def losses(self, search: object, grid: Float, positions: NDArray[np.int64]) -> Losses | None:
        """Return losses of the first sizes of a search, each with the penalty at its position.

        None if rounding may decide.
        """
        width, n_strata = 1 + len(positions), len(self._weights)
        values = np.empty(width)
        sums: tuple[Float | None, ...] = (None, None, None)
        if self._has_part:
            sums = (
                np.empty((width, width)),
                np.empty((n_strata, width)),
                np.empty((n_strata, width)),
            )
        assert self._module is not None
        answer = self._module.held_out(search, grid, positions, self._handle, values, *sums)
        if answer != TAKEN:
            return None
        squares, products, centres = sums
        part = None
        if squares is not None and products is not None and centres is not None:
            part = Summed(squares, products, self._amounts, centres, self._weights)
        return Losses(values, part)
