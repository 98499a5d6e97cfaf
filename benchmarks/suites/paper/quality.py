"""Figures 4 to 15: one outer fold of a data set, from all rows to the curves of all sizes.

Stratified 10-fold. In each fold the penalty is the one of smallest leave-one-out error with all
features; features are then selected by leave-one-out error with that penalty until all are in. The
models of all sizes are tested on the rows held out, and so are features in random order.

The paper's model has no intercept; with one, unpenalised, the same is done again. It matters: a
model without an intercept must find the larger class by its features.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from harness.data_files import Array
from harness.data_sets import DATA_SETS, DataSet, load

SEED = 0


@dataclass(frozen=True, slots=True)
class Protocol:
    """What is done with every data set; a result is good only for the protocol it was made by."""

    folds: int = 10
    alphas: tuple[float, ...] = tuple(10.0**power for power in range(-5, 6))
    n_random: int = 10
    fit_intercept: bool = False
    most_rows: int | None = None
    most_features: int | None = None

    def settings(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return asdict(self) | {"alphas": list(self.alphas), "seed": SEED}


FULL = Protocol()
QUICK = Protocol(n_random=3, most_rows=1000, most_features=100)


def run_fold(name: str, fold: int, folder: Path, protocol: Protocol) -> dict[str, Any]:
    """The accuracies of one outer fold by size."""
    began = time.perf_counter()
    X, y = _data(name, folder, protocol)
    train, test = list(_splitter(protocol).split(X, y))[fold]
    assessment = _assess(X, y, train, test, fold, protocol)
    return {
        "settings": protocol.settings(),
        "rows": X.shape[0],
        "features": X.shape[1],
        "test_rows": len(test),
        "alpha": float(assessment.alphas[0]),
        "test": _accuracies(assessment.test_losses[0]),
        "loo": _accuracies(assessment.selection_losses[0]),
        "random": _accuracies(assessment.random_losses[0].mean(axis=0)),
        "larger_class": round(float(np.mean(y[test] == _larger_class(y[train]))), 7),
        "order": np.asarray(assessment.features[0]).tolist(),
        "seconds": round(time.perf_counter() - began, 3),
    }


def cost(data: DataSet, protocol: Protocol) -> float:
    """About how many seconds a fold takes in one process, of 2020."""
    rows = min(data.rows, protocol.most_rows or data.rows)
    features = min(data.features, protocol.most_features or data.features)
    return 0.5 + 2e-2 * features + 2e-9 * rows * features**2


def _assess(
    X: Array,
    y: Array,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    fold: int,
    protocol: Protocol,
) -> Any:
    """The selection of one fold, by the library's own cross-validation of a whole path."""
    from greedyrls.assess import cross_validate_path

    return cross_validate_path(
        X,
        y,
        X.shape[1],
        cv=[(train, test)],
        alpha=np.array(protocol.alphas),
        alpha_rule="all_features",
        refit_alpha="same",
        loss="zero_one",
        measure="zero_one",
        fit_intercept=protocol.fit_intercept,
        n_random=protocol.n_random,
        # Folds are given one at a time: with one seed all would get the same random orders.
        random_state=SEED + fold,
    )


def _larger_class(y: Array) -> float:
    return 1.0 if y.mean() > 0 else -1.0


def _splitter(protocol: Protocol) -> StratifiedKFold:
    return StratifiedKFold(protocol.folds, shuffle=True, random_state=SEED)


@lru_cache(maxsize=1)
def _data(name: str, folder: Path, protocol: Protocol) -> tuple[Array, Array]:
    """Kept for the next fold, which most often is of the same data set."""
    return reduced(*load(DATA_SETS[name], folder), protocol)


def reduced(X: Array, y: Array, protocol: Protocol) -> tuple[Array, Array]:
    """Rows and features drawn at random where the protocol allows only so many."""
    rows, columns = X.shape
    generator = np.random.default_rng(SEED)
    if protocol.most_rows is not None and rows > protocol.most_rows:
        drawn = np.sort(generator.permutation(rows)[: protocol.most_rows])
        X, y = X[drawn], y[drawn]
    if protocol.most_features is not None and columns > protocol.most_features:
        drawn = np.sort(generator.permutation(columns)[: protocol.most_features])
        X = np.ascontiguousarray(X[:, drawn])
    return X, y


def _accuracies(losses: Array) -> list[float]:
    return [round(1.0 - float(loss), 7) for loss in losses]
