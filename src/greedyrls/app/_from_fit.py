"""The result of a selection in Python: a fitted estimator with the data it was fitted to."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from .._base import Float
from ..assess import PathAssessment, PermutationNull, Stability
from ..estimators import GreedyRLSRanker
from ..path import SelectionPath, SizeChoice
from ._analysis import model_curve, own_rates
from ._column_summary import summary
from ._data_summary import ColumnSummary, DataSummary, Feature, Origin, installed_versions
from ._frame_columns import as_table, text_of
from ._from_estimator import input_columns, opened, sigmoids_of
from ._own_fit import coefficient_errors, own_predictions
from ._pipeline_columns import Made, Source
from ._preparation import Prepared
from ._question import Question
from ._selection_result import SelectionResult, order_of
from ._table import make_texts


def result_of(
    fitted: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    target: str,
    source: str,
    analyses: Sequence[PathAssessment | Stability | PermutationNull],
) -> SelectionResult:
    """Return the result of a fitted estimator or pipeline; X and y are its training data."""
    estimator, columns = opened(fitted)
    if isinstance(estimator, GreedyRLSRanker):
        raise TypeError("A result is that of a regression or a classification, not of a ranker.")
    labels = np.asarray(y)
    path: SelectionPath = estimator.path_
    _check(labels, path)
    known = tuple(_feature(made, index) for index, made in enumerate(columns))
    names = tuple(feature.name for feature in known)
    if path.chosen_size != estimator.n_features_:  # of `with_n_features`
        choice = SizeChoice(estimator.n_features_, "given", "The number of features was given.")
        path = replace(path, size_choice=choice)
    path = replace(path, settings=replace(path.settings, feature_names_in=names))
    on_path = order_of(path)
    _check_columns(columns, on_path)
    classes = getattr(estimator, "classes_", None)
    task: Literal["regression", "classification"]
    task = "regression" if classes is None else "classification"
    used = [source for index in on_path for source, _ in columns[index].parts]
    prepared = Prepared(
        X=_seen(fitted, X),
        y=labels,
        task=task,
        classes=None if classes is None else tuple(classes.tolist()),
        features=known,
        inputs={},
        summaries={},
        groups=None,
        weights=None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64),
        forced=(),
        notes=(),
        n_columns=int(np.shape(X)[1]),
    )
    return SelectionResult(
        task=task,
        target=target,
        path=path,
        features=tuple(known[index] for index in on_path),
        inputs=input_columns(used),
        data=_summarised(prepared, X, target, source, used),
        origin=_origin(estimator, path),
        classes=prepared.classes,
        sigmoids=sigmoids_of(estimator),
        **_analysed(analyses),
        **_own_parts(prepared, path, getattr(estimator, "class_weight", None)),
    )


def _check(labels: NDArray[Any], path: SelectionPath) -> None:
    if labels.ndim != 1:
        raise ValueError(f"y must have one target, got an array of shape {labels.shape}.")
    if len(labels) != path.settings.n_samples:
        raise ValueError(
            f"y has {len(labels)} rows, but the estimator was fitted to "
            f"{path.settings.n_samples}; pass the data that it was fitted to."
        )


def _feature(made: Made, index: int) -> Feature:
    """Return a feature as the search saw it; one that combines several columns has a number."""
    if len(made.parts) != 1:
        return Feature(f"feature {index}", None, 0.0, 1.0)
    (((source, level), factor),) = made.parts.items()
    return Feature(source.name, level, -made.constant / factor or 0.0, 1.0 / factor)


def _check_columns(columns: Sequence[Made], on_path: Sequence[int]) -> None:
    """Raise an error if a feature of the path combines several columns."""
    for index in on_path:
        if len(columns[index].parts) != 1:
            raise TypeError(
                f"Feature {index} of the path combines several columns or categories of the data; "
                "pass the last step of the pipeline, and as X the output of the steps before it."
            )


def _seen(fitted: Any, X: Any) -> Float:
    """Return X as the estimator saw it."""
    fitted = getattr(fitted, "best_estimator_", fitted)
    if isinstance(fitted, Pipeline) and len(fitted.steps) > 1:
        X = fitted[:-1].transform(X)
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def _summarised(
    prepared: Prepared, X: Any, target: str, source: str, used: Sequence[Source]
) -> DataSummary:
    m, n = prepared.X.shape
    names = list(dict.fromkeys(column.name for column in used))
    return DataSummary(
        file=source,
        n_bytes=0,
        sha256="",
        n_rows=m,
        n_columns=prepared.n_columns,
        n_features=n,
        target=_of_target(prepared, target),
        columns=_of_columns(X, names),
    )


def _of_target(prepared: Prepared, target: str) -> ColumnSummary:
    if prepared.task == "classification":
        return summary(target, make_texts([text_of(label) for label in prepared.y.tolist()]))
    return summary(target, as_table({target: prepared.y}, [target]).columns[target])


def _of_columns(X: Any, names: list[str]) -> tuple[ColumnSummary, ...]:
    if sparse.issparse(X):
        return ()
    if not hasattr(X, "columns"):
        X = {f"x{column}": values for column, values in enumerate(np.asarray(X).T)}
    table = as_table(X, names)
    return tuple(summary(name, table.columns[name]) for name in names)


def _origin(estimator: Any, path: SelectionPath) -> Origin:
    usual = type(estimator)().get_params(deep=False)
    parameters: dict[str, str | int | float | bool | None] = {"estimator": type(estimator).__name__}
    for name, value in estimator.get_params(deep=False).items():
        if repr(value) != repr(usual[name]):
            is_plain = value is None or isinstance(value, str | int | float | bool)
            parameters[name] = value if is_plain else repr(value)
    return Origin(
        command="",
        parameters=parameters,
        versions=installed_versions(),
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        seconds=path.counters.seconds,
    )


def _analysed(
    analyses: Sequence[PathAssessment | Stability | PermutationNull],
) -> dict[str, Any]:
    kinds = {PathAssessment: "assessment", Stability: "stability", PermutationNull: "null"}
    found: dict[str, Any] = {}
    for analysis in analyses:
        name = kinds.get(type(analysis))
        if name is None:
            raise TypeError(
                "Analyses are results of cross_validate_path, resample_path and permutation_null, "
                f"got {type(analysis).__name__}."
            )
        if name in found:
            raise ValueError(f"There are two analyses of the kind {type(analysis).__name__}.")
        found[name] = analysis
    return found


def _own_parts(prepared: Prepared, path: SelectionPath, class_weight: Any) -> dict[str, Any]:
    """Return what leave-one-out says of the models themselves.

    Nothing for a search by folds, which a path does not hold, and for groups of features.
    """
    if path.settings.cv != "loo" or path.settings.feature_groups is not None:
        return {}
    if isinstance(class_weight, dict):
        class_weight = tuple((text_of(label) or "", value) for label, value in class_weight.items())
    question = Question(alpha=path.settings.alpha, class_weight=class_weight)
    return {
        "model_curve": model_curve(prepared, question, path),
        "own_rates": own_rates(prepared, path, question),
        "own_predictions": own_predictions(prepared, question, path),
        "coefficient_errors": coefficient_errors(prepared, question, path),
    }
