"""Folds of a small problem, and the splits that they must have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold

from internals import Folds, Split, make_folds

M = 24
Y = np.random.default_rng(5).standard_normal(M)
PAIRS = [(train, test) for train, test in KFold(4, shuffle=True, random_state=3).split(Y)]


def folds(cv: Any, n_samples: int = M, **changes: Any) -> Folds:
    made = optional_folds(cv, n_samples, **changes)
    assert made is not None
    return made


def optional_folds(cv: Any, n_samples: int = M, **changes: Any) -> Folds | None:
    settings = {"y": Y[:n_samples], "labels": None, "groups": None, "weights": None}
    return make_folds(cv, n_samples, **(settings | changes))


def assert_splits(made: Folds, expected: Any) -> None:
    """The same splits in the same order; rows sorted, types and marks as promised."""
    pairs = list(expected)
    assert len(made.splits) == len(pairs) > 0
    for split, (train, test) in zip(made.splits, pairs, strict=True):
        assert isinstance(split, Split)
        assert split.train.dtype == split.test.dtype == np.intp
        assert_array_equal(split.train, np.sort(train))
        assert_array_equal(split.test, np.sort(test))
        complement = np.setdiff1d(np.arange(made.n_samples), test)
        assert split.is_complement is np.array_equal(complement, np.sort(train))
