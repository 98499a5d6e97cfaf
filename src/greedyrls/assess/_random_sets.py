"""Random feature sets, and the moments that models on them need."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._criteria import LooData
from .._features import Chain, Chosen, one_by_one
from .._problem import Problem

# Rows multiplied at a time.
_ROWS = 4096


def random_orders(
    problem: Problem, size: int, repeats: int, generator: np.random.Generator
) -> list[NDArray[np.intp]]:
    """Return `repeats` random orders of `size` features (or groups); forced ones come first."""
    members = problem.groups or tuple((feature,) for feature in range(problem.n_features))
    firsts = {group[0]: group for group in members}
    fixed = np.array([group[0] for group in problem.forced_entries], dtype=np.intp)
    free = np.setdiff1d(list(firsts), [*problem.forced, *problem.excluded])
    count = max(0, size - len(fixed))
    drawn = [
        np.concatenate([fixed, generator.permutation(free)[:count]])[:size] for _ in range(repeats)
    ]
    if problem.groups is None:
        return drawn
    return [
        np.array([column for first in order.tolist() for column in firsts[first]], dtype=np.intp)
        for order in drawn
    ]


def _chains(problem: Problem, order: NDArray[np.intp]) -> tuple[Chain, ...]:
    """Return the chain of models on the first 1, 2, … features, or groups with adjacent columns."""
    if problem.groups is None:
        return one_by_one(len(order))
    lengths = {group[0]: len(group) for group in problem.groups}
    ends = np.cumsum([lengths[column] for column in order.tolist() if column in lengths])
    return (Chain(np.arange(len(order)), ends),)


def random_sets(data: LooData, orders: list[NDArray[np.intp]]) -> Iterator[Chosen]:
    """Yield each order with its moments on the rows of `data`.

    If the orders overlap much, the products of all their features are computed once.
    """
    if not orders:
        return
    union = np.unique(np.concatenate(orders))
    data.problem.X.fetch(union.tolist())  # one pass over a file for all of them
    is_shared = len(union) ** 2 <= sum(len(order) ** 2 for order in orders)
    products = _products(data, union) if is_shared else None
    for order in orders:
        if products is None:
            gram = _products(data, order)
        else:
            positions = np.searchsorted(union, order)
            gram = products[np.ix_(positions, positions)]
        start = data.start
        yield Chosen(
            tuple(order.tolist()),
            gram,
            start.correlation[:, order].T.copy(),
            start.means[order],
            start.target_means,
            _chains(data.problem, order),
        )


def _products(data: LooData, features: NDArray[np.intp]) -> Float:
    """Return X_S'X_S about the means, by one pass over these columns."""
    gram = np.zeros((len(features), len(features)))
    for block in data.samples.blocks:
        for top in range(0, len(block.d), _ROWS):
            rows = slice(top, min(len(block.d), top + _ROWS))
            columns = block.columns.fresh(features, rows)
            gram += columns @ columns.T
    return gram
