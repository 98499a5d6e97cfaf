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
from sklearn.model_selection import GroupKFold, KFold

from greedyrls import GreedyKernelRLS, GreedyRLSClassifier, GreedyRLSRanker, greedy_path
from greedyrls.assess import cross_validate_path, resample_path
from internals import FEATURES
from tuning import tuned

Array = NDArray[Any]
M, N, SIZE = 40, 6, 2
NOUNS = {
    "file": "in a file",
    "streamed": "streamed to a device",
    "device": "on a device",
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
        model = GreedyKernelRLS(SIZE, alpha=0.1, **kind.options)
        model.fit(kind.matrix(X), kind.vector(y))
        return model.center_indices_, model.path_.losses

    return Trial("GreedyKernelRLS", run, options=("GreedyKernelRLS",))


def ranker() -> Trial:
    def run(kind: Kind, folder: Path) -> tuple[Any, Any]:
        X, y = data()
        model = GreedyRLSRanker(SIZE, alpha=1.0, **kind.options)
        model.fit(kind.matrix(X), kind.vector(y), groups=np.arange(M) % 5)
        return model.path_.indices, model.path_.losses

    return Trial("GreedyRLSRanker", run, options=("GreedyRLSRanker",))


def classes(class_weight: Any = None) -> Trial:
    """A classifier with weights of classes, or with its probabilities."""

    def run(kind: Kind, folder: Path) -> tuple[Any, Any]:
        X, y = data()
        model = GreedyRLSClassifier(SIZE, alpha=1.0, class_weight=class_weight, **kind.options)
        model.fit(kind.matrix(X), kind.vector((y > 0.0).astype(int)))
        values = model.path_.losses if class_weight else model.predict_proba(X)
        return model.selected_, values

    name = "class_weight" if class_weight else "predict_proba"
    return Trial(name, run, options=(name,))


def assessment(**options: Any) -> Trial:
    def run(kind: Kind, folder: Path) -> tuple[Any, Any]:
        X, y = data()
        y = (y > 0.0).astype(int) if "class_weight" in options else y
        found = cross_validate_path(
            kind.matrix(X), kind.vector(y), SIZE, alpha=1.0, cv=3, **options, **kind.options
        )
        return np.concatenate(found.features), found.test_losses

    asked = (*options, "An assessment")
    name = ", ".join(["cross_validate_path", *options])
    return Trial(name, run, options=asked)


def resampling(resample: Any) -> Trial:
    def run(kind: Kind, folder: Path) -> tuple[Any, Any]:
        X, y = data()
        given = {"resample": resample, "n_resamples": 3} | dict(kind.options)
        found = resample_path(kind.matrix(X), kind.vector(y), SIZE, alpha=1.0, **given)
        return np.concatenate(found.selections), found.frequencies()

    asked = ("An assessment", "resample")
    return Trial(f"resample_path, {resample}", run, options=asked)


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
    "folds": [path(cv=3), path(cv=KFold(3)), path(cv=np.arange(M) % 3)],
    "splitters": [
        path(cv=KFold(3, shuffle=True, random_state=0)),
        path(cv=GroupKFold(3), groups=np.arange(M) % 5),
        path(cv=3, groups=np.arange(M) % 5),
    ],
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
    "class_weight": [classes("balanced")],
    "probabilities": [classes()],
    "assess": [
        assessment(),
        resampling("subsample"),
        assessment(inner_cv=3),
        assessment(loss="absolute"),
        assessment(class_weight="balanced"),
        resampling("bootstrap"),
    ],
    "ranker": [ranker()],
}
# What the note of a cell leaves out: trials that are refused there.
EXCEPT: dict[str, set[str]] = {}


def check_cell(feature: str, kind: Kind, folder: Path) -> None:
    """Try all that a cell of the table is about."""
    table = FEATURES[feature]
    is_refused = table.cell(kind.name) == "no"
    for trial in TRIALS[feature]:
        with tuned(**trial.tuning, **kind.tuning):
            if table.cell(kind.name) == "no `device=`":
                with pytest.raises(TypeError, match="unexpected keyword argument 'device'"):
                    trial.run(kind, folder)
            elif kind.name in EXCEPT.get(trial.name, ()) or is_refused:
                _assert_refused(trial, kind, folder)
            else:
                features, losses = trial.run(kind, folder)
                expected, their_losses = numpy_answer(feature, trial.name, folder)
                np.testing.assert_array_equal(features, expected)
                np.testing.assert_allclose(losses, their_losses, rtol=1e-9)


def _assert_refused(trial: Trial, kind: Kind, folder: Path) -> None:
    with pytest.raises((ValueError, AttributeError)) as refused:
        trial.run(kind, folder)
    text = str(refused.value.__cause__ or refused.value)
    what, _, advice = text.partition(f" is not supported with X {NOUNS[kind.name]}: it ")
    assert any(f"{option}" in what for option in trial.options), text
    assert "outer fold 0" not in what, "refused by the first of many searches, not before"
    assert re.fullmatch(r"\w[^.]*\. (Use|Pass|Leave|Load) .*\.", advice), text


@cache
def numpy_answer(feature: str, name: str, folder: Path) -> tuple[Any, Any]:
    """What a trial finds in memory."""
    (trial,) = (some for some in TRIALS[feature] if some.name == name)
    with tuned(**trial.tuning):
        return trial.run(NUMPY, folder)
