"""Products of X with a few vectors by compiled code, where columns of X are contiguous."""

from __future__ import annotations

from types import ModuleType
from typing import Literal

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from internals import kernels

# Less than a vector, a tile and more than one of rows, with what is left over.
SHAPES = [(1, 1), (7, 3), (8, 4), (67, 13), (512, 64), (2_500, 30)]


def multiplied(
    module: ModuleType, V: NDArray[np.float64], X: NDArray[np.float64]
) -> NDArray[np.float64]:
    """V X in C, into an array whose numbers must all be replaced."""
    out = np.full((len(V), X.shape[1]), np.nan)
    module.column_product(V, X, out, None, None, 1)
    return out


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 2, 4, 5, 11, 32])
def test_it_is_the_sum_of_products_over_the_rows(
    module: ModuleType, shape: tuple[int, int], count: int
) -> None:
    rng = np.random.default_rng(count)
    X, V = np.asfortranarray(rng.normal(size=shape)), rng.normal(size=(count, shape[0]))
    literal = [[np.sum(v * x) for x in X.T] for v in V]
    assert_allclose(multiplied(module, V, X), literal, rtol=0, atol=1e-12)


def test_columns_may_be_apart(module: ModuleType) -> None:
    whole = np.asfortranarray(np.random.default_rng(0).normal(size=(90, 50)))
    X = whole[5:40, ::3]
    V = np.random.default_rng(1).normal(size=(6, 35))
    assert_allclose(multiplied(module, V, X), V @ X, rtol=0, atol=1e-12)
    assert_allclose(kernels.product(V, X), V @ X, rtol=0, atol=1e-12)


def test_a_product_does_not_depend_on_the_others(module: ModuleType) -> None:
    rng = np.random.default_rng(2)
    X, V = np.asfortranarray(rng.normal(size=(600, 77))), rng.normal(size=(9, 600))
    together = multiplied(module, V, X)
    for k in range(len(V)):
        assert_array_equal(multiplied(module, V[k : k + 1], X)[0], together[k])
    assert_array_equal(multiplied(module, V, X[:, 3:]), together[:, 3:])


@pytest.mark.parametrize("n_threads", [2, 3, 5])
def test_threads_change_no_digit(module: ModuleType, n_threads: int) -> None:
    """Enough multiplications for threads, and columns that are no multiple of a share."""
    rng = np.random.default_rng(3)
    X, V = np.asfortranarray(rng.normal(size=(900, 1_501))), rng.normal(size=(5, 900))
    weights, alone, shared = rng.random(900), [], []
    for found, count in ((alone, 1), (shared, n_threads)):
        out, squares = np.full((5, 1_501), np.nan), np.full(1_501, np.nan)
        module.column_product(V, X, out, weights, squares, count)
        found += [out, squares]
    assert_array_equal(shared[0], alone[0])
    assert_array_equal(shared[1], alone[1])


def test_other_arrays_are_refused(module: ModuleType) -> None:
    V, out = np.ones((2, 3)), np.empty((2, 4))
    wrong = [np.ones((3, 4)), np.ones((3, 4), dtype=np.float32, order="F"), np.ones(12)]
    for X in wrong:
        with pytest.raises(ValueError, match="contiguous columns"):
            module.column_product(V, X, out, None, None, 1)
    X = np.ones((4, 5), order="F")
    with pytest.raises(ValueError, match="expected 8 numbers"):
        module.column_product(np.ones((2, 3)), X, np.empty((2, 5)), None, None, 1)
    with pytest.raises(ValueError, match="expected 10 numbers"):
        module.column_product(np.ones((2, 4)), X, np.empty((2, 4)), None, None, 1)
    for others in ((np.ones(3), np.ones(5)), (None, np.ones(4))):
        with pytest.raises(ValueError, match="expected"):
            module.column_product(np.ones((2, 4)), X, np.empty((2, 5)), *others, 1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("is_weighted", [True, False])
def test_squares_come_with_products(
    module: ModuleType, shape: tuple[int, int], is_weighted: bool
) -> None:
    rng = np.random.default_rng(7)
    X, V = np.asfortranarray(rng.normal(size=shape)), rng.normal(size=(3, shape[0]))
    weights = rng.uniform(size=shape[0]) if is_weighted else None
    out, squares = np.full((3, shape[1]), np.nan), np.full(shape[1], np.nan)
    module.column_product(V, X, out, weights, squares, 1)
    assert_allclose(out, V @ X, rtol=0, atol=1e-12)
    expected = np.sum(X**2 * (1.0 if weights is None else weights[:, None]), axis=0)
    assert_allclose(squares, expected, rtol=1e-13)
    products, squares = kernels.start_sums(V, X, weights)
    assert_allclose(products, V @ X, rtol=0, atol=1e-12)
    assert_allclose(squares, expected, rtol=1e-13)


@pytest.mark.parametrize("shape", [(4, 1), (1, 4), (1, 1), (5, 4)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_array_is_multiplied(shape: tuple[int, int], order: Literal["C", "F"]) -> None:
    """A single row or column has strides of either order."""
    rng = np.random.default_rng(4)
    whole: NDArray[np.float64] = np.array(rng.normal(size=(6, 6)), order=order)
    part = whole[: shape[0], : shape[1]]
    for X in (part, np.array(part, order=order)):
        V = rng.normal(size=(2, shape[0]))
        assert_allclose(kernels.product(V, X), V @ X, rtol=0, atol=1e-12)
