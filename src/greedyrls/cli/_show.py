"""Show results in a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._base import Float, column, count, counted, percent, plural, printable, scores
from ..app import SelectionResult, how_it_was_chosen, on_command_line
from ..assess import Curve, PathAssessment
from ..path import explained, initial_loss_in, measure_in_words
from ._show_model import model_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

# Longer tables are cut; path.csv has all rows.
_ROWS = 30
_NAMES = ("feature", "runner-up")
_SCORES = {"auc": "AUC", "balanced_accuracy": "balanced accuracy"}
# Scores that repeat the measure of an assessment.
_SAME = {"auc": "auc", "balanced_zero_one": "balanced_accuracy"}
# Names are cut down to this width before columns are left out.
_SHORTEST = 12
# Width between columns of a table.
_GAP = 3


class Columns(NamedTuple):
    """Columns of a table, and those that narrow terminals omit, in that order."""

    cells: dict[str, list[str]]
    spare: tuple[str, ...]


def show_result(result: SelectionResult, is_verbose: bool = False) -> None:
    """Show the answer, the model, the path as a table, notes and warnings."""
    console = _console()
    data = result.data
    console.print(
        _text(
            f"{data.file}: {counted(data.n_rows, 'row')}, {counted(data.n_features, 'feature')} to "
            f"choose from; {result.task} of {result.target}"
        )
    )
    console.print()
    console.print(_text(result.sentence), style="bold")
    table, legend = model_lines(result)
    if table is not None:
        console.print(table)
    for line in legend:
        console.print(_text(line), style="dim")
    console.print()
    console.print(path_table(result, console.width, is_verbose))
    if len(result.path) > _ROWS:
        more = count(len(result.path) - _ROWS)
        console.print(_text(f"… and {more} more (path.csv has all)."), style="dim")
    for line in _legend(result, is_verbose):
        console.print(_text(line), style="dim")
    console.print()
    if is_verbose:
        console.print(_text(how_it_was_chosen(result)))
    if result.stability is not None:
        console.print(_text(result.stability.sentence))
    if result.null is not None:
        console.print(_text(result.null.sentence_for(result.null_reading)))
    show_notes(data.notes)
    # Warnings that the answer contains are not repeated.
    show_warnings(warning for warning in result.warnings if warning not in result.sentence)


def _legend(result: SelectionResult, is_verbose: bool) -> list[str]:
    """Return sentences that explain the numbers in the table."""
    settings, parts = result.path.settings, []
    readings = {result.reading.kind, result.own_reading.kind}
    if "root" in readings:
        parts.append(f"RMSE: root mean squared error, in the units of {result.target}.")
    if is_verbose or "loss" in readings:
        codes = " of −1 and +1 codes" if result.classes is not None else ""
        measure = measure_in_words(settings.loss) + (codes if settings.loss == "squared" else "")
        if result.origin.parameters.get("class_weight") is not None:
            measure += ", with weights of classes"
        parts.append(f"Loss: {measure}, lower is better.")
    estimate = (
        "LOO: each row left out in turn" if settings.cv == "loo" else "CV: in the search's folds"
    )
    parts.append(f"{estimate}; optimistic, since features were chosen by it.")
    if result.assessment is None and result.path.held_out is not None:
        parts.append("Held-out: in the outer folds that made the choice.")
    parts.append("Runner-up: the next best feature, and its share of the gain.")
    lines = [" ".join(parts)]
    if result.model_curve is None and result.path.refit_alphas is not None:
        lines.append(
            "CV values are the search's, with its own penalty; the models have others. Go by the "
            "values on held-out rows."
        )
    return lines


def path_table(result: SelectionResult, width: int, is_verbose: bool = False) -> Table:
    """Return a table with a row for each size: feature, quality of the model, runner-up."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table

    rows = result.rows()[:_ROWS]
    cells, spare = _path_columns(result, is_verbose)
    widths = {
        title: max(map(cell_len, (title, *column_cells))) for title, column_cells in cells.items()
    }
    _fit(widths, width, spare)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title, wide in widths.items():
        table.add_column(
            title,
            justify="left" if title in _NAMES else "right",
            width=wide,
            overflow="ellipsis",
            no_wrap=True,
        )
    for index, row in enumerate(rows):
        style = "bold" if row["n_features"] == result.size else "" if row["is_chosen"] else "dim"
        table.add_row(*(_text(cells[title][index]) for title in widths), style=style)
    return table


