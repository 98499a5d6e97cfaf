"""The slow twins of the directions: every set that is looked at is fitted anew for every split."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from literal import TIE, TIE_OF_INITIAL, criterion

Score = Callable[[Sequence[int]], float]
# What was done, with which feature, and the loss after it.
Move = tuple[Literal["add", "remove"], int, float]


@dataclass
class Search:
    """Scores of sets, each computed once, and what is a tie among them."""

    score: Score
    entries: Sequence[int]  # all candidates; a group goes by its first column
    excluded: frozenset[int]
    forced: tuple[int, ...]
    initial_loss: float
    prices: dict[int, float] | None = None
    budget: float = np.inf

    def tie(self, loss: float) -> float:
        return TIE * abs(loss) + TIE_OF_INITIAL * abs(self.initial_loss)

    def best_addition(
        self, chosen: Sequence[int], without: Iterable[int] = (), by_cost: bool = True
    ) -> Move | None:
        """By the loss, or by what it loses for each unit of cost; what the budget pays for."""
        barred = {*self.excluded, *chosen, *without}
        losses = {
            i: self.score([*chosen, i])
            for i in self.entries
            if i not in barred and self.can_afford([*chosen, i])
        }
        if not losses:
            return None
        now, values, ties = self.score(chosen), losses, {}
        gaining = {i: loss for i, loss in losses.items() if loss < now - self.tie(loss)}
        if self.prices is not None and by_cost and gaining:
            values = {i: (loss - now) / self.prices[i] for i, loss in gaining.items()}
            ties = {i: self.tie(loss) / self.prices[i] for i, loss in gaining.items()}
        best = min(values, key=lambda i: values[i])
        limit = values[best] + ties.get(best, self.tie(values[best]))
        index = min(i for i, value in values.items() if value <= limit)
        return "add", index, losses[index]

    def can_afford(self, chosen: Sequence[int]) -> bool:
        if self.prices is None:
            return True
        return sum(self.prices[i] for i in chosen) <= self.budget * (1.0 + 1e-9)

    def removals(self, chosen: Sequence[int], protected: Sequence[int]) -> list[Move]:
        """All of them, best first; among tied ones the highest index goes first."""
        losses = {
            i: self.score([j for j in chosen if j != i]) for i in chosen if i not in protected
        }
        moves: list[Move] = []
        while losses:
            least = min(losses.values())
            index = max(i for i, loss in losses.items() if loss <= least + self.tie(least))
            moves.append(("remove", index, losses.pop(index)))
        return moves


def literal_search(
    X: ArrayLike,
    y: ArrayLike,
    *,
    cv: Any = "loo",
    loss: Any = "squared",
    alpha: float = 1.0,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    forced_features: Iterable[int] = (),
    excluded_features: Iterable[int] = (),
    groups: Sequence[tuple[int, ...]] | None = None,
    costs: Sequence[float] | None = None,
    budget: float = np.inf,
) -> Search:
    """Scores of a problem; forced and excluded groups go by their first columns."""
    data = np.asarray(X, dtype=np.float64)
    seen: dict[frozenset[int], float] = {}
    members = {group[0]: group for group in groups or [(i,) for i in range(data.shape[1])]}
    prices = None
    if costs is not None:
        prices = {i: sum(costs[column] for column in group) for i, group in members.items()}

    def score(entries: Sequence[int]) -> float:
        key = frozenset(column for i in entries for column in members[i])
        if key not in seen:
            seen[key] = criterion(
                *(data, y, cv, sorted(key)),
                loss=loss,
                alpha=alpha,
                fit_intercept=fit_intercept,
                weights=sample_weight,
            )
        return seen[key]

    forced = tuple(forced_features)
    excluded = frozenset(excluded_features)
    return Search(score, tuple(members), excluded, forced, score([]), prices, budget)


def literal_forward(search: Search, size: int) -> list[Move]:
    """Forced features, then the best one at each step."""
    moves: list[Move] = []
    chosen: list[int] = []
    while len(chosen) < size:
        move = search.best_addition(chosen)
        if len(chosen) < len(search.forced):
            index = search.forced[len(chosen)]
            move = ("add", index, search.score([*chosen, index]))
        if move is None:
            break
        chosen.append(move[1])
        moves.append(move)
    return moves


def literal_floating(search: Search, size: int) -> list[Move]:
    """After each addition remove while that beats the best known set of the size."""
    moves = literal_forward(search, len(search.forced))
    chosen = list(search.forced)
    best = {len(chosen): search.score(chosen)}
    while len(chosen) < size:
        move = search.best_addition(chosen)
        if move is None:
            break
        chosen.append(move[1])
        moves.append(move)
        best[len(chosen)] = min(move[2], best.get(len(chosen), move[2]))
        while len(chosen) > 1:
            removals = search.removals(chosen, search.forced)
            known = best.get(len(chosen) - 1)
            if not removals or known is None or not removals[0][2] < known - search.tie(known):
                break
            chosen.remove(removals[0][1])
            moves.append(removals[0])
            best[len(chosen)] = min(removals[0][2], known)
    return moves


def literal_foba(search: Search, size: int, ratio: float) -> list[Move]:
    """After each addition that helps remove while the loss rises by less than a share of it."""
    moves = literal_forward(search, len(search.forced))
    chosen = list(search.forced)
    gains: dict[int, float] = {}
    while len(chosen) < size:
        before = search.score(chosen)
        move = search.best_addition(chosen)
        if move is None:
            break
        chosen.append(move[1])
        moves.append(move)
        gains[len(chosen)] = before - move[2]
        while len(chosen) > 1 and gains.get(len(chosen), 0.0) > 0.0:
            loss = search.score(chosen)
            removals = search.removals(chosen, search.forced)
            allowed = loss + ratio * gains[len(chosen)] - search.tie(loss)
            if not removals or not removals[0][2] < allowed:
                break
            chosen.remove(removals[0][1])
            moves.append(removals[0])
    return moves


def literal_swap(search: Search, size: int) -> list[Move]:
    """Forward, then the first exchange that helps, by the loss without the feature, and so on."""
    moves = literal_forward(search, size)
    chosen = [index for _, index, _ in moves]
    is_improved = True
    while is_improved and len(chosen) > 1:
        is_improved = False
        loss = search.score(chosen)
        for removal in search.removals(chosen, search.forced):
            rest = [index for index in chosen if index != removal[1]]
            move = search.best_addition(rest, without=[removal[1]], by_cost=False)
            if move is not None and move[2] < loss - search.tie(loss):
                moves += [removal, move]
                chosen = [*rest, move[1]]
                is_improved = True
                break
    return moves


def literal_backward(search: Search) -> list[Move]:
    """From all features down to one; forced ones last, in reverse order."""
    chosen = [index for index in search.entries if index not in search.excluded]
    moves: list[Move] = []
    while len(chosen) > 1:
        protected: Sequence[int] = search.forced
        if len(chosen) <= len(search.forced):
            protected = search.forced[: len(chosen) - 1]
        move = search.removals(chosen, protected)[0]
        chosen.remove(move[1])
        moves.append(move)
    return moves


def twin_of(direction: str, search: Search, size: int, ratio: float = 0.5) -> list[Move]:
    """The moves of a direction."""
    if direction == "backward":
        return literal_backward(search)
    if direction == "foba":
        return literal_foba(search, size, ratio)
    return {"floating": literal_floating, "swap": literal_swap}[direction](search, size)
