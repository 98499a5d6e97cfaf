"""The whole selection as something that can be repeated: on other rows, on permuted targets."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import Float, is_whole, numpy_of, without_runtime_warnings
from .._criteria import LooData, share_columns
from .._data import DenseMatrix, Matrix, rows_here
from .._problem import (
    ClassWeights,
    Folds,
    Loss,
    Problem,
    Split,
    Task,
    check_weighted_classes,
    make_class_weights,
    make_loss,
    make_shuffle,
    make_targets,
    one_per_row,
    report_non_finite,
)
from .._search import Plan, check_input, folds_of, is_compiled, supported
from .._select import Caller, Options, Request, make_request, problem_of, select, takes_groups
from ._trial import Rows, Trial

# What the functions of `assess` call `cv` of `greedy_path`; their own `cv` takes groups as well.
CALLER = Caller({"cv": "inner_cv"}, takes_auto_loss=True, has_folds=True)


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
    report: Callable[[int], None] | None = None  # is told the steps of searches that have ended

    @property
    def request(self) -> Request:
        """The selection on all rows."""
        return self._request(np.arange(self.problem.n_samples), None)

    @property
    def is_for_threads(self) -> bool:
        """Whether selections can run in threads: compiled, and no function of the user's."""
        plan = self.request.plan
        is_function = any(loss.name.startswith("callable:") for loss in (plan.loss, self.measure))
        return is_compiled(plan, self.problem) and not is_function

    @property
    def is_size_chosen(self) -> bool:
        """Whether the number of features is chosen, too."""
        return not is_whole(self.options.n_features)

    @property
    def criterion(self) -> str:
        """What a selection goes by, in words."""
        request = self.request
        plan = request.plan
        how = "leave-one-out" if plan.folds is None else plan.cv
        is_open = request.rival is not None
        way = "" if plan.direction.name == "forward" else f", {plan.direction.name}"
        return f"{how}, {plan.loss.name}{' or zero_one' if is_open else ''} loss{way}"

    def shared(self) -> LooData | None:
        """Data of all rows, whose Gram columns trials on permuted targets can use; or none."""
        if not self._shares_columns(self.request.plan):
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
        request = self._request(rows, counts, least)
        problem = self.problem
        data = None
        if whole is not None and counts is None and self._shares_columns(request.plan):
            # The other rows lose their weight, so that X is not copied.
            if weights is not None or len(rows) < problem.n_samples:
                full = np.zeros(problem.n_samples)
                full[rows] = 1.0 if weights is None else weights
                problem = replace(problem, weights=full)
                if isinstance(request.outer, Folds):
                    outer = _lifted(request.outer, rows, len(full))
                    groups = None if request.outer_groups is None else self.groups
                    request = replace(request, outer=outer, outer_groups=groups)
            data = LooData(problem, is_shared=True)
            # Compiled searches have packed columns of their own rows, which make Gram columns fast.
            if not is_compiled(request.plan, problem):
                share_columns(whole, data)
        else:
            # Other losses look at the rows in every step, folds have sums of their own, and rows
            # that count several times are others: there is little to share, and fewer are faster.
            problem = self._part(rows, counts, self._taken(rows))
        with without_runtime_warnings():  # the curves say where a path ended
            try:
                if problem.X.passes_dominate and request.plan.folds is None:
                    data = LooData(problem, is_shared=True)  # losses of the trial need it, too
                selected = select(replace(request, problem=problem, report=self.report), data)
            except ValueError:
                if (
                    problem.X is not self.problem.X
                    and self.problem.here.first_non_finite() is not None
                ):
                    report_non_finite(self.problem)  # by its row in X, not among those taken
                raise
        if selected.path.interrupted:
            # A part of a selection tells nothing of the whole.
            raise KeyboardInterrupt
        return Trial(selected.path, selected.plan, problem, data, selected.refit, selected.outer)

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
        """Whether trials keep all rows of X, some without a weight: if rows count the same in all.

        Gram columns of all rows then serve permuted targets.
        """
        is_squared = plan.folds is None and plan.loss.name == "squared"
        return is_squared and self.class_weights is None and self.problem.X.is_in_memory

    def _sample_weights(self, rows: Rows, counts: Float | None) -> Float | None:
        given = self.problem.weights
        if given is None:
            return counts
        return given[rows] if counts is None else given[rows] * counts

    def _taken(self, rows: Rows) -> Matrix:
        X = self.problem.here
        return X if len(rows) == X.shape[0] else X.take(rows)

    def _part(self, rows: Rows, counts: Float | None, X: Matrix) -> Problem:
        weights, class_weights = self._sample_weights(rows, counts), self.class_weights
        if class_weights is not None:
            class_weights = replace(class_weights.take(rows), sample_weights=weights)
            weights = class_weights.weights()
        return replace(
            self.problem,
            X=X,
            Y=self.problem.Y[rows],
            weights=weights,
            class_weights=class_weights,
        )

    def _request(self, rows: Rows, counts: Float | None, least: int = 0) -> Request:
        """As it would be made if these rows were all there are."""
        # Nothing is read of X here but its shape and kind, so that rows in memory are not copied.
        X: Matrix = DenseMatrix(np.broadcast_to(np.zeros(1), (len(rows), self.problem.n_features)))
        part = self._part(rows, counts, X if self.problem.X.is_in_memory else self._taken(rows))
        labels = None if self.labels is None else self.labels[rows]
        groups = None if self.groups is None else self.groups[rows]
        request = make_request(part, self.options, groups, labels)
        return replace(request, limits=replace(request.limits, least=least))


