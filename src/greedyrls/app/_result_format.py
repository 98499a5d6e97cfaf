"""The stable JSON format of a result (docs/files.md)."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from .._base import (
    Float,
    JsonObject,
    as_entries,
    as_whole,
    or_null,
    read_classes,
    read_document,
    write_document,
)
from ..assess import (
    ClassRates,
    Curve,
    assessment_document,
    null_document,
    predictions_document,
    rates_document,
    read_assessment,
    read_losses,
    read_null,
    read_predictions,
    read_rates,
    read_stability,
    stability_document,
)
from ..path import SelectionPath, decode_part, path_document
from ._data_summary import ColumnSummary, DataSummary, Feature, Origin
from ._linear_model import InputColumn
from ._model_format import (
    VERSIONS,
    column_document,
    read_column,
    read_sigmoids,
    sigmoids_document,
    version_of,
)
from ._selection_result import SelectionResult, order_of

FORMAT = "greedyrls.result"


def encode(result: SelectionResult, indent: int | None = None) -> str:
    """Text of a result."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": version_of(result.inputs),
        "task": result.task,
        "target": result.target,
        "classes": None if result.classes is None else list(result.classes),
        "sentence": result.sentence,
        "warnings": list(result.warnings),
        "chosen": {
            "n_features": result.size,
            "features": [feature.name for feature in result.features_of(result.size)],
        },
        "features": [asdict(feature) for feature in result.features],
        "columns": [column_document(column) for column in result.inputs],
        "data": asdict(result.data),
        "origin": asdict(result.origin),
        "path": path_document(result.path),
        "assessment": None,
        "stability": None,
        "null": None,
        "model_curve": _curve_document(result.model_curve),
        "class_rates": rates_document(result.own_rates),
        "predictions": predictions_document(result.own_predictions),
        "coefficient_errors": _errors_document(result.coefficient_errors),
        "sigmoids": sigmoids_document(result.sigmoids),
        "leaks": None if result.leaks is None else list(result.leaks),
        "missing": result.missing,
    }
    # The path has the names of all features; once is enough.
    if result.assessment is not None:
        nameless = replace(result.assessment, feature_names_in=None)
        document["assessment"] = assessment_document(nameless)
    if result.stability is not None:
        document["stability"] = stability_document(replace(result.stability, feature_names_in=None))
    if result.null is not None:
        document["null"] = null_document(result.null)
    return write_document(document, indent)


def decode(text: str | bytes) -> SelectionResult:
    """A result from its text, or a ValueError that says what is wrong with it."""
    return read_document(text, FORMAT, VERSIONS, _read)


def _read(document: JsonObject) -> SelectionResult:
    path = decode_part(document.value("path"))
    settings = path.settings
    names = settings.entry_names
    features = tuple(_feature(one) for one in document.parts("features", "a feature"))
    inputs = tuple(read_column(one) for one in document.parts("columns", "a column"))
    if [feature.name for feature in features] != _names_of(path):
        raise ValueError("features are not those of the path")
    _check_columns(features, inputs)
    task: Any = document.one_of("task", ("regression", "classification"))
    classes = read_classes(document) if task == "classification" else None
    if classes is None and document.has("classes"):
        raise ValueError("a regression has classes")
    outputs = 1 if classes is None or len(classes) == 2 else len(classes)
    if len(path.moments.target_means) != outputs:
        raise ValueError(f"the path has another number of targets than the {outputs} of the {task}")
    data = _data(document.part("data"))
    sizes = (settings.n_samples, settings.n_features_in)
    if (data.n_rows, data.n_features) != sizes:
        raise ValueError("data has another number of rows or features than the path")
    for key in ("assessment", "stability"):
        # Before it is read, since a damaged number may take all memory.
        if document.has(key) and document.part(key).value("n_features_in") != sizes[1]:
            raise ValueError(f"{key} is of another number of features than the path")
    assessment = _optional(document, "assessment", read_assessment)
    stability = _optional(document, "stability", read_stability)
    if assessment is not None and assessment.n_samples != sizes[0]:
        raise ValueError("assessment is of another number of samples than the path")
    return SelectionResult(
        task=task,
        target=document.text("target"),
        path=path,
        features=features,
        inputs=inputs,
        data=data,
        origin=_origin(document.part("origin")),
        classes=classes,
        assessment=None if assessment is None else replace(assessment, feature_names_in=names),
        stability=None if stability is None else replace(stability, feature_names_in=names),
        null=_optional(document, "null", read_null),
        model_curve=_curve(document, path),
        own_rates=_rates(document, path),
        own_predictions=read_predictions(document, None if classes is None else len(classes)),
        coefficient_errors=_errors(document, path),
        sigmoids=read_sigmoids(document, outputs, classes is not None),
        leaks=_leaks(document),
        missing=document.text("missing") if document.has("missing") else None,
    )


