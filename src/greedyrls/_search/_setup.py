"""What searches with several penalties have in common, and whether they take compiled steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base import TIE, native
from .._criteria import LooData
from .._problem import Problem
from .._steppers import LOSSES, CompiledSearch, can_compile, compiled_search
from ..path import Step
from ._plan import Data, Plan

Callback = Callable[[Step], Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """The conditions that end a search."""

    size: int
    patience: int | None = None
    tol: float = 0.0
    least: int = 0  # no early stop before this size
    by_budget: bool = False  # no size is set: the budget ends the search

    @property
    def capacity(self) -> int:
        """The initial capacity of arrays: small if the search will likely stop early."""
        is_fixed = self.patience is None and not self.by_budget
        return self.size if is_fixed else min(self.size, 64)

    def is_stale(self, losses: Sequence[float], forced: int = 0) -> bool:
        """Return whether no loss improved by `tol` (relative) in the last `patience` steps.

        The losses of forced features, which come first, do not count. A tie is no improvement.
        """
        if self.patience is None or len(losses) < self.least:
            return False
        best, age = np.inf, 0
        for loss in losses[forced:]:
            if best == np.inf or loss < best - max(self.tol, TIE) * abs(best):
                best, age = loss, 0
            else:
                age += 1
        return age >= self.patience


@dataclass(frozen=True, slots=True)
class Watch:
    """Options for recording and reporting the progress of a search."""

    n_runners_up: int = 0
    callback: Callback | None = None
    verbose: int = 0


UNWATCHED = Watch()


@dataclass(frozen=True, slots=True)
class Setup:
    """What searches with several penalties have in common."""

    plan: Plan
    data: Data
    limits: Limits
    watch: Watch = UNWATCHED


def is_compiled(plan: Plan, problem: Problem) -> bool:
    """Return whether searches for a problem take compiled steps, before anything is read."""
    return (
        native() is not None
        and plan.folds is None
        and plan.direction.name == "forward"
        and plan.strategy == "auto"
        and plan.block_rows is None
        and plan.loss.name in LOSSES
        and not problem.is_grouped
        and problem.X.centers is None
        and problem.X.host_array is not None
    )


def takes_compiled_steps(plan: Plan, data: LooData) -> bool:
    """Return whether searches on these data take compiled steps, which need no interpreter."""
    return is_compiled(plan, data.problem) and can_compile(data, plan.loss)


def takes_no_pass(data: LooData) -> bool:
    """Return whether compiled searches on these data have begun, and need no pass over X.

    What a search gets then does not depend on what others have asked for, so that several can run
    at the same time.
    """
    compiled = data.compiled.values()
    return bool(compiled) and all(rows.needs_no_pass for rows in compiled)


def compiled_search_of(
    setup: Setup, alpha: float, is_followed: bool = True
) -> CompiledSearch | None:
    """Return a search in compiled code, if it takes plain forward steps from the empty model."""
    plan, data = setup.plan, setup.data
    if not isinstance(data, LooData) or not is_compiled(plan, data.problem):
        return None
    if data.problem.n_forced:
        return None
    n_runners_up = setup.watch.n_runners_up if is_followed else None
    return compiled_search(data, plan.loss, alpha, n_runners_up)
