"""Answers as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._assessment import Curve, PathAssessment, measure_in_words
from .._cautions import in_short
from .._selection_result import SelectionResult, or_none, without_functions
from .._text import printable
from ._shown import number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

# Longer tables are in path.csv.
_ROWS = 30
_NAMES = ("feature", "runner-up")
_SCORES = {"auc": "AUC", "balanced_accuracy": "balanced accuracy"}
# A name is cut to this before columns are left out.
_SHORTEST = 12


def show_result(result: SelectionResult) -> None:
    """The path as a table, what was chosen, and what to take with care."""
    console = _console()
    data = result.data
    console.print(
        _text(
            f"{data.file}: {data.n_rows:,} rows, {data.n_features:,} features to choose from; "
            f"{result.task} of {result.target}"
        )
    )
    show_notes(data.notes)
    console.print()
    console.print(path_table(result, console.width))
    if len(result.path) > _ROWS:
        console.print(
            _text(f"… and {len(result.path) - _ROWS} more (path.csv has all)."), style="dim"
        )
    for line in _legend(result):
        console.print(_text(line), style="dim")
    console.print()
    console.print(_text(result.sentence), style="bold")
    console.print(_text(result.path.sentence))
    if result.stability is not None:
        console.print(_text(result.stability.sentence))
    if result.null is not None:
        console.print(_text(result.null.sentence))
    show_warnings(result.warnings)


def _legend(result: SelectionResult) -> list[str]:
    """What the numbers in the table are."""
    settings = result.path.settings
    codes = " of −1 and +1 codes" if result.classes is not None else ""
    measure = measure_in_words(settings.loss) + (codes if settings.loss == "squared" else "")
    if result.origin.parameters.get("class_weight") is not None:
        measure += ", with weights of classes"
    told = [f"Loss: {measure}, lower is better. Runner-up: its share of the search's gain."]
    if result.model_curve is None and result.path.refit_alphas is not None:
        told.append(
            f"CV loss is the search's, with its own penalty {settings.alpha:.4g}; the models have "
            "others. Go by the losses on held-out rows."
        )
    return told


def path_table(result: SelectionResult, width: int) -> Table:
    """A row for each size: the feature, what it brings, what would have been next best."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table

    rows = result.rows()[:_ROWS]
    has_honest = any(row["honest_loss"] is not None for row in rows)
    own = "LOO loss" if result.path.settings.cv == "loo" else "CV loss"
    honest = [_honest_title(result)] if has_honest else []
    titles = ["#", "feature", own, "gain", *honest, "runner-up"]
    cells = [dict(zip(titles, _cells(row, has_honest), strict=True)) for row in rows]
    widths = {
        title: max(cell_len(title), *(cell_len(line[title]) for line in cells)) for title in titles
    }
    _fit(widths, width, ("gain", "runner-up", *honest))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title, column in widths.items():
        table.add_column(
            title,
            justify="left" if title in _NAMES else "right",
            width=column,
            overflow="ellipsis",
            no_wrap=True,
        )
    for row, line in zip(rows, cells, strict=True):
        style = "bold" if row["n_features"] == result.size else "" if row["is_chosen"] else "dim"
        table.add_row(*(_text(line[title]) for title in widths), style=style)
    return table


def _fit(widths: dict[str, int], width: int, spare: tuple[str, ...]) -> None:
    """Make columns fit: numbers are shown whole or not at all, names share what is left."""

    def room() -> int:
        numbers = [own for title, own in widths.items() if title not in _NAMES]
        return width - sum(numbers) - 3 * len(widths)

    def is_tight() -> bool:
        return room() < sum(min(_SHORTEST, widths[title]) for title in _NAMES if title in widths)

    for title in spare:
        if is_tight():
            del widths[title]
    left = max(room(), 1)
    if "runner-up" in widths:
        runner = widths["runner-up"]
        widths["feature"] = min(widths["feature"], max(left - runner, left // 2))
        widths["runner-up"] = min(runner, left - widths["feature"])
    else:
        widths["feature"] = min(widths["feature"], left)


def _cells(row: dict[str, Any], has_honest: bool) -> list[str]:
    """A row of the path as text."""
    cells = [
        str(row["n_features"]),
        printable(row["feature"]),
        _with_error(row["loss"], row["standard_error"]),
        number(row["gain"], 3),
    ]
    if has_honest:
        cells.append(_with_error(row["honest_loss"], row["honest_error"]))
    share = row["runner_up_share"]
    runner = "" if row["runner_up"] is None else printable(row["runner_up"])
    return [*cells, f"{runner} ({share:.0%})" if share is not None and share > 0.0 else runner]


def _honest_title(result: SelectionResult) -> str:
    if result.assessment is None:
        return "held out"
    measure = result.assessment.measure
    return "test loss" if measure == result.path.settings.loss else measure_in_words(measure)


def _with_error(loss: float | None, error: float | None) -> str:
    if loss is None:
        return ""
    return number(loss) if error is None else f"{number(loss)} ± {in_short(error)}"


def show_assessment(assessment: PathAssessment, sentence: str, warnings: Iterable[str]) -> None:
    """Test curves by size, and what may be reported."""
    from rich import box
    from rich.table import Table

    console = _console()
    words = measure_in_words(assessment.measure)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    rates = assessment.class_rates
    more = {} if rates is None else rates.scores_by_size()
    names = [_SCORES[name] for name in more]
    titles = ("#", f"test {words}", *names, "its own belief", "random features", "stability")
    for title in titles:
        table.add_column(title, justify="right")
    stability = assessment.stability.index
    curves = (assessment.test, assessment.selection, assessment.random)
    sizes = [size for size in assessment.sizes.tolist() if size <= _ROWS]
    for size in sizes:
        cells = [_with_error(*_at(curve, size)) for curve in curves]
        index = float(stability[size - 1]) if size <= len(stability) else None
        scores = [number(or_none(float(values[size - 1]))) for values in more.values()]
        cells[1:1] = scores
        table.add_row(str(size), *map(_text, cells), number(index, 2))
    console.print(table)
    if len(assessment.sizes) > _ROWS:
        console.print(_text(f"… and {len(assessment.sizes) - _ROWS} more sizes."), style="dim")
    console.print(_text(without_functions([sentence])[0]), style="bold")
    console.print(_text(assessment.stability.sentence))
    show_warnings(warnings)


def _at(curve: Curve, size: int) -> tuple[float | None, float | None]:
    loss, error = float(curve.mean[size - 1]), float(curve.error[size - 1])
    return (None if loss != loss else loss), (None if error != error else error)


def show_warnings(warnings: Iterable[str]) -> None:
    """What to take with care."""
    for warning in warnings:
        _console().print(_text(f"Warning: {warning}"), style="yellow")


def show_notes(notes: Iterable[str]) -> None:
    """What was done to the data."""
    for note in notes:
        _console().print(_text(f"Note: {note}"), style="dim")


def show_line(line: str, style: str = "") -> None:
    """One sentence."""
    _console().print(_text(line), style=style)


def _console() -> Console:
    from rich.console import Console

    # No guessing of numbers and paths in sentences: they have no colours of their own.
    return Console(highlight=False)


def _text(text: str) -> Text:
    """Plain text: what looks like markup in a name is not."""
    from rich.text import Text

    return Text(printable(text))
