"""What the estimators of kernel centres share: parameters, candidates, search, model of a size."""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from .._base import (
    Float,
    GreedyRLSWarning,
    OwnInit,
    counted,
    in_threads,
    is_whole,
    numpy_of,
)
from .._data import (
    USE_ANOTHER,
    Kernel,
    KernelMatrix,
    MatrixPoints,
    check_gamma,
    check_limit,
    kernel_matrix,
    loaded,
    make_kernel,
    matrix_of,
    opened,
    origin_of,
    point_blocks,
)
from .._problem import (
    ClassWeights,
    check_weights,
    constant_scores,
    feature_names_of,
    make_shuffle,
    named_columns,
    refuse_dates,
    with_names,
)
from .._search import check_input, check_jobs
from .._select import Caller, Options, Selected, select_path
from ..path import AlphaRule, SelectionPath, SizeRule
from ._base import nothing_predicts
from ._classifier import NoProbabilities
from ._shapes import TakesShape

_CALLER = Caller({"n_features": "n_centers", "max_features": "max_centers"}, takes_shares=True)
# Values of the kernel computed at a time while predicting (8 MiB).
_PREDICTED_ELEMENTS = 1 << 20
# An eigenvalue this far below 0, relative to the largest, is no rounding.
_NEGATIVE = 1e-8


@dataclass(frozen=True, slots=True)
class Candidates:
    """Points that may become centres."""

    points: Any  # (n × d), as given
    rows: NDArray[np.intp] | None  # which rows of X they are, if they are


