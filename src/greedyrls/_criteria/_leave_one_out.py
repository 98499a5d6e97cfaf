"""The exact leave-one-out criterion with squared loss, searched with bounds that read no rows.

`LeaveOneOut.choose` returns the candidate whose addition gives the smallest exact leave-one-out
loss. Most candidates are ruled out by a lower bound computed in feature space (docs/theory.md,
"Most candidates need no look at the data"); the rest are scored on the rows. The result
is the same as by scoring every candidate.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._base import PARALLEL, SUM_ROUNDING, TINY, Float, larger_number, put, true_indices
from .._features import Pivot, Ranking
from .._rows import BoundTerms
from ._choice import (
    Choice,
    NumericalLimit,
    best_first,
    best_positions,
    check_candidates,
    smallest,
    tie_tolerances,
)
from ._samples import Scores
from ._set_moves import MARGIN
from ._state import SelectionState, pivot_of

Strategy = Literal["auto", "bounded", "exhaustive"]

_LARGEST = float(np.finfo(np.float64).max)
# Relative error of ‖z‖² by the recurrences, compared with the rows.
_SUPPORT_ROUNDING = 1e-9
# The number of rare candidates bounded together.
_RARE_GROUP = 1024
# With fewer elements than this, m × candidates, scoring everything takes less time than bounding.
EXHAUSTIVE_ELEMENTS = 20_000


def approximation(state: SelectionState) -> tuple[Any, Any, Any]:
    """Approximate g = ω∘r by c₁ r + c₂ a: returns c₁, c₂ and the distance.

    They are (t), or numbers for one target; c₂ is None without an anchor.
    """
    sums: Any = state.statistics[:6]
    is_single = len(sums[0]) == 1
    if is_single:
        sums = [float(values[0]) for values in sums]
    r_r, g_r, g_g, a_r, a_g, a_a = sums
    r_r = r_r + TINY
    c1 = g_r / r_r
    # From sums of squares a distance is accurate only down to their rounding.
    square = (1.0 + SUM_ROUNDING) * g_g - c1 * g_r
    c2 = None
    if state.features.anchored is not None:
        # The part of the anchor orthogonal to r, and the component of g along it. If the two are
        # parallel up to rounding, the second summand of the divisor keeps c₂ small.
        slope = a_r / r_r
        across = a_a - slope * a_r
        a_g = a_g - slope * g_r
        c2 = a_g / (abs(across) + PARALLEL * a_a + TINY)
        c1 = c1 - c2 * slope
        square = square + c2 * (c2 * across - 2.0 * a_g)
    least = SUM_ROUNDING * g_g
    if is_single:
        return c1, c2, math.sqrt(max(square, least))
    return c1, c2, np.sqrt(np.maximum(square, least))


def lower_bounds(state: SelectionState) -> Float:
    """Return lower bounds (n) of the leave-one-out sums; +inf for features that are no candidates.

    They are E − Σ_t (2 ρ_i α_i − ρ_i² β_i), with β_i ≥ ω_min ‖z_i‖² and α_i = g·z_i known up to
    ‖g − c₁r − c₂a‖·‖z_i‖, where a is the anchor (if there is one).
    """
    features = state.features
    xp = features.location.xp
    c1, c2, distance = approximation(state)
    # `_fused_features` computes the same in a kernel.
    rho = features.tau / features.delta
    gain = features.inner * features.column(2.0 * c1)
    if features.anchored is not None:
        gain += features.anchored * features.column(2.0 * c2)
    gain *= rho
    size = xp.abs(rho)
    size *= xp.sqrt(features.norms)  # |ρ_i| ‖z_i‖
    quadratic = size * (-1.0 / float(state.statistics.largest_d) ** 2)
    quadratic += features.column(2.0 * distance)
    quadratic *= size
    gain += quadratic
    values = state.loss_sum - (gain[0, :] if gain.shape[0] == 1 else xp.sum(gain, axis=0))
    values[features.untrusted()] = -np.inf
    # Numbers near the limits of float64 may give a NaN, which bounds nothing.
    bounds: Float = larger_number(values, state.barred)
    return bounds


def bound_terms(state: SelectionState) -> BoundTerms:
    """Return the coefficients of these bounds and of `leverage_growth`; for one target."""
    c1, c2, distance = approximation(state)
    d = float(state.statistics.largest_d)
    along_anchor = 0.0 if c2 is None else 2.0 * c2
    return BoundTerms(
        state.loss_sum, 2.0 * c1, along_anchor, 2.0 * distance, -1.0 / d**2, 2.0 / d**3
    )


def leverage_growth(state: SelectionState, indices: NDArray[np.intp]) -> Float:
    """Return a lower bound, to first order, of what growing leverages add to candidates' bounds.

    It is 2 Σ_t (‖r∘z_i‖ − |ρ_i| ‖z_i‖₄²)² / (δ_i d_max³), where the bracket is positive.
    """
    if not state.features.follows_spread:
        return np.zeros(len(indices))
    features = state.features
    delta, tau, fourth_root, mixed_root = features.at_candidates(
        indices, features.delta, features.tau, features.fourth_root, features.mixed_root
    )
    spread = np.abs(tau / delta)
    spread *= -np.square(fourth_root)
    spread += mixed_root
    spread = np.fmax(spread, 0.0)
    spread *= spread
    growth: Float = spread.sum(axis=0) * (2.0 / (state.statistics.largest_d**3 * delta))
    return growth


def bound_slack(state: SelectionState, indices: NDArray[np.intp]) -> Float:
    """Return how much the bounds of candidates could rise if α_i were computed."""
    features = state.features
    delta, tau, norms = features.at_candidates(
        indices, features.delta, features.tau, features.norms
    )
    _, _, distance = approximation(state)
    size = np.abs(tau) * np.sqrt(norms)
    slack: Float = 2.0 * (np.atleast_1d(distance) @ size) / delta
    return slack


def support_bounds(state: SelectionState, indices: NDArray[np.intp]) -> Float:
    """Return lower bounds of the leave-one-out sums of rare candidates, in ascending order.

    The rows in which a candidate is not 0 are computed exactly; the sum over the others, where z is
    due to the chosen features and the mean only, is bounded.
    """
    features, statistics = state.features, state.statistics
    beta, _, _ = features.coefficients(indices)
    delta = features.delta[indices]
    rho = features.tau[:, indices] / delta
    seen = state.samples.support_sums(indices, beta, delta, rho)
    norms = features.norms[indices]
    rest = np.sqrt(np.maximum(norms - seen.z_z, 0.0) + _SUPPORT_ROUNDING * norms)  # ‖z‖ elsewhere
    c1 = statistics.g_r / (statistics.r_r + TINY)
    distance = np.sqrt(np.maximum((1.0 + SUM_ROUNDING) * statistics.g_g - c1 * statistics.g_r, 0.0))
    gain = 2.0 * c1[:, None] * rho * (features.inner[:, indices] - seen.r_z)
    size = np.abs(rho) * rest
    gain += size * (2.0 * distance[:, None] - size / statistics.largest_d**2)
    grown = seen.exact - seen.before
    values: Float = state.loss_sum + (grown - gain).sum(axis=0)
    values[features.untrusted()[indices]] = -np.inf
    return np.where(np.isnan(values), -np.inf, values)


class _Scored:
    """Candidates scored so far in one step."""

    def __init__(self, state: SelectionState) -> None:
        self._state = state
        self.indices = np.empty(0, dtype=np.intp)
        self.losses = np.empty(0)
        self._tolerances = np.empty(0)
        self._scores: list[Scores] = []

    def score(self, indices: NDArray[np.intp]) -> None:
        """Score more candidates exactly."""
        self._take(indices, self._state.score(indices))

    def score_lowest(self, count: int) -> float | None:
        """Score candidates of lowest bound, if rows find them; returns a bound of all others."""
        lowest = self._state.score_lowest(partial(bound_terms, self._state), count)
        if lowest is None:
            return None
        self._take(lowest.indices, lowest.scores)
        return lowest.beyond

    def _take(self, indices: NDArray[np.intp], scores: Scores) -> None:
        self._scores.append(scores)
        tolerances = tie_tolerances(scores.losses, self._state.target_energy)
        losses = scores.losses[0] if len(scores.losses) == 1 else scores.losses.sum(axis=0)
        if not losses.max() < np.inf:
            # A NaN is due to a leverage of 1 up to rounding: the feature is no candidate.
            lost = ~(losses < np.inf)
            losses, tolerances = np.where(lost, np.inf, losses), np.where(lost, 0.0, tolerances)
        if len(self.indices):
            indices = np.concatenate((self.indices, indices))
            losses = np.concatenate((self.losses, losses))
            tolerances = np.concatenate((self._tolerances, tolerances))
        self.indices, self.losses, self._tolerances = indices, losses, tolerances

    def threshold(self, count: int) -> float:
        """Return the loss above which no candidate is among the best `count`, or ties with them."""
        if len(self.losses) < count:
            return np.inf
        position = self.losses.argmin()
        if count > 1:
            position = np.argpartition(self.losses, count - 1)[count - 1]
        return float(self.losses[position] + self._tolerances[position])

    @property
    def best(self) -> int:
        """The feature with the smallest loss so far."""
        return int(self.indices[self.losses.argmin()])

    def choice(self, n_runners_up: int, ranking: Ranking) -> Choice:
        """Return the best candidate with its runners-up."""
        position, *others = best_positions(
            self.indices, self.losses, self._tolerances, n_runners_up + 1
        )
        if self.losses[position] == np.inf:
            raise NumericalLimit("no candidate has a finite loss")
        return Choice(
            int(self.indices[position]),
            float(self.losses[position]),
            self._pivot(position),
            tuple((int(self.indices[other]), float(self.losses[other])) for other in others),
            ranking,
        )

    def _pivot(self, position: int) -> Pivot:
        """Return the pivot of the scored candidate at a position."""
        for scores in self._scores:
            if position < len(scores.delta):
                return pivot_of(scores, position)
            position -= len(scores.delta)
        raise IndexError(position)


def first_width(state: SelectionState, wanted: int) -> int:
    """Return how many candidates the first round of a step scores, to find the `wanted` best."""
    samples = state.samples
    first = min(samples.first_width, samples.round_elements // (16 * state.problem.n_samples))
    return max(wanted, first, samples.least)


class LeaveOneOut:
    """The exact leave-one-out criterion with squared loss."""

    def __init__(self, strategy: Strategy = "auto") -> None:
        self._strategy = strategy

    def choose(self, state: SelectionState, n_runners_up: int, remaining: int) -> Choice:
        """Return the best candidate, by bounds or by scoring all, whichever costs less."""
        check_candidates(state.is_spanned)
        count = state.problem.n_available - state.size
        elements = state.problem.n_samples * count
        if self._strategy == "exhaustive" or (
            self._strategy == "auto"
            and elements <= EXHAUSTIVE_ELEMENTS
            and not state.problem.X.passes_dominate
        ):
            return self._exhaustive(state, n_runners_up)
        return self._bounded(state, n_runners_up, remaining)

    def bounded_sizes(self, state: SelectionState) -> int:
        """Return the number of features from which every candidate is scored."""
        if self._strategy == "exhaustive":
            return 0
        few = first_width(state, 1)
        if self._strategy == "auto":
            few = max(few, EXHAUSTIVE_ELEMENTS // state.problem.n_samples)
        return state.problem.n_available - few

    def least(self, state: SelectionState) -> float:
        """Return a lower bound of the loss with any one candidate added; reads no rows."""
        bounds = lower_bounds(state)
        return state.mean_loss(float(bounds.min()) - MARGIN * state.loss_sum)

    def _exhaustive(self, state: SelectionState, n_runners_up: int) -> Choice:
        """Score every candidate."""
        scored = _Scored(state)
        candidates = state.candidates
        scored.score(candidates)
        state.samples.passes += 1

        def ranking(count: int) -> list[int]:
            return [int(candidates[position]) for position in best_first(scored.losses, count)]

        return scored.choice(n_runners_up, ranking)

    def _bounded(self, state: SelectionState, n_runners_up: int, remaining: int) -> Choice:
        """Score candidates in the order of their bounds until no other can be better."""
        wanted = n_runners_up + 1
        m, n = state.problem.X.shape
        margin = MARGIN * state.loss_sum
        elements = state.samples.round_elements
        width = first_width(state, wanted)

        def ranked(count: int) -> list[int]:
            return best_first(lower_bounds(state), count)

        scored = _Scored(state)
        beyond = scored.score_lowest(width)
        if beyond is not None and beyond > min(scored.threshold(wanted) + margin, _LARGEST):
            return scored.choice(n_runners_up, ranked)
        bounds = lower_bounds(state)
        is_tight = self._read_ahead(state, bounds, remaining)
        if is_tight:
            bounds = lower_bounds(state)

        def ranking(count: int) -> list[int]:
            return best_first(bounds, count)

        # A pass over X that tightens bounds is worth its cost if it may rule out so many.
        many = max(16, n // state.samples.columns_per_score)
        if beyond is None:
            scored.score(smallest(bounds, width))
        limit = min(scored.threshold(wanted) + margin, _LARGEST)
        # From here on only the candidates that are left matter: few, and on the host.
        is_left = bounds <= limit
        put(is_left, scored.indices, False)
        left = true_indices(is_left)
        if not len(left):
            return scored.choice(n_runners_up, ranking)
        (open_bounds,) = state.features.at_candidates(left, bounds)
        if state.data.is_rare is not None:
            self._look_at_rare(state, left, open_bounds)
            bounds[left] = open_bounds  # prefetching ranks by these, too
        growth = leverage_growth(state, left)
        open_bounds += growth
        reach = open_bounds + bound_slack(state, left)
        is_open = open_bounds <= limit
        doubtful = np.count_nonzero(is_open & (reach > limit))
        if (doubtful > many or (doubtful and state.lacks(left))) and not is_tight:
            self._tighten(state, ranking, remaining, scored.best)
            (tight,) = state.features.at_candidates(left, lower_bounds(state))
            open_bounds = np.maximum(open_bounds, tight + growth)
            is_open = open_bounds <= limit
        left, open_bounds = left[is_open], open_bounds[is_open]
        while len(left):
            width = max(4 * width, elements // m)
            positions = smallest(open_bounds, width)
            scored.score(left[positions])
            open_bounds[positions] = np.inf
            limit = min(scored.threshold(wanted) + margin, _LARGEST)
            is_open = open_bounds <= limit
            left, open_bounds = left[is_open], open_bounds[is_open]
        return scored.choice(n_runners_up, ranking)

    @staticmethod
    def _look_at_rare(state: SelectionState, left: NDArray[np.intp], bounds: Float) -> None:
        """Raise the bounds of the rare ones among the candidates in place."""
        assert state.data.is_rare is not None
        (rare,) = state.data.is_rare[left].nonzero()
        for first in range(0, len(rare), _RARE_GROUP):
            group = rare[first : first + _RARE_GROUP]
            bounds[group] = np.maximum(bounds[group], support_bounds(state, left[group]))

    def _read_ahead(self, state: SelectionState, bounds: Float, remaining: int) -> bool:
        """Make a pass if columns cost one and the best candidate's is missing.

        It fetches the columns of likely candidates, their Gram columns and a new anchor. Returns
        whether a pass was made.
        """
        if not state.problem.X.passes_dominate:
            return False
        state.prefetch(bounds)
        best = best_first(bounds, 1)
        if not best or not state.lacks(np.array(best)):
            return False

        def ranking(count: int) -> list[int]:
            return best_first(bounds, count)

        self._tighten(state, ranking, remaining, best[0])
        return True

    @staticmethod
    def _tighten(state: SelectionState, ranking: Ranking, remaining: int, best: int) -> None:
        """Compute all α_i by a pass, and Gram columns if the likely winner has none yet."""
        columns = [] if best in state.gram else state.gram.batch(ranking, remaining, best)
        state.set_anchor(columns)
