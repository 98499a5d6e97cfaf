"""Data that must be refused, each with the error that it gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.testing import assert_array_equal
from scipy import sparse

M, N = 30, 8
NAMES = list("abcdefgh")
Arguments = dict[str, Any]
Change = Callable[[Any, Any], Arguments]


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(17)
    X = rng.standard_normal((M, N))
    return X, X[:, 5] - X[:, 2] + rng.standard_normal(M)


def put(array: Any, place: Any, value: Any) -> Any:
    """A copy with one value changed."""
    array = array.copy()
    array[place] = value
    return array


def weights(place: int, value: float) -> Any:
    return put(np.ones(M), place, value)


def frame(X: Any) -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES)


def assert_unchanged(before: Arguments, after: Arguments) -> None:
    assert before.keys() == after.keys()
    for name, value in after.items():
        old = before[name]
        if isinstance(value, pd.DataFrame | pl.DataFrame):
            assert value.equals(old)
        elif sparse.issparse(value):
            assert_array_equal(value.toarray(), old.toarray())
        elif isinstance(value, np.ndarray):
            assert value.dtype == old.dtype
            assert value.flags.writeable == old.flags.writeable
            assert_array_equal(value, old)
        else:
            assert value is old or value == old or repr(value) == repr(old)


# Each changes the arguments greedy_path(X, y, n_features=3).
DATA: dict[str, tuple[Change, type[Exception], str]] = {
    "NaN in X": (lambda X, y: {"X": put(X, (4, 6), np.nan)}, ValueError, "NaN: row 4, column 6 "),
    "inf in X": (
        lambda X, y: {"X": put(X, (4, 6), np.inf)},
        ValueError,
        "infinity: row 4, column 6 is inf",
    ),
    "-inf in X": (lambda X, y: {"X": put(X, (0, 0), -np.inf)}, ValueError, "row 0, column 0"),
    "NaN in the last place": (
        lambda X, y: {"X": put(X, (-1, -1), np.nan)},
        ValueError,
        "row 29, column 7",
    ),
    "NaN in Fortran order": (
        lambda X, y: {"X": np.asfortranarray(put(X, (4, 6), np.nan))},
        ValueError,
        "row 4, column 6",
    ),
    "NaN in float32": (
        lambda X, y: {"X": put(X, (4, 6), np.nan).astype(np.float32)},
        ValueError,
        "row 4, column 6",
    ),
    "NaN without intercept": (
        lambda X, y: {"X": put(X, (4, 6), np.nan), "fit_intercept": False},
        ValueError,
        "row 4, column 6",
    ),
    "NaN in a frame": (
        lambda X, y: {"X": frame(put(X, (4, 6), np.nan))},
        ValueError,
        r"row 4, column 6 \('g'\) is nan. Impute missing values first",
    ),
    "null in a polars frame": (
        lambda X, y: {"X": pl.DataFrame({"a": [None, *X[1:, 0]], "b": X[:, 1]}), "n_features": 1},
        ValueError,
        r"row 0, column 0 \('a'\)",
    ),
    "None among objects": (
        lambda X, y: {"X": put(X.astype(object), (4, 6), None)},
        ValueError,
        "row 4, column 6",
    ),
    "NaN in y": (lambda X, y: {"y": put(y, 3, np.nan)}, ValueError, "y contains NaN.*row 3"),
    "inf in y": (lambda X, y: {"y": put(y, 3, np.inf)}, ValueError, "y contains inf.*row 3"),
    "NaN in two targets": (
        lambda X, y: {"y": put(np.c_[y, y], (3, 1), np.nan)},
        ValueError,
        "y contains NaN.*row 3, column 1",
    ),
    "NaN weight": (
        lambda X, y: {"sample_weight": weights(3, np.nan)},
        ValueError,
        "sample_weight contains NaN.*row 3",
    ),
    "infinite weight": (
        lambda X, y: {"sample_weight": weights(3, np.inf)},
        ValueError,
        "sample_weight contains inf.*row 3",
    ),
    "negative weight": (
        lambda X, y: {"sample_weight": weights(3, -1.0)},
        ValueError,
        r"sample_weight must not be negative; row 3 has -1\.0\. Use 0 to leave a sample out",
    ),
    "all weights zero": (
        lambda X, y: {"sample_weight": np.zeros(M)},
        ValueError,
        "sample_weight is zero for every sample; at least 2 must be positive",
    ),
    "one positive weight": (
        lambda X, y: {"sample_weight": put(np.zeros(M), 3, 1.0)},
        ValueError,
        "positive weight: 1.*needs at least 2 samples",
    ),
    "short weights": (
        lambda X, y: {"sample_weight": np.ones(M - 1)},
        ValueError,
        "sample_weight.*29",
    ),
    "weights in two dimensions": (
        lambda X, y: {"sample_weight": np.ones((M, 2))},
        ValueError,
        r"sample_weight.*\(30, 2\)",
    ),
    "one number as weights": (lambda X, y: {"sample_weight": 2.0}, ValueError, "sample_weight"),
    "short y": (lambda X, y: {"y": y[:-1]}, ValueError, r"30.*29"),
    "long y": (lambda X, y: {"y": np.r_[y, 1.0]}, ValueError, r"30.*31"),
    "no y": (lambda X, y: {"y": None}, ValueError, "y is None"),
    "y in three dimensions": (
        lambda X, y: {"y": y[:, None, None]},
        ValueError,
        "y must have 1 or 2 dimensions",
    ),
    "one number as y": (lambda X, y: {"y": 2.0}, ValueError, "y must have 1 or 2 dimensions"),
    "no targets": (lambda X, y: {"y": np.empty((M, 0))}, ValueError, "y has no targets"),
    "words in y": (lambda X, y: {"y": np.array(["red"] * M)}, ValueError, "float.*'red'"),
    "complex y": (lambda X, y: {"y": y + 1j}, ValueError, "Complex data not supported"),
    "X in one dimension": (lambda X, y: {"X": X[:, 0]}, ValueError, "Expected 2D array, got 1D"),
    "X in three dimensions": (lambda X, y: {"X": X[:, :, None]}, ValueError, "dim 3"),
    "no X": (lambda X, y: {"X": None}, ValueError, "Expected 2D array"),
    "no rows": (
        lambda X, y: {"X": X[:0], "y": y[:0]},
        ValueError,
        r"0 sample\(s\) \(shape=\(0, 8\)\)",
    ),
    "no columns": (lambda X, y: {"X": X[:, :0]}, ValueError, r"0 feature\(s\) \(shape=\(30, 0\)\)"),
    "one row": (lambda X, y: {"X": X[:1], "y": y[:1]}, ValueError, "at least 2 samples"),
    "words among objects": (
        lambda X, y: {"X": put(X.astype(object), (4, 6), "red")},
        ValueError,
        r"column 6 has text \('red' in row 4\). Encode it first",
    ),
    "words in a frame": (
        lambda X, y: {"X": frame(X).assign(h="red")},
        ValueError,
        r"column 'h' has text \('red' in row 0\)",
    ),
    "numbers as text": (lambda X, y: {"X": X.astype(str)}, ValueError, "Convert your data"),
    "complex X": (lambda X, y: {"X": X + 1j}, ValueError, "Complex data not supported"),
    "NaN in a sparse X": (
        lambda X, y: {"X": sparse.csr_array(put(X, (4, 6), np.nan))},
        ValueError,
        "NaN: row 4, column 6 ",
    ),
    "one huge value in X": (
        lambda X, y: {"X": put(X, (4, 6), 1e200)},
        ValueError,
        "X has values so large.*rescale",
    ),
    "huge X": (lambda X, y: {"X": 1e200 * X}, ValueError, "X has values so large.*rescale"),
    "huge y": (lambda X, y: {"y": 1e200 * y}, ValueError, "y has values so large.*rescale"),
    "huge weights": (
        lambda X, y: {"sample_weight": np.full(M, 1e308)},
        ValueError,
        "sample_weight.*large",
    ),
}
