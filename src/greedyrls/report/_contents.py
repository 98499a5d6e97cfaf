"""The contents of the page for its template, and the data for its script."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._base import column, padded, score
from ..app import SelectionResult, how_it_was_chosen
from ..assess import ClassRates
from ..path import explained, measure_in_words
from . import _tables as tables
from ._fit_charts import coefficient_intervals, confusion_table, draw_fit, fit_note
from ._frames import NARROW, WIDE
from ._heat_map import SHADES, HeatMap, draw_surface, penalty_rows, surface_measure
from ._models import has_scales, make_model, offered_sizes, output_names, packed, reading
from ._names import Names
from ._panels import Panel, make_panels
from ._path_chart import Chart, draw_panel, has_dots, is_band_in_sight, is_curve_in_sight
from ._scores import best_known_score, initial_loss, source_in_words
from ._thin import shown_sizes
from ._words import (
    bytes_in_words,
    count,
    counted,
    date_in_words,
    number,
    percent,
    plain_name,
    seconds_in_words,
    unbroken,
)

# With more sizes than this, tooltips need scripts.
_MOST_TITLES = 150
_MOST_FOLDS = 30


class Figure(NamedTuple):
    """A number in the headline."""

    value: str
    label: str
    kind: str  # class of the style sheet: "chosen", "test", "held-out", "own" or ""


class Fact(NamedTuple):
    """An entry of a list of facts."""

    name: str
    value: str
    is_code: bool = False


class MethodsText(NamedTuple):
    """The paragraph for a paper, and its references."""

    paragraph: str
    references: list[str]


class DrawnPanel(NamedTuple):
    """A panel with its charts, and the lines shown at each size."""

    panel: Panel
    band_label: str
    labels: list[str]  # of the curves
    charts: tuple[Chart, ...]
    sizes: list[int]
    lines: list[list[tuple[str, str]]]


def make_contents(result: SelectionResult) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the variables of the template, and the data of the script."""
    names = Names(result)
    panels = [_drawn(result, names, *pair) for pair in enumerate(make_panels(result))]
    surface = result.path.surface
    heat_map = draw_surface(result.path, result.size)
    model = make_model(result, names, result.size)
    sizes = offered_sizes(result)
    stability = tables.stability_view(result, names)
    contents = {
        "result": result,
        "target": plain_name(result.target),
        "figures": _figures(result, stability),
        "panels": panels,
        "path_table": tables.path_table(result, names),
        "model": model,
        "reading": reading(result.model(), plain_name(result.target)),
        "outputs": output_names(result),
        "has_scales": has_scales(result),
        "sizes": sizes,
        "surface": surface,
        "surface_measure": "" if surface is None else surface_measure(surface, result.path),
        "penalties": [] if surface is None else penalty_rows(surface, result.size),
        "heat_map": heat_map,
        "shades": range(SHADES),
        "has_dots": lambda curve: has_dots(curve, WIDE),
        "stability": stability,
        "runners": tables.runner_rows(result, names),
        "n_with_runners": sum(bool(step.runners_up) for step in result.path.sets),
        "runner_heads": _runner_heads(result),
        "near": percent(tables.NEAR),
        "columns": tables.column_rows(result),
        "data_facts": _data_facts(result),
        "origin_facts": _origin_facts(result),
        "parameter_facts": _parameter_facts(result),
        "search_facts": _search_facts(result),
        "folds": _folds(result),
        "fit": draw_fit(result),
        "fit_note": fit_note(result),
        "confusion": confusion_table(result),
        "intervals": coefficient_intervals(result, names),
        "to_report": _to_report(result),
        "methods": _methods(result),
        "own_measure": result.own_reading.name,
        "measure": result.reading.name,
        "how_chosen": how_it_was_chosen(result),
    }
    return contents, _script_data(result, names, panels, heat_map)


def _script_data(
    result: SelectionResult, names: Names, panels: list[DrawnPanel], heat_map: HeatMap | None
) -> dict[str, Any]:
    """Return the data of the script."""
    is_nested, sizes = result.path.is_nested, offered_sizes(result)
    return {
        **({} if is_nested else {"changes": [name.text for name in names.steps]}),
        "chosen": result.size,
        "unit": result.unit,
        "sizes": sizes,
        "features": _features(result, names),
        "hasScales": has_scales(result),
        "models": {str(k): packed(make_model(result, names, k), is_nested) for k in sizes},
        "sources": {
            source: source_in_words(result, source)
            for source in ("test", "held_out", "own", "initial")
        },
        "methods": result.methods_text(),
        "panels": [_panel_data(panel) for panel in panels],
        "surface": None if heat_map is None else _surface_data(heat_map),
    }


