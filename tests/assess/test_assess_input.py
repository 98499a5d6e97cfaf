"""Labels, seeds, groups and weights as assessments are given them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold

from assess_checks import noise
from greedyrls import greedy_path
from greedyrls.assess import (
    cross_validate_path,
    path_warnings,
    permutation_null,
    resample_path,
)


def test_columns_of_a_frame_are_labels() -> None:
    X, _ = noise(24, 4)
    for values in (["a", "b"], [True, False], [0, 1]):
        frame = pd.DataFrame({"y": values * 12})
        column = cross_validate_path(X, frame, 1, cv=3, alpha=1.0, n_random=0)
        series = cross_validate_path(X, frame["y"], 1, cv=3, alpha=1.0, n_random=0)
        assert column.measure == series.measure == "zero_one"
        assert_array_equal(column.test_losses, series.test_losses)


def test_labels_of_odd_kinds() -> None:
    X, _ = noise(24, 4)
    options: dict[str, Any] = {"cv": 3, "alpha": 1.0, "n_random": 0}
    objects = cross_validate_path(X, np.array([0, 1] * 12, dtype=object), 1, **options)
    assert objects.measure == "zero_one"
    three = pd.Series(pd.Categorical([0, 1, 2] * 8))
    assert cross_validate_path(X, three, 1, **options).measure == "zero_one"
    text = pd.Series(["a", "b", None, "a"] * 6, dtype="string")
    with pytest.raises(ValueError, match="y has a missing value: row 2"):
        cross_validate_path(X, text, 1, **options)
    with pytest.raises(ValueError, match="y has a missing value: row 1 is nan"):
        cross_validate_path(X, ["a", float("nan"), "b", "a"] * 6, 1, **options)
    with pytest.raises(ValueError, match="dates or times"):
        cross_validate_path(X, pd.Series(pd.date_range("2020", periods=24)), 1, **options)


def test_seeds_and_generators() -> None:
    X, y = noise(24, 6)
    options: dict[str, Any] = {"cv": KFold(3), "alpha": 1.0}
    seed = cross_validate_path(X, y, 2, random_state=5, **options)
    given = cross_validate_path(X, y, 2, random_state=np.random.default_rng(5), **options)
    assert_array_equal(seed.random_losses, given.random_losses)
    for call in (cross_validate_path, permutation_null, resample_path):
        with pytest.raises(ValueError, match=r"random_state must be None, a whole number.*got -1"):
            call(X, y, 2, random_state=-1, alpha=1.0)


def test_groups_beside_given_folds_are_for_the_penalty() -> None:
    X, y = noise(24, 4)
    groups = np.arange(24) // 2
    ids = (np.arange(24) // 2) % 3
    found = cross_validate_path(X, y, 2, cv=ids, groups=groups, alpha=[0.1, 1.0], n_random=0)
    assert len(found.features) == 3


def test_a_class_without_weight() -> None:
    X, _ = noise(24, 4)
    y = np.array(["a", "b"] * 12)
    for call in (cross_validate_path, permutation_null, resample_path):
        with pytest.raises(ValueError, match="all samples of positive weight have the label 'a'"):
            call(X, y, 2, sample_weight=(y == "a").astype(float), alpha=1.0)


def test_errors_say_where_they_come_from() -> None:
    X, y = noise(24, 4)
    with pytest.raises(ValueError, match="measure='zero_one' needs labels"):
        cross_validate_path(X, y, 2, cv=3, alpha=1.0, measure="zero_one")
    with pytest.raises(ValueError, match="In outer fold 0: "):
        cross_validate_path(X[:5], y[:5], 1, cv=2, alpha=[0.1, 1.0])
    with pytest.raises(TypeError, match="assessment must be a PathAssessment or None, got int"):
        path_warnings(greedy_path(X, y, 1), 3)
    with pytest.raises(TypeError, match="path must be a SelectionPath"):
        path_warnings(3)
