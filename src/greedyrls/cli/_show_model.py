"""The coefficients of the chosen model, as a terminal shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._base import Float, column, count, padded, printable, with_error
from ..app import SelectionResult

if TYPE_CHECKING:
    from rich.table import Table

# Longer models are cut; model.json has all coefficients.
_ROWS = 20
# Up to this many classes have a column each; for more, only the largest effects are shown.
_COLUMNS = 4
_LARGEST = 3
_ROUNDING = 1e-12


def model_lines(result: SelectionResult) -> tuple[Table | None, list[str]]:
    """Return a table of the coefficients and lines below it; None and [] without features."""
    if not result.size:
        return None, []
    effects = _effects(result)
    if len(result.model().intercepts) > _COLUMNS:
        return _by_class(result, effects), [_LEGEND_BY_CLASS]
    table = _table(result, effects)
    more = len(effects) - _ROWS
    lines = [f"… and {count(more)} more (model.json has all)."] if more > 0 else []
    return table, [*lines, _legend(result)]


_LEGEND_BY_CLASS = (
    "Effect of one standard deviation on the score of the class; the class with the largest score "
    "is predicted. model.json has all coefficients."
)


def _effects(result: SelectionResult) -> Float:
    """Return the effect of one standard deviation of each feature, (features × outputs)."""
    features = result.features_of(result.size)
    seen = result.standardised_coefficients(result.size).T
    if any(feature.scale != 1.0 for feature in features):
        return seen
    # Not standardised: use the standard deviations of the columns if they are known.
    deviations = {
        summary.name: summary.deviation
        for summary in result.data.columns
        if summary.deviation is not None
    }
    scales = [
        np.nan if feature.level is not None else deviations.get(feature.column, np.nan)
        for feature in features
    ]
    return seen * np.array(scales, dtype=np.float64)[:, None]


def _table(result: SelectionResult, effects: Float) -> Table:
    """Return a row for each feature: coefficients in the units of the data, and effects."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    model = result.model()
    is_single = len(model.intercepts) == 1
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("feature", overflow="ellipsis", no_wrap=True)
    heads = (
        ["coefficient", "per SD"] if is_single else [str(label) for label in model.classes or ()]
    )
    largest = float(np.nanmax(np.abs(effects), initial=0.0))
    errors = _errors(result)
    if errors is None:
        rows = [[padded(value) for value in term.coefficients] for term in model.terms[:_ROWS]]
    else:
        pairs = zip(model.terms[:_ROWS], errors, strict=False)
        rows = [[with_error(term.coefficients[0], error)] for term, error in pairs]
    rows.append(
        [padded(0.0 if abs(value) < _ROUNDING * largest else value) for value in model.intercepts]
    )
    if is_single:
        shown = column(effects[:, 0].tolist())[:_ROWS]
        rows = [[*row, effect] for row, effect in zip(rows, [*shown, ""], strict=True)]
    for head, cells in zip(heads, zip(*rows, strict=True), strict=True):
        # Numbers are shown whole; names may be cut.
        table.add_column(
            Text(printable(head)), justify="right", no_wrap=True, min_width=max(map(len, cells))
        )
    for feature, row in zip(result.features_of(result.size), rows[:-1], strict=False):
        table.add_row(Text(printable(feature.name)), *row)
    table.add_row("(intercept)", *rows[-1], style="dim")
    return table


def _errors(result: SelectionResult) -> list[float] | None:
    """Return standard errors of the coefficients in the units of the data, for one output only."""
    scaled = result.coefficient_errors
    if scaled is None or len(scaled) != 1 or not np.isfinite(scaled).all():
        return None
    scales = [feature.scale for feature in result.features_of(result.size)]
    errors: list[float] = (scaled[0, 1:] / np.array(scales)).tolist()
    return errors


def _by_class(result: SelectionResult, effects: Float) -> Table:
    """Return the features with the largest effects for each of many classes."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    names = [feature.name for feature in result.features_of(result.size)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("class", overflow="ellipsis", no_wrap=True)
    table.add_column("largest effects per SD", overflow="ellipsis", no_wrap=True)
    for output, label in enumerate(result.model().classes or ()):
        of_class = effects[:, output]
        order = np.argsort(-np.abs(np.nan_to_num(of_class)), kind="stable")[:_LARGEST]
        values = column(of_class[order].tolist(), digits=3)
        parts = [f"{names[index]} {value}" for index, value in zip(order, values, strict=True)]
        table.add_row(Text(printable(str(label))), Text(printable(", ".join(parts))))
    return table


def _legend(result: SelectionResult) -> str:
    """Return how predictions are computed from the coefficients."""
    units, effect = "Coefficients are in the units of the data", result.target
    if result.classes is not None and len(result.classes) > 2:
        return f"{units}; the class with the largest score is predicted."
    if result.classes is not None:
        first, second = result.classes
        units += f": a score above 0 predicts {second!r}, otherwise {first!r}"
        effect = "the score"
    caveat = ""
    if _errors(result) is not None:
        caveat = " ±: standard errors as if the features had been given in advance, so too small."
    return (
        f"{units}. Per SD: the change of {effect} with one standard deviation of the feature."
        f"{caveat}"
    )
