"""Rows on a Dask cluster: the answer of leave-one-out is that of the same rows in memory."""

from __future__ import annotations

import functools
import time
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from clusters import Array, assert_same_path, cut, problem
from greedyrls import (
    GreedyRLSClassifier,
    GreedyRLSRegressor,
    SelectionPath,
    Step,
    extend_path,
    greedy_path,
)
from internals import GreedyRLSWarning
from sweeps import EXAMPLES

pytest_plugins = ["cluster_fixture"]
pytestmark = [pytest.mark.usefixtures("client"), pytest.mark.xdist_group("dask")]

NAMES = list("abcdefgh")


def data(kind: str) -> tuple[Array, Array]:
    """X and y of some kind."""
    X, y, _ = problem()
    if kind == "far from the origin":
        X = X + 1e6
    elif kind == "float32":
        X = X.astype(np.float32)
    elif kind == "whole numbers":
        X = np.round(3.0 * X).astype(np.int16)
    elif kind == "flags":
        X = X > 0.3
    elif kind == "Fortran order":
        X = np.asfortranarray(X)
    elif kind == "two targets":
        y = np.stack([y, X[:, 6] - X[:, 2]], axis=1)
    elif kind == "two classes":
        y = np.where(y > 0.4, 1.0, -1.0)
    elif kind == "three classes":
        y = np.where(np.digitize(y, [-1.0, 1.0])[:, None] == np.arange(3), 1.0, -1.0)
    return X, y


