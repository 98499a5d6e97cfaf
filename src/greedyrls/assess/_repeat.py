"""The selection repeated: in outer folds, on resampled rows, on permuted targets; in parallel.

Repeats go to worker processes in batches, and those of a batch share their Gram columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from .._base import Float, is_whole, limits_threads, progress_bar
from .._criteria import Design, LooData, Part, Tests, test_ratio
from .._problem import Folds, Problem, Split, brier_and_log_loss, make_loss
from .._search import positive_rows
from ..path import SelectionPath
from ._assessment import PathAssessment
from ._class_rates import ClassRates, FoldRates, measures_for, places_of, rates_of_folds
from ._predictions import Part as Predicted
from ._predictions import part_of_classes, part_of_numbers, shown_rows, united
from ._procedure import Procedure, shares_of
from ._random_sets import random_orders, random_sets
from ._trial import Rows, Trial

Answer = TypeVar("Answer")

# Batches for each worker: the more, the smoother the progress bar; the fewer, the more is shared.
_BATCHES = 2


class FoldResult(NamedTuple):
    """Of one outer fold; losses have as many sizes as its path."""

    features: NDArray[np.intp]
    alpha: float
    chosen_size: int
    test_losses: Float  # (k)
    selection_losses: Float  # (k)
    random_losses: Float  # (R × k)
    initial_loss: float
    own_initial_loss: float  # what the selection believes of no features, where it chose none
    part: Part | None
    predictions: Predicted
    rates: FoldRates | None = None  # of a classification

    @property
    def chosen_loss(self) -> float:
        """On the test rows, at the chosen size."""
        size = self.chosen_size
        return float(self.test_losses[size - 1]) if size else self.initial_loss


class NullResult(NamedTuple):
    """Of one order of the targets."""

    losses: Float  # (k)
    chosen_loss: float
    initial_loss: float


def fold_result(
    procedure: Procedure,
    whole: LooData | None,
    number: int,
    split: Split,
    tests: Tests | None,
    repeats: int,
    generator: np.random.Generator,
) -> FoldResult:
    """Select on the training rows of a fold, test on the others."""
    try:
        trial = procedure.trial(split.train, whole=whole)
    except ValueError as error:
        raise ValueError(f"In outer fold {number}: {error}") from error
    path, problem, measure = trial.path, procedure.problem, procedure.measure
    orders = random_orders(problem, len(path), repeats, generator)
    drawn = [
        trial.losses_of(chosen, problem, split.test, measure)
        for chosen in random_sets(trial.data, orders)
    ]
    tested = trial.tested_on(problem, split.test, measure, tests)
    return FoldResult(
        _order_of(path),
        path.settings.alpha,
        path.chosen_size,
        tested.losses,
        trial.selection_losses(measure),
        np.array(drawn).reshape(repeats, len(path)),
        tested.initial_loss,
        np.nan if path.chosen_size else trial.selection_initial_loss(measure),
        tested.part,
        *_predicted(trial, procedure, split.test),
    )


def _order_of(path: SelectionPath) -> NDArray[np.intp]:
    """As many features as the largest size has, those of the chosen size first."""
    if path.is_nested:
        return path.entries()
    both = dict.fromkeys([*path.entries(path.chosen_size).tolist(), *path.entries().tolist()])
    return np.array(list(both)[: len(path)], dtype=np.intp)


def _predicted(
    trial: Trial, procedure: Procedure, rows: Rows
) -> tuple[Predicted, FoldRates | None]:
    """Predictions of the test rows in short, and how good they are if they are classes."""
    problem = procedure.problem
    rows = positive_rows(problem.weights, rows)
    scores = trial.predictions_on(problem, rows)
    if procedure.labels is None:
        # Of several targets the first is shown.
        is_shown = shown_rows(problem.n_samples)[rows]
        return part_of_numbers(problem.Y[rows, 0], scores[:, 0], is_shown), None
    weights = None if problem.weights is None else problem.weights[rows]
    probabilities, shares = trial.probabilities_on(problem, rows)
    ones = np.ones(len(rows)) if weights is None else weights
    both = [brier_and_log_loss(one, problem.Y[rows], ones) for one in (probabilities, shares)]
    places = places_of(scores)
    counts = np.bincount(places, weights, max(2, problem.n_targets)).astype(np.float64)
    rates = _fold_rates(trial, problem, rows, counts, np.array(both).T)
    classes = places_of(problem.Y[rows])
    return part_of_classes(classes, scores, places, weights, probabilities), rates


def _fold_rates(
    trial: Trial, problem: Problem, rows: Rows, counts: Float, probability_losses: Float
) -> FoldRates:
    """What is known of a classification beside its measure."""
    own, initial = [], []
    for name in measures_for(problem.n_targets):
        # One class has no order; the fold is left out of the mean.
        is_defined = name != "auc" or len(np.unique(problem.Y[rows])) == 2
        if is_defined:
            own.append(trial.losses_on(problem, rows, make_loss(name)))
            initial.append(trial.initial_loss_on(problem, rows, make_loss(name)))
        else:
            own.append(np.full(len(trial.path), np.nan))
            initial.append(np.nan)
    return FoldRates(np.array(own), np.array(initial), counts, probability_losses)


def _class_rates_of(
    procedure: Procedure, folds: Sequence[FoldResult], shares: Float
) -> ClassRates | None:
    """What outer folds say of a classification beside its measure."""
    sizes = np.array([fold.chosen_size for fold in folds])
    rates = [fold.rates for fold in folds]
    is_weighted = procedure.class_weights is not None
    return rates_of_folds(procedure.labels, rates, sizes, shares, is_weighted)


def make_assessment(
    procedure: Procedure, folds: Folds, found: Sequence[FoldResult], design: Design | None
) -> PathAssessment:
    """What the results of all outer folds say together."""
    problem = procedure.problem
    size = max(len(result.features) for result in found)
    shares = shares_of(problem, [split.test for split in folds.splits])
    return PathAssessment(
        measure=procedure.measure.name,
        test_losses=padded([result.test_losses for result in found], size),
        selection_losses=padded([result.selection_losses for result in found], size),
        random_losses=padded([result.random_losses for result in found], size),
        initial_losses=np.array([result.initial_loss for result in found]),
        own_initial_losses=np.array([result.own_initial_loss for result in found]),
        features=tuple(result.features for result in found),
        alphas=np.array([result.alpha for result in found]),
        chosen_sizes=np.array([result.chosen_size for result in found]),
        shares=shares,
        folds=folds.description,
        criterion=procedure.criterion,
        n_samples=problem.n_samples,
        n_features_in=problem.n_features,
        n_available=problem.n_available,
        n_asked=None if procedure.is_size_chosen else int(procedure.options.n_features or 0),
        feature_names_in=problem.entry_names,
        forced=tuple(group[0] for group in problem.forced_entries),
        overlap=folds.overlap,
        held_out_covariance=None
        if design is None
        else design.with_intercepts(
            [result.part for result in found if result.part is not None], problem.n_targets
        ),
        n_independent=None if design is None else design.n_clusters,
        test_ratio=test_ratio(folds.splits, problem.has_weight),
        class_rates=_class_rates_of(procedure, found, shares),
        predictions=united(
            [result.predictions for result in found],
            shares,
            "test folds",
            is_classes=procedure.labels is not None,
        ),
    )


def resampled_order(
    procedure: Procedure, whole: LooData | None, rows: Rows, counts: Float | None
) -> NDArray[np.intp]:
    """The features selected on some rows; as many as were chosen, where the size is."""
    path = procedure.trial(rows, counts, whole).path
    return path.entries(path.chosen_size)


def null_result(
    procedure: Procedure, whole: LooData | None, order: Rows | None, least: int
) -> NullResult:
    """The selection's own losses, with the targets in this order."""
    shuffled = procedure if order is None else procedure.permuted(order)
    if procedure.problem.weights is not None:
        whole = None  # weights move with the targets, and Gram columns depend on them
    rows = np.arange(procedure.problem.n_samples)
    try:
        trial = shuffled.trial(rows, whole=whole, least=least)
    except ValueError as error:
        if order is None:
            raise
        raise ValueError(f"With permuted targets: {error}") from error
    losses = trial.selection_losses(procedure.measure)
    initial = trial.initial_loss(procedure.measure)
    size = trial.path.chosen_size
    return NullResult(losses, float(losses[size - 1]) if size else initial, initial)


