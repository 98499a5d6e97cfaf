"""Results to make reports of, of searches on small data and made up, and a reader of pages."""

from __future__ import annotations

import functools
import html.parser
import json
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, load_wine

from greedyrls import (
    AlphaSurface,
    Counters,
    GreedyRLSClassifier,
    GreedyRLSRegressor,
    SelectionPath,
    SelectionResult,
    SizeChoice,
    Step,
    StopReason,
)
from greedyrls.assess import cross_validate_path, permutation_null, resample_path
from internals import (
    ColumnSummary,
    Curve,
    DataSummary,
    Feature,
    InputColumn,
    Moments,
    Origin,
    Settings,
)

HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</script><b id=injected>bold</b>",
    "\"quoted\" 'name'",
    "a&b &lt;i&gt;",
    "{{ 7 * 7 }} {% raw %}",
    "${7 * 7} `x`",
    "two\nlines\x00 and a bell\x07 \u202egnp.exe",
    "é😀中 \u2028 \u2029",
    "x" * 200,
    '" onmouseover="window.hacked = 2',
)


def make_result(
    X: np.ndarray,
    y: np.ndarray,
    names: tuple[str, ...],
    target: str = "target",
    classes: tuple[Any, ...] | None = None,
    has_levels: bool = True,
    **options: Any,
) -> SelectionResult:
    """Of a search on columns put in scale; "=" in a name parts a column from its level."""
    mean, scale = X.mean(axis=0), X.std(axis=0)
    make = GreedyRLSRegressor if classes is None else GreedyRLSClassifier
    model = make(**{"n_runners_up": 3, **options}).fit((X - mean) / scale, y)
    settings = replace(model.path_.settings, feature_names_in=names)
    path = replace(model.path_, settings=settings)
    features = []
    for index in path.indices:
        column, _, level = names[index].partition("=" if has_levels else "\0=")
        feature = Feature(column, level or None, float(mean[index]), float(scale[index]))
        features.append(feature)
    return SelectionResult(
        task="regression" if classes is None else "classification",
        target=target,
        path=path,
        features=tuple(features),
        inputs=_inputs(features, names),
        data=_data(X, y, target, features, classes),
        origin=Origin(
            f"greedyrls select patients.csv --target {target}",
            {"alpha": "auto", "seed": 0, "standardise": True, "groups": None},
            {"greedyrls": "0.1.0", "numpy": "2.4"},
            "2026-11-15T16:00:00+01:00",
            3.21,
        ),
        classes=classes,
    )


def _inputs(features: list[Feature], names: tuple[str, ...]) -> tuple[InputColumn, ...]:
    found = {}
    for feature in features:
        levels = None
        if feature.level is not None:
            start = f"{feature.column}="
            levels = tuple(name.removeprefix(start) for name in names if name.startswith(start))
        fill = 1.5 if levels is None else levels[0]
        found[feature.column] = InputColumn(feature.column, levels, fill)
    return tuple(found.values())


def _data(
    X: np.ndarray,
    y: np.ndarray,
    target: str,
    features: list[Feature],
    classes: tuple[Any, ...] | None,
) -> DataSummary:
    if classes is None:
        of_target = ColumnSummary(
            target, "number", 0, float(y.min()), float(y.mean()), float(y.max()), float(y.std())
        )
    else:
        counts = tuple((str(label), int((y == place).sum())) for place, label in enumerate(classes))
        of_target = ColumnSummary(target, "text", 0, n_levels=len(classes), levels=counts)
    columns = {
        feature.column: ColumnSummary(feature.column, "number", 0, 0.0, feature.mean, 1e5)
        if feature.level is None
        else ColumnSummary(feature.column, "text", 3, n_levels=9, levels=(("red", 20),))
        for feature in features
    }
    return DataSummary(
        "patients.csv",
        21345,
        "0123456789abcdef" * 4,
        len(X),
        X.shape[1] + 2,
        X.shape[1],
        of_target,
        tuple(columns.values()),
        ("Column 'id' was left out.",),
    )


def with_all(result: SelectionResult, X: np.ndarray, y: np.ndarray) -> SelectionResult:
    """With assessment, stability and permutations, of few folds each."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    names, task = result.path.settings.feature_names_in, result.task
    options: dict[str, Any] = {"alpha": 1.0, "task": task}
    assessment = cross_validate_path(Z, y, 7, cv=3, **options)
    stability = resample_path(Z, y, 6, n_resamples=8, **options)
    null = permutation_null(Z, y, 5, n_permutations=19, **options)
    curve = Curve(result.path.losses * 0.99, result.path.standard_errors)
    return replace(
        result,
        assessment=replace(assessment, feature_names_in=names),
        stability=replace(stability, feature_names_in=names),
        null=null,
        model_curve=curve,
    )


@functools.cache
def regression() -> SelectionResult:
    """Ten sizes, 5 penalties, three levels of a text column, a near tie, all assessments."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X[:, 0] = X[:, 2] + 0.1 * np.random.default_rng(0).standard_normal(len(X))
    colours = np.digitize(X[:, 6] + X[:, 8], np.quantile(X[:, 6] + X[:, 8], [0.3, 0.6]))
    X = np.column_stack([X[:, [0, 1, 2, 3, 4, 5, 7]], *(colours == level for level in range(3))])
    names = ("weight", "sex", "bmi", "bp", "s1", "s2", "s4", "hue=blue", "hue=green", "hue=red")
    result = make_result(X, y, names, "progression", alpha=[0.1, 1.0, 10.0, 100.0, 1e4])
    return with_all(result, X, y)


