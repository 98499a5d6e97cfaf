"""Validated kernels k(x, c): by name as in scikit-learn, or a user's function."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances

from .._base import Float, exported, n_threads, native

KERNELS = ("rbf", "laplacian", "poly", "polynomial")
# Kernels of x − c alone: moving the origin to the points avoids cancellation.
_OF_DIFFERENCES = ("rbf", "laplacian")
# Points whose values are computed together for the diagonal of a user's function.
_DIAGONAL_BLOCK = 16
# k(x, c) and k(c, x) of a function may differ by rounding only.
_SYMMETRIC = 1e-8

# With more coordinates, products by BLAS take no longer than compiled differences.
_MOST_COORDINATES = 128
# Points that compiled code puts beside each other: for fewer centres the points are.
_BESIDE = 24

KernelFunction = Callable[[Any, Any], Any]


@exported("greedyrls._data")
@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel with its parameters, evaluated at many points at a time."""

    name: str  # one of KERNELS, or "callable"
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 1.0
    function: KernelFunction | None = None

    @property
    def is_of_differences(self) -> bool:
        """Whether the kernel depends on x − c alone."""
        return self.name in _OF_DIFFERENCES

    @property
    def is_symmetric(self) -> bool:
        """Whether k(c, x) may be computed for k(x, c); functions of users are called as defined."""
        return self.function is None

    def __call__(self, X: Any, centers: Any, out: Float | None = None) -> Float:
        """Return k(x_j, c_i) as a new array (rows of X × centres), or in `out`."""
        if out is None and centers.shape[0] < min(_BESIDE, X.shape[0]):
            values: Float = np.empty((centers.shape[0], X.shape[0]))
            if self.fill(centers, X, values):
                return values.T
        if self.name == "rbf" and isinstance(X, np.ndarray) and isinstance(centers, np.ndarray):
            values = np.empty((len(X), len(centers))) if out is None else out
            if not self.fill(X, centers, values):
                self._of_squares(X, centers, values)
            return values
        values = self._values(X, centers)
        if out is None:
            return values
        out[...] = values
        return out

    def fill(self, X: Any, centers: Any, out: Float, is_square: bool = False) -> bool:
        """Write k(x_j, c_i) to `out` in compiled code; False if there is none for these points.

        With `is_square` both are the same points. Values are the same in all calls, in both orders
        of x and c, and exactly 1 where x = c.
        """
        module = native()
        if self.name != "rbf" or module is None or not module.multiplies():
            return False
        if not (_is_plain(X) and _is_plain(centers)) or X.shape[1] > _MOST_COORDINATES:
            return False
        points = _contiguous(X), _contiguous(centers)
        module.radial_kernel(*points, self.gamma, out, is_square, n_threads())
        return True

    def _of_squares(self, X: Float, centers: Float, out: Float) -> None:
        """Write exp(−γ ‖x − c‖²) to `out` without temporaries.

        Squares are no terms of the product: how it rounds depends on how many points there are.
        """
        np.matmul(2.0 * X, centers.T, out=out)
        out -= _squares(X)[:, None]
        out -= _squares(centers)
        np.minimum(out, 0.0, out=out)
        out *= self.gamma
        np.exp(out, out=out)

    def _values(self, X: Any, centers: Any) -> Float:
        if self.function is not None:
            return self._called(self.function, X, centers)
        if self.name == "laplacian":
            return self._of_absolute_differences(X, centers)
        # The validation in scikit-learn's functions takes longer than a small kernel.
        values = _inner(X, centers)
        if self.name == "rbf":
            values *= 2.0
            values -= _squares(X)[:, None]
            values -= _squares(centers)
            np.minimum(values, 0.0, out=values)
            values *= self.gamma
            return np.exp(values, out=values)
        with np.errstate(over="ignore", invalid="ignore"):
            values *= self.gamma
            values += self.coef0
            np.power(values, self.degree, out=values)
        return self._defined(values)

    def _of_absolute_differences(self, X: Any, centers: Any) -> Float:
        values: Float
        if isinstance(X, np.ndarray) and isinstance(centers, np.ndarray):
            values = cdist(X, centers, "cityblock")
        else:
            values = manhattan_distances(X, centers)
        values *= -self.gamma
        return np.exp(values, out=values)

    def _defined(self, values: Float) -> Float:
        if not _is_finite(values):
            raise ValueError(
                f"The {self.name} kernel of degree {self.degree:g} overflows or is not defined "
                "for these data; scale X (sklearn.preprocessing.StandardScaler), or use a whole "
                "number for degree and a smaller one."
            )
        return values

    def _called(self, function: KernelFunction, X: Any, centers: Any) -> Float:
        result = function(X, centers)
        values = np.asarray(result.toarray() if sparse.issparse(result) else result)
        expected = (X.shape[0], centers.shape[0])
        if values.shape != expected:
            raise ValueError(
                f"kernel(X, Y) returned an array of shape {values.shape} for {expected[0]} and "
                f"{expected[1]} points; it must return one value for each pair, shape {expected}."
            )
        if values.dtype.kind not in "biuf":
            raise TypeError(f"kernel(X, Y) must return real numbers, got {values.dtype}.")
        if not _is_finite(values):
            raise ValueError(
                "kernel(X, Y) returned NaN or infinity; a kernel must be finite for all points."
            )
        # A copy, in case the function returns the same memory again.
        return np.array(values, dtype=np.float64)

    def diagonal(self, points: Any) -> Float:
        """Return k(c_i, c_i), (n)."""
        n = points.shape[0]
        if self.is_of_differences:
            return np.ones(n)
        blocks = []
        for first in range(0, n, _DIAGONAL_BLOCK):
            block = points[first : first + _DIAGONAL_BLOCK]
            values = self(block, block)
            _check_symmetric(values, first)
            blocks.append(values.diagonal())
        diagonal = np.concatenate(blocks)
        if (diagonal < 0.0).any():
            index = int(np.argmax(diagonal < 0.0))
            raise ValueError(
                f"The kernel is not positive semidefinite: k(c, c) is {diagonal[index]:.6g} for "
                f"candidate {index}. {USE_ANOTHER}"
            )
        return diagonal


