"""What a model says of the rows it was fitted to, each left out in turn."""

from __future__ import annotations

import numpy as np

from .._base import Float
from .._problem import make_targets
from .._select import Selected, held_out_margins
from ..assess import (
    Predictions,
    jackknife_errors,
    part_of_classes,
    part_of_numbers,
    places_of,
    shown_rows,
    united,
)
from ..path import SelectionPath
from ._analysis import make_selected_plan, make_selected_problem
from ._preparation import Prepared
from ._question import Question


def own_predictions(
    prepared: Prepared, question: Question, path: SelectionPath
) -> Predictions | None:
    """Predictions of the chosen model, each row or fold of the criterion left out in turn.

    None without features, and where all rows took part.
    """
    if not path.chosen_size:
        return None
    selected = _selected(prepared, question, path)
    targets = make_targets(prepared.y, prepared.task)
    Y = selected.problem.Y
    source, parts = held_out_margins(selected, Y)
    assert source != "outer folds"
    is_shown, found, counted = shown_rows(len(Y)), [], []
    for rows, values in parts:
        weights = selected.weights[rows]
        if targets.labels is None:
            found.append(part_of_numbers(Y[rows, 0], values[:, 0], is_shown[rows]))
        else:
            is_known = np.isfinite(values).all(axis=1)
            own = values[is_known]
            classes = places_of(Y[rows][is_known])
            found.append(part_of_classes(classes, own, places_of(own), weights[is_known]))
        counted.append(float(weights.sum()))
    return united(found, np.array(counted), source, targets.labels is not None)


def coefficient_errors(prepared: Prepared, question: Question, path: SelectionPath) -> Float | None:
    """Standard errors of intercept and coefficients of the chosen model, (t × 1 + k).

    Rows of a group are left out together. None without features.
    """
    size = path.chosen_size
    if not size:
        return None
    selected = _selected(prepared, question, path)
    problem, features = selected.problem, path.features(size)
    own = path.moments.of(tuple(features.tolist()))
    scale = np.eye(len(features)) if own.penalty is None else own.penalty
    coefficients, intercepts = jackknife_errors(
        prepared.X[:, features],
        problem.Y,
        selected.penalty * scale,
        weights=problem.weights,
        groups=prepared.groups,
        fit_intercept=problem.fit_intercept,
    )
    return np.column_stack([intercepts, coefficients])


def _selected(prepared: Prepared, question: Question, path: SelectionPath) -> Selected:
    """The path with what it was made of, but without the folds that chose the penalty."""
    problem = make_selected_problem(prepared, path, question)
    plan = make_selected_plan(prepared, path, question, problem)
    return Selected(path, problem, plan, None, path.settings.refit_alpha)
