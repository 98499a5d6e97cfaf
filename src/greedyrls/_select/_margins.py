"""Held-out margins, from which probabilities are calibrated.

If outer folds chose the penalty, the selection is repeated in each of them with the chosen penalty
and size, and its model predicts the rows held out. Otherwise the features are those of the path,
which was selected on all rows: models on them without the rows of each fold of the criterion, or
without each row in turn, predict the rows left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .._base import (
    Float,
    in_threads,
    limits_threads,
    numbers_on,
    progress_bar,
    take,
    to_host,
    without_runtime_warnings,
)
from .._cluster import fold_numbers
from .._criteria import LooData, errors_by_size
from .._data import RemoteMatrix
from .._features import Chosen, Models, pivots
from .._problem import (
    Calibration,
    ClusterFolds,
    Folds,
    Margins,
    Problem,
    Source,
    Split,
    class_shares,
    make_calibration,
    make_folds,
)
from .._rows import RowBlock
from .._search import positive_rows
from ..path import solved
from ._outer_fold import OuterFold, model_of
from ._request import Selected

Rows = NDArray[np.intp]


@limits_threads
def calibrate(selected: Selected, verbose: int = 0) -> Calibration:
    """Fit sigmoids for the model of the chosen size."""
    here = _with_rows_here(selected)
    codes, weights = to_host(here.problem.Y)[0], here.weights
    values: list[Float] = []
    rows: list[Rows] = []
    source, parts = held_out_margins(here, codes, verbose, selected)
    for tested, margins in parts:
        # If one row alone determines a coefficient, there is no model without that row.
        is_finite = np.isfinite(margins).all(axis=1)
        rows.append(tested[is_finite])
        values.append(margins[is_finite])
    tested = np.concatenate(rows)
    times = np.bincount(tested, minlength=len(weights))
    held_out = Margins(
        np.concatenate(values),
        codes[tested],
        weights[tested] / times[tested],  # a sample counts once, however often it was tested
        int(np.count_nonzero(times)),
        source,
    )
    return make_calibration(held_out, class_shares(codes, weights), selected.path.chosen_size)


def _with_rows_here(selected: Selected) -> Selected:
    """Return a selection on a cluster with its vectors over rows in this process."""
    remote = selected.problem.X.remote
    if remote is None:
        return selected
    X, Y, weights = remote.here()
    return selected._replace(
        problem=replace(selected.problem, X=X, Y=Y, weights=weights),
        plan=replace(selected.plan, folds=_folds_here(remote, selected.plan.folds)),
        outer=_folds_here(remote, selected.outer),
        data=None,
    )


def _folds_here(X: RemoteMatrix, folds: Folds | ClusterFolds | None) -> Folds | None:
    if folds is None or folds.remote is None:
        return None
    ids = np.concatenate(list(X.executor.answers(fold_numbers, X.pieces, folds.remote.ids)))
    return make_folds(ids, len(ids), y=None, labels=None, groups=None, weights=None)


def held_out_margins(
    selected: Selected, codes: Float, verbose: int = 0, searched: Selected | None = None
) -> tuple[Source, Iterator[tuple[Rows, Float]]]:
    """Return the source of margins, and an iterator of rows with their margins (rows × t).

    For a regression, whose codes are its targets (m × t), they are predictions. `searched` is the
    same selection where its searches run, if that is on a cluster.
    """
    if selected.path.chosen_size == 0:
        # Without features all margins are equal; only the shares of classes matter.
        source: Source = "outer folds" if isinstance(selected.outer, Folds) else "leave-one-out"
        rows = positive_rows(selected.problem.host_weights, np.arange(len(codes)))
        return source, iter([(rows, np.zeros((len(rows), codes.shape[1])))])
    if isinstance(selected.outer, Folds):
        return "outer folds", _outer_margins(
            selected, selected.outer, verbose, searched or selected
        )
    if isinstance(selected.plan.folds, Folds):
        # Folds may keep groups together; leaving out single rows would leak from their group.
        return "folds", _fold_margins(selected, selected.plan.folds, codes)
    return "leave-one-out", _loo_margins(selected, codes)


def _outer_margins(
    selected: Selected, outer: Folds, verbose: int, searched: Selected
) -> Iterator[tuple[Rows, Float]]:
    """Repeat the selection in each outer fold with the chosen penalty and size."""
    jobs = [
        partial(_margins_of_fold, selected, outer, searched, number)
        for number in range(outer.n_splits)
    ]
    count = min(selected.n_jobs, outer.n_splits)
    with closing(progress_bar(verbose, outer.n_splits, what="probabilities")) as bar:
        for margins in in_threads(jobs, count):
            bar.update(None)
            yield margins


def _margins_of_fold(
    selected: Selected, outer: Folds, searched: Selected, number: int
) -> tuple[Rows, Float]:
    """Return rows that an outer fold holds out, with the margins of its own selection."""
    problem, path = selected.problem, selected.path
    alpha = path.settings.alpha
    assert searched.outer is not None
    fold = OuterFold(
        searched.problem,
        searched.plan,
        searched.outer,
        number,
        selected.refit,
        tests=None,
        kept=searched.kept,
    )
    with without_runtime_warnings():
        model, penalty = fold.model(alpha, path.chosen_size)
    rows = positive_rows(problem.host_weights, outer.splits[number].test)
    columns = _columns(problem, rows, np.array(model.indices)) - model.means
    coef = _solved(model, model.gram, model.correlation, penalty)
    return rows, columns @ coef + model.target_means


def _columns(problem: Problem, rows: Rows, features: Rows) -> Float:
    """Return rows of columns, (rows × k)."""
    X = problem.here
    if X.location.on_device:
        (values,) = to_host(take(X.columns(features), numbers_on(X.location, rows)))
        return values.T
    columns: Float = X.part(rows, features).astype(np.float64)
    return columns


def _fold_margins(selected: Selected, folds: Folds, codes: Float) -> Iterator[tuple[Rows, Float]]:
    """Yield margins of models on the path's features without the rows of each fold."""
    problem, path = selected.problem, selected.path
    model = model_of(path, path.chosen_size)
    columns = _columns(problem, np.arange(problem.n_samples), np.array(model.indices))
    host_weights, k = problem.host_weights, len(model.indices)
    weights = np.ones(len(codes)) if host_weights is None else host_weights
    if problem.fit_intercept:
        # Subtract the means of all rows, so that sums keep their digits.
        columns = columns - model.means
    table = np.hstack([np.ones((len(codes), 1)), columns, codes])
    total = _products(table, weights)
    for split in folds.splits:
        rows = positive_rows(host_weights, split.test)
        sums = _training_sums(split, table, weights, total)
        count = sums[0, 0]
        means = sums[0, 1:] / count if problem.fit_intercept else np.zeros(len(sums) - 1)
        about = sums[1:, 1:] - count * np.outer(means, means)
        coef = _solved(model, about[:k, :k], about[:k, k:], selected.penalty)
        yield rows, (columns[rows] - means[:k]) @ coef + means[k:]


