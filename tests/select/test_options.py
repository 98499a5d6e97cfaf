"""Options are checked in one place, and errors call them what the caller calls them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold

from greedyrls import (
    GreedyKernelRLS,
    GreedyKernelRLSClassifier,
    GreedyRLSClassifier,
    GreedyRLSRanker,
    GreedyRLSRegressor,
    extend_path,
    greedy_path,
)
from greedyrls.assess import cross_validate_path, permutation_null, resample_path
from greedyrls.files import open_npy
from internals import Options
from traps import Traps
from tuning import Tune


def data(m: int = 40, n: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    return X, X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(m)


X, Y = data()
LABELS = np.where(Y > 0.0, "high", "low")


def size_first(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(n_features: Any = 2, **options: Any) -> Any:
        return function(X, Y, n_features, **options)

    return call


def fitted(make: Callable[..., Any], y: Any, **further: Any) -> Callable[..., Any]:
    return lambda **options: make(**options).fit(X, y, **further)


class CallerCase(NamedTuple):
    signature: Callable[..., Any]
    call: Callable[..., Any]
    names: Mapping[str, str]  # of options, where they differ


TO_SELECT = {"n_features": "n_features_to_select"}
CENTERS = {"n_features": "n_centers", "max_features": "max_centers"}
INNER = {"cv": "inner_cv"}
PATH = greedy_path(X, Y, 1)
QUERIES = np.arange(len(Y)) // 4

CALLERS = {
    "greedy_path": CallerCase(greedy_path, size_first(greedy_path), {}),
    "extend_path": CallerCase(
        extend_path,
        lambda n_features=2, **options: extend_path(PATH, X, Y, n_features, **options),
        {},
    ),
    "regressor": CallerCase(GreedyRLSRegressor, fitted(GreedyRLSRegressor, Y), TO_SELECT),
    "classifier": CallerCase(GreedyRLSClassifier, fitted(GreedyRLSClassifier, LABELS), TO_SELECT),
    "ranker": CallerCase(GreedyRLSRanker, fitted(GreedyRLSRanker, Y, groups=QUERIES), TO_SELECT),
    "kernel": CallerCase(GreedyKernelRLS, fitted(GreedyKernelRLS, Y), CENTERS),
    "kernel classifier": CallerCase(
        GreedyKernelRLSClassifier, fitted(GreedyKernelRLSClassifier, LABELS), CENTERS
    ),
    "cross_validate_path": CallerCase(cross_validate_path, size_first(cross_validate_path), INNER),
    "permutation_null": CallerCase(permutation_null, size_first(permutation_null), INNER),
    "resample_path": CallerCase(resample_path, size_first(resample_path), INNER),
}

# A wrong value of each option, with others that it needs.
WRONG: dict[str, tuple[Any, dict[str, Any]]] = {
    "n_features": ("many", {}),
    "alpha": (-1.0, {}),
    "cv": (1, {}),
    "loss": ("squarred", {}),
    "fit_intercept": ("yes", {}),
    "forced_features": ([99], {}),
    "excluded_features": ([99], {}),
    "direction": ("up", {}),
    "backward_ratio": (0.5, {"direction": "forward"}),
    "feature_groups": ([[0, 99]], {}),
    "feature_costs": ([-1.0] * 5, {}),
    "budget": (-1.0, {"feature_costs": [1.0] * 5}),
    "alpha_rule": ("best", {}),
    "alpha_cv": (1, {"alpha": [1.0, 2.0]}),
    "refit_alpha": ("none", {}),
    "size_rule": ("max", {}),
    "max_features": (0, {}),
    "patience": (0, {}),
    "tol": (-1.0, {}),
    "n_runners_up": (-1, {}),
    "search": ("fast", {}),
    "block_rows": (0, {}),
    "n_jobs": (0, {}),
    "memory_limit": ("much", {}),
    "device": ("nowhere", {}),
    "checkpoint": (7, {}),
    "callback": (3, {}),
    "random_state": ("a", {}),
}
CASES = [
    (caller, option)
    for caller, (signature, _, names) in CALLERS.items()
    for option in WRONG
    if names.get(option, option) in inspect.signature(signature).parameters
]


def test_there_is_a_wrong_value_of_every_option() -> None:
    assert {*WRONG, "verbose", "caller"} == {option.name for option in fields(Options)}


@pytest.mark.parametrize(("caller", "option"), CASES)
def test_errors_call_options_what_the_caller_calls_them(caller: str, option: str) -> None:
    _, call, names = CALLERS[caller]
    value, further = WRONG[option]
    name = names.get(option, option)
    with pytest.raises((TypeError, ValueError, ImportError)) as error:
        call(**{name: value}, **{names.get(key, key): one for key, one in further.items()})
    message = str(error.value)
    assert re.search(rf"\b{name}\b", message), message
    if name != option:
        assert not re.search(rf"\b{option}\b", message), message


@pytest.mark.parametrize("caller", ["cross_validate_path", "permutation_null", "resample_path"])
@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (41, "inner_cv=41 is more folds than the"),
        ("five", "inner_cv='five' is not supported; inner_cv must be 'loo', a number"),
        (KFold, "inner_cv is the class KFold"),
        (KFold(41), r"inner_cv=KFold\(n_splits=41\) cannot split"),
    ],
)
def test_folds_of_an_assessed_selection(caller: str, cv: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        CALLERS[caller].call(inner_cv=cv)


class OneSplit:
    """Its training rows are the first half: within an outer fold of these it has none."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        half = len(X) // 2
        return [(np.arange(half), np.arange(half, len(X)))]