def _path_columns(result: SelectionResult, is_verbose: bool) -> Columns:
    """Return what is known for each size: held-out and own estimates, and the runner-up."""
    rows = result.rows()[:_ROWS]
    cells = {
        "#": [str(row["n_features"]) for row in rows],
        "feature": [printable(row["feature"]) for row in rows],
    }
    honest = Curve(_values(rows, "honest_loss"), _values(rows, "honest_error"))
    estimate = Curve(_values(rows, "loss"), _values(rows, "standard_error"))
    by = "LOO" if result.path.settings.cv == "loo" else "CV"
    spare = ["gain"]
    if np.isfinite(honest.mean).any():
        where = "held-out" if result.assessment is None else "test"
        cells[f"{where} {_short(result.reading.short)}"] = result.reading.column(*honest)
        cells |= _second_columns(result, honest.mean)
        spare += [*_SCORES.values()][1:]
    own_title = f"{by} {_short(result.own_reading.short)}"
    cells[own_title] = result.own_reading.column(*estimate)
    if "R²" not in cells and result.own_reading.kind == "root":
        cells["R²"] = _explained(estimate.mean, result.path.initial_loss)
    if is_verbose:
        cells[f"{by} loss"] = column(estimate.mean.tolist(), estimate.error.tolist())
        cells["gain"] = column(_values(rows, "gain").tolist())
        spare.append(f"{by} loss")
    cells["runner-up"] = [_runner(row["runner_up"], row["runner_up_share"]) for row in rows]
    if np.isfinite(honest.mean).any():
        spare.append(own_title)
    spare += ["runner-up", "AUC", "R²", *(title for title in cells if "held-out" in title)]
    cells = {
        title: ["" if cell == "–" else cell for cell in estimate]
        for title, estimate in cells.items()
    }
    return Columns(cells, tuple(spare))


def _short(name: str) -> str:
    """Return a short name for the head of a column."""
    return "loss" if name.endswith("codes") else name


def _second_columns(result: SelectionResult, losses: Float) -> dict[str, list[str]]:
    """Return R² of a regression, or AUC and balanced accuracy of an assessed classification."""
    if result.assessment is None:
        initial = initial_loss_in(result.path.outer_surface, result.path.initial_loss)
        return {"R²": _explained(losses, initial)} if result.reading.kind == "root" else {}
    return second_columns(result.assessment, len(losses))


def second_columns(assessment: PathAssessment, length: int) -> dict[str, list[str]]:
    """Return such columns of an assessment, up to a number of sizes."""
    if assessment.class_rates is not None:
        return {
            _SCORES[name]: _filled(scores(values[:length].tolist()), length)
            for name, values in assessment.class_rates.scores_by_size().items()
            if name != _SAME.get(assessment.measure)
        }
    if assessment.measure != "squared":
        return {}
    shares = _explained(assessment.test.mean[:length], assessment.initial_loss)
    return {"R²": _filled(shares, length)}


def _filled(cells: list[str], length: int) -> list[str]:
    return [*cells, *[""] * (length - len(cells))]


def _explained(losses: Float, initial_loss: float) -> list[str]:
    return scores([explained(loss, initial_loss) for loss in losses.tolist()], 2)


def _values(rows: list[dict[str, object]], name: str) -> Float:
    """Return a column of numbers; NaN for None."""
    return np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=np.float64)


def _runner(name: str | None, share: float | None) -> str:
    shown = "" if name is None else printable(name)
    return f"{shown} ({percent(share)})" if share is not None and share > 0.0 else shown


