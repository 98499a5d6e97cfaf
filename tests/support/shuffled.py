"""The slow twin of shuffled folds: the place of one row at a time, in whole numbers of Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ROUNDS, WORD = 8, 1 << 64


def place_of(number: int, count: int, seed: int, stream: int = 0) -> int:
    """Where a thing comes among `count` of them in the random order of a seed."""
    keys = np.random.SeedSequence([seed, stream]).generate_state(ROUNDS, np.uint64).tolist()
    a = 1
    while a * a < count:
        a += 1
    b = -(-count // a)
    while True:
        left, right = divmod(number, b)
        for turn, key in enumerate(keys):
            if turn % 2 == 0:
                left = (left + _below(a, right + key)) % a
            else:
                right = (right + _below(b, left + key)) % b
        number = left * b + right
        if number < count:
            return number


def _below(size: int, value: int) -> int:
    """A number in 0 … size−1 by the hash of splitmix64."""
    value %= WORD
    value ^= value >> 30
    value = value * 0xBF58476D1CE4E5B9 % WORD
    value ^= value >> 27
    value = value * 0x94D049BB133111EB % WORD
    return (value >> 32) * size >> 32


def shuffled_ids(
    m: int, n_folds: int, seed: int = 0, labels: Any = None, weights: Any = None
) -> NDArray[np.intp]:
    """The fold of each row, 0 for rows without weight."""
    w = np.ones(m) if weights is None else np.asarray(weights)
    names = ["all"] * m if labels is None else np.asarray(labels).tolist()
    used = [row for row in range(m) if w[row] > 0]
    ids = np.zeros(m, dtype=np.intp)
    dealt = 0
    for stream, name in enumerate(dict.fromkeys(names[row] for row in used)):
        members = [row for row in used if names[row] == name]
        # As many for each fold as a dealer of cards would give, who goes on where he was.
        hands = sorted((dealt + card) % n_folds for card in range(len(members)))
        for number, row in enumerate(members):
            ids[row] = hands[place_of(number, len(members), seed, stream)]
        dealt += len(members)
    return ids


def shuffled_splits(
    m: int, n_folds: int, seed: int = 0, labels: Any = None, weights: Any = None
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows to train on and to test on, for each fold."""
    ids = shuffled_ids(m, n_folds, seed, labels, weights)
    return [(np.flatnonzero(ids != fold), np.flatnonzero(ids == fold)) for fold in range(n_folds)]
