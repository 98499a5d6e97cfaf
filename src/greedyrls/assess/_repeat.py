"""Repeat the selection in outer folds, on resampled rows or on permuted targets, in parallel.

Compiled searches run in threads. Others go to worker processes in batches, which share their Gram
columns, unless all of them take less time than the processes need to start.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from .._base import Float, Jobs, in_threads, is_whole, jobs_bar, limits_threads
from .._criteria import Design, LooData, Part, Tests, test_ratio
from .._problem import Folds, Problem, Split, brier_and_log_loss, make_loss
from .._search import positive_rows
from ..path import SelectionPath
from ._assessment import PathAssessment
from ._class_rates import ClassRates, FoldRates, class_indices, measures_for, rates_of_folds
from ._predictions import Part as Predicted
from ._predictions import part_of_classes, part_of_numbers, shown_rows, united
from ._procedure import Procedure, shares_of
from ._random_sets import random_orders, random_sets
from ._trial import Rows, Trial

Answer = TypeVar("Answer")

# Batches per worker: more make the progress bar smoother, fewer share more Gram columns.
_BATCHES = 2


class FoldResult(NamedTuple):
    """Result of one outer fold; losses have as many sizes as its path."""

    features: NDArray[np.intp]
    alpha: float
    chosen_size: int
    test_losses: Float  # (k)
    selection_losses: Float  # (k)
    random_losses: Float  # (R × k)
    initial_loss: float
    own_initial_loss: float  # the selection's own estimate without features, if it chose none
    part: Part | None
    predictions: Predicted
    rates: FoldRates | None = None  # for a classification

    @property
    def chosen_loss(self) -> float:
        """Loss on the test rows at the chosen size."""
        size = self.chosen_size
        return float(self.test_losses[size - 1]) if size else self.initial_loss


class NullResult(NamedTuple):
    """Result for one order of the targets."""

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
    """Select on the training rows of a fold and test on its held-out rows."""
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
    """Return as many features as the largest size has, those of the chosen size first."""
    if path.is_nested:
        return path.entries()
    features = dict.fromkeys([*path.entries(path.chosen_size).tolist(), *path.entries().tolist()])
    return np.array(list(features)[: len(path)], dtype=np.intp)


def _predicted(
    trial: Trial, procedure: Procedure, rows: Rows
) -> tuple[Predicted, FoldRates | None]:
    """Summarise the predictions of the test rows, with rates for a classification."""
    problem = procedure.problem
    rows = positive_rows(problem.weights, rows)
    scores = trial.predictions_on(problem, rows)
    if procedure.labels is None:
        # Of several targets only the first is shown.
        is_shown = shown_rows(problem.n_samples)[rows]
        return part_of_numbers(problem.Y[rows, 0], scores[:, 0], is_shown), None
    weights = None if problem.weights is None else problem.weights[rows]
    probabilities, shares = trial.probabilities_on(problem, rows)
    positive = np.ones(len(rows)) if weights is None else weights
    pairs = [
        brier_and_log_loss(predicted, problem.Y[rows], positive)
        for predicted in (probabilities, shares)
    ]
    indices = class_indices(scores)
    counts = np.bincount(indices, weights, max(2, problem.n_targets)).astype(np.float64)
    rates = _fold_rates(trial, problem, rows, counts, np.array(pairs).T)
    classes = class_indices(problem.Y[rows])
    return part_of_classes(classes, scores, indices, weights, probabilities), rates


def _fold_rates(
    trial: Trial, problem: Problem, rows: Rows, counts: Float, probability_losses: Float
) -> FoldRates:
    """Return losses of a classification in further measures."""
    losses, initial = [], []
    for name in measures_for(problem.n_targets):
        # AUC is undefined for a single class; the fold is left out of the mean.
        is_defined = name != "auc" or len(np.unique(problem.Y[rows])) == 2
        if is_defined:
            losses.append(trial.losses_on(problem, rows, make_loss(name)))
            initial.append(trial.initial_loss_on(problem, rows, make_loss(name)))
        else:
            losses.append(np.full(len(trial.path), np.nan))
            initial.append(np.nan)
    return FoldRates(np.array(losses), np.array(initial), counts, probability_losses)


def _class_rates_of(
    procedure: Procedure, folds: Sequence[FoldResult], shares: Float
) -> ClassRates | None:
    """Return the rates of a classification over the outer folds."""
    sizes = np.array([fold.chosen_size for fold in folds])
    rates = [fold.rates for fold in folds]
    is_weighted = procedure.class_weights is not None
    return rates_of_folds(procedure.labels, rates, sizes, shares, is_weighted)


def make_assessment(
    procedure: Procedure, folds: Folds, results: Sequence[FoldResult], design: Design | None
) -> PathAssessment:
    """Combine the results of all outer folds."""
    problem = procedure.problem
    size = max(len(result.features) for result in results)
    shares = shares_of(problem, [split.test for split in folds.splits])
    return PathAssessment(
        measure=procedure.measure.name,
        test_losses=padded([result.test_losses for result in results], size),
        selection_losses=padded([result.selection_losses for result in results], size),
        random_losses=padded([result.random_losses for result in results], size),
        initial_losses=np.array([result.initial_loss for result in results]),
        own_initial_losses=np.array([result.own_initial_loss for result in results]),
        features=tuple(result.features for result in results),
        alphas=np.array([result.alpha for result in results]),
        chosen_sizes=np.array([result.chosen_size for result in results]),
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
            [result.part for result in results if result.part is not None], problem.n_targets
        ),
        n_independent=None if design is None else design.n_clusters,
        test_ratio=test_ratio(folds.splits, problem.has_weight),
        class_rates=_class_rates_of(procedure, results, shares),
        predictions=united(
            [result.predictions for result in results],
            shares,
            "test folds",
            is_classes=procedure.labels is not None,
        ),
    )


def resampled_order(
    procedure: Procedure, whole: LooData | None, rows: Rows, counts: Float | None
) -> NDArray[np.intp]:
    """Return the features selected on some rows, at the chosen size."""
    path = procedure.trial(rows, counts, whole).path
    return path.entries(path.chosen_size)


def null_result(
    procedure: Procedure, whole: LooData | None, order: Rows | None, least: int
) -> NullResult:
    """Return the selection's own losses with the targets in this order."""
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
    """Return ``call(procedure, whole, *job)`` for each job, in the order of the jobs."""
    workers = min(effective_n_jobs(_checked(n_jobs)), len(jobs))
    request = procedure.request
    answers: list[Answer] = []
    with closing(jobs_bar(verbose, len(jobs), request.n_steps, what)) as bar:
        if workers > 1 and not procedure.is_for_threads and _takes_long(procedure, len(jobs)):
            new_answers = _in_processes(procedure, call, jobs, workers)
        else:
            workers = workers if procedure.is_for_threads else 1
            new_answers = _in_threads(procedure, call, jobs, workers, bar)
        for number, answer in enumerate(new_answers):
            answers.append(answer)
            bar.finish(number, shown(answer))
    return answers