class GreedyKernelBase(OwnInit, NoProbabilities, TakesShape, BaseEstimator):
    """What the regressor and the classifier share."""

    path_: SelectionPath

    def __init__(
        self,
        n_centers: int | float | Literal["auto"] = "auto",
        *,
        kernel: Any = "rbf",
        gamma: float | ArrayLike | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        alpha: float | ArrayLike | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        centers: Any = None,
        max_candidates: int | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        cv: Any = "loo",
        loss: Any = "squared",
        alpha_rule: AlphaRule = "nested",
        alpha_cv: Any = None,
        refit_alpha: float | Literal["same", "loo"] | None = None,
        size_rule: SizeRule = "min",
        max_centers: int | None = None,
        patience: int | None = None,
        tol: float | None = None,
        n_runners_up: int = 0,
        memory_limit: int | str | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_centers = n_centers
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.centers = centers
        self.max_candidates = max_candidates
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.cv = cv
        self.loss = loss
        self.alpha_rule = alpha_rule
        self.alpha_cv = alpha_cv
        self.refit_alpha = refit_alpha
        self.size_rule = size_rule
        self.max_centers = max_centers
        self.patience = patience
        self.tol = tol
        self.n_runners_up = n_runners_up
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _select(
        self,
        X: Any,
        Y: Any,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        labels: NDArray[Any] | None = None,
        class_weights: ClassWeights | None = None,
    ) -> None:
        """Search, and take the model of the size asked for."""
        candidates = self._candidates(X, sample_weight)
        widths = self._gammas(X)
        options = Options.of(vars(self), _CALLER)
        # The same folds for every width, and the threads are spent on widths.
        shuffle = make_shuffle(self.random_state)
        options = replace(options, random_state=shuffle, n_jobs=None, memory_limit=None)
        jobs = [
            partial(
                self._tried,
                gamma,
                candidates,
                X,
                Y,
                sample_weight,
                groups,
                labels,
                options,
                class_weights,
            )
            for gamma in widths
        ]
        # Threads would read a file at the same time.
        n_threads = 1 if isinstance(X, MatrixPoints) else min(check_jobs(self.n_jobs), len(widths))
        best: tuple[float, Selected, Kernel] | None = None
        losses = []
        self.n_kernel_evaluations_ = 0
        for found, kernel in in_threads(jobs, n_threads):
            self.n_kernel_evaluations_ += _evaluations(found)
            losses.append(_loss_of(found.path))
            if best is None or losses[-1] < best[0]:
                best = losses[-1], found, kernel
            if found.path.interrupted:
                break
        assert best is not None
        selected, self._kernel = best[1:]
        self.path_ = selected.path
        self._warn(self.path_)
        _check_definite(self.path_)
        self.gamma_ = self._kernel.gamma if self._kernel.function is None else None
        self.gamma_losses_ = np.array(losses)
        self.alpha_ = self.path_.settings.alpha
        self.candidate_indices_ = (
            np.arange(candidates.points.shape[0]) if candidates.rows is None else candidates.rows
        )
        chosen = candidates.points[self.path_.indices]
        self._path_centers = chosen
        self._origin = _origin(self._kernel, X, candidates.points)
        self._use(self.path_.chosen_size)
        if self._wants_probabilities:
            before = _evaluations(selected)
            self._calibrate(selected, self.verbose)
            self.n_kernel_evaluations_ += _evaluations(selected) - before

    def _tried(
        self,
        gamma: float,
        candidates: Candidates,
        X: Any,
        Y: Any,
        sample_weight: Any,
        groups: Any,
        labels: NDArray[Any] | None,
        options: Options,
        class_weights: ClassWeights | None,
    ) -> tuple[Selected, Kernel]:
        """The selection with a kernel of one width."""
        kernel = make_kernel(self.kernel, gamma, self.degree, self.coef0)
        origin = _origin(kernel, X, candidates.points)
        matrix = kernel_matrix(
            kernel,
            _moved(X, origin),
            _moved(candidates.points, origin),
            X.memory_limit if isinstance(X, MatrixPoints) else check_limit(self.memory_limit),
            candidates.rows,
        )
        found = self._search(matrix, Y, sample_weight, groups, labels, options, class_weights)
        return found, kernel

    @property
    def _model_size(self) -> int:
        """How many centres the model has."""
        return self.n_centers_

    def _search(
        self,
        matrix: KernelMatrix,
        Y: Any,
        sample_weight: Any,
        groups: Any,
        labels: NDArray[Any] | None,
        options: Options,
        class_weights: ClassWeights | None,
    ) -> Selected:
        """The path with one kernel."""
        return select_path(
            matrix,
            Y,
            options,
            sample_weight=sample_weight,
            groups=groups,
            labels=labels,
            class_weights=class_weights,
        )

    def _gammas(self, X: Any) -> list[float]:
        """One, or several of which the best is taken."""
        gamma: Any = self.gamma
        if isinstance(gamma, np.ndarray) and gamma.ndim == 0:
            gamma = gamma[()]
        if isinstance(gamma, str) or not np.iterable(gamma):
            return [check_gamma(gamma, X)]
        values = [check_gamma(value, X) for value in gamma]
        if not values:
            raise ValueError("The list of gamma is empty; pass at least one number, or 'scale'.")
        if callable(self.kernel):
            raise ValueError(
                "A list of gamma requires a named kernel; a callable has its own parameters."
            )
        return sorted(set(values))

    def _candidates(self, X: Any, sample_weight: ArrayLike | None) -> Candidates:
        """The given pool, or rows of X that have a weight, all or some drawn at random."""
        most = self.max_candidates
        if most is not None and (not is_whole(most) or most < 1):
            raise ValueError(
                f"max_candidates must be None or a whole number, 1 or more; got {most!r}."
            )
        if self.centers is not None:
            self._check_pool_columns()
            pool = check_array(
                self.centers,
                dtype=np.float64,
                accept_sparse="csr" if not isinstance(X, np.ndarray) else False,
                input_name="centers",
            )
            if pool.shape[1] != X.shape[1]:
                raise ValueError(
                    f"centers has {pool.shape[1]} columns, but X has {X.shape[1]}: both are points "
                    "of the same space."
                )
            if most is None or most >= pool.shape[0]:
                return Candidates(pool, None)
            raise ValueError(
                f"max_candidates={most} is for candidates that are rows of X; pass that many "
                "centers instead."
            )
        rows = np.arange(X.shape[0])
        if sample_weight is not None:
            weights = check_weights(sample_weight, len(rows))
            assert weights is not None
            rows = rows[weights > 0.0]
        if most is not None and most < len(rows):
            random = check_random_state(self.random_state)
            rows = np.sort(random.choice(rows, most, replace=False))
        if isinstance(X, MatrixPoints):
            X.check_memory(len(rows))
        return Candidates(X[rows], rows)

    def _check_pool_columns(self) -> None:
        """Points with names for their columns have those of X, in the same order."""
        if isinstance(self.centers, str):
            raise TypeError(
                "centers must be None or an array of points, one in each row; got the text "
                f"{self.centers!r}."
            )
        names, given = getattr(self, "feature_names_in_", None), feature_names_of(self.centers)
        if names is None or given is None or len(names) != len(given):
            return
        for own, other in zip(names, given, strict=True):
            if own != other:
                raise ValueError(
                    f"centers has the column {other!r} where X has {own!r}; pass the columns of X, "
                    "in the same order."
                )

    def _warn(self, path: SelectionPath) -> None:
        if path.interrupted:
            warnings.warn(
                f"The search was interrupted; the model has {path.chosen_size} of the "
                f"{counted(len(path), 'centre')} found so far.",
                GreedyRLSWarning,
                stacklevel=4,
            )
        elif path.chosen_size == 0:
            warnings.warn(
                f"No centres were chosen: {nothing_predicts(self, self.fit_intercept)}. "
                "with_n_centers(k) returns the model with k centres of the path; n_centers=k "
                "selects k of them.",
                GreedyRLSWarning,
                stacklevel=4,
            )

    def _use(self, k: int) -> None:
        """Take the model on the first k centres of the path."""
        path = self.path_
        self.n_centers_ = k
        self.centers_ = self._path_centers[:k]
        self.center_indices_ = self.candidate_indices_[path.features(k)]
        self.dual_coef_: Float = np.atleast_2d(path.coef(k))
        self.intercept_: Any = np.atleast_1d(path.intercept(k))
        if not k and is_classifier(self):
            self.intercept_ = constant_scores(self.intercept_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "path_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_points(self, X: Any, **options: Any) -> Any:
        refuse_dates(options.get("y"))
        check_input(X, "centers", type(self).__name__)
        X = opened(loaded(X))
        if origin_of(X).is_file:
            return self._points_in_file(X, **options)
        with named_columns(X):
            return validate_data(
                self,
                with_names(X),
                accept_sparse="csr",
                accept_large_sparse=False,
                dtype=np.float64,
                **options,
            )

    def _points_in_file(
        self,
        X: Any,
        y: Any = None,
        reset: bool = True,
        multi_output: bool = False,
        y_numeric: bool = False,
    ) -> Any:
        """Points that are read when they are used, with y if it is given."""
        limit = check_limit(self.memory_limit) or X.memory_limit
        points = MatrixPoints(matrix_of(X, limit, check_array), limit)
        if not reset:
            self._check_columns(X)
            return points
        self._take_shape(X)
        y = numpy_of(y) if multi_output else column_or_1d(numpy_of(y), warn=True)
        check_consistent_length(np.broadcast_to(0, X.shape[0]), y)
        return points, y

    def _predictions(self, X: Any) -> Float:
        """Values of the model, (m × t), some rows at a time."""
        check_is_fitted(self)
        points = self._check_points(X, reset=False)
        coef = np.atleast_2d(self.dual_coef_).T
        centers = _moved(self.centers_, self._origin)
        values = np.empty((points.shape[0], coef.shape[1]))
        if not len(coef):
            return np.tile(np.atleast_1d(self.intercept_), (len(values), 1))
        height, first = max(1, _PREDICTED_ELEMENTS // len(coef)), 0
        for block in point_blocks(points):
            for top in range(0, block.shape[0], height):
                some = _moved(block[top : top + height], self._origin)
                values[first : first + some.shape[0]] = self._kernel(some, centers) @ coef
                first += some.shape[0]
        if isinstance(points, MatrixPoints) and not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values).all(axis=1)))
            raise ValueError(f"Input X contains NaN or infinity: row {row}.")
        values += self.intercept_
        return values

    def with_n_centers(self, k: int) -> Self:
        """Return the fitted estimator with another number of centres, without fitting again.

        The centres are the first k of the path, whose penalty was chosen for the size of this
        estimator; a fit with ``n_centers=k`` chooses it for k.

        Parameters
        ----------
        k : int
            Number of centres, 0 to the length of ``path_``. A model with 0 predicts the mean of
            the targets; `n_centers` is then left as it is.

        Returns
        -------
        estimator
            A fitted copy; this one is not changed.
        """
        check_is_fitted(self)
        if not is_whole(k):
            raise TypeError(f"k must be a whole number, got {k!r}.")
        if not 0 <= int(k) <= len(self.path_):
            raise ValueError(
                f"k={k} is not on the path, which has 0 to {len(self.path_)} centres; fit with a "
                "larger n_centers to go further."
            )
        other = copy.copy(self)
        if k:  # nobody can ask for 0
            other.n_centers = int(k)
        other._use(int(k))
        return other


