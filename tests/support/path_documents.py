"""Paths of every kind, their documents, and what becomes of damaged ones."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd

from greedyrls import SelectionPath, greedy_path

CLEAR = r"(is not a greedyrls\.path document|greedyrls\.path document (is damaged|has version))"
ODD_NAMES = [
    'say "hi"',
    "back\\slash",
    "Größe",
    "日本",
    "<script>alert(1)</script>",
    "new\nline",
    "",
    "\u2028",
]


def make_path(**options: Any) -> SelectionPath:
    """A path with everything that the format knows."""
    rng = np.random.default_rng(11)
    X = pd.DataFrame(rng.standard_normal((20, 8)), columns=ODD_NAMES)
    y = rng.standard_normal((20, 2))
    arguments = {
        "alpha": [0.1 + 0.2, 3.0],
        "cv": 3,
        "alpha_cv": 2,
        "sample_weight": rng.random(20),
        "forced_features": [5],
        "excluded_features": [0, 3],
        "n_runners_up": 2,
    } | options
    if np.ndim(arguments["alpha"]) == 0:
        del arguments["alpha_cv"]
    return greedy_path(X, y, 4, **arguments)


def small_path(n_features: Any = 3, **options: Any) -> SelectionPath:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((24, 5))
    y = np.sign(X[:, 0] + rng.standard_normal(24))
    return greedy_path(X, y, n_features, **options)


def opposite_correlation(y_true: Any, y_pred: Any) -> float:
    """A loss below 0 without a standard error."""
    return -float(np.mean(y_true * y_pred))


DOCUMENT = json.loads(make_path().to_json())


def load(document: Any) -> SelectionPath:
    """Through the public door."""
    return SelectionPath.from_json(json.dumps(document))


def at(document: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        document = document[key]
    return document


def verdict(document: Any) -> str:
    """ "refused" is the only right one for a damaged document."""
    try:
        load(document)
    except Exception as error:
        clear = type(error) is ValueError and re.search(CLEAR, str(error))
        return "refused" if clear else repr(error)
    return "accepted"


GRID = [0.01, 1.0, 100.0]
KINDS: dict[str, dict[str, Any]] = {
    "a number": {"alpha": 1.0},
    "nested": {"alpha": GRID},
    "nested, automatic": {"alpha": "auto", "n_features": "auto"},
    "nested, 1se": {"alpha": GRID, "n_features": "auto", "size_rule": "1se"},
    "joint": {"alpha": GRID, "alpha_rule": "joint"},
    "joint, automatic": {"alpha": GRID, "alpha_rule": "joint", "n_features": "auto", "patience": 1},
    "all features": {"alpha": GRID, "alpha_rule": "all_features"},
    "refit": {"refit_alpha": 2.5},
    "refit by leave-one-out": {"refit_alpha": "loo"},
    "folds": {"cv": 4},
    "one fold": {"cv": [(list(range(12)), list(range(12, 24)))]},
    "absolute": {"loss": "absolute"},
    "zero-one": {"loss": "zero_one", "alpha": GRID, "cv": 3},
    "balanced": {"loss": "balanced_zero_one"},
    "auc": {"loss": "auc", "alpha": GRID},
    "function": {"loss": opposite_correlation},
    "function of folds": {"loss": opposite_correlation, "cv": 3, "alpha": GRID, "n_runners_up": 1},
}
