"""Reports: the text of the page, without a browser."""

from __future__ import annotations

import itertools
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from greedyrls import SelectionResult, StopReason
from greedyrls.assess import Stability
from greedyrls.report import make_report, write_report
from internals import (
    Curve,
    best_known_score,
    column,
    make_panels,
    number,
    padded,
    page_builder,
    reading_of,
    value_with_error,
)
from report_results import HOSTILE, Page, hostile, large, make_result, regression, wine

pytest.importorskip("jinja2")

LIMIT = 2_000_000


def spaced(text: str) -> str:
    """With plain spaces only, as the text of a page is read here."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(make_report(regression()))


def test_says_what_was_chosen_and_how_good_it_is(page: Page) -> None:
    result = regression()
    text = page.text("body")
    assert result.sentence in text
    # What is for statisticians comes later, with how it was made.
    assert result.path.sentence in page.text("section", id="origin")
    assert result.path.sentence not in page.text("section", id="path")
    assert result.null is not None
    assert result.null.sentence_for(result.null_reading) in text
    assert all(warning in text for warning in result.warnings)
    assert result.data.notes[0] in text
    assert result.warnings
    assert result.assessment is not None
    figures = page.text("dl", **{"class": "figures"})
    loss, error = result.assessment.estimate
    root = value_with_error(np.sqrt(loss), error / (2.0 * np.sqrt(loss)))
    assert f"error on samples that took no part in the selection{root}" in figures
    share = 1.0 - loss / result.assessment.initial_loss
    assert f"R², the share of the variance explained{share:.2f}" in figures


def test_has_the_chosen_model_without_scripts(page: Page) -> None:
    result = regression()
    table = page.text("table", id="model-table")
    model, standard = result.model(), result.standardised_coefficients(result.size)
    intercept = result.path.intercept(result.size)
    effects = [*column(standard[0].tolist()), padded(intercept)]
    for term, effect in zip(model.terms, effects, strict=False):
        assert f"{padded(term.coefficients[0])} {effect}" in table
    assert f"{padded(model.intercepts[0])} {effects[-1]}" in table
    score = best_known_score(result, result.size)
    assert f"root mean squared error {spaced(score.text)}" in page.text("p", id="score")


def test_has_the_whole_path_without_scripts(page: Page) -> None:
    result = regression()
    table = page.text("table", id="path-table")
    assert result.assessment is not None
    test, own, rows = result.assessment.test, result.own_curve, result.rows()
    reading = reading_of("squared", is_classification=False)
    tested, believed = reading.column(*test), reading.column(*own)
    losses = column(own.mean.tolist(), own.error.tolist())
    gains = column([row["gain"] for row in rows])
    for place, row in enumerate(rows):
        chosen = " chosen size" if row["n_features"] == result.size else ""
        start = f" {row['n_features']} {row['feature']}{chosen} "
        if place < len(test.mean):
            start += f"{tested[place]} "
        assert start in f" {table} "
        assert f" {believed[place]} {losses[place]} {gains[place]} " in f" {table} "


def test_the_data_of_the_script_are_those_of_the_models(page: Page) -> None:
    result = regression()
    data = page.data
    assert data["sizes"] == list(range(1, 11))
    for k in data["sizes"]:
        packed, model = data["models"][str(k)], result.model(k)
        own = [row.split(" ") for row in packed["own"].split(";")]
        assert own == [[padded(value) for value in term.coefficients] for term in model.terms]
        standard = [row.split(" ") for row in packed["standard"].split(";")]
        seen = column(result.standardised_coefficients(k)[0].tolist())
        assert standard == [[text] for text in seen]
        assert packed["standardIntercepts"] == [padded(result.path.intercept(k))]
        assert packed["intercepts"] == [padded(value) for value in model.intercepts]


def test_several_classes_have_a_column_each() -> None:
    page = Page(make_report(wine()))
    heads = [text for _, text in page.all("th", scope="col")]
    assert heads.count("Barolo") == heads.count("Grignolino") == heads.count("Barbera") == 2
    model = wine().model()
    table = page.text("table", id="model-table")
    assert all(padded(value) in table for term in model.terms for value in term.coefficients)
    assert "The model says the class of the largest score" in page.text("section", id="model")


def test_charts_can_be_read_aloud(page: Page) -> None:
    charts = page.all("svg", role="img")
    assert len(charts) == 6  # two of predictions; path and surface, wide and narrow
    known = {attributes.get("id"): text for _, attributes, text in page.elements}
    for attributes, _ in charts:
        names = str(attributes["aria-labelledby"]).split()
        assert all(known[name] for name in names)
    size = regression().size
    assert f"Chosen: {size} feature" in known["path-0-wide-description"]
    strips = [text for _, text in page.all("title")][1:]
    assert any("runner-up: " in text and "gain of this step: " in text for text in strips)


def test_is_in_order(page: Page) -> None:
    levels = [int(name[1]) for name, _, _ in page.elements if re.fullmatch("h[1-6]", name)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(two - one <= 1 for one, two in itertools.pairwise(levels))
    names = [name for name, _, _ in page.elements]
    assert names.count("main") == names.count("nav") == names.count("footer") == 1
    assert names.count("caption") == names.count("table")
    assert all("scope" in attributes for name, attributes, _ in page.elements if name == "th")
    identifiers = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    links = [str(attributes["href"]) for attributes, _ in page.all("a")]
    assert {link.removeprefix("#") for link in links} <= set(identifiers)


@pytest.mark.parametrize("make", [regression, wine, hostile])
def test_loads_nothing(make: Any) -> None:
    page = Page(make_report(make()))
    ((attributes, _),) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    policy = str(attributes["content"])
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert page_builder.policy(_text_of(page, "style"), _text_of(page, "script")) == policy
    for name, attributes, _ in page.elements:
        assert "src" not in attributes
        assert str(attributes.get("href", "#")).startswith(("#", "data:,"))
        assert not any(key.startswith("on") or key == "style" for key in attributes), name
        assert name not in ("img", "iframe", "object", "embed", "b", "i", "base")
    code = _text_of(page, "script")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|fetch|XMLH", code
    )
    assert "http" not in code.replace("http://www.w3.org/2000/svg", "")


def _text_of(page: Page, tag: str) -> str:
    """Exactly as it is in the page, which the hash is of."""
    parts = {
        "style": page_builder.style_sheet(),
        "script": page_builder._wrapped(page_builder._joined(page_builder._SCRIPTS)),
    }
    found = [text for attributes, text in page.all(tag) if not attributes.get("type")]
    assert found == [" ".join(parts[tag].split())]
    return parts[tag]


def test_names_stay_text() -> None:
    page = Page(make_report(hostile()))
    scripts = page.all("script")
    assert len(scripts) == 2
    assert "injected" not in [attributes.get("id") for _, attributes, _ in page.elements]
    shown = {
        text for attributes, text in page.all("span") if str(attributes.get("class")) == "name"
    }
    assert {" ".join(name.split()) for name in (HOSTILE[0], *HOSTILE[2:6])} <= shown
    assert HOSTILE[8] in shown
    names = {feature["column"] for feature in page.data["features"]}
    assert HOSTILE[0] in names
    assert "two lines and a bell gnp.exe" in names
    block = re.search(r"<script type=.*?>(.*?)</script>", make_report(hostile()), re.DOTALL)
    assert block is not None
    assert not set("<>&\u2028\u2029") & set(block[1])


def test_signs_that_cannot_be_printed_are_left_out() -> None:
    X = np.random.default_rng(0).standard_normal((30, 3))
    names = ("\udc80broken", "", "tab\tand \u202eturned")
    result = make_result(X, X @ [3.0, 2.0, 1.0], names, "\x00", alpha=1.0)
    text = make_report(result)
    text.encode("utf-8")
    assert "(blank)" in text
    assert not {"\u202e", "\x00", "\udc80", "\t"} & set(text)


NOTHING = {"assessment": None, "stability": None, "null": None, "model_curve": None}


@pytest.mark.slow
@pytest.mark.parametrize("count", range(5))
@pytest.mark.parametrize("make", [regression, wine])
def test_any_part_may_be_missing(make: Any, count: int) -> None:
    for names in itertools.combinations(NOTHING, count):
        result = replace(make(), **dict.fromkeys(names))
        for path in (result.path, replace(result.path, surface=None, refit_alphas=None)):
            page = Page(make_report(replace(result, path=path)))
            sections = [
                attributes["id"] for attributes, _ in page.all("section") if "id" in attributes
            ]
            has_stability = result.stability is not None or result.assessment is not None
            assert ("stability" in sections) == has_stability
            assert ("surface" in sections) == (path.surface is not None)


def test_one_feature_and_no_errors() -> None:
    result = regression()
    steps = tuple(replace(step, standard_error=np.nan, runners_up=()) for step in result.path.steps)
    path = replace(result.path, steps=steps, sets=(), size_choice=None).truncated(1)
    one = replace(
        result, path=path, features=result.features[:1], stability=None, null=None, model_curve=None
    )
    page = Page(make_report(one))
    assert "1 feature" in page.text("p", id="score")
    assert "nan" not in page.text("body").lower()
    assert not re.search(r"\bnan\b", str([part for _, part, _ in page.elements]).lower())
    assert "runners-up" not in [attributes.get("id") for attributes, _ in page.all("section")]


def test_interrupted_and_forced() -> None:
    result = regression()
    steps = (replace(result.path.steps[0], forced=True), *result.path.steps[1:])
    path = replace(result.path, steps=steps, sets=(), stop_reason=StopReason.INTERRUPTED)
    missing = "The search was interrupted: what came later is missing."
    page = Page(make_report(replace(result, path=path, missing=missing)))
    assert missing in page.text("section", **{"class": "warnings"})
    assert StopReason.INTERRUPTED.sentence in page.text("section", id="origin")
    assert f"{result.features[0].column} given" in page.text("table", id="path-table")
    assert page.data["features"][0]["isForced"] is True


def test_losses_that_are_not_known() -> None:
    result = wine()
    assert result.assessment is not None
    nothing = np.full_like(result.assessment.test_losses, np.nan)
    assessment = replace(result.assessment, test_losses=nothing, selection_losses=nothing)
    stability = Stability((np.array([0]),), 13, source="one")
    curve = Curve(result.path.losses, np.full(len(result.path), np.nan))
    unknown = replace(result, assessment=assessment, stability=stability, model_curve=curve)
    assert [panel.measure for panel in make_panels(unknown)] == ["mean squared error"]
    page = Page(make_report(unknown))
    values = [text for _, text in page.all("dd")][:2]
    assert values == [str(result.size), "–"]
    assert "stability" not in [attributes.get("id") for attributes, _ in page.all("section")]


def test_other_rules_for_the_penalty() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 6))
    y, names = X[:, 0] + 0.5 * rng.standard_normal(40), tuple("abcdef")
    for rule in ("joint", "all_features"):
        result = make_result(X, y, names, alpha=[0.1, 1.0, 10.0], alpha_rule=rule)
        page = Page(make_report(result))
        assert result.path.surface is not None
        section = page.text("section", id="surface")
        assert result.path.surface.sentence in section
        assert bool(page.all("g", id="heat-cells")) == (rule == "joint")


def test_an_empty_path_and_other_things_are_refused() -> None:
    result = regression()
    path = replace(result.path, steps=(), sets=())
    with pytest.raises(ValueError, match="no features"):
        make_report(replace(result, path=path, features=()))
    with pytest.raises(TypeError, match="must be a SelectionResult, got SelectionPath"):
        make_report(result.path)  # type: ignore[arg-type]


def test_the_same_result_gives_the_same_bytes() -> None:
    for make in (regression, wine, hostile):
        again = SelectionResult.from_json(make().to_json())
        assert make_report(again) == make_report(make())


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"steps": 100, "penalties": 100},
        {"steps": 100, "outputs": 10},
        {"steps": 1000, "penalties": 300},
        {"name": "a very long name " * 300, "n_features": 300},
        {"steps": 1, "penalties": 1},
    ],
)
def test_large_results_make_files_below_two_megabytes(options: dict[str, Any]) -> None:
    result = large(**options)
    text = make_report(result)
    assert len(text.encode("utf-8")) < LIMIT
    data = Page(text).data
    assert result.size in data["sizes"]
    assert data["sizes"][:20] == list(range(1, min(20, len(result.path)) + 1))
    if not options:
        assert data["sizes"] == list(range(1, 101))
    surface = data["surface"]
    if surface is not None:
        assert len(surface["losses"]) <= 125
        assert len(surface["losses"][0].split("|")) == len(surface["sizes"]) <= 125
        row, column = surface["marked"]
        assert surface["sizes"][column] == result.size
        assert result.path.surface is not None
        assert surface["penalties"][row] == number(result.path.surface.alpha)


def test_written_in_one_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "report.html"
    write_report(hostile(), file)
    assert file.read_bytes() == make_report(hostile()).encode("utf-8")
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(regression(), file)
    assert file.read_bytes() == make_report(hostile()).encode("utf-8")
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_without_jinja_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    page_builder._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'greedyrls\[cli\]'"):
        make_report(hostile())


def test_the_paragraph_for_a_paper(page: Page) -> None:
    result = regression()
    paragraph, *lines = result.methods_text().splitlines()
    section = page.text("section", id="methods")
    assert spaced(paragraph) in spaced(section)
    assert all(reference in section for reference in lines[3:])
    assert "[Describe the data and any further preprocessing.]" in section
    assert result.origin.versions["greedyrls"] in paragraph
