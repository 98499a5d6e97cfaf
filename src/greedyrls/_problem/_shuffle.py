"""A number of folds, shuffled: the fold of a row depends only on a seed and the row's number.

A row's position in a random order is computed independently (by a Feistel network, a bijection of
0 … m−1), so that workers of a cluster find the folds of their rows, the same as for rows in memory.
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

from .._base import GreedyRLSWarning, is_whole, slices

Numbers = NDArray[np.intp]

# Each round changes one half of a position by the other. After four rounds tests found no pattern;
# the rest is for few rows, when each half has few values.
_ROUNDS = 8
# Positions computed at a time, so that the dozen arrays of a round stay in the cache.
_POSITIONS = 1 << 14
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
# The end of errors whose caller also takes leave-one-out.
_OR_LOO = ", or 'loo'"


@dataclass(frozen=True, slots=True)
class Shuffle:
    """A random order of rows."""

    seed: int = 0
    is_given: bool = True  # by the user, as a number

    @property
    def words(self) -> str:
        """The words that are added to the description of folds."""
        return f", shuffled{f' with seed {self.seed}' if self.is_given else ''}"

    def positions(self, numbers: Numbers, count: int, stream: int) -> Numbers:
        """Return positions of items of `count` in a random order, which differs by stream."""
        state = SeedSequence([self.seed, stream]).generate_state(_ROUNDS, np.uint64)
        keys = state.astype(np.uint64)
        positions = np.empty(len(numbers), dtype=np.intp)
        for part in slices(len(numbers), _POSITIONS):
            positions[part] = _permuted(numbers[part].astype(np.uint64), count, keys)
        return positions


def make_shuffle(random_state: Any) -> Shuffle:
    """Make a shuffle from a seed, None or a generator; a `Shuffle` is returned unchanged."""
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
    """Apply a bijection of 0 … count−1: one of 0 … a·b−1, repeated for results ≥ count."""
    a = math.isqrt(count - 1) + 1 if count > 1 else 1
    b = -(-count // a)
    left, right = np.divmod(numbers, np.uint64(b))
    for number, key in enumerate(keys):
        if number % 2:
            right = _added(right, left, key, b)
        else:
            left = _added(left, right, key, a)
    positions = left * np.uint64(b) + right
    (outside,) = (positions >= count).nonzero()
    if len(outside):  # fewer than one in √count
        positions[outside] = _permuted(positions[outside], count, keys).astype(np.uint64)
    return positions.astype(np.intp)


def _added(
    values: NDArray[np.uint64], others: NDArray[np.uint64], key: np.uint64, size: int
) -> NDArray[np.uint64]:
    """Add a hash (splitmix64) of the others to the values, modulo `size`."""
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
    """Return the ends of the folds among the rows of each class, (K × classes).

    `sizes` are the numbers of rows of the classes. For a single class, the first folds are a row
    larger if the rows do not divide evenly. For several, rows sorted by class are dealt to the
    folds in turn, so that each class and their total are spread evenly. `order` is the order in
    which the classes first occur, as in scikit-learn: the result does not depend on their names.
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
    """Return the fold of each row; `before` counts earlier used rows of each class.

    Unused rows get 0, and rows of classes that are not divided among folds −1.
    """
    ids: NDArray[Any] = np.zeros(len(used), np.int16 if len(ends) < 1 << 15 else np.intp)
    for stream, number in enumerate(order):
        (rows,) = (used if classes is None else used & (classes == number)).nonzero()
        count = int(ends[-1, number])
        if count == 0:
            ids[rows] = -1
            continue
        positions = before[number] + np.arange(len(rows))
        if shuffle is not None:
            positions = shuffle.positions(positions, count, stream)
        ids[rows] = np.searchsorted(ends[:, number], positions, side="right")
    return ids


def as_met(classes: Numbers) -> list[int]:
    """Return class numbers in the order of their first rows."""
    numbers, first = np.unique(classes, return_index=True)
    order: list[int] = numbers[np.argsort(first)].tolist()
    return order


def check_n_folds(n_folds: int, n_rows: int, name: str, takes_loo: bool) -> None:
    """Raise an error unless rows of positive weight can be divided into so many folds."""
    or_loo = _OR_LOO * takes_loo
    if n_folds < 2:
        raise ValueError(f"{name}={n_folds} is too few folds; use at least 2{or_loo}.")
    if n_folds > n_rows:
        raise ValueError(
            f"{name}={n_folds} is more folds than the {n_rows} samples; use fewer{or_loo}."
        )


def check_largest_class(n_folds: int, largest: int, name: str, takes_loo: bool) -> None:
    """Raise an error if no class has a row for each fold."""
    if n_folds > largest:
        raise ValueError(
            f"{name}={n_folds} is greater than the number of members in each class: the "
            f"largest has {largest}. Use at most {largest} folds{_OR_LOO * takes_loo}."
        )


def warn_of_rare_classes(sizes: Numbers, n_folds: int) -> None:
    """Warn, as scikit-learn does, if a class has fewer rows than there are folds."""
    fewest = int(sizes[sizes > 0].min())
    if fewest < n_folds:
        warnings.warn(
            f"The least populated class in y has only {fewest} members, which is less than "
            f"n_splits={n_folds}.",
            GreedyRLSWarning,
            stacklevel=2,
        )
