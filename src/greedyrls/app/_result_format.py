"""The stable JSON format of a result (docs/reference/files.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._base import (
    ERROR_OR_NULL,
    LOSS,
    NOT_NEGATIVE,
    POSITIVE,
    ArrayOf,
    Codec,
    Document,
    Key,
    Kind,
    Labels,
    ListOf,
    MapOf,
    Sizes,
    as_object,
)
from ..assess import (
    ASSESSMENT_FORMAT,
    CLASS_RATES,
    NULL_FORMAT,
    PREDICTIONS,
    STABILITY_FORMAT,
    Curve,
)
from ..path import PATH_FORMAT, SelectionPath, is_function
from ._data_summary import Feature, Origin
from ._linear_model import InputColumn
from ._model_format import (
    COLUMNS,
    SIGMOIDS,
    VERSIONS,
    check_sigmoids,
    columns_by_name,
    outputs_of,
    version_of,
)
from ._selection_result import SelectionResult, order_of


class _Path(Kind):
    """The path, which says how long the other parts are."""

    binds = "n"

    def write(self, value: SelectionPath) -> dict[str, Any]:
        return PATH_FORMAT.write(value)

    def read(self, value: Any, name: str, sizes: Sizes) -> SelectionPath:
        path: SelectionPath = PATH_FORMAT.read(value)
        sizes.update(
            n=path.settings.n_features_in,
            signed=is_function(path.settings.loss),
            F=1,  # all rows are one fold
            k=len(path),
            t=len(path.moments.target_means),
            w=1 + len(path.features(path.chosen_size)),
        )
        return path


@dataclass(frozen=True)
class _Assessed(Kind):
    """A part with letters of its own, from as many features as the path."""

    codec: Codec

    def write(self, value: Any) -> dict[str, Any]:
        # The path has the names of all features; once is enough.
        has_names = hasattr(value, "feature_names_in")
        return self.codec.write(replace(value, feature_names_in=None) if has_names else value)

    def read(self, value: Any, name: str, sizes: Sizes) -> Any:
        # Before it is read, since a damaged number may take all memory.
        if as_object(value, name).get("n_features_in", sizes["n"]) != sizes["n"]:
            raise ValueError(f"{name} is of another number of features than the path")
        return self.codec.read(value, name, {"version": sizes["version"]})


class _Scalar(Kind):
    """A number, string, flag or nothing."""

    def read(self, value: Any, name: str, sizes: Sizes) -> Any:
        is_plain = isinstance(value, str | int | None)
        if not is_plain and not (isinstance(value, float) and math.isfinite(value)):
            raise ValueError(f"{name} has an entry that is not a number, string, true or false")
        return value


def _result(values: dict[str, Any], sizes: Sizes) -> SelectionResult:
    """A result whose parts are of the same features, rows and classes."""
    path, data, assessment = values["path"], values["data"], values["assessment"]
    known, names = path.settings.feature_names_in, path.settings.entry_names
    order = [known[index] if known else f"x{index}" for index in order_of(path)]
    if [feature.name for feature in values["features"]] != order:
        raise ValueError("features are not those of the path")
    _check_columns(values["features"], values["inputs"])
    outputs = outputs_of(values)
    if sizes["t"] != outputs:
        task = values["task"]
        raise ValueError(f"the path has another number of targets than the {outputs} of the {task}")
    if (data.n_rows, data.n_features) != (path.settings.n_samples, sizes["n"]):
        raise ValueError("data has another number of rows or features than the path")
    if assessment is not None and assessment.n_samples != data.n_rows:
        raise ValueError("assessment is of another number of samples than the path")
    check_sigmoids(values, outputs)
    for key in ("assessment", "stability"):
        if values[key] is not None:
            values[key] = replace(values[key], feature_names_in=names)
    if values["own_rates"] is not None:
        chosen = np.array([path.chosen_size], dtype=np.intp)
        values["own_rates"] = replace(values["own_rates"], chosen_sizes=chosen, shares=np.ones(1))
    return SelectionResult(**values)


def _check_columns(features: tuple[Feature, ...], inputs: tuple[InputColumn, ...]) -> None:
    """Every feature is of a column, and of a text that the column has."""
    by_name = columns_by_name(inputs)
    for feature in features:
        if feature.column not in by_name:
            raise ValueError("a feature is of a column that is not among the columns")
        levels = by_name[feature.column].levels
        if (feature.level is None) != (levels is None) or feature.level not in (levels or (None,)):
            raise ValueError("the level of a feature is not one of its column")


def _chosen(result: SelectionResult) -> dict[str, Any]:
    names = [feature.name for feature in result.features_of(result.size)]
    return {"n_features": result.size, "features": names}


RESULT_FORMAT = Document(
    "greedyrls.result",
    VERSIONS,
    Codec(
        SelectionResult,
        {
            "classes": Labels(),
            "sentence": Key(is_derived=True),
            "warnings": Key(is_derived=True),
            "chosen": Key(is_derived=True, get=_chosen),
            "features": ListOf(Codec(Feature, {"scale": POSITIVE})),
            "inputs": Key(COLUMNS, name="columns"),
            "origin": Codec(Origin, {"parameters": MapOf(_Scalar()), "seconds": NOT_NEGATIVE}),
            "path": _Path(),
            "assessment": _Assessed(ASSESSMENT_FORMAT.codec),
            "stability": _Assessed(STABILITY_FORMAT.codec),
            "null": _Assessed(NULL_FORMAT.codec),
            "model_curve": Codec(
                Curve,
                {
                    "mean": Key(ArrayOf("k", LOSS), name="losses"),
                    "error": Key(ArrayOf("k", ERROR_OR_NULL), name="standard_errors"),
                },
            ),
            "own_rates": CLASS_RATES,
            "own_predictions": PREDICTIONS,
            # Files of earlier releases have none of these.
            "coefficient_errors": Key(ArrayOf("t w", ERROR_OR_NULL), may_lack=True),
            "sigmoids": SIGMOIDS,
            "leaks": Key(may_lack=True),
        },
        keys="task target classes sentence warnings chosen features inputs data origin path "
        "assessment stability null model_curve own_rates own_predictions coefficient_errors "
        "sigmoids leaks missing",
        make=_result,
    ),
    version_of=lambda result: version_of(result.inputs),
)
