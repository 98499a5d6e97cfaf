"""The one way from data and options to a path, for every public function and estimator."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray

from .._data import remote_matrix
from .._problem import ClassWeights, Problem, make_problem
from ._options import Options
from ._request import Selected, make_request
from ._select import select


def select_path(
    X: Any,
    y: Any,
    options: Options,
    *,
    sample_weight: Any = None,
    groups: ArrayLike | None = None,
    labels: NDArray[Any] | None = None,
    class_weights: ClassWeights | None = None,
    feature_names: tuple[str, ...] | None = None,
) -> Selected:
    """Select a path; returns it with the problem, plan and folds used.

    X is anything that `greedy_path` accepts, or a `Matrix`. `labels` are the classes whose codes
    are in y. `feature_names` are used if X has none.
    """
    problem = problem_of(
        X,
        y,
        options,
        sample_weight=sample_weight,
        class_weights=class_weights,
        feature_names=feature_names,
    )
    return select(make_request(problem, options, groups, labels))


def problem_of(
    X: Any,
    y: Any,
    options: Options,
    *,
    sample_weight: Any = None,
    class_weights: ClassWeights | None = None,
    feature_names: tuple[str, ...] | None = None,
    is_local: bool = False,
) -> Problem:
    """Make a problem from data and options; with `is_local`, X must be in this process."""
    return make_problem(
        X if is_local else remote_matrix(X, y, sample_weight),
        y,
        fit_intercept=options.fit_intercept,
        sample_weight=sample_weight,
        forced_features=options.forced_features,
        excluded_features=options.excluded_features,
        feature_names=feature_names,
        memory_limit=options.memory_limit,
        on_device=True,
        device=options.device,
        feature_groups=options.feature_groups,
        feature_costs=options.feature_costs,
        budget=options.budget,
        class_weights=class_weights,
    )
