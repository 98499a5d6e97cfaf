"""Gram columns that wait: which are fetched together, and which make room."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from internals import GramColumns


class Source:
    """Columns of a made-up matrix; remembers what was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def __call__(self, indices: Sequence[int]) -> NDArray[np.float64]:
        self.asked.append(list(indices))
        return np.array([[float(index)] for index in indices])


def ranking(count: int) -> list[int]:
    return list(range(300))[:count]


def test_the_least_likely_make_room() -> None:
    source = Source()
    gram = GramColumns(source, limit=8)
    gram.keep([250, 1, 2, 260, 3, 4], source([250, 1, 2, 260, 3, 4]))
    assert gram.take(0, ranking, remaining=3).tolist() == [0.0]
    # Three and a quarter more are of use; those of features that are far behind go first.
    assert source.asked[-1] == [0, 5, 6]
    assert not {250} & set(gram.waiting)
    assert {1, 2, 3, 4, 5, 6} <= set(gram.waiting)


@pytest.mark.parametrize("limit", [4, 5, 9])
def test_no_more_wait_than_may(limit: int) -> None:
    gram = GramColumns(Source(), limit=limit)
    for index in (40, 20, 0, 90):
        assert gram.take(index, ranking, remaining=50).tolist() == [float(index)]
        assert len(gram.waiting) <= limit
