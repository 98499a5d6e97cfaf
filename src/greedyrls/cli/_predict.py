"""``greedyrls predict``: predict the rows of a file with a model."""

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
from ._options import OutputOptions, Reading
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
    output: OutputOptions,
) -> int:
    """Predict and write the rows; return the exit code."""
    if out is not None:
        check_file(out, is_overwritten)
    model = load_model(model_file)
    with open_input(data) as source:
        table = _read(model, source, wanted.ids, reading)
        for name in wanted.ids:
            table.check_has(name, "--id")
        copied, names = table, wanted.ids
        if wanted.has_all_columns or set(names) & set(model.date_orders):
            # Copied as written in the file, however the model reads them.
            names = table.all_names if wanted.has_all_columns else names
            options = reading.options(is_piped=source.title is not None)
            copied = read_table(
                source.path, title=source.title, only=names, as_text=names, **options
            )
    scores = model.scores(table)
    predictions = model.decide(scores)
    columns = predicted_columns(model, scores, wanted)
    content = as_text({**copied_columns(copied, names, columns, wanted), **columns}, output.is_json)
    if out is None:
        print_text(content)
    else:
        write(out, content)
    if not output.is_quiet:
        notes = [one_line(f"greedyrls: {note}") for note in table.notes]
        rated = _how_good(model, table, scores, predictions)
        if wanted.has_probabilities:
            notes += _contradicted(model, scores, predictions)
        for line in (*notes, *_filled(model, table), *_unseen(model, table), *rated):
            print(line, file=sys.stderr)
    return FINE


def _read(model: LinearModel, source: InputFile, ids: tuple[str, ...], reading: Reading) -> Table:
    """Read the columns that the model needs and those asked for; others are not parsed."""
    levels = {column.name: column.levels for column in model.columns if column.levels is not None}
    orders = model.date_orders
    texts = [*(name for name in ids if name not in orders), *levels]
    numbers = [column.name for column in model.columns if column.levels is None]
    if model.classes is not None and isinstance(model.classes[0], str):
        texts.append(model.target)  # 01 is not class 1
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
    recoded = {
        name: _as_fitted(column, levels[name])
        for name, column in table.columns.items()
        if name in levels and name not in ids and isinstance(column, Texts)
    }
    return replace(table, columns={**table.columns, **recoded})


def _as_fitted(column: Texts, levels: tuple[str, ...]) -> Texts:
    """Return texts as the model was fitted to them, which depends on how they were read.

    A column that is text by itself loses blanks around cells, and "NA" is missing, even in
    quotation marks; a column that is read as text because the user asked for it keeps both.
    """

    def meant(text: str) -> str | None:
        if text in levels:
            return text
        return None if text.strip() in MISSING else text.strip()

    texts = [meant(text) for text in column.levels]
    if texts == list(column.levels):
        return column
    return make_texts([None if code < 0 else texts[code] for code in column.codes.tolist()])


def _contradicted(model: LinearModel, scores: Float, predictions: NDArray[np.generic]) -> list[str]:
    """Return a note on rows whose prediction, by the scores, is not the most probable class."""
    likely = np.array(model.classes, dtype=object)[model.probabilities(scores).argmax(axis=1)]
    count = int(np.count_nonzero(likely != np.array(predictions.tolist(), dtype=object)))
    if not count:
        return []
    return [
        f"greedyrls: in {counted(count, 'row')} another class is more probable than the "
        "prediction, which is decided by the score."
    ]


def _filled(model: LinearModel, table: Table) -> list[str]:
    """Return a note on missing cells that were filled in."""
    counts = model.n_filled(table)
    if not counts:
        return []
    total = sum(counts.values())
    shown = ", ".join(f"{count:,} in {name!r}" for name, count in list(counts.items())[:5])
    more = "" if len(counts) <= 5 else f", and others in {len(counts) - 5} more columns"
    were = "cell was" if total == 1 else "cells were"
    if total == 1:
        shown = f"in {next(iter(counts))!r}"
    return [one_line(f"greedyrls: {total:,} missing {were} filled in: {shown}{more}.")]


def _unseen(model: LinearModel, table: Table) -> list[str]:
    """Return notes on texts that the model has not seen."""
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
    """Return a note on the error on these rows, if the data have the target."""
    truth = table.columns.get(model.target)
    if truth is None or predictions.ndim > 1:
        return []
    if isinstance(truth, Unusable):
        return [_not_compared(model, truth.why or f"has {truth.what}")]
    is_known = ~truth.is_missing
    count = int(is_known.sum())
    if not count:
        return []
    if model.classes is None:
        if not isinstance(truth, Numbers):
            return [_not_compared(model, "has text")]
        observed = truth.values[is_known]
        losses = np.square(observed - scores[is_known, 0])
        quality = f"{reading_of('squared', False).name} {_written('squared', False, losses)}"
        variance = float(np.var(observed))
        if variance > 0.0:
            quality += f", R² {score(explained(float(losses.mean()), variance), 2)},"
    else:
        if isinstance(model.classes[0], bool) and isinstance(truth, Numbers):
            truth = Numbers(truth.values, is_flag=True)  # 1 and 0 are true and false
        elif isinstance(truth, Numbers) and truth.is_flag and not isinstance(model.classes[0], str):
            truth = Numbers(truth.values)
        labels = _labels(truth)[is_known]
        wrong = labels != np.array([_as_text(label) for label in predictions.tolist()])[is_known]
        quality = f"accuracy {_written('zero_one', True, wrong.astype(np.float64))}"
    return [
        f"greedyrls: {quality} on the {counted(count, 'row')} with {model.target!r} (only a fair "
        "estimate if the model was not fitted to them)."
    ]


def _written(measure: str, is_classification: bool, losses: Float) -> str:
    """Return the mean of losses of rows, (rows), in a familiar measure, with its standard error."""
    error = float(losses.std(ddof=1) / np.sqrt(len(losses))) if len(losses) > 1 else np.nan
    return reading_of(measure, is_classification).written(float(losses.mean()), error)


def _not_compared(model: LinearModel, why: str) -> str:
    return one_line(
        f"greedyrls: the predictions were not compared with {model.target!r}, which {why}."
    )


def _labels(truth: Numbers | Texts) -> NDArray[np.str_]:
    """Return labels as text, so that 1, 1.0 and "1" are the same."""
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
