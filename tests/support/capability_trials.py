"""Everything the capability table names, tried on tiny data of any kind and compared with NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from greedyrls import GreedyKernelRLS, GreedyRLSRanker, greedy_path
from greedyrls.assess import cross_validate_path
from internals import FEATURES, KINDS
from tuning import tuned

Array = NDArray[Any]
M, N, SIZE = 40, 6, 2
NOUNS = {
    "file": "in a file",
    "streamed": "streamed to a device",
    "device": "on a device",
    "Dask": "on a cluster",
}
Convert = Callable[[Array], Any]


@dataclass(frozen=True)
class Kind:
    """How X of one kind is made of an array, and what is passed with it."""

    name: str  # in the table
    matrix: Convert
    vector: Convert = lambda values: values  # y and fold ids
    options: Mapping[str, Any] = field(default_factory=dict)
    tuning: Mapping[str, Any] = field(default_factory=dict)


NUMPY = Kind("NumPy", lambda X: X)


@dataclass(frozen=True)
class Trial:
    """One thing to ask for: `run(kind, folder)` gives features and losses."""

    name: str
    run: Callable[[Kind, Path], tuple[Any, Any]]
    tuning: Mapping[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()  # of which an error names one


def data() -> tuple[Array, Array]:
    """X, with zeros for sparse matrices, and y."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((M, N)) * (rng.random((M, N)) < 0.7)
    return X, X[:, [1, 4]] @ [2.0, -1.5] + 0.5 * rng.standard_normal(M)


def power_loss(y_true: Array, y_pred: Array) -> float:
    return float(np.mean(np.abs(y_true - y_pred) ** 1.5))


def path(labels: bool = False, tuning: Mapping[str, Any] | None = None, **options: Any) -> Trial:
    """`greedy_path` with some options; arrays among them are fold ids."""

    def run(kind: Kind, folder: Path) -> tuple[Any, Any]:
        X, y = data()
        asked = {
            key: kind.vector(value) if isinstance(value, np.ndarray) else value
            for key, value in options.items()
        }
        if "checkpoint" in asked:
            asked["checkpoint"] = folder / f"{kind.name}.json"
        y = np.where(y > 0.0, 1.0, -1.0) if labels else y
        found = greedy_path(kind.matrix(X), kind.vector(y), SIZE, **asked, **kind.options)
        return found.indices, found.losses

    name = ", ".join(f"{key}={_word(value)}" for key, value in options.items())
    return Trial(name, run, tuning or {}, tuple(options))


def _word(value: Any) -> str:
    return value if isinstance(value, str) else type(value).__name__


def centers() -> Trial:
    def run(kind: Kind, folder: Path) -> tuple[Any, Any]:
        X, y = data()
        own = {key: value for key, value in kind.options.items() if key != "block_rows"}
        model = GreedyKernelRLS(SIZE, alpha=0.1, **own).fit(kind.matrix(X), kind.vector(y))
        return model.center_indices_, model.path_.losses

    return Trial("GreedyKernelRLS", run)


def ranker() -> Trial:
    def run(kind: Kind, folder: Path) -> tuple[Any, Any]:
        X, y = data()
        own = {key: value for key, value in kind.options.items() if key != "block_rows"}
        model = GreedyRLSRanker(SIZE, alpha=1.0, **own)
        model.fit(kind.matrix(X), kind.vector(y), groups=np.arange(M) % 5)
        return model.path_.indices, model.path_.losses

    return Trial("GreedyRLSRanker", run)


def assessment(**options: Any) -> Trial:
    def run(kind: Kind, folder: Path) -> tuple[Any, Any]:
        X, y = data()
        own = {key: value for key, value in kind.options.items() if key != "block_rows"}
        found = cross_validate_path(
            kind.matrix(X), kind.vector(y), SIZE, alpha=1.0, cv=3, **options, **own
        )
        return np.concatenate(found.features), found.test_losses

    return Trial(", ".join(["cross_validate_path", *options]), run)


