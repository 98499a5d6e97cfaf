"""Small charts of how predictions compare with what was observed, and of coefficients, as SVG.

They stand side by side where there is room, and one below the other on a telephone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._base import Axis, Float
from ..app import SelectionResult
from ..assess import ROC_GRID, Predictions
from ..path import t_quantile
from ._markup import tag, through, words
from ._names import Name, Names
from ._words import count, number, percent, plain_name

_WIDTH, _HEIGHT = 360.0, 320.0
_TOP, _RIGHT, _BOTTOM = 34.0, 14.0, 46.0
_CHARACTER = 7.2
_TICKS = 5
# Room at the ends of an axis, as a share of its range.
_MARGIN = 0.04
# A chart of more coefficients than this is too long; the table has all.
MOST_COEFFICIENTS = 30
# Of a class in the table of classes.
_CLASS_LENGTH = 24
_LEVEL = 0.95


class Picture(NamedTuple):
    """A drawing with a heading."""

    heading: str
    svg: str


class Confusion(NamedTuple):
    """A table of classes against predicted classes."""

    classes: list[str]
    rows: list[list[tuple[str, str, int]]]  # count, share of the class, shade from 0 to 8
    is_weighted: bool


class Interval(NamedTuple):
    """A coefficient with its interval, on the chart from 0 to 100."""

    name: Name
    text: str
    place: float
    low: float
    high: float


class Intervals(NamedTuple):
    """Standardised coefficients with their intervals."""

    rows: list[Interval]
    zero: float
    note: str


def draw_fit(result: SelectionResult) -> list[Picture]:
    """Charts of the predictions of a result; none where there are none."""
    predictions = result.predictions
    if predictions is None:
        return []
    if result.classes is None:
        return _regression_charts(predictions, plain_name(result.target))
    found = []
    if predictions.roc is not None:
        found.append(_roc_chart(predictions.roc, result))
    if predictions.reliability is not None:
        found.append(_reliability_chart(predictions.reliability, result))
    return found


def fit_note(result: SelectionResult) -> str:
    """Which rows the charts show."""
    predictions = result.predictions
    if predictions is None:
        return ""
    shown = ""
    if len(predictions.observed) and predictions.n_rows > len(predictions.observed):
        shown = (
            f" {count(len(predictions.observed))} of {count(predictions.n_rows)} rows, drawn at "
            "random, are shown."
        )
    if predictions.source == "test folds":
        told = "Rows of the test folds: neither features nor coefficients were chosen with them."
    else:
        left = "each row" if predictions.source == "leave-one-out" else "each fold"
        told = (
            f"With {left} left out when coefficients were fitted; but all rows took part in the "
            "selection, so this is slightly optimistic. Run with --assess for an honest estimate."
        )
    return told + shown


def _regression_charts(predictions: Predictions, target: str) -> list[Picture]:
    observed, predicted = predictions.observed, predictions.predicted
    if not len(observed):
        return []
    both = np.concatenate([observed, predicted])
    low, high = _range(both)
    frame = _Frame(low, high, low, high, f"observed {target}", f"predicted {target}")
    diagonal = frame.line([(low, low), (high, high)], "without")
    first = frame.drawn(
        diagonal,
        frame.dots(observed, predicted),
        title="Predicted against observed",
        description=_fit_in_words(observed, predicted, target),
    )
    residuals = observed - predicted
    across, up = _range(predicted), _range(residuals)
    frame = _Frame(*across, *up, f"predicted {target}", "observed − predicted")
    second = frame.drawn(
        frame.line([(across[0], 0.0), (across[1], 0.0)], "without"),
        frame.dots(predicted, residuals),
        title="Residuals",
        description=(
            f"Residuals from {number(float(residuals.min()), 3)} to "
            f"{number(float(residuals.max()), 3)}, half of them within "
            f"{number(float(np.median(np.abs(residuals))), 3)} of zero."
        ),
    )
    return [Picture("Predicted against observed", first), Picture("Residuals", second)]


def _fit_in_words(observed: Float, predicted: Float, target: str) -> str:
    spread = float(np.std(observed)) * float(np.std(predicted))
    correlation = ""
    if spread > 0.0:
        value = float(np.corrcoef(observed, predicted)[0, 1])
        correlation = f" Their correlation is {value:.2f}."
    return (
        f"{count(len(observed))} rows: observed {target} from {number(float(observed.min()), 3)} "
        f"to {number(float(observed.max()), 3)}, predicted from "
        f"{number(float(predicted.min()), 3)} to {number(float(predicted.max()), 3)}.{correlation}"
    )


def _roc_chart(roc: Float, result: SelectionResult) -> Picture:
    area = float(np.trapezoid(roc, ROC_GRID))
    auc = None if result.class_rates is None else result.class_rates.auc
    told = f"AUC {area if auc is None else auc:.3f}"
    positive = plain_name(str((result.classes or ("", "?"))[1]), _CLASS_LENGTH)
    frame = _Frame(0.0, 1.0, 0.0, 1.0, "false positive rate", f"true positive rate ({positive})")
    points = list(zip(ROC_GRID.tolist(), roc.tolist(), strict=True))
    svg = frame.drawn(
        frame.line([(0.0, 0.0), (1.0, 1.0)], "without"),
        tag("g", frame.line(points, "line"), class_="curve test"),
        frame.remark(told),
        title="ROC curve",
        description=(
            f"{told}. Half of the cases are found at a false positive rate of "
            f"{number(float(ROC_GRID[np.argmax(roc >= 0.5)]), 2)}."
        ),
    )
    return Picture("ROC curve", svg)


def _reliability_chart(reliability: Float, result: SelectionResult) -> Picture:
    weight, chance, event = reliability
    is_known = np.isfinite(chance)
    what = "most probable class"
    if len(result.classes or ()) == 2:
        what = plain_name(str((result.classes or ("", "?"))[1]), _CLASS_LENGTH)
    share = "share that is right" if what == "most probable class" else f"observed share of {what}"
    frame = _Frame(0.0, 1.0, 0.0, 1.0, f"predicted probability of {what}", share)
    weight, chance, event = weight[is_known], chance[is_known], event[is_known]
    # Wilson's, which stays within 0 and 1.
    z = 1.96
    middle = (event + z * z / (2.0 * weight)) / (1.0 + z * z / weight)
    half = z / (1.0 + z * z / weight)
    half = half * np.sqrt(event * (1.0 - event) / weight + z * z / (4.0 * weight**2))
    bars = [
        frame.bar(float(x), float(low), float(high))
        for x, low, high in zip(chance, middle - half, middle + half, strict=True)
    ]
    told = "; ".join(
        f"{number(float(x), 2)} predicted, {number(float(y), 2)} observed ({number(float(w), 3)})"
        for w, x, y in zip(weight, chance, event, strict=True)
    )
    svg = frame.drawn(
        frame.line([(0.0, 0.0), (1.0, 1.0)], "without"),
        tag("path", d="".join(bars), class_="bars test") if bars else "",
        tag("g", frame.dots(chance, event, 4.0), class_="curve test"),
        title="Reliability of the probabilities",
        description=f"By ranges of probability (rows in brackets): {told}.",
    )
    return Picture("Reliability of the probabilities", svg)


class _Frame:
    """Axes with their labels."""

    def __init__(
        self, left: float, right: float, low: float, high: float, below: str, beside: str
    ) -> None:
        self._below, self._beside = below, beside
        self._up = Axis(low, high, _HEIGHT - _BOTTOM, _TOP)
        longest = max((len(number(tick)) for tick in self._up.ticks(_TICKS)), default=1)
        start = 12.0 + longest * _CHARACTER
        self._across = Axis(left, right, start, _WIDTH - _RIGHT)

    def line(self, points: list[tuple[float, float]], name: str) -> str:
        """A line through points."""
        places = [(self._across.place(x), self._up.place(y)) for x, y in points]
        return tag("path", d=through(places), class_=name)

    def dots(self, across: Float, up: Float, radius: float = 2.6) -> str:
        """A dot for each pair; many of them as one path, which is short."""
        d = "".join(
            f"M{self._across.place(float(x)):.1f} {self._up.place(float(y)):.1f}h0"
            for x, y in zip(across, up, strict=True)
        )
        return tag("path", d=d, class_="points", stroke_width=2.0 * radius) if d else ""

    def bar(self, x: float, low: float, high: float) -> str:
        """A piece of a path: from low to high, with short ends."""
        place, top, bottom = self._across.place(x), self._up.place(high), self._up.place(low)
        return f"M{place:.1f} {bottom:.1f}V{top:.1f}m-3 0h6M{place - 3:.1f} {bottom:.1f}h6"

    def remark(self, text: str) -> str:
        """A few words in the lower right corner."""
        x, y = self._across.end - 6.0, self._up.start - 10.0
        return tag("text", words(text), x=x, y=y, class_="end remark")

    def drawn(self, *inside: str, title: str, description: str) -> str:
        """The chart with its axes."""
        identity = f"fit-{title.split()[0].lower()}"
        across, up = self._across, self._up
        scale = []
        for tick in up.ticks(_TICKS):
            y = up.place(tick)
            scale.append(
                tag("path", d=f"M{across.start:.1f} {y:.1f}H{across.end:.1f}", class_="grid")
            )
            scale.append(
                tag("text", words(number(tick)), x=across.start - 6.0, y=y + 4.5, class_="end")
            )
        scale.append(
            tag("path", d=f"M{across.start:.1f} {up.start:.1f}H{across.end:.1f}", class_="axis")
        )
        for tick in across.ticks(_TICKS):
            x = across.place(tick)
            scale.append(tag("path", d=f"M{x:.1f} {up.start:.1f}v5", class_="axis"))
            scale.append(tag("text", words(number(tick)), x=x, y=up.start + 20.0, class_="middle"))
        middle = (across.start + across.end) / 2.0
        scale.append(
            tag("text", words(self._below), x=middle, y=_HEIGHT - 6.0, class_="middle measure")
        )
        scale.append(tag("text", words(self._beside), x=0.0, y=16.0, class_="measure"))
        return tag(
            "svg",
            tag("title", words(title), id=f"{identity}-title"),
            tag("desc", words(description), id=f"{identity}-description"),
            tag("g", *scale, class_="scale"),
            *inside,
            viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
            role="img",
            aria_labelledby=f"{identity}-title {identity}-description",
            class_="chart",
        )


def _range(values: Float) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = _MARGIN * ((high - low) or abs(high) or 1.0)
    return low - margin, high + margin


def confusion_table(result: SelectionResult) -> Confusion | None:
    """Who is taken for whom, if the result is one of classes, and they are few."""
    predictions = result.predictions
    if predictions is None or predictions.confusion is None or result.classes is None:
        return None
    table = predictions.confusion
    totals = table.sum(axis=1, keepdims=True)
    shares = np.divide(table, totals, out=np.zeros_like(table), where=totals > 0.0)
    is_whole = bool((table == np.round(table)).all())
    return Confusion(
        [plain_name(str(label), _CLASS_LENGTH) for label in result.classes],
        [
            [
                (
                    count(round(value)) if is_whole else number(value),
                    percent(share),
                    # The darkest shade of the style sheet is 0.
                    8 - min(8, int(8.99 * share)),
                )
                for value, share in zip(values, own, strict=True)
            ]
            for values, own in zip(table.tolist(), shares.tolist(), strict=True)
        ],
        not is_whole,
    )


def coefficient_intervals(result: SelectionResult, names: Names) -> Intervals | None:
    """Standardised coefficients of the chosen model, largest first, with 95 % intervals.

    None of several outputs, of too many features, and where errors are not known.
    """
    errors = result.coefficient_errors
    if errors is None or len(errors) != 1 or not 0 < errors.shape[1] - 1 <= MOST_COEFFICIENTS:
        return None
    own = errors[0, 1:]
    values = result.standardised_coefficients(result.size)[0]
    if not np.isfinite(own).all():
        return None
    width = t_quantile(_LEVEL, result.data.n_rows, None) * own
    lows, highs = values - width, values + width
    axis = Axis(min(0.0, float(lows.min())), max(0.0, float(highs.max())), 0.0, 100.0)
    indices = result.path.features(result.size).tolist()
    rows = [
        Interval(
            names.of(indices[place]),
            f"{number(float(values[place]), 3)} "
            f"({number(float(lows[place]), 3)} to {number(float(highs[place]), 3)})",
            axis.place(float(values[place])),
            axis.place(float(lows[place])),
            axis.place(float(highs[place])),
        )
        for place in np.argsort(-np.abs(values), kind="stable").tolist()
    ]
    note = (
        "95% intervals as if these features had been given in advance: that they were selected "
        "with the same rows makes the intervals too narrow, and a penalty draws coefficients "
        "towards zero."
    )
    return Intervals(rows, axis.place(0.0), note)