class HalfLeftOut:
    """An outer fold that leaves out all of the first half."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        half = len(X) // 2
        return [(np.arange(half, len(X)), np.arange(half))]


def test_errors_within_outer_folds() -> None:
    folds: dict[str, Any] = {"alpha": [1.0, 2.0], "alpha_cv": HalfLeftOut()}
    with pytest.raises(ValueError, match=r"No split of cv .* other folds for cv or for alpha_cv"):
        greedy_path(X, Y, 2, cv=OneSplit(), **folds)
    with pytest.raises(ValueError, match=r"No split of inner_cv .* other folds for inner_cv or"):
        cross_validate_path(X, Y, 2, inner_cv=OneSplit(), **folds)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ("five", "cv='five' is not supported; cv must be a number of folds"),
        (1, r"cv=1 is too few folds; use at least 2\.$"),
        (41, r"cv=41 is more folds than the 40 samples; use fewer\.$"),
    ],
)
def test_leave_one_out_is_not_proposed_for_outer_folds(cv: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cross_validate_path(X, Y, 2, cv=cv)
    if cv != "five":
        with pytest.raises(ValueError, match=f"alpha_{message}"):
            greedy_path(X, Y, 2, alpha=[1.0, 2.0], alpha_cv=cv)


@pytest.mark.parametrize("assess", [cross_validate_path, permutation_null])
def test_errors_of_a_measure(assess: Any) -> None:
    for measure, message in (
        ("best", "measure='best' is not supported"),
        (3, "measure must be one of"),
        ("auc", "measure='auc' needs labels"),
        (lambda y_true, y_pred: np.nan, "measure 'callable:<lambda>' must return a finite number"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            assess(X, Y, 2, alpha=1.0, measure=measure)


def test_a_size_that_ends_at_the_largest_one() -> None:
    """The sentence names the parameter to raise."""
    model = GreedyRLSRegressor(alpha=1.0, max_features=1, size_rule="min").fit(X, Y)
    assert "More features may do better (max_features)." in model.path_.sentence
    kernel = GreedyKernelRLS(alpha=0.1, max_centers=2, size_rule="min").fit(X, Y)
    assert "More centres may do better (max_centers)." in kernel.path_.sentence


def test_a_checkpoint_of_another_size(tmp_path: Path) -> None:
    file = tmp_path / "begun.json"
    GreedyRLSRegressor(3, alpha=1.0, checkpoint=file).fit(X, Y)
    with pytest.raises(ValueError, match="with the larger n_features_to_select 3, not 2"):
        GreedyRLSRegressor(2, alpha=1.0, checkpoint=file).fit(X, Y)


# block_rows and n_jobs: an error, or an effect.


@pytest.mark.parametrize("caller", ["greedy_path", "extend_path"])
def test_blocks_of_rows_are_refused_where_there_are_none(caller: str) -> None:
    with pytest.raises(
        ValueError, match=r"block_rows=7 is for leave-one-out, .*\(cv: 3-fold\).*Leave it out"
    ):
        CALLERS[caller].call(cv=3, block_rows=7)


def test_blocks_of_rows_of_a_file_for_folds(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    file = np.load(tmp_path / "X.npy", mmap_mode="r")
    path = greedy_path(file, Y, 3, cv=3, block_rows=7, memory_limit="50MB")
    assert_array_equal(path.indices, greedy_path(X, Y, 3, cv=3).indices)


@pytest.mark.parametrize("options", [{"cv": 4}, {"cv": 4, "loss": "absolute"}], ids=str)
def test_threads_of_greedy_path_search_outer_folds(options: Any, traps: Traps) -> None:
    nested: dict[str, Any] = {"alpha": [0.1, 1.0, 10.0], **options}
    one = greedy_path(X, Y, 3, **nested)
    used = traps.watch("search outer folds in threads")
    two = greedy_path(X, Y, 3, n_jobs=2, **nested)
    assert used
    assert {threads for _, threads in used} == {2}
    assert_array_equal(one.indices, two.indices)
    assert_allclose(one.surface.losses, two.surface.losses, rtol=1e-9)  # type: ignore[union-attr]


def test_threads_of_estimators_work_on_files_with_outer_folds(tmp_path: Path, traps: Traps) -> None:
    np.save(tmp_path / "X.npy", X)
    file = open_npy(tmp_path / "X.npy", memory_limit="50MB")
    one = GreedyRLSRegressor(2, alpha=[0.1, 1.0]).fit(file, Y)
    rooms = traps.watch("share out the memory for a file")
    two = GreedyRLSRegressor(2, alpha=[0.1, 1.0], n_jobs=2).fit(file, Y)
    assert rooms[0][-1] == 2
    assert_array_equal(one.selected_, two.selected_)


def test_threads_of_a_ranker_without_groups(traps: Traps, tune: Tune) -> None:
    tune(threads_over_rows=0)
    one = GreedyRLSRanker(2, alpha=1.0).fit(X, Y)
    blocks = traps.watch("multiply block by columns")
    two = GreedyRLSRanker(2, alpha=1.0, n_jobs=2).fit(X, Y)
    assert {block.n_rows for block, *_ in blocks} == {20}
    assert_array_equal(one.selected_, two.selected_)
    assert_allclose(one.path_.losses, two.path_.losses, rtol=1e-9)


@pytest.mark.parametrize("function", [greedy_path, extend_path])
def test_every_parameter_is_an_option_or_data(function: Any) -> None:
    """Functions collect their options by name, so that a name that is none would be ignored."""
    options = {one.name for one in fields(Options)} - {"caller"}
    others = set(inspect.signature(function).parameters) - options
    assert others - {"path"} == {"X", "y", "sample_weight", "groups"}
