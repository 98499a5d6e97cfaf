"""The model of a fitted estimator or pipeline, in the units of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._base import Sigmoid
from ..estimators import GreedyRLSClassifier, GreedyRLSRanker, GreedyRLSRegressor
from ._frame_columns import text_of
from ._linear_model import InputColumn, LinearModel, Term
from ._pipeline_columns import Columns, Source, inputs_of, made_by

_LINEAR = (GreedyRLSRegressor, GreedyRLSClassifier, GreedyRLSRanker)


def model_of(fitted: Any, target: str) -> LinearModel:
    """Return the model, with the steps before the estimator folded in."""
    from .. import __version__

    estimator, columns = opened(fitted)
    coef = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
    if len(columns) != coef.shape[1]:
        raise ValueError(
            f"{type(estimator).__name__} was fitted to {coef.shape[1]} features, but the steps "
            f"before it make {len(columns)}; fit the whole pipeline again."
        )
    intercepts = np.atleast_1d(np.asarray(estimator.intercept_, dtype=np.float64)).copy()
    sums: dict[tuple[Source, str | None], Any] = {}
    for index in estimator.selected_.tolist():
        made, weights = columns[index], coef[:, index]
        intercepts += weights * made.constant
        for key, factor in made.parts.items():
            sums[key] = sums.get(key, 0.0) + weights * factor
    classes = getattr(estimator, "classes_", None)
    return LinearModel(
        task="regression" if classes is None else "classification",
        target=target,
        columns=input_columns([source for source, _ in sums]),
        terms=tuple(
            Term(source.name, level, tuple(values.tolist()))
            for (source, level), values in sums.items()
        ),
        intercepts=tuple(intercepts.tolist()),
        classes=None if classes is None else tuple(classes.tolist()),
        made_by=f"greedyrls {__version__}",
        sigmoids=sigmoids_of(estimator),
    )


def opened(fitted: Any) -> tuple[Any, Columns]:
    """Return the fitted estimator, and its columns in terms of those of the data."""
    fitted = getattr(fitted, "best_estimator_", fitted)  # a fitted parameter search
    steps = [fitted]
    if isinstance(fitted, Pipeline):
        steps = [step for _, step in fitted.steps]
    *before, estimator = steps
    if isinstance(estimator, Pipeline):
        inner, columns = opened(estimator)
        if before:
            raise TypeError(
                "The last step of the pipeline is a pipeline itself; put all steps into one."
            )
        return inner, columns
    if not isinstance(estimator, _LINEAR):
        where = "The last step of the pipeline must be" if before else "The estimator must be"
        raise TypeError(
            f"{where} a GreedyRLSRegressor, GreedyRLSClassifier or GreedyRLSRanker, got "
            f"{type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    seen = [step for step in steps if hasattr(step, "n_features_in_")]
    columns = inputs_of(seen[0])
    for step in before:
        columns = made_by(step, columns)
    return estimator, columns


def input_columns(sources: list[Source]) -> tuple[InputColumn, ...]:
    """Return the columns of the data, each once; raise an error if one is read in two ways."""
    by_name: dict[str, Source] = {}
    for source in sources:
        other = by_name.setdefault(source.name, source)
        if other == source:
            continue
        how = "filled in with different values"
        if (other.levels is None) != (source.levels is None):
            how = "taken as numbers and as categories"
        elif other.levels != source.levels:
            how = "encoded with different categories"
        raise TypeError(
            f"Column {source.name!r} is {how} by two steps of the pipeline; a LinearModel reads a "
            "column in one way. Give the second step a copy of the column under another name."
        )
    return tuple(
        InputColumn(column.name, column.levels, _fill(column)) for column in by_name.values()
    )


def _fill(source: Source) -> float | str | None:
    if source.fill is None:
        return None
    return float(source.fill) if source.levels is None else text_of(source.fill)


def sigmoids_of(estimator: Any) -> tuple[Sigmoid, ...] | None:
    """Return the sigmoids of `predict_proba`, if the estimator has them for its size."""
    calibration = getattr(estimator, "calibration_", None)
    if calibration is None or calibration.size != estimator.n_features_:
        return None
    pairs = zip(calibration.slopes.tolist(), calibration.intercepts.tolist(), strict=True)
    return tuple(Sigmoid(*pair) for pair in pairs)