def _fit(widths: dict[str, int], width: int, spare: tuple[str, ...]) -> None:
    """Make columns fit: numbers are never cut, names share the remaining width."""

    def width_for_names() -> int:
        numbers = [needed for title, needed in widths.items() if title not in _NAMES]
        return width - sum(numbers) - 3 * len(widths)

    def is_tight() -> bool:
        return width_for_names() < sum(
            min(_SHORTEST, widths[title]) for title in _NAMES if title in widths
        )

    for title in spare:
        if is_tight():
            widths.pop(title, None)
    left = max(width_for_names(), 1)
    if "runner-up" in widths:
        runner = widths["runner-up"]
        widths["feature"] = min(widths["feature"], max(left - runner, left // 2))
        widths["runner-up"] = min(runner, left - widths["feature"])
    else:
        widths["feature"] = min(widths["feature"], left)


def show_assessment(
    assessment: PathAssessment, sentence: str, warnings: Iterable[str], is_verbose: bool = False
) -> None:
    """Show what to report, and test curves by size."""
    from rich import box
    from rich.table import Table

    console = _console()
    reading, size = assessment.reading, min(len(assessment.sizes), _ROWS)
    console.print(_text(on_command_line([sentence])[0]), style="bold")
    console.print(_text(assessment.stability.sentence))
    cells = {
        "#": [str(number) for number in assessment.sizes.tolist()[:size]],
        f"test {reading.short}": _of(assessment, "test", size),
        **second_columns(assessment, size),
        "own estimate": _of(assessment, "selection", size),
        "random features": _of(assessment, "random", size),
    }
    if is_verbose:
        test = (part[:size].tolist() for part in assessment.test)
        cells[f"test {measure_in_words(assessment.measure)}"] = column(*test)
    stability = scores(assessment.stability.index.tolist()[:size], 2)
    cells["stability"] = _filled(stability, size)
    for title in ("random features", "own estimate"):
        if sum(_widths(cells, console.width).values()) > console.width:
            del cells[title]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title, width in _widths(cells, console.width).items():
        table.add_column(title, justify="right", width=width - _GAP)
    for row in zip(*cells.values(), strict=True):
        table.add_row(*(_text("" if cell == "–" else cell) for cell in row))
    console.print(table)
    more = len(assessment.sizes) - _ROWS
    if more > 0:
        console.print(_text(f"… and {count(more)} more {plural('size')}."), style="dim")
    show_warnings(warnings)


def _widths(cells: dict[str, list[str]], width: int) -> dict[str, int]:
    """Return the widths of columns with gaps; a value and its error stay on one line.

    Titles are broken into several lines if they do not fit otherwise.
    """

    def with_titles(lengths: dict[str, int]) -> dict[str, int]:
        return {
            title: max(lengths[title], *map(len, column)) + _GAP for title, column in cells.items()
        }

    wide = with_titles({title: len(title) for title in cells})
    if sum(wide.values()) <= width:
        return wide
    return with_titles({title: max(map(len, title.split())) for title in cells})


def _of(assessment: PathAssessment, name: str, size: int) -> list[str]:
    """Return a curve as text, in the measure of the assessment."""
    curve: Curve = getattr(assessment, name)
    return assessment.reading.column(curve.mean[:size], curve.error[:size])


def show_warnings(warnings: Iterable[str]) -> None:
    """Show warnings."""
    for warning in warnings:
        _console().print(_text(f"Warning: {warning}"), style="yellow")


def show_notes(notes: Iterable[str]) -> None:
    """Show notes on the data."""
    for note in notes:
        _console().print(_text(f"Note: {note}"), style="dim")


def show_line(line: str, style: str = "") -> None:
    """Show one sentence."""
    _console().print(_text(line), style=style)


def show_commands(commands: Iterable[str]) -> None:
    """Show commands to copy, each on its own unbroken line."""
    for command in commands:
        _console().print(_text(f"  {command}"), style="bold", soft_wrap=True)


def _console() -> Console:
    from rich.console import Console

    # Numbers and paths in sentences are not highlighted.
    return Console(highlight=False)


def _text(text: str) -> Text:
    """Return plain text, in which nothing is interpreted as markup."""
    from rich.text import Text

    return Text(printable(text))
