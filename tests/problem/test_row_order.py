"""Rows by fold: what scikit-learn gives, and what sorting ids gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from internals import Folds, RowOrder, location_of, make_folds, numbers_on_device


def folds_of(cv: Any, m: int, weights: NDArray[Any] | None = None) -> Folds:
    y = np.arange(m) % 2
    folds = make_folds(cv, m, y=y, labels=None, groups=None, weights=weights)
    assert folds is not None
    return folds


@pytest.mark.parametrize("m", [10, 31])
@pytest.mark.parametrize(
    "cv",
    [
        KFold(4),
        KFold(4, shuffle=True, random_state=3),
        KFold(10, shuffle=True, random_state=0),
        StratifiedKFold(3, shuffle=True, random_state=1),
    ],
    ids=str,
)
def test_splitters_as_in_sklearn(cv: Any, m: int) -> None:
    folds = folds_of(cv, m)
    pairs = list(cv.split(np.zeros((m, 1)), np.arange(m) % 2))
    assert len(folds.splits) == len(pairs)
    for split, (train, test) in zip(folds.splits, pairs, strict=True):
        np.testing.assert_array_equal(split.test, test)
        np.testing.assert_array_equal(split.train, train)
    assert folds.is_partition


def test_a_generator_goes_on_as_in_sklearn() -> None:
    one, other = np.random.RandomState(5), np.random.RandomState(5)
    folds_of(KFold(3, shuffle=True, random_state=one), 20)
    list(KFold(3, shuffle=True, random_state=other).split(np.zeros((20, 1))))
    assert one.randint(1000) == other.randint(1000)


@pytest.mark.parametrize(
    "names",
    [
        np.array([-100, 3, 100], dtype=np.int8),
        np.array([250, 2, 4], dtype=np.uint8),
        np.array([1 << 62, (1 << 62) + 5, 7]),
        np.array([np.iinfo(np.uint64).max, 1], dtype=np.uint64),
        np.array([2.0, -7.0, 5.0]),
        np.array(["b", "a"]),
        np.array([-1, 0, 1]),
    ],
    ids=str,
)
def test_ids_as_by_comparing_them(names: NDArray[Any]) -> None:
    ids = np.random.default_rng(0).choice(names, 40)
    folds = folds_of(ids, 40)
    tested = [name for name in np.unique(ids).tolist() if name != -1]
    assert len(folds.splits) == len(tested)
    for split, name in zip(folds.splits, tested, strict=True):
        np.testing.assert_array_equal(split.test, np.flatnonzero(ids == names.dtype.type(name)))
    assert folds.is_partition is (-1 not in ids.tolist())


@pytest.mark.parametrize("n_folds", [3, 300])
def test_rows_on_a_device(n_folds: int) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    fold_of = np.random.default_rng(1).integers(0, n_folds, 900)
    members = RowOrder(fold_of, n_folds).members()
    sets = [*members, None, np.arange(5, 9), np.array([1, 4])]
    *found, everything, together, others = numbers_on_device(location_of(torch.zeros(1)), sets, 900)
    for fold, rows in enumerate(found):
        np.testing.assert_array_equal(rows, np.flatnonzero(fold_of == fold))
        np.testing.assert_array_equal(rows, members[fold].rows)
    assert everything == slice(0, 900)
    assert together == slice(5, 9)
    np.testing.assert_array_equal(others, [1, 4])
