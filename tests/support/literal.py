"""The slow twin: greedy selection by its definition, one ridge fit per candidate and split.

Nothing here uses a short-cut such as leverages or updates: every held-out prediction comes from a
model fitted on the training rows of its split. A row of weight 0 counts as absent everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Split = tuple[NDArray[np.intp], NDArray[np.intp]]
Splits = Sequence[tuple[ArrayLike, ArrayLike]]
Loss = str | Callable[[Array, Array], float]

# A prediction of exactly 0, or two equal ones, come out as such up to rounding.
UNDECIDED = 1e-10
# Losses that differ by less, relative and relative to the loss without features, are ties.
TIE, TIE_OF_INITIAL = 1e-10, 1e-14


@dataclass(frozen=True, slots=True, eq=False)
class LiteralPath:
    """Features in the order chosen, and the losses of all candidates at each step."""

    indices: NDArray[np.intp]
    losses: Array
    initial_loss: float
    candidate_losses: list[dict[int, float]]  # a forced feature is the only one at its step


def ridge_predict(
    X_train: ArrayLike,
    Y_train: ArrayLike,
    weights_train: ArrayLike | None,
    X_test: ArrayLike,
    alpha: float,
    fit_intercept: bool,
) -> Array:
    """Predictions (m_test × t) of a weighted ridge, by least squares on [√w X; √alpha I]."""
    X, Y = np.asarray(X_train, dtype=np.float64), _targets(Y_train)
    weights = _weights(weights_train, len(X))
    x_mean, y_mean = np.zeros(X.shape[1]), np.zeros(Y.shape[1])
    if fit_intercept:
        if not weights.sum() > 0:
            raise ValueError("no training row of positive weight: the intercept is undefined")
        x_mean, y_mean = weights @ X / weights.sum(), weights @ Y / weights.sum()
    # Far from the origin the mean is rounded to its own size: what is left of it comes off apart.
    X = X - x_mean
    rest = weights @ X / weights.sum() if fit_intercept else np.zeros(X.shape[1])
    root = np.sqrt(weights)[:, None]
    n, t = X.shape[1], Y.shape[1]
    left = np.vstack([root * (X - rest), np.sqrt(alpha) * np.eye(n)])
    right = np.vstack([root * (Y - y_mean), np.zeros((n, t))])
    # Columns of unit length: features in unlike units do not make the system ill-conditioned.
    lengths = np.sqrt(np.sum(left**2, axis=0))
    coef = np.linalg.lstsq(left / lengths, right, rcond=0.0)[0] / lengths[:, None]
    predictions = np.tile(y_mean, (len(np.asarray(X_test)), 1))
    centred = np.asarray(X_test, dtype=np.float64) - x_mean - rest
    # Column by column, so that equal rows get equal predictions to the last bit.
    for column in range(n):
        predictions += np.multiply.outer(centred[:, column], coef[column])
    return predictions


def held_out_predictions(
    X: ArrayLike,
    Y: ArrayLike,
    splits: Splits,
    columns: Sequence[int],
    alpha: float,
    fit_intercept: bool,
    weights: ArrayLike | None,
) -> list[Array]:
    """For each split, predictions (m_test × t) of its test rows by the ridge on its other rows."""
    Y = _targets(Y)
    X = np.asarray(X, dtype=np.float64)[:, np.asarray(columns, dtype=np.intp)]
    w = _weights(weights, len(X))
    return [
        ridge_predict(X[train], Y[train], w[train], X[test], alpha, fit_intercept)
        for train, test in _splits(splits)
    ]


def loss_value(loss: Loss, Y: ArrayLike, P: ArrayLike, weights: ArrayLike | None) -> float:
    """Loss of the predictions P (m × t) of Y (m × t), on the rows of positive weight.

    "squared" and "absolute" average over rows and targets. "zero_one" and "balanced_zero_one" take
    labels ±1, or one column of ±1 for each class; "auc", 1 minus the area, takes labels ±1. A
    callable (y_true, y_pred) gets no weights, and 1-D arrays of a single target.
    """
    Y, P = _targets(Y), _targets(P)
    w = _weights(weights, len(Y))
    Y, P, w = Y[w > 0], P[w > 0], w[w > 0]
    if callable(loss):
        return float(loss(Y[:, 0], P[:, 0]) if Y.shape[1] == 1 else loss(Y, P))
    if loss == "squared":
        return float(w @ np.mean((Y - P) ** 2, axis=1) / w.sum())
    if loss == "absolute":
        return float(w @ np.mean(np.abs(Y - P), axis=1) / w.sum())
    if np.any(np.abs(Y) != 1):
        raise ValueError(f"labels must be -1 or +1 for {loss!r}")
    if loss == "zero_one":
        return float(w @ _wrong(Y, P) / w.sum())
    if loss == "balanced_zero_one":
        wrong, classes = _wrong(Y, P), _classes(Y)
        rates = [
            w[classes == label] @ wrong[classes == label] / w[classes == label].sum()
            for label in np.unique(classes)
        ]
        return float(np.mean(rates))
    if loss == "auc":
        return _one_minus_area(Y, P, w)
    raise ValueError(f"unknown loss {loss!r}")


def criterion(
    X: ArrayLike,
    Y: ArrayLike,
    splits: Splits | Literal["loo"],
    columns: Sequence[int],
    *,
    loss: Loss,
    alpha: float,
    fit_intercept: bool,
    weights: ArrayLike | None,
    tested: ArrayLike | None = None,
) -> float:
    """Cross-validated loss of the ridge on these columns.

    `tested` are the weights of held-out rows, where they are not those of the fit.

    "loo" pools the leave-one-out predictions and takes their loss once; splits have a loss each,
    averaged with the total weight of their test rows.
    """
    Y = _targets(Y)
    w = _weights(weights, len(Y))
    t = w if tested is None else _weights(tested, len(Y))
    if isinstance(splits, str):
        if splits != "loo":
            raise ValueError(f"unknown splits {splits!r}")
        rows = np.flatnonzero(w > 0)
        each: list[Split] = [(np.delete(np.arange(len(Y)), row), np.array([row])) for row in rows]
        pooled = held_out_predictions(X, Y, each, columns, alpha, fit_intercept, w)
        return loss_value(loss, Y[rows], np.vstack(pooled), t[rows])
    counted = [(train, test) for train, test in _splits(splits) if w[test].sum() > 0]
    if not counted:
        raise ValueError("no split has a test row of positive weight")
    predictions = held_out_predictions(X, Y, counted, columns, alpha, fit_intercept, w)
    losses = [
        loss_value(loss, Y[test], P, t[test])
        for (_, test), P in zip(counted, predictions, strict=True)
    ]
    return float(np.average(losses, weights=[t[test].sum() for _, test in counted]))


def literal_path(
    X: ArrayLike,
    y: ArrayLike,
    n_features: int,
    *,
    cv: Splits | Literal["loo"] = "loo",
    loss: Loss = "squared",
    alpha: float = 1.0,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    forced_features: Iterable[int] = (),
    excluded_features: Iterable[int] = (),
) -> LiteralPath:
    """Greedy forward selection, the forced features first; of tied losses the lowest index wins.

    Where all candidates tie by "balanced_zero_one", squared loss decides.
    """
    X, Y = np.asarray(X, dtype=np.float64), _targets(y)
    forced, excluded = list(forced_features), set(excluded_features)
    if not len(forced) <= n_features <= X.shape[1] - len(excluded):
        raise ValueError(f"n_features is {n_features}: too few for the forced or too many to have")

    def score(columns: list[int], measure: Loss = loss) -> float:
        return criterion(
            *(X, Y, cv, columns),
            loss=measure,
            alpha=alpha,
            fit_intercept=fit_intercept,
            weights=sample_weight,
        )

    initial_loss = score([])
    indices: list[int] = []
    candidate_losses: list[dict[int, float]] = []
    while len(indices) < n_features:
        free = [i for i in range(X.shape[1]) if i not in excluded and i not in indices]
        candidates = forced[len(indices) : len(indices) + 1] or free
        losses = {i: score([*indices, i]) for i in candidates}
        tied = [i for i in losses if _ties(losses[i], losses.values(), initial_loss)]
        if loss == "balanced_zero_one" and len(tied) == len(losses):
            # No candidate changes a decision: squared loss breaks the tie.
            squares = {i: score([*indices, i], "squared") for i in tied}
            tied = [i for i in tied if _ties(squares[i], squares.values(), score([], "squared"))]
        indices.append(min(tied))
        candidate_losses.append(losses)
    chosen = [losses[i] for i, losses in zip(indices, candidate_losses, strict=True)]
    return LiteralPath(
        np.array(indices, dtype=np.intp), np.array(chosen), initial_loss, candidate_losses
    )


def nested_surface(
    X: ArrayLike,
    y: ArrayLike,
    outer_splits: Splits,
    alphas: Sequence[float],
    n_features: int,
    *,
    cv: Splits | Literal["loo"] = "loo",
    loss: Loss = "squared",
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    refit: Literal["same"] | float | Sequence[float] = "same",
    balanced: ArrayLike | None = None,
) -> dict[str, Array]:
    """Losses on outer test rows of models selected and fitted on the outer training rows alone.

    `cv` is restricted to the training rows of each outer split. `refit` is the penalty of the
    models tested: "same" as in the selection, a number, or several of which the smallest
    leave-one-out loss on the training rows takes one, the largest penalty among tied ones.
    `balanced` are labels whose classes shall count the same among the training rows of a split;
    its test rows have the weights of these classes.

    Gives "losses" (A × k), the mean of "fold_losses" (folds × A × k) with the total weight of the
    test rows, and likewise "indices" and "refit_alphas" (both folds × A × k). A fold without test
    rows of positive weight has losses NaN and does not count. "row_losses" (A × k × m) are those of
    single rows, where a loss is a mean over them, and "initial_losses" (folds) and
    "initial_row_losses" (m) of predicting the mean of the training rows, or their largest class.
    """
    X, Y = np.asarray(X, dtype=np.float64), _targets(y)
    given = _weights(sample_weight, len(X))
    folds = _splits(outer_splits)
    totals = np.zeros(len(folds))
    shape = (len(folds), len(alphas), n_features)
    fold_losses, refit_alphas = np.full(shape, np.nan), np.full(shape, np.nan)
    indices = np.zeros(shape, dtype=np.intp)
    row_losses = np.full((*shape[1:], len(X)), np.nan)
    initial_losses, initial_row_losses = np.full(len(folds), np.nan), np.full(len(X), np.nan)
    by_rows = loss in ("squared", "absolute", "zero_one")
    for fold, (train, test) in enumerate(folds):
        train, test = train[given[train] > 0], test[given[test] > 0]
        w = given * balanced_factors(balanced, given, train)
        totals[fold] = w[test].sum()
        data = X[train], Y[train]
        constant = np.zeros(Y.shape[1])
        if loss == "zero_one":
            constant = np.where(w[train] @ Y[train] > 0.0, 1.0, -1.0)
        elif fit_intercept:
            constant = np.average(Y[train], axis=0, weights=w[train])
        if len(test):
            P = np.tile(constant, (len(test), 1))
            initial_losses[fold] = loss_value(loss, Y[test], P, w[test])
            for row in test if by_rows else ():
                initial_row_losses[row] = loss_value(loss, Y[[row]], P[:1], None)
        inner = cv if isinstance(cv, str) else restricted(cv, train)
        settings: dict[str, Any] = {"loss": loss, "fit_intercept": fit_intercept}
        for a, alpha in enumerate(alphas):
            path = literal_path(
                *data, n_features, cv=inner, alpha=alpha, sample_weight=w[train], **settings
            )
            indices[fold, a] = path.indices
            for size in range(1, n_features + 1):
                columns = path.indices[:size].tolist()
                if isinstance(refit, str):
                    penalty = alpha
                elif isinstance(refit, int | float | np.number):
                    penalty = float(refit)
                else:
                    penalty = best_penalty(*data, columns, refit, weights=w[train], **settings)
                refit_alphas[fold, a, size - 1] = penalty
                if len(test):
                    fit = X[train][:, columns], Y[train], w[train]
                    P = ridge_predict(*fit, X[test][:, columns], penalty, fit_intercept)
                    fold_losses[fold, a, size - 1] = loss_value(loss, Y[test], P, w[test])
                    for row, p in zip(test, P, strict=True) if by_rows else ():
                        row_losses[a, size - 1, row] = loss_value(loss, Y[[row]], p[None], None)
    counted = totals > 0
    return {
        "losses": np.average(fold_losses[counted], axis=0, weights=totals[counted]),
        "fold_losses": fold_losses,
        "indices": indices,
        "refit_alphas": refit_alphas,
        "row_losses": row_losses,
        "initial_losses": initial_losses,
        "initial_row_losses": initial_row_losses,
    }


def middle_of_ties(losses: Sequence[float], counted: Sequence[bool] | None = None) -> int:
    """Which of the penalties, in ascending order, is taken for the smallest of these losses.

    Tied ones are struck out at both ends until one or two are left; of two, the one with more
    penalties beyond it on its outer side, else the larger.
    """
    known = [row for row in range(len(losses)) if counted is None or counted[row]]
    known = [row for row in known if losses[row] == losses[row]]
    smallest = min(losses[row] for row in known)
    tied = [row for row in known if losses[row] <= smallest + TIE * abs(smallest)]
    while len(tied) > 2:
        tied = tied[1:-1]
    below, above = tied[0], len(losses) - 1 - tied[-1]
    return tied[0] if below > above else tied[-1]


def best_pair(losses: Array, least: int = 0) -> tuple[int, int]:
    """Row and size of the smallest of held-out losses (A × k): fewest features, then the middle."""
    sizes = range(max(1, least), losses.shape[1] + 1)
    smallest = min(np.nanmin(losses[:, size - 1]) for size in sizes)
    size = next(s for s in sizes if np.nanmin(losses[:, s - 1]) <= smallest + TIE * abs(smallest))
    column = np.where(losses[:, size - 1] <= smallest + TIE * abs(smallest), smallest, np.nan)
    return middle_of_ties(column.tolist()), size


def balanced_factors(labels: ArrayLike | None, weights: Array, rows: NDArray[np.intp]) -> Array:
    """What each sample's class counts (m), so that classes count the same among some rows."""
    factors = np.ones(len(weights))
    if labels is None:
        return factors
    labels = np.asarray(labels)
    present = sorted(set(labels[rows].tolist()))
    for label in present:
        own = weights[rows][labels[rows] == label].sum()
        factors[labels == label] = weights[rows].sum() / (len(present) * own)
    return factors


