"""Tables of the path, runners-up, stability and data, as rows of text."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._base import Float, scores
from .._base import column as in_column
from ..app import ColumnSummary, SelectionResult
from ..path import explained, measure_in_words, reading_of
from ._names import Name, Names
from ._scores import (
    Estimate,
    fitted,
    held_out_estimate,
    initial_loss,
    own_estimate,
    tested_estimate,
)
from ._thin import shown_sizes
from ._words import count, counted, number, percent, plain_name, unbroken

# A runner-up with all but this share of the gain is as good (as in warnings).
NEAR = 0.05
# Limits: runners-up of a step, features in the stability chart, columns and levels of the data.
RUNNERS = ("the next best", "second", "third")
_MOST_STEPS = 200
_MOST_BARS = 40
_OTHERS = 5
_MOST_COLUMNS = 200
_LEVELS = 6


class PathRow(NamedTuple):
    """A step of the path; `cells` belong to the heads of the table."""

    size: int
    name: Name
    cells: list[str]
    is_chosen: bool


class PathTable(NamedTuple):
    """The whole path as a table."""

    heads: list[str]
    rows: list[PathRow]


class Runner(NamedTuple):
    """A feature that was nearly chosen."""

    name: Name
    loss: str
    share: str  # share of the gain; empty if there was no gain
    is_near: bool


class RunnerRow(NamedTuple):
    """A step and its runners-up."""

    step: int
    name: Name
    loss: str
    runners: list[Runner]


class Bar(NamedTuple):
    """The share of selections that have a feature."""

    name: Name
    share: str
    width: float  # in percent
    is_chosen: bool


class StabilityView(NamedTuple):
    """How often features are selected on other samples, as bars."""

    sentence: str
    size: int
    bars: list[Bar]
    n_left_out: int
    value: float  # stability index
    source: str


class ColumnRow(NamedTuple):
    """A column of the data, as a row of a table."""

    name: str
    kind: str
    missing: str
    summary: str


def gains(losses: Float, initial_loss: float) -> list[float]:
    """Return by how much each step lowered a loss."""
    before = np.concatenate(([initial_loss], losses[:-1]))
    return [float(gain) for gain in before - losses]


def path_table(result: SelectionResult, names: Names) -> PathTable:
    """Return sizes with all their known losses."""
    path, sizes = result.path, shown_sizes(len(result.path), result.size)
    indices = [size - 1 for size in sizes]
    columns: dict[str, list[str]] = {}
    estimates = (
        ("test", tested_estimate(result)),
        ("held-out", held_out_estimate(result)),
        ("own", own_estimate(result)),
    )
    for title, estimate in estimates:
        if estimate is None:
            continue
        reading = reading_of(estimate.measure, result.task == "classification")
        if title == "own" and reading.kind == "root":
            columns["own RMSE"] = reading.column(estimate.mean[indices], estimate.error[indices])
            continue
        columns[f"{title} {reading.short}"] = reading.column(
            estimate.mean[indices], estimate.error[indices]
        )
        columns |= _beside(result, title, estimate, indices)
    curve, losses = result.own_curve, measure_in_words(path.settings.loss)
    own_gains = gains(curve.mean, path.initial_loss)
    own_losses = in_column(curve.mean[indices].tolist(), curve.error[indices].tolist())
    if own_losses not in columns.values():
        columns[f"own {losses}"] = own_losses
    columns["gain"] = in_column([own_gains[index] for index in indices])
    if path.refit_alphas is not None:
        columns["penalty of the model"] = [number(path.refit_alphas[index]) for index in indices]
    rows = [
        PathRow(
            index + 1,
            names.steps[index],
            [unbroken(cells[row]) for cells in columns.values()],
            index + 1 == result.size,
        )
        for row, index in enumerate(indices)
    ]
    return PathTable(list(columns), rows)


def _beside(
    result: SelectionResult, title: str, estimate: Estimate, indices: list[int]
) -> dict[str, list[str]]:
    """Return what is shown next to a loss: R² of a regression, scores of a classification."""
    if estimate.measure == "squared" and result.task == "regression":
        without = initial_loss(result, "test" if title == "test" else "held_out")
        shares = [explained(float(estimate.mean[index]), without) for index in indices]
        return {f"{title} R²": scores(shares, 2)}
    rates = None if result.assessment is None else result.assessment.class_rates
    if title != "test" or rates is None:
        return {}
    columns: dict[str, list[str]] = {}
    for name, values in rates.scores_by_size().items():
        head = "AUC" if name == "auc" else name.replace("_", " ")
        filled = fitted(values, len(result.path))[indices]
        columns.setdefault(f"test {head}", scores(filled.tolist()))
    return columns


def is_near_tie(loss: float, gain: float, runner_loss: float) -> bool:
    """Whether a runner-up would have done nearly as well."""
    return gain > 0.0 and runner_loss - loss < NEAR * gain


def share_of_gain(loss: float, gain: float, runner_loss: float) -> str:
    """Return the share of the gain of a step that a runner-up has; empty if there was no gain."""
    if not gain > 0.0:
        return ""
    return percent(max(0.0, 1.0 - (runner_loss - loss) / gain))


def runner_rows(result: SelectionResult, names: Names) -> list[RunnerRow]:
    """Return steps that have runners-up, with losses of the search and its penalty."""
    path, reading = result.path, result.own_reading
    rows: list[RunnerRow] = []
    search_gains = gains(path.losses, path.initial_loss)
    for index_of_step, (step, gain) in enumerate(zip(path.sets, search_gains, strict=True)):
        if not step.runners_up or len(rows) == _MOST_STEPS:
            continue
        best = step.runners_up[: len(RUNNERS)]
        loss_text, *texts = reading.column(np.array([step.loss, *(loss for _, loss in best)]))
        runners = [
            Runner(
                names.of(index),
                words,
                share_of_gain(step.loss, gain, loss),
                is_near_tie(step.loss, gain, loss),
            )
            for (index, loss), words in zip(best, texts, strict=True)
        ]
        rows.append(RunnerRow(index_of_step + 1, names.steps[index_of_step], loss_text, runners))
    return rows


def stability_view(result: SelectionResult, names: Names) -> StabilityView | None:
    """Return the stability on resampled rows or in the folds of the assessment, if known."""
    stability = result.stability
    if stability is None and result.assessment is not None:
        stability = result.assessment.stability
    if stability is None or len(stability.selections) < 2 or not len(stability.sizes):
        return None
    # If no features were chosen, use the size of the other selections.
    size = min(result.size or len(stability.sizes), len(stability.sizes))
    # The sentence is about this size if selections are cut to it.
    cut = replace(stability, selections=tuple(order[:size] for order in stability.selections))
    shares = cut.frequencies(size)
    chosen = [int(index) for index in result.path.entries(result.size)]
    others = [
        int(index)
        for index in np.argsort(-shares, kind="stable")[: len(chosen) + _OTHERS]
        if shares[index] > 0.0 and int(index) not in set(chosen)
    ][:_OTHERS]
    shown = sorted(chosen[: _MOST_BARS - len(others)] + others, key=lambda index: -shares[index])
    bars = [
        Bar(names.of(index), percent(shares[index]), 100.0 * shares[index], index in set(chosen))
        for index in shown
    ]
    return StabilityView(
        cut.sentence,
        size,
        bars,
        len(chosen) + len(others) - len(shown),
        float(cut.index[-1]),
        stability.source,
    )


def column_rows(result: SelectionResult) -> list[ColumnRow]:
    """Return the columns on the path, each once."""
    fills = {column.name: column.fill for column in result.inputs}
    rows: dict[str, ColumnRow] = {}
    for column in result.data.columns:
        if column.name in rows or len(rows) == _MOST_COLUMNS:
            continue
        missing = count(column.n_missing) if column.n_missing else "none"
        fill = fills.get(column.name)
        if column.n_missing and fill is not None:
            shown = number(fill) if isinstance(fill, float | int) else f"“{plain_name(fill, 60)}”"
            missing += f", filled with {shown}"
        rows[column.name] = ColumnRow(
            plain_name(column.name), _kind(column), missing, summary_in_words(column)
        )
    return list(rows.values())


def summary_in_words(column: ColumnSummary) -> str:
    """Return a short description of the values of a column."""
    parts = []
    if column.low is not None and column.high is not None:
        parts.append(f"{number(column.low)} to {number(column.high)}")
    if column.mean is not None:
        parts.append(f"mean {number(column.mean)}")
    if column.deviation is not None:
        parts.append(f"standard deviation {number(column.deviation)}")
    if column.levels:
        shown = [f"{plain_name(level, 60)} ({count(n_rows)})" for level, n_rows in column.levels]
        total = len(shown) if column.n_levels is None else column.n_levels
        more = total - len(shown[:_LEVELS])
        words = f"{counted(total, 'different value')}: {', '.join(shown[:_LEVELS])}"
        parts.append(words + (f" and {count(more)} more" if more > 0 else ""))
    return "; ".join(parts)


def _kind(column: ColumnSummary) -> str:
    return {"number": "numbers", "flag": "true or false", "text": "text"}[column.kind]
