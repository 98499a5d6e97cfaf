"""The whole selection as something that can be repeated: on other rows, on permuted targets."""

from __future__ import annotations

import re
import reprlib
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._alphas import Refit, penalty_scale, refit_grid
from ._curves import Chosen, LooCurve, best_penalties, held_out_losses
from ._folds import Folds, Split, one_per_row
from ._kernels import Float, first_non_finite
from ._labels import Task, check_weighted_classes, make_targets
from ._losses import Loss, is_same_loss, make_loss
from ._nested import chosen_of
from ._outer import takes_groups
from ._path import SelectionPath
from ._plan import Plan, folds_of, make_plan, positive_rows
from ._problem import FeatureList, Problem, is_whole, make_problem, report_non_finite
from ._random_sets import random_sets
from ._request import make_request
from ._select import select
from ._shared_gram import share_columns
from ._state import LooData

Rows = NDArray[np.intp]

# A prediction of 0, between the classes, is wrong for each of them.
_CLASS_LOSSES = ("zero_one", "balanced_zero_one")


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

    @property
    def is_open(self) -> bool:
        """Whether the loss to select by is chosen, too."""
        return isinstance(self.loss, str) and self.loss == "auto"


@dataclass(frozen=True, slots=True)
class Procedure:
    """A selection with all its choices, and the data it is repeated on."""

    problem: Problem
    labels: NDArray[Any] | None
    groups: NDArray[Any] | None
    options: Options
    measure: Loss

    @property
    def is_size_chosen(self) -> bool:
        """Whether the number of features is chosen, too."""
        return isinstance(self.options.n_features, str)

    @property
    def criterion(self) -> str:
        """What a selection goes by, in words."""
        plan, request = self._plan_and_request(np.arange(self.problem.n_samples), None, least=0)
        how = "leave-one-out" if plan.folds is None else plan.cv
        is_open = request.rival is not None
        return f"{how}, {plan.loss.name}{' or zero_one' if is_open else ''} loss"

    def shared(self) -> LooData | None:
        """Data of all rows, whose Gram columns trials on some of them can use; or none."""
        plan, _ = self._plan_and_request(np.arange(self.problem.n_samples), None, least=0)
        if not _shares_columns(plan):
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
        plan, request = self._plan_and_request(rows, counts, least)
        problem = self.problem
        weights = self._weights(rows, counts)
        data = None
        if whole is not None and counts is None and _shares_columns(plan):
            # The other rows lose their weight, so that Gram columns of all rows serve.
            if weights is not None or len(rows) < problem.n_samples:
                full = np.zeros(problem.n_samples)
                full[rows] = 1.0 if weights is None else weights
                problem = replace(problem, weights=full)
                if request.outer is not None:
                    request = replace(request, outer=_lifted(request.outer, rows, len(full)))
            data = LooData(problem, is_shared=True)
            share_columns(whole, data)
        else:
            # Other losses look at the rows in every step, folds have sums of their own, and rows
            # that count several times are others: there is little to share, and fewer are faster.
            problem = self._part(rows, counts, problem.X[rows])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the curves say where a path ended
            try:
                path = select(problem, plan, request, data)
            except ValueError:
                if problem.X is not self.problem.X and first_non_finite(self.problem.X) is not None:
                    report_non_finite(self.problem)  # by its row in X, not among those copied
                raise
        if path.interrupted:
            # A part of a selection tells nothing of the whole.
            raise KeyboardInterrupt
        followed = (
            replace(plan, loss=make_loss(path.settings.loss)) if self.options.is_open else plan
        )
        return Trial(path, followed, problem, data, request.refit)

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
        )

    def _weights(self, rows: Rows, counts: Float | None) -> Float | None:
        given = self.problem.weights
        if given is None:
            return counts
        return given[rows] if counts is None else given[rows] * counts

    def _part(self, rows: Rows, counts: Float | None, X: NDArray[Any]) -> Problem:
        weights = self._weights(rows, counts)
        return replace(self.problem, X=X, Y=self.problem.Y[rows], weights=weights)

    def _plan_and_request(self, rows: Rows, counts: Float | None, least: int) -> tuple[Plan, Any]:
        """As they would be made if these rows were all there are."""
        options = self.options
        # Nothing is read of X here but its shape.
        X = np.broadcast_to(np.zeros(1), (len(rows), self.problem.n_features))
        part = self._part(rows, counts, X)
        labels = None if self.labels is None else self.labels[rows]
        groups = None if self.groups is None else self.groups[rows]
        try:
            plan = make_plan(
                part,
                cv=options.inner_cv,
                groups=groups if takes_groups(options.inner_cv) else None,
                loss="squared" if options.is_open else options.loss,
                labels=labels,
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
            rival="zero_one" if options.is_open and labels is not None else None,
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
    )
    plain = "squared" if options.is_open else options.loss
    criterion = make_loss(plain)
    group_of = None if groups is None else one_per_row(groups, problem.n_samples, "groups")
    if targets.labels is not None:
        check_weighted_classes(targets.labels, sample_weight)
    if measure is not None:
        told = _make_measure(measure)
    elif targets.labels is not None and criterion.name == "squared":
        told = make_loss("zero_one")
    else:
        told = criterion
    return Procedure(problem, targets.labels, group_of, options, told)


