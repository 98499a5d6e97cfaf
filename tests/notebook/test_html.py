"""What notebooks show: text stays text, the markup is sound, and the numbers are the result's."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from greedyrls import (
    GreedyRLSClassifier,
    GreedyRLSRegressor,
    SelectionPath,
    StopReason,
    greedy_path,
)
from greedyrls.assess import (
    PermutationNull,
    Stability,
    cross_validate_path,
    permutation_null,
    resample_path,
)
from internals import Moments, _in_line

SVG = "{http://www.w3.org/2000/svg}"
# MathJax looks for these two.
FOREIGN_CLASSES = {"tex2jax_ignore", "mathjax_ignore"}
HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "' onmouseover='alert(1)",
    "&lt;b&gt; & co",
    "</td></table></div><h1>out",
    "<!-- $x$ -->",
    "]]> <style>* {display: none}</style>",
    "javascript:alert(1)",
    "two\nlines\tand \u202ea turn\x00",
    "   ",
    'a "long" name \'>that goes on<b> and on & on until nobody reads it any more, end 1',
    "plain",
]


def data(m: int = 60, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(5)
    X = generator.standard_normal((m, n))
    return X, X[:, :4] @ np.array([3.0, 2.0, 1.0, 0.5]) + generator.standard_normal(m)


def hostile_frame() -> tuple[pd.DataFrame, np.ndarray]:
    X, y = data(n=len(HOSTILE))
    return pd.DataFrame(X, columns=HOSTILE), y


def interrupted_path() -> SelectionPath:
    def stop(step: Any) -> None:
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt

    count = 0
    X, y = data()
    path = greedy_path(X, y, 8, alpha=1.0, callback=stop)
    assert path.interrupted
    return path


def empty_path() -> SelectionPath:
    X, y = data()
    path = greedy_path(X, y, 1, alpha=1.0)
    nothing = Moments((), np.zeros((0, 0)), np.zeros((0, 1)), np.zeros(0), np.zeros(1))
    return replace(path, steps=(), sets=(), moments=nothing, stop_reason=StopReason.NUMERICAL_LIMIT)


def mean_error(y: Any, predictions: Any) -> float:
    return float(np.abs(y - predictions).max())


def path_of(**options: Any) -> SelectionPath:
    X, y = data()
    return greedy_path(X, y, **{"n_features": 6, "alpha": 1.0, **options})


def cut_off() -> SelectionPath:
    """A path whose last sizes were not reached in the outer folds."""
    path = path_of(alpha="auto")
    assert path.surface is not None
    losses = path.surface.losses.copy()
    losses[:, 4:] = np.nan
    return replace(path, surface=replace(path.surface, losses=losses))


def several_targets() -> SelectionPath:
    X, y = data()
    return greedy_path(X, np.column_stack((y, -y, y**2)), 4, alpha=1.0)


def long_path(k: int = 150) -> SelectionPath:
    X, y = data(200, 160)
    return greedy_path(X, y, k, alpha=1.0, n_runners_up=1)


def assessment_of(**options: Any) -> Any:
    X, y = data()
    return cross_validate_path(X, y, **{"n_features": 5, "alpha": 1.0, "cv": 3, **options})


def stability_of(**options: Any) -> Stability:
    X, y = data()
    return resample_path(X, y, **{"n_features": 5, "alpha": 1.0, "n_resamples": 5, **options})


def null_of() -> PermutationNull:
    X, y = data()
    return permutation_null(X, y, 5, alpha=1.0, n_permutations=9)


def with_gaps() -> PermutationNull:
    """Permutations of which one ended early."""
    whole = null_of()
    losses = whole.null_losses.copy()
    losses[2, 3:] = np.nan
    return replace(whole, null_losses=losses)


RESULTS: dict[str, Callable[[], Any]] = {
    "leave-one-out": path_of,
    "folds": lambda: path_of(cv=5),
    "one split": lambda: path_of(cv=[(np.arange(40), np.arange(40, 60))]),
    "runners-up": lambda: path_of(n_runners_up=2),
    "forced": lambda: path_of(forced_features=[7, 8], n_runners_up=1),
    "nested": lambda: path_of(n_features="auto", alpha="auto"),
    "joint": lambda: path_of(alpha=[0.1, 1.0], alpha_rule="joint"),
    "nested, cut off": cut_off,
    "no standard errors": lambda: path_of(loss=mean_error),
    "unnamed function": lambda: path_of(loss=lambda y, p: float(np.abs(y - p).mean())),
    "several targets": several_targets,
    "one step": lambda: path_of(n_features=1),
    "truncated": lambda: path_of().truncated(3),
    "interrupted": interrupted_path,
    "no steps": empty_path,
    "long": long_path,
    "assessment": assessment_of,
    "assessment of a chosen size": lambda: assessment_of(n_features="auto"),
    "assessment without random features": lambda: assessment_of(n_random=0),
    "assessment of one split": lambda: assessment_of(cv=[(np.arange(40), np.arange(40, 60))]),
    "stability": stability_of,
    "stability of forced features": lambda: stability_of(forced_features=[9]),
    "stability of one selection": lambda: Stability((np.array([3, 1]),), 5, source="<one>"),
    "no stability": lambda: Stability((), 5),
    "null": null_of,
    "null with gaps": with_gaps,
}


def parsed(text: str) -> ElementTree.Element:
    """Our markup is so plain that it is XML, too, whose parser forgives nothing."""
    return ElementTree.fromstring(text)


def text_of(element: ElementTree.Element) -> str:
    return "".join(element.itertext())


def cells(table: ElementTree.Element) -> list[dict[str, str]]:
    """The rows of a table by heading."""
    heads = [text_of(head) for head in table.iter("th")]
    rows = [[text_of(cell) for cell in row.iter("td")] for row in table.iter("tr")]
    return [dict(zip(heads, row, strict=True)) for row in rows if len(row) == len(heads)]


def assert_harmless(card: ElementTree.Element) -> None:
    known = {"div", "style", "p", "b", "span", "ul", "li", "table", "thead", "tbody", "tr", "th"}
    known |= {"td", "details", "summary"} | {f"{SVG}{tag}" for tag in ("svg", "path", "text")}
    known |= {f"{SVG}circle", f"{SVG}rect"}
    for element in card.iter():
        assert element.tag in known
        assert not any(name.startswith("on") or name in {"id", "href"} for name in element.attrib)
        classes = set(element.get("class", "").split())
        assert all(name in FOREIGN_CLASSES or name.startswith("greedyrls-") for name in classes)
    assert len(list(card.iter("style"))) == 1


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_can_be_shown(name: str) -> None:
    result = RESULTS[name]()
    text = result._repr_html_()
    card = parsed(text)
    assert_harmless(card)
    assert set(card.get("class", "").split()) >= FOREIGN_CLASSES
    sentences = [text_of(paragraph) for paragraph in card.findall("p")]
    assert sentences[0].startswith(type(result).__name__)
    assert result.sentence in sentences
    assert not re.search(r"\b(nan|inf|None)\b", text_of(card).replace(result.sentence, ""))
    has_values = name not in {"no steps", "no stability", "stability of one selection"}
    assert len(card.findall(f"div/{SVG}svg[@role='img']")) == has_values
    # The style sheet is for our classes alone.
    (style,) = card.iter("style")
    rules = re.sub(r"\{[^}]*\}", "", style.text or "").strip().splitlines()
    assert all(rule.startswith(".greedyrls-card") for rule in rules)


@pytest.mark.parametrize("kind", ["path", "nested path", "assessment", "stability"])
def test_names_stay_text(kind: str) -> None:
    X, y = hostile_frame()
    if kind == "path":
        result: Any = greedy_path(X, y, len(HOSTILE), alpha=1.0, n_runners_up=1)
    elif kind == "nested path":
        result = GreedyRLSRegressor(n_runners_up=1, max_features=8).fit(X, y).path_
    elif kind == "assessment":
        result = cross_validate_path(X, y, 4, alpha=1.0, cv=3)
    else:
        result = resample_path(X, y, 8, alpha=1.0, n_resamples=4)
    card = parsed(result._repr_html_())
    assert_harmless(card)
    shown = [
        row["feature"] for table in card.iter("table") for row in cells(table) if kind[0] != "a"
    ]
    if kind == "path":
        assert set(shown) == {_in_line(name, 40) or "(blank)" for name in HOSTILE}
        assert HOSTILE[0] in shown
        titles = {cell.get("title") for cell in card.iter("td")} - {None}
        assert HOSTILE[-2] in titles
        runners = {row["runner-up"] for table in card.iter("table") for row in cells(table)}
        assert runners <= {*shown, ""}
        assert len(runners) > 2


def test_other_texts_stay_text() -> None:
    order = (np.array([0, 1]), np.array([1, 2]))
    stability = Stability(order, 5, source="<i>half</i> & 'half'")
    assert "<i>half</i> & 'half'" in text_of(parsed(stability._repr_html_()))
    path = path_of(loss=lambda y, p: float(np.abs(y - p).mean()))
    assert "<lambda>" in text_of(parsed(path._repr_html_()))
    odd = replace(assessment_of(), folds="<b>\"folds'</b>", measure="callable:<u>")
    card = parsed(odd._repr_html_())
    assert_harmless(card)
    assert "<b>\"folds'</b>" in text_of(card)
    assert "<u> by number" in card.find(f"div/{SVG}svg").get("aria-label")


def test_a_name_on_a_line() -> None:
    assert _in_line(" a\n b\u202ec ", 40) == "a b c"
    assert _in_line("abcdefghij", 10) == "abcdefghij"
    assert _in_line("abcdefghijk", 10) == "abcdef…ijk"


# Numbers -----------------------------------------------------------------------------------------


def test_the_table_has_the_numbers_of_the_path() -> None:
    X, y = data()
    path = greedy_path(X, y, "auto", alpha="auto", n_runners_up=1, forced_features=[5])
    assert path.held_out is not None
    table = parsed(path._repr_html_()).find("table")
    assert table is not None
    rows, frame = cells(table), path.to_frame()
    assert len(rows) == len(path)
    for size, row in enumerate(rows, start=1):
        assert row["size"] == (f"✓ {size}" if size == path.chosen_size else f"{size}")
        name = frame["feature"][size]
        assert row["feature"] == (f"{name} (forced)" if size == 1 else name)
        for head, value, error in (
            ("loss", frame["loss"], frame["standard_error"]),
            ("held-out loss", frame["held_out_loss"], frame["held_out_error"]),
        ):
            shown = [float(part) for part in row[head].split(" ± ")]
            assert shown == pytest.approx([value[size], error[size]], rel=0.05)
        gain = float(row["gain"].replace("−", "-"))
        assert gain == pytest.approx(frame["gain"][size], rel=0.01, abs=1e-3 * frame["gain"].max())
        assert row["runner-up"] == ("" if size in (1, len(path)) else frame["runner_up"][size])
        if row["runner-up"]:
            assert float(row["its loss"]) == pytest.approx(frame["runner_up_loss"][size], rel=1e-3)
    (marked,) = [row for row in table.iter("tr") if row.get("class") == "greedyrls-chosen"]
    assert text_of(marked).startswith(f"✓ {path.chosen_size}")


def test_what_is_not_known_is_a_dash() -> None:
    table = parsed(cut_off()._repr_html_()).find("table")
    assert table is not None
    assert [row["held-out loss"] == "–" for row in cells(table)] == [False] * 4 + [True] * 2


def test_the_first_line_of_a_path() -> None:
    def first(path: SelectionPath) -> str:
        return text_of(parsed(path._repr_html_()).findall("p")[0])

    assert first(path_of()) == (
        "SelectionPath 6 of 12 features · 60 samples · alpha 1 · mean squared error (leave-one-out)"
    )
    assert "3 targets" in first(several_targets())
    assert first(path_of(cv=5, loss="absolute")).endswith("mean absolute error (5-fold)")
    shorter = path_of(n_features="auto", size_rule="1se")
    assert shorter.chosen_size < len(shorter)
    assert f"{shorter.chosen_size} of 12 features · {len(shorter)} on the path" in first(shorter)
    assert first(empty_path()).startswith("SelectionPath 0 of 12 features")


def test_nothing_is_marked_where_nothing_was_chosen() -> None:
    text = path_of().truncated(3)._repr_html_()
    assert "✓" not in text
    assert 'class="greedyrls-chosen"' not in text


@pytest.mark.parametrize(
    ("k", "chosen", "first", "unfolded", "note"),
    [
        (15, 3, [*range(1, 16)], [], ""),
        (16, 3, [*range(1, 16)], [16], ""),
        (40, 15, [*range(1, 16)], [*range(16, 41)], ""),
        (40, 16, [*range(1, 15), 16], [*range(15, 41)], ""),
        (40, 33, [*range(1, 15), 33], [*range(15, 41)], ""),
        (
            150,
            3,
            [*range(1, 16)],
            [*range(16, 116)],
            "… and 35 more: path.to_frame() has them all.",
        ),
    ],
)
def test_long_tables(k: int, chosen: int, first: list[int], unfolded: list[int], note: str) -> None:
    path = long_path(k)
    assert path.size_choice is not None
    path = replace(path, size_choice=replace(path.size_choice, size=chosen))
    card = parsed(path._repr_html_())

    def sizes(table: ElementTree.Element) -> list[int]:
        return [int(row["size"].removeprefix("✓ ")) for row in cells(table)]

    assert sizes(card.findall("table")[0]) == first
    assert [size for table in card.findall("details/table") for size in sizes(table)] == unfolded
    summaries = [text_of(summary) for summary in card.iter("summary")]
    assert summaries == ([f"… and {k - 15} more"] if unfolded else [])
    assert [text_of(one) for one in card.findall("details/p")] == ([note] if note else [])
    gaps = [row for row in card.iter("tr") if text_of(row) == "⋮"]
    assert len(gaps) == (first[-1] != len(first))


def test_an_assessment_has_its_numbers_and_warnings() -> None:
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((30, 400)), generator.standard_normal(30)
    result = cross_validate_path(X, y, "auto", alpha=1.0, cv=3, max_features=6)
    assert len(result.warnings) >= 2
    card = parsed(result._repr_html_())
    assert [text_of(item) for item in card.iter("li")] == list(result.warnings)
    table = card.find("table")
    assert table is not None
    for size, row in enumerate(cells(table), start=1):
        mean = float(row["test RMSE"].split(" ± ")[0])
        assert mean == pytest.approx(np.sqrt(result.test.mean[size - 1]), rel=0.05)
        share = 1.0 - result.test.mean[size - 1] / result.initial_loss
        assert float(row["R²"].replace("−", "-")) == pytest.approx(share, abs=0.006)
        count = int(np.count_nonzero(result.chosen_sizes == size))
        assert row["folds that chose it"] == (f"{count} of 3" if count else "")
    assert "random features" not in text_of(parsed(assessment_of(n_random=0)._repr_html_()))


def test_stability_lists_the_most_frequent_first() -> None:
    stability = stability_of()
    table = parsed(stability._repr_html_()).find("table")
    assert table is not None
    frame = stability.to_frame()
    assert [row["feature"] for row in cells(table)] == frame["feature"].tolist()
    shares = [f"{share:.0%}" for share in frame["frequency"]]
    assert [row["selected in"] for row in cells(table)] == shares
    widths = [float(bar.get("width", "")) for bar in table.iter(f"{SVG}rect")]
    assert widths == pytest.approx((100.0 * frame["frequency"]).tolist(), abs=0.5)


def test_permutations_have_their_numbers() -> None:
    null = permutation_null(*data(20), 5, alpha=1.0, n_permutations=9)
    null = replace(null, losses=np.linspace(0.5, 2.0, 5) * null.null_losses.mean(axis=0))
    assert len(set(null.p_values)) > 1
    table = parsed(null._repr_html_()).find("table")
    assert table is not None
    assert [float(row["p"]) for row in cells(table)] == pytest.approx(null.p_values, rel=0.01)
    losses = [float(row["own mean squared error"]) for row in cells(table)]
    assert losses == pytest.approx(null.losses, abs=1e-3 * null.losses.max())


# Estimators --------------------------------------------------------------------------------------


def without_numbers(diagram: str) -> str:
    """scikit-learn counts the diagrams it makes."""
    return re.sub(r"(sk-[a-z-]*id-)\d+", r"\1", diagram)


def card_of(text: str) -> ElementTree.Element:
    return parsed(text[text.index('<div class="greedyrls-card') :])


@pytest.mark.parametrize("kind", [GreedyRLSRegressor, GreedyRLSClassifier])
def test_estimators_show_the_diagram_and_the_path(kind: Any) -> None:
    X, y = hostile_frame()
    target = y if kind is GreedyRLSRegressor else np.where(y > 0.5, "<b>high</b>", "low")
    model = kind(5, alpha=1.0)
    for text in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert without_numbers(text) == without_numbers(estimator_html_repr(model))
    model.fit(X, target)
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    expected = without_numbers(estimator_html_repr(model)) + model.path_._repr_html_()
    assert without_numbers(bundle["text/html"]) == expected
    assert without_numbers(model._repr_html_()) == expected
    assert "<script>alert" not in expected
    assert "greedyrls-card" not in clone(model)._repr_html_()


def test_another_size_is_marked() -> None:
    X, y = data()
    model = GreedyRLSRegressor(5, alpha=1.0).fit(X, y)
    smaller = model.with_n_features(2)
    card = card_of(smaller._repr_html_())
    assert "This model has the first 2 features of the path." in text_of(card)
    (marked,) = [row for row in card.iter("tr") if row.get("class") == "greedyrls-chosen"]
    assert text_of(marked).startswith("✓ 2")
    assert "This model has" not in model._repr_html_()
    assert "2 of 12 features · 5 on the path" in text_of(card)


def test_diagrams_of_others_are_theirs() -> None:
    X, y = data()
    pipeline = make_pipeline(StandardScaler(), GreedyRLSRegressor(2, alpha=1.0))
    search = GridSearchCV(pipeline, {"greedyrlsregressor__n_features_to_select": [1, 2]}, cv=2)
    for model in (pipeline, pipeline.fit(X, y), search, search.fit(X, y)):
        text = model._repr_html_()
        assert "GreedyRLSRegressor" in text
        assert "greedyrls-card" not in text


def test_text_alone_where_that_is_asked_for() -> None:
    X, y = data()
    model = GreedyRLSRegressor(2, alpha=1.0).fit(X, y)
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert model._repr_mimebundle_() == {"text/plain": repr(model)}
    assert hasattr(model, "_repr_html_")
