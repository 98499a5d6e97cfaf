"""The validated, immutable problem: data, targets and settings."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from .._base import (
    Float,
    namespace_of,
    numpy_of,
    send,
    sent_beside,
    to_host,
    without_rounding,
)
from .._data import (
    Matrix,
    RemoteMatrix,
    device_matrix_of,
    matrix_of,
    matrix_on,
    opened,
)
from ..path import names_of_entries
from ._classes import ClassWeights
from ._feature_names import FeatureList, feature_indices, feature_names_of
from ._grouping import Grouping, check_budget, grouping_of, whole_groups
from ._user_values import named_columns, numeric, refuse_dates


@dataclass(frozen=True, slots=True)
class Problem:
    """Validated data and settings; X is neither copied nor converted."""

    X: Matrix  # (m × n) in its own type and memory order
    Y: Float  # (m × t), always two-dimensional; rows on a cluster are not here (`RemoteArray`)
    weights: Float | None  # (m), class weights included
    fit_intercept: bool
    forced: tuple[int, ...]
    excluded: tuple[int, ...]
    feature_names: tuple[str, ...] | None
    single_target: bool
    groups: tuple[tuple[int, ...], ...] | None = None  # groups that cover all features
    group_names: tuple[str, ...] | None = None
    costs: Float | None = None  # (n); those of a group are added up
    budget: float | None = None  # limits the total cost of the chosen features
    class_weights: ClassWeights | None = None  # for a classification; always on the host

    @property
    def n_samples(self) -> int:
        """The number of samples m."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features n."""
        return int(self.X.shape[1])

    @property
    def here(self) -> Matrix:
        """X, which must not be on a cluster."""
        if self.X.remote is not None:
            raise TypeError(
                "X is on a cluster, and this operation needs it in memory; load it first "
                "(X.compute())."
            )
        return self.X

    @property
    def n_targets(self) -> int:
        """The number of targets t."""
        return int(self.Y.shape[1])

    @property
    def is_weighted(self) -> bool:
        """Whether there are sample weights."""
        return self.weights is not None

    @property
    def n_weighted(self) -> int:
        """The number of samples with positive weight."""
        if self.X.remote is not None:
            return self.X.remote.n_weighted
        if self.weights is None:
            return self.n_samples
        return int(namespace_of(self.weights).count_nonzero(self.weights))

    @property
    def has_weight(self) -> NDArray[np.bool_]:
        """Mask of samples with positive weight, (m), on the host."""
        weights = self.host_weights
        return np.ones(self.n_samples, dtype=bool) if weights is None else weights > 0.0

    @property
    def host_weights(self) -> Float | None:
        """The weights (m) on the host."""
        return None if self.weights is None else to_host(self.weights)[0]

    def on_host(self, in_memory: bool) -> Problem:
        """Return the problem with vectors that are NumPy arrays, and X in memory if asked for."""
        from .._data import host_matrix  # which only data on devices need

        X, (Y,) = host_matrix(self.X, in_memory), to_host(self.Y)
        return self if X is self.X else replace(self, X=X, Y=Y, weights=self.host_weights)

    @property
    def n_available(self) -> int:
        """The number of features (or groups) that may be chosen, forced ones included."""
        if self.groups is None:
            return self.n_features - len(self.excluded)
        left_out = set(self.excluded)
        return sum(group[0] not in left_out for group in self.groups)

    @property
    def forced_entries(self) -> tuple[tuple[int, ...], ...]:
        """Forced features, each with the others of its group, in the requested order."""
        if self.groups is None:
            return tuple((feature,) for feature in self.forced)
        first = {group[0]: group for group in self.groups}
        return tuple(first[feature] for feature in self.forced if feature in first)

    @property
    def entry_names(self) -> tuple[str, ...] | None:
        """Names of all columns; the first column of a group has the name of the group."""
        groups, group_names = self.groups or (), self.group_names or ()
        return names_of_entries(self.n_features, self.feature_names, groups, group_names)

    @property
    def is_grouped(self) -> bool:
        """Whether there are feature groups or costs."""
        return self.groups is not None or self.costs is not None

    @property
    def n_forced(self) -> int:
        """The number of forced features (or groups)."""
        return len(self.forced_entries)

    @property
    def unit(self) -> str:
        """The unit of sizes: "feature", "group" or "centre"."""
        if self.X.centers is not None:
            return "centre"
        return "feature" if self.groups is None else "group"

    def n_columns(self, size: int) -> int:
        """Return the largest number of columns of so many features (or groups)."""
        if self.groups is None:
            return size
        return sum(sorted((len(group) for group in self.groups), reverse=True)[:size])


