"""What reports are made of: scores, charts, tables, colours."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from greedyrls import SelectionResult, SizeChoice
from greedyrls.report import make_report
from internals import (
    NARROW,
    WIDE,
    Names,
    best_known_score,
    cautions,
    draw_panel,
    make_panels,
    page_builder,
    percent,
    tables,
)
from report_results import Page, hostile, large, regression, wine

pytest.importorskip("jinja2")


def test_scores_are_the_most_honest_ones() -> None:
    result = regression()
    assert result.assessment is not None
    assert result.path.held_out is not None
    sources = [best_known_score(result, k).source for k in range(1, 11)]
    # The assessment has seven sizes.
    assert sources == ["test"] * 7 + ["held_out"] * 3
    assert best_known_score(result, 3)[:2] == tuple(one[2] for one in result.assessment.test)
    assert best_known_score(result, 9)[:2] == tuple(one[8] for one in result.path.held_out)
    bare = replace(result, assessment=None, path=replace(result.path, surface=None))
    assert result.model_curve is not None
    assert best_known_score(bare, 4).loss == result.model_curve.mean[3]
    assert best_known_score(bare, 4).source == "own"
    text = Page(make_report(bare)).text("p", id="score")
    assert "optimistic, because the features were chosen by it" in text
    assert "not all test folds got to this size" in page_text(result, "9")


def test_losses_in_two_measures_are_in_two_charts() -> None:
    first, second = make_panels(wine())
    assert (first.measure, second.measure) == ("error rate", "mean squared error")
    assert [curve.kind for curve in first.curves] == ["test", "own", "random"]
    assert [curve.kind for curve in second.curves] == ["held-out", "own"]
    assert first.band is not None
    assert second.band is None
    (only,) = make_panels(regression())
    # Test folds have seven sizes; beyond them there is what chose the penalty.
    assert [curve.kind for curve in only.curves] == ["test", "held-out", "own", "random"]


def test_held_out_losses_are_drawn_where_test_losses_are_missing() -> None:
    result = regression()
    path = replace(result.path, size_choice=None).truncated(7)
    (panel,) = make_panels(replace(result, path=path, model_curve=None))
    assert [curve.kind for curve in panel.curves] == ["test", "own", "random"]
    (panel,) = make_panels(replace(result, assessment=None))
    assert [curve.kind for curve in panel.curves] == ["held-out", "own"]


def test_stability_is_that_of_the_chosen_size() -> None:
    result = regression()
    assert result.stability is not None
    path = replace(result.path, size_choice=SizeChoice(3, "given", "Three were asked for."))
    view = tables.stability_view(replace(result, path=path), Names(result))
    assert view is not None
    assert view.sentence.startswith("Stability of the first 3 features over 8 selections")
    assert view.value == pytest.approx(result.stability.index[2])
    shares = result.stability.frequencies(3)
    shown = {bar.name.text: bar.width for bar in view.bars}
    for feature, index in zip(result.features[:3], path.indices, strict=False):
        assert shown[feature.name.replace("=", " = ")] == pytest.approx(100.0 * shares[index])
    folds = tables.stability_view(replace(result, stability=None), Names(result))
    assert folds is not None
    assert folds.source == "folds: 3-fold, shuffled with seed 0"


def test_near_ties_are_those_of_the_warning() -> None:
    assert tables.NEAR == cautions._NEAR
    result = regression()
    rows = tables.runner_rows(result, Names(result))
    near = [row.step for row in rows if row.runners[0].is_near]
    (warning,) = [text for text in result.warnings if text.startswith("Near ties")]
    assert near == [int(step) for step in re.findall(r"at step (\d+)", warning)]
    for gain, loss in itertools.product((-1.0, 0.0, 1.0), (0.9, 1.0, 1.049, 1.051, 1.2)):
        warned = cautions.near_ties(np.array([1.0]), 1.0 + gain, ["a"], [("b", loss)])
        assert tables.is_near_tie(1.0, gain, loss) == bool(warned)
    for row, told in zip(rows, result.rows(), strict=False):
        share = told["runner_up_share"]
        assert row.runners[0].share == ("" if share is None else percent(max(share, 0.0)))


def test_chosen_size_is_where_it_is_drawn() -> None:
    result = regression()
    (panel,) = make_panels(result)
    for frame in (WIDE, NARROW):
        chart = draw_panel(panel, result.size, frame, "id", ())
        x = chart.places[result.size - 1] * frame.width
        assert f'<g class="chosen-size"><path d="M{x:.1f} ' in chart.svg
        assert len(chart.places) == len(result.path)
        assert all(0.0 < place < 1.0 for place in chart.places)
        assert sorted(chart.places) == chart.places


def test_the_line_without_features_does_not_squeeze_the_curves() -> None:
    (panel,) = make_panels(replace(hostile(), path=replace(hostile().path, surface=None)))
    for without, is_drawn in ((panel.without, False), (np.sqrt(4500.0), True), (np.nan, False)):
        svg = draw_panel(replace(panel, without=without), 3, WIDE, "id", ()).svg
        assert ('class="without"' in svg) == is_drawn
        assert ("↑" in svg) == (not is_drawn and not np.isnan(without))


def test_blank_cells_of_the_surface() -> None:
    result = large(steps=5, penalties=4, n_features=20)
    assert result.path.surface is not None
    losses = result.path.surface.losses.copy()
    losses[0, 2:] = np.nan
    losses[2, :] = np.linspace(1.0, 0.5, 5)
    surface = replace(result.path.surface, losses=losses)
    text = make_report(replace(result, path=replace(result.path, surface=surface)))
    data = Page(text).data["surface"]
    # The smallest penalty is at the bottom.
    assert data["losses"][-1].split("|")[2:] == ["–"] * 3
    cells = re.search(r'<g id="heat-cells">(.*?)</g>', text)
    assert cells is not None
    drawn = sum(int(run) for run in re.findall(r"h(\d+)v1", cells[1]))
    assert drawn == 17


def test_colours_can_be_read() -> None:
    styles = page_builder._template("colours.css"), page_builder._template("dark.css")
    light, dark = (dict(re.findall(r"(--[\w-]+): (#\w+);", block)) for block in styles)
    assert page_builder.style_sheet().count(page_builder._template("dark.css")) == 2
    assert light.keys() == dark.keys()
    for colours in (light, dark):
        for text in ("--text", "--muted", "--chosen", "--honest", "--own", "--warning"):
            assert contrast(colours[text], colours["--page"]) >= 4.5, text
        for text, behind in (
            ("--text", "--warning-soft"),
            ("--warning", "--warning-soft"),
            ("--text", "--raised"),
            ("--muted", "--raised"),
            ("--text", "--chosen-soft"),
            ("--chosen", "--chosen-soft"),
            ("--muted", "--chosen-soft"),
        ):
            assert contrast(colours[text], colours[behind]) >= 4.5, (text, behind)
        shades = [luminance(colours[f"--heat-{place}"]) for place in range(9)]
        assert shades in (sorted(shades), sorted(shades, reverse=True))


def test_levels_of_a_column_are_together() -> None:
    result = regression()
    names = [feature.column for feature in result.features]
    assert names.count("hue") > 1
    model = _contents(replace(result, path=replace(result.path, size_choice=None)))["model"]
    columns = [row.name.column for row in model.rows]
    groups = [column for column, _ in itertools.groupby(columns)]
    assert groups == list(dict.fromkeys(names))
    assert sorted(row.step for row in model.rows) == list(range(1, len(names) + 1))
    continued = [row.name.text for row in model.rows if row.is_continued]
    assert len(continued) == names.count("hue") - 1
    assert all(text.startswith("hue=") for text in continued)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255.0 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, two: str) -> float:
    dark, light = sorted((luminance(one), luminance(two)))
    return (light + 0.05) / (dark + 0.05)


def page_text(result: SelectionResult, k: str) -> str:
    data = Page(make_report(result)).data
    return str(data["sources"][data["models"][k]["source"]])


def _contents(result: SelectionResult) -> dict[str, Any]:
    from internals import make_contents

    return make_contents(result)[0]


def test_curves_off_the_chart_are_said_to_be() -> None:
    """Features drawn at random are often far worse than those chosen."""
    result = regression()
    assert result.assessment is not None
    far = replace(result.assessment, random_losses=1e4 * result.assessment.random_losses)
    label = "as many features drawn at random"
    for one, is_drawn in ((result, True), (replace(result, assessment=far), False)):
        legend = Page(make_report(one)).all("ul", **{"class": "legend"})[0][1]
        assert label in legend
        assert (f"{label}: off the chart" in legend) != is_drawn


def test_levels_are_named_in_one_way() -> None:
    text = make_report(regression())
    assert '<span class="equals">=</span>' in text
    assert " = </span>" not in text
