"""Named problems: the same numbers for every library, made again in each process from a seed.

`normal`: labels y = -1 or +1 with equal probability and standard normal features whose mean
depends on the class, as in the experiments of the paper. The means of the two classes differ by
0.1 N(0, 1) in each feature: x_ji = e_ji + y_j d_i / 2 with d_i ~ 0.1 N(0, 1).

`ar1`: neighbouring columns have correlation 0.9 (x_i = 0.9 x_(i-1) + sqrt(1 - 0.81) e_i), and y is
a sum of 25 evenly spaced columns with N(0, 1) coefficients and noise of standard deviation 3.

The layout changes nothing but the layout: a Fortran-ordered problem has the numbers of the
C-ordered one, a float32 problem the same numbers rounded. Fewer rows are the first rows of more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SEED = 2010
CORRELATION = 0.9
BLOCK_ROWS = 1000  # rows made at a time, so that making X needs little memory next to X


@dataclass(frozen=True, slots=True)
class Problem:
    """One data set and the number of features to select from it.

    `libraries` names the adapters that run on it; empty means every one that can.
    """

    m: int
    n: int
    k: int
    kind: Literal["normal", "ar1"] = "normal"
    order: Literal["C", "F"] = "C"
    dtype: Literal["float64", "float32"] = "float64"
    libraries: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Kind and shape, then whatever is not the default layout."""
        layout = ("-fortran" if self.order == "F" else "") + (
            "-float32" if self.dtype == "float32" else ""
        )
        return f"{self.kind}-{self.m}x{self.n}{layout}"

    @property
    def work(self) -> int:
        """m n k: what Algorithm 3 of the paper is linear in."""
        return self.m * self.n * self.k

    def make(self) -> tuple[Array, Array]:
        """X of shape (m, n) in the problem's layout and y of shape (m,) in float64."""
        for_columns, for_labels, for_rows = (
            np.random.default_rng(seed) for seed in np.random.SeedSequence(SEED).spawn(3)
        )
        X = np.empty((self.m, self.n), dtype=self.dtype, order=self.order)
        y = np.empty(self.m)
        columns = for_columns.standard_normal(self.n)
        for start in range(0, self.m, BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, self.m))
            noise = for_rows.standard_normal((rows.stop - rows.start, self.n))
            if self.kind == "normal":
                X[rows], y[rows] = _normal(noise, columns, for_labels)
            else:
                X[rows], y[rows] = _ar1(noise, columns, for_labels)
        return X, y


def _normal(noise: Array, columns: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows of two normal classes; `columns` are standard normal, one for each feature."""
    y = rng.choice([-1.0, 1.0], size=len(noise))
    return noise + y[:, None] * (0.1 * columns / 2), y


def _ar1(noise: Array, columns: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows of a stationary AR(1) process along the columns, and a sparse linear target."""
    x = noise.copy()
    for i in range(1, x.shape[1]):
        x[:, i] = CORRELATION * x[:, i - 1] + np.sqrt(1 - CORRELATION**2) * noise[:, i]
    support = np.linspace(0, x.shape[1] - 1, 25).astype(int)
    return x, x[:, support] @ columns[support] + 3 * rng.standard_normal(len(x))


GROWTH_LIBRARIES = ("greedyrls_engine", "sklearn_omp")
SERIES_M = tuple(f"normal-{m}x1000" for m in (5_000, 10_000, 20_000, 50_000, 100_000, 200_000))
SERIES_N = tuple(f"normal-10000x{n}" for n in (500, 1000, 2000, 4000, 8000))


LAYOUT_LIBRARIES = (*GROWTH_LIBRARIES, "fastcan_selector")


def _growth(m: int, n: int) -> Problem:
    return Problem(m, n, 50, libraries=GROWTH_LIBRARIES)


_FULL = (
    Problem(60, 15, 4),  # small enough for every library, also those that refit for each feature
    Problem(50_000, 1000, 50),
    Problem(50_000, 1000, 50, order="F", libraries=LAYOUT_LIBRARIES),
    Problem(50_000, 1000, 50, dtype="float32", libraries=LAYOUT_LIBRARIES),
    Problem(5000, 1000, 50),
    Problem(500, 1000, 50),
    Problem(200, 20_000, 50),
    Problem(20_000, 1000, 50, kind="ar1", libraries=LAYOUT_LIBRARIES),
    *(_growth(m, 1000) for m in (10_000, 20_000, 100_000, 200_000)),
    *(_growth(10_000, n) for n in (500, 2000, 4000, 8000)),
)

_QUICK = (
    Problem(60, 15, 4),
    Problem(1000, 100, 10),
    Problem(1000, 100, 10, order="F"),
    Problem(1000, 100, 10, dtype="float32"),
    Problem(100, 500, 10),
    Problem(1000, 100, 10, kind="ar1"),
)

PROBLEMS: dict[str, Problem] = {problem.name: problem for problem in (*_FULL, *_QUICK)}
FULL = tuple(problem.name for problem in _FULL)
QUICK = tuple(problem.name for problem in _QUICK)
