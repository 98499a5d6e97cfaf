"""Held-out predictions and errors of a model on the rows it was fitted to."""

from __future__ import annotations

import numpy as np

from .._base import Float
from .._problem import make_targets
from .._select import Selected, held_out_margins
from ..assess import (
    Predictions,
    class_indices,
    jackknife_errors,
    part_of_classes,
    part_of_numbers,
    shown_rows,
    united,
)
from ..path import SelectionPath
from ._analysis import make_selected_plan, make_selected_problem
from ._feature_blocks import columns_of
from ._preparation import Prepared
from ._question import Question


def own_predictions(
    prepared: Prepared, question: Question, path: SelectionPath
) -> Predictions | None:
    """Return predictions of the chosen model, with each row or fold of the search left out.

    None without features.
    """
    if not path.chosen_size:
        return None
    selected = _selected(prepared, question, path)
    targets = make_targets(prepared.y, prepared.task)
    Y = selected.problem.Y
    source, parts = held_out_margins(selected, Y)
    assert source != "outer folds"
    is_shown, summaries, counted = shown_rows(len(Y)), [], []
    for rows, values in parts:
        weights = selected.weights[rows]
        if targets.labels is None:
            summaries.append(part_of_numbers(Y[rows, 0], values[:, 0], is_shown[rows]))
        else:
            is_known = np.isfinite(values).all(axis=1)
            scores = values[is_known]
            classes = class_indices(Y[rows][is_known])
            summaries.append(
                part_of_classes(classes, scores, class_indices(scores), weights[is_known])
            )
        counted.append(float(weights.sum()))
    return united(summaries, np.array(counted), source, targets.labels is not None)


def coefficient_errors(prepared: Prepared, question: Question, path: SelectionPath) -> Float | None:
    """Return standard errors of intercept and coefficients of the chosen model, (t × 1 + k).

    Rows of a group are left out together. None without features.
    """
    size = path.chosen_size
    if not size:
        return None
    selected = _selected(prepared, question, path)
    problem, features = selected.problem, path.features(size)
    moments = path.moments.of(tuple(features.tolist()))
    scale = np.eye(len(features)) if moments.penalty is None else moments.penalty
    coefficients, intercepts = jackknife_errors(
        columns_of(prepared.X, features),
        problem.Y,
        selected.penalty * scale,
        weights=problem.weights,
        groups=prepared.groups,
        fit_intercept=problem.fit_intercept,
    )
    return np.column_stack([intercepts, coefficients])


def _selected(prepared: Prepared, question: Question, path: SelectionPath) -> Selected:
    """Return the path with its problem and plan, without the folds that chose the penalty."""
    problem = make_selected_problem(prepared, path, question)
    plan = make_selected_plan(prepared, path, question, problem)
    return Selected(path, problem, plan, None, path.settings.refit_alpha)
