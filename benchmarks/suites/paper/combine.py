"""From the folds of a data set to what is reported of it: means, errors, the numbers of the claims.

Every fold counts by its test rows. Errors of differences are those of paired differences over
folds: the folds are the same for both sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.data_files import Array

_ALL_UP_TO = 100  # sizes; beyond them, so many more evenly spaced in logarithms
_BEYOND = 120
_DIGITS = 6
_SAME = 1e-9  # accuracies this close differ by rounding
_POINT = 0.01  # one percentage point


def combine(name: str, folds: list[dict[str, Any]]) -> dict[str, Any]:
    """The result of a data set: curves thinned out where they are long, numbers from all sizes."""
    shares = np.array([fold["test_rows"] for fold in folds], dtype=float)
    shares /= shares.sum()
    test, loo, random = (_curves(folds, kind) for kind in ("test", "loo", "random"))
    n = test.shape[1]
    kept = kept_sizes(n)
    curves = {}
    for kind, values in (
        ("test", test),
        ("loo", loo),
        ("random", random),
        ("lead", test - random),
        ("optimism", loo - test),
    ):
        mean, error = over_folds(values, shares)
        curves[kind] = _rounded(mean[kept - 1])
        curves[f"{kind}_error"] = _rounded(error[kept - 1])
    return {
        "name": name,
        "settings": folds[0]["settings"],
        "rows": folds[0]["rows"],
        "features": n,
        "alphas": [fold["alpha"] for fold in folds],
        "larger_class": round(float(shares @ [fold["larger_class"] for fold in folds]), _DIGITS),
        "seconds": round(sum(fold["seconds"] for fold in folds), 1),
        "summary": summary(test, loo, random, shares),
        "sizes": kept.tolist(),
        "curves": curves,
    }


def summary(test: Array, loo: Array, random: Array, shares: Array) -> dict[str, Any]:
    """The numbers that the claims are decided by; curves are (folds × sizes)."""
    n = test.shape[1]
    mean_loo, _ = over_folds(loo, shares)
    # Of equal accuracies the smallest size.
    best = _first(mean_loo >= mean_loo.max() - _SAME)
    # With all features in, any order is the same model.
    before_all = slice(0, max(n - 1, 1))
    lead = (test - random)[:, before_all]
    mean_test, test_error = over_folds(test, shares)
    mean_lead, _ = over_folds(lead, shares)
    widest = int(np.argmax(mean_lead)) + 1
    at_best = slice(best - 1, best)
    return {
        "mean_lead": _pair(lead.mean(axis=1, keepdims=True), shares),
        "share_of_sizes_ahead": round(float(np.mean(mean_lead > 0)), _DIGITS),
        "widest_lead_size": widest,
        "widest_lead": _pair(lead[:, widest - 1 : widest], shares),
        "all_features": _pair(test[:, -1:], shares),
        "smallest_as_good": _first(mean_test >= mean_test[-1] - test_error[-1] - _SAME),
        "smallest_within_point": _first(mean_test >= mean_test[-1] - _POINT - _SAME),
        "best_loo_size": best,
        "loo_at_best": _pair(loo[:, at_best], shares),
        "test_at_best": _pair(test[:, at_best], shares),
        "random_at_best": _pair(random[:, at_best], shares),
        "optimism_at_best": _pair((loo - test)[:, at_best], shares),
        "mean_optimism": _pair((loo - test).mean(axis=1, keepdims=True), shares),
    }


def over_folds(values: Array, shares: Array) -> tuple[Array, Array]:
    """Weighted means over folds (k) of values (folds × k), and the standard errors of them (k)."""
    mean = shares @ values
    # As the package has it; for equal shares the variance over folds divided by their number.
    spread = np.square(shares) @ np.square(values - mean)
    return mean, np.sqrt(spread * (len(shares) / (len(shares) - 1)))


def kept_sizes(n: int) -> NDArray[np.intp]:
    """The sizes that a result keeps of 1 to n."""
    if n <= _ALL_UP_TO + _BEYOND:
        return np.arange(1, n + 1)
    beyond = np.unique(np.geomspace(_ALL_UP_TO, n, _BEYOND).round().astype(np.intp))
    return np.union1d(np.arange(1, _ALL_UP_TO + 1), beyond)


def _first(is_so: NDArray[np.bool_]) -> int:
    """The smallest size at which it is so."""
    return int(np.argmax(is_so)) + 1


def _curves(folds: list[dict[str, Any]], kind: str) -> Array:
    return np.array([fold[kind] for fold in folds])


def _pair(values: Array, shares: Array) -> list[float]:
    mean, error = over_folds(values, shares)
    return [round(float(mean[0]), _DIGITS), round(float(error[0]), _DIGITS)]


def _rounded(values: Array) -> list[float]:
    return [round(float(value), _DIGITS) for value in values]
