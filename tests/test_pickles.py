"""Pickles name exported classes only, so that they survive moves of files."""

from __future__ import annotations

import pickle
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import greedyrls
from greedyrls import (
    GreedyKernelRLS,
    GreedyRLSClassifier,
    GreedyRLSRanker,
    GreedyRLSRegressor,
    LinearModel,
    SelectionPath,
    assess,
    greedy_path,
)


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    return X, X[:, 0] + 0.3 * rng.standard_normal(60)


def results() -> dict[str, Any]:
    X, y = data()
    path = greedy_path(X, y, 3, alpha="auto")
    return {
        "path": path,
        "regressor": GreedyRLSRegressor(n_features_to_select=2, alpha=1.0).fit(X, y),
        "classifier": GreedyRLSClassifier(n_features_to_select=2, alpha=1.0).fit(X, y > 0),
        "ranker": GreedyRLSRanker(n_features_to_select=2, alpha=1.0).fit(X, y),
        "kernel": GreedyKernelRLS(n_centers=2, alpha=1.0).fit(X, y),
        "assessment": assess.cross_validate_path(X, y > 0, 2, alpha=1.0),
        "stability": assess.resample_path(X, y, 2, alpha=1.0, n_resamples=4),
        "null": assess.permutation_null(X, y, 2, alpha=1.0, n_permutations=3),
        "model": LinearModel.from_path(path, 2),
    }


RESULTS = results()


@pytest.mark.parametrize("name", RESULTS)
def test_no_file_is_named(name: str) -> None:
    written = pickle.dumps(RESULTS[name])
    named = {
        value
        for _, value, _ in pickletools.genops(written)
        if isinstance(value, str) and value.startswith("greedyrls")
    }
    assert named
    for module in named:
        file = Path(greedyrls.__file__).parent.joinpath(*module.split(".")[1:])
        assert not file.with_suffix(".py").exists(), module


@pytest.mark.parametrize("name", [name for name in RESULTS if name not in ("model",)])
def test_they_come_back(name: str) -> None:
    again = pickle.loads(pickle.dumps(RESULTS[name]))
    assert type(again) is type(RESULTS[name])


def test_a_path_predicts_as_before() -> None:
    X, _ = data()
    path = RESULTS["path"]
    again = pickle.loads(pickle.dumps(path))
    assert isinstance(again, SelectionPath)
    assert_array_equal(again.predict(X), path.predict(X))


@pytest.mark.parametrize("name", greedyrls.__all__)
def test_public_classes_have_the_public_module(name: str) -> None:
    value = getattr(greedyrls, name)
    if isinstance(value, type):
        assert value.__module__ == "greedyrls"


def test_pickles_of_former_modules_are_refused_with_a_sentence() -> None:
    former = b"cgreedyrls._path\nSelectionPath\n."
    with pytest.raises(ModuleNotFoundError, match=r"earlier version of greedyrls.*Fit or select"):
        pickle.loads(former)
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'greedyrls\._nothing'"):
        pickle.loads(b"cgreedyrls._nothing\nSelectionPath\n.")