def _names_of(path: SelectionPath) -> list[str]:
    """Names of all features of a path, in the order of a result."""
    known = path.settings.feature_names_in
    return [known[index] if known else f"x{index}" for index in order_of(path)]


def _curve_document(curve: Curve | None) -> dict[str, Any] | None:
    if curve is None:
        return None
    return {"losses": curve.mean.tolist(), "standard_errors": or_null(curve.error.tolist())}


def _curve(document: JsonObject, path: SelectionPath) -> Curve | None:
    if not document.has("model_curve"):
        return None
    curve, k = document.part("model_curve"), len(path)
    losses = read_losses(curve, "losses", k, path.settings.loss)
    return Curve(losses, curve.cells("standard_errors", (k,)))


def _errors_document(errors: Float | None) -> Any:
    return None if errors is None else or_null(errors.tolist())


def _errors(document: JsonObject, path: SelectionPath) -> Float | None:
    """Files of earlier releases have none."""
    if not document.has_optional("coefficient_errors"):
        return None
    shape = (len(path.moments.target_means), 1 + len(path.features(path.chosen_size)))
    return document.cells("coefficient_errors", shape)


def _rates(document: JsonObject, path: SelectionPath) -> ClassRates | None:
    sizes = np.array([path.chosen_size], dtype=np.intp)
    return read_rates(document, sizes, np.ones(1), len(path))


def _leaks(document: JsonObject) -> tuple[str, ...] | None:
    """Files of the first days have none."""
    is_known = "leaks" in document.values and document.has("leaks")
    return tuple(document.texts("leaks")) if is_known else None


def _check_columns(features: tuple[Feature, ...], inputs: tuple[InputColumn, ...]) -> None:
    """Every feature is of a column, and of a text that the column has."""
    by_name = {column.name: column for column in inputs}
    if len(by_name) < len(inputs):
        raise ValueError("a column appears more than once")
    for feature in features:
        if feature.column not in by_name:
            raise ValueError("a feature is of a column that is not among the columns")
        levels = by_name[feature.column].levels
        if (feature.level is None) != (levels is None) or feature.level not in (levels or (None,)):
            raise ValueError("the level of a feature is not one of its column")


def _optional(document: JsonObject, key: str, read: Any) -> Any:
    return read(document.part(key)) if document.has(key) else None


def _feature(feature: JsonObject) -> Feature:
    return Feature(
        column=feature.text("column"),
        level=feature.text("level") if feature.has("level") else None,
        mean=feature.number("mean"),
        scale=feature.positive("scale", zero_too=False),
    )


def _data(data: JsonObject) -> DataSummary:
    return DataSummary(
        file=data.text("file"),
        n_bytes=data.whole("n_bytes"),
        sha256=data.text("sha256"),
        n_rows=data.whole("n_rows"),
        n_columns=data.whole("n_columns"),
        n_features=data.whole("n_features"),
        target=_summary(data.part("target")),
        columns=tuple(_summary(one) for one in data.parts("columns", "a summary")),
        notes=tuple(data.texts("notes")),
    )


def _summary(summary: JsonObject) -> ColumnSummary:
    def number(key: str) -> float | None:
        return summary.number(key) if summary.has(key) else None

    kind: Any = summary.one_of("kind", ("number", "flag", "text"))
    levels = []
    for entry in summary.entries("levels"):
        level, count = as_entries(entry, "levels", 2)
        if not isinstance(level, str):
            raise ValueError("levels has an entry that is not a string")
        levels.append((level, as_whole(count, "levels", 0, 1 << 62)))
    return ColumnSummary(
        name=summary.text("name"),
        kind=kind,
        n_missing=summary.whole("n_missing"),
        low=number("low"),
        mean=number("mean"),
        high=number("high"),
        deviation=number("deviation"),
        n_levels=summary.whole("n_levels") if summary.has("n_levels") else None,
        levels=tuple(levels),
    )


def _origin(origin: JsonObject) -> Origin:
    parameters = origin.value("parameters")
    versions = origin.value("versions")
    if not isinstance(parameters, dict) or not all(
        isinstance(value, str | int | None) or (isinstance(value, float) and math.isfinite(value))
        for value in parameters.values()
    ):
        raise ValueError("parameters has an entry that is not a number, string, true or false")
    if not isinstance(versions, dict) or not all(
        isinstance(value, str) for value in versions.values()
    ):
        raise ValueError("versions has an entry that is not a string")
    return Origin(
        command=origin.text("command"),
        parameters=parameters,
        versions=versions,
        date=origin.text("date"),
        seconds=origin.positive("seconds"),
    )
