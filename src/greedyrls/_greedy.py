"""`greedy_path` and `extend_path`: from data to a path."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._criterion import LeaveOneOut, Strategy
from ._path import Counters, Moments, SelectionPath, Settings, Step, StopReason
from ._problem import FeatureList, Problem, check_n_features, make_problem
from ._progress import progress_bar
from ._search import forward, replay
from ._state import NumericalLimit, SelectionState

Callback = Callable[[Step], Any]

# Recorded and replayed losses may differ by rounding only.
_SAME_LOSS = 1e-6


def greedy_path(
    X: Any,
    y: Any,
    n_features: int,
    *,
    alpha: float = 1.0,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    forced_features: FeatureList | None = None,
    excluded_features: FeatureList | None = None,
    n_runners_up: int = 0,
    patience: int | None = None,
    search: Strategy = "auto",
    block_rows: int | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> SelectionPath:
    """Select features one at a time by the exact leave-one-out error of a ridge model.

    Each step adds the feature with which ridge regression has the smallest leave-one-out error:
    the same answer as refitting the model for every candidate with every sample left out.

    Parameters
    ----------
    X : array-like of shape (m, n)
        Data: a NumPy array of any real type and memory order (read as it lies, never copied
        whole), or a pandas or polars data frame.
    y : array-like of shape (m,) or (m, t)
        One target, or several that share one set of features.
    n_features : int
        How many features to select, forced ones included.
    alpha : float, default=1.0
        Ridge penalty, as in `sklearn.linear_model.Ridge`; greater than 0.
    fit_intercept : bool, default=True
        Whether the model has an unpenalised intercept. It is refitted for each left-out sample.
        False is the setting of the paper.
    sample_weight : array-like of shape (m,), optional
        Weights of the samples in the fit and in the loss. A sample is left out whole, whatever
        its weight.
    forced_features, excluded_features : list of int or str, or mask, optional
        Features added before the search, in this order, and features never chosen; by column
        number or by name.
    n_runners_up : int, default=0
        How many next best features to record at each step, with the exact loss each would have
        given. Each costs exact evaluations.
    patience : int, optional
        Stop early when the smallest loss is this many steps old.
    search : {"auto", "bounded", "exhaustive"}, default="auto"
        Rule candidates out by bounds, or score every one; "auto" takes what costs less. The
        answer is the same.
    block_rows : int, optional
        Rows of X worked on at a time. The answer is the same for any value.
    callback : callable, optional
        Called with each `Step`; stops the search when it returns True.
    verbose : int, default=0
        1 shows a progress bar (needs tqdm) on runs longer than half a second.

    Returns
    -------
    SelectionPath
        A KeyboardInterrupt after the first step returns the steps made so far, with
        ``path.interrupted`` set.

    Notes
    -----
    Cost: a few passes over X, O(m·n) each, and O(k·(n + m)) per step on n- and m-vectors where the
    bounds bite, at most O(m·n·k) per step where they do not. Memory beyond X: O(k·n) for feature
    space, some vectors of m, and columns kept in float64, up to a quarter of the size of X (or
    4 MB).

    Features should be on comparable scales, as for any ridge model.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls import greedy_path
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> path = greedy_path(X, y, 3, alpha=0.01, forced_features=["sex"])
    >>> path.names()
    ['sex', 'bmi', 's5']
    """
    problem = make_problem(
        X,
        y,
        alpha=alpha,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
        forced_features=forced_features,
        excluded_features=excluded_features,
    )
    return select(
        problem,
        check_n_features(n_features, problem),
        n_runners_up=n_runners_up,
        patience=patience,
        search=search,
        block_rows=block_rows,
        callback=callback,
        verbose=verbose,
    )


def select(
    problem: Problem,
    n_features: int,
    *,
    n_runners_up: int = 0,
    patience: int | None = None,
    search: Strategy = "auto",
    block_rows: int | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> SelectionPath:
    """`greedy_path` for a problem that is checked already."""
    _check_options(n_runners_up, patience, search, block_rows, callback)
    began = time.perf_counter()
    state = SelectionState(problem, _capacity(n_features, patience), block_rows)
    initial_loss = state.loss

    def steps() -> Iterator[Step]:
        yield from replay(state, problem.forced, forced=True)
        yield from forward(state, LeaveOneOut(search), n_features, n_runners_up)

    run = _Run(n_features, patience, callback, verbose)
    run.consume(steps())
    return _path(state, run, initial_loss, began)


def extend_path(
    path: SelectionPath,
    X: Any,
    y: Any,
    n_features: int,
    *,
    sample_weight: ArrayLike | None = None,
    n_runners_up: int = 0,
    patience: int | None = None,
    search: Strategy = "auto",
    block_rows: int | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> SelectionPath:
    """Continue a path to more features without searching for the first ones again.

    Parameters
    ----------
    path : SelectionPath
        A path, also an interrupted one or one read from JSON. Its penalty, intercept and excluded
        features are used again.
    X, y, sample_weight
        The data that the path was selected from; a path holds no data. Other data are noticed by
        their losses and refused.
    n_features : int
        The number of features of the longer path.
    n_runners_up, patience, search, block_rows, callback, verbose
        As in `greedy_path`.

    Returns
    -------
    SelectionPath
        The same as `greedy_path` with this number of features; `path` is not changed.

    Notes
    -----
    Cost of the known features: one or two passes over X, and O(m·k) for each.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls import extend_path, greedy_path
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> path = greedy_path(X, y, 2, alpha=0.01)
    >>> extend_path(path, X, y, 4).names()
    ['bmi', 's5', 'bp', 's1']
    """
    settings = path.settings
    problem = make_problem(
        X,
        y,
        alpha=settings.alpha,
        fit_intercept=settings.fit_intercept,
        sample_weight=sample_weight,
        excluded_features=list(settings.excluded_features),
        feature_names=settings.feature_names_in,
    )
    _check_same_data(path, problem)
    size = check_n_features(n_features, problem)
    if size < len(path):
        raise ValueError(
            f"n_features={size} is less than the {len(path)} features of the path; "
            "use path.truncated(k) to shorten one."
        )
    _check_options(n_runners_up, patience, search, block_rows, callback)
    began = time.perf_counter()
    state = SelectionState(problem, _capacity(size, patience), block_rows)
    for known, again in zip(path.steps, replay(state, path.indices.tolist(), False), strict=True):
        if abs(known.loss - again.loss) > _SAME_LOSS * max(path.initial_loss, known.loss):
            raise ValueError(
                f"The data are not those of the path: with feature {known.index} the loss is "
                f"{again.loss:.6g}, the path has {known.loss:.6g}. Pass the same X, y and "
                "sample_weight, or start anew with greedy_path."
            )
    run = _Run(size, patience, callback, verbose, done=path.steps)
    run.consume(forward(state, LeaveOneOut(search), size, n_runners_up))
    return _path(state, run, path.initial_loss, began, path.counters)


class _Run:
    """Consumes the steps of a search and decides when it ends."""

    def __init__(
        self,
        size: int,
        patience: int | None,
        callback: Callback | None,
        verbose: int,
        done: tuple[Step, ...] = (),
    ) -> None:
        self._size = size
        self._patience = patience
        self._callback = callback
        self._verbose = verbose
        self.steps = list(done)
        self.stop_reason = StopReason.REACHED

    def consume(self, steps: Iterator[Step]) -> None:
        """Run to the end, to an early stop, or to an interrupt."""
        with closing(progress_bar(self._verbose, self._size, len(self.steps))) as bar:
            try:
                for step in steps:
                    self.steps.append(step)
                    bar.update(step.loss)
                    if self._callback is not None and self._says_stop(self._callback(step)):
                        self.stop_reason = StopReason.CALLBACK
                        return
                    if self._stale():
                        self.stop_reason = StopReason.NO_IMPROVEMENT
                        return
            except KeyboardInterrupt:
                if not self.steps:
                    raise
                self.stop_reason = StopReason.INTERRUPTED
            except NumericalLimit as error:
                self._reach_numerical_limit(error)

    def _reach_numerical_limit(self, error: NumericalLimit) -> None:
        """Keep the steps made so far, and say so; without any, it is an error."""
        sentence = StopReason.NUMERICAL_LIMIT.sentence
        if not self.steps:
            raise ValueError(f"{sentence.split(';')[0]}: {error}. Use a larger alpha.") from error
        warnings.warn(
            f"{sentence} Asked for {self._size} features, found {len(self.steps)}: {error}. "
            "Use a larger alpha, or ask for fewer features.",
            RuntimeWarning,
            stacklevel=4,
        )
        self.stop_reason = StopReason.NUMERICAL_LIMIT

    @staticmethod
    def _says_stop(answer: Any) -> bool:
        """True, also NumPy's; any other answer of a callback has no meaning."""
        return isinstance(answer, bool | np.bool_) and bool(answer)

    def _stale(self) -> bool:
        if self._patience is None:
            return False
        losses = [step.loss for step in self.steps if not step.forced]
        if len(losses) <= self._patience:
            return False
        return int(np.argmin(losses)) < len(losses) - self._patience


