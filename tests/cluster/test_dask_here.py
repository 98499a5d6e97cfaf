"""Dask collections that are worked on in this process: small ones, and with any option."""

from __future__ import annotations

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from clusters import assert_same_path, cut, problem
from greedyrls import (
    GreedyKernelRLS,
    GreedyRLSClassifier,
    GreedyRLSRanker,
    GreedyRLSRegressor,
    assess,
    extend_path,
    greedy_path,
)
from traps import Traps
from tuning import Tune, tuned

pytest_plugins = ["cluster_fixture"]
pytestmark = [pytest.mark.usefixtures("client"), pytest.mark.xdist_group("dask"), pytest.mark.slow]

GROUPS = np.arange(46) % 5
IN_GROUPS = {"groups": GROUPS}
SPLITTERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "shuffled": (KFold(3, shuffle=True, random_state=0), {}),
    "groups": (GroupKFold(3), IN_GROUPS),
    "lazy groups": (3, {"groups": cut(GROUPS)}),
    "one group out": (LeaveOneGroupOut(), IN_GROUPS),
    "random": (ShuffleSplit(3, random_state=0), {}),
    "time": (TimeSeriesSplit(3), {}),
    "pairs": ([([0, 1, 2], [3, 4]), ([3, 4, 5, 6], [1, 2])], {}),
}


@pytest.mark.parametrize("engine", ["cluster", "file"])
@pytest.mark.parametrize("name", SPLITTERS)
def test_any_splitter(name: str, engine: str, tune: Tune) -> None:
    tune(dask_engine=engine)
    X, y, weights = problem()
    cv, options = SPLITTERS[name]
    given = {**options, "groups": GROUPS} if options else {}
    expected = greedy_path(X, y, 3, cv=cv, sample_weight=weights, **given)
    found = greedy_path(cut(X), cut(y), 3, cv=cv, sample_weight=cut(weights), **options)
    assert_same_path(found, expected)


def test_splitters_of_outer_folds() -> None:
    X, y, _ = problem()
    asked: dict[str, Any] = {"alpha": [0.1, 10.0], "alpha_cv": KFold(3, shuffle=True)}
    asked["alpha_cv"].random_state = 1
    assert_same_path(greedy_path(cut(X), cut(y), 2, **asked), greedy_path(X, y, 2, **asked))


def test_stratified_folds_of_codes() -> None:
    X, y, _ = problem()
    signs = np.sign(y)
    found = greedy_path(cut(X), cut(signs), 2, cv=StratifiedKFold(3))
    assert_same_path(found, greedy_path(X, signs, 2, cv=StratifiedKFold(3)))


OPTIONS: dict[str, dict[str, Any]] = {
    "auc": {"loss": "auc"},
    "auc in folds": {"loss": "auc", "cv": 3},
    "function": {"loss": lambda y_true, y_pred: float(np.mean(np.abs(y_true - y_pred) ** 3))},
    "floating": {"direction": "floating"},
    "backward": {"direction": "backward"},
    "all features": {"alpha": [0.1, 1.0], "alpha_rule": "all_features"},
    "refit by folds": {"cv": 3, "refit_alpha": "cv"},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_any_option(name: str) -> None:
    X, y, _ = problem()
    signs = np.where(y > 0.0, 1.0, -1.0)
    found = greedy_path(cut(X), cut(signs), 3, **OPTIONS[name])
    assert_same_path(found, greedy_path(X, signs, 3, **OPTIONS[name]))


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_chunks(form: Any) -> None:
    X, y, _ = problem()
    X[X < 0.5] = 0.0
    lazy = cut(X).map_blocks(form)
    signs = np.where(y > 0.0, 1.0, -1.0)
    expected = greedy_path(sparse.csr_array(X), signs, 3, loss="auc")
    assert_same_path(greedy_path(lazy, cut(signs), 3, loss="auc"), expected)
    with tuned(dask_engine="file"):
        assert_same_path(greedy_path(lazy, cut(signs), 3, loss="auc"), expected)


@pytest.mark.parametrize("engine", ["cluster", "file"])
def test_data_frames(engine: str, tune: Tune) -> None:
    """Also with partitions that have no rows, and of unknown lengths."""
    tune(dask_engine=engine)
    X, y, _ = problem()
    table = pd.DataFrame(X.astype(np.float32), columns=[f"x{index}" for index in range(8)])
    lazy = dd.from_pandas(table.assign(y=y), npartitions=5)
    lazy = lazy[(lazy["x0"] > 0.0) | (lazy["x1"] > 0.0)]
    lazy = dd.concat(
        [lazy.partitions[0], lazy.partitions[1][lazy.partitions[1]["x0"] > 99.0], lazy]
    )
    rest = lazy.compute()
    model = GreedyRLSRegressor(3, alpha=1.0, cv=KFold(3, shuffle=True, random_state=0))
    found = model.fit(lazy[list(table.columns)], lazy["y"])
    assert found.feature_names_in_.tolist() == list(table.columns)
    path = found.path_
    expected = model.fit(rest[list(table.columns)], rest["y"])
    assert_same_path(path, expected.path_)


def test_fold_ids_beside_partitions_without_rows() -> None:
    X, y, _ = problem()
    table = pd.DataFrame(X, columns=[f"x{index}" for index in range(8)])
    table = table.assign(y=y, fold=np.arange(46) % 3)
    lazy = dd.from_pandas(table, npartitions=3)
    lazy = dd.concat([lazy.partitions[0][lazy.partitions[0]["x0"] > 99.0], lazy])
    found = greedy_path(lazy[[f"x{index}" for index in range(8)]], lazy["y"], 2, cv=lazy["fold"])
    assert_array_equal(found.indices, greedy_path(X, y, 2, cv=np.arange(46) % 3).indices)


CALIBRATED: dict[str, dict[str, Any]] = {
    "leave-one-out": {"alpha": 1.0},
    "folds": {"alpha": 1.0, "cv": 3},
    "outer folds": {"alpha": [0.1, 10.0], "loss": "squared"},
    "nothing": {"alpha": 1.0, "n_features_to_select": "auto", "excluded_features": range(1, 8)},
}


@pytest.mark.filterwarnings("ignore:No features were chosen")
@pytest.mark.parametrize("engine", ["cluster", "file"])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("name", CALIBRATED)
def test_probabilities(name: str, is_weighted: bool, engine: str, tune: Tune) -> None:
    """Sigmoids are fitted to held-out values of all rows, wherever the search was."""
    tune(dask_engine=engine)
    X, y, weights = problem()
    asked = {"n_features_to_select": 2, **CALIBRATED[name]}
    if name == "nothing":
        X[:, 0] = np.arange(46) % 2
    for labels in ((y > 0).astype(int), np.digitize(y, [-1.0, 1.0])):
        given = (weights, cut(weights)) if is_weighted else (None, None)
        expected = GreedyRLSClassifier(**asked).fit(X, labels, given[0])
        found = GreedyRLSClassifier(**asked).fit(cut(X), cut(labels), given[1])
        assert_array_equal(found.selected_, expected.selected_)
        assert found.calibration_ is not None
        assert expected.calibration_ is not None
        assert found.calibration_.sentence == expected.calibration_.sentence
        assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-7)