@limits_threads
def repeat(
    procedure: Procedure,
    call: Callable[..., Answer],
    jobs: Sequence[tuple[Any, ...]],
    *,
    what: str,
    n_jobs: int | None,
    verbose: int,
    shown: Callable[[Answer], float | None],
) -> list[Answer]:
    """``call(procedure, whole, *job)`` for each job, in the order of the jobs."""
    workers = min(effective_n_jobs(_checked(n_jobs)), len(jobs))
    answers: list[Answer] = []
    with closing(progress_bar(verbose, len(jobs), what=what)) as bar:
        if workers <= 1:
            found: Iterator[Answer] = _answers(procedure, call, jobs)
        else:
            batches = np.array_split(np.arange(len(jobs)), min(len(jobs), _BATCHES * workers))
            results = Parallel(n_jobs=workers, return_as="generator")(
                delayed(_batch)(procedure, call, [jobs[place] for place in batch])
                for batch in batches
            )
            found = (answer for batch in results for answer in _passed_on(batch))
        for answer in found:
            answers.append(answer)
            bar.update(shown(answer))
    return answers


class Batch(NamedTuple):
    """What a worker process sends back: answers, and the warnings that came up."""

    answers: list[Any]
    warned: list[tuple[str, type[Warning], str, int]]


def _batch(
    procedure: Procedure, call: Callable[..., Answer], jobs: Sequence[tuple[Any, ...]]
) -> Batch:
    # A worker does not know which warnings its caller wants to see, and would print all of them.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answers = list(_answers(procedure, call, jobs))
    found = ((str(one.message), one.category, one.filename, one.lineno) for one in caught)
    return Batch(answers, list(dict.fromkeys(found)))


def _passed_on(batch: Batch) -> list[Any]:
    """The answers; warnings are given here, where the caller's filters hold."""
    for message, category, filename, line in batch.warned:
        warnings.warn_explicit(message, category, filename, line)
    return batch.answers


def _answers(
    procedure: Procedure, call: Callable[..., Answer], jobs: Sequence[tuple[Any, ...]]
) -> Iterator[Answer]:
    whole = procedure.shared()
    for job in jobs:
        yield call(procedure, whole, *job)


def _checked(n_jobs: Any) -> int | None:
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise ValueError(
            f"n_jobs must be None (1), a number of processes, or -1 for all cores; got {n_jobs!r}."
        )
    return None if n_jobs is None else int(n_jobs)


def padded(rows: Sequence[Float], size: int) -> Float:
    """Curves of different lengths under each other, not a number where one has ended."""
    table = np.full((len(rows), *rows[0].shape[:-1], size), np.nan)
    for place, row in enumerate(rows):
        table[place, ..., : row.shape[-1]] = row[..., :size]
    return table
