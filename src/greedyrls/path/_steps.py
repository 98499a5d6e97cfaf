"""Parts of a path: steps, stop reason, cost, settings and moments."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from operator import add, attrgetter, sub
from typing import Any, Literal

import numpy as np
from scipy import linalg

from .._base import ArrayValue, ByValue, Float, exported

Action = Literal["add", "remove"]
DirectionName = Literal["forward", "backward", "floating", "foba", "swap"]
LossName = Literal["squared", "zero_one", "balanced_zero_one", "absolute", "auc"]


@exported("greedyrls")
class StopReason(enum.Enum):
    """Why a search ended; ``sentence`` says it in words.

    Attributes
    ----------
    REACHED
        The number of features asked for was reached.
    INTERRUPTED
        The search was interrupted; the steps made so far are kept.
    CALLBACK
        The callback asked to stop.
    NO_IMPROVEMENT
        The loss had not improved for several steps.
    EXHAUSTED
        All features were selected.
    NUMERICAL_LIMIT
        The penalty is smaller than the rounding errors of the data.
    BUDGET
        No other feature is affordable.
    SPANNED
        The chosen features span all others up to rounding.
    """

    REACHED = "reached"
    INTERRUPTED = "interrupted"
    CALLBACK = "callback"
    NO_IMPROVEMENT = "no_improvement"
    EXHAUSTED = "exhausted"
    NUMERICAL_LIMIT = "numerical_limit"
    BUDGET = "budget"
    SPANNED = "spanned"

    @property
    def sentence(self) -> str:
        """A readable sentence."""
        return _SENTENCES[self]


_SENTENCES = {
    StopReason.REACHED: "The number of features asked for was reached.",
    StopReason.INTERRUPTED: "The search was interrupted; the steps made so far are kept.",
    StopReason.CALLBACK: "The callback asked to stop.",
    StopReason.NO_IMPROVEMENT: (
        "The search stopped because its loss had not improved for several steps."
    ),
    StopReason.EXHAUSTED: "All features were selected.",
    StopReason.NUMERICAL_LIMIT: (
        "The penalty alpha is smaller than the rounding errors of the data; the steps made so far "
        "are kept."
    ),
    StopReason.BUDGET: "The budget is spent: no other feature is affordable.",
    StopReason.SPANNED: (
        "The search ended because the chosen features span all others up to rounding."
    ),
}


@exported("greedyrls")
@dataclass(frozen=True, slots=True, eq=False)
class Step(ByValue):
    """One step of a search.

    Attributes
    ----------
    index : int
        The feature added or removed (its column number).
    loss : float
        Leave-one-out (or held-out) loss of the model after the step, lower is better; for squared
        loss the weighted mean over samples and targets.
    standard_error : float
        Standard error of the loss as a mean over samples (or splits); NaN if undefined.
    runners_up : tuple of (int, float)
        The next best features to add (or remove) and the exact loss each would have given, best
        first.
    fold_losses : tuple of float
        The loss on each split; empty for leave-one-out.
    forced : bool
        Whether the feature was forced rather than selected.
    seconds : float
        Time the step took.
    action : {"add", "remove"}
        Whether the feature was added or removed.
    features : tuple of int
        All features that were added or removed together, starting with `index`; more than one only
        for a group.
    """

    index: int
    loss: float
    standard_error: float
    runners_up: tuple[tuple[int, float], ...] = ()
    forced: bool = False
    seconds: float = 0.0
    action: Action = "add"
    fold_losses: tuple[float, ...] = ()
    features: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.features:
            object.__setattr__(self, "features", (self.index,))


@exported("greedyrls.path")
@dataclass(frozen=True, slots=True, eq=False)
class FeatureSet(ByValue):
    """The best set of features seen of some size, with the loss of its model.

    Attributes
    ----------
    features : tuple of int
        Column numbers, in the order of the search.
    loss, standard_error, fold_losses
        Loss of the model on these features with the penalty of the search, with its standard error
        and the losses on each split.
    runners_up : tuple of (int, float)
        The next best alternatives at the step that led to this set, with their losses.
    forced : bool
        Whether the last feature was forced rather than selected.
    """

    # Nested sets share the order: k separate tuples would hold k²/2 numbers.
    order: tuple[int, ...] = field(repr=False)
    count: int  # number of columns
    loss: float
    standard_error: float
    fold_losses: tuple[float, ...] = ()
    runners_up: tuple[tuple[int, float], ...] = ()
    forced: bool = False

    @property
    def features(self) -> tuple[int, ...]:
        """Column numbers, in the order of the search."""
        return self.order[: self.count]

    def _values(self) -> tuple[Any, ...]:
        _, *values = ByValue._values(self)
        return self.features, *values  # without what follows them in larger sets


@exported("greedyrls")
@dataclass(frozen=True, slots=True)
class Counters:
    """Cost of a search: passes over the data, exact evaluations and time.

    Attributes
    ----------
    passes : int
        Passes over the data: how often all of X was read. Reading single columns is not counted.
    exact_evaluations : int
        How often a candidate's loss was computed on the rows rather than bounded.
    rebuilds : int
        How often the feature-space state was recomputed because rounding errors had grown.
    seconds : float
        Wall-clock time.
    """

    passes: int = 0
    exact_evaluations: int = 0
    rebuilds: int = 0
    seconds: float = 0.0

    def __add__(self, other: Counters) -> Counters:
        return Counters(*map(add, _COUNTS(self), _COUNTS(other)))

    def __sub__(self, other: Counters) -> Counters:
        return Counters(*map(sub, _COUNTS(self), _COUNTS(other)))


_COUNTS = attrgetter("passes", "exact_evaluations", "rebuilds", "seconds")


@exported("greedyrls.path")
@dataclass(frozen=True, slots=True)
class Settings:
    """What a search was asked to do, as far as its result depends on it."""

    alpha: float
    fit_intercept: bool
    n_samples: int
    n_features_in: int
    excluded_features: tuple[int, ...] = ()
    feature_names_in: tuple[str, ...] | None = None
    weighted: bool = False
    single_target: bool = True
    loss: str = "squared"
    cv: str = "loo"
    refit_alpha: float | Literal["same", "loo", "cv"] = "same"
    direction: DirectionName = "forward"
    backward_ratio: float | None = None  # for direction "foba"
    feature_groups: tuple[tuple[int, ...], ...] | None = None  # those of two columns or more
    group_names: tuple[str, ...] | None = None  # names of `feature_groups`
    feature_costs: tuple[float, ...] | None = None  # one per column; those of a group are added up
    budget: float | None = None

    @property
    def entry_names(self) -> tuple[str, ...] | None:
        """Names of all columns; the first column of a group has the name of the group."""
        groups, group_names = self.feature_groups or (), self.group_names or ()
        return names_of_entries(self.n_features_in, self.feature_names_in, groups, group_names)


def names_of_entries(
    n_features: int,
    names: tuple[str, ...] | None,
    groups: tuple[tuple[int, ...], ...],
    group_names: tuple[str, ...],
) -> tuple[str, ...] | None:
    """Return names of all columns; the first column of a group has the name of the group."""
    named = zip(groups, group_names, strict=True) if groups else ()
    first = {group[0]: name for group, name in named}
    if names is None:
        names = tuple(f"x{column}" for column in range(n_features)) if first else None
    return names and tuple(first.get(column, name) for column, name in enumerate(names))


@exported("greedyrls.path")
@dataclass(frozen=True, eq=False)
class Moments(ByValue, ArrayValue):
    """Second moments of the features of all sets, from which all models on the path follow.

    With an intercept they are centred at the weighted means; samples count by their weights.
    """

    features: tuple[int, ...]  # (p) column numbers
    gram: Float  # (p × p) X_S'X_S
    correlation: Float  # (p × t) X_S'Y
    feature_means: Float  # (p); zeros without an intercept
    target_means: Float  # (t)
    penalty: Float | None = None  # (p × p) alpha times this is added; None: the identity

    def of(self, features: tuple[int, ...]) -> Moments:
        """Return the moments of the given features, in this order."""
        if features == self.features[: len(features)]:
            indices: Any = slice(0, len(features))
            square: Any = (indices, indices)
        else:
            index_of = {feature: index for index, feature in enumerate(self.features)}
            indices = np.array([index_of[feature] for feature in features], dtype=np.intp)
            square = np.ix_(indices, indices)
        return Moments(
            features,
            self.gram[square].copy(),
            self.correlation[indices].copy(),
            self.feature_means[indices].copy(),
            self.target_means,
            None if self.penalty is None else self.penalty[square].copy(),
        )

    def penalised(self, alpha: float) -> Float:
        """Return the matrix of the normal equations, (p × p)."""
        if self.penalty is None:
            return self.gram + alpha * np.eye(len(self.gram))
        return self.gram + alpha * self.penalty


def solved(A: Float, right: Float) -> Float:
    """Return A⁻¹ B (p × t) for a positive definite A, by a Cholesky factorisation from scratch."""
    try:
        solution = linalg.cho_solve(linalg.cho_factor(A, lower=True), right)
    except linalg.LinAlgError:
        # The penalty is below the rounding error of the data: take the minimum-norm solution.
        solution = linalg.lstsq(A, right)[0]
    return np.asarray(solution, dtype=np.float64)
