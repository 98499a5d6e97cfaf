"""Select features from a prepared table, and estimate how good the selection is."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._base import Sigmoid
from .._base import count as count_in_words
from .._criteria import LooCurve, LooData
from .._problem import (
    ClassWeight,
    ClassWeights,
    Folds,
    Problem,
    make_class_weights,
    make_loss,
    make_problem,
    make_targets,
)
from .._search import Plan, make_plan
from .._select import chosen_of
from ..assess import (
    RARE,
    ClassRates,
    Curve,
    FoldRates,
    PathAssessment,
    PermutationNull,
    Stability,
    Trial,
    class_indices,
    cross_validate_path,
    measures_for,
    permutation_null,
    rates_of_folds,
    resample_path,
)
from ..estimators import GreedyRLSClassifier, GreedyRLSRegressor
from ..path import SelectionPath, fold_covariance
from ._feature_blocks import squares_of
from ._fold_plan import FoldPlan, plan_folds
from ._from_estimator import sigmoids_of
from ._preparation import Prepared
from ._question import Question
from ._table import InputError

_RUNNERS_UP = 3
# Penalty as a share of the sum of squares of a feature, if no penalty is chosen.
_MIDDLING = 1e-2


class Choice(NamedTuple):
    """A path, and the sigmoids that give probabilities of its chosen model (None: unknown)."""

    path: SelectionPath
    sigmoids: tuple[Sigmoid, ...] | None


def choose(prepared: Prepared, question: Question) -> SelectionPath:
    """Return the path, with penalty and size chosen as asked."""
    return choose_model(prepared, question, has_probabilities=False).path


def choose_model(prepared: Prepared, question: Question, has_probabilities: bool = True) -> Choice:
    """Return the path and, for a classification, the sigmoids of its probabilities."""
    folds = plan_folds(prepared, question, None)
    rows: Any = (prepared.X, prepared.y, prepared.weights, prepared.groups)
    if prepared.remote is not None:
        rows, folds = prepared.remote.fit_arguments(folds, prepared)
    is_regression = prepared.task == "regression"
    make: Any = GreedyRLSRegressor if is_regression else GreedyRLSClassifier
    of_classes: dict[str, Any] = {}
    if not is_regression:
        of_classes = {
            "class_weight": class_weight(prepared, question),
            "probability": has_probabilities,
        }
    model = make(
        question.n_features,
        alpha=question.alpha,
        cv=folds.criterion,
        loss=question.loss,
        fit_intercept=question.fit_intercept,
        forced_features=list(prepared.forced),
        direction=question.direction,
        alpha_cv=folds.penalty,
        size_rule=question.size_rule,
        max_features=question.max_features,
        n_runners_up=_RUNNERS_UP,
        n_jobs=question.n_jobs,
        verbose=question.verbose,
        **of_classes,
        **together(prepared, question),
    )
    with warnings.catch_warnings():
        # The result reports both in its own words.
        warnings.filterwarnings("ignore", message="The search was interrupted")
        warnings.filterwarnings("ignore", message="No features were chosen")
        model.fit(*rows)
    path: SelectionPath = model.path_
    settings = replace(path.settings, feature_names_in=feature_names(prepared))
    return Choice(replace(path, settings=settings), sigmoids_of(model))


def class_weight(prepared: Prepared, question: Question) -> ClassWeight | None:
    """Return class weights by label; the command line gives labels as text."""
    if question.class_weight is None or isinstance(question.class_weight, str):
        return question.class_weight
    labels = {_as_text(label): label for label in prepared.classes or ()}
    weights: dict[Any, float] = {}
    for name, weight in question.class_weight:
        if name not in labels:
            raise InputError(
                f"--class-weight names {name!r}, which is not a class of the target; its classes "
                f"are {', '.join(repr(known) for known in list(labels)[:8])}."
            )
        if labels[name] in weights:
            raise InputError(f"--class-weight of {name!r} is given more than once.")
        weights[labels[name]] = weight
    return weights


def _as_text(label: Any) -> str:
    """Return a label as people write it."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label).lower() if isinstance(label, bool) else str(label)


def together(prepared: Prepared, question: Question) -> dict[str, Any]:
    """Return the options that select all features of a column together, with costs of columns."""
    if not question.whole_columns:
        return {}
    features: dict[str, list[int]] = {}
    for index, entry in enumerate(prepared.features):
        features.setdefault(entry.column, []).append(index)
    options: dict[str, Any] = {
        "feature_groups": {name: indices for name, indices in features.items() if len(indices) > 1}
        or None
    }
    if question.costs or question.budget is not None:
        # A column with a single feature is given by number, which cannot be mistaken for a group.
        options["feature_costs"] = {
            name if len(features[name]) > 1 else features[name][0]: cost
            for name, cost in question.costs
        }
        options["budget"] = question.budget
    return options


