"""The whole selection as something that can be repeated: on other rows, on permuted targets."""

from __future__ import annotations

import re
import reprlib
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._criteria import LooData, share_columns
from .._data import DenseMatrix, Matrix
from .._problem import (
    ClassWeights,
    FeatureCosts,
    FeatureGroups,
    FeatureList,
    Folds,
    Loss,
    Problem,
    Shuffle,
    Split,
    Task,
    check_weighted_classes,
    is_whole,
    make_class_weights,
    make_loss,
    make_problem,
    make_targets,
    one_per_row,
    report_non_finite,
)
from .._search import Plan, folds_of, make_plan
from .._select import Request, make_request, open_loss, select, takes_groups
from ..path import FORWARD, Direction
from ._trial import Rows, Trial


@dataclass(frozen=True, slots=True)
class Options:
    """How features, penalty and size are chosen: as in `greedy_path`, where `inner_cv` is `cv`."""

    n_features: Any
    alpha: Any
    inner_cv: Any
    loss: Any
    alpha_rule: Any
    alpha_cv: Any
    refit_alpha: Any
    size_rule: Any
    max_features: int | None
    patience: int | None
    tol: float | None
    shuffle: Shuffle  # of folds that are made of a number
    direction: Direction = FORWARD


@dataclass(frozen=True, slots=True)
class Procedure:
    """A selection with all its choices, and the data it is repeated on.

    The problem has no weights of classes: they are those of the rows of each selection, and what
    is reported goes without.
    """

    problem: Problem
    labels: NDArray[Any] | None
    groups: NDArray[Any] | None
    options: Options
    measure: Loss
    class_weights: ClassWeights | None = None

    @property
    def is_size_chosen(self) -> bool:
        """Whether the number of features is chosen, too."""
        return not is_whole(self.options.n_features)

    @property
    def criterion(self) -> str:
        """What a selection goes by, in words."""
        plan, request = self._plan_and_request(np.arange(self.problem.n_samples), None, least=0)
        how = "leave-one-out" if plan.folds is None else plan.cv
        is_open = request.rival is not None
        way = "" if plan.direction.name == "forward" else f", {plan.direction.name}"
        return f"{how}, {plan.loss.name}{' or zero_one' if is_open else ''} loss{way}"

    def shared(self) -> LooData | None:
        """Data of all rows, whose Gram columns trials on some of them can use; or none."""
        plan, _ = self._plan_and_request(np.arange(self.problem.n_samples), None, least=0)
        if not self._shares_columns(plan):
            return None
        return LooData(self.problem, is_shared=True)

    def trial(
        self,
        rows: Rows,
        counts: Float | None = None,
        whole: LooData | None = None,
        least: int = 0,
    ) -> Trial:
        """The selection on some rows, counted `counts` times; no early stop before `least`."""
        weights = self._sample_weights(rows, counts)
        if (len(rows) if weights is None else np.count_nonzero(weights)) < 2:
            raise ValueError(
                "there are fewer than 2 training samples of positive weight to select from; use "
                "more folds, or larger shares."
            )
        plan, request = self._plan_and_request(rows, counts, least)
        problem = self.problem
        data = None
        if whole is not None and counts is None and self._shares_columns(plan):
            # The other rows lose their weight, so that Gram columns of all rows serve.
            if weights is not None or len(rows) < problem.n_samples:
                full = np.zeros(problem.n_samples)
                full[rows] = 1.0 if weights is None else weights
                problem = replace(problem, weights=full)
                if isinstance(request.outer, Folds):
                    outer = _lifted(request.outer, rows, len(full))
                    groups = None if request.outer_groups is None else self.groups
                    request = replace(request, outer=outer, outer_groups=groups)
            data = LooData(problem, is_shared=True)
            share_columns(whole, data)
        else:
            # Other losses look at the rows in every step, folds have sums of their own, and rows
            # that count several times are others: there is little to share, and fewer are faster.
            problem = self._part(rows, counts, problem.here.take(rows))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the curves say where a path ended
            try:
                path = select(problem, plan, request, data)
            except ValueError:
                if (
                    problem.X is not self.problem.X
                    and self.problem.here.first_non_finite() is not None
                ):
                    report_non_finite(self.problem)  # by its row in X, not among those copied
                raise
        if path.interrupted:
            # A part of a selection tells nothing of the whole.
            raise KeyboardInterrupt
        if request.rival is not None and path.settings.loss == request.rival.name:
            plan = replace(plan, loss=request.rival)
        return Trial(path, plan, problem, data, request.refit, request.outer)

    def permuted(self, order: Rows) -> Procedure:
        """The same with the targets, and their weights, of other rows."""
        weights = self.problem.weights
        return replace(
            self,
            problem=replace(
                self.problem,
                Y=self.problem.Y[order],
                weights=None if weights is None else weights[order],
            ),
            labels=None if self.labels is None else self.labels[order],
            class_weights=None if self.class_weights is None else self.class_weights.take(order),
        )

    def _shares_columns(self, plan: Plan) -> bool:
        """Whether Gram columns of all rows serve trials, in which rows must count the same."""
        return plan.folds is None and plan.loss.name == "squared" and self.class_weights is None

    def _sample_weights(self, rows: Rows, counts: Float | None) -> Float | None:
        given = self.problem.weights
        if given is None:
            return counts
        return given[rows] if counts is None else given[rows] * counts

    def _part(self, rows: Rows, counts: Float | None, X: Matrix) -> Problem:
        weights, class_weights = self._sample_weights(rows, counts), self.class_weights
        if class_weights is not None:
            class_weights = replace(class_weights.take(rows), given=weights)
            weights = class_weights.weights()
        return replace(
            self.problem,
            X=X,
            Y=self.problem.Y[rows],
            weights=weights,
            class_weights=class_weights,
        )

    def _plan_and_request(
        self, rows: Rows, counts: Float | None, least: int
    ) -> tuple[Plan, Request]:
        """As they would be made if these rows were all there are."""
        options = self.options
        # Nothing is read of X here but its shape.
        X = DenseMatrix(np.broadcast_to(np.zeros(1), (len(rows), self.problem.n_features)))
        part = self._part(rows, counts, X)
        labels = None if self.labels is None else self.labels[rows]
        groups = None if self.groups is None else self.groups[rows]
        loss, rival = open_loss(options.loss, labels)
        try:
            plan = make_plan(
                part,
                cv=options.inner_cv,
                groups=groups if takes_groups(options.inner_cv) else None,
                loss=loss,
                labels=labels,
                direction=options.direction,
            )
        except (TypeError, ValueError) as error:
            raise type(error)(re.sub(r"\bcv\b", "inner_cv", str(error))) from error
        request = make_request(
            part,
            plan,
            options.n_features,
            alpha=options.alpha,
            alpha_rule=options.alpha_rule,
            alpha_cv=options.alpha_cv,
            refit_alpha=options.refit_alpha,
            size_rule=options.size_rule,
            max_features=options.max_features,
            patience=options.patience,
            tol=options.tol,
            groups=groups,
            labels=labels,
            rival=rival,
            shuffle=options.shuffle,
        )
        return plan, replace(request, limits=replace(request.limits, least=least))


