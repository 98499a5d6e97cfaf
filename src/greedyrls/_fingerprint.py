"""Which search this is: a digest of the data, and the parameters that its answer depends on."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._checkpoint import Fingerprint, Identity
from ._folds import Folds
from ._losses import Loss
from ._matrix import Matrix, on_host
from ._plan import Plan
from ._problem import Problem
from ._request import Request
from ._sparse import SparseMatrix

# Bytes of X that are put into order at a time, and at least so many rows: where columns lie
# together, rows share the lines of the cache.
_CHUNK_BYTES = 1 << 20
_CHUNK_ROWS = 8


def identity_of(problem: Problem, plan: Plan, request: Request) -> Identity:
    """All that the answer depends on. How it is computed (blocks, threads, bounds) is no part."""
    limits, is_automatic = request.limits, request.is_automatic
    is_chosen = not isinstance(request.alpha, float)
    alpha = request.alpha.tolist() if isinstance(request.alpha, np.ndarray) else request.alpha
    m, n = problem.X.shape
    parameters = {
        "shape of X": f"{m} × {n}",
        "type of X": _kind(problem.X),
        "n_features": "auto" if is_automatic else int(limits.size),
        "alpha": alpha,
        "cv": plan.cv,
        "loss": "auto" if request.rival is not None else _loss_name(plan.loss),
        "fit_intercept": problem.fit_intercept,
        "forced_features": list(problem.forced),
        "excluded_features": list(problem.excluded),
        "alpha_rule": request.alpha_rule if is_chosen else None,
        "alpha_cv": None if request.outer is None else request.outer.description,
        "refit_alpha": request.refit,
        "size_rule": request.size_rule if is_automatic else None,
        "max_features": int(limits.size) if is_automatic else None,
        "patience": None if limits.patience is None else int(limits.patience),
        "tol": limits.tol,
        "n_runners_up": int(request.watch.n_runners_up),
    }

    def fingerprint() -> Fingerprint:
        names, weights = problem.feature_names, problem.weights
        return {
            "X": _matrix_digest(problem.X),
            "y": _array_digest(problem.Y if not problem.single_target else problem.Y[:, 0]),
            "sample_weight": None if weights is None else _array_digest(weights),
            "feature_names": None if names is None else _text_digest(repr(names)),
            "cv": _folds_digest(plan.folds),
            "alpha_cv": _folds_digest(request.outer),
        }

    return Identity(parameters, fingerprint, n, plan.loss.name)


def _kind(X: Matrix) -> str:
    return f"{'sparse ' if isinstance(X, SparseMatrix) else ''}{X.dtype}"


def _loss_name(loss: Loss) -> str:
    """A function by its module and name: what it does is not looked at."""
    function = getattr(loss, "function", None)
    if function is None:
        return loss.name
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def _text_digest(text: str) -> str:
    # Names may hold lone surrogates, which have no bytes of their own.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _array_digest(values: NDArray[Any]) -> str:
    digest = hashlib.sha256(str(values.shape).encode())
    digest.update(_bytes(values))
    return digest.hexdigest()


def _matrix_digest(X: Matrix) -> str:
    """Of the numbers row by row, however they lie in memory or in a file; of what is there."""
    digest = hashlib.sha256()
    X = on_host(X)
    if isinstance(X, SparseMatrix):
        for part in X.arrays:
            step = _CHUNK_BYTES // 8
            for first in range(0, len(part), step):
                some = part[first : first + step]
                digest.update(_bytes(some.astype(np.int64) if some.dtype.kind == "i" else some))
    elif isinstance(X, np.ndarray):
        height = max(_CHUNK_ROWS, _CHUNK_BYTES // max(1, X.itemsize * X.shape[1]))
        for top in range(0, X.shape[0], height):
            digest.update(_bytes(X[top : top + height]))
    else:
        for _, chunk in X.chunks():
            digest.update(_bytes(chunk))
    return digest.hexdigest()


def _bytes(values: NDArray[Any]) -> memoryview:
    """As they lie in C order; no copy where they do."""
    if values.dtype.itemsize > 8:  # between its numbers a long double has bytes of no meaning
        values = values.astype(np.float64)
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).data


def _folds_digest(folds: Folds | None) -> str | None:
    if folds is None:
        return None
    digest = hashlib.sha256()
    for split in folds.splits:
        # Of all rows but those of a test there is no need to speak.
        parts = (split.test,) if split.is_complement else (split.test, split.train)
        digest.update(f"{[len(part) for part in parts]}".encode())
        for part in parts:
            digest.update(_bytes(part.astype(np.int64)))
    return digest.hexdigest()
