"""Pairs of samples within queries as a regression problem with leave-query-out folds.

For the errors e of the samples of a query, with weights v, W = Σ v and weighted mean ē,

    Σ_{i<j} v_i v_j (e_i − e_j)² = W Σ_i v_i (e_i − ē)²,

so that ridge regression without intercept on X and y minus their means in each query, with rows of
weight W v_i, fits the differences of pairs. Rows are scaled such that the weights of a query sum
to the weight of its pairs: the loss is then the mean squared error of a pair.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._base import Float
from .._data import CentredMatrix, CentredSparse, Matrix, is_matrix
from ._folds import Folds
from ._row_order import Split

# Columns that are centred at a time, to avoid another copy of X.
_COLUMNS = 32


class Pairs(NamedTuple):
    """Samples that are in at least one pair, query by query.

    If X is not in memory these are all samples, in the order of X: those that are in no pair have
    the weight 0, and belong to the first query.
    """

    rows: NDArray[np.intp]  # (m) row numbers in the user's data
    query_of: NDArray[np.intp]  # (m) from 0
    X: Float | Matrix  # (m × n) minus the means of each query, scaled
    y: Float  # (m) likewise
    weights: Float  # (m)

    @property
    def n_queries(self) -> int:
        """The number of queries that have pairs."""
        return int(self.query_of.max()) + 1

    @property
    def folds(self) -> Folds:
        """Folds that leave out one query at a time."""
        m = len(self.rows)
        ends = np.cumsum(np.bincount(self.query_of))
        tests = np.split(np.argsort(self.query_of, kind="stable"), ends[:-1])
        splits = tuple(Split(test, None, m) for test in tests)
        return Folds(splits, m, f"leave-query-out ({len(splits)} queries)", name="groups")


def rows_in_pairs(
    query_of: NDArray[np.intp], weights: Float | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows of positive weight in queries with at least two of these, and their queries.

    Rows are sorted by query, and queries are renumbered from 0.
    """
    counted = np.ones(len(query_of), dtype=bool) if weights is None else weights > 0.0
    sizes = np.bincount(query_of[counted], minlength=int(query_of.max()) + 1)
    (rows,) = (counted & (sizes[query_of] > 1)).nonzero()
    rows = rows[np.argsort(query_of[rows], kind="stable")]
    return rows, np.unique(query_of[rows], return_inverse=True)[1].astype(np.intp)


def make_pairs(X: Any, y: Float, query_of: NDArray[np.intp], weights: Float | None) -> Pairs:
    """Return the pairs of all queries, of which at least two must have pairs.

    X is an array, of which a centred copy is made, a SciPy matrix, or a `Matrix` in a file.
    """
    rows, query_of = rows_in_pairs(query_of, weights)
    v = np.ones(len(rows)) if weights is None else weights[rows]
    # (Q × m) multiplying by it sums over the samples of each query.
    of_query = sparse.csr_array((v, (query_of, np.arange(len(rows)))))
    total, squares = np.bincount(query_of, v), np.bincount(query_of, v * v)
    pairs = 0.5 * (total * total - squares)
    scale = (total / np.sqrt(pairs))[query_of]

    def move(values: Float) -> None:
        # Twice: far from the origin, the rounding error of a mean is large.
        for _ in range(2):
            values -= ((of_query @ values) / total[:, None])[query_of]
        values *= scale[:, None]

    target = y[rows].astype(np.float64)
    move(target[:, None])
    row_weights = v * (pairs / total)[query_of]
    if is_matrix(X):
        count = X.shape[0]
        target, row_weights, v, scale = (
            _at(rows, values, count) for values in (target, row_weights, v, scale)
        )
        query_of = _at(rows, query_of, count)
        matrix = CentredMatrix(X, query_of, v, scale)
        return Pairs(np.arange(count), query_of, matrix, target, row_weights)
    if sparse.issparse(X):
        centred_sparse = CentredSparse.of(X.tocsr()[rows], query_of, v, scale)
        return Pairs(rows, query_of, centred_sparse, target, row_weights)
    centred = X[rows].astype(np.float64)
    for first in range(0, centred.shape[1], _COLUMNS):
        move(centred[:, first : first + _COLUMNS])
    return Pairs(rows, query_of, centred, target, row_weights)


def _at(rows: NDArray[np.intp], values: NDArray[Any], count: int) -> NDArray[Any]:
    """Return values at their rows, and 0 elsewhere, (count)."""
    result = np.zeros(count, dtype=values.dtype)
    result[rows] = values
    return result


def check_queries_together(pairs: Pairs, outer: Folds) -> None:
    """Raise an error if an outer fold splits a query."""
    counted = pairs.weights > 0.0
    sizes = np.bincount(pairs.query_of[counted])
    for number, split in enumerate(outer.splits):
        for kind, rows in (("tests", split.test), ("trains on", split.train)):
            queries = pairs.query_of[rows[counted[rows]]]
            counts = np.bincount(queries, minlength=len(sizes))
            torn = (counts > 0) & (counts < sizes)
            if torn.any():
                row = int(pairs.rows[pairs.query_of == np.argmax(torn)][0])
                raise ValueError(
                    f"Split {number} of alpha_cv ({outer.description}) {kind} a part of a query "
                    f"only, that of row {row}; outer folds must keep queries together. Use a "
                    "number of folds, or GroupKFold."
                )
