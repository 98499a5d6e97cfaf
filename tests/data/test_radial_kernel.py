"""Values of the RBF kernel by compiled code: against NumPy, and what the search relies on."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from greedyrls import GreedyKernelRLS
from internals import DenseMatrix, Kernel, MatrixPoints, StoredKernelMatrix
from kernel_twin import literal_kernel
from tuning import Tune, tuned

Array = NDArray[np.float64]
# The largest error in units of the last place; e^x of NumPy has 0.72.
UNITS = 1.1


@pytest.fixture(autouse=True)
def is_fast(module: ModuleType) -> None:
    """Where NumPy is as fast, it computes the kernel."""
    if not module.multiplies():
        pytest.skip("needs a processor with wide registers")


def filled(centers: Array, points: Array, gamma: float, is_square: bool = False) -> Array:
    """The kernel in C, inside of an array whose other numbers must not change."""
    room = np.full((len(centers) + 2, len(points) + 5), np.nan)
    inside = room[1:-1, 2:-3]
    assert Kernel("rbf", gamma).fill(centers, points, inside, is_square)
    outside = np.ones(room.shape, dtype=bool)
    outside[1:-1, 2:-3] = False
    assert np.isnan(room[outside]).all()
    return inside.copy()


# Less than a tile, a tile and more than one, of both sides; more than one block of points.
SHAPES = [(1, 1, 1), (3, 24, 2), (8, 25, 5), (9, 47, 22), (21, 1, 4), (5, 700, 128), (50, 1600, 64)]


@pytest.mark.parametrize(("rows", "n", "d"), SHAPES)
def test_it_is_the_kernel(rows: int, n: int, d: int) -> None:
    rng = np.random.default_rng(rows)
    centers, points = rng.normal(size=(rows, d)), rng.normal(size=(n, d))
    literal = literal_kernel("rbf", points, centers, 0.3 / d).T
    assert_allclose(filled(centers, points, 0.3 / d), literal, rtol=1e-13)
    with tuned(compiled_kernel=False):
        twin = Kernel("rbf", 0.3 / d)(centers, points)
    assert_allclose(filled(centers, points, 0.3 / d), twin, rtol=1e-13)


@pytest.mark.parametrize("n", [1, 7, 24, 65, 300])
@pytest.mark.parametrize("d", [1, 6, 120])
def test_a_square_has_the_values_of_one_side(n: int, d: int) -> None:
    points = np.random.default_rng(n).normal(size=(n, d))
    points[n // 2] = points[0]
    square = filled(points, points, 0.7 / d, is_square=True)
    assert_array_equal(square, filled(points, points, 0.7 / d))
    assert_array_equal(square, square.T)
    assert_array_equal(square.diagonal(), 1.0)
    assert_array_equal(square[n // 2], square[0])


def test_a_value_does_not_depend_on_the_others() -> None:
    rng = np.random.default_rng(2)
    centers, points = rng.normal(size=(40, 9)), rng.normal(size=(5_000, 9))
    kernel = Kernel("rbf", 0.2)
    whole = kernel(centers, points)
    assert_array_equal(kernel(points, centers), whole.T)
    assert_array_equal(kernel(points, centers[3:4])[:, 0], whole[3])
    assert_array_equal(kernel(centers[5:], points[17:3_000]), whole[5:, 17:3_000])
    order = rng.permutation(len(points))
    assert_array_equal(kernel(centers, points[order]), whole[:, order])


def squares(rng: np.random.Generator) -> Array:
    """Points on a line whose distances from 0 have exact squares, from 0 to where e^−x² is 0."""
    tiny = rng.integers(1, 1 << 26, 100_000) * 2.0 ** rng.integers(-60, -25, 100_000)
    spread = rng.integers(0, 28 << 20, 200_000) * 2.0**-20
    last: Array = rng.integers(26 << 20, 28 << 20, 50_000) * 2.0**-20
    return np.concatenate([[0.0], tiny, spread, last])


def test_the_exponential_function_is_accurate() -> None:
    """All digits but the last one, also where numbers of float64 have fewer of them."""
    x = squares(np.random.default_rng(0))
    values = filled(np.zeros((1, 1)), x[:, None], 1.0)[0]
    exact = np.exp(-(x.astype(np.longdouble) ** 2))
    if np.finfo(np.longdouble).nmant <= np.finfo(float).nmant:
        assert_allclose(values, exact.astype(float), rtol=3e-16, atol=1e-323)
        return
    errors = np.abs(values - exact) / np.spacing(exact.astype(float))
    assert errors.max() < UNITS
    assert values[0] == 1.0
    assert (values[x * x > 745.2] == 0.0).all()
    is_small = (x * x > 708.4) & (x * x < 745.0)
    assert is_small.any()
    assert (values[is_small] > 0.0).all()


@pytest.mark.parametrize("distance", [28.0, 1e10, 1e200, np.inf])
def test_far_points_have_0(distance: float) -> None:
    assert filled(np.zeros((1, 1)), np.array([[distance]]), 1.0)[0, 0] == 0.0


def test_nan_stays() -> None:
    values = filled(np.zeros((2, 2)), np.array([[0.0, np.nan], [0.0, 1.0]]), 1.0)
    assert np.isnan(values[:, 0]).all()
    assert not np.isnan(values[:, 1]).any()


def test_other_arrays_are_numpys() -> None:
    points = np.random.default_rng(0).normal(size=(30, 4))
    out, rbf = np.full((30, 30), np.nan), Kernel("rbf", 0.1)
    unaligned = np.empty(30 * 32 + 1, dtype=np.uint8)[1:].view(np.float64).reshape(30, 4)
    unaligned[:] = points
    for other in (points.astype(np.float32), points.astype(">f8"), unaligned, points.tolist()):
        assert not rbf.fill(other, points, out)
        assert not rbf.fill(points, other, out)
    assert not Kernel("laplacian", 0.1).fill(points, points, out)
    assert not rbf.fill(np.ones((3, 129)), np.ones((3, 129)), out[:3, :3])
    assert np.isnan(out).all()
    # These are read, whatever their strides and how their type is written.
    for other in (points[:, ::-1], np.asfortranarray(points), points.astype("<f8")):
        assert rbf.fill(other, points, out)
        assert_allclose(out, literal_kernel("rbf", other, points, 0.1), rtol=1e-13)


@pytest.mark.parametrize("n_threads", [2, 3, 5])
@pytest.mark.parametrize("is_square", [False, True])
def test_threads_change_no_digit(module: ModuleType, n_threads: int, is_square: bool) -> None:
    """Enough values for threads, and points that are no multiple of a share."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(1_001, 7))
    centers = points if is_square else rng.normal(size=(611, 7))
    alone, shared = (np.full((len(centers), len(points)), np.nan) for _ in range(2))
    module.radial_kernel(centers, points, 0.1, alone, is_square, 1)
    module.radial_kernel(centers, points, 0.1, shared, is_square, n_threads)
    assert np.array_equal(shared, alone)