def restricted(splits: Splits, rows: NDArray[np.intp]) -> list[Split]:
    """The splits on these rows only, renumbered from 0; one with an empty part is left out."""
    number = {int(row): place for place, row in enumerate(rows)}
    kept: list[Split] = []
    for split in _splits(splits):
        train, test = (
            np.array([number[row] for row in part.tolist() if row in number], dtype=np.intp)
            for part in split
        )
        if len(train) and len(test):
            kept.append((train, test))
    return kept


def best_penalty(
    X: Array,
    Y: Array,
    columns: Sequence[int],
    penalties: Sequence[float],
    *,
    loss: Loss,
    fit_intercept: bool,
    weights: ArrayLike | None,
) -> float:
    """The penalty of smallest leave-one-out loss for these columns, the largest of tied ones."""

    def score(columns: Sequence[int], alpha: float) -> float:
        return criterion(
            *(X, Y, "loo", columns),
            loss=loss,
            alpha=alpha,
            fit_intercept=fit_intercept,
            weights=weights,
        )

    losses = {float(alpha): score(columns, float(alpha)) for alpha in penalties}
    initial_loss = score([], 1.0)
    return max(alpha for alpha in losses if _ties(losses[alpha], losses.values(), initial_loss))


def _ties(loss: float, losses: Iterable[float], initial_loss: float) -> bool:
    """Whether the loss is the smallest of them, up to rounding."""
    smallest = min(losses)
    return loss <= smallest + TIE * abs(smallest) + TIE_OF_INITIAL * abs(initial_loss)


