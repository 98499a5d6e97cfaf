"""What all pictures have in common: axes, sizes of text, legends, names, messages."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot

from greedyrls import greedy_path, plots
from greedyrls.assess import Stability
from greedyrls.plots import (
    plot_assessment,
    plot_coefficients,
    plot_path,
    plot_predictions,
    plot_stability,
    plot_stability_index,
    plot_surface,
)
from internals import draw_parts as parts
from internals import score, value_with_error
from pictures import (
    COLUMN,
    HOSTILE,
    drawn,
    make_assessment,
    make_null,
    make_path,
    make_stability,
)


def everything() -> list[tuple[Any, Any]]:
    path = make_path(6, alpha=[0.01, 1.0, 100.0])
    return [
        (plot_assessment, make_assessment()),
        (plot_coefficients, path),
        (plot_path, path),
        (plot_predictions, make_assessment()),
        (plot_stability, make_stability()),
        (plot_stability_index, make_stability()),
        (plot_surface, path),
    ]


ALL = [function.__name__ for function, _ in everything()]


@pytest.fixture(params=range(len(ALL)), ids=ALL)
def job(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    return everything()[request.param]


def test_all_are_public() -> None:
    assert plots.__all__ == sorted(plots.__all__) == ALL
    for name in ALL:
        assert "Examples" in getattr(plots, name).__doc__


@pytest.mark.parametrize("layout", [None, "constrained", "tight"])
def test_axes_given_are_used(job: Any, layout: Any) -> None:
    function, thing = job
    figure, (left, right) = pyplot.subplots(1, 2, layout=layout, figsize=(11, 4))
    assert function(thing, ax=right) is right
    assert not left.has_data()
    assert right.has_data()
    drawn(right)
    assert pyplot.get_fignums() == [figure.number]


def test_axes_in_a_subfigure(job: Any) -> None:
    function, thing = job
    figure = pyplot.figure(layout="constrained")
    ax = figure.subfigures(1, 2)[1].subplots()
    assert drawn(function(thing, ax=ax)) is ax


def test_axes_without_a_grid(job: Any) -> None:
    function, thing = job
    ax = pyplot.figure().add_axes((0.2, 0.2, 0.7, 0.7))
    assert drawn(function(thing, ax=ax)) is ax


def test_no_setting_of_matplotlib_is_changed(job: Any) -> None:
    before = dict(matplotlib.rcParams)
    job[0](job[1])
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("thing", [None, 3, "path", np.ones((2, 2))])
def test_other_things_are_named(job: Any, thing: Any) -> None:
    function, _ = job
    message = rf"{function.__name__} takes an? .*, got .*\({type(thing).__name__}\)"
    with pytest.raises(TypeError, match=message):
        function(thing)
    assert pyplot.get_fignums() == []


def test_a_null_is_no_other_thing() -> None:
    with pytest.raises(
        TypeError, match=r"null must be a PermutationNull.*or None, got 0.5 \(float"
    ):
        plot_assessment(make_assessment(), 0.5)


def test_without_matplotlib(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    function, thing = job
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(ImportError, match=r"Plots need matplotlib: pip install 'greedyrls\[plot\]"):
        function(thing)


def test_a_column_of_a_paper_has_the_text_of_print(job: Any) -> None:
    function, thing = job
    _, ax = pyplot.subplots(figsize=COLUMN, layout="constrained")
    drawn(function(thing, ax=ax))
    assert ax.xaxis.label.get_fontsize() == 8.0
    texts = [*ax.get_xticklabels(), *ax.get_yticklabels(), *ax.texts]
    texts += [] if ax.get_legend() is None else ax.get_legend().get_texts()
    assert {text.get_fontsize() for text in texts if text.get_text()} <= {6.0, 7.0}
    assert {text.get_fontsize() for text in texts if text.get_text()}


def test_nothing_is_cut_off(job: Any) -> None:
    function, thing = job
    for size in (COLUMN, (6.4, 4.8)):
        figure, ax = pyplot.subplots(figsize=size, layout="constrained")
        drawn(function(thing, ax=ax))
        frame = figure.bbox
        texts = [ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
        texts += ax.get_yticklabels() if function is plot_stability else []
        texts += [] if ax.get_legend() is None else ax.get_legend().get_texts()
        for text in texts:
            box = text.get_window_extent()
            if text.get_text():
                assert frame.x0 - 1 <= box.x0, text.get_text()
                assert box.x1 <= frame.x1 + 1, text.get_text()
                assert frame.y0 - 1 <= box.y0, text.get_text()
                assert box.y1 <= frame.y1 + 1, text.get_text()


@pytest.mark.parametrize("size", [COLUMN, (6.4, 4.8)])
@pytest.mark.parametrize("seed", range(4))
def test_a_legend_hides_no_curve(size: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Curves that leave no corner free.
    assessment = make_assessment(test_losses=1.0 + 4.0 * rng.random((4, 6)))
    _, ax = pyplot.subplots(figsize=size, layout="constrained")
    drawn(plot_assessment(assessment, make_null(), ax=ax))
    found = ax.get_legend()
    assert found is not None
    box = found.get_window_extent()
    for line in ax.lines:
        drawn_line = line.get_path().transformed(line.get_transform())
        assert not drawn_line.intersects_bbox(box, filled=False), line.get_label()


def test_limits_that_the_caller_set_stay() -> None:
    _, ax = pyplot.subplots()
    ax.set_ylim(0.0, 1.0)
    plot_assessment(make_assessment(), ax=ax)
    assert ax.get_ylim() == (0.0, 1.0)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
@pytest.mark.parametrize("size", [None, COLUMN])
def test_any_name_is_plain_text(kind: str, size: Any) -> None:
    stability = Stability(make_stability().selections, 10, HOSTILE)
    path = make_path(10, names=HOSTILE)
    for function, thing in (
        (plot_stability, stability),
        (plot_coefficients, path),
        (plot_path, path),
    ):
        figure, ax = pyplot.subplots(figsize=size, layout="constrained")
        function(thing, ax=ax)
        with matplotlib.rc_context({"svg.fonttype": "none"}):
            data = io.BytesIO()
            figure.savefig(data, format=kind)
        if kind == "svg":
            tags = {element.tag for element in ElementTree.fromstring(data.getvalue()).iter()}
            assert not any("script" in tag for tag in tags)
        labels = [*ax.texts, *ax.get_xticklabels(), *ax.get_yticklabels()]
        assert max(len(label.get_text()) for label in labels) < 60
        # A name of any length leaves room for the picture.
        assert ax.get_window_extent().width > 0.35 * figure.bbox.width
        assert all("\n" not in label.get_text() for label in labels)


def test_names_are_cut_in_the_middle() -> None:
    assert parts.shortened("short", 10) == "short"
    assert parts.shortened("abcdefghijklmnop", 10) == "abcdef…nop"
    assert len(parts.shortened("x" * 500, 10)) == 10
    assert parts.shortened("a$b", 10) == r"a\$b"
    assert parts.shortened("two\nlines\x00more", 40) == "two lines more"
    assert parts.shortened("  ", 10) == "(blank)"
    assert parts.shortened("\u202eabc", 10) == "abc"


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.25411, 0.01, "0.254 ± 0.010"),
        (2966.3, 123.4, "2970 ± 120"),
        (0.5, np.nan, "0.5"),
        (0.5, 0.0, "0.5"),
        (3e9, 2e8, "3.00 ± 0.20 ×10⁹"),
        (1e-9, 2e-10, "1.00 ± 0.20 ×10⁻⁹"),
    ],
)
def test_digits_are_those_of_the_error(value: float, error: float, text: str) -> None:
    assert value_with_error(value, error) == text


def test_no_minus_before_zero() -> None:
    assert [score(value, 2) for value in (-0.001, -0.25, 0.5)] == [
        "0.00",
        "−0.25",
        "0.50",
    ]


def test_a_path_of_wide_range_is_logarithmic() -> None:
    path = make_path(4)
    steps = [replace(step, loss=10.0**-place) for place, step in enumerate(path.steps)]
    assert drawn(plot_path(replace(path, steps=tuple(steps), sets=()))).get_yscale() == "log"
    assert plot_path(path).get_yscale() == "linear"


def test_a_long_path_is_logarithmic() -> None:
    rng = np.random.default_rng(0)
    path = greedy_path(rng.standard_normal((130, 120)), rng.standard_normal(130), 110)
    assert drawn(plot_path(path)).get_xscale() == "log"
    assert plot_path(path, log_x=False).get_xscale() == "linear"
    assert plot_path(make_path(4), log_x=True).get_xscale() == "log"
