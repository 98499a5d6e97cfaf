"""The exact leave-one-out criterion with squared loss, searched with bounds that read no rows.

`LeaveOneOut.choose` returns the candidate whose addition gives the smallest exact leave-one-out
loss. Most candidates are ruled out by a lower bound computed in feature space (docs/theory.md,
"Bounds that rule out most candidates"); the rest are scored on the rows. The result is the same as
by scoring every candidate.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._base import Float, batches, put, true_indices
from .._features import Pivot, Ranking, entries
from ._bounds import bound_slack, bound_terms, leverage_growth, lower_bounds, support_bounds
from ._choice import (
    Choice,
    Judge,
    best_first,
    check_candidates,
    choose_among,
    finite_losses,
    smallest,
    tie_tolerances,
)
from ._group_bounds import group_bounds, group_openness, score_groups
from ._samples import Scores
from ._state import MARGIN, SelectionState, pivot_of

Strategy = Literal["auto", "bounded", "exhaustive"]

_LARGEST = float(np.finfo(np.float64).max)
# Columns of the likeliest candidates that a pass over a file brings along.
_ALONG = 96
# Rare candidates looked at together.
_RARE_GROUP = 1024
# With fewer elements than this, m × candidates, scoring everything takes less time than bounding.
EXHAUSTIVE_ELEMENTS = 20_000


class _Scored:
    """Candidates scored so far in one step."""

    def __init__(self, state: SelectionState, judge: Judge) -> None:
        self._state = state
        self._judge = judge
        self.indices = np.empty(0, dtype=np.intp)
        self.losses = np.empty(0)
        self._tolerances = np.empty(0)
        self._scores: list[Scores] = []

    def score(self, indices: NDArray[np.intp]) -> None:
        """Score some more exactly."""
        if self._state.layout.is_single:
            self._take_scores(indices, self._state.score(indices))
        else:
            self._take(indices, score_groups(self._state, indices))

    def score_lowest(self, count: int) -> float | None:
        """Score candidates of lowest bound, if rows find them; returns a bound of all others."""
        state = self._state
        if state.problem.n_available - state.size <= count:
            return None
        terms = partial(bound_terms, state)
        lowest = state.samples.score_lowest(state.features, terms, count)
        if lowest is None:
            return None
        self._take_scores(lowest.indices, lowest.scores)
        return lowest.beyond

    def _take_scores(self, indices: NDArray[np.intp], scores: Scores) -> None:
        self._scores.append(scores)
        self._take(indices, scores.losses)

    def _take(self, indices: NDArray[np.intp], by_target: Float) -> None:
        """Leave-one-out sums (t × c); one that is not a number comes of a leverage of 1."""
        losses = by_target[0] if len(by_target) == 1 else by_target.sum(axis=0)
        losses, tolerances = finite_losses(
            losses, tie_tolerances(by_target, self._state.target_energy)
        )
        if len(self.indices):
            indices = np.concatenate((self.indices, indices))
            losses = np.concatenate((self.losses, losses))
            tolerances = np.concatenate((self._tolerances, tolerances))
        self.indices, self.losses, self._tolerances = indices, losses, tolerances

    def limits(self, count: int, margin: float) -> Float | float:
        """No candidate whose bound is above this can be among the best `count`, or tie with them.

        One limit for all, or (n) where candidates have costs.
        """
        limits = self._judge.limits(self.indices, self.losses, self._tolerances, count)
        if isinstance(limits, float):
            return min(limits + margin, _LARGEST)
        return np.minimum(limits + margin, _LARGEST)

    @property
    def best(self) -> int:
        """The best candidate so far."""
        known = self.indices, self.losses, self._tolerances
        return int(self.indices[self._judge.best(*known, 1)[0]])

    def choice(self, n_runners_up: int, ranking: Ranking) -> Choice:
        """The best, and the best of the others, and so on."""
        known = self.indices, self.losses, self._tolerances
        choice = choose_among(*known, n_runners_up, judge=self._judge)
        return choice._replace(pivot=self._pivot(choice.feature), ranking=ranking)

    def _pivot(self, feature: int) -> Pivot | None:
        """What was measured of a single feature."""
        (position,) = (self.indices == feature).nonzero()[0].tolist()
        for scores in self._scores:
            if position < len(scores.delta):
                return pivot_of(scores, position)
            position -= len(scores.delta)
        return None


def _columns_of(state: SelectionState, candidates: list[int]) -> list[int]:
    """The columns of some candidates."""
    if state.layout.is_single:
        return candidates
    columns: list[int] = state.layout.columns(np.array(candidates, dtype=np.intp)).tolist()
    return columns


def _n_open_columns(state: SelectionState) -> int:
    """How many columns all candidates have."""
    if state.layout.is_single:
        return state.problem.n_available - state.size
    return int(state.layout.widths(state.candidates).sum())


def _mean_width(state: SelectionState) -> int:
    """How many columns a candidate has, roughly."""
    if state.layout.is_single:
        return 1
    return max(1, state.problem.n_features // len(state.layout.groups))


def first_width(state: SelectionState, wanted: int) -> int:
    """Return how many candidates the first round of a step scores, to find the `wanted` best."""
    samples = state.samples
    elements = samples.round_elements // _mean_width(state)
    first = min(samples.first_width, elements // (16 * state.problem.n_samples))
    return max(1, wanted, first, samples.least)


class LeaveOneOut:
    """The exact leave-one-out criterion with squared loss."""

    def __init__(self, strategy: Strategy = "auto") -> None:
        self._strategy = strategy

    @property
    def is_free(self) -> bool:
        """Whether candidates may be ruled out in any way."""
        return self._strategy == "auto"

    def choose(
        self, state: SelectionState, n_runners_up: int, remaining: int, by_cost: bool = True
    ) -> Choice:
        """The best candidate, by bounds or by scoring all, whichever costs less."""
        check_candidates(state.is_spanned)
        # By losses as sums over rows.
        judge = Judge(state.layout.costs if by_cost else None, state.loss_sum)
        elements = state.problem.n_samples * _n_open_columns(state)
        if self._strategy == "exhaustive" or (
            self._strategy == "auto"
            and elements <= EXHAUSTIVE_ELEMENTS
            and not state.problem.X.passes_dominate
        ):
            return self._exhaustive(state, judge, n_runners_up)
        return self._bounded(state, judge, n_runners_up, remaining)

    def bounded_sizes(self, state: SelectionState) -> int:
        """Return the number of features from which every candidate is scored."""
        if self._strategy == "exhaustive":
            return 0
        few = first_width(state, 1)
        if self._strategy == "auto":
            few = max(few, EXHAUSTIVE_ELEMENTS // state.problem.n_samples)
        return state.problem.n_available - few

    def least(self, state: SelectionState) -> float:
        """The loss with any one candidate added is at least this: no row is looked at."""
        bounds = candidate_bounds(state)
        return state.mean_loss(float(bounds.min()) - MARGIN * state.loss_sum)

    def _exhaustive(self, state: SelectionState, judge: Judge, n_runners_up: int) -> Choice:
        """Score every candidate."""
        scored = _Scored(state, judge)
        candidates = state.candidates
        scored.score(candidates)
        state.samples.passes += 1

        def ranking(count: int) -> list[int]:
            order = [int(candidates[position]) for position in best_first(scored.losses, count)]
            return _columns_of(state, order)[:count]

        return scored.choice(n_runners_up, ranking)

    def _bounded(
        self, state: SelectionState, judge: Judge, n_runners_up: int, remaining: int
    ) -> Choice:
        """Score candidates in the order of their bounds until no other can be better."""
        wanted = n_runners_up + 1
        m, n = state.problem.X.shape
        margin = MARGIN * state.loss_sum
        elements = state.samples.round_elements // _mean_width(state)
        width = first_width(state, wanted)

        def ranked(count: int) -> list[int]:
            return _columns_of(state, best_first(lower_bounds(state), count))

        scored = _Scored(state, judge)
        beyond = scored.score_lowest(width)
        if beyond is not None and beyond > scored.limits(wanted, margin):
            return scored.choice(n_runners_up, ranked)
        bounds = candidate_bounds(state)

        def ranking(count: int) -> list[int]:
            return _columns_of(state, best_first(judge.keys(bounds), count))[:count]

        is_tight = self._read_ahead(state, ranking, remaining)
        if is_tight:
            bounds = candidate_bounds(state)
        # A pass over X that tightens bounds is worth it if it may rule out so many.
        many = max(16, n // state.samples.columns_per_score) // _mean_width(state)
        if beyond is None:
            scored.score(smallest(judge.keys(bounds), width))
        limits = scored.limits(wanted, margin)
        # From here on only those that are left count: few, and on the host.
        is_left = bounds <= limits
        put(is_left, scored.indices, False)
        left = true_indices(is_left)
        if not len(left):
            return scored.choice(n_runners_up, ranking)
        (open_bounds,) = entries(state.features.location, left, bounds)
        if state.data.is_rare is not None and state.layout.is_single:
            self._look_at_rare(state, left, open_bounds)
            bounds[left] = open_bounds  # what is fetched ahead goes by these, too
        growth, slack = growth_and_slack(state, left)
        open_bounds += growth
        is_open = open_bounds <= _of(limits, left)
        doubtful = np.count_nonzero(is_open & (open_bounds + slack > _of(limits, left)))
        if (
            doubtful > many or (doubtful and state.problem.X.kept.missing(left.tolist()))
        ) and not is_tight:
            self._tighten(state, ranking, remaining, scored.best)
            (tight,) = entries(state.features.location, left, candidate_bounds(state))
            open_bounds = np.maximum(open_bounds, tight + growth)
            is_open = open_bounds <= _of(limits, left)
        left, open_bounds = left[is_open], open_bounds[is_open]
        while len(left):
            width = max(4 * width, elements // m)
            batch = smallest(judge.keys(open_bounds, left), width)
            scored.score(left[batch])
            open_bounds[batch] = np.inf
            is_open = open_bounds <= _of(scored.limits(wanted, margin), left)
            left, open_bounds = left[is_open], open_bounds[is_open]
        return scored.choice(n_runners_up, ranking)

    @staticmethod
    def _look_at_rare(state: SelectionState, left: NDArray[np.intp], bounds: Float) -> None:
        """Raise the bounds of the rare ones among the candidates in place."""
        assert state.data.is_rare is not None
        (rare,) = state.data.is_rare[left].nonzero()
        for batch in batches(rare, _RARE_GROUP):
            bounds[batch] = np.maximum(bounds[batch], support_bounds(state, left[batch]))

    def _read_ahead(self, state: SelectionState, ranking: Ranking, remaining: int) -> bool:
        """Where columns cost a pass, and the best candidate's is missing: make a useful one.

        It fetches the columns of likely candidates, their Gram columns and a new anchor. Returns
        whether a pass was made.
        """
        if not state.problem.X.passes_dominate:
            return False
        state.problem.X.kept.prefetch(ranking, _ALONG)
        best = ranking(1)
        if not best or not state.problem.X.kept.missing(best):
            return False
        self._tighten(state, ranking, remaining, best[0])
        return True

    @staticmethod
    def _tighten(state: SelectionState, ranking: Ranking, remaining: int, best: int) -> None:
        """Compute all α_i by a pass, and Gram columns if the likely winner has none yet."""
        columns = [] if best in state.gram else state.gram.batch(ranking, remaining, best)
        state.set_anchor(columns)


def _of(limits: Float | float, candidates: NDArray[np.intp]) -> Float | float:
    """The limits of some candidates."""
    return limits[candidates] if isinstance(limits, np.ndarray) else limits


def candidate_bounds(state: SelectionState) -> Float:
    """Lower bounds (n) of the leave-one-out sums; +inf where a column is no candidate."""
    return lower_bounds(state) if state.layout.is_single else group_bounds(state)


def growth_and_slack(state: SelectionState, candidates: NDArray[np.intp]) -> tuple[Float, Float]:
    """What growing leverages add to some bounds, and what they would gain if α were known."""
    if state.layout.is_single:
        return leverage_growth(state, candidates), bound_slack(state, candidates)
    return group_openness(state, candidates)
