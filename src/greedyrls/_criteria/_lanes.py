"""Leave-one-out searches for several penalties on the same rows, in lockstep.

A fast path for many short searches, where the interpreter would take most of the time. It is as
exact as a single search (`_leave_one_out`), to which it leaves the difficult lanes: those with
pivots that need refinement, drift, or bounds too loose to rule out most candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import HALF_TILE_ELEMENTS, REFINED_PIVOT, SMALLEST_D, SUM_ROUNDING, TINY, Float
from .._features import LaneSpace, StepPivots
from .._rows import RowBlock, SampleStatistics, loo_losses, sample_statistics
from ._choice import best_first, first_of_best, smallest, tie_tolerances
from ._loo_data import LooData
from ._state import DRIFT_BOUND, MARGIN

# Candidates of a lane scored before its threshold is computed, and the most scored afterwards.
_FIRST = 2
_MOST_LATER = 48

Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class LaneStep:
    """The result of one step of a lane."""

    index: int
    loss: float
    standard_error: float


class LanePath(NamedTuple):
    """The search of one penalty: steps, Gram matrix of the chosen features, evaluations."""

    steps: list[LaneStep]
    gram: Float
    exact_evaluations: int
    is_stale: bool  # ended early, because its loss had not improved
    interrupted: bool


class _Scored(NamedTuple):
    """Scored candidates of one lane; z (m) of the best of them only."""

    indices: Indices
    losses: Float  # (c) sums over targets
    tolerances: Float  # (c)
    betas: Float  # (|S| × c)
    delta: Float
    rho: Float  # (t × c)
    norms: Float
    inner: Float  # (t × c)
    best: int
    z: Float


def _limit(scored: _Scored) -> float:
    """Return the loss above which no candidate is better, or ties."""
    best = int(scored.losses.argmin())
    return float(scored.losses[best] + scored.tolerances[best])


def _chosen(parts: list[_Scored]) -> tuple[_Scored, int]:
    """Return the part of the best scored candidate, and its position in that part."""
    if len(parts) == 1:
        return parts[0], first_of_best(*parts[0][:3])
    position = first_of_best(
        *(np.concatenate(arrays) for arrays in zip(*(part[:3] for part in parts), strict=True))
    )
    for part in parts:
        if position < len(part.indices):
            return part, position
        position -= len(part.indices)
    raise IndexError(position)


class LooLanes:
    """Searches in lockstep: all have made the same number of steps."""

    def __init__(
        self,
        data: LooData,
        alphas: Float,
        size: int,
        is_stale: Callable[[Sequence[float]], bool],
    ) -> None:
        (block,) = data.samples.blocks
        self._data = data
        self._size = size
        self._is_stale = is_stale
        self._space = LaneSpace(data.start.diagonal, data.start.correlation, alphas, 0)
        self._blocks: list[RowBlock] = [block] * len(alphas)
        self._statistics: list[SampleStatistics] = [data.statistics] * len(alphas)
        self._barred = np.full((len(alphas), data.problem.n_features), -np.inf)
        self._barred[:, list(data.problem.excluded)] = np.inf
        # Positions of chosen columns in the store.
        self._positions = [np.empty(0, dtype=np.intp)] * len(alphas)
        self._group = max(1, HALF_TILE_ELEMENTS // data.problem.n_samples)
        self._lanes = np.arange(len(alphas))  # the original number of each lane that is left
        self._evaluations = np.zeros(len(alphas), dtype=np.intp)
        self._steps: list[list[LaneStep]] = [[] for _ in alphas]
        self.paths: list[LanePath | None] = [None] * len(alphas)

    def run(self, size: int | None = None, lanes: Sequence[int] | None = None) -> None:
        """Run all lanes, or `lanes`, up to a size or an interrupt.

        `paths` has None where a single search is needed. Lanes that are not named end. An interrupt
        before the first step is raised again.
        """
        interrupted = False
        size = self._size if size is None else min(size, self._size)
        if lanes is not None:
            self._keep(np.flatnonzero(np.isin(self._lanes, lanes)))
        for begun in self._lanes:
            self.paths[begun] = None  # set by `_finish`
        self._space.grow(size)
        try:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                while self._space.size < size and len(self._lanes):
                    self._step()
        except KeyboardInterrupt:
            if not any(self._steps):
                raise
            interrupted = True
        for lane in range(len(self._lanes)):
            self._finish(lane, False, interrupted)

    def _finish(self, lane: int, is_stale: bool, interrupted: bool) -> None:
        """Store the path of a lane."""
        begun = self._lanes[lane]
        steps = self._steps[begun]
        k = len(steps)
        if k:
            gram = self._space.gram[lane, :k, :k].copy()
            count = int(self._evaluations[begun])
            self.paths[begun] = LanePath(list(steps), gram, count, is_stale, interrupted)

    def _step(self) -> None:
        bounds = self._bounds()
        parts = [[one] for one in self._score([smallest(row, _FIRST) for row in bounds])]
        later = self._still_open(bounds, [part[0] for part in parts])
        # A lane with many open candidates is better off with a search that tightens its bounds.
        is_easy = [len(indices) <= _MOST_LATER for indices in later]
        wanted = [
            indices if easy else indices[:0] for indices, easy in zip(later, is_easy, strict=True)
        ]
        if any(map(len, wanted)):
            for lane, more in enumerate(self._score(wanted)):
                if len(more.indices):
                    parts[lane].append(more)
        chosen = [_chosen(scored) for scored in parts]
        sound = [easy and self._is_sound(lane, *chosen[lane]) for lane, easy in enumerate(is_easy)]
        if not all(sound):
            kept = np.flatnonzero(sound)
            self._keep(kept)
            bounds, chosen = bounds[kept], [chosen[lane] for lane in kept]
        if chosen:
            self._add(chosen, bounds)

    def _still_open(self, bounds: Float, scored: list[_Scored]) -> list[Indices]:
        """Return the candidates of each lane whose bounds do not rule them out."""
        limits = np.array([_limit(part) for part in scored])
        limits += [MARGIN * float(statistics.g_r.sum()) for statistics in self._statistics]
        is_open = bounds <= limits[:, None]
        for lane, part in enumerate(scored):
            is_open[lane, part.indices] = False
        return [row.nonzero()[0] for row in is_open]

    def _is_sound(self, lane: int, scored: _Scored, position: int) -> bool:
        """Return whether the chosen candidate needs neither refinement nor other care."""
        index = scored.indices[position]
        scale = self._space.diagonal[index] + self._space.alphas[lane]
        return bool(
            np.isfinite(scored.losses).all()
            and (self._space.size == 0 or scored.delta[position] >= REFINED_PIVOT * scale)
        )

    def _keep(self, lanes: Indices) -> None:
        """Drop all lanes but these; the others are left to a single search."""
        self._space.keep(lanes)
        self._blocks = [self._blocks[lane] for lane in lanes]
        self._statistics = [self._statistics[lane] for lane in lanes]
        self._barred = self._barred[lanes]
        self._positions = [self._positions[lane] for lane in lanes]
        self._lanes = self._lanes[lanes]

    def _bounds(self) -> Float:
        """Return lower bounds (P × n) of the sums, like `_leave_one_out.lower_bounds`."""
        space, statistics = self._space, self._statistics
        g_r = np.array([one.g_r for one in statistics])  # (P × t)
        g_g = np.array([one.g_g for one in statistics])
        r_r = np.array([one.r_r for one in statistics])
        largest = np.array([one.largest_d for one in statistics])[:, None, None]
        c1 = g_r / (r_r + TINY)
        square = (1.0 + SUM_ROUNDING) * g_g - c1 * g_r
        distance = np.sqrt(np.maximum(square, SUM_ROUNDING * g_g))
        rho = space.tau / space.delta[:, None, :]
        gain = space.inner * (2.0 * c1[:, :, None])
        gain *= rho
        size = np.abs(rho, out=rho)
        size *= np.sqrt(space.norms)[:, None, :]
        quadratic = size * (-1.0 / (largest * largest))
        quadratic += 2.0 * distance[:, :, None]
        quadratic *= size
        gain += quadratic
        values: Float = g_r.sum(axis=1)[:, None] - gain.sum(axis=1)
        values[space.untrusted()] = -np.inf
        np.fmax(values, self._barred, out=values)
        return values

    def _score(self, candidates: list[Indices]) -> list[_Scored]:
        """Score candidates of each lane exactly."""
        return [
            scored
            for lanes in self._groups(candidates)
            for scored in self._score_some(lanes, [candidates[lane] for lane in lanes])
        ]

    def _groups(self, candidates: list[Indices]) -> list[list[int]]:
        """Group lanes whose candidates are scored together: as many as memory allows."""
        groups: list[list[int]] = [[]]
        count = 0
        for lane, indices in enumerate(candidates):
            if groups[-1] and count + len(indices) > self._group:
                groups.append([])
                count = 0
            groups[-1].append(lane)
            count += len(indices)
        return groups

    def _residuals(self, lanes: list[int], candidates: list[Indices], betas: list[Float]) -> Float:
        """Return z of the candidates of lanes, stacked, (c × m)."""
        space, store = self._space, self._blocks[0].columns
        distinct, where = np.unique(np.concatenate(candidates), return_inverse=True)
        Z: Float = store.get(distinct)[where]
        if space.size:
            chosen = [space.selected[lane, : space.size] for lane in lanes]
            store.subtract_chosen(Z, chosen, [self._positions[lane] for lane in lanes], betas)
        return Z

    def _score_some(self, lanes: list[int], candidates: list[Indices]) -> list[_Scored]:
        """Score the candidates of lanes, with operations on all of them where possible."""
        pairs = zip(lanes, candidates, strict=True)
        terms = [self._space.coefficients(lane, indices) for lane, indices in pairs]
        Z = self._residuals(lanes, candidates, [beta for beta, _, _ in terms])
        ends = np.cumsum([len(indices) for indices in candidates]).tolist()
        parts = [slice(end - len(one), end) for end, one in zip(ends, candidates, strict=True)]
        blocks = [self._blocks[lane] for lane in lanes]
        norms = np.vecdot(Z, Z)
        inner = np.concatenate(
            [block.r @ Z[part].T for block, part in zip(blocks, parts, strict=True)], axis=1
        )
        delta = norms + np.concatenate([penalty for _, penalty, _ in terms])
        rho = (inner + np.concatenate([shrinkage for *_, shrinkage in terms], axis=1)) / delta
        losses = np.concatenate(
            [
                loo_losses(block, Z[part], delta[part], rho[:, part], with_spread=False).losses
                for block, part in zip(blocks, parts, strict=True)
            ],
            axis=1,
        )
        tolerances = tie_tolerances(losses, self._data.statistics.r_r)
        total = losses[0] if len(losses) == 1 else losses.sum(axis=0)
        results = []
        for lane, indices, part, (beta, *_) in zip(lanes, candidates, parts, terms, strict=True):
            sums, slack = total[part], tolerances[part]
            best = first_of_best(indices, sums, slack) if len(indices) else 0
            # A copy, so that the z of all the others can be freed.
            z = Z[part][best].copy() if len(indices) else Z[:0]
            self._evaluations[self._lanes[lane]] += len(indices)
            results.append(
                _Scored(
                    indices,
                    sums,
                    slack,
                    beta,
                    delta[part],
                    rho[:, part],
                    norms[part],
                    inner[:, part],
                    best,
                    z,
                )
            )
        return results

    def _z(self, lane: int, scored: _Scored, position: int) -> Float:
        """Return z of a chosen candidate; recomputed if a tied one was the best of its part."""
        if position == scored.best:
            return scored.z
        only = slice(position, position + 1)
        index, beta = scored.indices[only], scored.betas[:, only]
        z: Float = self._residuals([lane], [index], [beta])[0]
        return z

    def _add(self, chosen: list[tuple[_Scored, int]], bounds: Float) -> None:
        """Add the chosen feature of each lane."""
        remaining = self._size - self._space.size
        columns, indices = [], []
        for lane, (scored, position) in enumerate(chosen):
            index = int(scored.indices[position])
            row = bounds[lane]

            def ranking(count: int, row: Float = row) -> list[int]:
                return best_first(row, count)

            columns.append(self._data.gram.take(index, ranking, remaining))
            indices.append(index)
            self._blocks[lane] = self._blocks[lane].advance(
                self._z(lane, scored, position),
                index,
                float(scored.delta[position]),
                scored.rho[:, position],
                None,
            )
            where = self._blocks[lane].columns.places([index])
            self._positions[lane] = np.concatenate((self._positions[lane], where))
        gram = np.array(columns)
        gram[:, self._data.constant] = 0.0
        pivots = StepPivots(
            np.array([scored.delta[position] for scored, position in chosen]),
            np.array([scored.rho[:, position] for scored, position in chosen]),
            np.array([scored.norms[position] for scored, position in chosen]),
            np.array([scored.inner[:, position] for scored, position in chosen]),
        )
        betas = np.array([scored.betas[:, position] for scored, position in chosen])
        drift = self._space.add(np.array(indices), gram, betas, pivots)
        self._statistics = [sample_statistics(block) for block in self._blocks]
        self._barred[np.arange(len(indices)), indices] = np.inf
        for lane, index in enumerate(indices):
            loss, error = self._data.loss_and_error(self._statistics[lane])
            self._steps[self._lanes[lane]].append(LaneStep(index, loss, error))
        left = np.array([statistics.smallest_d for statistics in self._statistics])
        goes_on = (drift <= DRIFT_BOUND) & (left >= SMALLEST_D)
        for lane in np.flatnonzero(goes_on).tolist():
            losses = [step.loss for step in self._steps[self._lanes[lane]]]
            if self._is_stale(losses):
                self._finish(lane, True, False)
                goes_on[lane] = False
        if not goes_on.all():
            self._keep(np.flatnonzero(goes_on))
