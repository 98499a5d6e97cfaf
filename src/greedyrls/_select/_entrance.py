"""The one way from data and options to a path, for every public function and estimator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from numpy.typing import ArrayLike, NDArray

from .._cluster import gather_rows, needs_all_rows, partitions, rows_here
from .._data import check_remote_options, is_gathered, origin_of
from .._problem import ClassWeights, Problem, make_problem
from .._search import CLUSTER, FEATURES
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
    rows = given_rows(X, y, sample_weight, groups, options)
    problem = problem_of(
        rows.X,
        rows.y,
        options,
        sample_weight=rows.sample_weight,
        class_weights=class_weights,
        feature_names=feature_names,
    )
    return select(make_request(problem, options, rows.groups, labels))


class GivenRows(NamedTuple):
    """Data as the user passed them, or on the cluster or in this process if X is a collection."""

    X: Any
    y: Any
    sample_weight: Any
    groups: Any


def given_rows(
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    options: Options,
    *,
    is_classification: bool = False,
    class_weight: Any = None,
) -> GivenRows:
    """Decide where a search on a Dask collection runs; other data are returned as they are.

    It runs on the cluster if all options are supported there, and in this process if they are not,
    or if X is so small that questions to the cluster would take longer than to fetch it.
    """
    if is_gathered(X) or not origin_of(X).is_lazy:
        return GivenRows(X, y, sample_weight, groups)
    check_remote_options(options.memory_limit, options.device)
    asked = _asked(options, groups, is_classification, class_weight)
    rows = partitions(X)
    if rows.is_small or not all(FEATURES[feature].works_with(CLUSTER) for feature in asked):
        return GivenRows(*rows_here(rows, y, sample_weight, groups))
    remote = gather_rows(rows, y, sample_weight, is_classification)
    return GivenRows(remote, None, None, groups)


def _asked(
    options: Options, groups: Any, is_classification: bool, class_weight: Any
) -> Iterator[str]:
    """Yield the rows of the capability table that matter for where a search runs."""
    if not options.criterion.is_additive:
        yield "whole_loss"
    if groups is not None or any(
        needs_all_rows(cv, is_classification) for cv in (options.cv, options.alpha_cv)
    ):
        yield "splitters"
    if options.searched.name != "forward":
        yield "direction"
    has_choice = not isinstance(options.penalties, float)
    if options.refit_alpha == "cv" or (has_choice and options.alpha_rule == "all_features"):
        yield "all_features"
    if class_weight is not None:
        yield "class_weight"


def problem_of(
    X: Any,
    y: Any,
    options: Options,
    *,
    sample_weight: Any = None,
    class_weights: ClassWeights | None = None,
    feature_names: tuple[str, ...] | None = None,
) -> Problem:
    """Make a problem from data and options."""
    return make_problem(
        X,
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
