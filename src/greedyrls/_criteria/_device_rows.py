"""Sample space on a device: rounds of scores that also take the step that will likely follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .._base import (
    DEVICE_TILE_ELEMENTS,
    ArrayLocation,
    Executor,
    Float,
    Handle,
    add_up,
    ask,
    long_call,
    to_device,
    to_host,
)
from .._features import DeviceFeatures, FeatureSpace
from .._rows import (
    BoundTerms,
    FusedFeatures,
    RecordedStep,
    Round,
    Rounds,
    RowBlock,
    SampleStatistics,
    TargetSums,
    can_find_lowest,
    centred_columns,
    fetched_statistics,
    sample_statistics,
    without_chosen,
)
from ._samples import Latest, Lowest, SampleSpace, Scores

# With more rows than this a candidate of the first round costs as much as it may save.
_SHORT_ROWS = 1 << 14
# With as many features their vectors live on the device; shorter ones are faster on the host,
# unless whole steps are recorded.
DEVICE_FEATURES = 1 << 14


class DeviceRows(SampleSpace):
    """The interface of the search to rows on a device."""

    score_elements = DEVICE_TILE_ELEMENTS
    round_elements = 1 << 25
    columns_per_score = 16  # a device reads X as fast as it reads vectors of m
    # Updating the spread takes as long as scoring the candidates that it would rule out.
    spread_rows = 1 << 16

    def __init__(
        self,
        blocks: Iterable[Handle],
        shape: tuple[int, int],
        executor: Executor | None,
        location: ArrayLocation,
    ) -> None:
        self._location = location
        super().__init__(blocks, shape, executor)
        if self._n_features >= DEVICE_FEATURES or can_find_lowest(self._blocks):
            self.feature_location = location
        # A second round costs as much as many candidates, and bounds of few rows rule out less.
        self.first_width = 8 if self._rows > _SHORT_ROWS else 24
        self._rounds = Rounds()
        # The round of the best candidate: blocks that were moved by it at once.
        self._round: tuple[Latest, Round] | None = None
        # Of the blocks as they are, if known.
        self._statistics: tuple[list[Handle], SampleStatistics] | None = None

    def _weights(self) -> TargetSums:
        sums = super()._weights()
        if isinstance(sums.weight, float):
            return sums._replace(target_means=to_host(sums.target_means)[0])
        weight, means, *rest = to_host(*sums)
        return TargetSums(float(weight), means, *map(float, rest))

    def fork(self, count: int = 0) -> Self:
        """The same rows for another search, of `count` features as far as is known."""
        other = super().fork(count)
        other._rounds = Rounds()
        other._round = other._statistics = None
        # Recorded work reads all columns of chosen features that there are: those of its own.
        other._blocks = other.each(ask(RowBlock.separate, count))
        return other

    def _pass(self, count: int) -> AbstractContextManager[None]:
        return long_call(0.0)

    def _features(self, *values: Float) -> list[Float]:
        return list(values) if self.feature_location is self._location else to_host(*values)

    def score(
        self,
        indices: NDArray[np.intp],
        beta: Float,
        penalty: Float,
        shrinkage: Float,
        with_spread: bool,
        Z: list[Float] | None = None,
    ) -> Scores:
        """`SampleSpace.score` in one transfer each way, with the step that will likely follow."""
        self.exact_evaluations += len(indices)
        best = self._round if self._latest is not None else None
        if best is not None and self._rounds.holds(best[1].pieces):
            best = None  # this round overwrites it
        self._latest = self._round = None
        round_, self._blocks = self._rounds.score(
            self._executor, self._blocks, indices, beta, penalty, shrinkage, with_spread
        )
        self._take_round(round_, indices, best)
        return round_.scores

    def score_lowest(
        self, features: FeatureSpace, terms: Callable[[], BoundTerms], count: int
    ) -> Lowest | None:
        """The candidates of lowest bound and their scores, all in one transfer."""
        if not isinstance(features, DeviceFeatures) or features.fused is None:
            return None
        step = self.recorded_step(features.fused, count)
        if step is None:
            return None
        found, reported, self._blocks = step.score_lowest(self._blocks[0], terms(), features.chosen)
        self.exact_evaluations += count
        self._take_round(found, reported.indices, None)
        features.remember_reported(reported)
        return Lowest(reported.indices, found.scores, reported.beyond)

    def recorded_step(self, features: FusedFeatures, c: int) -> RecordedStep | None:
        """Rounds of the c candidates of lowest bound, recorded, if there can be any."""
        return self._rounds.step(self._blocks, features, c)

    def take_block(self, block: RowBlock) -> None:
        """Use the block after features were added on the device."""
        for index in block.chosen[len(self._blocks[0].chosen) :]:
            block.columns.note(index)
        self._blocks = [block]
        self._latest = self._round = None

    def _take_round(
        self, found: Round, indices: NDArray[np.intp], best: tuple[Latest, Round] | None
    ) -> None:
        """Remember the best of a round, if it is better than the best before."""
        loss = float(found.scores.losses[:, found.best].sum())
        if best is None or loss < best[0].loss:
            best = Latest(int(indices[found.best]), loss, found.pieces), found
        self._latest, self._round = best[0], best

    def products(self, indices: Sequence[int], new_anchor: bool = False) -> Float:
        """Gram columns of some features, then X'a of a new anchor: (c [+ t]) × n, one pass."""
        if new_anchor and self._round is not None:  # it was moved with the anchor of before
            self._round = self._round[0], self._round[1]._replace(moved=[])
        return super().products(indices, new_anchor)

    def _residuals(self, index: int, beta: Float) -> list[Handle]:
        (beta,) = to_device(self._location, beta)
        columns = self.each(ask(centred_columns, np.array([index])))
        return self.each(ask(without_chosen, beta), columns)

    def advance(
        self, index: int, beta: Float, delta: float, rho: Float, along: Float | None
    ) -> None:
        """Add a feature with coefficients beta (|S| × 1); blocks that were moved are taken."""
        best, self._round = self._round if self._latest is not None else None, None
        if best is not None and best[0].feature == index and best[1].moved:
            self._latest, found = None, best[1]
            self._blocks = self._executor.each(
                ask(RowBlock.chose, index, found.column), found.moved
            )
            self._statistics = self._blocks, found.statistics
            return
        (rho, *rest) = to_device(self._location, rho, *([] if along is None else [along]))
        super().advance(index, beta, delta, rho, rest[0] if rest else None)

    def statistics(self) -> SampleStatistics:
        """Return the sums over all rows that the bounds and the loss need."""
        if self._statistics is not None and self._statistics[0] is self._blocks:
            return self._statistics[1]
        answers = self._executor.answers(sample_statistics, self._blocks)
        return add_up(fetched_statistics(answer) for answer in answers)
