"""Shuffled folds: the fold of a row follows from a seed and the row's number alone.

A row's place in a random order is computed by itself (a Feistel network, a bijection of 0 … m−1),
so that rows on a cluster learn their folds where they are, and find those of rows in memory.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator, RandomState, SeedSequence
from numpy.typing import NDArray

from .._base import GreedyRLSWarning, is_whole

Numbers = NDArray[np.intp]

# Each changes one half of a place by the other. Four leave no pattern that a test found; the rest
# is for few rows, of which each half has few values.
_ROUNDS = 8
# Places worked on at a time, so that the dozen arrays of a round stay in the cache.
_PLACES = 1 << 14
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class Shuffle:
    """A random order of rows."""

    seed: int = 0
    is_given: bool = True  # by the user, as a number

    @property
    def words(self) -> str:
        """What it adds to the description of folds."""
        return f", shuffled{f' with seed {self.seed}' if self.is_given else ''}"

    def places(self, numbers: Numbers, count: int, stream: int) -> Numbers:
        """Places of some of `count` things in a random order; another order for each stream."""
        state = SeedSequence([self.seed, stream]).generate_state(_ROUNDS, np.uint64)
        keys = state.astype(np.uint64)
        found = np.empty(len(numbers), dtype=np.intp)
        for first in range(0, len(numbers), _PLACES):
            part = slice(first, first + _PLACES)
            found[part] = _permuted(numbers[part].astype(np.uint64), count, keys)
        return found


def make_shuffle(random_state: Any) -> Shuffle:
    """From a seed, nothing, or a generator; one that is made already is returned as it is."""
    if isinstance(random_state, Shuffle):
        return random_state
    if is_whole(random_state) and random_state >= 0:
        return Shuffle(int(random_state))
    if random_state is None:
        return Shuffle(int(np.random.default_rng().integers(1 << 62)), is_given=False)
    if isinstance(random_state, Generator):
        return Shuffle(int(random_state.integers(1 << 62)), is_given=False)
    if isinstance(random_state, RandomState):
        return Shuffle(int(random_state.randint(1 << 31)), is_given=False)
    raise ValueError(
        "random_state must be None, a whole number, 0 or more, or a numpy.random.Generator; got "
        f"{random_state!r}."
    )


def _permuted(numbers: NDArray[np.uint64], count: int, keys: NDArray[np.uint64]) -> Numbers:
    """A bijection of 0 … count−1: that of 0 … a·b−1, repeated where it leads out of these."""
    a = math.isqrt(count - 1) + 1 if count > 1 else 1
    b = -(-count // a)
    left, right = np.divmod(numbers, np.uint64(b))
    for number, key in enumerate(keys):
        if number % 2:
            right = _added(right, left, key, b)
        else:
            left = _added(left, right, key, a)
    places = left * np.uint64(b) + right
    (outside,) = (places >= count).nonzero()
    if len(outside):  # fewer than one in √count
        places[outside] = _permuted(places[outside], count, keys).astype(np.uint64)
    return places.astype(np.intp)


def _added(
    values: NDArray[np.uint64], others: NDArray[np.uint64], key: np.uint64, size: int
) -> NDArray[np.uint64]:
    """Values moved round a circle of `size` by a hash (splitmix64) of the others."""
    mixed = others + key
    mixed ^= mixed >> np.uint64(30)
    mixed *= _FIRST
    mixed ^= mixed >> np.uint64(27)
    mixed *= _SECOND
    mixed >>= np.uint64(32)
    mixed *= np.uint64(size)
    mixed >>= np.uint64(32)  # 0 … size−1, from the upper half of the hash
    mixed += values
    np.subtract(mixed, np.uint64(size), out=mixed, where=mixed >= np.uint64(size))
    return mixed


def fold_ends(sizes: Numbers, n_folds: int, order: Sequence[int]) -> Numbers:
    """Where folds end among the rows of each class, of which there are `sizes`, (K × classes).

    Of a single class folds follow each other, the first ones a row larger where rows are left over.
    Of several, rows sorted by class go to the folds in turn: each class, and all of them together,
    are spread as evenly as can be. `order` is that in which rows meet the classes, as scikit-learn
    takes them: their names are no matter.
    """
    ends = np.zeros((n_folds, len(sizes)), dtype=np.intp)
    top = 0
    for number in order:
        whole, rest = divmod(int(sizes[number]), n_folds)
        allotted = np.full(n_folds, whole)
        allotted[(top + np.arange(rest)) % n_folds] += 1
        ends[:, number] = np.cumsum(allotted)
        top += int(sizes[number])
    return ends


def fold_ids(
    classes: Numbers | None,
    used: NDArray[np.bool_],
    before: Numbers,
    ends: Numbers,
    order: Sequence[int],
    shuffle: Shuffle | None,
) -> NDArray[Any]:
    """The fold of each row, from how many used rows of its class come before these.

    0 for rows that are not used, −1 for those of a class that is not shared out.
    """
    ids: NDArray[Any] = np.zeros(len(used), np.int16 if len(ends) < 1 << 15 else np.intp)
    for stream, number in enumerate(order):
        (rows,) = (used if classes is None else used & (classes == number)).nonzero()
        count = int(ends[-1, number])
        if count == 0:
            ids[rows] = -1
            continue
        places = before[number] + np.arange(len(rows))
        if shuffle is not None:
            places = shuffle.places(places, count, stream)
        ids[rows] = np.searchsorted(ends[:, number], places, side="right")
    return ids


def as_met(classes: Numbers) -> list[int]:
    """Numbers of classes by the first row in which each is met."""
    numbers, first = np.unique(classes, return_index=True)
    order: list[int] = numbers[np.argsort(first)].tolist()
    return order


def warn_of_rare_classes(sizes: Numbers, n_folds: int) -> None:
    """As scikit-learn does, for a class that some folds have no row of."""
    fewest = int(sizes[sizes > 0].min())
    if fewest < n_folds:
        warnings.warn(
            f"The least populated class in y has only {fewest} members, which is less than "
            f"n_splits={n_folds}.",
            GreedyRLSWarning,
            stacklevel=2,
        )