def _takes_long(procedure: Procedure, count: int) -> bool:
    """Return whether so many selections take long enough for processes; a user's function may.

    A file stays in this process, where selections share the columns that are read.
    """
    request, problem = procedure.request, procedure.problem
    is_function = procedure.measure.name.startswith("callable:")
    return problem.X.is_in_memory and (
        is_function or replace(request, problem=problem).pays_processes(request.plan, count)
    )


def _in_threads(
    procedure: Procedure,
    call: Callable[..., Answer],
    jobs: Sequence[tuple[Any, ...]],
    workers: int,
    bar: Jobs,
) -> Iterator[Answer]:
    """Yield the answers in order; all selections use the same X in memory.

    After an interrupt, selections in other threads end with the search that they are at.
    """
    whole, is_over = procedure.shared(), Event()

    def report(number: int, count: int) -> None:
        if is_over.is_set():
            raise KeyboardInterrupt
        bar.advance(number, count)

    calls = [
        partial(call, replace(procedure, report=partial(report, number)), whole, *job)
        for number, job in enumerate(jobs)
    ]
    try:
        yield from in_threads(calls, workers)
    finally:
        is_over.set()


def _in_processes(
    procedure: Procedure,
    call: Callable[..., Answer],
    jobs: Sequence[tuple[Any, ...]],
    workers: int,
) -> Iterator[Answer]:
    """Yield the answers in order, batch by batch."""
    batches = np.array_split(np.arange(len(jobs)), min(len(jobs), _BATCHES * workers))
    results = Parallel(n_jobs=workers, return_as="generator")(
        delayed(_batch)(procedure, call, [jobs[index] for index in batch]) for batch in batches
    )
    return (answer for batch in results for answer in _passed_on(batch))


class Batch(NamedTuple):
    """Answers of a worker process, and the warnings that it caught."""

    answers: list[Any]
    warned: list[tuple[str, type[Warning], str, int]]


def _batch(
    procedure: Procedure, call: Callable[..., Answer], jobs: Sequence[tuple[Any, ...]]
) -> Batch:
    # A worker does not have the warning filters of its caller, and would print all warnings.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        whole = procedure.shared()
        answers = [call(procedure, whole, *job) for job in jobs]
    entries = (
        (str(warning.message), warning.category, warning.filename, warning.lineno)
        for warning in caught
    )
    return Batch(answers, list(dict.fromkeys(entries)))


def _passed_on(batch: Batch) -> list[Any]:
    """Return the answers, after issuing the warnings here, where the caller's filters apply."""
    for message, category, filename, line in batch.warned:
        warnings.warn_explicit(message, category, filename, line)
    return batch.answers


def _checked(n_jobs: Any) -> int | None:
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise ValueError(
            f"n_jobs must be None (1), a number of jobs, or -1 for all cores; got {n_jobs!r}."
        )
    return None if n_jobs is None else int(n_jobs)


def padded(rows: Sequence[Float], size: int) -> Float:
    """Stack curves of different lengths as rows, padded with NaN."""
    table = np.full((len(rows), *rows[0].shape[:-1], size), np.nan)
    for index, row in enumerate(rows):
        table[index, ..., : row.shape[-1]] = row[..., :size]
    return table