def test_wrong_shapes_are_refused(module: ModuleType) -> None:
    A, B, out = np.ones((3, 2)), np.ones((4, 2)), np.empty((3, 4))
    wrong: list[tuple[Any, Any, Any, bool]] = [
        (A, B, out.T, False),
        (A, B, out[:, :3], False),
        (A, np.ones((4, 3)), out, False),
        (A.astype(np.float32), B, out, False),
        (np.ones(3), B, out, False),
        (A, B, np.empty((3, 8))[:, ::2], False),
        (A, B, out, True),
    ]
    for first, second, result, is_square in wrong:
        with pytest.raises(ValueError, match="expected points of float64"):
            module.radial_kernel(first, second, 1.0, result, is_square, 1)
    with pytest.raises(ValueError, match="contiguous"):
        module.radial_kernel(A[::2], B, 1.0, out, False, 1)


@pytest.mark.parametrize("shape", [(60, 60), (60, 31), (1, 1), (40, 1)])
@pytest.mark.parametrize("in_file", [False, True])
def test_stored_matrices_are_those_of_numpy(shape: tuple[int, int], in_file: bool) -> None:
    m, n = shape
    X = np.random.default_rng(m).normal(size=(m, 3))
    points = MatrixPoints(DenseMatrix(X)) if in_file else X
    made = []
    for is_compiled in (True, False):
        with tuned(compiled_kernel=is_compiled):
            matrix = StoredKernelMatrix(Kernel("rbf", 0.5), points, X[:n], row_of=np.arange(n))
            made.append(matrix.host_array)
            assert matrix.evaluations <= m * n
    assert made[0] is not None
    assert made[0].T.flags.c_contiguous
    assert_allclose(made[0], made[1], rtol=1e-14)


def test_the_same_centres_are_chosen(tune: Tune) -> None:
    rng = np.random.default_rng(5)
    X = np.repeat(rng.normal(size=(70, 6)), 2, axis=0)  # every point twice
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X))
    compiled = GreedyKernelRLS(12, alpha=0.3).fit(X, y)
    tune(compiled_kernel=False)
    numpys = GreedyKernelRLS(12, alpha=0.3).fit(X, y)
    assert compiled.center_indices_.tolist() == numpys.center_indices_.tolist()
    assert (compiled.center_indices_ % 2 == 0).all()  # the first of those that are equal
    assert_allclose(compiled.predict(X), numpys.predict(X), rtol=1e-9)