def _path(
    state: SelectionState,
    run: _Run,
    initial_loss: float,
    began: float,
    spent: Counters | None = None,
) -> SelectionPath:
    """A path from the steps made; the state may be further by an unfinished step."""
    problem = state.problem
    k = len(run.steps)
    chosen = [step.index for step in run.steps]
    counters = Counters(
        state.samples.passes,
        state.samples.exact_evaluations,
        state.rebuilds,
        time.perf_counter() - began,
    )
    reason = run.stop_reason
    if reason is StopReason.REACHED and k == problem.n_available:
        reason = StopReason.EXHAUSTED
    return SelectionPath(
        steps=tuple(run.steps),
        initial_loss=initial_loss,
        settings=Settings(
            alpha=problem.alpha,
            fit_intercept=problem.fit_intercept,
            n_samples=problem.n_samples,
            n_features_in=problem.n_features,
            excluded_features=problem.excluded,
            feature_names_in=problem.feature_names,
            weighted=problem.weights is not None,
            single_target=problem.single_target,
        ),
        moments=Moments(
            state.features.gram[:k, :k].copy(),
            state.start.correlation[:, chosen].T.copy(),
            state.start.means[chosen],
            state.start.target_means,
        ),
        counters=counters if spent is None else spent + counters,
        stop_reason=reason,
    )


