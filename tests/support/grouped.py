"""Groups and costs by their definition: every candidate group refitted for every split."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from greedyrls import SelectionPath
from literal import criterion
from problems import Case, fold_cases

Groups = Sequence[tuple[int, ...]]
# Losses that differ by less, relative and relative to the loss without features, are ties.
TIE, TIE_OF_INITIAL = 1e-10, 1e-14


@dataclass
class LiteralGroups:
    """Groups by their first columns in the order chosen, and losses of all candidates."""

    firsts: list[int]
    losses: list[float]
    initial_loss: float
    candidates: list[dict[int, float]] = field(default_factory=list)
    is_spent: bool = False


def literal_groups(
    X: np.ndarray,
    y: np.ndarray,
    groups: Groups,
    n_groups: int,
    *,
    cv: Any = "loo",
    loss: Any = "squared",
    alpha: float = 1.0,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    forced: Iterable[int] = (),
    excluded: Iterable[int] = (),
    costs: Sequence[float] | None = None,
    budget: float = np.inf,
) -> LiteralGroups:
    """Greedy selection of groups, by loss or by what the loss loses for each unit of cost.

    forced and excluded are places in `groups`; costs are of columns.
    """
    price = [sum(costs[column] for column in group) if costs else 0.0 for group in groups]
    forced, excluded = list(forced), set(excluded)

    def score(chosen: list[int]) -> float:
        columns = [column for place in chosen for column in groups[place]]
        return criterion(
            *(X, y, cv, columns),
            loss=loss,
            alpha=alpha,
            fit_intercept=fit_intercept,
            weights=sample_weight,
        )

    now = initial_loss = score([])
    found = LiteralGroups([], [], initial_loss)
    chosen: list[int] = []
    while len(chosen) < n_groups:
        left = budget * (1.0 + 1e-9) - sum(price[place] for place in chosen)
        free = [
            place
            for place in range(len(groups))
            if place not in excluded and place not in chosen and price[place] <= left
        ]
        candidates = forced[len(chosen) : len(chosen) + 1] or free
        if not candidates:
            found.is_spent = True
            break
        losses = {place: score([*chosen, place]) for place in candidates}
        chosen.append(_best(losses, price if costs else None, now, initial_loss))
        now = losses[chosen[-1]]
        found.firsts.append(groups[chosen[-1]][0])
        found.losses.append(now)
        found.candidates.append({groups[place][0]: value for place, value in losses.items()})
    return found


def _best(
    losses: dict[int, float], price: list[float] | None, now: float, initial_loss: float
) -> int:
    """The lowest place among those tied with the best."""

    def tolerance(loss: float) -> float:
        return TIE * abs(loss) + TIE_OF_INITIAL * abs(initial_loss)

    gaining = {place: loss for place, loss in losses.items() if loss < now - tolerance(loss)}
    if price is None or not gaining:
        smallest = min(losses.values())
        return min(p for p, loss in losses.items() if loss <= smallest + tolerance(smallest))
    scores = {place: (loss - now) / price[place] for place, loss in gaining.items()}
    best = min(scores, key=lambda place: scores[place])
    limit = scores[best] + tolerance(gaining[best]) / price[best]
    return min(place for place, value in scores.items() if value <= limit)


def assert_follows_groups(
    path: SelectionPath, twin: LiteralGroups, prices: dict[int, float] | None, rel: float = 1e-8
) -> int:
    """Losses of the path and of its runners-up, step by step; how many steps agree.

    prices are those of groups by their first columns. Where the two resolve a near-tie differently
    the loss (or what is gained for the cost) is the same.
    """
    floor = 1e-11 * abs(twin.initial_loss) + 1e-12
    assert path.initial_loss == pytest.approx(twin.initial_loss, rel=rel, abs=floor)
    now = twin.initial_loss

    def gain(loss: float, first: int) -> float:
        """Ascending: the best comes first."""
        own = loss - now
        return own / prices[first] if prices and own < 0.0 else own

    for place, step in enumerate(path.steps):
        known = twin.candidates[place]
        assert step.loss == pytest.approx(known[step.index], rel=rel, abs=floor)
        slack = rel * abs(now) + floor
        best, least = twin.firsts[place], min(prices.values()) if prices else 1.0
        assert gain(step.loss, step.index) <= gain(known[best], best) + slack / min(1.0, least)
        for first, loss in step.runners_up:
            assert loss == pytest.approx(known[first], rel=rel, abs=floor)
        order = [gain(loss, first) for first, loss in step.runners_up]
        assert all(a <= b + slack / min(1.0, least) for a, b in itertools.pairwise(order))
        if step.index != best:
            return place
        now = step.loss
    assert len(path) == len(twin.firsts)
    return len(path)


@dataclass
class GroupCase:
    """A selection problem among groups."""

    case: Case
    groups: tuple[tuple[int, ...], ...]
    n_groups: int
    forced: list[int]
    excluded: list[int]

    @property
    def options(self) -> dict[str, Any]:
        """What greedy_path takes; a group is forced or excluded by its last column."""
        return {
            **{
                name: value
                for name, value in self.case.options.items()
                if name not in ("forced_features", "excluded_features")
            },
            "feature_groups": [list(group) for group in self.groups],
            "forced_features": [self.groups[place][-1] for place in self.forced],
            "excluded_features": [self.groups[place][-1] for place in self.excluded],
        }

    @property
    def literal_options(self) -> dict[str, Any]:
        """What the twin takes."""
        options = self.case.options
        return {
            "alpha": options["alpha"],
            "fit_intercept": options["fit_intercept"],
            "sample_weight": options.get("sample_weight"),
            "cv": self.case.splits,
            "forced": self.forced,
            "excluded": self.excluded,
        }


@st.composite
def group_cases(draw: st.DrawFn, **options: Any) -> GroupCase:
    """Small problems whose columns are in groups, one of them of two columns at least."""
    case = draw(fold_cases(max_features=9, **options).filter(lambda one: one.X.shape[1] > 1))
    n = case.X.shape[1]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ids = rng.integers(0, draw(st.integers(1, 5)), n)
    ids[rng.permutation(n)[:2]] = 0
    members: dict[int, list[int]] = {}
    for column, number in enumerate(ids.tolist()):
        members.setdefault(number, []).append(column)
    groups = tuple(sorted(tuple(columns) for columns in members.values()))
    order = rng.permutation(len(groups)).tolist()
    k = draw(st.integers(1, min(3, len(groups))))
    if np.abs(case.X.mean(axis=0)).max() > 1e3:
        # With means far out and nearly as many columns as rows, a leverage near 1 takes digits
        # from r/(1 − h), added one at a time or together.
        rows = np.count_nonzero(case.options.get("sample_weight", np.ones(len(case.X))))
        assume(2 * sum(sorted(map(len, groups))[-3:]) < rows)
    forced = order[: draw(st.integers(0, k))] if draw(st.booleans()) else []
    spare = len(groups) - k
    excluded = order[k : k + draw(st.integers(0, spare))] if draw(st.booleans()) else []
    return GroupCase(case, groups, k, forced, sorted(excluded))
