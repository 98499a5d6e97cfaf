"""A selection made on some rows, with its losses and predictions on other rows."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._criteria import (
    LooCurve,
    LooData,
    Part,
    Tests,
    held_out_components,
    held_out_predictions,
    intercept_terms,
    part_of,
)
from .._features import Chosen
from .._problem import (
    ClusterFolds,
    Folds,
    Loss,
    Problem,
    class_shares,
    constant_probabilities,
    constant_scores,
    is_same_loss,
    most_frequent,
)
from .._rows import loo_predictions
from .._search import Plan, positive_rows, rows_for_refit
from .._select import Refit, Selected, calibrate, chosen_of, model_penalties
from ..path import LOSSES_BEFORE_SIZES, SelectionPath
from ._random_sets import random_sets

Rows = NDArray[np.intp]

_CLASS_LOSSES = ("zero_one", "balanced_zero_one")


class Tested(NamedTuple):
    """Losses of a selection on held-out rows."""

    losses: Float  # (k)
    initial_loss: float
    # For standard errors: of the chosen size, of no features, of intercepts (where `Tests.shift` is
    # not 0), of all sizes.
    part: Part | None


class Trial:
    """A selection: its path, and the rows on which it was made."""

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
        # Reported losses ignore class weights.
        self._reported = problem
        if problem.class_weights is not None:
            self._reported = replace(problem, weights=problem.class_weights.sample_weights)
        self._data = data
        self._refit = refit
        self._outer = outer  # folds in which the penalty was chosen
        self._refit_rows: LooData | None = None

    @property
    def data(self) -> LooData:
        """Sums over the rows of the selection."""
        if self._data is None:
            self._data = LooData(self._problem)
        return self._data

    @property
    def penalties(self) -> Float:
        """Penalties of the models of all sizes, (k)."""
        if self.path.refit_alphas is not None:
            return np.array(self.path.refit_alphas)
        return np.full(len(self.path), self.path.settings.alpha)

    def selection_losses(self, measure: Loss) -> Float:
        """Return the losses of the models as estimated by the selection itself, (k)."""
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
        """Return held-out losses (K × k) of models fitted in each fold, and its share (K).

        The features were chosen on all rows, as for the losses that guide the search.
        """
        problem, reported = self._problem, self._reported
        selected = chosen_of(self.path)  # the sets need not be nested
        losses, weights_tested = [], []
        for split in folds.splits:
            train = positive_rows(problem.weights, split.train)
            weights = None if problem.weights is None else problem.weights[train]
            part = replace(problem, X=problem.here.take(train), Y=problem.Y[train], weights=weights)
            (chosen,) = random_sets(LooData(part), [np.array(selected.indices, dtype=np.intp)])
            chosen = chosen._replace(chains=selected.chains)
            weight = float(len(split.test))
            if reported.weights is not None:
                weight = float(reported.weights[split.test].sum())
            losses.append(self._losses(chosen, self.penalties, reported, split.test, measure))
            weights_tested.append(weight)
        shares = np.array(weights_tested)
        return np.array(losses), shares / shares.sum()

    def initial_loss(self, measure: Loss) -> float:
        """Return the leave-one-out loss without features on the rows of the selection."""
        problem = self._reported
        rows = np.flatnonzero(problem.has_weight)
        if measure.name in _CLASS_LOSSES:
            return self.initial_loss_on(problem, rows, measure)
        weights = None if problem.weights is None else problem.weights[rows]
        predictions = np.concatenate(self.data.samples.each(loo_predictions), axis=1)[:, None, rows]
        return float(measure.values(problem.Y[rows], predictions, weights)[0])

    def selection_initial_loss(self, measure: Loss) -> float:
        """Return the loss without features, estimated as in `selection_losses`."""
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
        """Return losses of the models on other rows, and the parts of their standard errors."""
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
        # The model without features, then all sizes, among them the chosen one.
        sizes = np.concatenate([initial, sizes], axis=1)
        is_known = np.concatenate([[True], is_known])
        positions = np.concatenate([[self.path.chosen_size], np.arange(len(is_known))])
        predictions, is_known = sizes[:, positions], is_known[positions]
        components = measure.components(Y, predictions[:, is_known], weights)
        if components is None or tests is None:
            return Tested(losses, initial_loss, None)
        all_losses = np.full((len(is_known), len(rows)), np.nan)
        all_losses[is_known] = components.losses
        if tests.shift:
            terms = intercept_terms(measure, Y, predictions[:, 0], components.shares, tests.shift)
            before, after = np.split(all_losses, [LOSSES_BEFORE_SIZES])
            all_losses = np.concatenate([before, terms, after])
        return Tested(losses, initial_loss, part_of(components._replace(losses=all_losses), tests))

    def losses_on(self, other: Problem, rows: Rows, measure: Loss) -> Float:
        """Return losses of the models on other rows, (k)."""
        return self._losses(chosen_of(self.path), self.penalties, other, rows, measure)

    def predictions_on(self, other: Problem, rows: Rows) -> Float:
        """Return scores of the model of the chosen size on other rows, (rows × t)."""
        path, size = self.path, self.path.chosen_size
        columns = other.here.part(rows, path.features(size)).astype(np.float64)
        coef, intercept = np.atleast_2d(path.coef(size)), np.atleast_1d(path.intercept(size))
        if not size:
            intercept = constant_scores(intercept)
        values: Float = columns @ coef.T + intercept
        return values

    def probabilities_on(self, other: Problem, rows: Rows) -> tuple[Float, Float]:
        """Return probabilities of classes for other rows, (rows × c), with and without features.

        The first come from the model of the chosen size, the second from the shares of the classes.
        Both are fitted to the rows of the selection.
        """
        selected = Selected(
            self.path, self._problem, self._plan, self._outer, self._refit, self._data
        )
        fitted = calibrate(selected).probabilities(self.predictions_on(other, rows))
        shares = class_shares(self._problem.Y, selected.weights)
        return fitted, constant_probabilities(shares, len(rows))

    def initial_loss_on(self, other: Problem, rows: Rows, measure: Loss) -> float:
        """Return the loss on other rows without features; the most frequent class is predicted."""
        rows = positive_rows(other.weights, rows)
        predictions = self._initial_predictions(len(rows), measure)
        weights = None if other.weights is None else other.weights[rows]
        return float(measure.values(other.Y[rows], predictions, weights)[0])

    def _initial_predictions(self, count: int, measure: Loss) -> Float:
        """Return predictions of the model without features for some rows, (t × 1 × rows)."""
        guess = self.path.moments.target_means
        if measure.name in _CLASS_LOSSES:
            guess = self._most_frequent(np.flatnonzero(self._reported.has_weight))
        return np.repeat(np.asarray(guess)[:, None, None], count, axis=2)

    def _most_frequent(self, rows: Rows) -> Float:
        """Return the code (t) of the class of largest weight among some rows of the selection."""
        problem = self._reported
        weights = None if problem.weights is None else problem.weights[rows]
        return most_frequent(problem.Y[rows], weights)

    def losses_of(self, chosen: Chosen, other: Problem, rows: Rows, measure: Loss) -> Float:
        """Return losses on other rows of models on other features.

        Their penalties are chosen as those of the path, but among 3 values instead of 25.
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
        given = chosen, penalties, chosen.target_means, columns, other.Y[rows], weights, measure
        return held_out_components(*given).values[1:]
