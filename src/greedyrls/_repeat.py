"""The selection repeated: in outer folds, on resampled rows, on permuted targets; in parallel.

Repeats go to worker processes in batches, and those of a batch share their Gram columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from ._folds import Split
from ._held_out_errors import Part, Tests
from ._kernels import Float
from ._loo_data import LooData
from ._problem import is_whole
from ._procedure import Procedure
from ._progress import progress_bar
from ._random_sets import random_orders, random_sets
from ._trial import Rows

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
    part: Part | None


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
        path.entries(),
        path.settings.alpha,
        path.chosen_size,
        tested.losses,
        trial.selection_losses(measure),
        np.array(drawn).reshape(repeats, len(path)),
        tested.initial_loss,
        tested.part,
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
    return NullResult(losses, float(losses[trial.path.chosen_size - 1]), initial)


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
            found = (answer for batch in results for answer in batch)
        for answer in found:
            answers.append(answer)
            bar.update(shown(answer))
    return answers


def _batch(
    procedure: Procedure, call: Callable[..., Answer], jobs: Sequence[tuple[Any, ...]]
) -> list[Answer]:
    return list(_answers(procedure, call, jobs))


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