def make_procedure(
    X: Any,
    y: Any,
    options: Options,
    *,
    task: Task,
    measure: Any,
    fit_intercept: bool,
    sample_weight: Any,
    groups: Any,
    forced_features: FeatureList | None,
    excluded_features: FeatureList | None,
    feature_groups: FeatureGroups | None = None,
    feature_costs: FeatureCosts | None = None,
    budget: float | None = None,
    class_weight: Any = None,
) -> Procedure:
    """Check everything that can be checked before a search."""
    _check_inner_folds(options.inner_cv, "inner_cv", "'loo'")
    if options.alpha_cv is not None:
        _check_inner_folds(options.alpha_cv, "alpha_cv", "None")
    targets = make_targets(y, task)
    problem = make_problem(
        X,
        targets.values,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
        forced_features=forced_features,
        excluded_features=excluded_features,
        feature_groups=feature_groups,
        feature_costs=feature_costs,
        budget=budget,
    )
    criterion = make_loss(open_loss(options.loss, targets.labels)[0])
    group_of = None if groups is None else one_per_row(groups, problem.n_samples, "groups")
    if targets.labels is not None:
        check_weighted_classes(targets.labels, sample_weight)
    if measure is not None:
        told = _make_measure(measure)
    elif targets.labels is not None and criterion.name == "squared":
        told = make_loss("zero_one")
    else:
        told = criterion
    class_weights = None
    if class_weight is not None:
        if targets.labels is None or targets.classes is None:
            raise ValueError(
                f"class_weight={class_weight!r} is for classification, but y is taken as numbers; "
                "pass task='classification' if they are classes, else leave it out."
            )
        class_weights = make_class_weights(class_weight, targets.labels, targets.classes)
    return Procedure(problem, targets.labels, group_of, options, told, class_weights)