USE_ANOTHER = "Use a positive semidefinite kernel, such as 'rbf'."


def _check_symmetric(values: Float, first: int) -> None:
    """Raise an error if k(c, c') and k(c', c) differ; `first` is the index of the first point."""
    scale = np.abs(values).max(initial=0.0)
    wrong = np.abs(values - values.T) > _SYMMETRIC * scale
    if wrong.any():
        one, other = (int(index) for index in np.argwhere(wrong)[0])
        raise ValueError(
            f"The kernel is not symmetric: with candidates c={first + one} and c'={first + other}, "
            f"k(c, c') is {values[one, other]:.6g} and k(c', c) is {values[other, one]:.6g}."
        )


def _is_plain(points: Any) -> bool:
    """Whether points are an array that compiled code reads."""
    is_array = isinstance(points, np.ndarray) and points.ndim == 2 and points.flags.aligned
    return is_array and points.dtype == np.float64 and points.dtype.isnative


def _contiguous(points: Float) -> Float:
    # A view, as arrays may name their byte order ("<f8"), which compiled code would refuse.
    return np.ascontiguousarray(points).view(np.float64)


def _inner(X: Any, centers: Any) -> Float:
    """Return x·c of all pairs of rows; either may be sparse."""
    values = X @ centers.T
    dense: Float = values.toarray() if sparse.issparse(values) else values
    return dense


def _squares(X: Any) -> Float:
    """Return x·x of all rows."""
    if isinstance(X, np.ndarray):
        squares: Float = np.einsum("ij,ij->i", X, X)
        return squares
    return np.asarray(X.multiply(X).sum(axis=1)).ravel()


def _is_finite(values: Any) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        # The sum is faster; if it overflows, all values are checked.
        return bool(np.isfinite(values.sum())) or bool(np.isfinite(values).all())


def make_kernel(kernel: Any, gamma: float, degree: Any, coef0: Any) -> Kernel:
    """Check a name or function and its parameters; gamma must be a number."""
    if callable(kernel):
        return Kernel("callable", function=kernel)
    if not isinstance(kernel, str) or kernel not in KERNELS:
        names = ", ".join(map(repr, KERNELS))
        raise ValueError(
            f"kernel must be one of {names}, or a function (X, Y) -> array; got {kernel!r}."
        )
    power = _check_number("degree", degree)
    if power <= 0.0:
        raise ValueError(f"degree must be greater than 0, got {degree!r}.")
    constant = _check_number("coef0", coef0)
    if constant < 0.0 and kernel in ("poly", "polynomial"):
        raise ValueError(
            f"coef0 must not be negative, got {coef0!r}: the kernel would not be positive "
            "semidefinite."
        )
    return Kernel(kernel, gamma, power, constant)


def check_gamma(gamma: Any, X: Any) -> float:
    """Return gamma as a positive number; "scale" is 1 / (d · variance of X), "auto" is 1 / d."""
    n_columns = int(X.shape[1])
    if isinstance(gamma, str):
        if gamma == "auto":
            return 1.0 / n_columns
        if gamma != "scale":
            raise ValueError(
                f"gamma must be a number greater than 0, 'scale', 'auto' or a list, got {gamma!r}."
            )
        variance = float(_sparse_variance(X) if sparse.issparse(X) else X.var())
        scaled = n_columns * variance
        # All points are equal, or so close to each other that the quotient overflows.
        return 1.0 / scaled if scaled > 1e-300 else 1.0
    value = _check_number("gamma", gamma)
    if value <= 0.0:
        raise ValueError(f"gamma must be greater than 0, got {gamma!r}.")
    return value


def _sparse_variance(X: Any) -> float:
    """Return the variance of all values of a sparse matrix, by rounding perhaps below 0."""
    mean = float(X.mean())
    return float(X.multiply(X).mean()) - mean * mean


def _check_number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}.")
    return number