@functools.cache
def wine() -> SelectionResult:
    """Three classes; the search goes by another measure than the assessment."""
    X, y = load_wine(return_X_y=True)
    names = tuple(f"f{place}" for place in range(13))
    classes = ("Barolo", "Grignolino", "Barbera")
    result = make_result(X, y, names, "cultivar", classes, loss="squared", alpha=[0.1, 1.0, 10.0])
    return with_all(result, X, y)


@functools.cache
def hostile() -> SelectionResult:
    """Names that would be markup, with nothing but the path."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    target = "<img src=x onerror='window.hacked = 3'>"
    result = make_result(X, y, HOSTILE, target, has_levels=False, alpha=1.0)
    data = replace(
        result.data,
        file="<b id=injected>.csv",
        notes=("</ul></section><b id=injected>",),
        columns=tuple(replace(column, name=HOSTILE[0]) for column in result.data.columns[:1]),
    )
    origin = replace(result.origin, command="<b id=injected>", parameters={"<i>": "</dd><i>"})
    return replace(result, data=data, origin=origin)


def _made_up_surface(losses: np.ndarray, penalties: int) -> AlphaSurface:
    alphas, steps = np.logspace(-5, 5, penalties), len(losses)
    cells = losses + np.random.default_rng(1).random((penalties, steps))
    return AlphaSurface(
        "nested",
        alphas,
        cells,
        np.full((penalties, steps), 0.123456),
        np.stack([cells, cells]),
        np.array([0.5, 0.5]),
        "2-fold",
        float(alphas[penalties // 2]),
        steps // 2 or 1,
    )


def large(
    steps: int = 100,
    penalties: int = 50,
    n_features: int = 20_000,
    outputs: int = 1,
    name: str = "",
) -> SelectionResult:
    """Made up, with runners-up and a surface."""
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((2 * steps, steps))
    losses = 1.0 + np.exp(-np.arange(steps) / 9.0) + 0.01 * rng.random(steps)
    names = tuple(f"{name}column {place}" for place in range(n_features))
    order = rng.permutation(n_features)[:steps]
    surface = _made_up_surface(losses, penalties)
    path = SelectionPath(
        steps=tuple(
            Step(
                int(index),
                float(loss),
                0.1,
                tuple(
                    (int(other), float(loss) + 0.01) for other in rng.integers(n_features, size=9)
                ),
            )
            for index, loss in zip(order, losses, strict=True)
        ),
        initial_loss=3.0,
        settings=Settings(
            surface.alpha, True, 500, n_features, (), names, single_target=outputs == 1
        ),
        moments=Moments(
            tuple(order.tolist()),
            factor.T @ factor,
            rng.standard_normal((steps, outputs)),
            np.zeros(steps),
            np.zeros(outputs),
        ),
        counters=Counters(300, 123456, 1, 12.5),
        stop_reason=StopReason.REACHED,
        size_choice=SizeChoice(steps // 2 or 1, "min", "Half of them were chosen."),
        surface=surface,
    )
    features = tuple(Feature(names[index], None, 1.5, 2.5) for index in order)
    columns = tuple(ColumnSummary(one.column, "number", 0, 0.0, 1.0, 2.0) for one in features)
    return SelectionResult(
        task="regression" if outputs == 1 else "classification",
        target="target",
        path=path,
        features=features,
        inputs=tuple(InputColumn(feature.column) for feature in features),
        data=DataSummary(
            "large.csv", 10**9, "0" * 64, 500, n_features, n_features, columns[0], columns
        ),
        origin=Origin("greedyrls select large.csv", {}, {}, "some day", 1e5),
        classes=None if outputs == 1 else tuple(f"class {place}" for place in range(outputs)),
    )


VOID = {"meta", "link", "input", "br", "hr", "img"}


class Page(html.parser.HTMLParser):
    """The elements of a page, checked to be nested properly, with their text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.elements: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), f"twice in {tag}: {attrs}"
        if tag in VOID:
            self.elements.append((tag, attributes, ""))
        else:
            self.open.append((tag, attributes, []))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        name, attributes, parts = self.open.pop()
        assert name == tag, f"{name} is closed by {tag}"
        text = "".join(parts)
        self.elements.append((name, attributes, " ".join(text.split())))
        if self.open and tag not in ("script", "style"):
            self.open[-1][2].append(f"{text} " if tag in ("td", "th", "tr", "li", "p") else text)

    def handle_data(self, data: str) -> None:
        if self.open:
            self.open[-1][2].append(data)

    def all(self, tag: str, **wanted: str) -> list[tuple[dict[str, str | None], str]]:
        return [
            (attributes, text)
            for name, attributes, text in self.elements
            if name == tag and all(attributes.get(key) == value for key, value in wanted.items())
        ]

    def text(self, tag: str, **wanted: str) -> str:
        ((_, text),) = self.all(tag, **wanted)
        return text

    @property
    def data(self) -> Any:
        return json.loads(self.text("script", id="report-data"))
