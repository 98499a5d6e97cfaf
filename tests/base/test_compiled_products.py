"""Products of X with vectors, by compiled code where that is faster than BLAS."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from greedyrls import greedy_path
from internals import kernels
from tuning import tuned

# Less than a vector, a tile and more than one of rows and of columns, with what is left over.
SHAPES = [(1, 1), (3, 7), (4, 8), (67, 13), (64, 512), (130, 1_100)]


def multiplied(
    module: ModuleType, V: NDArray[np.float64], X: NDArray[np.float64]
) -> NDArray[np.float64]:
    """V X in C, into an array whose numbers must all be replaced."""
    out = np.full((len(V), X.shape[1]), np.nan)
    module.multiply(V, X, out, None, None, 1)
    return out


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 2, 4, 5, 11, 32, 63, 64, 70, 130])
def test_it_is_the_sum_of_products_over_the_rows(
    module: ModuleType, shape: tuple[int, int], count: int
) -> None:
    rng = np.random.default_rng(count)
    X, V = rng.normal(size=shape), rng.normal(size=(count, shape[0]))
    literal = [[np.sum(v * x) for x in X.T] for v in V]
    np.testing.assert_allclose(multiplied(module, V, X), literal, rtol=0, atol=1e-12)


def test_rows_may_be_apart(module: ModuleType) -> None:
    whole = np.random.default_rng(0).normal(size=(90, 50))
    X = whole[::3, 5:40]
    V = np.random.default_rng(1).normal(size=(6, 30))
    np.testing.assert_allclose(multiplied(module, V, X), V @ X, rtol=0, atol=1e-12)


def test_a_product_does_not_depend_on_the_others(module: ModuleType) -> None:
    rng = np.random.default_rng(2)
    X, V = rng.normal(size=(77, 600)), rng.normal(size=(9, 77))
    together = multiplied(module, V, X)
    for k in range(len(V)):
        alone = multiplied(module, V[k : k + 1], X)
        np.testing.assert_array_equal(alone[0], together[k])


@pytest.mark.parametrize(
    "X",
    [
        np.asfortranarray(np.ones((3, 4))),
        np.ones((3, 4), dtype=np.float32),
        np.ones((3, 8))[:, ::2],
        np.ones((3, 4))[::-1],
        np.ones(12),
    ],
    ids=["Fortran order", "float32", "columns apart", "rows reversed", "one dimension"],
)
def test_other_arrays_are_refused(module: ModuleType, X: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match="contiguous rows"):
        module.multiply(np.ones((2, 3)), X, np.empty((2, 4)), None, None, 1)


def test_sizes_that_do_not_match_are_refused(module: ModuleType) -> None:
    with pytest.raises(ValueError, match="expected 8 numbers"):
        module.multiply(np.ones((2, 3)), np.ones((4, 5)), np.empty((2, 5)), None, None, 1)
    with pytest.raises(ValueError, match="expected 10 numbers"):
        module.multiply(np.ones((2, 4)), np.ones((4, 5)), np.empty((2, 4)), None, None, 1)


@pytest.mark.parametrize("kind", ["plain", "byte order named", "odd address", "Fortran order"])
def test_any_array_is_multiplied(kind: str) -> None:
    rng = np.random.default_rng(3)
    X, V = rng.normal(size=(30, 20)), rng.normal(size=(4, 30))
    given = X
    if kind == "byte order named":  # as Zarr returns them
        given = X.view(X.dtype.newbyteorder(sys.byteorder))
    elif kind == "odd address":
        given = np.frombuffer(b"-" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape)
    elif kind == "Fortran order":
        given = np.asfortranarray(X)
    np.testing.assert_allclose(kernels.product(V, given), V @ X, rtol=0, atol=1e-12)


def test_columns_with_the_sums_of_their_squares(module: ModuleType) -> None:
    rng = np.random.default_rng(4)
    X, V, w = rng.normal(size=(70, 101)), rng.normal(size=(3, 70)), rng.uniform(size=70)
    out, squares = np.full((3, 101), np.nan), np.full(101, np.nan)
    module.multiply(V, X, out, w, squares, 1)
    np.testing.assert_array_equal(out, multiplied(module, V, X))
    np.testing.assert_allclose(squares, w @ X**2, rtol=1e-13)


def test_arrays_of_other_processes_give_the_same_sums() -> None:
    """Their addresses may be odd, and their types name the byte order."""
    rng = np.random.default_rng(6)
    X, V, weights = rng.normal(size=(70, 101)), rng.normal(size=(3, 70)), rng.random(70)
    memory = bytearray(X.nbytes + 1)
    moved = np.frombuffer(memory, dtype="<f8", offset=1, count=X.size).reshape(X.shape)
    moved[:] = X
    assert not moved.flags.aligned
    for one, other in zip(
        kernels.start_sums(V, X, weights),
        kernels.start_sums(V.astype("<f8"), moved, weights.view(np.dtype("=f8"))),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_threads", [2, 3, 7])
@pytest.mark.parametrize("n", [4_003, 5_000])
def test_threads_share_columns(module: ModuleType, n_threads: int, n: int) -> None:
    rng = np.random.default_rng(8)
    X, V = rng.normal(size=(300, n)), rng.normal(size=(9, 300))
    expected, squares = multiplied(module, V, X), np.sum(X**2, axis=0)
    for _ in range(50):  # helpers begin early, late, or not at all
        out, sums = np.full((len(V), n), np.nan), np.full(n, np.nan)
        module.multiply(V, X, out, None, sums, n_threads)
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_allclose(sums, squares, rtol=1e-13)


def test_calls_at_the_same_time_do_not_mix(module: ModuleType) -> None:
    """One of them has the helpers, the others none."""
    rng = np.random.default_rng(9)
    X, V = rng.normal(size=(300, 4_000)), rng.normal(size=(8, 4, 300))
    expected = [multiplied(module, v, X) for v in V]

    def product(v: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.full((len(v), X.shape[1]), np.nan)
        module.multiply(v, X, out, None, None, 3)
        return out

    with ThreadPoolExecutor(8) as executor:
        for _ in range(20):
            for found, right in zip(executor.map(product, V), expected, strict=True):
                np.testing.assert_array_equal(found, right)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_helpers_of_its_own(module: ModuleType) -> None:
    rng = np.random.default_rng(10)
    X, V = rng.normal(size=(300, 4_000)), rng.normal(size=(8, 300))
    expected = multiplied(module, V, X)
    out = np.empty_like(expected)
    module.multiply(V, X, out, None, None, 3)
    child = os.fork()
    if not child:
        out[:] = np.nan
        module.multiply(V, X, out, None, None, 3)
        os._exit(0 if np.array_equal(out, expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_path_does_not_depend_on_threads() -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 4_003))
    y = X[:, :10].sum(axis=1) + rng.normal(size=300)
    paths = []
    for count in (1, 2, 3):
        with tuned(product_threads=count):
            paths.append(greedy_path(X, y, 20))
    for path in paths[1:]:
        np.testing.assert_array_equal(path.indices, paths[0].indices)
        np.testing.assert_array_equal(path.losses, paths[0].losses)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_gram_columns_are_those_of_blas(is_weighted: bool, fit_intercept: bool) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(3.0, size=(600, 500))
    X[:, 7] = 2.0
    y = X[:, :20] @ rng.normal(size=20) + rng.normal(size=600)
    w = rng.uniform(0.5, 2.0, size=600) if is_weighted else None
    paths = [
        greedy_path(given, y, 30, sample_weight=w, fit_intercept=fit_intercept)
        for given in (X, np.asfortranarray(X))
    ]
    assert paths[0].features().tolist() == paths[1].features().tolist()
    np.testing.assert_allclose(paths[0].losses, paths[1].losses, rtol=1e-12)


def test_gram_columns_of_features_outside_are_refused(module: ModuleType) -> None:
    X, one = np.ones((8, 3)), np.ones(8)
    row = np.ones((1, 8))

    def rows(given: NDArray[np.float64]) -> object:
        return module.new_rows(
            given,
            None,
            None,
            None,
            one,
            one,
            1.0,
            np.ones(3),
            np.ones((1, 3)),
            row,
            one,
            row,
            1,
            0,
            None,
        )

    out = np.empty((1, 3))
    for index in (-1, 3):
        with pytest.raises(ValueError, match="a feature is outside X"):
            module.gram_columns(rows(X), np.array([index]), out, None, 1)
    with pytest.raises(ValueError, match="contiguous rows"):
        module.gram_columns(rows(np.asfortranarray(X)), np.array([0]), out, None, 1)


def test_gram_columns_come_with_columns_of_x(module: ModuleType) -> None:
    rng = np.random.default_rng(6)
    m, n = 67, 30
    X, root, means = rng.normal(size=(m, n)), rng.uniform(size=m), rng.normal(size=n)
    centred = root[:, None] * (X - means)
    diagonal = np.sum(centred**2, axis=0)
    diagonal[4] = 0.0
    row = np.ones((1, m))
    rows = module.new_rows(
        X,
        None,
        means,
        root,
        root**2,
        row[0],
        1.0,
        diagonal,
        np.ones((1, n)),
        row,
        row[0],
        row,
        1,
        0,
        None,
    )
    order = np.arange(n)[::-1].copy()
    out, columns = np.full((n, n), np.nan), np.full((n, 72), np.nan)
    module.gram_columns(rows, order, out, columns, 1)
    centred[:, 4] = 0.0
    np.testing.assert_allclose(out, (centred.T @ centred)[::-1], rtol=0, atol=1e-11)
    np.testing.assert_allclose(columns[:, :m], centred.T[::-1], rtol=1e-15)
    np.testing.assert_array_equal(columns[:, m:], 0.0)