# The kind of data, whether they have weights, and options.
CASES: dict[str, tuple[str, bool, dict[str, Any]]] = {
    "plain": ("normal", False, {"n_runners_up": 2}),
    "weights": ("normal", True, {}),
    "two targets": ("two targets", True, {}),
    "without intercept": ("normal", True, {"fit_intercept": False}),
    "far from the origin": ("far from the origin", False, {}),
    "float32": ("float32", False, {}),
    "whole numbers": ("whole numbers", False, {}),
    "flags": ("flags", True, {}),
    "Fortran order": ("Fortran order", False, {}),
    "bounded": ("normal", False, {"search": "bounded"}),
    "forced": ("normal", False, {"forced_features": [6], "excluded_features": [0]}),
    "patience": ("normal", False, {"n_features": 8, "patience": 1, "tol": 0.4}),
    "one error": ("normal", True, {"n_features": "auto", "max_features": 3, "size_rule": "1se"}),
    "refit": ("normal", True, {"refit_alpha": "loo"}),
    "absolute": ("normal", True, {"loss": "absolute"}),
    "absolute, one error": (
        "normal",
        False,
        {"n_features": "auto", "max_features": 3, "size_rule": "1se", "loss": "absolute"},
    ),
    "zero-one": ("two classes", False, {"loss": "zero_one", "n_runners_up": 1}),
    "balanced": ("two classes", True, {"loss": "balanced_zero_one", "refit_alpha": "loo"}),
    "three classes": ("three classes", True, {"loss": "balanced_zero_one"}),
    "penalties, joint": ("normal", False, {"n_features": 1, "alpha_rule": "joint"}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_that_in_memory(case: str) -> None:
    kind, is_weighted, given_options = CASES[case]
    X, y = data(kind)
    weights = problem()[2]
    options: dict[str, Any] = {"n_features": 2, "alpha": 0.5, **given_options}
    if options.get("alpha_rule") == "joint":
        options["alpha"] = [0.1, 10.0]
    own = {"sample_weight": cut(weights)} if is_weighted else {}
    found = greedy_path(cut(X), cut(y), **options, **own)
    expected = greedy_path(X, y, **options, sample_weight=weights if is_weighted else None)
    assert_same_path(found, expected)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.slow
def test_sparse_chunks(make: Any) -> None:
    X, y, weights = problem()
    X[np.abs(X) < 0.8] = 0.0
    found = greedy_path(cut(X).map_blocks(make), cut(y), 2, sample_weight=cut(weights), alpha=0.3)
    assert_same_path(
        found, greedy_path(sparse.csr_array(X), y, 2, sample_weight=weights, alpha=0.3)
    )


@functools.cache
def expected_path() -> SelectionPath:
    X, y, weights = problem()
    return greedy_path(X, y, 2, sample_weight=weights)


def empty_chunks(values: Array) -> Any:
    return cut(values, (0, 9, 0, 0, 37, 0))


def of_unknown_rows(values: Array) -> Any:
    """Chunks whose numbers of rows Dask does not know."""
    return cut(values)[cut(np.ones(len(values), dtype=bool))]


PARTITIONS: dict[str, tuple[Any, Any, Any]] = {
    "one": (lambda v: cut(v, len(v)), cut, cut),
    "others for y": (cut, lambda v: cut(v, 11), lambda v: cut(v, len(v))),
    "y in memory": (cut, np.asarray, np.asarray),
    "lists": (cut, np.ndarray.tolist, np.ndarray.tolist),
    "series": (cut, pd.Series, pd.Series),
    "columns": (lambda v: da.from_array(v, chunks=(23, 3)), cut, cut),
    "no rows": (empty_chunks, empty_chunks, empty_chunks),
    "no rows in X alone": (empty_chunks, cut, np.asarray),
    "unknown": (of_unknown_rows, of_unknown_rows, of_unknown_rows),
    "unknown in X alone": (of_unknown_rows, cut, np.asarray),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTITIONS)
def test_however_the_rows_are_partitioned(name: str) -> None:
    of_X, of_y, of_weights = PARTITIONS[name]
    X, y, weights = problem()
    found = greedy_path(of_X(X), of_y(y), 2, sample_weight=of_weights(weights))
    assert_same_path(found, expected_path())


@pytest.mark.slow
def test_many_tiny_partitions() -> None:
    X, y, _ = problem(m=40, n=5)
    assert_same_path(greedy_path(cut(X, 2), cut(y, 2), 1), greedy_path(X, y, 1))


@pytest.mark.slow
def test_targets_in_chunks_of_columns() -> None:
    X, y = data("two targets")
    found = greedy_path(cut(X), da.from_array(y, chunks=(20, 1)), 2)
    assert_same_path(found, greedy_path(X, y, 2))
    single = greedy_path(cut(X), da.from_array(y[:, :1], chunks=(20, 1)), 2)
    assert_same_path(single, greedy_path(X, y[:, :1], 2))


@pytest.mark.heavy
@settings(max_examples=max(2, EXAMPLES // 500))
@given(st.data())
@pytest.mark.slow
def test_random_partitions(draw: st.DataObject) -> None:
    m = draw.draw(st.integers(12, 30))
    X, y, weights = problem(draw.draw(st.integers(0, 99)), m=m, n=6)

    def rows() -> list[int]:
        ends = draw.draw(st.lists(st.integers(0, m), max_size=6).map(sorted))
        return np.diff([0, *ends, m]).tolist()

    options: dict[str, Any] = {
        "cv": draw.draw(st.sampled_from(["loo", 3])),
        "loss": draw.draw(st.sampled_from(["squared", "absolute"])),
        "fit_intercept": draw.draw(st.booleans()),
        "alpha": 10.0 ** draw.draw(st.integers(-2, 2)),
    }
    # All is drawn before the cluster has work: its threads draw random numbers of their own.
    parts = rows(), rows(), rows()
    pieces = [cut(array, part) for array, part in zip((X, y, weights), parts, strict=True)]
    found = greedy_path(pieces[0], pieces[1], 2, sample_weight=pieces[2], **options)
    assert_same_path(found, greedy_path(X, y, 2, sample_weight=weights, **options))


def frame() -> pd.DataFrame:
    X, y, weights = problem()
    return pd.DataFrame(X, columns=NAMES).assign(y=y, weight=weights)


@pytest.mark.slow
def test_data_frames() -> None:
    table = frame()
    lazy = dd.from_pandas(table, npartitions=4)
    options: dict[str, Any] = {"forced_features": ["f"], "excluded_features": ["b"]}
    found = greedy_path(lazy[NAMES], lazy["y"], 3, sample_weight=lazy["weight"], **options)
    expected = greedy_path(table[NAMES], table["y"], 3, sample_weight=table["weight"], **options)
    assert_same_path(found, expected)
    assert found.names() == expected.names()


@pytest.mark.parametrize("change", ["filtered", "divisions", "values", "single"])
@pytest.mark.slow
def test_data_frames_of_partitions_that_are_not_known(change: str) -> None:
    table = frame()
    lazy = dd.from_pandas(table, npartitions=1 if change == "single" else 4)
    if change == "filtered":  # the second partition has no rows
        table["place"] = np.arange(len(table))
        lazy = dd.from_pandas(table, npartitions=4)
        table, lazy = (f[(f["place"] < 12) | (f["place"] >= 24)] for f in (table, lazy))
    elif change == "divisions":
        lazy = lazy.clear_divisions()
    X, y = lazy[NAMES], lazy[["y"]]
    expected = greedy_path(table[NAMES], table[["y"]], 2)
    if change == "values":
        X, y, expected = (
            X.values,
            lazy["y"].values,
            greedy_path(table[NAMES].to_numpy(), table["y"], 2),
        )
    assert_same_path(greedy_path(X, y, 2), expected)


@pytest.mark.slow
def test_a_data_frame_of_mixed_types() -> None:
    table = frame().astype({"a": "float32"})
    table["b"] = (10 * table["b"]).round().astype(int)
    table["c"] = table["c"] > 0
    lazy = dd.from_pandas(table, npartitions=3)
    found = greedy_path(lazy[NAMES], lazy["y"], 2)
    assert_same_path(found, greedy_path(table[NAMES], table["y"], 2))
    model = GreedyRLSRegressor(2, alpha=1.0).fit(table[NAMES], table["y"])
    assert_lazy_and_same(model.predict(lazy[NAMES]), model.predict(table[NAMES]))


@pytest.mark.slow
def test_a_data_frame_of_nullable_types() -> None:
    table = frame().astype({"a": "Float64", "y": "Float64"})
    table["b"] = (10 * table["b"]).round().astype("Int64")
    lazy = dd.from_pandas(table, npartitions=3)
    expected = greedy_path(table[NAMES], table["y"], 2)
    assert_same_path(greedy_path(lazy[NAMES], lazy["y"], 2), expected)


@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.slow
def test_a_path_goes_on(cv: Any) -> None:
    X, y, _ = problem()
    path = greedy_path(cut(X), cut(y), 1, cv=cv)
    longer = extend_path(path, cut(X, 16), cut(y, 16), 3, cv=cv)
    assert_same_path(longer, extend_path(greedy_path(X, y, 1, cv=cv), X, y, 3, cv=cv))
    with pytest.raises(ValueError, match="The data are not those of the path"):
        extend_path(path, cut(X), cut(y[::-1].copy()), 3, cv=cv)


def interrupt(step: Step) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.slow
def test_checkpoints(cv: Any, tmp_path: Path) -> None:
    X, y, _ = problem()
    file = tmp_path / "search.checkpoint"
    for size in (1, 2):
        path = greedy_path(cut(X), cut(y), 3, cv=cv, checkpoint=file, callback=interrupt)
        assert path.interrupted
        assert len(path) == size
    whole = greedy_path(cut(X), cut(y), 3, cv=cv, checkpoint=file)
    assert_same_path(whole, greedy_path(X, y, 3, cv=cv))
    # It has ended: nothing is asked of the callback any more.
    assert greedy_path(cut(X), cut(y), 3, cv=cv, checkpoint=file, callback=interrupt) == whole
    other = y.copy()
    other[-1] += 1.0
    with pytest.raises(ValueError, match=r"search\.checkpoint.* y"):
        greedy_path(cut(X), cut(other), 3, cv=cv, checkpoint=file)


@pytest.mark.slow
def test_a_checkpoint_of_other_folds_is_refused(tmp_path: Path) -> None:
    X, y, _ = problem()
    ids = np.arange(len(y)) % 3
    file = tmp_path / "search.checkpoint"
    greedy_path(cut(X), cut(y), 3, cv=cut(ids), checkpoint=file, callback=interrupt)
    # As many rows in each fold as before, but other ones.
    with pytest.raises(ValueError, match=r"search\.checkpoint"):
        greedy_path(cut(X), cut(y), 3, cv=cut(np.sort(ids)), checkpoint=file)


@pytest.mark.slow
def test_a_finished_checkpoint_of_other_folds_is_refused(tmp_path: Path) -> None:
    X, y, _ = problem()
    file = tmp_path / "search.checkpoint"
    ids = np.arange(len(y)) % 3
    greedy_path(cut(X), cut(y), 2, cv=cut(ids), checkpoint=file)
    # As many rows in each fold, but other ones.
    with pytest.raises(ValueError, match=r"other data .*rows of the folds \(cv\)"):
        greedy_path(cut(X), cut(y), 2, cv=cut(ids[::-1].copy()), checkpoint=file)


@pytest.mark.slow
def test_a_checkpoint_of_penalties(tmp_path: Path) -> None:
    X, y, _ = problem()
    file = tmp_path / "search.checkpoint"
    options: dict[str, Any] = {"alpha": [0.1, 10.0], "alpha_cv": 2}
    X = X[:, :3]
    path = greedy_path(cut(X, 23), cut(y, 23), 2, **options, checkpoint=file, callback=interrupt)
    assert path.interrupted
    whole = greedy_path(cut(X, 23), cut(y, 23), 2, **options, checkpoint=file)
    assert_same_path(whole, greedy_path(X, y, 2, **options))


def assert_lazy_and_same(found: Any, expected: Array) -> None:
    assert isinstance(found, da.Array)
    values = found.compute()
    assert found.ndim == expected.ndim
    assert found.dtype == expected.dtype
    if expected.dtype.kind == "f":
        assert_allclose(values, expected, rtol=1e-9, atol=1e-12)
    else:
        assert_array_equal(values, expected)


@pytest.mark.slow
def test_the_regressor() -> None:
    table = frame()
    lazy = dd.from_pandas(table, npartitions=3)
    X, y = table[NAMES], table["y"]
    expected = GreedyRLSRegressor(2, alpha=0.5).fit(X, y, table["weight"])
    model = GreedyRLSRegressor(2, alpha=0.5).fit(lazy[NAMES], lazy["y"], lazy["weight"])
    assert_same_path(model.path_, expected.path_)
    assert_array_equal(model.feature_names_in_, NAMES)
    assert_array_equal(model.get_feature_names_out(), expected.get_feature_names_out())
    assert model.n_features_in_ == 8
    assert_allclose(model.coef_, expected.coef_, rtol=1e-8)
    assert_lazy_and_same(model.predict(lazy[NAMES]), expected.predict(X))
    assert_allclose(model.predict(X), expected.predict(X), rtol=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(lazy[NAMES[::-1]])
    with pytest.raises(ValueError, match=r"7 features.*expecting 8"):
        model.predict(lazy[NAMES[:7]])


@pytest.mark.parametrize("chunks", [(23, 8), (13, 3)])
@pytest.mark.slow
def test_predictions_of_arrays(chunks: tuple[int, int]) -> None:
    X, y = data("two targets")
    lazy = da.from_array(X, chunks=chunks)
    model = GreedyRLSRegressor(2, alpha=1.0).fit(X, y)
    assert_lazy_and_same(model.predict(lazy), model.predict(X))
    single = GreedyRLSRegressor(2, alpha=1.0).fit(X, y[:, 0])
    assert_lazy_and_same(single.predict(lazy), single.predict(X))
    unknown = of_unknown_rows(X)
    assert_allclose(single.predict(unknown).compute(), single.predict(X), rtol=1e-9)


@pytest.mark.slow
def test_predictions_of_sparse_chunks() -> None:
    X, y, _ = problem()
    X[np.abs(X) < 0.8] = 0.0
    model = GreedyRLSRegressor(2, alpha=1.0).fit(X, y)
    assert_lazy_and_same(model.predict(cut(X).map_blocks(sparse.csr_array)), model.predict(X))


def labels(count: int) -> Array:
    """Classes that do not come in alphabetical order."""
    _, y, _ = problem()
    names = np.array(["pear", "apple"] if count == 2 else ["pear", "fig", "apple"])
    return names[np.digitize(y, [0.4] if count == 2 else [-1.0, 1.0])]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.slow
def test_the_classifier(count: int, cv: Any) -> None:
    X, _, weights = problem()
    y = labels(count)
    options: dict[str, Any] = {"alpha": 0.5, "cv": cv, "loss": "squared"}
    expected = GreedyRLSClassifier(2, **options).fit(X, y, weights)
    model = GreedyRLSClassifier(2, **options).fit(cut(X), cut(y), cut(weights))
    assert_same_path(model.path_, expected.path_)
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert_lazy_and_same(model.decision_function(cut(X, 20)), expected.decision_function(X))
    assert_lazy_and_same(model.predict(cut(X, 20)), expected.predict(X))


@pytest.mark.parametrize("kind", ["objects", "categories", "numbers"])
@pytest.mark.slow
def test_labels_of_any_kind_in_a_data_frame(kind: str) -> None:
    table = frame()
    text = pd.Series(labels(2))
    table["y"] = {
        "objects": text.astype(object),
        "categories": text.astype("category"),
        "numbers": (text == "pear") + 3,
    }[kind]
    lazy = dd.from_pandas(table, npartitions=3)
    expected = GreedyRLSClassifier(1, alpha=1.0).fit(table[NAMES], table["y"])
    model = GreedyRLSClassifier(1, alpha=1.0).fit(lazy[NAMES], lazy["y"])
    assert_same_path(model.path_, expected.path_)
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert_array_equal(model.predict(lazy[NAMES]).compute(), expected.predict(table[NAMES]))


@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.slow
def test_a_class_without_weight(cv: Any) -> None:
    X, y = problem()[0], labels(3)
    weights = 1.0 * (y != "fig")
    options: dict[str, Any] = {"alpha": 1.0, "cv": cv, "loss": "squared"}
    expected = GreedyRLSClassifier(1, **options).fit(X, y, weights)
    model = GreedyRLSClassifier(1, **options).fit(cut(X), cut(y), cut(weights))
    assert_same_path(model.path_, expected.path_)


@pytest.mark.slow
def test_losses_of_the_classifier() -> None:
    X, y = problem()[0], labels(3)
    options: dict[str, Any] = {"alpha": 0.5, "loss": "balanced_zero_one", "cv": 3}
    expected = GreedyRLSClassifier(2, **options).fit(X, y)
    assert_same_path(GreedyRLSClassifier(2, **options).fit(cut(X), y).path_, expected.path_)


@pytest.mark.slow
def test_a_class_of_a_single_row() -> None:
    X, y = problem()[0], labels(2)
    y[20] = "kiwi"
    X = X[:, :3]
    options: dict[str, Any] = {"alpha": [0.5, 50.0], "loss": "squared"}
    expected = GreedyRLSClassifier(1, **options).fit(X, y)
    model = GreedyRLSClassifier(1, **options).fit(cut(X, 23), cut(y, 23))
    assert_same_path(model.path_, expected.path_)


@pytest.mark.slow
def test_the_classifier_as_it_comes() -> None:
    X, y = problem()[0][:16, :2], labels(2)[:16]
    with pytest.warns(GreedyRLSWarning, match="No features were chosen"):
        expected = GreedyRLSClassifier(loss="squared").fit(X, y)
    with pytest.warns(GreedyRLSWarning, match="No features were chosen"):
        model = GreedyRLSClassifier().fit(cut(X, 8), cut(y, 8))
    assert_same_path(model.path_, expected.path_)


@pytest.mark.slow
def test_nothing_is_left_on_the_cluster(client: Client) -> None:
    X, y, _ = problem()
    # Errors that other tests have caught may hold what was on the cluster then.
    before = {key for keys in client.has_what().values() for key in keys}
    path = greedy_path(cut(X), cut(y), 1)
    model = GreedyRLSClassifier(1, alpha=1.0, cv=3).fit(cut(X), cut(labels(2)))
    assert len(path) == len(model.path_) == 1
    for _ in range(50):  # the workers are told after a moment
        left = [key for keys in client.has_what().values() for key in keys if key not in before]
        if not left:
            break
        time.sleep(0.1)
    assert left == []


@pytest.mark.slow
def test_probabilities_of_collections_are_lazy() -> None:
    X, _, _ = problem()
    for y in ((X[:, 0] > 0.3).astype(int), np.digitize(X[:, 0], [-0.5, 0.5])):
        expected = GreedyRLSClassifier(2, alpha=1.0).fit(X, y)
        found = expected.predict_proba(cut(X))
        assert hasattr(found, "dask")
        assert found.shape == (len(X), len(np.unique(y)))
        assert_allclose(found.compute(), expected.predict_proba(X), rtol=1e-9)
        assert_allclose(
            expected.predict_log_proba(cut(X)).compute(), expected.predict_log_proba(X), rtol=1e-9
        )
