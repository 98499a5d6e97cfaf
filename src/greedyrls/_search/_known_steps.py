"""Steps that a search replays instead of searching for them: of a path, a checkpoint or before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..path import Step


class SearchRecord(NamedTuple):
    """The steps of a search, and whether its callback asked to stop."""

    steps: tuple[Step, ...] = ()
    stopped: bool = False


class KnownSteps:
    """Steps that a search replays, instead of searching for them; later ones are not stored."""

    def __init__(self, steps: tuple[Step, ...] = ()) -> None:
        self._steps = steps

    @property
    def stored(self) -> SearchRecord:
        """The known steps."""
        return SearchRecord(self._steps)

    def record(self, steps: Sequence[Step], stopped: bool) -> None:
        """Store the steps if there are new ones."""

    def refusal(self, recorded: Step, loss: float) -> ValueError | None:
        """Return an error for a replayed step that has another loss; None to start from scratch.

        A user-defined loss function may not be deterministic.
        """
        return None


NOTHING_KNOWN = KnownSteps()


class PathSteps(KnownSteps):
    """The steps of a path that is continued."""

    def refusal(self, recorded: Step, loss: float) -> ValueError:
        """Return an error for other data than those of the path."""
        return ValueError(
            f"The data are not those of the path: with feature {recorded.index} the loss is "
            f"{loss:.6g}, the path has {recorded.loss:.6g}. Pass the same X, y and sample_weight, "
            "or start again with greedy_path."
        )