def make_procedure(
    X: Any,
    y: Any,
    options: Options,
    *,
    task: Task = "auto",
    measure: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    class_weight: Any = None,
) -> Procedure:
    """Check everything that can be checked before a search."""
    _check_inner_folds(options.cv, options.name("cv"), "'loo'")
    if options.alpha_cv is not None:
        _check_inner_folds(options.alpha_cv, options.name("alpha_cv"), "None")
    check_input(X, "assess", "An assessment")
    X, y, sample_weight, groups = rows_here(X, y, sample_weight, groups)
    # Every selection has the same folds, also where they come from a generator.
    # Threads run several of them, each in one, and the progress shown is that of all.
    shuffle = make_shuffle(options.random_state)
    options = replace(options, random_state=shuffle, n_jobs=None, verbose=0)
    y, sample_weight, groups = numpy_of(y), numpy_of(sample_weight), numpy_of(groups)
    targets = make_targets(y, task)
    problem = problem_of(X, targets.values, options, sample_weight=sample_weight)
    problem = supported(problem, ["assess"])
    criterion = options.criterion
    group_of = None if groups is None else one_per_row(groups, problem.n_samples, "groups")
    if targets.labels is not None:
        check_weighted_classes(targets.labels, sample_weight)
    if measure is not None:
        told = make_loss(measure, "measure")
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
    # What this kind of X does not support is an error now, not in the first of many searches.
    make_request(problem, options, group_of, targets.labels)
    return Procedure(problem, targets.labels, group_of, options, told, class_weights)


def make_outer_folds(procedure: Procedure, cv: Any) -> Folds:
    """The folds of an assessment, for which leave-one-out would be too much."""
    groups = procedure.groups if takes_groups(cv) else None
    shuffle = make_shuffle(procedure.options.random_state)
    folds = folds_of(procedure.problem, cv, groups, procedure.labels, shuffle, takes_loo=False)
    if not isinstance(folds, Folds):
        raise ValueError(
            f"cv={cv!r}: the whole selection is repeated for each outer fold; use a number of "
            "folds, a splitter or fold ids."
        )
    return folds


def check_measure(procedure: Procedure, tests: list[Rows]) -> None:
    """Whether the measure is defined on each of some sets of rows."""
    problem = procedure.problem
    procedure.measure.check(problem.Y, problem.weights, tests, problem.single_target, "measure")


def shares_of(problem: Problem, tests: list[Rows]) -> Float:
    """What each of some sets of test rows counts in means."""
    weights = np.ones(problem.n_samples) if problem.weights is None else problem.weights
    counted = np.array([float(weights[test].sum()) for test in tests])
    shares: Float = counted / counted.sum()
    return shares


def _check_inner_folds(cv: Any, name: str, otherwise: str) -> None:
    """They are made again for the rows of each selection, so they cannot be lists of rows."""
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
