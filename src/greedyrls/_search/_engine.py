"""What makes the steps of a search, and the model that they have led to.

As long as nothing is in doubt, plain forward steps are those of compiled code alone, without a
state of the general engine. Then the general engine takes over; its stepper may take compiled steps
between its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._criteria import Criterion
from .._steppers import CompiledSearch
from ..path import Counters, Step
from ._directions import exchanges, moves
from ._plan import AnyState
from ._searching import compiled_steps, forward, replay_together
from ._setup import Setup, compiled_search_of

# A model, and what the search for it has cost.
Searched = AnyState | CompiledSearch


class Engine:
    """A search from the empty model with one penalty."""

    def __init__(self, setup: Setup, alpha: float, is_new: bool = True) -> None:
        """A new search has no steps that are known already."""
        self._setup, self._alpha = setup, alpha
        self.has_stepper = True
        self.spent = Counters()  # on models that were left
        self._made: tuple[AnyState, Criterion] | None = None
        self._compiled: CompiledSearch | None = None
        if is_new:
            self._compiled = compiled_search_of(setup, alpha)
        self.initial_loss = self._loss_without_features()

    @property
    def searched(self) -> Searched:
        """The current model."""
        return self.state if self._compiled is None else self._compiled

    @property
    def state(self) -> AnyState:
        """The state of the general engine, which has the features chosen so far."""
        return self._engine()[0]

    def _engine(self) -> tuple[AnyState, Criterion]:
        if self._made is None:
            plan, data = self._setup.plan, self._setup.data
            arguments = self._alpha, self._setup.limits.capacity, self.has_stepper
            state, criterion = plan.search(data, *arguments)
            if plan.direction.name != "forward":
                state.keep_columns()
            self._made = state, criterion
        return self._made

    def _loss_without_features(self) -> float:
        return self.state.loss if self._compiled is None else self._compiled.rows.initial_loss

    def restart(self, has_stepper: bool = True) -> None:
        """Begin again with the general engine."""
        self.spent += _cost_of(self.searched)
        self.has_stepper, self._made, self._compiled = has_stepper, None, None
        self.initial_loss = self._loss_without_features()

    def steps(self, done: Sequence[Step]) -> Iterator[Step]:
        """Yield the steps after those that are done, which the state knows of."""
        setup, steps, is_in_doubt = self._setup, list(done), False
        size, n_runners_up = setup.limits.size, setup.watch.n_runners_up
        if (compiled := self._compiled) is not None:
            yield from compiled_steps(compiled, size)
            if len(compiled.indices) == size:
                return
            state, cost = self.state, _cost_of(compiled)  # passes of the data count once
            for _ in replay_together(state, [(index,) for index in compiled.indices], False):
                pass
            # Until here an interrupted search has the model of the compiled one.
            self.spent += cost
            self._compiled, is_in_doubt = None, True
        state, criterion = self._engine()
        for step in replay_together(state, state.problem.forced_entries[len(steps) :], forced=True):
            steps.append(step)
            yield step
        arguments = state, criterion, size, n_runners_up
        direction = setup.plan.direction
        if direction.name in ("floating", "foba"):
            yield from moves(direction, *arguments, steps, self.initial_loss, self.has_stepper)
        elif all(step.action == "add" for step in done):
            # For "swap", exchanges follow.
            yield from forward(*arguments, self.has_stepper, is_in_doubt)

    def exchanges(self, half: Step | None) -> Iterator[Step]:
        """Yield exchanges of single features; `half` of one is known already."""
        setup, (state, criterion) = self._setup, self._engine()
        n_runners_up, forced = setup.watch.n_runners_up, setup.data.problem.forced
        return exchanges(state, criterion, n_runners_up, forced, half)


def _cost_of(model: Searched) -> Counters:
    """Return what a search for a model has cost so far."""
    return Counters(model.passes, model.exact_evaluations, model.rebuilds)
