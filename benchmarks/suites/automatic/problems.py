"""Problems of the suite automatic: splits of data sets, and made-up data with known true features.

A draw depends on the problem and the number of the split alone, so that every method of every run
sees the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.model_selection import train_test_split

from harness import data_sets

Array = np.ndarray[Any, np.dtype[np.float64]]
Labels = np.ndarray[Any, np.dtype[Any]]
Score = Literal["R²", "accuracy", "AUC"]


@dataclass(frozen=True, slots=True)
class Draw:
    """Training rows, test rows, and the features that the target was made of, where known."""

    X: Array
    y: Labels
    test_X: Array
    test_y: Labels
    truth: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """A named problem: how its rows are drawn, and what is reported on the test rows."""

    name: str
    score: Score
    n_train: int
    n_test: int
    n_features: int
    about: str
    make: Callable[[Problem, int, Path | None], Draw]
    is_from_folder: bool = False

    def draw(self, split: int, data_dir: Path | None) -> Draw:
        """Make the rows of split number `split`."""
        return self.make(self, split, data_dir)


# Data sets ----------------------------------------------------------------------------------------


def _rows_of(load: Callable[[Path | None], tuple[Array, Labels]]) -> Callable[..., Draw]:
    """A draw of training and test rows, with the same shares of classes in both."""

    def draw(problem: Problem, split: int, data_dir: Path | None) -> Draw:
        X, y = load(data_dir)
        train, test = train_test_split(
            np.arange(len(y)),
            train_size=problem.n_train,
            test_size=problem.n_test,
            stratify=None if problem.score == "R²" else y,
            random_state=split,
        )
        return Draw(X[train], y[train], X[test], y[test])

    return draw


@cache
def _threes_and_eights(data_dir: Path | None) -> tuple[Array, Labels]:
    X, y = load_digits(return_X_y=True)
    rows = np.isin(y, (3, 8))
    return X[rows], y[rows]


def _bundled(load: Callable[..., tuple[Array, Labels]]) -> Callable[..., Draw]:
    return _rows_of(cache(lambda data_dir: load(return_X_y=True)))


def _of_the_paper(name: str, pixels: slice | None = None) -> Callable[..., Draw]:
    @cache
    def load(data_dir: Path | None) -> tuple[Array, Labels]:
        if data_dir is None:
            raise FileNotFoundError(f"{name} is read from a folder: pass --data-dir.")
        X, y = data_sets.load(data_sets.DATA_SETS[name], data_dir)
        return (X if pixels is None else np.ascontiguousarray(X[:, pixels])), (y > 0).astype(int)

    return _rows_of(load)


# Made-up problems ---------------------------------------------------------------------------------

# Of a random generator, a number of rows and one of columns: X, y and the true features.
Recipe = Callable[[np.random.Generator, int, int], tuple[Array, Labels, frozenset[int] | None]]


def _made_by(recipe: Recipe) -> Callable[..., Draw]:
    def draw(problem: Problem, split: int, data_dir: Path | None) -> Draw:
        # The name is part of the seed: problems of one split would share their normal numbers.
        rng = np.random.default_rng([split, *problem.name.encode()])
        m = problem.n_train
        X, y, truth = recipe(rng, m + problem.n_test, problem.n_features)
        return Draw(X[:m], y[:m], X[m:], y[m:], truth)

    return draw


def _chain(rng: np.random.Generator, rows: int, columns: int, correlation: float) -> Array:
    """Normal columns of variance 1, each correlated with the one before it."""
    X = rng.standard_normal((rows, columns))
    for j in range(1, columns):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1.0 - correlation**2) * X[:, j]
    return X


def _noisy(rng: np.random.Generator, signal: Array, ratio: float) -> Array:
    """Add normal noise; `ratio` is the variance of the signal over that of the noise."""
    noise: Array = rng.standard_normal(len(signal)) * signal.std() / np.sqrt(ratio)
    return signal + noise


def _classes(rng: np.random.Generator, log_odds: Array) -> Labels:
    labels: Labels = (rng.uniform(size=len(log_odds)) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
    return labels


def _evenly(columns: int, count: int) -> list[int]:
    """So many columns, far apart."""
    return list(range(columns // (2 * count), columns, columns // count))[:count]


def equal_weights(correlation: float, ratio: float, count: int = 5) -> Recipe:
    """A few columns of equal weight; neighbouring columns are correlated."""

    def recipe(rng: np.random.Generator, rows: int, columns: int) -> Any:
        X, true = _chain(rng, rows, columns, correlation), _evenly(columns, count)
        return X, _noisy(rng, X[:, true].sum(axis=1), ratio), frozenset(true)

    return recipe


def falling_weights(rng: np.random.Generator, rows: int, columns: int) -> Any:
    """Ten of many independent columns, with weights 1, 1/2, 1/3, …, and noise of variance 1."""
    X = rng.standard_normal((rows, columns))
    y = X[:, :10] @ (1.0 / np.arange(1, 11)) + rng.standard_normal(rows)
    return X, y, frozenset(range(10))


def copies(rng: np.random.Generator, rows: int, columns: int) -> Any:
    """Each column comes with four near copies (correlation 0.96); five originals matter."""
    originals = rng.standard_normal((rows, columns // 5))
    X = np.repeat(originals, 5, axis=1)
    X[:, np.arange(columns) % 5 > 0] += 0.3 * rng.standard_normal((rows, 4 * (columns // 5)))
    true = list(range(0, 25, 5))
    return X, _noisy(rng, X[:, true].sum(axis=1), 2.0), frozenset(true)


def noise(rng: np.random.Generator, rows: int, columns: int) -> Any:
    """A target that has nothing to do with X."""
    return rng.standard_normal((rows, columns)), rng.standard_normal(rows), frozenset()


def noise_classes(rng: np.random.Generator, rows: int, columns: int) -> Any:
    """Two classes that have nothing to do with X."""
    X = rng.standard_normal((rows, columns))
    return X, _classes(rng, np.zeros(rows)), frozenset()


def markers(rng: np.random.Generator, rows: int, columns: int) -> Any:
    """Columns of 0 and 1 that go together, one in 24 of which matters a little."""
    common = rng.standard_normal((rows, 40)) @ rng.standard_normal((40, columns))
    X = (common + 4.0 * rng.standard_normal(common.shape) > 0).astype(float)
    true = list(range(0, columns, 24))
    signal = X[:, true] @ rng.standard_normal(len(true))
    return X, _noisy(rng, signal, 1.0), frozenset(true)


def spectra(rng: np.random.Generator, rows: int, columns: int) -> Any:
    """Smooth curves of eight overlapping bumps, the target is the height of two of them."""
    place, centres = np.linspace(0.0, 1.0, columns), np.linspace(0.06, 0.94, 8)
    bumps = np.exp(-0.5 * ((place - centres[:, None]) / 0.06) ** 2)
    heights = rng.gamma(2.0, size=(rows, 8))
    X = heights @ bumps + 0.05 * rng.standard_normal((rows, columns))
    # No column is the true one: those around a bump say the same.
    return X, _noisy(rng, heights[:, 2] - heights[:, 5], 10.0), None


def expression(rng: np.random.Generator, rows: int, columns: int) -> Any:
    """Two classes; twenty factors are shared by all columns, eight columns make the classes."""
    X = rng.standard_normal((rows, columns))
    X += rng.standard_normal((rows, 20)) @ rng.standard_normal((20, columns))
    true = _evenly(columns, 8)
    signal = X[:, true].sum(axis=1)
    return X, (_noisy(rng, signal, 16.0) > 0).astype(int), frozenset(true)


def few_true_classes(rng: np.random.Generator, rows: int, columns: int) -> Any:
    """Two classes by a logistic model on six of many columns with correlated neighbours."""
    X, true = _chain(rng, rows, columns, 0.5), _evenly(columns, 6)
    weights = np.array([1.5, -1.5, 1.0, -1.0, 0.7, -0.7])
    return X, _classes(rng, X[:, true] @ weights), frozenset(true)


def rare_class(rng: np.random.Generator, rows: int, columns: int) -> Any:
    """Four rows in a hundred are of the second class, which two columns tell."""
    X = rng.standard_normal((rows, columns))
    return X, _classes(rng, 2.5 * X[:, 0] + 2.0 * X[:, 1] - 6.5), frozenset((0, 1))


# The problems -------------------------------------------------------------------------------------

_ALL = (
    Problem("diabetes", "R²", 309, 133, 10, "scikit-learn's", _bundled(load_diabetes)),
    Problem(
        "breast cancer", "accuracy", 398, 171, 30, "scikit-learn's", _bundled(load_breast_cancer)
    ),
    Problem("wine", "accuracy", 124, 54, 13, "scikit-learn's, 3 classes", _bundled(load_wine)),
    Problem(
        "digits 3, 8",
        "accuracy",
        249,
        108,
        64,
        "scikit-learn's digits, 3 against 8",
        _rows_of(_threes_and_eights),
    ),
    Problem(
        "australian", "accuracy", 483, 207, 14, "the paper's", _of_the_paper("australian"), True
    ),
    Problem(
        "german.numer", "accuracy", 700, 300, 24, "the paper's", _of_the_paper("german.numer"), True
    ),
    Problem(
        "colon-cancer",
        "accuracy",
        43,
        19,
        2000,
        "the paper's",
        _of_the_paper("colon-cancer"),
        True,
    ),
    Problem(
        "adult",
        "accuracy",
        500,
        10_000,
        123,
        "the paper's; 500 training rows",
        _of_the_paper("adult"),
        True,
    ),
    Problem(
        "ijcnn1",
        "AUC",
        2000,
        10_000,
        22,
        "the paper's; 2,000 training rows, a tenth of them positive",
        _of_the_paper("ijcnn1"),
        True,
    ),
    Problem(
        "mnist5",
        "AUC",
        400,
        10_000,
        195,
        "the paper's, 5 against the rest; 400 training rows, every fourth pixel",
        _of_the_paper("mnist5", slice(2, None, 4)),
        True,
    ),
    Problem(
        "independent",
        "R²",
        200,
        2000,
        100,
        "5 equal true features, signal to noise 1",
        _made_by(equal_weights(0.0, 1.0)),
    ),
    Problem(
        "weak",
        "R²",
        200,
        2000,
        100,
        "the same with signal to noise 1/4",
        _made_by(equal_weights(0.0, 0.25)),
    ),
    Problem(
        "correlated",
        "R²",
        200,
        2000,
        100,
        "neighbours correlated by 0.9, 5 true, signal to noise 1",
        _made_by(equal_weights(0.9, 1.0)),
    ),
    Problem(
        "copies",
        "R²",
        200,
        2000,
        100,
        "each column with four near copies (0.96), 5 true, signal to noise 2",
        _made_by(copies),
    ),
    Problem("noise", "R²", 200, 2000, 100, "y has nothing to do with X", _made_by(noise)),
    Problem(
        "few of many",
        "R²",
        500,
        2000,
        150,
        "10 true with weights 1, 1/2, 1/3, …",
        _made_by(falling_weights),
    ),
    Problem(
        "wide",
        "R²",
        80,
        1000,
        1000,
        "5 equal true features, signal to noise 4",
        _made_by(equal_weights(0.0, 4.0)),
    ),
    Problem(
        "markers",
        "R²",
        200,
        1000,
        240,
        "correlated columns of 0 and 1, 10 weak true ones",
        _made_by(markers),
    ),
    Problem(
        "spectra",
        "R²",
        80,
        1000,
        300,
        "smooth curves, neighbouring columns all but equal",
        _made_by(spectra),
    ),
    Problem(
        "noise, classes",
        "accuracy",
        200,
        2000,
        100,
        "classes have nothing to do with X",
        _made_by(noise_classes),
    ),
    Problem(
        "expression",
        "accuracy",
        50,
        1000,
        2000,
        "20 factors common to all columns, 8 true",
        _made_by(expression),
    ),
    Problem(
        "few true, classes",
        "accuracy",
        300,
        2000,
        100,
        "logistic, 6 true, neighbours correlated by 0.5",
        _made_by(few_true_classes),
    ),
    Problem(
        "rare class",
        "AUC",
        1500,
        5000,
        6,
        "4 % of the rows in the second class, 2 true",
        _made_by(rare_class),
    ),
)
PROBLEMS = {problem.name: problem for problem in _ALL}
