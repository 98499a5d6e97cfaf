"""A selection that was made on some rows, and what can be asked of it on others."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._cluster import ClusterFolds
from .._criteria import (
    LooCurve,
    LooData,
    Part,
    Tests,
    held_out_losses,
    held_out_predictions,
    part_of,
)
from .._features import Chosen
from .._problem import (
    Folds,
    Loss,
    Problem,
    class_shares,
    constant_probabilities,
    constant_scores,
    is_same_loss,
    most_frequent,
)
from .._search import Plan, positive_rows, rows_for_refit
from .._select import Refit, Selected, calibrate, chosen_of, model_penalties
from ..path import SelectionPath
from ._random_sets import random_sets

Rows = NDArray[np.intp]

_CLASS_LOSSES = ("zero_one", "balanced_zero_one")


class Tested(NamedTuple):
    """What a selection comes to on rows held out."""

    losses: Float  # (k)
    initial_loss: float
    part: Part | None  # for standard errors: of the chosen size, of no features, of all sizes


class Trial:
    """The path of a selection, with the rows it was made on."""

    def __init__(
        self,
        path: SelectionPath,
        plan: Plan,
        problem: Problem,
        data: LooData | None,
        refit: Refit,
        outer: Folds | ClusterFolds | None = None,
    ) -> None:
        self.path = path
        self._plan = plan
        self._problem = problem
        # Weights of classes are no part of what is reported.
        self._reported = problem
        if problem.class_weights is not None:
            self._reported = replace(problem, weights=problem.class_weights.sample_weights)
        self._data = data
        self._refit = refit
        self._outer = outer  # in which the penalty was chosen
        self._refit_rows: LooData | None = None

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
        is_reported = self._problem.class_weights is None
        is_criterion = is_reported and is_same_loss(measure, self._plan.loss)
        if is_criterion and self.path.refit_alphas is None:
            return self.path.losses
        if isinstance(self._plan.folds, Folds):
            losses, shares = self.losses_in_folds(self._plan.folds, measure)
            return shares @ losses
        curve = LooCurve(self.data.samples, self._problem, chosen_of(self.path), measure)
        if is_reported:
            return curve.own_losses(self.penalties)
        return curve.reported_losses(self.penalties, self._reported.weights)

    def losses_in_folds(self, folds: Folds, measure: Loss) -> tuple[Float, Float]:
        """Losses (K × k) of the models fitted to the training rows of each fold, on its others.

        The features are those chosen on all of them, as for the losses that the search goes by.
        Also what each fold counts in the mean, (K).
        """
        problem, reported = self._problem, self._reported
        own = chosen_of(self.path)  # its sets may not be the beginnings of each other
        losses, weights_tested = [], []
        for split in folds.splits:
            train = positive_rows(problem.weights, split.train)
            weights = None if problem.weights is None else problem.weights[train]
            part = replace(problem, X=problem.here.take(train), Y=problem.Y[train], weights=weights)
            (chosen,) = random_sets(LooData(part), [np.array(own.indices, dtype=np.intp)])
            chosen = chosen._replace(chains=own.chains)
            weight = float(len(split.test))
            if reported.weights is not None:
                weight = float(reported.weights[split.test].sum())
            losses.append(self._losses(chosen, self.penalties, reported, split.test, measure))
            weights_tested.append(weight)
        shares = np.array(weights_tested)
        return np.array(losses), shares / shares.sum()

    def initial_loss(self, measure: Loss) -> float:
        """Leave-one-out loss of the model without features on the rows of the selection."""
        problem = self._reported
        rows = np.flatnonzero(problem.has_weight)
        if measure.name in _CLASS_LOSSES:
            return self.initial_loss_on(problem, rows, measure)
        weights = None if problem.weights is None else problem.weights[rows]
        predictions = self.data.samples.predictions()[:, None, rows]
        return float(measure.values(problem.Y[rows], predictions, weights)[0])

    def selection_initial_loss(self, measure: Loss) -> float:
        """What the selection believes of the model without features, as of those with some."""
        problem, reported, folds = self._problem, self._reported, self._plan.folds
        if not isinstance(folds, Folds):
            return self.initial_loss(measure)
        losses, tested = [], []
        for split in folds.splits:
            train = positive_rows(problem.weights, split.train)
            rows = positive_rows(reported.weights, split.test)
            if not len(rows):
                continue
            if measure.name in _CLASS_LOSSES:
                guess = self._most_frequent(train)
            else:
                weights = None if problem.weights is None else problem.weights[train]
                guess = np.average(problem.Y[train], axis=0, weights=weights)
                guess = guess if problem.fit_intercept else np.zeros_like(guess)
            weights = None if reported.weights is None else reported.weights[rows]
            predictions = np.repeat(guess[:, None, None], len(rows), axis=2)
            losses.append(float(measure.values(problem.Y[rows], predictions, weights)[0]))
            tested.append(float(len(rows)) if weights is None else float(weights.sum()))
        return float(np.average(losses, weights=tested))

    def tested_on(self, other: Problem, rows: Rows, measure: Loss, tests: Tests | None) -> Tested:
        """Losses of the models on other rows, and what their standard errors are made of."""
        rows = positive_rows(other.weights, rows)
        Y = other.Y[rows]
        weights = None if other.weights is None else other.weights[rows]
        chosen = chosen_of(self.path)
        columns = other.here.part(rows, np.array(chosen.indices)).astype(np.float64)
        sizes, is_known = held_out_predictions(chosen, self.penalties, columns, Y)
        initial = self._initial_predictions(len(rows), measure)
        losses = np.full(len(is_known), np.nan)
        losses[is_known] = measure.values(Y, sizes[:, is_known], weights)
        initial_loss = float(measure.values(Y, initial, weights)[0])
        # Of no features, and of all sizes: the chosen one is among them.
        sizes = np.concatenate([initial, sizes], axis=1)
        is_known = np.concatenate([[True], is_known])
        places = np.concatenate([[self.path.chosen_size], np.arange(len(is_known))])
        own, is_known = sizes[:, places], is_known[places]
        found = measure.components(Y, own[:, is_known], weights)
        if found is None or tests is None:
            return Tested(losses, initial_loss, None)
        all_losses = np.full((len(is_known), len(rows)), np.nan)
        all_losses[is_known] = found.losses
        return Tested(losses, initial_loss, part_of(found._replace(losses=all_losses), tests))

    def losses_on(self, other: Problem, rows: Rows, measure: Loss) -> Float:
        """Losses of the models on other rows, (k)."""
        return self._losses(chosen_of(self.path), self.penalties, other, rows, measure)

    def predictions_on(self, other: Problem, rows: Rows) -> Float:
        """Scores of classes by the model of the chosen size on other rows, (rows × t)."""
        path, size = self.path, self.path.chosen_size
        columns = other.here.part(rows, path.features(size)).astype(np.float64)
        coef, intercept = np.atleast_2d(path.coef(size)), np.atleast_1d(path.intercept(size))
        if not size:
            intercept = constant_scores(intercept)
        values: Float = columns @ coef.T + intercept
        return values

    def probabilities_on(self, other: Problem, rows: Rows) -> tuple[Float, Float]:
        """Probabilities of classes for other rows, (rows × c): by the model of the chosen size.

        And by the shares of the classes alone. All are fitted to rows of the selection.
        """
        selected = Selected(
            self.path, self._problem, self._plan, self._outer, self._refit, self._data
        )
        fitted = calibrate(selected).probabilities(self.predictions_on(other, rows))
        shares = class_shares(self._problem.Y, selected.weights)
        return fitted, constant_probabilities(shares, len(rows))

    def initial_loss_on(self, other: Problem, rows: Rows, measure: Loss) -> float:
        """The loss of the model without features; for classes the most frequent one is guessed."""
        rows = positive_rows(other.weights, rows)
        predictions = self._initial_predictions(len(rows), measure)
        weights = None if other.weights is None else other.weights[rows]
        return float(measure.values(other.Y[rows], predictions, weights)[0])

    def _initial_predictions(self, count: int, measure: Loss) -> Float:
        """Of the model without features for some rows, (t × 1 × rows)."""
        guess = self.path.moments.target_means
        if measure.name in _CLASS_LOSSES:
            guess = self._most_frequent(np.flatnonzero(self._reported.has_weight))
        return np.repeat(np.asarray(guess)[:, None, None], count, axis=2)

    def _most_frequent(self, rows: Rows) -> Float:
        """The code (t) of the class of largest weight among some rows of the selection."""
        problem = self._reported
        weights = None if problem.weights is None else problem.weights[rows]
        return most_frequent(problem.Y[rows], weights)

    def losses_of(self, chosen: Chosen, other: Problem, rows: Rows, measure: Loss) -> Float:
        """Losses on other rows of the models on other features.

        Their penalties are chosen as those of the path, of three values rather than 25.
        """
        if self._refit in ("loo", "cv") and self._refit_rows is None:
            self._refit_rows = rows_for_refit(self._refit, self._plan, self.data)
        penalties = model_penalties(
            self._refit,
            self.path.settings.alpha,
            self._refit_rows,
            chosen,
            self._plan.loss,
            is_fine=False,
        )
        return self._losses(chosen, penalties, other, rows, measure)

    @staticmethod
    def _losses(
        chosen: Chosen, penalties: Float, other: Problem, rows: Rows, measure: Loss
    ) -> Float:
        rows = positive_rows(other.weights, rows)
        columns = other.here.part(rows, np.array(chosen.indices)).astype(np.float64)
        weights = None if other.weights is None else other.weights[rows]
        return held_out_losses(chosen, penalties, columns, other.Y[rows], weights, measure)