def _figures(result: SelectionResult, stability: tables.StabilityView | None) -> list[Figure]:
    """Return the few most important numbers."""
    total = f"of {counted(result.n_candidates, result.unit)} chosen"
    figures = [Figure(count(result.size), total, "chosen")]
    figures += _how_good(result)
    if stability is not None and np.isfinite(stability.value):
        label = "stability of the selection (1: always the same, 0: as by chance)"
        figures.append(Figure(score(stability.value, 2), label, ""))
    if result.null is not None and len(result.null.null_losses):
        label = "p-value, from the same selection on permuted targets"
        figures.append(Figure(number(result.null.chosen_p_value, 2), label, ""))
    return figures


def _how_good(result: SelectionResult) -> list[Figure]:
    """Return familiar measures of the model, by the most honest estimate available."""
    if result.assessment is not None:
        reading, loss = result.reading, result.assessment.estimate
        without, kind = result.assessment.initial_loss, "test"
        where = "on samples that took no part in the selection"
    else:
        best = best_known_score(result, result.size)
        reading, loss, kind = best.reading, (best.loss, best.error), best.source
        without = initial_loss(result, best.source)
        where = "by the selection's own estimate, optimistic"
        if kind == "held_out":
            where = "in the outer folds that made the choice, slightly optimistic"
    rates = result.class_rates
    is_unread = rates is not None and reading.kind == "loss"
    figures = []
    if not is_unread and kind != "initial":
        value = unbroken(reading.written(*loss))
        figures.append(Figure(value, f"{reading.name} {where}", kind.replace("_", "-")))
    if reading.kind == "root" and kind != "initial":
        share = explained(loss[0], without)
        words = "R², the share of the variance explained"
        if share <= 0.0:
            words = "R²: no better than the mean"
        figures.append(Figure(score(share, 2), words, ""))
    if rates is not None:
        figures += _of_classes(result, rates, set() if is_unread else {reading.name})
    if rates is None:
        figures.append(Figure(reading.written(without), f"{reading.name} without features", ""))
    return figures


def _of_classes(result: SelectionResult, rates: ClassRates, shown: set[str]) -> list[Figure]:
    """Return scores of a classification that are not shown yet."""
    where, kind = (", each row left out in turn", "own")
    if result.assessment is not None:
        where, kind = ("", "test")
    rate = rates.error_rate
    scores = {
        "accuracy": None if rate is None else 1.0 - rate,
        "AUC": rates.auc,
        "balanced accuracy": rates.balanced_accuracy,
    }
    hints = {"AUC": " (1: all in order, 0.5: as by chance)"}
    figures = [
        Figure(score(value), f"{name}{hints.get(name, '')}{where}", "" if shown else kind)
        for name, value in scores.items()
        if value is not None and name not in shown
    ]
    without = float(rates.shares @ rates.initial_losses[rates.measures.index("zero_one")])
    figures.append(Figure(score(1.0 - without), "accuracy without features", ""))
    losses = {
        "Brier score of the probabilities (0: all certain and right)": rates.brier_score,
        "log loss of the probabilities": rates.log_loss,
    }
    figures += [
        Figure(padded(value, 3), label, "") for label, value in losses.items() if value is not None
    ]
    return figures


def _drawn(result: SelectionResult, names: Names, number: int, panel: Panel) -> DrawnPanel:
    """Return a panel with the lines shown at each size."""
    path, criterion = result.path, measure_in_words(result.path.settings.loss)
    curve, initial, suffix = result.own_curve.mean, path.initial_loss, f" ({criterion})"
    if panel.measure == result.own_reading.name:
        curve, initial = result.own_reading.value(curve), result.own_reading.value(initial)
    if panel.measure in (criterion, result.own_reading.name):
        suffix = ""
    gains = tables.gains(curve, initial)
    gain_texts = column(gains)
    search_gains = tables.gains(path.losses, path.initial_loss)
    sizes = shown_sizes(len(path), result.size)
    lines = []
    for at in (size - 1 for size in sizes):
        step, shown = path.sets[at], panel.at(at + 1)
        shown.append((f"gain of this step{suffix}", gain_texts[at]))
        if step.runners_up:
            index, loss = step.runners_up[0]
            share = tables.share_of_gain(step.loss, search_gains[at], loss)
            of_gain = f", {share} of the gain" if share else ""
            shown.append(("runner-up", f"{names.of(index).text}{of_gain}"))
        lines.append(shown)
    titles = [
        "\n".join(
            (
                f"{counted(size, result.unit)}, the last one {names.steps[size - 1].text}",
                *(f"{label}: {value}" for label, value in shown),
            )
        )
        for size, shown in zip(sizes, lines, strict=True)
    ]
    if len(path) > _MOST_TITLES:
        titles = []
    charts = (
        draw_panel(panel, result.size, WIDE, f"path-{number}-wide", titles),
        # Phones have no mouse, hence no tooltips.
        draw_panel(panel, result.size, NARROW, f"path-{number}-narrow", ()),
    )
    label = panel.band_label if is_band_in_sight(panel) else f"{panel.band_label}: off the chart"
    labels = [
        curve.label if is_curve_in_sight(panel, curve) else f"{curve.label}: off the chart"
        for curve in panel.curves
    ]
    return DrawnPanel(panel, label, labels, charts, sizes, lines)