def _solved(model: Chosen, gram: Float, right: Float, penalty: float) -> Float:
    """Return coefficients (k × t), computed like those of a path (`SelectionPath.coef`)."""
    A = gram + penalty * (np.eye(len(gram)) if model.penalty is None else model.penalty)
    return solved(A, right)


def _training_sums(split: Split, table: Float, weights: Float, total: Float) -> Float:
    """Return products of the columns of a table over the training rows of a split."""
    if not split.is_complement:
        return _products(table[split.train], weights[split.train])
    test = _products(table[split.test], weights[split.test])
    if test[0, 0] > 0.5 * total[0, 0]:
        return _products(table[split.train], weights[split.train])
    return total - test


def _products(table: Float, weights: Float) -> Float:
    products: Float = table.T @ (table * weights[:, None])
    return products


def _loo_margins(selected: Selected, codes: Float) -> Iterator[tuple[Rows, Float]]:
    """Yield margins of models on the path's features without each row in turn."""
    problem, path = selected.problem, selected.path
    chosen = model_of(path, path.chosen_size)
    models = pivots(chosen, selected.penalty)
    rows = positive_rows(problem.host_weights, np.arange(problem.n_samples))
    if models is None:
        # The penalty is lost in the rounding of the data, and so is the effect of a row left out.
        yield rows, np.zeros((len(rows), codes.shape[1]))
        return
    data = selected.data if isinstance(selected.data, LooData) else LooData(problem)
    question = partial(_block_errors, chosen=chosen, models=models)
    errors = np.concatenate(data.samples.each(question), axis=1)[:, rows]
    yield rows, codes[rows] - errors.T


def _block_errors(block: RowBlock, chosen: Chosen, models: Models) -> Float:
    """Return leave-one-out errors of one model, (t × rows)."""
    values = np.empty((block.r.shape[0], block.n_rows))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for rows, _, errors in errors_by_size(block, chosen, [models]):
            values[:, rows] = to_host(errors[:, 0, :])[0]
    if block.weights is not None:
        roots = np.sqrt(to_host(block.weights)[0])
        values /= np.where(roots > 0.0, roots, 1.0)
    return values
