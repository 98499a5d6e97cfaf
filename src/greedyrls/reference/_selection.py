"""The three algorithms of the paper, and its random baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._training import (
    Array,
    check,
    check_weights,
    fit,
    loo_brute_force,
)

Loss = Literal["squared", "zero_one"] | Callable[[Array, Array], float]


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceSelection:
    """Features in the order in which they were chosen, and the model on all of them.

    Attributes
    ----------
    indices : ndarray of int, shape (k,)
        Columns of X, first chosen first.
    losses : ndarray, shape (k,)
        ``losses[s]`` is the LOO loss of the model on ``indices[: s + 1]``.
    coef : ndarray, shape (k,) or (k, t)
        Coefficients of the model on all k features, in the order of ``indices``.
    intercept : float or ndarray of shape (t,)
        Intercept of that model, zero without ``fit_intercept``.

    Notes
    -----
    Predictions are ``X[:, indices] @ coef + intercept``, at O(k t) for each sample.

    Examples
    --------
    >>> selection = greedy_rls([[1, 0], [1, 1], [0, 1], [0, 0]], [0, 2, 2, 0], 1)
    >>> selection.indices.tolist(), selection.coef.round(3).tolist(), selection.intercept
    ([1], [1.333], 0.0)
    """

    indices: NDArray[np.intp]
    losses: Array
    coef: Array
    intercept: float | Array


class _Problem:
    """Checked inputs in the user's units, without samples of zero weight."""

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        n_features: int,
        alpha: float,
        loss: Loss,
        fit_intercept: bool,
        sample_weight: ArrayLike | None,
    ) -> None:
        X, y, alpha = check(X, y, alpha)
        weights = check_weights(sample_weight, len(X), fit_intercept)
        if not isinstance(n_features, Integral) or not 1 <= n_features <= X.shape[1]:
            raise ValueError(f"n_features is {n_features!r}; pass an integer in 1..{X.shape[1]}")
        if not callable(loss) and loss not in ("squared", "zero_one"):
            raise ValueError(f"loss is {loss!r}; pass 'squared', 'zero_one' or a callable")
        if loss == "zero_one" and np.any(np.abs(y) != 1):
            other = y[np.abs(y) != 1][0]
            raise ValueError(f"y holds {other}; recode y to labels -1 and +1 for loss='zero_one'")
        # A sample of zero weight is left out; scaled to zero, its LOO error would be 0 / 0.
        kept = weights > 0
        self.X: Array = X[kept]
        self.y: Array = y[kept]
        self.weights: Array = weights[kept]
        self.alpha: float = alpha
        self.loss: Loss = loss
        self.fit_intercept: bool = bool(fit_intercept)
        self.u: Array = np.sqrt(self.weights / self.weights.sum()) * self.fit_intercept

    def scaled(self, values: Array) -> Array:
        """Return rows times root weights, which makes weighted least squares unweighted."""
        return np.asarray((np.sqrt(self.weights) * values.T).T)

    def start(self, values: Array) -> Array:
        """Return G_0 times values, with G_0 the (m, m) matrix G of the model without features.

        Without an intercept u = 0 and G_0 = I / alpha, as in the paper. The intercept is one more
        feature, the constant, with its penalty taken to zero: in scaled rows the unit vector
        u = sqrt(weights / sum(weights)), and a small penalty alpha / c is the feature sqrt(c) u.
        Then G = (c u u' + alpha I)^-1 = (I - u u' c / (alpha + c)) / alpha, which tends to
        G_0 = (I - u u') / alpha as c grows. Updates and LOO short-cut hold for every c and, with
        two positive weights, no denominator vanishes in the limit: only the start differs.
        """
        return np.asarray((values - np.multiply.outer(self.u, self.u @ values)) / self.alpha)

    def start_diagonal(self) -> Array:
        """Return the diagonal of G_0, shape (m,), in O(m)."""
        return np.asarray((1.0 - self.u**2) / self.alpha)

    def loss_of_dual(self, a: Array, d: Array) -> float:
        """Return the LOO loss by the dual short-cut; root weights restore the user's units."""
        return self.loss_of(self.y - (a.T / d / np.sqrt(self.weights)).T)

    def loss_of(self, predictions: Array) -> float:
        """Return the LOO loss of the predictions, in the shape and units of y."""
        if callable(self.loss):
            value = float(self.loss(self.y, predictions))
        else:
            # A prediction of exactly 0, common with 0/1 features, comes out as 0 up to rounding.
            wrong = predictions * self.y <= 1e-10
            errors = (self.y - predictions) ** 2 if self.loss == "squared" else wrong
            value = float(np.mean(np.average(errors, axis=0, weights=self.weights)))
        if not np.isfinite(value):
            raise ValueError(f"the loss {self.loss!r} is {value}; rescale the data or change it")
        return value

    def choose(self, path: dict[int, float], score: Callable[[int], float]) -> int:
        """Score the features not on the path, {feature: LOO loss}, and put the best one on it."""
        scores = {i: score(i) for i in range(self.X.shape[1]) if i not in path}
        # Equal columns get losses that differ by rounding only, far less than 1e-10 relative.
        smallest = min(scores.values())
        b = min(i for i in scores if scores[i] <= smallest + 1e-10 * abs(smallest))
        path[b] = scores[b]
        return b

    def selection(self, path: Mapping[int, float], coef: Array) -> ReferenceSelection:
        """Return the result; at the best intercept the weighted mean residual vanishes."""
        indices = np.array(list(path), dtype=np.intp)
        residual = (self.y - self.X[:, indices] @ coef) * self.fit_intercept
        mean = np.average(residual, axis=0, weights=self.weights)
        intercept = mean if self.y.ndim == 2 else float(mean)
        return ReferenceSelection(indices, np.array(list(path.values())), coef, intercept)


