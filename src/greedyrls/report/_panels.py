"""The panels of the path charts: one for each measure of losses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .._base import Float, interval, percent
from ..app import SelectionResult
from ..path import Reading, measure_in_words, reading_of
from ._scores import Estimate, fitted, held_out_estimate, own_estimate, tested_estimate
from ._words import with_error

# Also classes of the style sheet.
Kind = Literal["test", "held-out", "own", "random"]
# The share of permutations in the band.
LEVEL = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A loss at the sizes 1, 2, …; NaN if unknown."""

    kind: Kind
    label: str
    mean: Float  # (k)
    error: Float | None  # (k), None if it is not drawn

    @property
    def is_honest(self) -> bool:
        """Whether the loss is on samples that took no part in the selection."""
        return self.kind in ("test", "held-out")


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Curves in one measure."""

    measure: str  # in words
    curves: tuple[Curve, ...]  # the most honest first
    without: float  # loss without features
    band: tuple[Float, Float] | None = None  # of permuted targets, (k) each
    band_label: str = ""
    note: str = ""  # the purpose of this panel, if there are several

    @property
    def has_losses(self) -> bool:
        """Whether there are curves other than random features."""
        return any(curve.kind != "random" for curve in self.curves)

    def at(self, k: int) -> list[tuple[str, str]]:
        """Return labels and losses at a size, as text."""
        lines = []
        for curve in self.curves:
            if np.isfinite(curve.mean[k - 1]):
                error = np.nan if curve.error is None else curve.error[k - 1]
                lines.append((curve.label, with_error(float(curve.mean[k - 1]), float(error))))
        if self.band is not None and k <= len(self.band[0]) and np.isfinite(self.band[0][k - 1]):
            low, high = (float(end[k - 1]) for end in self.band)
            lines.append((self.band_label, interval(low, high)))
        return lines


def make_panels(result: SelectionResult) -> list[Panel]:
    """Return a panel of honest losses, and one of the criterion of the search if it differs."""
    measures = list(dict.fromkeys((result.measure, result.path.settings.loss)))
    panels = [_panel(result, measure) for measure in measures]
    panels = [panel for panel in panels if panel.has_losses]
    if len(panels) == 1:
        return panels
    first, second = panels
    notes = (
        f"The error of the models: the {first.measure}.",
        f"The criterion of the search: the {second.measure}.",
    )
    return [
        Panel(
            panel_drawn.measure,
            panel_drawn.curves,
            panel_drawn.without,
            panel_drawn.band,
            panel_drawn.band_label,
            note,
        )
        for panel_drawn, note in zip(panels, notes, strict=True)
    ]


def _panel(result: SelectionResult, measure: str) -> Panel:
    path, assessment, length = result.path, result.assessment, len(result.path)
    is_assessed = assessment is not None and assessment.measure == measure
    reading = _drawn_as(result, measure)
    curves = _honest_curves(result, measure)
    estimate = own_estimate(result)
    how = "leave-one-out" if path.settings.cv == "loo" else path.settings.cv
    if estimate.measure == measure:
        curves.append(_curve("own", f"the selection's own estimate ({how})", estimate))
    elif assessment is not None:
        mean, error = (fitted(part, length) for part in assessment.selection)
        believed = Estimate(mean, error, measure)
        if np.isfinite(believed.mean).any():
            curves.append(_curve("own", "the selections' own estimate in the folds", believed))
    if assessment is not None and is_assessed:
        mean = fitted(assessment.random.mean, length)
        if np.isfinite(mean).any():
            curves.append(Curve("random", "as many features drawn at random", mean, None))
    null = result.null
    has_band = null is not None and null.measure == measure
    without = path.initial_loss
    if assessment is not None and is_assessed:
        without = assessment.initial_loss
    band = _band(result) if has_band else None
    return Panel(
        reading.name,
        tuple(_as_read(curve, reading) for curve in curves),
        float(reading.value(without)),
        None if band is None else (reading.value(band[0]), reading.value(band[1])),
        f"own estimate on permuted targets (middle {percent(LEVEL)})" if has_band else "",
    )


def _drawn_as(result: SelectionResult, measure: str) -> Reading:
    """Return how losses are drawn: errors in the units of the target, or losses of classes."""
    if measure == "squared" and result.task == "regression":
        return reading_of(measure, is_classification=False)
    words = measure_in_words(measure)
    return Reading(words, words, "loss")


def _as_read(curve: Curve, reading: Reading) -> Curve:
    error = None if curve.error is None else reading.error(curve.mean, curve.error)
    return replace(curve, mean=reading.value(curve.mean), error=error)


def _honest_curves(result: SelectionResult, measure: str) -> list[Curve]:
    """Return the test curve, and the held-out curve if the test curve is missing or too short."""
    curves = []
    test, held_out = tested_estimate(result), held_out_estimate(result)
    missing = np.ones(len(result.path), dtype=bool)
    if test is not None and test.measure == measure and np.isfinite(test.mean).any():
        curves.append(_curve("test", "on test folds", test))
        missing = ~np.isfinite(test.mean)
    if (
        held_out is not None
        and held_out.measure == measure
        and np.isfinite(held_out.mean[missing]).any()
    ):
        curves.append(_curve("held-out", "held out while the penalty was chosen", held_out))
    return curves


def _curve(kind: Kind, label: str, estimate: Estimate) -> Curve:
    return Curve(kind, label, estimate.mean, estimate.error)


def _band(result: SelectionResult) -> tuple[Float, Float] | None:
    """Return the middle of the permutations at each size that all of them reached."""
    if result.null is None or not len(result.null.null_losses):
        return None
    low, high = result.null.band(LEVEL)
    return fitted(low, len(result.path)), fitted(high, len(result.path))