def _targets(y: ArrayLike) -> Array:
    """Targets as columns (m × t), in float64."""
    Y = np.asarray(y, dtype=np.float64)
    return Y[:, None] if Y.ndim == 1 else Y


def _weights(weights: ArrayLike | None, m: int) -> Array:
    return np.ones(m) if weights is None else np.asarray(weights, dtype=np.float64)


def _splits(splits: Splits) -> list[Split]:
    return [(np.asarray(a, dtype=np.intp), np.asarray(b, dtype=np.intp)) for a, b in splits]


def _classes(Y: Array) -> NDArray[np.intp]:
    """The class of each row, as a number."""
    return np.asarray(Y[:, 0] > 0 if Y.shape[1] == 1 else np.argmax(Y, axis=1), dtype=np.intp)


def _wrong(Y: Array, P: Array) -> NDArray[np.bool_]:
    """Rows whose prediction is not clearly on the side of their class."""
    if Y.shape[1] == 1:
        return np.asarray(Y[:, 0] * P[:, 0] <= UNDECIDED)
    if np.any(np.sum(Y > 0, axis=1) != 1):
        raise ValueError("several targets must be one-vs-rest codes, one +1 in each row")
    true = P[Y > 0]
    other = np.where(Y > 0, -np.inf, P).max(axis=1)
    return np.asarray(~(true - other > UNDECIDED))


def _one_minus_area(Y: Array, P: Array, w: Array) -> float:
    """Weighted share of pairs of both classes in the wrong order; an exact tie is half of one."""
    if Y.shape[1] != 1 or len(np.unique(Y)) != 2:
        raise ValueError("the area under the curve needs a single target with rows of both classes")
    positive = Y[:, 0] > 0
    differences = np.subtract.outer(P[positive, 0], P[~positive, 0])
    wrong = (differences < 0) + 0.5 * (differences == 0)
    pairs = np.multiply.outer(w[positive], w[~positive])
    return float(np.sum(pairs * wrong) / np.sum(pairs))


def huberish(y_true: Any, y_pred: Any) -> float:
    """A loss that is a mean over samples, and none of those that the package knows."""
    size = np.abs(y_true - y_pred)
    return float(np.mean(np.where(size < 1.0, size**2, 2.0 * size - 1.0)))


def largest(y_true: Any, y_pred: Any) -> float:
    """A loss that is no mean over samples."""
    return float(np.abs(y_true - y_pred).max())
