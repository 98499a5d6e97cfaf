"""Results as HTML for notebooks: a line of facts, a sentence, a small picture, a table.

Names of features come from anywhere, so that every text goes through `escape`. There are no scripts
and no identifiers, which would clash where a notebook shows several results. Everything can be read
without the style sheet, too: some viewers remove it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from .._base import Float, column, count, counted, number, percent, plural, scores
from ..assess import PathAssessment, PermutationNull, Stability
from ..path import SelectionPath, explained, measure_in_words
from ._pictures import BLUE, ORANGE, TEXT, Line, bar, key, line_picture

# So many rows are in sight; the next ones unfold, and beyond those it is said where they are.
_ROWS = 15
_UNFOLDED = 100
# Names are cut to so many characters in a table, and in the text shown under the mouse.
_NAME = 40
_TITLE = 300

_STYLE = """<style>
.greedyrls-card {font-size: 13px; line-height: 1.45; max-width: 60em; margin: 0.4em 0;}
.greedyrls-card p {margin: 0.3em 0;}
.greedyrls-card ul.greedyrls-warnings {margin: 0.3em 0; padding-left: 1.4em;}
.greedyrls-card .greedyrls-faint {opacity: 0.75;}
.greedyrls-card .greedyrls-key {margin-right: 1.2em; white-space: nowrap;}
.greedyrls-card .greedyrls-key svg {display: inline-block; vertical-align: middle;}
.greedyrls-card table.greedyrls-table {border-collapse: collapse; margin: 0.4em 0;
  font-size: 12px; border: 0;}
.greedyrls-card table.greedyrls-table :is(th, td) {padding: 2px 10px 2px 4px; border: 0;
  text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums;}
.greedyrls-card table.greedyrls-table th {border-bottom: 1px solid currentColor; font-weight: 600;}
.greedyrls-card table.greedyrls-table :is(th, td).greedyrls-text {text-align: left;}
.greedyrls-card table.greedyrls-table tr.greedyrls-chosen td {font-weight: 600;
  background: rgba(45, 134, 201, 0.2);}
.greedyrls-card details {margin: 0.2em 0;}
.greedyrls-card summary {cursor: pointer;}
</style>"""


class _Column(NamedTuple):
    """A column of plain text; it is escaped where the table is written."""

    head: str
    cells: Sequence[str]
    is_text: bool = False
    titles: Sequence[str] = ()  # what is shown under the mouse
    bars: Sequence[float] = ()  # shares drawn after the text


def path_html(path: SelectionPath, size: int | None = None) -> str:
    """A path; `size` is that of the model that has it, by default the one chosen on the path."""
    settings, held_out = path.settings, path.held_out
    chosen = path.chosen_size if size is None else size
    is_marked = len(path) > 0 and (size is not None or path.size_choice is not None)
    criterion = "leave-one-out" if settings.cv == "loo" else settings.cv
    facts = [
        f"{count(chosen)} of {counted(settings.n_features_in, path.unit)}",
        *([f"{len(path)} on the path"] if chosen != len(path) else []),
        counted(settings.n_samples, "sample"),
        *([] if settings.single_target else [f"{len(path.moments.target_means)} targets"]),
        f"alpha {number(settings.alpha)}",
        f"{measure_in_words(settings.loss)} ({criterion})",
    ]
    body = [_facts("SelectionPath", facts), _sentence(path.sentence)]
    if size is not None and size != path.chosen_size:
        which = "first " if path.is_nested else "best set of "
        told = f"no {plural(path.unit)}"
        if size:
            told = f"the {which}{counted(size, path.unit)} of the path"
        body.append(_sentence(f"This model has {told}."))
    if not len(path):
        return _card(body)
    lines = [Line("the search's own loss", path.losses, BLUE, band=_around_path(path))]
    if held_out is not None:
        # The honest one comes first; what the search believes of itself is dashed.
        lines = [
            Line("held-out loss", held_out[0], BLUE, band=_around(*held_out)),
            Line("the search's own loss", path.losses, TEXT, "5 4"),
        ]
    mark = chosen if is_marked and chosen else None
    body.append(_picture(lines, f"Loss by number of features, 1 to {len(path)}", mark))
    body.append(_table(_path_columns(path, mark), mark, "path.to_frame()"))
    return _card(body)


def estimator_html(diagram: str, path: SelectionPath, size: int) -> str:
    """scikit-learn's diagram of a fitted estimator, and under it the path of its features."""
    return diagram + path_html(path, size)


