"""``greedyrls predict``: the rows of a file by a model."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .._base import Float, counted, score
from ..app import (
    MISSING,
    InputFile,
    LinearModel,
    Numbers,
    Table,
    Texts,
    Unusable,
    make_texts,
    open_input,
    read_table,
)
from ..path import explained, reading_of
from ._documents import load_model
from ._options import Reading, Telling
from ._predictions import Wanted, as_text, copied_columns, predicted_columns
from ._run import FINE
from ._shown import one_line
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
    with open_input(data) as source:
        table = _read(model, source, wanted.ids, reading)
        for name in wanted.ids:
            table.check_has(name, "--id")
        copied, names = table, wanted.ids
        if wanted.has_all_columns or set(names) & set(model.date_orders):
            # As they are written in the file, whatever the model makes of them.
            names = table.all_names if wanted.has_all_columns else names
            options = reading.options(is_piped=source.title is not None)
            copied = read_table(
                source.path, title=source.title, only=names, as_text=names, **options
            )
    scores = model.scores(table)
    predictions = model.decide(scores)
    found = predicted_columns(model, scores, wanted)
    content = as_text({**copied_columns(copied, names, found, wanted), **found}, telling.is_json)
    if out is None:
        print_text(content)
    else:
        write(out, content)
    if not telling.is_quiet:
        notes = [one_line(f"greedyrls: {note}") for note in table.notes]
        rated = _how_good(model, table, scores, predictions)
        if wanted.has_probabilities:
            notes += _contradicted(model, scores, predictions)
        for line in (*notes, *_filled(model, table), *_unseen(model, table), *rated):
            print(line, file=sys.stderr)
    return FINE


def _read(model: LinearModel, source: InputFile, ids: tuple[str, ...], reading: Reading) -> Table:
    """The columns that the model needs, and those asked for; whatever the others hold."""
    levels = {column.name: column.levels for column in model.columns if column.levels is not None}
    orders = model.date_orders
    texts = [*(name for name in ids if name not in orders), *levels]
    numbers = [column.name for column in model.columns if column.levels is None]
    if model.classes is not None and isinstance(model.classes[0], str):
        texts.append(model.target)  # 01 is not the class 1
    elif model.classes is None:
        numbers.append(model.target)
    options = reading.options(is_piped=source.title is not None)
    known_missing = dict.fromkeys(word for column in model.columns for word in column.missing)
    options = {**options, "missing": tuple(dict.fromkeys((*reading.missing, *known_missing)))}
    if reading.date_order is None:
        known_orders = {name: order for name, order in orders.items() if order is not None}
        options = {**options, "date_order": known_orders}
    table = read_table(
        source.path,
        title=source.title,
        only=(*texts, *numbers, *orders, model.target),
        as_text=texts,
        as_numbers=numbers,
        as_dates=orders,
        comma_columns=[column.name for column in model.columns if column.decimal == ","],
        **options,
    )
    known = {
        name: _as_known(column, levels[name])
        for name, column in table.columns.items()
        if name in levels and name not in ids and isinstance(column, Texts)
    }
    return replace(table, columns={**table.columns, **known})


def _as_known(column: Texts, levels: tuple[str, ...]) -> Texts:
    """Texts as the model knows them, which may have been read in one of two ways.

    A column that holds nothing but text loses blanks around cells, and "NA" is missing, also in
    quotation marks; one that is read as text because the user asked for it keeps both.
    """

    def meant(text: str) -> str | None:
        if text in levels:
            return text
        return None if text.strip() in MISSING else text.strip()

    known = [meant(text) for text in column.levels]
    if known == list(column.levels):
        return column
    return make_texts([None if code < 0 else known[code] for code in column.codes.tolist()])


def _contradicted(model: LinearModel, scores: Float, predictions: NDArray[np.generic]) -> list[str]:
    """Rows whose prediction is not the most probable class: predictions go by the scores."""
    likely = np.array(model.classes, dtype=object)[model.probabilities(scores).argmax(axis=1)]
    count = int(np.count_nonzero(likely != np.array(predictions.tolist(), dtype=object)))
    if not count:
        return []
    return [
        f"greedyrls: in {counted(count, 'row')} another class is more probable than the "
        "prediction, which is decided by the score."
    ]


def _filled(model: LinearModel, table: Table) -> list[str]:
    """How many cells were missing, and filled in."""
    found = model.n_filled(table)
    if not found:
        return []
    total = sum(found.values())
    shown = ", ".join(f"{count:,} in {name!r}" for name, count in list(found.items())[:5])
    more = "" if len(found) <= 5 else f", and others in {len(found) - 5} more columns"
    were = "cell was" if total == 1 else "cells were"
    if total == 1:
        shown = f"in {next(iter(found))!r}"
    return [one_line(f"greedyrls: {total:,} missing {were} filled in: {shown}{more}.")]


def _unseen(model: LinearModel, table: Table) -> list[str]:
    """Texts that the model does not know."""
    return [
        one_line(
            f"greedyrls: column {name!r} has {counted(len(levels), 'value')} that the model has "
            f"not seen, such as {levels[0]!r}; no feature of the model is set for them."
        )
        for name, levels in model.unseen(table).items()
    ]


def _values(levels: list[str]) -> str:
    return "1 value" if len(levels) == 1 else f"{len(levels)} values"


def _how_good(
    model: LinearModel, table: Table, scores: Float, predictions: NDArray[np.generic]
) -> list[str]:
    """If the target is there, the error on these rows."""
    truth = table.columns.get(model.target)
    if truth is None or predictions.ndim > 1:
        return []
    if isinstance(truth, Unusable):
        return [_not_compared(model, truth.why or f"has {truth.what}")]
    known = ~truth.is_missing
    count = int(known.sum())
    if not count:
        return []
    if model.classes is None:
        if not isinstance(truth, Numbers):
            return [_not_compared(model, "has text")]
        observed = truth.values[known]
        losses = np.square(observed - scores[known, 0])
        told = f"{reading_of('squared', False).name} {_written('squared', False, losses)}"
        variance = float(np.var(observed))
        if variance > 0.0:
            told += f", R² {score(explained(float(losses.mean()), variance), 2)},"
    else:
        if isinstance(model.classes[0], bool) and isinstance(truth, Numbers):
            truth = Numbers(truth.values, is_flag=True)  # 1 and 0 are true and false
        elif isinstance(truth, Numbers) and truth.is_flag and not isinstance(model.classes[0], str):
            truth = Numbers(truth.values)
        labels = _labels(truth)[known]
        wrong = labels != np.array([_as_text(one) for one in predictions.tolist()])[known]
        told = f"accuracy {_written('zero_one', True, wrong.astype(np.float64))}"
    return [
        f"greedyrls: {told} on the {counted(count, 'row')} with {model.target!r} (only a fair "
        "estimate if the model was not fitted to them)."
    ]


def _written(measure: str, is_classification: bool, losses: Float) -> str:
    """The mean of losses of rows, (rows), as people know it, with its standard error."""
    error = float(losses.std(ddof=1) / np.sqrt(len(losses))) if len(losses) > 1 else np.nan
    return reading_of(measure, is_classification).written(float(losses.mean()), error)


def _not_compared(model: LinearModel, why: str) -> str:
    return one_line(
        f"greedyrls: the predictions were not compared with {model.target!r}, which {why}."
    )


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
