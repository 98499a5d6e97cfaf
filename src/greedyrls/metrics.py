"""Ranking metrics: NDCG and the share of misordered pairs within queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import Float, is_whole, numpy_of
from ._problem import one_per_row

__all__ = ["mean_ndcg", "pairwise_error"]


def mean_ndcg(
    y: ArrayLike, scores: ArrayLike, groups: ArrayLike | None = None, k: int | None = None
) -> float:
    """Return the normalised discounted cumulative gain (NDCG), averaged over queries.

    Each query is scored by scikit-learn's `ndcg_score`: gains are the relevances themselves, and
    samples of equal scores share their ranks. Queries whose relevances are all equal (or that have
    a single sample) are left out, because any order is correct.

    Parameters
    ----------
    y : array-like of shape (m,)
        Relevances, the larger the better. If any is negative, all are shifted so that the smallest
        is 0.
    scores : array-like of shape (m,)
        Predicted scores; only their order within a query matters.
    groups : array-like of shape (m,), optional
        The query of each sample. Without it all samples belong to one query.
    k : int, optional
        Number of top ranks that count; all by default.

    Returns
    -------
    float
        1 for the best order of every query.

    Examples
    --------
    >>> from greedyrls.metrics import mean_ndcg
    >>> mean_ndcg([3, 1, 0, 2, 5], [0.3, 0.2, 0.1, 4.0, 9.0], ["a", "a", "a", "b", "b"])
    1.0
    """
    relevance, values, query_of = _checked(y, scores, groups)
    if k is not None and (not is_whole(k) or k < 1):
        raise ValueError(f"k must be None or a whole number, 1 or more; got {k!r}.")
    value = ndcg_of(relevance, values, query_of, k)
    if np.isnan(value):
        raise ValueError(_NOTHING)
    return value


def pairwise_error(y: ArrayLike, scores: ArrayLike, groups: ArrayLike | None = None) -> float:
    """Return the share of misordered pairs, among pairs of one query whose relevances differ.

    A pair of equal scores counts half. For a single query and two relevances this is one minus the
    area under the ROC curve.

    Parameters
    ----------
    y : array-like of shape (m,)
        Relevances, the larger the better.
    scores : array-like of shape (m,)
        Predicted scores.
    groups : array-like of shape (m,), optional
        The query of each sample. Without it all samples belong to one query.

    Returns
    -------
    float
        0 if all pairs are in order, about 0.5 for random scores.

    Notes
    -----
    Cost: O(m·log² m), independent of the size of the queries.

    Examples
    --------
    >>> from greedyrls.metrics import pairwise_error
    >>> pairwise_error([3, 1, 0, 2, 5], [0.3, 0.1, 0.2, 4.0, 9.0], ["a", "a", "a", "b", "b"])
    0.25
    """
    value = pairwise_error_of(*_checked(y, scores, groups))
    if np.isnan(value):
        raise ValueError(_NOTHING)
    return value


_NOTHING = (
    "No query has two samples of different relevance: there is nothing to rank. Pass y and groups "
    "in which some query has."
)


def _checked(y: Any, scores: Any, groups: Any) -> tuple[Float, Float, NDArray[np.intp]]:
    relevance, values = (
        _numbers(values_in, name) for values_in, name in ((y, "y"), (scores, "scores"))
    )
    if len(relevance) != len(values):
        raise ValueError(
            f"y has {len(relevance)} values and scores {len(values)}; give one of each for every "
            "sample."
        )
    return relevance, values, query_numbers(groups, len(relevance))


def _numbers(data: Any, name: str) -> Float:
    try:
        values = np.asarray(numpy_of(data), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a number for each sample: {error}.") from error
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{name} must have a value for each sample, got shape {values.shape}.")
    lost = ~np.isfinite(values)
    if lost.any():
        row = int(np.argmax(lost))
        raise ValueError(f"{name} must be finite; row {row} is {values[row]}.")
    return values


def query_numbers(groups: Any, n_samples: int) -> NDArray[np.intp]:
    """Return the query of each sample as a number from 0; a single query without groups."""
    if groups is None:
        return np.zeros(n_samples, dtype=np.intp)
    ids = one_per_row(numpy_of(groups), n_samples, "groups")
    return np.unique(ids, return_inverse=True)[1].astype(np.intp)


def ndcg_of(
    relevance: Float, scores: Float, query_of: NDArray[np.intp], k: int | None = None
) -> float:
    """Return `mean_ndcg` of checked input; NaN if no query counts."""
    if len(relevance) == 0:
        return float("nan")
    gains = relevance - min(0.0, float(relevance.min()))
    ideal = _discounted(gains, gains, query_of, k)
    actual = _discounted(gains, scores, query_of, k)
    counts = _varies(relevance, query_of)
    return float(np.mean(actual[counts] / ideal[counts])) if counts.any() else float("nan")


def with_ties(scores: Float, query_of: NDArray[np.intp], rounding: Float) -> Float:
    """Return scores in which those of a query that differ only by rounding (m) are equal.

    Samples that a model cannot distinguish must not be ordered by the last digits.
    """
    order = np.lexsort((scores, query_of))
    query, score = query_of[order], scores[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(query) != 0) | (np.diff(score) > rounding[order][1:])
    result = np.empty_like(scores)
    result[order] = score[is_new][np.cumsum(is_new) - 1]
    return result


def _varies(values: Float, query_of: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return a mask of the queries in which not all values are equal."""
    least, most = np.full(query_of.max() + 1, np.inf), np.full(query_of.max() + 1, -np.inf)
    np.minimum.at(least, query_of, values)
    np.maximum.at(most, query_of, values)
    result: NDArray[np.bool_] = most > least
    return result