def make_problem(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    forced_features: FeatureList | None = None,
    excluded_features: FeatureList | None = None,
    feature_names: tuple[str, ...] | None = None,
    memory_limit: int | str | None = None,
    on_device: bool = False,
    device: Any = None,
    feature_groups: Any = None,
    feature_costs: Any = None,
    budget: Any = None,
    class_weights: ClassWeights | None = None,
) -> Problem:
    """Check everything that can be checked without a pass over X.

    With `on_device`, device arrays stay where they are; with `device`, other data in memory are
    moved there. y and the weights follow X.

    Names are those of X if it is a data frame or a file, else `feature_names`. Whether X is finite
    is checked on the first pass, which is made anyway (`report_non_finite`).
    """
    X = opened(X)
    # NumPy arrays have no names of their own.
    names = feature_names if _has_numbers(X) else feature_names_of(X) or feature_names
    remote: RemoteMatrix | None = getattr(X, "remote", None)
    if device is not None and remote is None:
        X = matrix_on(device, X, memory_limit, _check_array)
    Y: Float
    weights: Float | None
    if class_weights is not None:
        sample_weights = check_weights(numpy_of(sample_weight), len(class_weights.class_of))
        class_weights = replace(class_weights, sample_weights=sample_weights)
        sample_weight = class_weights.weights()
    if remote is not None:
        Y, weights = remote.stand_ins()
        single_target, n_effective = remote.single_target, remote.n_weighted
    elif on_device and (device_matrix := device_matrix_of(X)) is not None:
        X = device_matrix
        Y, single_target = _targets_beside(X, y)
        weights = None if sample_weight is None else _weights_beside(X, sample_weight)
    else:
        X = matrix_of(X, memory_limit, _check_array)
        Y, single_target = _check_targets(y, X.shape[0])
        weights = check_weights(sample_weight, X.shape[0])
    if remote is None:
        n_effective = X.shape[0]
        if weights is not None:
            n_effective = int(namespace_of(weights).count_nonzero(weights))
    if n_effective < 2:
        raise ValueError(
            f"n_samples=1 (n_samples with a positive weight: {n_effective}) is too few: leaving "
            "one sample out needs at least 2 samples."
        )
    is_centred = check_flag(fit_intercept, "fit_intercept")
    if is_centred and remote is None:
        Y = without_rounding(Y, weights)
    forced: tuple[int, ...] = ()
    excluded: tuple[int, ...] = ()
    if not (forced_features is None and excluded_features is None):
        forced, excluded = _constraints(forced_features, excluded_features, X.shape[1], names)
    grouping = Grouping()
    if not (feature_groups is None and feature_costs is None and budget is None):
        grouping = grouping_of(feature_groups, feature_costs, budget, X.shape[1], names)
        forced, excluded = whole_groups(forced, excluded, grouping, names)
        check_budget(grouping, forced, excluded, X.shape[1])
    return Problem(
        X,
        Y,
        weights,
        is_centred,
        forced,
        tuple(sorted(excluded)),
        names,
        single_target,
        *grouping,
        class_weights=class_weights,
    )