def assessment_html(assessment: PathAssessment) -> str:
    """What outer folds say of a selection."""
    reading, loss = assessment.reading, measure_in_words(assessment.measure)
    facts = [
        f"{reading.name} {reading.written(*assessment.estimate)}",
        assessment.folds,
        counted(assessment.n_samples, "sample"),
        counted(assessment.n_features_in, "feature"),
    ]
    body = [_facts("PathAssessment", facts), _sentence(assessment.sentence)]
    body.append(_warnings(assessment.warnings))
    test, own, random = assessment.test, assessment.selection, assessment.random
    lines = [
        Line("test", test.mean, BLUE, band=_around(*test)),
        Line("the selection's own", own.mean, TEXT, "5 4"),
    ]
    size = len(assessment.sizes)
    body.append(_picture(lines, f"{loss} by number of features, 1 to {size}", None))
    columns = [
        _column_of_sizes(size, None),
        _Column(f"test {reading.short}", reading.column(*test)),
        *_further_columns(assessment),
        _Column("the selection's own", reading.column(*own)),
    ]
    # Random features are in the table alone: in the picture they would press the others together.
    if np.isfinite(random.mean).any():
        columns.append(_Column("random features", reading.column(*random)))
    if assessment.is_size_chosen:
        counts = np.bincount(assessment.chosen_sizes, minlength=size + 1)[1:]
        folds = [f"{count} of {len(assessment.shares)}" if count else "" for count in counts]
        columns.append(_Column("folds that chose it", folds))
    body.append(_table(columns, None, "assessment.to_frame()"))
    return _card(body)


def stability_html(stability: Stability) -> str:
    """How alike selections are, and which features they have in common."""
    facts = [
        counted(len(stability.selections), "selection"),
        f"from {counted(stability.n_features_in, 'feature')}",
    ]
    body = [_facts("Stability", facts), _sentence(stability.sentence)]
    if not len(stability.sizes):
        return _card(body)
    band = (stability.interval[0], stability.interval[1])
    label = f"stability and its {percent(stability.level)} Monte-Carlo interval"
    lines = [Line(label, stability.index, BLUE, band=band)]
    words = f"Stability by number of features, 1 to {len(stability.sizes)}"
    body.append(_picture(lines, words, None))
    shares = stability.frequencies()
    order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)]
    names = stability.names(order)
    columns = [
        _column_of_names("feature", names),
        _Column("selected in", [percent(float(share)) for share in shares[order]]),
        _Column("", [""] * len(order), is_text=True, bars=shares[order].tolist()),
    ]
    body.append(_table(columns, None, "stability.to_frame()"))
    return _card(body)


def null_html(null: PermutationNull) -> str:
    """How far permuted targets get."""
    size = len(null.losses)
    facts = [
        f"p = {number(null.chosen_p_value, 3)}",
        counted(len(null.null_losses), "permutation"),
    ]
    body = [_facts("PermutationNull", facts), _sentence(null.sentence)]
    measure = measure_in_words(null.measure)
    median: Float = np.median(null.null_losses, axis=0)
    lines = [
        Line("targets as given", null.losses, BLUE),
        Line("permuted targets, the middle 90%", median, ORANGE, band=null.band(0.9)),
    ]
    body.append(_picture(lines, f"{measure} by number of features, 1 to {size}", None))
    both = column([*null.losses.tolist(), *median.tolist()])
    columns = [
        _column_of_sizes(size, None),
        _Column(f"own {measure}", both[:size]),
        _Column("permuted, median", both[size:]),
        _Column("p", [number(float(value), 3) for value in null.p_values]),
    ]
    body.append(_table(columns, None, "null.p_values and null.null_losses"))
    return _card(body)


def _further_columns(assessment: PathAssessment) -> list[_Column]:
    """R² of a regression; AUC and balanced accuracy of a classification."""
    rates = assessment.class_rates
    if rates is not None:
        return [
            _Column(name.replace("_", " ").replace("auc", "AUC"), scores(values.tolist()))
            for name, values in rates.scores_by_size().items()
        ]
    if assessment.measure != "squared":
        return []
    shares = [explained(loss, assessment.initial_loss) for loss in assessment.test.mean.tolist()]
    return [_Column("R²", scores(shares, 2))]


# What a path's table is made of ------------------------------------------------------------------


def _path_columns(path: SelectionPath, chosen: int | None) -> list[_Column]:
    names = [
        f"{name} (forced)" if known.forced else name
        for name, known in zip(path.changes(), path.sets, strict=True)
    ]
    before = np.concatenate(([path.initial_loss], path.losses[:-1]))
    columns = [
        _column_of_sizes(len(path), chosen),
        _column_of_names("feature", names),
        _Column("loss", column(path.losses.tolist(), path.standard_errors.tolist())),
        _Column("gain", column((before - path.losses).tolist())),
    ]
    if path.held_out is not None:
        columns.append(_Column("held-out loss", column(*(part.tolist() for part in path.held_out))))
    if any(path.runners_up):
        first = [known.runners_up[0] if known.runners_up else None for known in path.sets]
        runners = ["" if one is None else path._name(one[0]) for one in first]
        columns.append(_column_of_names("runner-up", runners))
        losses = column([None if one is None else one[1] for one in first], digits=5)
        columns.append(_Column("its loss", losses))
    return columns