def _panel_data(drawn: DrawnPanel) -> dict[str, Any]:
    positions = {
        chart.frame.name: [round(chart.places[size - 1], 4) for size in drawn.sizes]
        for chart in drawn.charts
    }
    return {"sizes": drawn.sizes, "places": positions, "lines": drawn.lines}


def _surface_data(heat_map: HeatMap) -> dict[str, Any]:
    return {
        "areas": {name: [round(end, 4) for end in area] for name, area in heat_map.areas.items()},
        "penalties": heat_map.penalties,
        "sizes": heat_map.sizes,
        # A row as text takes half the bytes of a list.
        "losses": ["|".join(row) for row in heat_map.losses],
        "marked": heat_map.marked,
    }


def _features(result: SelectionResult, names: Names) -> list[dict[str, Any]]:
    """Return names, with the same number for features of the same column."""
    groups: dict[str, int] = {}
    return [
        {
            "column": name.column,
            "level": name.level,
            "isForced": name.is_forced,
            "group": groups.setdefault(feature.column, len(groups)),
            "step": size,
        }
        for name, feature, size in zip(names.path, result.features, names.sizes, strict=True)
    ]


def _runner_heads(result: SelectionResult) -> tuple[str, ...]:
    most = max(len(step.runners_up) for step in result.path.sets)
    return tables.RUNNERS[:most]


def _to_report(result: SelectionResult) -> str:
    """Return a sentence on the loss to report, as opposed to those of single sizes."""
    if result.assessment is None:
        return ""
    reading = result.reading
    return (
        f"What to report is the {reading.name} of the whole selection: "
        f"{unbroken(reading.written(*result.assessment.estimate))}. To pick a size here because it "
        "does best on the test folds would be one more choice made on them, and its result too "
        "good."
    )


def _methods(result: SelectionResult) -> MethodsText:
    paragraph, *lines = result.methods_text().splitlines()
    return MethodsText(paragraph, [line for line in lines if line and line != "References"])


def _folds(result: SelectionResult) -> list[tuple[str, str, str]]:
    """Return size, penalty and test loss of each outer fold of the assessment."""
    assessment = result.assessment
    if assessment is None or len(assessment.shares) > _MOST_FOLDS:
        return []
    losses = assessment.reading.column(assessment.chosen_losses)
    rows = zip(assessment.chosen_sizes, assessment.alphas, losses, strict=True)
    return [(count(int(size)), number(float(alpha)), loss) for size, alpha, loss in rows]


def _data_facts(result: SelectionResult) -> list[Fact]:
    data = result.data
    target = [plain_name(result.target), tables.summary_in_words(data.target)]
    if data.target.n_missing:
        target.append(counted(data.target.n_missing, "missing value"))
    source = [Fact("Data", data.file)]
    if data.sha256:
        source = [
            Fact("File", f"{data.file} ({bytes_in_words(data.n_bytes)})"),
            Fact("SHA-256 of the file", data.sha256, is_code=True),
        ]
    return [
        *source,
        Fact("Rows", count(data.n_rows)),
        Fact("Columns", count(data.n_columns)),
        Fact("Features to choose from", count(data.n_features)),
        Fact("Target", "; ".join(part for part in target if part)),
    ]


def _search_facts(result: SelectionResult) -> list[Fact]:
    path = result.path
    settings, counters = path.settings, path.counters
    how = "leave-one-out" if settings.cv == "loo" else settings.cv
    return [
        Fact("Searched by", f"{measure_in_words(settings.loss)}, {how}"),
        *([] if settings.direction == "forward" else [Fact("Direction", settings.direction)]),
        Fact("Penalty α of the search", number(settings.alpha)),
        Fact("Intercept", "yes, not penalised" if settings.fit_intercept else "no"),
        *([Fact("Weights of samples", "yes")] if settings.weighted else []),
        Fact("Features on the path", count(len(result.features))),
        Fact("Why it ended", path.stop_reason.sentence),
        Fact("Passes over the data", count(counters.passes)),
        Fact("Losses computed exactly", count(counters.exact_evaluations)),
        Fact("Restarts because of rounding", count(counters.rebuilds)),
        Fact("Time of the search", seconds_in_words(counters.seconds)),
    ]


def _origin_facts(result: SelectionResult) -> list[Fact]:
    origin = result.origin
    return [
        Fact("Date", date_in_words(origin.date)),
        Fact("Time it took", seconds_in_words(origin.seconds)),
        Fact(
            "Versions", ", ".join(f"{name} {version}" for name, version in origin.versions.items())
        ),
    ]


def _parameter_facts(result: SelectionResult) -> list[Fact]:
    return [
        Fact(plain_name(name), _parameter(value), is_code=isinstance(value, str))
        for name, value in result.origin.parameters.items()
    ]


def _parameter(value: str | int | float | bool | None) -> str:
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:.12g}".replace("-", "−")
