"""Training and test rows, the same for all methods, and the sizes that fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from .tasks import Array, Labels, Task

SIZES = (5, 20, 50)
SMALL_ROWS = 2000  # up to here all rows are used, and there are more repeats
SMALL_REPEATS, LARGE_REPEATS = 20, 5
TRAIN_SHARE = 0.7
MOST_TRAIN_ROWS, MOST_TEST_ROWS = 10_000, 20_000


@dataclass(frozen=True, slots=True)
class Split:
    """One division of the rows: scaled features and targets of both parts."""

    X: Array
    y: Labels
    test_X: Array
    test_y: Labels


def repeats_for(rows: int) -> int:
    """How many splits a data set gets."""
    return SMALL_REPEATS if rows <= SMALL_ROWS else LARGE_REPEATS


def n_varying(X: Array) -> int:
    """The number of features that are not constant."""
    return int(np.count_nonzero(np.ptp(X, axis=0)))


def sizes_for(X: Array) -> list[int]:
    """The sizes below the number of features that are not constant."""
    return [k for k in SIZES if k < n_varying(X)]


def row_counts(rows: int) -> tuple[int, int]:
    """Numbers of training and test rows."""
    train = min(round(TRAIN_SHARE * rows), MOST_TRAIN_ROWS)
    return train, min(rows - train, MOST_TEST_ROWS)


def make_split(X: Array, y: Labels, task: Task, number: int) -> Split:
    """Split of this number: its rows do not depend on how many others are made.

    Features are scaled by the training rows. Those that are constant there carry nothing and are
    left out, for all methods: some would divide by zero.
    """
    train_rows, test_rows = row_counts(len(y))
    train, test = train_test_split(
        np.arange(len(y)),
        train_size=train_rows,
        test_size=test_rows,
        stratify=None if task is Task.REGRESSION else y,
        random_state=number,
    )
    varying = np.ptp(X[train], axis=0) > 0
    scaler = StandardScaler().fit(X[np.ix_(train, varying)])
    return Split(
        X=scaler.transform(X[np.ix_(train, varying)]),
        y=y[train],
        test_X=scaler.transform(X[np.ix_(test, varying)]),
        test_y=y[test],
    )
