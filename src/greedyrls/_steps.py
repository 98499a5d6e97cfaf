"""What a path is made of: steps, why they ended, what they cost, settings, moments."""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from ._kernels import Float


class StopReason(enum.Enum):
    """Why a search ended; ``sentence`` says it in words."""

    REACHED = "reached"
    INTERRUPTED = "interrupted"
    CALLBACK = "callback"
    NO_IMPROVEMENT = "no_improvement"
    EXHAUSTED = "exhausted"
    NUMERICAL_LIMIT = "numerical_limit"
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
    StopReason.EXHAUSTED: "The search went on until all features were in.",
    StopReason.NUMERICAL_LIMIT: (
        "The penalty alpha is lost in the rounding of the data; the steps made so far are kept."
    ),
    StopReason.SPANNED: (
        "The search ended because the chosen features span all others up to rounding."
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of a search.

    Attributes
    ----------
    index : int
        The feature added (its column number).
    loss : float
        Leave-one-out (or held-out) loss of the model with this feature, lower is better; for
        squared loss the weighted mean over samples and targets.
    standard_error : float
        Of that loss as a mean over samples (or splits); not a number where the loss has none.
    runners_up : tuple of (int, float)
        The next best features and the exact loss each would have given, best first.
    fold_losses : tuple of float
        The loss on each split; empty for leave-one-out.
    forced : bool
        Whether the feature was given rather than found.
    seconds : float
        Time the step took.
    action : {"add"}
        What was done with the feature.
    """

    index: int
    loss: float
    standard_error: float
    runners_up: tuple[tuple[int, float], ...] = ()
    forced: bool = False
    seconds: float = 0.0
    action: Literal["add"] = "add"
    fold_losses: tuple[float, ...] = ()

    def _key(self) -> tuple[Any, ...]:
        """All fields, with None for an error that is not a number and would not equal itself."""
        values = tuple(getattr(self, one.name) for one in fields(self))
        return tuple(None if value != value else value for value in values)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Step) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())


@dataclass(frozen=True, slots=True)
class Counters:
    """What a search cost.

    Attributes
    ----------
    passes : int
        Passes over the data: how often all of X was read. Reading single columns is not counted.
    exact_evaluations : int
        How often a candidate's loss was computed on the rows rather than bounded.
    rebuilds : int
        How often the feature-space state was made anew because rounding errors had grown.
    seconds : float
        Wall-clock time.
    """

    passes: int = 0
    exact_evaluations: int = 0
    rebuilds: int = 0
    seconds: float = 0.0

    def __add__(self, other: Counters) -> Counters:
        return Counters(
            self.passes + other.passes,
            self.exact_evaluations + other.exact_evaluations,
            self.rebuilds + other.rebuilds,
            self.seconds + other.seconds,
        )


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
    refit_alpha: float | Literal["same", "loo"] = "same"


@dataclass(frozen=True, slots=True)
class Moments:
    """Second moments of the chosen features: all that the models on the path depend on.

    With an intercept they are taken about the weighted means; rows count with their weight.
    """

    gram: Float  # (k × k) X_S'X_S
    correlation: Float  # (k × t) X_S'Y
    feature_means: Float  # (k); zeros without an intercept
    target_means: Float  # (t)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("gram", "correlation", "feature_means", "target_means")
        )

    def __hash__(self) -> int:
        return hash((self.gram.tobytes(), self.correlation.tobytes()))

    # Arrays lose their read-only flag when copied or pickled: go through the constructor.
    def __reduce__(self) -> tuple[type[Moments], tuple[Float, ...]]:
        return Moments, (self.gram, self.correlation, self.feature_means, self.target_means)

    def __deepcopy__(self, memo: dict[int, Any]) -> Moments:
        return self

    def __post_init__(self) -> None:
        for values in (self.gram, self.correlation, self.feature_means, self.target_means):
            values.flags.writeable = False