def provisional(question: Question, prepared: Prepared) -> Question:
    """Return the same question with a medium penalty, which is answered much faster.

    Choosing the penalty takes most of the time. This result is saved if that is interrupted.
    """
    if isinstance(question.alpha, list):
        alpha = sorted(question.alpha)[len(question.alpha) // 2]
    else:
        squares = squares_of(prepared.X)
        alpha = _MIDDLING * float(np.median(squares[squares > 0.0]))
    return replace(question, alpha=alpha)


def model_curve(prepared: Prepared, question: Question, path: SelectionPath) -> Curve | None:
    """Return held-out losses of the path's models, in the way of the search; None if not needed.

    If each size has its own penalty, the loss that guided the search may differ much from that of
    the model. None if the models have the penalty of the search.
    """
    if path.refit_alphas is None:
        return None
    problem = make_selected_problem(prepared, path, question)
    plan = make_selected_plan(prepared, path, question, problem)
    penalties = np.array(path.refit_alphas)
    if plan.folds is None:
        curve = LooCurve(LooData(problem).samples, problem, chosen_of(path), plan.loss)
        return Curve(curve.own_losses(penalties), curve.own_errors(penalties))
    assert isinstance(plan.folds, Folds)
    # Weighted as in the criterion, with class weights if there are any.
    problem = replace(problem, class_weights=None)
    trial = Trial(path, plan, problem, None, path.settings.refit_alpha)
    losses, shares = trial.losses_in_folds(plan.folds, plan.loss)
    if not np.isfinite(losses).all():
        return None  # a penalty is below the rounding of the training rows of a fold
    covariance = fold_covariance(losses.T, shares)
    assert covariance is not None  # there are two folds or more
    return Curve(shares @ losses, np.sqrt(np.maximum(np.diagonal(covariance), 0.0)))


def own_rates(
    prepared: Prepared, path: SelectionPath, question: Question | None = None
) -> ClassRates | None:
    """Return error rate, balanced accuracy and AUC of the chosen model, by leave-one-out.

    The features were chosen with all rows, so these are optimistic. None for a regression, and if
    the search used folds: leaving out single rows would be far too optimistic for groups.
    """
    if prepared.task == "regression" or path.settings.cv != "loo":
        return None
    problem = make_selected_problem(prepared, path, question or Question())
    data = LooData(problem)
    trial = Trial(path, Plan(make_loss(path.settings.loss), None), problem, data, "same")
    measures = [make_loss(name) for name in measures_for(problem.n_targets)]
    losses = [
        LooCurve(data.samples, problem, chosen_of(path), measure).reported_losses(
            trial.penalties, prepared.weights, path.chosen_size
        )
        for measure in measures
    ]
    indices = class_indices(trial.predictions_on(problem, np.arange(len(prepared.y))))
    predicted = np.bincount(indices, prepared.weights, max(2, problem.n_targets))
    rates = FoldRates(
        np.array(losses),
        np.array([trial.initial_loss(measure) for measure in measures]),
        predicted.astype(np.float64),
    )
    sizes, is_weighted = np.array([path.chosen_size]), problem.class_weights is not None
    return rates_of_folds(prepared.y, [rates], sizes, np.ones(1), is_weighted)


def make_selected_plan(
    prepared: Prepared, path: SelectionPath, question: Question, problem: Problem
) -> Plan:
    """Return the plan of the search: its folds and loss."""
    return make_plan(
        problem,
        cv=plan_folds(prepared, question, None).criterion,
        groups=prepared.groups,
        loss=path.settings.loss,
        labels=make_targets(prepared.y, prepared.task).labels,
    )


def make_selected_problem(prepared: Prepared, path: SelectionPath, question: Question) -> Problem:
    """Return the problem that the path was searched on."""
    targets = make_targets(prepared.y, prepared.task)
    weights: ClassWeights | None = None
    if targets.labels is not None and targets.classes is not None:
        rule = class_weight(prepared, question)
        weights = make_class_weights(rule, targets.labels, targets.classes)
    return make_problem(
        prepared.X,
        targets.values,
        fit_intercept=path.settings.fit_intercept,
        sample_weight=prepared.weights,
        class_weights=weights,
        **together(prepared, question),
    )


def rare_classes(prepared: Prepared) -> dict[Any, int]:
    """Return the sizes of rare classes: below a tenth of the rows, and half of an equal share."""
    if prepared.task == "regression":
        return {}
    labels, counts = np.unique(prepared.y, return_counts=True)
    least = min(RARE, 0.5 / len(labels)) * len(prepared.y)
    pairs = zip(labels.tolist(), counts.tolist(), strict=True)
    return {label: count for label, count in pairs if count < least}


def rare_notes(prepared: Prepared, question: Question) -> list[str]:
    """Return advice if a class is rare and has no weight."""
    rare, total = rare_classes(prepared), len(prepared.y)
    if question.class_weight is not None or not rare:
        return []
    shown = [f"{label!r} has {size / total:.1%}" for label, size in list(rare.items())[:3]]
    more = "" if len(rare) <= 3 else f", and {len(rare) - 3} more"
    return [
        f"Rare classes: of {count_in_words(total)} rows {', '.join(shown)}{more}. Accuracy says "
        "little about them; see AUC and balanced accuracy, and --class-weight balanced."
    ]


def assess(prepared: Prepared, question: Question, folds: int) -> PathAssessment:
    """Repeat the whole selection in each outer fold."""
    plan = plan_folds(prepared, question, folds)
    assessment = cross_validate_path(
        _features_of(prepared),
        prepared.y,
        question.n_features,
        cv=plan.outer,
        random_state=question.seed,
        **_options(prepared, question, plan, question.alpha),
    )
    return replace(assessment, feature_names_in=entry_names(prepared, question))


def resample(prepared: Prepared, question: Question, path: SelectionPath, count: int) -> Stability:
    """Select features of the chosen size on halves of the rows, with the penalty of the path.

    If no features were chosen, the size is chosen again on each half.
    """
    # Two outer folds also train on half of the rows; the penalty is not chosen again.
    plan = plan_folds(prepared, replace(question, alpha=path.settings.alpha), 2)
    stability = resample_path(
        _features_of(prepared),
        prepared.y,
        path.chosen_size or question.n_features,
        n_resamples=count,
        random_state=question.seed,
        **_options_of(prepared, question, plan, path),
    )
    return replace(stability, feature_names_in=entry_names(prepared, question))


def permute(
    prepared: Prepared, question: Question, path: SelectionPath, count: int
) -> PermutationNull:
    """Select features of the chosen size on permuted targets, with the penalty of the path.

    If no features were chosen, the size is chosen again for each permutation.
    """
    plan = plan_folds(prepared, question, None)
    measure = None
    if question.class_weight is not None or rare_classes(prepared):
        # If one class is predicted for all rows, the error rate is the same for any targets.
        measure = "auc" if len(prepared.classes or ()) == 2 else "squared"
    return permutation_null(
        _features_of(prepared),
        prepared.y,
        path.chosen_size or question.n_features,
        n_permutations=count,
        measure=measure,
        random_state=question.seed,
        **_options_of(prepared, question, plan, path),
    )


def _features_of(prepared: Prepared) -> Any:
    """Return X where selections are made: on a cluster, if there is one."""
    return prepared.X if prepared.remote is None else prepared.remote.X


def _options_of(
    prepared: Prepared, question: Question, plan: FoldPlan, path: SelectionPath
) -> dict[str, Any]:
    """Return common options with penalty, loss and size (unless it is 0) taken from a path."""
    options = _options(prepared, question, plan, path.settings.alpha)
    options["loss"] = path.settings.loss
    if path.chosen_size:
        options["max_features"] = None
    return options


def _options(prepared: Prepared, question: Question, plan: FoldPlan, alpha: Any) -> dict[str, Any]:
    """Return the options common to all assessments."""
    is_chosen = question.n_features == "auto"
    return {
        "alpha": alpha,
        "inner_cv": plan.criterion,
        "loss": question.loss,
        "task": prepared.task,
        "fit_intercept": question.fit_intercept,
        "sample_weight": prepared.weights,
        "class_weight": class_weight(prepared, question),
        "groups": prepared.groups,
        "forced_features": list(prepared.forced),
        "direction": question.direction,
        "alpha_cv": plan.penalty,
        "size_rule": question.size_rule,
        "max_features": question.max_features if is_chosen else None,
        "n_jobs": question.n_jobs,
        "verbose": question.verbose,
        **together(prepared, question),
    }


def entry_names(prepared: Prepared, question: Question) -> tuple[str, ...]:
    """Return feature names; the first feature of a whole column has the name of the column."""
    names, seen = list(feature_names(prepared)), set[str]()
    if question.whole_columns:
        for index, feature in enumerate(prepared.features):
            if feature.column not in seen:
                names[index] = feature.column
            seen.add(feature.column)
    return tuple(names)


def feature_names(prepared: Prepared) -> tuple[str, ...]:
    """Return the names of all features that the search saw."""
    return tuple(feature.name for feature in prepared.features)
