"""``greedyrls predict``: the rows of a file by a model."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .._kernels import Float
from .._linear_model import LinearModel
from .._read import read_table
from .._table import Numbers, Table, Texts, Unusable
from ._documents import load_model
from ._options import Reading, Telling
from ._predictions import Wanted, as_text, copied_columns, predicted_columns
from ._run import FINE
from ._shown import number, one_line
from ._write import check_file, print_text, write


def predict_rows(
    model_file: Path,
    data: Path,
    wanted: Wanted,
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
    table = _read(data, (*wanted.ids, *texts), reading)
    copied, names = table, wanted.ids
    if wanted.has_all_columns:
        # As they are written in the file, whatever the model makes of them.
        names = tuple(table.columns)
        copied = _read(data, names, reading)
    for name in names:
        copied.column(name)
    scores = model.scores(table)
    predictions = model.decide(scores)
    found = predicted_columns(model, scores, wanted)
    content = as_text({**copied_columns(copied, names, found, wanted), **found}, telling.is_json)
    if out is None:
        print_text(content)
    else:
        write(out, content)
    if not telling.is_quiet:
        told = (*_filled(model, table), *_unseen(model, table))
        for line in (*told, *_how_good(model, table, scores, predictions)):
            print(line, file=sys.stderr)
    return FINE


def _read(data: Path, as_text: tuple[str, ...], reading: Reading) -> Table:
    return read_table(
        data,
        as_text=as_text,
        delimiter=reading.delimiter,
        decimal=reading.decimal,
        header=reading.has_header,
        encoding=reading.encoding,
    )


def _filled(model: LinearModel, table: Table) -> list[str]:
    """How many cells were missing, and filled in."""
    found = model.n_filled(table)
    if not found:
        return []
    total = sum(found.values())
    shown = ", ".join(f"{count:,} in {name!r}" for name, count in list(found.items())[:5])
    more = "" if len(found) <= 5 else f", and others in {len(found) - 5} more columns"
    were = "cell was" if total == 1 else "cells were"
    return [one_line(f"greedyrls: {total:,} missing {were} filled in: {shown}{more}.")]


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
