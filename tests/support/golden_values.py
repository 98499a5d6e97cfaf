"""The data behind the golden files, how these are read, and what is compared of each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from greedyrls import LinearModel, SelectionPath, SelectionResult, greedy_path
from greedyrls.assess import PathAssessment, PermutationNull, Stability

KINDS: dict[str, Any] = {
    "greedyrls.assessment": PathAssessment,
    "greedyrls.model": LinearModel,
    "greedyrls.null": PermutationNull,
    "greedyrls.path": SelectionPath,
    "greedyrls.result": SelectionResult,
    "greedyrls.stability": Stability,
}
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")


def numbers() -> tuple[Any, Any]:
    """X (30 × 8) and y: eighths, the same to the last bit everywhere."""
    # A linear congruential generator: random numbers of NumPy may change between its versions.
    state, values = 12345, []
    for _ in range(30 * 9):
        state = (1103515245 * state + 12345) % 2**31
        values.append(state >> 16)
    drawn = (np.array(values).reshape(30, 9) % 33 - 16) / 8.0
    X, noise = drawn[:, :8], drawn[:, 8]
    return X, 2.0 * X[:, 0] - X[:, 2] + 0.5 * X[:, 5] + 0.25 * X[:, 3] + noise


def with_decoy() -> tuple[Any, Any]:
    """X and y whose best single feature, the first, is superfluous next to two others."""
    X, _ = numbers()
    decoy = 2.0 * X[:, 0] - X[:, 2] + 0.5 * np.roll(X[:, 4], 7)
    return np.column_stack([decoy, X]), 2.0 * X[:, 0] - X[:, 2] + 0.125 * X[:, 5]


def several_targets() -> Any:
    """Y (30 × 2)."""
    X, y = numbers()
    return np.column_stack([y, X[:, 1] - X[:, 0] + 0.25 * X[:, 7]])


def classes() -> Any:
    """Labels −1 and 1 of the rows."""
    return np.where(numbers()[1] > 0.0, 1.0, -1.0)


def _search(
    options: dict[str, Any],
) -> Callable[[Path | None, Callable[..., Any] | None], SelectionPath]:
    X, y = numbers()

    def search(file: Path | None, callback: Callable[..., Any] | None = None) -> SelectionPath:
        return greedy_path(X, y, checkpoint=file, callback=callback, **options)

    return search


# Searches whose checkpoints are golden files: cut off after the first step, or at their end.
CHECKPOINTS = {
    "begun": _search({"n_features": 4, "n_runners_up": 2, "forced_features": [1]}),
    "nested-begun": _search(
        {
            "n_features": "auto",
            "max_features": 4,
            "alpha": [0.5, 8.0, 128.0],
            "alpha_cv": KFold(3),
            "cv": 5,
            "sample_weight": 1.0 + np.arange(30) % 3,
        }
    ),
    "finished": _search({"n_features": 3, "loss": "absolute"}),
}


def read_golden(file: Path) -> Any:
    """The object that a file holds."""
    text = file.read_text(encoding="utf-8")
    return KINDS[json.loads(text)["format"]].from_json(text)


def some_rows(n: int) -> Any:
    """Rows (4 × n) that no model was fitted to."""
    return (np.arange(4 * n).reshape(4, n) * 7 % 11 - 5) / 2.0


SOME_TABLE = {
    "a": [1.5, None, -2.0, 0.25],
    "b": [0.0, 1.0, -1.0, 2.0],
    "c": [2.0, -0.5, 0.5, 1.0],
    "d": [1.0, 1.0, -3.0, 0.125],
    "hue": ["red", "green", None, "violet"],
    "flag": [True, False, True, False],
    "day": ["2010-01-09", None, "31.12.2015", "06.01.2010 12:00"],
}


def numbers_in(sentence: str) -> list[str]:
    """The numbers in a sentence: its words may be put better one day, what it says may not."""
    return _NUMBER.findall(sentence)


def expected_of(value: Any) -> dict[str, Any]:
    """What an object says, as plain numbers and strings."""
    return _EXPECTED[type(value)](value)


def _of_path(path: SelectionPath) -> dict[str, Any]:
    sizes = range(1, len(path) + 1)
    return {
        "features": [path.features(k).tolist() for k in sizes],
        "names": path.names(),
        "group_names": path.group_names(),
        "changes": path.changes(),
        "is_nested": path.is_nested,
        "actions": [step.action for step in path.steps],
        "forced": [step.forced for step in path.steps],
        "losses": _plain(path.losses),
        "initial_loss": path.initial_loss,
        "standard_errors": _plain(path.standard_errors),
        "fold_losses": _plain(path.fold_losses),
        "runners_up": _plain(path.runners_up),
        "held_out": _plain(path.held_out),
        "costs": _plain(path.costs),
        "coefficients": [_plain(path.coef(k)) for k in sizes],
        "intercepts": [_plain(path.intercept(k)) for k in sizes],
        "predictions": _plain(path.predict(some_rows(path.settings.n_features_in))),
        "alpha": path.settings.alpha,
        "penalty_chosen_on": None if path.surface is None else _plain(path.surface.losses),
        "chosen_size": path.chosen_size,
        "sentence": path.sentence,
        "stop_reason": path.stop_reason.value,
    }


def _of_model(model: LinearModel) -> dict[str, Any]:
    return {
        "columns": [column.name for column in model.columns],
        "terms": [term.name for term in model.terms],
        "coefficients": [list(term.coefficients) for term in model.terms],
        "intercepts": list(model.intercepts),
        "classes": None if model.classes is None else list(model.classes),
        "scores": _plain(model.scores(SOME_TABLE)),
        "predictions": _plain(model.predict(SOME_TABLE)),
        "unseen": model.unseen(SOME_TABLE),
    }


def _of_assessment(assessment: PathAssessment) -> dict[str, Any]:
    return {
        "test": _plain(assessment.test),
        "selection": _plain(assessment.selection),
        "random": _plain(assessment.random),
        "estimate": _plain(assessment.estimate),
        "initial_loss": assessment.initial_loss,
        "gain": _plain(assessment.gain),
        "interval": _plain(assessment.interval),
        "features": [order.tolist() for order in assessment.features],
        "stability": _of_stability(assessment.stability),
        "sentence": assessment.sentence,
        "warnings": list(assessment.warnings),
    }


def _of_stability(stability: Stability) -> dict[str, Any]:
    return {
        "index": _plain(stability.index),
        "standard_error": _plain(stability.standard_error),
        "frequencies": _plain(stability.frequencies()),
        "names": stability.names(range(stability.n_features_in)),
        "sentence": stability.sentence,
    }


def _of_null(null: PermutationNull) -> dict[str, Any]:
    return {
        "losses": _plain(null.losses),
        "p_values": _plain(null.p_values),
        "chosen_p_value": null.chosen_p_value,
        "band": _plain(null.band()),
        "sentence": null.sentence,
    }


def _of_result(result: SelectionResult) -> dict[str, Any]:
    return {
        "rows": [{key: _plain(value) for key, value in row.items()} for row in result.rows()],
        "model": _of_model(result.model()),
        "path": _of_path(result.path),
        "assessment": None if result.assessment is None else _of_assessment(result.assessment),
        "stability": None if result.stability is None else _of_stability(result.stability),
        "null": None if result.null is None else _of_null(result.null),
        "sentence": result.sentence,
        "warnings": list(result.warnings),
    }


_EXPECTED: dict[type, Callable[[Any], dict[str, Any]]] = {
    LinearModel: _of_model,
    PathAssessment: _of_assessment,
    PermutationNull: _of_null,
    SelectionPath: _of_path,
    SelectionResult: _of_result,
    Stability: _of_stability,
}


def _plain(value: Any) -> Any:
    """Arrays, tuples and NumPy's numbers as lists and numbers, null where there is no number."""
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return None if isinstance(value, float) and np.isnan(value) else value
