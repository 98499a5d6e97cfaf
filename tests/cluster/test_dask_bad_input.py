"""Dask collections that cannot be worked with: every error names the value and what to do."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import (
    StratifiedKFold,
)

from clusters import cut, problem
from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, greedy_path

pytest_plugins = ["cluster_fixture"]
pytestmark = [pytest.mark.usefixtures("client"), pytest.mark.xdist_group("dask"), pytest.mark.slow]

_ALONE = """
import sys
import dask.array as da
from greedyrls import greedy_path
assert "distributed" not in sys.modules, "loaded too early"
X = da.zeros((20, 3), chunks=(10, 3))
try:
    greedy_path(X, X[:, 0], 2)
except ValueError as error:
    print(error)
"""


def test_without_a_client() -> None:
    command = [sys.executable, "-c", _ALONE]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert "no cluster" in told
    assert "client = Client()" in told


_IN_MEMORY = """
import sys
import numpy as np
from greedyrls import GreedyRLSRegressor, greedy_path
X = np.random.default_rng(0).normal(size=(20, 3))
greedy_path(X, X[:, 0], 2)
GreedyRLSRegressor(2, alpha=1.0).fit(X, X[:, 0]).predict(X)
assert not {"dask", "distributed"} & set(sys.modules)
"""


def test_rows_in_memory_need_no_dask() -> None:
    subprocess.run([sys.executable, "-c", _IN_MEMORY], check=True, timeout=60)


@pytest.mark.parametrize(("value", "cv"), [(np.nan, "loo"), (np.inf, 3), (-np.inf, "loo")])
def test_values_of_x_that_are_no_numbers(value: float, cv: Any) -> None:
    X, y, _ = problem()
    X[35, 6] = value  # in the last partition
    with pytest.raises(ValueError, match=r"X contains (NaN|inf).*\b35\b.*\b6\b"):
        greedy_path(cut(X), cut(y), 2, cv=cv)


def test_the_name_of_a_column_that_has_no_number() -> None:
    X, y, _ = problem()
    X[20, 1] = np.nan
    table = pd.DataFrame(X, columns=[f"x{index}" for index in range(8)])
    with pytest.raises(ValueError, match=r"NaN.*20.*x1"):
        greedy_path(dd.from_pandas(table, npartitions=3), y, 2)


@pytest.mark.parametrize(("value", "kind"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_values_of_y_that_are_no_numbers(value: float, kind: str) -> None:
    X, y, _ = problem()
    y[40] = value
    with pytest.raises(ValueError, match=rf"y contains {kind}: row 40\b"):
        greedy_path(cut(X), cut(y), 2)
    with pytest.raises(ValueError, match=rf"y contains {kind}: row 40, column 1\b"):
        greedy_path(cut(X), cut(np.stack([X[:, 0], y], axis=1)), 2)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_weights_that_are_none(value: float) -> None:
    X, y, weights = problem()
    weights[19] = value  # the first row of the last partition
    with pytest.raises(ValueError, match=r"sample_weight.*row 19 has (-1\.0|nan|inf)"):
        greedy_path(cut(X), cut(y), 2, sample_weight=cut(weights))


def test_no_weight_at_all() -> None:
    X, y, weights = problem()
    with pytest.raises(ValueError, match=r"sample_weight|weight"):
        greedy_path(cut(X), cut(y), 2, sample_weight=cut(0.0 * weights))


def test_text_in_a_data_frame() -> None:
    X, y, _ = problem()
    table = pd.DataFrame(X, columns=[f"x{index}" for index in range(8)])
    table["town"] = "Turku"
    with pytest.raises(ValueError, match=r"town.*Turku|Turku.*town"):
        greedy_path(dd.from_pandas(table, npartitions=3), y, 2)


@pytest.mark.parametrize("kind", ["text", "complex", "dates"])
def test_arrays_of_other_types(kind: str) -> None:
    X, y, _ = problem()
    given = {
        "text": X.astype(str),
        "complex": X + 1j,
        "dates": X.astype("datetime64[s]"),
    }[kind]
    with pytest.raises(ValueError, match=r"X must be numeric, got (<U|complex|datetime)"):
        greedy_path(cut(given), cut(y), 2)
    with pytest.raises(ValueError, match=r"y must be numeric, got (<U|complex|datetime)"):
        greedy_path(cut(X), cut(given[:, 0]), 2)


@pytest.mark.parametrize("shape", [(46,), (46, 2, 4)])
def test_x_of_another_dimension(shape: tuple[int, ...]) -> None:
    X, y, _ = problem()
    given = da.from_array(np.resize(X, shape), chunks=(20, *shape[1:]))
    with pytest.raises(ValueError, match=r"X must have 2 dimensions|Expected 2D array"):
        greedy_path(given, cut(y), 2)
    with pytest.raises(ValueError, match=r"X must have 2 dimensions|Expected 2D array"):
        GreedyRLSRegressor(2, alpha=1.0).fit(given, cut(y))


def test_a_series_for_x() -> None:
    X, y, _ = problem()
    series = dd.from_pandas(pd.Series(X[:, 0]), npartitions=2)
    with pytest.raises(ValueError, match=r"X must have 2 dimensions"):
        greedy_path(series, cut(y), 1)


def test_y_of_another_dimension() -> None:
    X, _, _ = problem()
    with pytest.raises(ValueError, match=r"y must have 1 or 2 dimensions.*\(\d+, 2, 2\)"):
        greedy_path(cut(X), cut(np.zeros((46, 2, 2))), 2)


def test_y_is_missing() -> None:
    X, _, _ = problem()
    with pytest.raises(ValueError, match="y"):
        greedy_path(cut(X), None, 2)


@pytest.mark.parametrize("is_lazy", [False, True])
def test_other_lengths(is_lazy: bool) -> None:
    X, y, _ = problem()
    short = cut(y[:40], 20) if is_lazy else y[:40]
    with pytest.raises(ValueError, match=r"y has .*40.*X has 46"):
        greedy_path(cut(X), short, 2)
    with pytest.raises(ValueError, match=r"sample_weight has .*40.*X has 46"):
        greedy_path(cut(X), cut(y), 2, sample_weight=short)
    if is_lazy:
        with pytest.raises(ValueError, match=r"cv has .*40.*X has 46"):
            greedy_path(cut(X), cut(y), 2, cv=short.astype(int))


def test_partitions_that_do_not_match() -> None:
    X, y, _ = problem()
    table = pd.DataFrame(X, columns=[f"x{index}" for index in range(8)]).assign(y=y)
    lazy = dd.from_pandas(table, npartitions=2)
    other = dd.from_pandas(table["y"], npartitions=3)
    with pytest.raises(ValueError, match=r"y has partitions of 16, 15, 15 rows, X of 23, 23"):
        greedy_path(lazy[[f"x{index}" for index in range(8)]], other, 2)


@pytest.mark.parametrize("columns", [0, 2])
def test_weights_of_another_shape(columns: int) -> None:
    X, y, _ = problem()
    with pytest.raises(ValueError, match=r"sample_weight"):
        greedy_path(cut(X), cut(y), 2, sample_weight=cut(np.ones((46, columns))))


def test_no_rows() -> None:
    X, y, _ = problem()
    with pytest.raises(ValueError, match=r"0 sample"):
        greedy_path(cut(X[:0], 1), cut(y[:0], 1), 2)
    with pytest.raises(ValueError, match=r"0 feature|no feature"):
        greedy_path(cut(X[:, :0]), cut(y), 1)
    with pytest.raises(ValueError, match=r"1 sample|n_samples ?= ?1|at least 2"):
        greedy_path(cut(X[:1], 1), cut(y[:1], 1), 1)


def test_losses_of_classes() -> None:
    X, y, _ = problem()
    with pytest.raises(ValueError, match=r"zero_one.*-1 and \+1.*GreedyRLSClassifier"):
        greedy_path(cut(X), cut(y), 2, loss="zero_one")
    with pytest.raises(ValueError, match="only one"):
        greedy_path(cut(X), cut(np.ones(46)), 2, loss="zero_one")
    signs = np.where(np.arange(46) < 40, 1.0, -1.0)
    with pytest.raises(ValueError, match=r"every class in each fold; fold 0"):
        greedy_path(cut(X), cut(signs), 2, loss="balanced_zero_one", cv=5)


NO_FOLDS: dict[str, Any] = {
    "share": 0.5,
    "flag": True,
    "word": "kfold",
    "none": None,
}


@pytest.mark.parametrize("name", NO_FOLDS)
def test_values_that_are_no_folds(name: str) -> None:
    X, y, _ = problem()
    cv = NO_FOLDS[name]
    with pytest.raises((ValueError, TypeError), match=r"cv.*cluster.*Dask array|cluster cv must"):
        greedy_path(cut(X), cut(y), 2, cv=cv)
    if name not in ("word", "none"):
        with pytest.raises((ValueError, TypeError), match=r"alpha_cv"):
            greedy_path(cut(X), cut(y), 2, alpha=[0.1, 1.0], alpha_cv=cv)


@pytest.mark.parametrize("cv", ["loo", 3])
def test_blocks_of_rows_are_the_chunks(cv: Any) -> None:
    X, y, _ = problem()
    with pytest.raises(ValueError, match=r"block_rows=7 is not supported .* rechunk X"):
        greedy_path(cut(X), cut(y), 2, cv=cv, block_rows=7)


def test_numbers_of_folds() -> None:
    X, y, weights = problem()
    with pytest.raises(ValueError, match=r"cv=1 is too few"):
        greedy_path(cut(X), cut(y), 2, cv=1)
    with pytest.raises(ValueError, match=r"cv=47 is more folds than the 46 samples"):
        greedy_path(cut(X), cut(y), 2, cv=47)
    count = np.count_nonzero(weights)
    with pytest.raises(ValueError, match=rf"more folds than the {count} samples"):
        greedy_path(cut(X), cut(y), 2, cv=count + 1, sample_weight=cut(weights))
    with pytest.raises(ValueError, match=r"StratifiedKFold"):
        greedy_path(cut(X), cut(y), 2, cv=StratifiedKFold(3))


FOLD_IDS: dict[str, tuple[Any, str]] = {
    "text": (np.resize(["a", "b"], 46), r"whole numbers.*<U1"),
    "shares": (np.resize([0.0, 1.0], 46), r"whole numbers.*float64"),
    "one": (np.zeros(46, dtype=int), r"only one fold|at least 2"),
    "none": (np.full(46, -1), r"at least 2|-1"),
    "table": (np.zeros((46, 2), dtype=int), r"1-D"),
}


@pytest.mark.parametrize("name", FOLD_IDS)
def test_fold_ids_that_are_none(name: str) -> None:
    X, y, _ = problem()
    ids, message = FOLD_IDS[name]
    with pytest.raises(ValueError, match=message):
        greedy_path(cut(X), cut(y), 2, cv=cut(ids))


def test_folds_without_weight() -> None:
    X, y, _ = problem()
    ids = np.arange(46) % 3
    with pytest.raises(ValueError, match=r"Split 1.*no test rows with a positive weight"):
        greedy_path(cut(X), cut(y), 2, cv=cut(ids), sample_weight=cut(1.0 * (ids != 1)))


def test_x_in_memory_with_a_lazy_y() -> None:
    """Where X is in memory, y is brought there, as NumPy does with any array."""
    X, y, weights = problem()
    found = greedy_path(X, cut(y), 2, sample_weight=cut(weights))
    assert_array_equal(found.indices, greedy_path(X, y, 2, sample_weight=weights).indices)


def test_labels_that_are_none() -> None:
    X, y, _ = problem()
    model = GreedyRLSClassifier(2, alpha=1.0)
    with pytest.raises(ValueError, match=r"only one class is present.*'fig'"):
        model.fit(cut(X), cut(np.full(46, "fig")))
    with pytest.raises(ValueError, match=r"Unknown label type|continuous"):
        model.fit(cut(X), cut(y))
    missing = np.where(y > 0, 1.0, 0.0)
    missing[40] = np.nan
    with pytest.raises(ValueError, match=r"y contains NaN.*every row needs a label"):
        model.fit(cut(X), cut(missing))
    with pytest.raises(ValueError, match=r"1 dimension"):
        model.fit(cut(X), cut(np.resize(["a", "b"], (46, 2))))


def test_a_missing_label_in_a_data_frame() -> None:
    X, y, _ = problem()
    names = [f"x{index}" for index in range(8)]
    table = pd.DataFrame(X, columns=names)
    table["y"] = np.where(y > 0, "fig", "pear")
    table.loc[40, "y"] = None
    lazy = dd.from_pandas(table, npartitions=3)
    for labels in (lazy["y"], lazy["y"].astype(object)):
        with pytest.raises(ValueError, match=r"y contains NaN"):
            GreedyRLSClassifier(2, alpha=1.0).fit(lazy[names], labels)


def test_a_missing_value_of_a_nullable_type() -> None:
    X, y, _ = problem()
    names = [f"x{index}" for index in range(8)]
    table = pd.DataFrame(X, columns=names).assign(y=y).astype({"x1": "Float64", "y": "Float64"})
    table.loc[40, "x1"] = pd.NA
    lazy = dd.from_pandas(table, npartitions=3)
    with pytest.raises(ValueError, match=r"X contains NaN: row 40, column 1 \('x1'\)"):
        greedy_path(lazy[names], lazy["y"], 2)
    table = table.fillna({"x1": 0.0})
    table.loc[30, "y"] = pd.NA
    lazy = dd.from_pandas(table, npartitions=3)
    with pytest.raises(ValueError, match=r"y contains NaN: row 30\b"):
        greedy_path(lazy[names], lazy["y"], 2)


def test_only_one_class_has_weight() -> None:
    X, y, _ = problem()
    labels = np.digitize(y, [-1.0, 1.0])
    weights = 1.0 * (labels == 1)
    for options in ({}, {"cv": 3}, {"loss": "zero_one"}):
        model = GreedyRLSClassifier(2, alpha=1.0, **options)
        with pytest.raises(ValueError, match=r"only one class.*positive weight.*label 1"):
            model.fit(cut(X), cut(labels), cut(weights))


def test_an_estimator_is_not_half_fitted_after_an_error() -> None:
    X, y, _ = problem()
    model = GreedyRLSRegressor(2, alpha=1.0).fit(X, y)
    with pytest.raises(ValueError, match="n_features_to_select"):
        GreedyRLSRegressor(9, alpha=1.0).fit(cut(X), cut(y))
    assert_array_equal(model.predict(cut(X)).compute().shape, (46,))
    with pytest.raises(ValueError, match=r"7 features.*expecting 8"):
        model.predict(cut(X[:, :7]))


def test_options_of_other_data() -> None:
    X, y, _ = problem()
    with pytest.raises(ValueError, match="memory_limit is for X in a file"):
        greedy_path(cut(X), cut(y), 2, memory_limit="2GB")
