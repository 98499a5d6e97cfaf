"""Folds given as pairs of rows or masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
)

from splits import PAIRS, M, Y, assert_splits, folds


def masks() -> list[tuple[Any, Any]]:
    rows = np.arange(M)
    return [(np.isin(rows, train), np.isin(rows, test).tolist()) for train, test in PAIRS]


@pytest.mark.parametrize(
    "cv",
    [
        PAIRS,
        tuple(PAIRS),
        (pair for pair in PAIRS),
        [list(pair) for pair in PAIRS],
        [(train.tolist(), tuple(test.tolist())) for train, test in PAIRS],
        [(train[::-1], test[::-1].astype(np.uint16)) for train, test in PAIRS],
        masks(),
        [(pd.Index(train), pd.Series(test)) for train, test in PAIRS],
    ],
)
def test_given_pairs(cv: Any) -> None:
    made = folds(cv)
    assert_splits(made, PAIRS)
    assert made.description == "4 given splits"
    assert made.is_partition


def test_given_pairs_in_one_array() -> None:
    halves = list(KFold(2).split(Y))
    assert_splits(folds(np.array(halves)), halves)
    objects = np.empty((4, 2), dtype=object)
    for number, (train, test) in enumerate(PAIRS):
        objects[number] = train, test
    assert_splits(folds(objects), PAIRS)


def test_as_many_pairs_as_rows_and_a_single_pair() -> None:
    pairs = list(LeaveOneOut().split(Y[:3]))
    assert_splits(folds(pairs, 3), pairs)
    made = folds([(range(5), range(5, 7))])
    assert_splits(made, [(range(5), range(5, 7))])
    assert made.description == "1 given split"


def test_given_pairs_are_copied() -> None:
    train, test = np.arange(5), np.arange(5, 9)
    made = folds([(train, test)])
    train[:] = 0
    test[:] = 0
    assert_splits(made, [(np.arange(5), np.arange(5, 9))])


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (([0, 24], [1]), "Split 1 of cv has in its training rows row 24; rows are 0 to 23"),
        (([0, 2], [1, -1]), "Split 1 of cv has in its test rows row -1; rows are 0 to 23"),
        (([0, 2, 3, 2], [1]), "Split 1 of cv has in its training rows row 2 more than once"),
        (([0, 2], [4, 1, 4]), "Split 1 of cv has in its test rows row 4 more than once"),
        (([0, 2, 7], [7, 1]), "Split 1 of cv has row 7 both in its training rows and in its test"),
        (([True] * 3, [1]), "Split 1 of cv has in its training rows a mask of length 3.* 24 rows"),
        (([0.0, 1.0], [2]), r"Split 1 of cv has in its training rows \[0\.0, 1\.0\]; give a 1-D"),
        (([0, 1], ["2"]), r"Split 1 of cv has in its test rows \['2'\]; give a 1-D"),
        (([[0, 1]], [2]), r"Split 1 of cv has in its training rows \[\[0, 1\]\]; give a 1-D"),
        (([], [2]), "Split 1 leaves no training rows; use fewer folds"),
        (([2], []), "Split 1 leaves no test rows"),
        (
            ([0], [1], [2]),
            r"Item 1 of cv is not a \(train, test\) pair of row numbers: \(\[0\], \[1\], \[2",
        ),
        ((0, 1), r"Item 1 of cv is not a \(train, test\) pair of row numbers: \(0, 1\)"),
        (3, r"Item 1 of cv is not a \(train, test\) pair of row numbers: 3"),
    ],
)
def test_bad_pairs(pair: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        folds([([0, 1], [2, 3]), pair])


def test_a_pair_that_is_not_in_a_list() -> None:
    with pytest.raises(ValueError, match=r"a single split is \[\(train, test\)\]"):
        folds((np.arange(5), np.arange(5, 9)))


def test_an_empty_generator() -> None:
    with pytest.raises(ValueError, match="gives no splits; at least 1 is needed"):
        folds(iter(()))
