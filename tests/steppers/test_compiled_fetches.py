"""Compiled searches compute the Gram columns and anchors that they lack, in threads."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from compiled_steps import needs_compiled_steps
from greedyrls import SelectionPath, greedy_path
from internals import native
from traps import trapped
from tuning import Tune, tuned

pytestmark = needs_compiled_steps

Array = np.ndarray


def problem(m: int, n: int, seed: int = 0) -> tuple[Array, Array]:
    """Correlated columns, far from 0, some of which matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 8)) @ rng.normal(size=(8, n)) + 2.0 * rng.normal(size=(m, n)) + 3.0
    return X, X[:, ::7] @ rng.normal(size=X[:, ::7].shape[1]) + rng.normal(size=m)


def assert_same(path: SelectionPath, other: SelectionPath) -> None:
    np.testing.assert_array_equal(path.indices, other.indices)
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-12)
    np.testing.assert_allclose(path.standard_errors, other.standard_errors, rtol=1e-10)
    for step, twin in zip(path.steps, other.steps, strict=True):
        assert [index for index, _ in step.runners_up] == [index for index, _ in twin.runners_up]


def options_of(kind: str, m: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        "plain": {},
        "runners-up": {"n_runners_up": 3},
        "weights": {"sample_weight": rng.uniform(0.5, 2.0, size=m)},
        "no intercept": {"fit_intercept": False},
        "forced": {"forced_features": [3, 90], "excluded_features": [0, 7]},
    }[kind]


@pytest.mark.parametrize("kind", ["plain", "runners-up", "weights", "no intercept", "forced"])
@pytest.mark.parametrize("shape", [(400, 900), (90, 5_000), (6_000, 300)])
def test_it_is_the_same_search(shape: tuple[int, int], kind: str) -> None:
    X, y = problem(*shape)
    options = options_of(kind, shape[0])
    with trapped() as traps:
        asked = traps.watch("fetch for compiled steps")
        path = greedy_path(X, y, 25, alpha=5.0, **options)
    assert asked == [] or kind in ("weights", "forced")
    with tuned(compiled_fetches=False):
        by_python = greedy_path(X, y, 25, alpha=5.0, **options)
    with tuned(compiled_steps=False):
        by_numpy = greedy_path(X, y, 25, alpha=5.0, **options)
    assert_same(path, by_python)
    assert_same(path, by_numpy)


@pytest.mark.skipif(
    not getattr(native(), "multiplies", bool)(), reason="this processor leaves products to BLAS"
)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_anchors_come_with_gram_columns(fit_intercept: bool) -> None:
    """a·z_i of all features, for a that was g when a pass was made, and z as literal residuals."""
    X, y = problem(200, 2_000)
    centred = X - X.mean(axis=0) if fit_intercept else X
    largest: list[float] = []

    def checked(original: Any, search: Any, *arguments: Any) -> Any:
        answer = original(search, *arguments)
        a, products = np.empty((1, len(X))), np.empty((1, X.shape[1]))
        search._module.read(search.handle, "anchor", a)
        search._module.read(search.handle, "anchored", products)
        chosen = centred[:, search.indices]
        A = chosen.T @ chosen + 5.0 * np.eye(len(search.indices))
        z = centred - chosen @ np.linalg.solve(A, chosen.T @ centred)
        others = np.setdiff1d(np.arange(X.shape[1]), search.indices)
        expected = (a @ z)[:, others]
        np.testing.assert_allclose(products[:, others], expected, atol=1e-10 * len(X))
        largest.append(float(np.abs(expected).max()))
        return answer

    with trapped() as traps, tuned(compiled_steps_ahead=3):
        asked = traps.watch("make the anchor of compiled steps")
        traps.around("let C take steps", checked)
        greedy_path(X, y, 25, alpha=5.0, fit_intercept=fit_intercept)
    assert len(largest) > 5
    assert min(largest) > 1.0
    assert asked == []


def test_several_targets_have_one_pass_for_their_anchors() -> None:
    X, y = problem(300, 1_200)
    Y = np.column_stack([y, X[:, 5] - y, X[:, 40] ** 2])
    path = greedy_path(X, Y, 20, alpha=5.0)
    with tuned(compiled_steps=False):
        assert_same(path, greedy_path(X, Y, 20, alpha=5.0))


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
def test_threads_change_no_digit(n_threads: int) -> None:
    """Above 4,096 features loops over them are shared, too."""
    X, y = problem(120, 9_000)
    with tuned(product_threads=1):
        alone = greedy_path(X, y, 20, alpha=5.0, n_runners_up=2)
    with tuned(product_threads=n_threads):
        path = greedy_path(X, y, 20, alpha=5.0, n_runners_up=2)
    np.testing.assert_array_equal(path.indices, alone.indices)
    np.testing.assert_array_equal(path.losses, alone.losses)
    assert path.counters.passes == alone.counters.passes
    assert path.counters.exact_evaluations == alone.counters.exact_evaluations


def test_where_there_is_little_room_python_makes_it(tune: Tune) -> None:
    X, y = problem(90, 4_000)
    expected = greedy_path(X, y, 40, alpha=5.0)
    tune(compiled_gram_bytes=0, compiled_least_kept=12)
    with trapped() as traps:
        asked = traps.watch("fetch for compiled steps")
        path = greedy_path(X, y, 40, alpha=5.0)
    assert_same(path, expected)
    assert len(asked) > 1


def test_searches_at_the_same_time() -> None:
    """They have the helpers in turns; penalties share the columns that any of them fetched."""
    X, y = problem(150, 5_000)
    alphas = [1.0, 5.0, 30.0]

    def search(alpha: float) -> SelectionPath:
        return greedy_path(X, y, 15, alpha=alpha)

    expected = [search(alpha) for alpha in alphas]

    def assert_expected(paths: Sequence[SelectionPath]) -> None:
        for path, other in zip(paths, expected, strict=True):
            np.testing.assert_array_equal(path.indices, other.indices)
            np.testing.assert_array_equal(path.losses, other.losses)

    with ThreadPoolExecutor(3) as executor:
        for _ in range(3):
            assert_expected(list(executor.map(search, alphas)))