def _constraints(
    forced_features: FeatureList | None,
    excluded_features: FeatureList | None,
    n: int,
    names: tuple[str, ...] | None,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Column numbers of forced and of excluded features, which have none in common."""
    forced = feature_indices(forced_features, n, names, "forced_features")
    excluded = feature_indices(excluded_features, n, names, "excluded_features")
    both = sorted(set(forced) & set(excluded))
    if both:
        shown = [names[index] if names else index for index in both]
        raise ValueError(
            f"Features {shown} are both in forced_features and in excluded_features; "
            "take them out of one of the two."
        )
    return forced, excluded


def check_flag(value: Any, name: str) -> bool:
    """Raise an error unless the value is True or False."""
    is_flag = isinstance(value, bool | np.bool_)
    if not is_flag and not (isinstance(value, numbers.Integral) and int(value) in (0, 1)):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def check_alpha(alpha: Any, name: str = "alpha") -> float:
    """Return alpha as a finite positive number, or raise an error."""
    if isinstance(alpha, bool) or not isinstance(alpha, numbers.Real):
        raise TypeError(f"{name} must be a number greater than 0, got {alpha!r}.")
    try:
        value = float(alpha)
    except OverflowError:
        value = math.inf
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(
            f"{name} must be a finite number greater than 0, got {alpha!r}. "
            "For (nearly) no penalty use a small value such as 1e-6."
        )
    return value


def check_n_features(n_features: Any, problem: Problem, name: str = "n_features") -> int:
    """Check the size of the set: at least the forced features, at most all not excluded."""
    if isinstance(n_features, bool) or not isinstance(n_features, numbers.Integral):
        hint = "; None requires a budget" if n_features is None else ""
        raise TypeError(f"{name} must be a whole number, got {n_features!r}{hint}.")
    value = int(n_features)
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}.")
    if value > problem.n_available:
        left_out = f" and {len(problem.excluded)} of them are excluded" if problem.excluded else ""
        available = f"X has {problem.n_features} features{left_out}"
        if problem.X.centers is not None:
            available = f"there are {problem.n_available} candidates"
        if problem.groups is not None:
            available += f", in {problem.n_available} groups to choose from; sizes count groups"
        raise ValueError(
            f"{name}={value} is too large: {available}. Ask for at most {problem.n_available}."
        )
    if value < problem.n_forced:
        raise ValueError(
            f"{name}={value} counts all {problem.unit}s, also the {problem.n_forced} forced ones; "
            f"ask for at least {problem.n_forced}, or force fewer."
        )
    return value


def _check_array(X: Any) -> Any:
    """Return X as a two-dimensional numeric array or sparse matrix, without a copy if it is one."""
    if type(X) is np.ndarray and _has_numbers(X) and X.ndim == 2 and X.size:
        return X  # check_array would return the same array, only later
    check = partial(
        check_array,
        accept_sparse=True,
        dtype="numeric",
        ensure_all_finite=False,
        ensure_min_features=1,
    )
    if _has_numbers(X):
        return check(X)
    with named_columns(X):
        return numeric(check(X))


def _has_numbers(values: Any) -> bool:
    """Whether X is a NumPy array of real numbers, which cannot hold text or dates."""
    return isinstance(values, np.ndarray) and values.dtype.kind in "biuf"


def _check_targets(y: Any, n_samples: int) -> tuple[Float, bool]:
    if y is None:
        raise ValueError("This model requires y to be passed, but the target y is None.")
    if not _has_numbers(y):
        refuse_dates(y)
    shape = np.shape(y)
    if len(shape) not in (1, 2):
        raise ValueError(f"y must have 1 or 2 dimensions, got an array of shape {shape}.")
    is_checked = type(y) is np.ndarray and y.dtype == np.float64 and y.size
    try:
        if not is_checked:
            y = check_array(
                y,
                dtype=np.float64,
                ensure_2d=False,
                ensure_all_finite=False,
                ensure_min_features=0,
                input_name="y",
            )
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(
            f"y must be numeric ({error}); for class labels use GreedyRLSClassifier."
        ) from error
    Y = np.require(y, requirements="A")  # compiled code reads no other arrays
    _check_finite(Y, "y")
    check_consistent_length(np.broadcast_to(0, n_samples), Y)
    single = Y.ndim == 1
    if single:
        Y = Y[:, None]
    if Y.shape[1] == 0:
        raise ValueError("y has no targets: its shape is (n_samples, 0).")
    return Y, single


def check_weights(sample_weight: ArrayLike | None, n_samples: int) -> Float | None:
    """Check that sample weights are finite, not negative and not all 0."""
    if sample_weight is None:
        return None
    try:
        weights: Float = check_array(
            np.atleast_1d(np.asarray(sample_weight)),
            dtype=np.float64,
            ensure_2d=False,
            ensure_all_finite=False,
            input_name="sample_weight",
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be a number for each sample: {error}") from error
    if weights.ndim == 2 and weights.shape[1] == 1:
        weights = weights[:, 0]
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have one value for each of the {n_samples} samples, got an array "
            f"of shape {weights.shape}."
        )
    _check_finite(weights, "sample_weight")
    with np.errstate(over="ignore"):
        if not np.isfinite(weights.sum()):
            raise ValueError("sample_weight has values so large that their sum overflows.")
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise ValueError(
            f"sample_weight must not be negative; row {row} has {float(weights[row])!r}. "
            "Use 0 to leave a sample out."
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample; at least 2 must be positive.")
    return weights


def _targets_beside(X: Matrix, y: Any) -> tuple[Float, bool]:
    """Return the targets at the location of X; those that are there already are checked there."""
    moved = sent_beside(X.location, y)
    if moved is None:
        Y, single = _check_targets(numpy_of(y), X.shape[0])
        return send(X.location, Y), single
    Y = moved
    is_good = Y.ndim in (1, 2) and Y.shape[0] == X.shape[0] and 0 not in Y.shape
    if not (is_good and _is_all_finite(Y)):
        _check_targets(to_host(Y)[0], X.shape[0])  # raises the error
    return (Y[:, None], True) if Y.ndim == 1 else (Y, False)


def _weights_beside(X: Matrix, sample_weight: Any) -> Float:
    """Return the weights at the location of X; those that are there already are checked there."""
    weights = sent_beside(X.location, sample_weight)
    if weights is not None:
        xp = X.location.xp
        if weights.shape == (X.shape[0],) and _is_all_finite(weights):
            total, least = to_host(xp.sum(weights), xp.min(weights))
            if 0.0 < total < np.inf and least >= 0.0:
                return weights
        sample_weight = to_host(weights)[0]
    moved: Float = send(X.location, check_weights(numpy_of(sample_weight), X.shape[0]))
    return moved


def _is_all_finite(values: Float) -> bool:
    xp = namespace_of(values)
    return bool(xp.all(xp.isfinite(values)))


def _check_finite(values: Float, name: str) -> None:
    """Raise an error that names the first value that is not finite."""
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        position = tuple(bad[0])
        value = float(values[position])
        kind = "NaN" if math.isnan(value) else "infinity"
        column = f", column {position[1]}" if values.ndim == 2 else ""
        raise ValueError(f"Input {name} contains {kind}: row {position[0]}{column} is {value}.")


def report_non_finite(problem: Problem) -> None:
    """Raise an error that names a value of X that is not finite, or too large to square."""
    non_finite = problem.X.first_non_finite()
    if non_finite is None:
        raise ValueError(
            "X has values so large that their squares overflow float64 (over about 1e154); "
            "rescale its columns."
        )
    row, column, value = non_finite
    name = f" ({problem.feature_names[column]!r})" if problem.feature_names else ""
    kind = "NaN" if math.isnan(value) else "infinity"
    raise ValueError(
        f"Input X contains {kind}: row {row}, column {column}{name} is {value}. "
        "Impute missing values first (sklearn.impute.SimpleImputer) or drop those rows."
    )
