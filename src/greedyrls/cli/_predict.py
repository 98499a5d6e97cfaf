"""``greedyrls predict``: the rows of a file by a model."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .._kernels import Float
from .._linear_model import LinearModel
from .._read import given
from .._table import InputError, Numbers, Table, Texts, Unusable
from ._job import read_given
from ._options import Reading, Telling
from ._run import FINE
from ._shown import number, one_line
from ._write import check_file, print_text, write

Document = TypeVar("Document")


def predict_rows(
    model_file: Path,
    data: Path,
    ids: tuple[str, ...],
    out: Path | None,
    is_overwritten: bool,
    reading: Reading,
    telling: Telling,
) -> int:
    """Predict and write; the exit code."""
    if out is not None:
        check_file(out, is_overwritten)
    model = load_model(model_file)
    texts = [column.name for column in model.columns if column.levels is not None]
    if model.classes is not None and isinstance(model.classes[0], str):
        texts.append(model.target)  # 01 is not the class 1
    orders = model.date_orders
    known = {name: order for name, order in orders.items() if order is not None}
    with given(data) as source:
        # A date that is also copied is copied as it is written.
        table = read_given(source, reading, (*ids, *texts), set(orders) - set(ids), known)
        if both := set(orders) & set(ids):
            dated = read_given(source, reading, (), both, known)
            model_table = replace(
                table, columns=table.columns | {name: dated.columns[name] for name in both}
            )
        else:
            model_table = table
    for name in ids:
        table.column(name)
    scores = model.scores(model_table)
    predictions = model.decide(scores)
    content = _as_csv(model, table, ids, scores, predictions, telling.is_json)
    if out is None:
        print_text(content)
    else:
        write(out, content)
    if not telling.is_quiet:
        for note in table.notes:
            print(one_line(f"greedyrls: {note}"), file=sys.stderr)
        for line in (*_unseen(model, model_table), *_how_good(model, table, scores, predictions)):
            print(line, file=sys.stderr)
    return FINE


def read_json(file: Path, read: Callable[[bytes], Document]) -> Document:
    """A document from its file, or an error that names the file."""
    try:
        return read(file.read_bytes())
    except ValueError as error:
        # The advice for those who have the text is not for those who have the file.
        told = str(error).removesuffix(" Pass the text itself, not the name of a file.")
        raise InputError(f"{file}: {told}") from error


def load_model(file: Path) -> LinearModel:
    """A model from its file, or an error that names it."""
    return read_json(file, LinearModel.from_json)


def _as_csv(
    model: LinearModel,
    table: Table,
    ids: tuple[str, ...],
    scores: Float,
    predictions: NDArray[np.generic],
    is_json: bool,
) -> str:
    columns: dict[str, list[object]] = {name: _cells(table, name) for name in ids}
    found: dict[str, list[object]] = {}
    if predictions.ndim == 1:
        found["prediction"] = predictions.tolist()
    else:
        for place, values in enumerate(predictions.T):
            found[f"prediction_{place}"] = values.tolist()
    if model.classes is not None:
        names = ["score"] if scores.shape[1] == 1 else [f"score_{one}" for one in model.classes]
        found |= {name: values.tolist() for name, values in zip(names, scores.T, strict=True)}
    for name in ids:
        if name in found:
            raise InputError(
                f"--id {name!r}: a column of the predictions has that name; rename it."
            )
    columns |= found
    if is_json:
        import json

        return json.dumps(columns) + "\n"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _cells(table: Table, name: str) -> list[object]:
    """A column as it is copied."""
    values = table.columns[name]
    if isinstance(values, Texts):
        return list(values.strings())
    if isinstance(values, Unusable):
        raise InputError(f"--id {name!r}: the column has {values.what}, which cannot be copied.")
    is_whole = values.is_whole
    return [
        None if value != value else int(value) if is_whole else value
        for value in values.values.tolist()
    ]


def _unseen(model: LinearModel, table: Table) -> list[str]:
    """Texts that the model does not know."""
    return [
        one_line(
            f"greedyrls: column {name!r} has {len(levels)} values that the model has not seen, "
            f"such as {levels[0]!r}; they count for no feature."
        )
        for name, levels in model.unseen(table).items()
    ]


def _how_good(
    model: LinearModel, table: Table, scores: Float, predictions: NDArray[np.generic]
) -> list[str]:
    """If the target is there, the error on these rows."""
    truth = table.columns.get(model.target)
    if truth is None or isinstance(truth, Unusable) or predictions.ndim > 1:
        return []
    known = ~truth.is_missing
    count = int(known.sum())
    if not count:
        return []
    if model.classes is None:
        if not isinstance(truth, Numbers):
            return []
        errors = np.square(truth.values[known] - scores[known, 0])
        spread = errors.std(ddof=1) / np.sqrt(count) if count > 1 else np.nan
        told = f"mean squared error {number(float(errors.mean()))}"
    else:
        if isinstance(model.classes[0], bool) and isinstance(truth, Numbers):
            truth = Numbers(truth.values, is_flag=True)  # 1 and 0 are true and false
        elif isinstance(truth, Numbers) and truth.is_flag and not isinstance(model.classes[0], str):
            truth = Numbers(truth.values)
        labels = _labels(truth)[known]
        wrong = labels != np.array([_as_text(one) for one in predictions.tolist()])[known]
        spread = wrong.std(ddof=1) / np.sqrt(count) if count > 1 else np.nan
        told = f"error rate {number(float(wrong.mean()))}"
    around = "" if np.isnan(spread) else f" ± {number(float(spread), 2)}"
    return [
        f"greedyrls: {told}{around} on the {count} rows that have {model.target!r} (only honest if "
        "the model was not made from them)."
    ]


def _labels(truth: Numbers | Texts) -> NDArray[np.str_]:
    """Labels as text, so that 1, 1.0 and "1" are the same."""
    if isinstance(truth, Texts):
        return np.array([text or "" for text in truth.strings()])
    values: list[object] = list(truth.values.tolist())
    if truth.is_flag:
        values = [bool(value) for value in values]
    return np.array([_as_text(value) for value in values])


def _as_text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
