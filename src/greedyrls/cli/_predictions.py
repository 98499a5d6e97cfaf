"""The output of predict: columns of the data, predictions, scores, probabilities; digits."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass

import numpy as np

from .._base import Float
from ..app import InputError, LinearModel, Table, Texts, Unusable

# A float64 that is written with this many digits is read back exactly.
EXACT = 17


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to write besides the prediction."""

    ids: tuple[str, ...]  # columns to copy
    has_all_columns: bool
    has_probabilities: bool
    digits: int  # significant digits


def predicted_columns(model: LinearModel, scores: Float, wanted: Wanted) -> dict[str, list[object]]:
    """Return predictions and, for classes, scores and probabilities, by column name."""
    predictions = model.decide(scores)
    columns: dict[str, list[object]] = {}
    if model.classes is not None:
        columns["prediction"] = predictions.tolist()
        names = ["score"] if scores.shape[1] == 1 else [f"score_{label}" for label in model.classes]
        columns |= _numbers(names, scores, wanted.digits)
    elif predictions.ndim == 1:
        columns |= _numbers(["prediction"], scores, wanted.digits)
    else:
        names = [f"prediction_{index}" for index in range(scores.shape[1])]
        columns |= _numbers(names, scores, wanted.digits)
    if wanted.has_probabilities:
        if model.classes is None:
            raise InputError(
                f"--probabilities are of classes, and the model predicts {model.target!r} as a "
                "number; leave the option out."
            )
        if model.sigmoids is None:
            raise InputError(
                "The model has no probabilities: it was written by an earlier release, or its "
                "selection was interrupted. Run select again."
            )
        names = [f"probability_{label}" for label in model.classes]
        columns |= _numbers(names, model.probabilities(scores), wanted.digits)
    return columns


def _numbers(names: list[str], values: Float, digits: int) -> dict[str, list[object]]:
    columns = zip(names, values.T.tolist(), strict=True)
    return {name: [rounded(value, digits) for value in column] for name, column in columns}


def rounded(value: float, digits: int) -> float:
    """Return a number with this many significant digits."""
    return value if digits >= EXACT else float(f"{value:.{digits}g}")


def copied_columns(
    table: Table, names: tuple[str, ...], predicted: dict[str, list[object]], wanted: Wanted
) -> dict[str, list[object]]:
    """Return columns of the data as they are written next to predictions."""
    option = "--all-columns" if wanted.has_all_columns else "--id"
    for name in names:
        if name in predicted:
            raise InputError(
                f"{option} {name!r}: a column of the predictions has that name; rename it."
            )
    return {name: _cells(table, name, option) for name in names}


def _cells(table: Table, name: str, option: str) -> list[object]:
    """Return a column to be copied."""
    values = table.columns[name]
    if isinstance(values, Texts):
        return list(values.strings())
    if isinstance(values, Unusable):
        raise InputError(
            f"{option} {name!r}: the column has {values.what}, which cannot be copied."
        )
    is_whole = values.is_whole
    return [
        None if value != value else int(value) if is_whole else value
        for value in values.values.tolist()
    ]


def as_text(columns: dict[str, list[object]], is_json: bool) -> str:
    """Return columns as CSV or JSON."""
    if is_json:
        return json.dumps(columns) + "\n"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    plain = [[_written(value) for value in column] for column in columns.values()]
    writer.writerows(zip(*plain, strict=True))
    return text.getvalue()


def _written(value: object) -> object:
    """Return short numbers without an exponent: 1234570, not 1.23457e+06."""
    if not isinstance(value, float) or not np.isfinite(value):
        return value
    is_short = value.is_integer() and abs(value) < 1e16
    return str(int(value)) if is_short else repr(value)