_GROUPS = {"a": [0, 1], "b": [2, 3], "c": [4, 5]}
_MANY = {"fold_engine": "many"}
TRIALS: dict[str, list[Trial]] = {
    "squared": [path()],
    "loss": [
        path(loss="absolute"),
        path(loss="zero_one", labels=True),
        path(loss="balanced_zero_one", labels=True),
    ],
    "whole_loss": [path(loss="auc", labels=True), path(loss=power_loss)],
    "folds": [path(cv=3), path(cv=KFold(3, shuffle=True, random_state=0))],
    "fold_loss": [
        path(cv=3, loss="absolute"),
        path(cv=3, loss="zero_one", labels=True),
        path(cv=3, loss="balanced_zero_one", labels=True),
        path(cv=3, loss="auc", labels=True),
        path(cv=3, loss=power_loss),
    ],
    "many_folds": [path(cv=np.arange(M) // 2, tuning=_MANY)],
    "penalties": [path(alpha=[0.1, 10.0]), path(alpha=[0.1, 10.0], alpha_rule="joint")],
    "groups": [path(feature_groups=_GROUPS), path(feature_costs=[1, 2, 3, 1, 2, 3])],
    "direction": [path(direction=name) for name in ("floating", "foba", "swap", "backward")],
    "centers": [centers()],
    "all_features": [
        path(alpha=[0.1, 10.0], alpha_rule="all_features"),
        path(cv=3, refit_alpha="cv"),
    ],
    "checkpoint": [path(checkpoint="")],
    "assess": [assessment(), assessment(inner_cv=3), assessment(loss="absolute"), ranker()],
}
# What the note of a cell leaves out: trials that are refused there.
EXCEPT: dict[str, set[str]] = {
    "alpha=list": {"streamed"},
    "cv=int, loss=auc": {"Dask"},
    "cv=int, loss=function": {"Dask"},
    "cv=KFold": {"Dask"},
    "cross_validate_path": {"device"},
    "cross_validate_path, inner_cv": {"file", "device"},
    "cross_validate_path, loss": {"file", "device"},
    "GreedyRLSRanker": {"file"},
}
# Refused before there is a matrix whose traits could be looked up, in other words.
_NO_DEVICE = "unexpected keyword argument 'device'"
_NOT_ON_HOST = "on the .*device1.* device to a NumPy array|Can not convert array"
EARLIER: dict[tuple[str, str], str] = {
    ("cv=KFold", "Dask"): "On a cluster cv must be .* without shuffling",
    ("GreedyKernelRLS", "file"): "is not read into memory",
    ("GreedyKernelRLS", "streamed"): _NO_DEVICE,
    ("GreedyKernelRLS", "device"): _NOT_ON_HOST,
    ("GreedyRLSRanker", "file"): "takes data in memory",
    ("GreedyRLSRanker", "streamed"): _NO_DEVICE,
    ("GreedyRLSRanker", "Dask"): "takes data in memory",
    ("cross_validate_path", "streamed"): _NO_DEVICE,
    ("cross_validate_path", "device"): _NOT_ON_HOST,
    ("cross_validate_path", "Dask"): "takes data in memory",
    ("cross_validate_path", "file"): "would copy rows of X, which is in a file",
}


def check_cell(feature: str, kind: Kind, folder: Path) -> None:
    """Try all that a cell of the table is about."""
    table = FEATURES[feature]
    is_refused = not table.works_with(KINDS[kind.name]) and kind.name not in table.notes
    for trial in TRIALS[feature]:
        with tuned(**trial.tuning, **kind.tuning):
            if kind.name in EXCEPT.get(trial.name, ()) or is_refused:
                _assert_refused(trial, kind, folder)
            else:
                features, losses = trial.run(kind, folder)
                expected, their_losses = numpy_answer(feature, trial.name, folder)
                np.testing.assert_array_equal(features, expected)
                np.testing.assert_allclose(losses, their_losses, rtol=1e-9)


def _assert_refused(trial: Trial, kind: Kind, folder: Path) -> None:
    with pytest.raises((ValueError, TypeError, RuntimeError)) as refused:
        trial.run(kind, folder)
    text = str(refused.value)
    earlier = EARLIER.get((trial.name.split(", ")[0], kind.name))
    if earlier is not None and re.search(earlier, text):
        return
    what, _, advice = text.partition(f" is not supported with X {NOUNS[kind.name]}: it ")
    assert any(f"{option}" in what for option in trial.options), text
    assert re.fullmatch(r"\w[^.]*\. (Use|Pass|Leave|Load) .*\.", advice), text


@cache
def numpy_answer(feature: str, name: str, folder: Path) -> tuple[Any, Any]:
    """What a trial finds in memory."""
    (trial,) = (some for some in TRIALS[feature] if some.name == name)
    with tuned(**trial.tuning):
        return trial.run(NUMPY, folder)