def make_outer_folds(procedure: Procedure, cv: Any) -> Folds:
    """The folds of an assessment, for which leave-one-out would be too much."""
    groups = procedure.groups if takes_groups(cv) else None
    try:
        folds = folds_of(procedure.problem, cv, groups, procedure.labels, procedure.options.shuffle)
    except (TypeError, ValueError) as error:
        message = str(error).replace("'loo', a number", "a number").replace(", or 'loo'", "")
        raise type(error)(message) from error
    if not isinstance(folds, Folds):
        raise ValueError(
            f"cv={cv!r}: the whole selection is repeated for each outer fold; use a number of "
            "folds, a splitter or fold ids."
        )
    return folds


def check_measure(procedure: Procedure, tests: list[Rows]) -> None:
    """Whether the measure is defined on each of some sets of rows."""
    problem = procedure.problem
    try:
        procedure.measure.check(problem.Y, problem.weights, tests, problem.single_target)
    except ValueError as error:
        raise ValueError(re.sub(r"\bloss\b", "measure", str(error))) from error


def shares_of(problem: Problem, tests: list[Rows]) -> Float:
    """What each of some sets of test rows counts in means."""
    weights = np.ones(problem.n_samples) if problem.weights is None else problem.weights
    counted = np.array([float(weights[test].sum()) for test in tests])
    shares: Float = counted / counted.sum()
    return shares


def _make_measure(measure: Any) -> Loss:
    try:
        return make_loss(measure)
    except (TypeError, ValueError) as error:
        raise type(error)(re.sub(r"\bloss\b", "measure", str(error))) from error


def _check_inner_folds(cv: Any, name: str, otherwise: str) -> None:
    """They are made anew for the rows of each selection, so they cannot be lists of rows."""
    is_splitter = hasattr(cv, "split") and not hasattr(cv, "__array__")
    if not (isinstance(cv, str) or is_whole(cv) or is_splitter):
        raise TypeError(
            f"{name} must be a number of folds, a scikit-learn splitter, or {otherwise}: the "
            "selection is repeated on some of the rows, for which new folds are made. Got "
            f"{reprlib.repr(cv)}."
        )


def _lifted(folds: Folds, rows: Rows, count: int) -> Folds:
    """Splits of some rows as splits of all: the others, which have no weight, go anywhere."""
    others = np.setdiff1d(np.arange(count), rows, assume_unique=True)
    splits = []
    for split in folds.splits:
        train = np.sort(np.concatenate([rows[split.train], others]))
        splits.append(Split(rows[split.test], None if split.is_complement else train, count))
    return replace(folds, splits=tuple(splits), n_samples=count)