@pytest.mark.parametrize("engine", ["cluster", "file"])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0}])
@pytest.mark.parametrize("alpha", [1.0, [0.1, 10.0]])
def test_weights_of_classes(alpha: Any, class_weight: Any, engine: str, tune: Tune) -> None:
    tune(dask_engine=engine)
    X, y, weights = problem()
    labels = (y > 0.7).astype(int)
    model = GreedyRLSClassifier(2, alpha=alpha, class_weight=class_weight, loss="squared")
    found = model.fit(cut(X), cut(labels), cut(weights)).path_
    assert_same_path(found, model.fit(X, labels, weights).path_)


@pytest.mark.parametrize("groups", [None, cut(GROUPS)])
def test_assessments(groups: Any) -> None:
    X, y, weights = problem()
    known = None if groups is None else GROUPS
    found = assess.cross_validate_path(
        cut(X), cut(y), 2, alpha=1.0, cv=3, groups=groups, sample_weight=cut(weights)
    )
    expected = assess.cross_validate_path(
        X, y, 2, alpha=1.0, cv=3, groups=known, sample_weight=weights
    )
    assert_allclose(found.test_losses, expected.test_losses, rtol=1e-9)
    if groups is None:
        for assessment in (assess.permutation_null, assess.resample_path):
            assert str(assessment(cut(X), cut(y), 2, random_state=0)) == str(
                assessment(X, y, 2, random_state=0)
            )


def test_kernels_and_rankers() -> None:
    X, y, weights = problem()
    kernels = GreedyKernelRLS(3, alpha=0.1)
    expected = kernels.fit(X, y, weights).predict(X)
    found = kernels.fit(cut(X), cut(y), cut(weights))
    assert_allclose(found.predict(cut(X)), expected, rtol=1e-9)
    ranker = GreedyRLSRanker(2, alpha=1.0)
    chosen = ranker.fit(X, y, groups=GROUPS).selected_
    assert_array_equal(ranker.fit(cut(X), cut(y), groups=cut(GROUPS)).selected_, chosen)


def test_small_data_are_fetched(traps: Traps, tune: Tune) -> None:
    """A question to a cluster takes longer than a search on them."""
    X, y, weights = problem()
    expected = greedy_path(X, y, 4, sample_weight=weights)
    lazy = cut(X), cut(y)
    assert_same_path(greedy_path(*lazy, 4, sample_weight=cut(weights)), expected)
    tune(dask_engine="default")
    questions = traps.watch("ask cluster")
    shorter = greedy_path(*lazy, 2, sample_weight=cut(weights))
    longer = extend_path(shorter, *lazy, 4, sample_weight=cut(weights))
    assert_same_path(longer, extend_path(shorter, X, y, 4, sample_weight=weights))
    assert_same_path(GreedyRLSRegressor(4, alpha=1.0).fit(*lazy, cut(weights)).path_, expected)
    assert questions == []


def test_what_does_not_fit_is_read_like_a_file(tune: Tune) -> None:
    """Columns that are fetched, sums by the workers, and rows a few at a time."""
    tune(dask_engine="file", fetched_bytes=200, largest_file_chunk=400, smallest_file_chunk=100)
    X, y, weights = problem(m=90)
    asked: dict[str, Any] = {"alpha": [0.1, 10.0], "n_runners_up": 2}
    lazy = da.from_array(X, chunks=((50, 1, 39), (3, 5)))
    found = greedy_path(lazy, cut(y, 90), 4, sample_weight=weights, **asked)
    assert_same_path(found, greedy_path(X, y, 4, sample_weight=weights, **asked))
