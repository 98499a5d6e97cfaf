"""The model of each size as text: coefficients in the units of the data and standardised."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._base import column, padded
from ..app import LinearModel, SelectionResult
from ._names import Name, Names, together
from ._scores import best_known_score, source_in_words
from ._thin import thinned_models
from ._words import NONE, number, plain_name

# Most coefficients in the file, over all sizes and outputs; each takes about twenty bytes.
_MOST_COEFFICIENTS = 35_000
_ROUNDING = 1e-12


class Row(NamedTuple):
    """A feature of a model, as a row of its table."""

    position: int  # among all features of the path
    step: int
    name: Name
    original: list[str]  # for each output, in the units of the data
    standard: list[str]
    bar: int  # length of a bar from −100 to 100; 0 with several outputs
    is_continued: bool  # whether the row above has the same column


class Model(NamedTuple):
    """The model of a size, with its loss."""

    size: int
    rows: list[Row]  # levels of a column are adjacent
    intercepts: list[str]
    standard_intercepts: list[str]
    penalty: str
    loss: str
    measure: str
    source: str  # source of the loss: "test", "held_out" or "own"
    source_words: str


def make_model(result: SelectionResult, names: Names, k: int) -> Model:
    """Return the model on the first k features."""
    model = result.model(k)
    standard = result.standardised_coefficients(k).T  # (k × outputs)
    largest = float(np.abs(standard).max(initial=0.0))
    is_single = standard.shape[1] == 1
    columns = [feature.column for feature in result.features_of(k)]
    positions = [names.positions[index] for index in result.path.features(k).tolist()]
    # Effects of one standard deviation can be compared: all to the same decimals.
    effects = column(standard.ravel().tolist())
    rows: list[Row] = []
    before = None
    for term in together(columns):
        values = [float(value) for value in standard[term]]
        bar = round(100.0 * values[0] / largest) if is_single and largest > 0.0 else 0
        rows.append(
            Row(
                positions[term],
                names.sizes[positions[term]],
                names.path[positions[term]],
                [padded(value) for value in model.terms[term].coefficients],
                effects[term * standard.shape[1] : (term + 1) * standard.shape[1]],
                bar,
                columns[term] == before,
            )
        )
        before = columns[term]
    score = best_known_score(result, k)
    penalties = result.path.refit_alphas
    penalty = number(result.path.settings.alpha if penalties is None else penalties[k - 1])
    if not k:
        penalty = NONE  # the intercept has no penalty
    return Model(
        k,
        rows,
        [_intercept(value, largest) for value in model.intercepts],
        [_intercept(float(entry), largest) for entry in np.atleast_1d(result.path.intercept(k))],
        penalty,
        score.text,
        score.measure,
        score.source,
        source_in_words(result, score.source),
    )


def _intercept(value: float, largest: float) -> str:
    """Return an intercept as text; 0 if it is rounding compared with the effects of features."""
    return padded(0.0 if abs(value) < _ROUNDING * largest else value)


def has_scales(result: SelectionResult) -> bool:
    """Whether the search saw features in another scale than that of the data."""
    return any(feature.scale != 1.0 for feature in result.features)


def offered_sizes(result: SelectionResult) -> list[int]:
    """Return the sizes whose models are in the report: all, unless they are too many.

    Size 0 is included only if no features were chosen.
    """
    outputs = len(np.atleast_1d(result.path.intercept(1)))
    sizes = thinned_models(len(result.path), [result.size], outputs, _MOST_COEFFICIENTS)
    return sizes if result.size else [0, *sizes]


def output_names(result: SelectionResult) -> list[str]:
    """Return the names of the outputs of the model; none for a single one."""
    outputs = len(np.atleast_1d(result.path.intercept(1)))
    if outputs == 1:
        return []
    if result.classes is not None and len(result.classes) == outputs:
        return [plain_name(str(label)) for label in result.classes]
    return [f"output {index + 1}" for index in range(outputs)]


def reading(model: LinearModel, target: str) -> str:
    """Return a sentence on how predictions are computed from the coefficients."""
    classes = None if model.classes is None else [plain_name(str(label)) for label in model.classes]
    total = (
        "the intercept plus, for each row of the table, the coefficient times the value of the "
        "column"
    )
    if any(term.level is not None for term in model.terms):
        total += " (1 where a text column has that text, else 0)"
    if classes is None:
        return f"The prediction of {target} is {total}."
    if len(classes) == 2:
        return f"The score is {total}. Above 0 the model says {classes[1]}, otherwise {classes[0]}."
    return f"Each class has a score: {total}. The model says the class of the largest score."


def packed(model: Model, is_nested: bool) -> dict[str, object]:
    """Return a model for the script: numbers as text, in the order of selection.

    Features are separated by ";". If the path is nested, their indices are implied.
    """
    rows = sorted(model.rows, key=lambda row: row.position)
    return {
        **({} if is_nested else {"places": [row.position for row in rows]}),
        "own": ";".join(" ".join(row.original) for row in rows),
        "standard": ";".join(" ".join(row.standard) for row in rows),
        "bars": [row.bar for row in rows],
        "intercepts": model.intercepts,
        "standardIntercepts": model.standard_intercepts,
        "penalty": model.penalty,
        "loss": model.loss,
        "measure": model.measure,
        "source": model.source,
    }
