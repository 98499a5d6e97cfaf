"""The problem from whatever data are given: in memory, in a file, or on a cluster."""

from __future__ import annotations

from typing import Any, cast

from numpy.typing import ArrayLike

from ._cluster import Elsewhere, is_dask
from ._dask import DaskRows, gather_rows
from ._kernels import Float
from ._problem import FeatureList, Problem, feature_names_of, finish_problem, make_problem


def problem_of(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    forced_features: FeatureList | None = None,
    excluded_features: FeatureList | None = None,
    feature_names: tuple[str, ...] | None = None,
    memory_limit: int | str | None = None,
    on_device: bool = False,
    device: Any = None,
) -> Problem:
    """`make_problem`, also for Dask collections, or for rows of them that are gathered already."""
    if not is_dask(X) and not isinstance(X, DaskRows):
        return make_problem(
            X,
            y,
            fit_intercept=fit_intercept,
            sample_weight=sample_weight,
            forced_features=forced_features,
            excluded_features=excluded_features,
            feature_names=feature_names,
            memory_limit=memory_limit,
            on_device=on_device,
            device=device,
        )
    if memory_limit is not None:
        raise ValueError(
            f"memory_limit is for X in a file, got {memory_limit!r}; X is a Dask collection, and "
            "Dask's workers have limits of their own."
        )
    if device is not None:
        raise ValueError(
            f"device is for X in memory, got {device!r}; X is a Dask collection. Load it "
            "(X.compute()), or leave device out."
        )
    names = feature_names if isinstance(X, DaskRows) else feature_names_of(X) or feature_names
    rows = X if isinstance(X, DaskRows) else gather_rows(X, y, sample_weight, False)
    _check_facts(rows)
    m = rows.X.shape[0]
    # Whoever asks for more than a shape is told that the rows are elsewhere.
    Y = cast(Float, Elsewhere(m, rows.n_targets))
    weights = cast(Float, Elsewhere(m)) if rows.is_weighted else None
    return finish_problem(
        rows.X,
        Y,
        weights,
        rows.X.n_weighted,
        rows.single_target,
        names,
        fit_intercept,
        forced_features,
        excluded_features,
    )


def _check_facts(rows: DaskRows) -> None:
    """Errors for values of y and weights that cannot be worked with."""
    top = 0
    for count, facts in zip(rows.X.counts, rows.facts, strict=True):
        if facts.bad_target is not None:
            row, column, value = facts.bad_target
            where = f"row {top + row}" + ("" if rows.single_target else f", column {column}")
            kind = "NaN" if value != value else "infinity"
            raise ValueError(f"Input y contains {kind}: {where} is {value}.")
        if facts.bad_weight is not None:
            row, value = facts.bad_weight
            raise ValueError(
                f"sample_weight must be finite and not negative; row {top + row} has {value!r}. "
                "Use 0 to leave a sample out."
            )
        top += count
