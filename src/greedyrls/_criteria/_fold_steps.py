"""Steps of a search by folds on a device: one transfer each way, recorded where possible.

The recurrences of all splits live on the device (`_fold_space`, of fixed shapes), with the held-out
rows. A step receives the feature to add and returns the losses of all candidates for the next one,
by which the host chooses as in every search. All arrays are updated in place.
"""

from __future__ import annotations

import array_api_compat
import numpy as np

from .._base import (
    REFINED_PIVOT,
    Array,
    ArrayLocation,
    Float,
    Layout,
    Replay,
    ask,
    at,
    flattened,
    put_at,
    put_row,
    recorder_of,
    take,
    to_device,
    to_host,
    whole_numbers,
)
from .._data import Matrix, free_bytes
from .._features import (
    FoldSpace,
    FusedFolds,
    StepReport,
    can_follow,
    report_layout,
)
from .._rows import FoldBlock, FoldRows, FusedStep, StepNumbers, StepSums, can_fuse
from ._fold_refinement import careful_coefficients

# The share of a device's free memory for the recurrences and the columns of held-out rows.
_SHARE = 0.5
# The layout of the numbers that a step is sent.
_SENT = Layout(StepNumbers, (1,), (1,))


def supports_steps(X: Matrix) -> bool:
    """Return whether recurrences may live beside X: they index with numbers on the device."""
    return array_api_compat.is_torch_namespace(X.location.xp)


def location_of_steps(
    X: Matrix, n_splits: int, n_tested: int, capacity: int, limit: int
) -> ArrayLocation | None:
    """Return where the recurrences should be: beside X, or None for the host.

    `limit` is the number of columns of the held-out rows that may be kept.
    """
    if not supports_steps(X):
        return None
    needed = 8.0 * capacity * (2 * n_splits * X.shape[1] + n_tested)
    free = free_bytes(X.location)
    if capacity > limit or (free is not None and needed > _SHARE * free):
        return None
    return X.location


