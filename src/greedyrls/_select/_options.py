"""All options of a selection in one class, with the names that the caller has for them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self, get_args

from .._base import Float, is_whole
from .._problem import (
    FeatureCosts,
    FeatureGroups,
    FeatureList,
    Loss,
    Problem,
    check_alpha,
    check_n_features,
    make_loss,
    make_shuffle,
)
from .._search import Watch, check_jobs
from ..path import FORWARD, AlphaRule, Direction, SizeRule, check_direction
from ._alphas import check_alphas

# Options that are whole numbers: their defaults, and the least that they may be.
_COUNTS = (
    ("n_runners_up", 0, 0),
    ("patience", None, 1),
    ("block_rows", None, 1),
    ("max_features", None, 1),
)


@dataclass(frozen=True, slots=True)
class Caller:
    """The option names of a public function or estimator, and the further values it accepts."""

    names: Mapping[str, str] = field(default_factory=dict)  # where they differ from `Options`
    takes_shares: bool = False  # n_features may be a share of all features
    takes_auto_loss: bool = False  # loss="auto": squared, or for classes possibly another one
    has_folds: bool = False  # the caller has folds of its own, which may use the groups


_GREEDY_PATH = Caller()


@dataclass(frozen=True, slots=True)
class Options:
    """All options of a selection as the user passed them, with the defaults of `greedy_path`.

    `greedy_path` documents each option. The constructor checks nothing: `make_request` validates
    the options together with the data. Errors use the caller's names of the options.
    """

    n_features: Any
    alpha: Any = 1.0
    cv: Any = "loo"
    loss: Any = "squared"
    fit_intercept: Any = True
    forced_features: FeatureList | None = None
    excluded_features: FeatureList | None = None
    direction: Any = "forward"
    backward_ratio: Any = None
    feature_groups: FeatureGroups | None = None
    feature_costs: FeatureCosts | None = None
    budget: Any = None
    alpha_rule: Any = "nested"
    alpha_cv: Any = None
    refit_alpha: Any = None
    size_rule: Any = "1se"
    max_features: Any = None
    patience: Any = None
    tol: Any = None
    n_runners_up: Any = 0
    search: Any = "auto"
    block_rows: Any = None
    n_jobs: Any = None
    memory_limit: Any = None
    device: Any = None
    checkpoint: Any = None
    callback: Any = None
    random_state: Any = 0
    verbose: int = 0
    caller: Caller = _GREEDY_PATH

    @classmethod
    def of(cls, parameters: Mapping[str, Any], caller: Caller = _GREEDY_PATH) -> Self:
        """Return the options among the parameters of a caller; others keep their defaults.

        These are `locals()` at the beginning of a function, or `vars` of an estimator.
        """
        names = {one.name: caller.names.get(one.name, one.name) for one in fields(cls)}
        known = {option: name for option, name in names.items() if name in parameters}
        return cls(**{option: parameters[name] for option, name in known.items()}, caller=caller)

    def name(self, option: str) -> str:
        """Return the caller's name of an option."""
        return self.caller.names.get(option, option)

    def check(self) -> None:
        """Raise an error if the value of an option is wrong for any data."""
        if self.callback is not None and not callable(self.callback):
            raise TypeError(
                f"{self.name('callback')} must be callable or None, got {self.callback!r}."
            )
        for option, default, least in _COUNTS:
            value = getattr(self, option)
            if value is not default and (not is_whole(value) or value < least):
                allowed = f"{'None or ' * (default is None)}a whole number, {least} or more"
                raise ValueError(f"{self.name(option)} must be {allowed}; got {value!r}.")
        if self.search not in ("auto", "bounded", "exhaustive"):
            raise ValueError(
                f"{self.name('search')} must be 'auto', 'bounded' or 'exhaustive', got "
                f"{self.search!r}."
            )
        check_jobs(self.n_jobs)
        if not isinstance(self.size_rule, str) or self.size_rule not in get_args(SizeRule):
            raise ValueError(f"size_rule must be 'min' or '1se', got {self.size_rule!r}.")
        if not isinstance(self.alpha_rule, str) or self.alpha_rule not in get_args(AlphaRule):
            names = ", ".join(map(repr, get_args(AlphaRule)))
            raise ValueError(f"alpha_rule must be one of {names}, got {self.alpha_rule!r}.")
        if self.random_state != 0:  # the default needs no check; others are checked even if unused
            make_shuffle(self.random_state)
        _ = self.tolerance
        self._check_with_direction()

    def _check_with_direction(self) -> None:
        """Raise an error for options that a direction of the search does not take."""
        direction = self.searched
        stops = [
            f"{option}={getattr(self, option)!r}"
            for option in ("patience", "tol")
            if getattr(self, option) is not None
        ]
        if direction.name == "backward" and stops:
            raise ValueError(
                f"{' and '.join(stops)} cannot end a search with direction='backward', which "
                "knows small sets last; leave it out."
            )

    @property
    def tolerance(self) -> float:
        """The value of `tol` as a number."""
        tol, name = self.tol, self.name("tol")
        if tol is None:
            return 0.0
        if isinstance(tol, bool) or not isinstance(tol, numbers.Real):
            raise TypeError(f"{name} must be None or a number, 0 or more; got {tol!r}.")
        value = float(tol)
        if not (math.isfinite(value) and value >= 0.0):
            raise ValueError(f"{name} must be None or a number, 0 or more; got {tol!r}.")
        return value

    @property
    def searched(self) -> Direction:
        """The direction of the search, from `direction` and `backward_ratio`."""
        if self.direction == "forward" and self.backward_ratio is None:
            return FORWARD
        return check_direction(self.direction, self.backward_ratio)

    @property
    def penalties(self) -> float | Float | Literal["auto"]:
        """The penalties to try: a number, an ascending grid without repetitions, or "auto"."""
        if isinstance(self.alpha, float | int):
            return check_alpha(self.alpha)
        return check_alphas(self.alpha)

    @property
    def watch(self) -> Watch:
        """The options for recording and reporting the progress of a search."""
        return Watch(self.n_runners_up, self.callback, self.verbose)

    @property
    def has_auto_loss(self) -> bool:
        """Whether another loss may be used if it is clearly better."""
        is_auto = isinstance(self.loss, str) and self.loss == "auto"
        return is_auto and self.caller.takes_auto_loss

    @property
    def criterion(self) -> Loss:
        """The loss to select by."""
        return make_loss("squared" if self.has_auto_loss else self.loss, self.name("loss"))

    def size(self, problem: Problem) -> int | Literal["auto"] | None:
        """Return the number of features (or groups) to select; None if the budget limits it."""
        value, name = self.n_features, self.name("n_features")
        if value is None and problem.budget is not None:
            return None
        if isinstance(value, str) and value == "auto":
            return "auto"
        if self.caller.takes_shares:
            value = self._count_of_share(value, name, problem)
        elif isinstance(value, str):
            raise ValueError(f"{name} must be a number or 'auto', got {value!r}.")
        size = check_n_features(value, problem, name)
        if self.max_features is not None and size > self.max_features:
            most = self.name("max_features")
            raise ValueError(
                f"{name}={size} is more than {most}={self.max_features}; {most} is for 'auto', "
                "leave it out."
            )
        return size

    def _count_of_share(self, value: Any, name: str, problem: Problem) -> int:
        """Convert a share of all features to a number of features; a whole number is unchanged."""
        wrong = f"{name} must be a whole number, a share in (0, 1] or 'auto', got {value!r}."
        if value is None and problem.costs is not None:
            wrong += " None requires a budget; pass one, or a number of features."
        if isinstance(value, str):
            raise ValueError(wrong)
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(wrong)
        if isinstance(value, numbers.Integral):
            return int(value)
        share = float(value)
        if not 0.0 < share <= 1.0:
            raise ValueError(
                f"{name}={share} as a share must be in (0, 1]; pass a share in this range, or "
                f"for a number of {problem.unit}s pass a whole number."
            )
        if problem.n_available == 0:
            raise ValueError("All features of X are excluded: there is nothing to choose from.")
        # A product such as 0.29 · 100 is below 29 by rounding only.
        count = problem.n_features if problem.groups is None else len(problem.groups)
        size = max(1, math.floor(share * count * (1 + 1e-12)))
        return max(problem.n_forced, min(size, problem.n_available))