def wrapper(
    X: ArrayLike,
    y: ArrayLike,
    n_features: int,
    *,
    alpha: float = 1.0,
    loss: Loss = "squared",
    fit_intercept: bool = False,
    sample_weight: ArrayLike | None = None,
) -> ReferenceSelection:
    """Algorithm 1: greedy selection around a trainer that is a black box.

    Each step tries every feature not chosen yet, training once for each left-out sample, and keeps
    the one of smallest LOO loss; of losses within 1e-10 relative of it, the lowest index wins.

    Parameters
    ----------
    X : array-like, shape (m, n)
        Samples as rows.
    y : array-like, shape (m,) or (m, t)
        One target, or t that share the features.
    n_features : int
        Number k of features to choose, from 1 to n.
    alpha : float, default=1.0
        Penalty on the squared norm of the coefficients, above 0.
    loss : {"squared", "zero_one"} or callable, default="squared"
        "squared" is the mean squared LOO error and "zero_one" the share of labels -1 or +1 whose
        LOO prediction has the other sign or is 0 (up to 1e-10); both are weighted, and averaged
        over targets. A callable ``loss(y_true, y_pred)`` gets the LOO predictions but no weights.
    fit_intercept : bool, default=False
        Whether to fit an unpenalised intercept, again for each left-out sample.
    sample_weight : array-like of shape (m,), optional
        Weights of the squared errors, not rescaled; a sample of weight 0 counts as absent.

    Returns
    -------
    ReferenceSelection
        The features in the order chosen, their LOO losses and the final model.

    Notes
    -----
    Time O(k n m (m k c + c^3)) with c = min(k, m).

    Examples
    --------
    >>> wrapper([[1, 0], [1, 1], [0, 1], [0, 0]], [0, 2, 2, 0], 2).indices.tolist()
    [1, 0]
    """
    problem = _Problem(X, y, n_features, alpha, loss, fit_intercept, sample_weight)
    X, y, weights = problem.X, problem.y, problem.weights
    path: dict[int, float] = {}

    def score(i: int) -> float:
        predictions = loo_brute_force(
            X[:, [*path, i]], y, alpha, fit_intercept=fit_intercept, sample_weight=weights
        )
        return problem.loss_of(predictions)

    while len(path) < n_features:
        problem.choose(path, score)
    return problem.selection(path, fit(X[:, list(path)], y, alpha, weights, fit_intercept)[0])


def low_rank_ls_svm(
    X: ArrayLike,
    y: ArrayLike,
    n_features: int,
    *,
    alpha: float = 1.0,
    loss: Loss = "squared",
    fit_intercept: bool = False,
    sample_weight: ArrayLike | None = None,
) -> ReferenceSelection:
    """Algorithm 2: greedy selection by low-rank updates of G = (X_S X_S' + alpha I)^-1.

    A candidate adds a rank-one term to the inverted matrix, so its G follows from the current one
    by the Sherman-Morrison-Woodbury formula, and its LOO predictions from G by the dual short-cut.
    Parameters and result are those of `wrapper`.

    Parameters
    ----------
    X, y, n_features, alpha, loss, fit_intercept, sample_weight
        As in `wrapper`.

    Notes
    -----
    Time O(k n m^2), memory O(m^2 + m n): a new (m, m) matrix for every candidate.

    Examples
    --------
    >>> low_rank_ls_svm([[1, 0], [1, 1], [0, 1], [0, 0]], [0, 2, 2, 0], 2).indices.tolist()
    [1, 0]
    """
    problem = _Problem(X, y, n_features, alpha, loss, fit_intercept, sample_weight)
    X, y = problem.scaled(problem.X), problem.scaled(problem.y)
    G = problem.start(np.eye(len(X)))
    path: dict[int, float] = {}

    def with_feature(i: int) -> Array:
        v = X[:, i]
        return np.asarray(G - np.outer(G @ v, v @ G) / (1.0 + v @ G @ v))

    def score(i: int) -> float:
        G_candidate = with_feature(i)
        return problem.loss_of_dual(G_candidate @ y, np.diag(G_candidate))

    while len(path) < n_features:
        G = with_feature(problem.choose(path, score))
    return problem.selection(path, X[:, list(path)].T @ (G @ y))