def make_outer_folds(procedure: Procedure, cv: Any) -> Folds:
    """The folds of an assessment, for which leave-one-out would be too much."""
    groups = procedure.groups if takes_groups(cv) else None
    try:
        folds = folds_of(procedure.problem, cv, groups, procedure.labels)
    except (TypeError, ValueError) as error:
        message = str(error).replace("'loo', a number", "a number").replace(", or 'loo'", "")
        raise type(error)(message) from error
    if folds is None:
        raise ValueError(
            f"cv={cv!r}: the whole selection is made anew for each outer fold; use a number of "
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


def _make_measure(measure: Any) -> Loss:
    try:
        return make_loss(measure)
    except (TypeError, ValueError) as error:
        raise type(error)(re.sub(r"\bloss\b", "measure", str(error))) from error


def _shares_columns(plan: Plan) -> bool:
    return plan.folds is None and plan.loss.name == "squared"


def _check_inner_folds(cv: Any, name: str, otherwise: str) -> None:
    """They are made anew for the rows of each selection, so they cannot be lists of rows."""
    is_splitter = hasattr(cv, "split") and not hasattr(cv, "__array__")
    if not (isinstance(cv, str) or is_whole(cv) or is_splitter):
        raise TypeError(
            f"{name} must be a number of folds, a scikit-learn splitter, or {otherwise}: the "
            "selection is repeated on some of the rows, for which folds are made anew. Got "
            f"{reprlib.repr(cv)}."
        )


def _lifted(folds: Folds, rows: Rows, count: int) -> Folds:
    """Splits of some rows as splits of all: the others, which have no weight, go anywhere."""
    others = np.setdiff1d(np.arange(count), rows, assume_unique=True)
    splits = []
    for split in folds.splits:
        train = np.sort(np.concatenate([rows[split.train], others]))
        splits.append(Split(train, rows[split.test], split.is_complement))
    return replace(folds, splits=tuple(splits), n_samples=count)


class Trial:
    """A selection that was made, and what can be asked of it."""

    def __init__(
        self, path: SelectionPath, plan: Plan, problem: Problem, data: LooData | None, refit: Refit
    ) -> None:
        self.path = path
        self._plan = plan
        self._problem = problem
        self._data = data
        self._refit = refit

    @property
    def data(self) -> LooData:
        """Sums over the rows of the selection."""
        if self._data is None:
            self._data = LooData(self._problem)
        return self._data

    @property
    def penalties(self) -> Float:
        """Of the models of all sizes, (k)."""
        if self.path.refit_alphas is not None:
            return np.array(self.path.refit_alphas)
        return np.full(len(self.path), self.path.settings.alpha)

    def selection_losses(self, measure: Loss) -> Float:
        """What the selection believes of its models, (k)."""
        is_criterion = is_same_loss(measure, self._plan.loss)
        if is_criterion and (self.path.refit_alphas is None or self._plan.folds is not None):
            return self.path.losses
        if self._plan.folds is not None:
            return self._losses_in_folds(self._plan.folds, measure)
        curve = LooCurve(self.data.samples, self._problem, chosen_of(self.path), measure)
        return curve.own_losses(self.penalties)

    def _losses_in_folds(self, folds: Folds, measure: Loss) -> Float:
        """Losses (k) of the models fitted to the training rows of each inner fold, on its others.

        The features are those chosen on all of them, as for the losses that the search goes by.
        """
        problem = self._problem
        total, weight = np.zeros(len(self.path)), 0.0
        for split in folds.splits:
            train = positive_rows(problem.weights, split.train)
            weights = None if problem.weights is None else problem.weights[train]
            part = replace(problem, X=problem.X[train], Y=problem.Y[train], weights=weights)
            (chosen,) = random_sets(LooData(part), [self.path.indices])
            own = float(len(split.test))
            if problem.weights is not None:
                own = float(problem.weights[split.test].sum())
            total += own * self._losses(chosen, self.penalties, problem, split.test, measure)
            weight += own
        return total / weight

    def initial_loss(self, measure: Loss) -> float:
        """Leave-one-out loss of the model without features on the rows of the selection."""
        problem = self._problem
        rows = np.flatnonzero(problem.has_weight)
        if measure.name in _CLASS_LOSSES:
            return self.initial_loss_on(problem, rows, measure)
        weights = None if problem.weights is None else problem.weights[rows]
        predictions = self.data.samples.predictions()[:, None, rows]
        return float(measure.values(problem.Y[rows], predictions, weights)[0])

    def losses_on(self, other: Problem, rows: Rows, measure: Loss) -> Float:
        """Losses of the models on other rows, (k)."""
        return self._losses(chosen_of(self.path), self.penalties, other, rows, measure)

    def initial_loss_on(self, other: Problem, rows: Rows, measure: Loss) -> float:
        """The same of the model without features; for classes the most frequent one is guessed."""
        rows = positive_rows(other.weights, rows)
        guess = self.path.moments.target_means
        if measure.name in _CLASS_LOSSES:
            guess = self._most_frequent()
        means = np.broadcast_to(guess, (len(rows), other.Y.shape[1]))
        predictions = means.T[:, None, :].copy()
        weights = None if other.weights is None else other.weights[rows]
        return float(measure.values(other.Y[rows], predictions, weights)[0])

    def _most_frequent(self) -> Float:
        """The code (t) of the class of largest weight among the rows of the selection."""
        problem = self._problem
        counted = problem.has_weight
        weights = np.ones(counted.sum()) if problem.weights is None else problem.weights[counted]
        totals = weights @ (problem.Y[counted] > 0.0)
        if len(totals) == 1:
            return np.array([1.0 if totals[0] > weights.sum() / 2.0 else -1.0])
        code = np.full(len(totals), -1.0)
        code[int(np.argmax(totals))] = 1.0
        return code

    def losses_of(self, chosen: Chosen, other: Problem, rows: Rows, measure: Loss) -> Float:
        """Losses on other rows of the models on other features.

        Their penalties are chosen as those of the path, of three values rather than 25.
        """
        if self._refit == "loo":
            grid = refit_grid(
                penalty_scale(self.data.start.diagonal, self._problem.excluded), is_fine=False
            )
            curve = LooCurve(self.data.samples, self._problem, chosen, self._plan.loss)
            penalties = grid[best_penalties(curve, grid)[0]]
        else:
            same = self.path.settings.alpha if self._refit == "same" else float(self._refit)
            penalties = np.full(len(chosen.indices), same)
        return self._losses(chosen, penalties, other, rows, measure)

    @staticmethod
    def _losses(
        chosen: Chosen, penalties: Float, other: Problem, rows: Rows, measure: Loss
    ) -> Float:
        rows = positive_rows(other.weights, rows)
        columns = other.X[np.ix_(rows, np.array(chosen.indices))].astype(np.float64)
        weights = None if other.weights is None else other.weights[rows]
        return held_out_losses(chosen, penalties, columns, other.Y[rows], weights, measure)