def _capacity(n_features: int, patience: int | None) -> int:
    """Room to begin with: all of it, or little where the search will likely stop early."""
    return n_features if patience is None else min(n_features, 64)


def _check_same_data(path: SelectionPath, problem: Problem) -> None:
    """What can be told from shapes and names."""
    settings = path.settings
    if (problem.n_samples, problem.n_features) != (settings.n_samples, settings.n_features_in):
        raise ValueError(
            f"The data are not those of the path: X is {problem.n_samples} × {problem.n_features}, "
            f"the path was selected from {settings.n_samples} × {settings.n_features_in}."
        )
    if (problem.weights is not None) != settings.weighted:
        raise ValueError(
            "The path was selected "
            + ("with sample weights; pass the same." if settings.weighted else "without weights.")
        )
    names = settings.feature_names_in
    if names and problem.feature_names and names != problem.feature_names:
        raise ValueError("The columns of X have other names than those of the path.")
    if problem.Y.shape[1] != len(path.moments.target_means):
        raise ValueError(
            f"y has {problem.Y.shape[1]} targets; the path has {len(path.moments.target_means)}."
        )
    if problem.single_target != settings.single_target:
        dimensions = 1 if settings.single_target else 2
        raise ValueError(f"y of the path has {dimensions} dimensions; pass it in the same shape.")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _check_options(
    n_runners_up: int,
    patience: int | None,
    search: str,
    block_rows: int | None,
    callback: Any,
) -> None:
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}.")
    if not _is_whole(n_runners_up) or n_runners_up < 0:
        raise ValueError(f"n_runners_up must be a whole number, 0 or more; got {n_runners_up!r}.")
    for name, value in (("patience", patience), ("block_rows", block_rows)):
        if value is not None and (not _is_whole(value) or value < 1):
            raise ValueError(f"{name} must be None or a whole number, 1 or more; got {value!r}.")
    if search not in ("auto", "bounded", "exhaustive"):
        raise ValueError(f"search must be 'auto', 'bounded' or 'exhaustive', got {search!r}.")