def _around_path(path: SelectionPath) -> tuple[Float, Float]:
    return _around(path.losses, path.standard_errors)


def _around(mean: Float, error: Float) -> tuple[Float, Float]:
    """The ends of a band of one standard error."""
    return mean - error, mean + error


# Text --------------------------------------------------------------------------------------------


def _in_line(text: str, length: int) -> str:
    """Any text on one line, without signs that cannot be printed or turn the direction of text.

    Of a long one the middle is left out: names of many columns differ only at their ends.
    """
    words = "".join(sign if sign.isprintable() else " " for sign in text)
    line = " ".join(words.split())
    if len(line) > length:
        tail = (length - 1) // 3
        line = f"{line[: length - 1 - tail]}…{line[len(line) - tail :]}"
    return line


# Elements ----------------------------------------------------------------------------------------


def _card(body: Sequence[str]) -> str:
    """All of a result. The names of the last two classes keep MathJax from reading $ in names."""
    return (
        f'<div class="greedyrls-card tex2jax_ignore mathjax_ignore">{_STYLE}{"".join(body)}</div>'
    )


def _facts(kind: str, facts: Sequence[str]) -> str:
    line = escape(" · ".join(_in_line(fact, _TITLE) for fact in facts))
    return f'<p><b>{escape(kind)}</b> <span class="greedyrls-faint">{line}</span></p>'


def _sentence(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    items = "".join(f"<li>{escape(warning)}</li>" for warning in warnings)
    return f'<ul class="greedyrls-warnings">{items}</ul>'


def _picture(lines: Sequence[Line], words: str, mark: int | None) -> str:
    """Lines by size, with their names below."""
    picture = line_picture(lines, words, mark=mark)
    if not picture:
        return ""
    keys = "".join(
        f'<span class="greedyrls-key">{key(line)} {escape(line.label)}</span> ' for line in lines
    )
    return f'<div>{picture}</div><div class="greedyrls-faint">{keys}</div>'


def _column_of_sizes(size: int, chosen: int | None) -> _Column:
    cells = [f"✓ {number}" if number == chosen else f"{number}" for number in range(1, size + 1)]
    return _Column("size", cells)


def _column_of_names(head: str, names: Sequence[str]) -> _Column:
    # A runner-up that there was none of stays empty; a name of blanks only must not look like it.
    cells = [name and (_in_line(name, _NAME) or "(blank)") for name in names]
    return _Column(head, cells, True, [_in_line(name, _TITLE) for name in names])


def _table(columns: Sequence[_Column], chosen: int | None, whole: str) -> str:
    """The first rows and the chosen one; those after them unfold.

    `whole` is what to type to see all of them.
    """
    count = len(columns[0].cells)
    if count <= _ROWS:
        return _rows_in_table(columns, range(count), chosen)
    first = list(range(_ROWS))
    if chosen is not None and chosen > _ROWS:
        first = [*range(_ROWS - 1), chosen - 1]
    others = range(_ROWS if chosen is None or chosen <= _ROWS else _ROWS - 1, count)
    hidden = len(others) - _UNFOLDED
    note = _sentence(f"… and {hidden} more: {whole} has them all.") if hidden > 0 else ""
    return (
        f"{_rows_in_table(columns, first, chosen)}"
        f"<details><summary>… and {count - _ROWS} more</summary>"
        f"{_rows_in_table(columns, others[:_UNFOLDED], chosen)}{note}</details>"
    )


def _rows_in_table(columns: Sequence[_Column], rows: Sequence[int], chosen: int | None) -> str:
    heads = "".join(f"<th{_text_class(column)}>{escape(column.head)}</th>" for column in columns)
    written = []
    previous = rows[0] - 1
    for row in rows:
        if row != previous + 1:
            written.append(f'<tr><td>⋮</td><td colspan="{len(columns) - 1}"></td></tr>')
        previous = row
        mark = ' class="greedyrls-chosen"' if row + 1 == chosen else ""
        written.append(f"<tr{mark}>{''.join(_cell(column, row) for column in columns)}</tr>")
    return (
        f'<table class="greedyrls-table"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(written)}</tbody></table>"
    )


def _cell(column: _Column, row: int) -> str:
    title = ""
    if column.titles and column.titles[row] != column.cells[row]:
        title = f' title="{escape(column.titles[row])}"'
    drawn = bar(column.bars[row]) if column.bars else ""
    return f"<td{_text_class(column)}{title}>{escape(column.cells[row])}{drawn}</td>"


def _text_class(column: _Column) -> str:
    return ' class="greedyrls-text"' if column.is_text else ""
