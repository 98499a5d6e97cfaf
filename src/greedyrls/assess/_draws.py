"""Rows drawn at random: subsamples, bootstrap samples, permutations."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import Float, is_whole

Rows = NDArray[np.intp]
Draw = tuple[Rows, Float | None]  # rows, and how often each counts (None: once)

# A draw that is not usable is repeated at most this many times.
_TRIES = 100


def make_generator(random_state: Any) -> np.random.Generator:
    """Return a random generator made from a seed or None, or the given generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or (is_whole(random_state) and random_state >= 0):
        return np.random.default_rng(random_state)
    raise ValueError(
        "random_state must be None, a whole number, 0 or more, or a numpy.random.Generator; got "
        f"{random_state!r}."
    )


def draw_rows(
    counted: NDArray[np.bool_],
    labels: NDArray[Any] | None,
    groups: NDArray[Any] | None,
    resample: Any,
    repeats: int,
    share: Any,
    generator: np.random.Generator,
) -> tuple[list[Draw], str]:
    """Return random draws among the rows with weight, and a description of them.

    Whole groups are drawn if groups are given. With labels, a subsample keeps class shares.
    """
    if not isinstance(resample, str) or resample not in ("subsample", "bootstrap"):
        raise ValueError(f"resample must be 'subsample' or 'bootstrap', got {resample!r}.")
    is_number = isinstance(share, numbers.Real) and not isinstance(share, bool)
    if not is_number or not 0.0 < float(share) < 1.0:
        raise ValueError(f"share must be a number between 0 and 1, got {share!r}.")
    (rows,) = counted.nonzero()
    unit_of = np.arange(len(rows))
    if groups is not None:
        _, unit_of = np.unique(groups[rows], return_inverse=True)
    strata = np.zeros(len(rows), dtype=np.intp)
    if labels is not None and groups is None:
        _, strata = np.unique(labels[rows], return_inverse=True)
    draws = []
    for _ in range(repeats):
        for _ in range(_TRIES):
            if resample == "subsample":
                times = _subsample(unit_of, strata, float(share), generator)
            else:
                times = _bootstrap(unit_of, generator)
            if _is_usable(times[unit_of], None if labels is None else labels[rows]):
                break
        else:
            hint = "draw a larger share" if resample == "subsample" else "use resample='subsample'"
            raise ValueError(
                f"{_TRIES} draws ({resample}) in a row had fewer than 4 samples"
                f"{'' if labels is None else ', or fewer than 2 of a class'}; {hint}"
                f"{'' if labels is None else ', or merge rare classes'}."
            )
        counts = times[unit_of]
        kept = counts > 0
        draws.append((rows[kept], None if resample == "subsample" else counts[kept].astype(float)))
    units = "groups" if groups is not None else "samples"
    if resample == "bootstrap":
        return draws, f"{repeats} bootstrap samples of {units}"
    return draws, f"{repeats} subsamples of {float(share):.0%} of the {units}"


def _subsample(unit_of: Rows, strata: Rows, share: float, generator: np.random.Generator) -> Rows:
    """Return 1 for the units drawn and 0 for the others; each unit lies in one stratum."""
    count = int(unit_of.max()) + 1
    stratum_of = np.zeros(count, dtype=np.intp)
    stratum_of[unit_of] = strata
    times = np.zeros(count, dtype=np.intp)
    for stratum in np.unique(stratum_of):
        (units,) = (stratum_of == stratum).nonzero()
        # A selection needs at least two samples of each class, and four in all.
        least = 1 if count < len(unit_of) else 2 if stratum_of.any() else 4
        size = min(len(units), max(least, round(share * len(units))))
        times[generator.choice(units, size, replace=False)] = 1
    return times


def _bootstrap(unit_of: Rows, generator: np.random.Generator) -> Rows:
    """Return how often each unit is drawn."""
    count = int(unit_of.max()) + 1
    return np.bincount(generator.integers(count, size=count), minlength=count)


def _is_usable(times: Rows, labels: NDArray[Any] | None) -> bool:
    """Whether a draw has enough samples for a selection: two of every class, four in all."""
    kept = times > 0
    if kept.sum() < 4:
        return False
    if labels is None:
        return True
    classes, sizes = np.unique(labels[kept], return_counts=True)
    return len(classes) == len(np.unique(labels)) and int(sizes.min()) >= 2


def draw_order(
    counted: NDArray[np.bool_],
    generator: np.random.Generator,
    groups: NDArray[Any] | None = None,
) -> Rows:
    """Return a permutation of all rows that moves only the rows that count.

    Whole groups are exchanged with groups of the same size.
    """
    order = np.arange(len(counted))
    (rows,) = counted.nonzero()
    if groups is None:
        order[rows] = generator.permutation(rows)
        return order
    _, group_of = np.unique(groups[rows], return_inverse=True)
    members = [rows[group_of == number] for number in range(int(group_of.max()) + 1)]
    sizes = np.array([len(rows_of_group) for rows_of_group in members])
    for size in np.unique(sizes):
        (same,) = (sizes == size).nonzero()
        for group, other in zip(same, generator.permutation(same), strict=True):
            order[members[group]] = members[other]
    return order


def check_groups_move(counted: NDArray[np.bool_], groups: NDArray[Any] | None) -> None:
    """Raise an error if no two groups have the same size, so that none can be exchanged."""
    if groups is None:
        return
    _, sizes = np.unique(groups[counted], return_counts=True)
    if len(np.unique(sizes)) == len(sizes):
        raise ValueError(
            "whole groups are permuted with groups of the same size, but no two have the same "
            "number of samples. Leave groups out if samples are independent."
        )


def check_count(name: str, value: Any, least: int) -> None:
    """A whole number of at least so many."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more; got {value!r}.")