def _discounted(gains: Float, scores: Float, query_of: NDArray[np.intp], k: int | None) -> Float:
    """Return Σ gain / log₂(1 + rank) of each query, with ranks in the order of the scores.

    Samples of equal scores get the mean of their gains.
    """
    order = np.lexsort((-scores, query_of))
    query, score, gain = query_of[order], scores[order], gains[order]
    starts = np.searchsorted(query, query)  # start of the query of each sample
    ranks = np.arange(len(order)) - starts
    discounts = 1.0 / np.log2(ranks + 2.0)
    if k is not None:
        discounts[ranks >= k] = 0.0
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (query[1:] != query[:-1]) | (score[1:] != score[:-1])
    tied = np.cumsum(is_first) - 1
    means = np.bincount(tied, gain) / np.bincount(tied)
    sums: Float = np.bincount(query, discounts * means[tied]).astype(np.float64)
    return sums


def pairwise_error_of(relevance: Float, scores: Float, query_of: NDArray[np.intp]) -> float:
    """Return `pairwise_error` of checked input; NaN if there is no pair."""
    pairs = _pairs(query_of) - _pairs(query_of, relevance)
    if pairs == 0:
        return float("nan")
    # In this order pairs of equal relevance or of different queries are no inversions.
    order = np.lexsort((scores, relevance, query_of))
    keys = np.lexsort((scores, query_of))
    is_new = np.ones(len(keys), dtype=np.intp)
    is_new[1:] = (np.diff(scores[keys]) != 0.0) | (np.diff(query_of[keys]) != 0)
    ranks = np.empty(len(keys), dtype=np.intp)
    ranks[keys] = np.cumsum(is_new)
    ties = _pairs(query_of, scores) - _pairs(query_of, relevance, scores)
    return (_inversions(ranks[order]) + 0.5 * ties) / pairs


def _pairs(*keys: NDArray[Any]) -> int:
    """Return the number of pairs of samples that are equal in all keys."""
    if len(keys[0]) == 0:
        return 0
    order = np.lexsort(keys)
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    counts = np.diff(np.append(np.flatnonzero(is_first), len(order)))
    return int((counts * (counts - 1) // 2).sum())


def _inversions(values: NDArray[np.intp]) -> int:
    """Return the number of pairs i < j with values[i] > values[j], by merging sorted halves."""
    width, total = 1, 0
    length = 1 << max(0, len(values) - 1).bit_length()
    merged = np.full(length, np.iinfo(np.intp).max)
    merged[: len(values)] = values
    while width < length:
        halves = merged.reshape(-1, 2 * width)
        order = np.argsort(halves, axis=1, kind="stable")
        is_right = order >= width
        before = np.cumsum(~is_right, axis=1)  # entries of the left half that are not larger
        total += int((width - before)[is_right].sum())
        merged = np.take_along_axis(halves, order, axis=1).ravel()
        width *= 2
    return total
