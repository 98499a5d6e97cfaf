"""Leave-one-out with squared loss for groups of features: bounds, and exact scores on the rows.

As in `_leave_one_out` for single features, leverages only grow, so Σ_j ω_j (r_j − z_j'ρ)² bounds
the loss with a group from below. Feature space has its terms (docs/theory.md, "Groups").
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float, ask
from .._features import GroupSpace
from .._problem import GroupLayout, Part, inverse_roots
from .._rows import GroupLosses, GroupMoments, RowBlock, group_losses, group_moments, steps_of
from ._choice import best_first, smallest, tie_tolerances
from ._group_choice import GroupChoice, GroupCriterion, Judge, choose_group
from ._leave_one_out import EXHAUSTIVE_ELEMENTS, Strategy, approximation
from ._set_moves import MARGIN
from ._state import SelectionState

# Relative accuracy of ‖Z ρ‖², as a share of (Σ_i |ρ_i| √A_ii)².
_NORM_ROUNDING = 1e-14
# Groups scored in the first round at most, and groups reported as likely next.
_FIRST_WIDTH = 8
_LIKELY = 64


def space_of(state: SelectionState) -> GroupSpace:
    """Return the feature space of a search among groups."""
    assert isinstance(state.features, GroupSpace)
    return state.features


def lower_bounds(state: SelectionState, candidates: NDArray[np.intp]) -> Float:
    """Return lower bounds of the leave-one-out sums, (G); +inf for groups that are no candidates.

    They are E − Σ_t (2 ρ'α − ω_min ρ'Z'Zρ), with α = Z'g known up to ‖g − c₁r − c₂a‖·‖Zρ‖.
    """
    space = space_of(state)
    c1, c2, distance = approximation(state)
    c1, distance = np.atleast_1d(c1), np.atleast_1d(distance)
    bounds = np.full(len(space.layout), np.inf)
    for part in space.layout.parts(candidates):
        roots, is_trusted = space.roots(part)
        rho = _coefficients(roots, space.tau[:, part.columns])
        gain = 2.0 * c1[:, None] * _along(rho, space.inner, part)
        if space.anchored is not None:
            gain += 2.0 * np.atleast_1d(c2)[:, None] * _along(rho, space.anchored, part)
        W = space.norm_matrices(part)
        square = np.einsum("tgb,gbc,tgc->tg", rho, W, rho)
        scale = np.sqrt(space.diagonal[part.columns] + space.penalty[part.columns])
        slack = _NORM_ROUNDING * np.square((np.abs(rho) * scale).sum(axis=2))
        gain += 2.0 * distance[:, None] * np.sqrt(np.maximum(square, 0.0) + slack)
        gain -= np.maximum(square - slack, 0.0) / state.statistics.largest_d**2
        values = state.loss_sum - gain.sum(axis=0)
        # Numbers near the limits of float64 may give a NaN, which bounds nothing.
        bounds[part.groups] = np.where(is_trusted & ~np.isnan(values), values, -np.inf)
    return bounds


def _coefficients(roots: Float, tau: Float) -> Float:
    """Return ρ = D⁻¹τ, (t × g × b)."""
    values: Float = (steps_of(roots, tau)[..., None, :] @ roots)[..., 0, :]
    return values


def _along(rho: Float, products: Float, part: Part) -> Float:
    """Return Σ_i ρ_i v·z_i (t × g) from v·z_i (t × n)."""
    values: Float = np.einsum("tgb,tgb->tg", rho, products[:, part.columns])
    return values


class Openness(NamedTuple):
    """Terms by which the bounds of groups can rise: (c) each."""

    growth: Float  # at least this is added by growing leverages
    slack: Float  # at most this is added if α is computed


def openness(state: SelectionState, groups: NDArray[np.intp]) -> Openness:
    """Return growth and slack of the bounds of groups that are still open.

    With C = D scaled to a diagonal of ones, z'D⁻¹z ≥ Σ_i z_i²/(δ_i ‖C‖): the leverages of the rows
    grow by that at least, and the loss by 2/(d_max³ ‖C‖) Σ_i ‖(r − Zρ)∘z_i‖²/δ_i, where
    ‖(r − Zρ)∘z_i‖ ≥ ‖r∘z_i‖ − Σ_k |ρ_k| ‖z_k‖₄ ‖z_i‖₄.
    """
    space = space_of(state)
    _, _, distance = approximation(state)
    growth, slack = np.zeros(len(groups)), np.zeros(len(groups))
    for part in space.layout.parts(groups):
        roots, _ = space.roots(part)
        rho = _coefficients(roots, space.tau[:, part.columns])
        square = np.einsum("tgb,gbc,tgc->tg", rho, space.norm_matrices(part), rho)
        sizes = np.sqrt(np.maximum(square, 0.0))
        slack[part.positions] = 2.0 * (np.atleast_1d(distance) @ sizes)
        if space.follows_spread:
            delta, fourth = space.delta[part.columns], space.fourth_root[part.columns]
            D = space.layout.matrices(part, space.delta, space.pair_delta)
            scaled = np.abs(D) / np.sqrt(delta[:, :, None] * delta[:, None, :])
            norm = scaled.sum(axis=2).max(axis=1)  # at least ‖C‖
            lost = (np.abs(rho) * fourth).sum(axis=2)
            spread = space.mixed_root[:, part.columns] - lost[:, :, None] * fourth
            spread = np.fmax(spread, 0.0)
            total = (spread * spread / delta).sum(axis=(0, 2))
            growth[part.positions] = total * 2.0 / (state.statistics.largest_d**3 * norm)
    return Openness(growth, slack)


def score_groups(state: SelectionState, groups: NDArray[np.intp]) -> Float:
    """Return exact leave-one-out sums (t × c) of groups; the spread of z sharpens later bounds."""
    space, samples = space_of(state), state.samples
    layout = space.layout
    state.problem.X.fetch(
        layout.columns(groups).tolist()
    )  # in one pass, rather than one for each part
    losses = np.full((state.problem.n_targets, len(groups)), np.nan)
    samples.exact_evaluations += len(groups)
    for part in layout.parts(groups, samples.group):
        flat = part.columns.ravel()
        beta, _, shrinkage = space.coefficients(flat)
        Z = samples.each(ask(RowBlock.residuals, flat, beta))
        moments: GroupMoments = samples.total(partial(group_moments, width=part.width), Z)
        D = moments.products + space.penalty_matrices(part, beta)
        tau = moments.correlations + shrinkage.reshape(-1, *part.columns.shape)
        roots, _ = inverse_roots(D, float(space.penalty.min()))
        question = partial(
            group_losses,
            roots=roots,
            steps=steps_of(roots, tau),
            with_spread=space.follows_spread,
        )
        sums: GroupLosses = samples.total(question, Z)
        losses[:, part.positions] = sums.losses
        if space.follows_spread:
            space.remember_spread(flat, sums.mixed.reshape(len(tau), -1), sums.fourth.ravel())
    return losses


class _Scored:
    """Groups scored so far in one step."""

    def __init__(self, state: SelectionState, judge: Judge) -> None:
        self._state = state
        self._judge = judge
        self.groups = np.empty(0, dtype=np.intp)
        self.losses = np.empty(0)
        self.tolerances = np.empty(0)

    def score(self, groups: NDArray[np.intp]) -> None:
        """Score more groups exactly; a group whose loss is NaN is no candidate."""
        by_target = score_groups(self._state, groups)
        losses = by_target.sum(axis=0)
        lost = ~(losses < np.inf)
        tolerances = tie_tolerances(by_target, self._state.target_energy)
        self.groups = np.concatenate((self.groups, groups))
        self.losses = np.concatenate((self.losses, np.where(lost, np.inf, losses)))
        self.tolerances = np.concatenate((self.tolerances, np.where(lost, 0.0, tolerances)))

    def limits(self, count: int) -> Float | float:
        """Return limits: a group with a loss above its limit is not among the best `count`."""
        return self._judge.limits(self.groups, self.losses, self.tolerances, count)

    @property
    def best(self) -> int:
        """The best group so far."""
        return int(self.groups[self._judge.best(self.groups, self.losses, self.tolerances, 1)[0]])

    def choice(self, n_runners_up: int, likely: list[int] | None = None) -> GroupChoice:
        """Return the best group with its runners-up."""
        scores = self.groups, self.losses, self.tolerances
        return choose_group(self._judge, *scores, n_runners_up, likely)


class GroupLeaveOneOut(GroupCriterion):
    """The exact leave-one-out criterion with squared loss, for groups."""

    def __init__(self, layout: GroupLayout, strategy: Strategy = "auto") -> None:
        super().__init__(layout)
        self._strategy = strategy

    def choose(
        self,
        state: SelectionState,
        candidates: NDArray[np.intp],
        n_runners_up: int,
        remaining: int,
    ) -> GroupChoice:
        """Return the best group, by bounds or by scoring all, whichever costs less."""
        judge = Judge(self.layout.costs, state.loss_sum)
        scored = _Scored(state, judge)
        elements = state.problem.n_samples * int(self.layout.widths[candidates].sum())
        if self._strategy == "exhaustive" or (
            self._strategy == "auto"
            and elements <= EXHAUSTIVE_ELEMENTS
            and not state.problem.X.passes_dominate
        ):
            state.samples.passes += 1
            scored.score(candidates)
            return scored.choice(n_runners_up)
        return self._bounded(state, scored, judge, candidates, n_runners_up, remaining)

    def _bounded(
        self,
        state: SelectionState,
        scored: _Scored,
        judge: Judge,
        candidates: NDArray[np.intp],
        n_runners_up: int,
        remaining: int,
    ) -> GroupChoice:
        """Score groups in the order of their bounds until no other can be better."""
        wanted, m = n_runners_up + 1, state.problem.n_samples
        bounds = lower_bounds(state, candidates)
        margin = MARGIN * state.loss_sum
        elements = state.samples.round_elements / float(self.layout.widths[candidates].mean())
        first = min(_FIRST_WIDTH, int(elements) // (4 * m))
        width = max(1, wanted, first, state.samples.least)
        keys = judge.keys(candidates, bounds)
        likely = [int(candidates[position]) for position in best_first(keys, _LIKELY)]
        left, is_fresh = candidates, True
        while len(left):
            batch = smallest(judge.keys(left, bounds), width)
            if not len(batch):
                break
            scored.score(left[batch])
            left = np.delete(left, batch)
            limits = scored.limits(wanted)
            left = left[bounds[left] <= _of(limits, left) + margin]
            if len(left) and is_fresh:
                is_fresh = False
                left = self._tightened(
                    state, scored, bounds, left, _of(limits, left) + margin, likely, remaining
                )
            width = max(4 * width, int(elements) // m)
        return scored.choice(n_runners_up, likely)

    def _tightened(
        self,
        state: SelectionState,
        scored: _Scored,
        bounds: Float,
        left: NDArray[np.intp],
        limits: Float | float,
        likely: list[int],
        remaining: int,
    ) -> NDArray[np.intp]:
        """Tighten the bounds of groups in place; returns those that are still open.

        A pass over X that computes α of all groups is worth its cost if it may rule out many.
        """
        terms = openness(state, left)
        bounds[left] += terms.growth
        is_open = bounds[left] <= limits
        doubtful = np.count_nonzero(is_open & (bounds[left] + terms.slack > limits))
        n = state.problem.n_features
        columns = doubtful * float(self.layout.widths[left].mean())
        if columns > max(16, n // state.samples.columns_per_score):
            best = int(self.layout.firsts[scored.best])

            def ranking(count: int) -> list[int]:
                order = np.array([scored.best, *likely], dtype=np.intp)
                return list(dict.fromkeys(self.layout.columns(order).tolist()))[:count]

            has_column = best in state.gram
            state.set_anchor([] if has_column else state.gram.batch(ranking, remaining, best))
            tight = lower_bounds(state, left)[left] + terms.growth
            bounds[left] = np.maximum(bounds[left], tight)
            is_open = bounds[left] <= limits
        return left[is_open]


def _of(limits: Float | float, groups: NDArray[np.intp]) -> Float | float:
    return limits[groups] if isinstance(limits, np.ndarray) else limits
