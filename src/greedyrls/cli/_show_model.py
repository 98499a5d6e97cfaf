"""The coefficients of the chosen model as a terminal shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._base import Float, column, count, padded, printable, with_error
from ..app import SelectionResult

if TYPE_CHECKING:
    from rich.table import Table

# Longer models are in model.json.
_ROWS = 20
# So many classes have a column each; of more, the features that matter most.
_COLUMNS = 4
_LARGEST = 3
_ROUNDING = 1e-12


def model_lines(result: SelectionResult) -> tuple[Table | None, list[str]]:
    """A table of the coefficients and what to say below it; neither without features."""
    if not result.size:
        return None, []
    effects = _effects(result)
    if len(result.model().intercepts) > _COLUMNS:
        return _by_class(result, effects), [_LEGEND_BY_CLASS]
    table = _table(result, effects)
    more = len(effects) - _ROWS
    told = [f"… and {count(more)} more (model.json has all)."] if more > 0 else []
    return table, [*told, _legend(result)]


_LEGEND_BY_CLASS = (
    "Effect of one standard deviation on the score of the class; the class with the largest score "
    "is predicted. model.json has all coefficients."
)


def _effects(result: SelectionResult) -> Float:
    """What one standard deviation of each feature does, (features × outputs)."""
    own = result.features_of(result.size)
    seen = result.standardised_coefficients(result.size).T
    if any(feature.scale != 1.0 for feature in own):
        return seen
    # Not put in scale: by the deviations of the columns, as far as they are known.
    known = {one.name: one.deviation for one in result.data.columns if one.deviation is not None}
    scales = [
        np.nan if feature.level is not None else known.get(feature.column, np.nan)
        for feature in own
    ]
    return seen * np.array(scales, dtype=np.float64)[:, None]


def _table(result: SelectionResult, effects: Float) -> Table:
    """A row for each feature: coefficients in the units of the data, and effects to compare."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    model = result.model()
    is_single = len(model.intercepts) == 1
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("feature", overflow="ellipsis", no_wrap=True)
    heads = ["coefficient", "per SD"] if is_single else [str(one) for one in model.classes or ()]
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
    """Standard errors of the coefficients in the units of the data; of a single output only."""
    known = result.coefficient_errors
    if known is None or len(known) != 1 or not np.isfinite(known).all():
        return None
    scales = [feature.scale for feature in result.features_of(result.size)]
    errors: list[float] = (known[0, 1:] / np.array(scales)).tolist()
    return errors


def _by_class(result: SelectionResult, effects: Float) -> Table:
    """For each of many classes the features with the largest effects."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    names = [feature.name for feature in result.features_of(result.size)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("class", overflow="ellipsis", no_wrap=True)
    table.add_column("largest effects per SD", overflow="ellipsis", no_wrap=True)
    for place, label in enumerate(result.model().classes or ()):
        own = effects[:, place]
        order = np.argsort(-np.abs(np.nan_to_num(own)), kind="stable")[:_LARGEST]
        values = column(own[order].tolist(), digits=3)
        told = [f"{names[index]} {value}" for index, value in zip(order, values, strict=True)]
        table.add_row(Text(printable(str(label))), Text(printable(", ".join(told))))
    return table


def _legend(result: SelectionResult) -> str:
    """How predictions are made with the coefficients."""
    units, effect = "Coefficients are in the units of the data", result.target
    if result.classes is not None and len(result.classes) > 2:
        return f"{units}; the class with the largest score is predicted."
    if result.classes is not None:
        first, second = result.classes
        units += f": a score above 0 predicts {second!r}, otherwise {first!r}"
        effect = "the score"
    given = ""
    if _errors(result) is not None:
        given = " ±: standard errors as if the features had been given in advance, so too small."
    return (
        f"{units}. Per SD: the change of {effect} with one standard deviation of the feature."
        f"{given}"
    )