def _with_feature(v: Array, c: Array, a: Array, d: Array) -> tuple[Array, Array, Array]:
    """Step u of feature v, and a and d with it, from the column c = G v of the cache: O(m)."""
    u = c / (1.0 + v @ c)
    return u, a - np.multiply.outer(u, v @ a), d - u * c


def greedy_rls(
    X: ArrayLike,
    y: ArrayLike,
    n_features: int,
    *,
    alpha: float = 1.0,
    loss: Loss = "squared",
    fit_intercept: bool = False,
    sample_weight: ArrayLike | None = None,
) -> ReferenceSelection:
    """Algorithm 3: greedy selection in linear time by a cache C = G X.

    Only a = G y and d = diag G enter the LOO short-cut, and their updates by candidate i need only
    column i of C, so G is never formed. Parameters and result are those of `wrapper`.

    Parameters
    ----------
    X, y, n_features, alpha, loss, fit_intercept, sample_weight
        As in `wrapper`.

    Notes
    -----
    Time O(k m n), memory O(m n): O(m) for each candidate, and O(m n) to update C after each choice.

    Examples
    --------
    >>> selection = greedy_rls([[1, 0], [1, 1], [0, 1], [0, 0]], [0, 2, 2, 0], 2)
    >>> selection.indices.tolist(), selection.losses.round(3).tolist()
    ([1, 0], [0.5, 0.65])
    """
    problem = _Problem(X, y, n_features, alpha, loss, fit_intercept, sample_weight)
    X, y = problem.scaled(problem.X), problem.scaled(problem.y)
    C, a, d = problem.start(X), problem.start(y), problem.start_diagonal()
    path: dict[int, float] = {}

    def score(i: int) -> float:
        _, a_candidate, d_candidate = _with_feature(X[:, i], C[:, i], a, d)
        return problem.loss_of_dual(a_candidate, d_candidate)

    while len(path) < n_features:
        b = problem.choose(path, score)
        u, a, d = _with_feature(X[:, b], C[:, b], a, d)
        C = C - np.outer(u, X[:, b] @ C)
    return problem.selection(path, X[:, list(path)].T @ a)


def random_selection(
    X: ArrayLike,
    y: ArrayLike,
    n_features: int,
    *,
    alpha: float = 1.0,
    loss: Loss = "squared",
    fit_intercept: bool = False,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
) -> ReferenceSelection:
    """Features in random order, with the LOO losses they give: the paper's baseline.

    ``random_state`` is a seed or a generator; with a seed, a shorter selection is a prefix of a
    longer one. The other parameters and the result are those of `wrapper`.

    Parameters
    ----------
    X, y, n_features, alpha, loss, fit_intercept, sample_weight
        As in `wrapper`.
    random_state : int, Generator or None
        Seed or generator; with a seed, a shorter selection is a prefix of a longer one.

    Notes
    -----
    Time O(m k^2 + n), by the updates of `greedy_rls` on the k columns drawn.

    Examples
    --------
    >>> sorted(random_selection([[1, 0], [1, 1]], [0, 2], 2, random_state=0).indices.tolist())
    [0, 1]
    """
    problem = _Problem(X, y, n_features, alpha, loss, fit_intercept, sample_weight)
    order = np.random.default_rng(random_state).permutation(problem.X.shape[1])[:n_features]
    X, y = problem.scaled(problem.X[:, order]), problem.scaled(problem.y)
    C, a, d = problem.start(X), problem.start(y), problem.start_diagonal()
    path: dict[int, float] = {}
    for s, b in enumerate(order.tolist()):
        u, a, d = _with_feature(X[:, s], C[:, s], a, d)
        path[b] = problem.loss_of_dual(a, d)
        C = C - np.outer(u, X[:, s] @ C)
    return problem.selection(path, X.T @ a)
