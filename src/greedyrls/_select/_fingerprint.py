"""The identity of a search: a digest of the data, and the parameters its result depends on."""

from __future__ import annotations

import hashlib

import numpy as np

from .._base import ask
from .._cluster import Piece, ids_digest
from .._data import (
    Matrix,
    array_digest,
    bytes_of,
    matrix_digest,
    text_digest,
)
from .._problem import ClusterFolds, Folds, Loss, Problem
from .._search import Fingerprint, Identity
from ._request import Request


def identity_of(request: Request) -> Identity:
    """Return everything the result depends on; blocks, threads and bounds do not change it."""
    problem, plan = request.problem, request.plan
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
        "n_runners_up": int(request.options.n_runners_up),
    }

    if plan.direction.name != "forward":
        parameters |= {"direction": plan.direction.name, "backward_ratio": plan.direction.ratio}

    if problem.groups is not None:
        wide = [list(group) for group in problem.groups if len(group) > 1]
        parameters |= {"feature_groups": wide}
    if problem.class_weights is not None:
        parameters |= {"class_weight": problem.class_weights.rule}
    if problem.costs is not None:
        parameters |= {"feature_costs": problem.costs.tolist(), "budget": problem.budget}

    def fingerprint() -> Fingerprint:
        names = problem.feature_names
        X, y, weights = _data_digests(problem)
        return {
            "X": X,
            "y": y,
            "sample_weight": weights,
            "feature_names": None if names is None else text_digest(repr(names)),
            "cv": _folds_digest(plan.folds, problem),
            "alpha_cv": _folds_digest(request.outer, problem),
        }

    return Identity(parameters, fingerprint, n, plan.loss.name, request.options.caller.names)


def _data_digests(problem: Problem) -> tuple[str, str, str | None]:
    """Return digests of X, y and the weights; on a cluster, of the digests of its pieces."""
    X, weights = problem.X, problem.weights
    if (remote := X.remote) is not None:
        by_part = list(zip(*remote.executor.answers(ask(Piece.digest), remote.pieces), strict=True))
        of_X, of_y, of_weights = (text_digest(repr((remote.counts, each))) for each in by_part)
        return of_X, of_y, None if weights is None else of_weights
    y = problem.Y if not problem.single_target else problem.Y[:, 0]
    return matrix_digest(X), array_digest(y), None if weights is None else array_digest(weights)


def _kind(X: Matrix) -> str:
    return f"{'sparse ' if X.is_sparse else ''}{X.dtype}"


def _loss_name(loss: Loss) -> str:
    """Return the name of a loss; of a function, its module and name, not its code."""
    function = getattr(loss, "function", None)
    if function is None:
        return loss.name
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def _folds_digest(folds: Folds | ClusterFolds | None, problem: Problem) -> str | None:
    if folds is None:
        return None
    if folds.remote is not None:
        remote = problem.X.remote
        assert remote is not None
        digests = remote.executor.answers(ids_digest, remote.pieces, folds.remote.ids)
        return text_digest(repr(list(digests)))
    digest = hashlib.sha256()
    for split in folds.splits:
        # If a split trains on all other rows, the test rows identify it.
        parts = (split.test,) if split.is_complement else (split.test, split.train)
        digest.update(f"{[len(part) for part in parts]}".encode())
        for part in parts:
            digest.update(bytes_of(part.astype(np.int64)))
    return digest.hexdigest()