def _evaluations(selected: Selected) -> int:
    """How many values of the kernel were computed for a selection, so far."""
    centers = selected.problem.X.centers
    assert centers is not None
    return centers.evaluations


def _loss_of(path: SelectionPath) -> float:
    """What kernels are compared by: held out by outer folds, if there are, else the criterion's."""
    if not path.chosen_size:
        return path.initial_loss
    place = path.chosen_size - 1
    if path.held_out is not None and math.isfinite(path.held_out[0][place]):
        return float(path.held_out[0][place])
    return float(path.losses[place])


def _origin(kernel: Kernel, X: Any, pool: Any) -> Float | None:
    """Where points are measured from: far from 0, differences would lose their digits."""
    if not kernel.is_of_differences or sparse.issparse(X) or sparse.issparse(pool):
        return None
    means: Float = pool.mean(axis=0)
    return means


def _moved(points: Any, origin: Float | None) -> Any:
    if origin is None:
        return points
    return (points.toarray() if sparse.issparse(points) else points) - origin


def _check_definite(path: SelectionPath) -> None:
    """An error if the kernel of the chosen centres is no matrix of inner products."""
    penalty = path.moments.penalty
    assert penalty is not None
    values = np.linalg.eigvalsh(penalty)
    if values[0] < -_NEGATIVE * max(abs(values[0]), abs(values[-1])):
        raise ValueError(
            "The kernel is not positive semidefinite: the matrix of the chosen centres has the "
            f"eigenvalue {values[0]:.6g}. {USE_ANOTHER}"
        )
