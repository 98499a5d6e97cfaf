"""Products of X with a few vectors, by compiled code where that is faster than BLAS."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from internals import kernels, native

# Less than a vector, a tile and more than one of rows and of columns, with what is left over.
SHAPES = [(1, 1), (3, 7), (4, 8), (67, 13), (64, 512), (130, 1_100)]


@pytest.fixture
def module() -> ModuleType:
    """The compiled module."""
    found = native()
    if found is None:
        pytest.skip("needs the compiled steps")
    return found


def multiplied(
    module: ModuleType, V: NDArray[np.float64], X: NDArray[np.float64]
) -> NDArray[np.float64]:
    """V X in C, into an array whose numbers must all be replaced."""
    out = np.full((len(V), X.shape[1]), np.nan)
    module.thin_product(V, X, out)
    return out


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 2, 4, 5, 11, 32])
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
        module.thin_product(np.ones((2, 3)), X, np.empty((2, 4)))


def test_sizes_that_do_not_match_are_refused(module: ModuleType) -> None:
    with pytest.raises(ValueError, match="expected 8 numbers"):
        module.thin_product(np.ones((2, 3)), np.ones((4, 5)), np.empty((2, 5)))
    with pytest.raises(ValueError, match="expected 10 numbers"):
        module.thin_product(np.ones((2, 4)), np.ones((4, 5)), np.empty((2, 4)))


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