class FoldSteps:
    """The recurrences and the held-out rows of one search, updated together."""

    def __init__(self, space: FoldSpace, by_sets: tuple[Float, Float, Float]) -> None:
        """Combine sums over sets of rows by `by_sets` to those over training, test and all rows."""
        self._space = space
        (self._by_sets,) = to_device(
            space.location, np.concatenate([np.atleast_2d(x) for x in by_sets])
        )
        self._recorder = recorder_of(space.location)
        self.report = self._fetched(self._packed(space.location.zeros(space.capacity)))

    def attach(self, rows: FoldRows) -> None:
        """Enlarge the held-out rows to the capacity of the recurrences, and use them."""
        self._rows = rows
        rows.become(ask(FoldBlock.with_room, self._space.capacity))
        (block,) = rows.blocks
        self._X, (self._split,) = block.X, block.splits
        location = self._space.location
        (self._shift,) = to_device(location, block.shift)
        chosen = np.zeros(self._space.capacity)
        chosen[: self._space.size] = self._space.selected
        self._chosen = whole_numbers(to_device(location, chosen)[0])
        self._fused: FusedStep | None = None
        self.folds: FusedFolds | None = None  # the kernels for recurrences, where there are any
        if can_fuse(block.X, self._split.r.shape[1]):
            self._fused = FusedStep(block.X.device_array, self._split, self._shift)
            if can_follow(self._space):
                self.folds = FusedFolds(self._space, self._chosen)
                self.folds.packed[:] = self._packed(location.zeros(self._space.capacity))
        self._replay: Replay | None = None

    @property
    def location(self) -> ArrayLocation:
        """Where the recurrences are."""
        return self._space.location

    @property
    def n_sets(self) -> int:
        """The number of sets of rows."""
        return int(self._by_sets.shape[1])

    @property
    def kind(self) -> tuple[object, ...]:
        """What the kernels depend on, besides the shape of the recurrences."""
        return (self.n_sets, *self._split.r.shape, *self._X.shape, self._X.dtype)

    def launch(self, vector: Array, column: Array) -> None:
        """Take a step by kernels, asynchronously; `vector` has the numbers of `StepNumbers`."""
        self._move(vector, column)

    def fetch_report(self) -> None:
        """Fetch the report after steps that kernels took."""
        assert self.folds is not None
        self.report = self._fetched(self.folds.packed)

    def settle(self) -> None:
        """Record in the blocks the features that were added on the device."""
        self._rows.become(ask(FoldBlock.noted, tuple(self._space.selected)))

    def add(self, index: int, column: Array) -> StepReport:
        """Add a feature; `column` (sets × n) has its sums of products over the sets of rows."""
        if self._space.size == self._space.capacity:
            self.settle()
            self._space.make_room(self._space.size + 1)
            self.attach(self._rows)
        size, beta = self._space.size, None
        if size and self.report.pivots[index] < REFINED_PIVOT:
            # The coefficients of the recurrences are inaccurate.
            beta = careful_coefficients(self._space, self._rows, index)  # (K × |S|)
        self._space.selected.append(index)
        location = self._space.location
        if beta is not None or self._recorder is None or size == 0:
            # The first step is not recorded, so that all kernels are compiled and loaded.
            values = [np.array([float(index), float(size)])]
            if beta is not None:
                values.append(np.pad(beta, ((0, 0), (0, self._space.capacity - size))))
            sent, *better = to_device(location, *values)
            self.report = self._fetched(self._move(sent, column, *better)[0])
            return self.report
        if self._replay is None:
            inputs = location.zeros(_SENT.size), location.zeros(tuple(column.shape))
            self._replay = self._recorder(self._move, inputs)
        self._replay.host_input[:] = index, size
        self._replay.inputs[1][...] = column
        self.report = self._fetched(self._replay.run())
        return self.report

    def _move(self, vector: Array, column: Array, beta: Array | None = None) -> tuple[Array]:
        """Take the step on the device; returns the packed report."""
        space = self._space
        sent = _SENT.views(vector)
        sums = self._by_sets @ column
        if self.folds is not None and self._fused is not None and beta is None:
            beta = self.folds.lean(sent)
            pieces = self._fused.move(sent, space.means, space.rows, beta)
            return (self.folds.follow(sent, sums, pieces),)
        index, size = map(whole_numbers, sent)
        if beta is None:
            beta = space.padded_coefficients(index)
        count = space.delta.shape[0]
        columns = space.columns(sums[:count, :], sums[count : 2 * count, :], index)
        if self._fused is not None:
            measured = self._fused.launch(sent, space.means, space.rows, beta)
        else:
            measured = self._move_rows(index, size, beta)
        space.move(index, size, beta, columns, measured)
        put_at(self._chosen, size, index)
        packed = self._packed(take(sums[2 * count, :], self._chosen))
        if self.folds is not None:
            self.folds.packed[:] = packed
        return (packed,)

    def _move_rows(self, index: Array, size: Array, beta: Array) -> StepSums:
        """Update the held-out rows like `FusedStep`, with array operations instead of a kernel."""
        space, rows = self._space, self._split
        (columns,) = rows.columns.buffers
        mean, rho = at(space.means, index), at(space.tau, index) / at(space.delta, index)[:, None]
        column = self._X.columns(index)[0, :] - at(self._shift, index)
        x = rows.of(column) - mean[:, None]
        z = x - (beta[:, None, :] @ columns)[:, 0, :]
        sums = rows.sums(z, rho)
        r = rows.r
        r -= rho[:, :, None] * z[:, None, :]
        put_row(columns, size, x)
        return sums

    def _packed(self, gram: Array) -> Array:
        """Return the numbers of a `StepReport` as one vector on the device."""
        space, xp = self._space, self._space.location.xp
        pivots = xp.min(space.delta / space.scale, axis=0)
        return flattened(space.energy, pivots, xp.sum(space.losses(), axis=0), gram)

    def _fetched(self, packed: Array) -> StepReport:
        """Return the report on the host."""
        (values,) = to_host(packed)
        return report_layout(self._space).views(values)
