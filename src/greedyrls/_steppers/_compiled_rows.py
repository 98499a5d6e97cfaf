"""What compiled searches on the same rows share: columns, sums, and Gram columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from .._base import Float, kernels, n_threads
from .._criteria import LooData, SelectionState, loss_factors, model_loss
from .._features import GramColumns, Ranking, take_back
from .._problem import Loss
from .._rows import loss_shares
from ._stepper import Stop

# What compiled steps return; the numbers are those of _base/c/search.h.
TAKEN, DONE, IN_DOUBT, NEEDS_COLUMN, NEEDS_ANCHOR, NO_MEMORY, LOST = range(7)
STOPS = {
    DONE: Stop.DONE,
    IN_DOUBT: Stop.IN_DOUBT,
    NO_MEMORY: Stop.NOT_AVAILABLE,
    LOST: Stop.LOST_DIGITS,
}
# The most runners-up, as in _base/c/search.h.
MOST_RUNNERS_UP = 64
# What is counted, after the sums of a model: evaluations, and the largest drift.
N_COUNTERS = 2
# Whether compiled searches may compute Gram columns that they lack by themselves.
_MAY_FETCH = True
# Features that a search has room for at first.
FIRST_ROOM = 64
# Bytes that a search may take for more features than it has room for at first.
ROOM_BYTES = 1 << 24
# So many elements of X by steps are taken ahead: the interpreter would take longer between them.
_AHEAD_ELEMENTS = 1 << 26
# Elements of X, m × n, up to which z of all candidates is kept: a pass over them costs less than
# bounds and Gram columns do.
KEPT_ELEMENTS = 1 << 18
# The same with a loss that no bound is known for.
_KEPT_LOSS_BYTES = 1 << 29
# A copy of X, column by column, may take so many bytes; with more, columns are gathered from X.
_PACKED_BYTES = 1 << 27
# Gram columns may take so many bytes, however small X is.
_GRAM_BYTES = 1 << 26
# Seconds until it is tried again whether other threads have ended their steps.
_WAIT_SECONDS = 1e-3
# Columns of X may take this share of its memory, and so many bytes, however small it is.
_GATHERED_SHARE = 1 / 16
_LEAST_GATHERED_BYTES = 1 << 22
# Numbers of a vector, as in _base/c/search.h.
_LANES = 8
# The fewest Gram columns that there is room for.
_LEAST_KEPT = 128
# Vectors that a pass over columns of X multiplies, and where X does not stay in the cache, where
# eight take twice as long as one. It has so many elements (as in _base/c/likely_centers.h).
_AT_ONCE = 4
_MANY_AT_ONCE = 8
_LARGE_X = 1 << 21
# Types that are read as they are, by their character.
_TYPES = "?bBhHiIlLqQfd"

LOSSES = {"squared": 0, "absolute": 1, "zero_one": 2, "balanced_zero_one": 3}


def in_order(later: list[int]) -> tuple[Ranking, int]:
    """Return a ranking of features that follow, and how many are to be added with the first."""

    def ranking(count: int) -> list[int]:
        return later[:count]

    return ranking, 1 + len(later)


def add_noted(state: SelectionState, n_whole: int) -> None:
    """Let the general engine add the features after the first `n_whole`, which were only noted."""
    added = take_back(state.features, n_whole)
    for position, index in enumerate(added):
        state.barred[index] = -np.inf
        state.add(index, state.measure(index), *in_order(added[position + 1 :]))


def can_compile(data: LooData, loss: Loss) -> bool:
    """Whether compiled code can read these data, and knows the loss."""
    problem = data.problem
    if problem.X.centers is not None and loss.name != "squared":
        return False
    values = problem.X.host_array
    return (
        values is not None
        and values.dtype.char in _TYPES
        and values.dtype.isnative
        and values.flags.aligned
        and loss.name in LOSSES
        and data.layout.is_single
        and data.layout.costs is None
        and len(data.samples.blocks) == 1
        and (loss.name == "squared" or 8 * values.size <= _KEPT_LOSS_BYTES)
    )


def rows_of(
    module: ModuleType,
    data: LooData,
    loss: Loss,
    keeps_z: bool | None = None,
) -> CompiledRows:
    """Return what all searches of a kind on the same data share."""
    kind = loss.name, keeps_z
    if kind not in data.compiled:
        data.compiled[kind] = CompiledRows(module, data, loss, keeps_z)
    rows: CompiledRows = data.compiled[kind]
    return rows


def _initial_loss(data: LooData, loss: Loss) -> float:
    """Return the loss without features."""
    if loss.name == "squared":
        return data.loss_and_error(data.statistics)[0]
    return model_loss(data.samples, data.problem, loss)[0]


def passes_of(module: ModuleType, search: object) -> int:
    """Return how many passes over X a search in C has made."""
    passes = np.empty(1)
    module.read(search, "passes", passes)
    return int(passes[0])


def steps_ahead(rows: CompiledRows, most: int) -> int:
    """Return how many steps are taken at a time, at most `most`."""
    return max(1, min(most, _AHEAD_ELEMENTS // max(1, rows.n_rows * rows.n_features)))


class CompiledRows:
    """The rows of positive weight, and Gram columns as far as they were needed."""

    def __init__(
        self,
        module: ModuleType,
        data: LooData,
        loss: Loss,
        keeps_z: bool | None = None,
    ) -> None:
        self._module = module
        # Not `data`, which has these rows: what is in a cycle stays in memory after a search.
        self._samples, self._constant = data.samples, data.constant
        self.loss = loss
        self.initial_loss = _initial_loss(data, loss)
        problem, start = data.problem, data.start
        self._n_bytes = problem.X.nbytes
        (block,) = data.samples.blocks
        self.used: NDArray[np.intp] | None = None
        if problem.weights is not None:
            (self.used,) = (block.filled_weights() > 0.0).nonzero()
        m, n = problem.X.shape
        self.n_features, self.n_targets = n, len(block.r)
        self.n_rows = m if self.used is None else len(self.used)
        elements = self.n_rows * n
        self._centers = centers = problem.X.centers
        is_small = loss.name != "squared" or elements <= KEPT_ELEMENTS
        # The penalty of kernel functions has its loop by bounds; their values lie column by column.
        self.keeps_z = centers is None and (is_small if keeps_z is None else keeps_z)
        may_pack = centers is None and not self.keeps_z and data.is_shared
        self.is_packed = may_pack and 8 * elements <= _PACKED_BYTES
        values = problem.X.host_array
        assert values is not None  # see can_compile
        shares, scale, y = self._of_loss(data, block)
        root = None if block.root_weights is None else self._cut(block.root_weights)
        self.handle = module.new_rows(
            values,
            None if self.used is None else self.used.astype(np.int64),
            block.means,
            root,
            self._cut(block.filled_weights()),
            shares,
            scale,
            start.diagonal,
            np.ascontiguousarray(start.correlation),
            self._cut(block.r),
            self._cut(block.d),
            y,
            self.n_targets,
            self.is_packed,
            None if centers is None else centers.center_diagonal,
        )
        # Whether Gram columns are products of X as it is, in compiled code.
        self._is_multiplied = module.multiplies() and self.used is None and kernels.has_rows(values)
        self._most_kept = max(_LEAST_KEPT, max(_GRAM_BYTES, self._n_bytes // 4) // (8 * n))
        self.gram = GramColumns(self._weak_fetch(), self._most_kept, retained=True)
        if centers is not None:
            self.gram.narrow()
        is_known = self.is_packed or self._is_multiplied
        self.fetches = _MAY_FETCH and centers is None and is_known
        self._most_gathered = max(_LEAST_GATHERED_BYTES, int(self._n_bytes * _GATHERED_SHARE)) // 8
        if self.fetches:
            module.let_fetch(self.handle, self._most_kept, self._most_gathered)
        self._n_gathered = 0
        self._at_once = _MANY_AT_ONCE if elements >= _LARGE_X else _AT_ONCE

    @property
    def needs_no_pass(self) -> bool:
        """Whether searches never need a pass over X."""
        return self.keeps_z or self.is_packed

    def _cut(self, values: Float) -> Float:
        """Numbers (… × m) of the rows that count."""
        taken = values if self.used is None else values[..., self.used]
        return np.ascontiguousarray(taken, dtype=np.float64)

    def _of_loss(self, data: LooData, block: Any) -> tuple[Float, float, Float]:
        """Shares of the rows in a loss, what their sum is multiplied by, and the targets."""
        loss, shares, scale, y = self.loss, np.ones(block.n_rows), 1.0 / self.n_rows, block.y
        factors = None if loss.name == "squared" else loss_factors(data, loss)
        if factors is not None:
            shares, scale = loss_shares(block, loss, factors), 1.0
        if loss.name == "absolute":
            shares = shares / block.positive_root()
        elif self.n_targets == 1:
            y = y / block.positive_root()
        return self._cut(shares), scale, self._cut(y)

    def of_all_rows(self, r: Float, d: Float) -> tuple[Float, Float]:
        """Return r (c × t × m) and d (c × m) of all rows, those without weight included."""
        if self.used is None:
            return r, d
        (block,) = self._samples.blocks
        all_r, all_d = np.zeros((len(r), *block.r.shape)), np.tile(block.d, (len(d), 1))
        all_r[..., self.used], all_d[:, self.used] = r, d
        return all_r, all_d

    def share_gram(self, gram: GramColumns) -> None:
        """Have the Gram columns of the general engine, which takes steps in between."""
        self.fetches = False
        self._module.let_fetch(self.handle, 0, 0)
        self.gram = gram
        self.gram.fetch = self._weak_fetch()

    def _weak_fetch(self) -> Callable[[Sequence[int]], Float]:
        """Return what fetches Gram columns, without a reference to these rows, which have them."""
        reference = ref(self)

        def fetch(indices: Sequence[int]) -> Float:
            rows = reference()
            assert rows is not None  # whoever takes columns has the rows
            return rows._fetch(indices)

        return fetch

    def know(self, index: int, column: Float) -> None:
        """Let compiled searches know a Gram column."""
        self._module.products(
            self.handle, np.array([index], dtype=np.int64), column[None].copy(), None, None
        )

    def _forget(self, is_urgent: bool) -> bool:
        """Drop all Gram columns, unless other threads read them; wait for these if it is urgent."""
        while not self._module.forget(self.handle):
            if not is_urgent:
                return False
            time.sleep(_WAIT_SECONDS)
        return True

    def _fetch(self, indices: Sequence[int]) -> Float:
        """Compute Gram columns, and let compiled searches know them."""
        order = np.array(indices, dtype=np.int64)
        self._make_room(len(order))
        gathered: Float | None = None
        if self.is_packed:
            columns = np.empty((len(order), self.n_features))
        elif self._is_multiplied:
            columns, gathered = np.empty((len(order), self.n_features)), self._gathered(len(order))
            self._samples.passes += 1
            self._module.gram_columns(self.handle, order, columns, gathered, n_threads())
        else:
            columns = np.ascontiguousarray(self._samples.products(indices))
            columns[:, self._constant] = 0.0  # as packed columns have it
        self._module.products(self.handle, order, columns, gathered, self._kernels(indices))
        return columns

    def _make_room(self, count: int) -> None:
        """Drop what is kept if so many Gram columns more are too many."""
        n_kept = self._module.kept(self.handle)
        full = n_kept + count > self._most_kept
        if full and self._forget(n_kept > 2 * self._most_kept):
            for index in list(self.gram.waiting):
                self.gram.waiting.pop(index)
            self._n_gathered = 0

    def _kernels(self, indices: Sequence[int]) -> Float | None:
        """Return k(c_i, ·) of all centres (c × n), if features are kernel functions."""
        if self._centers is None:
            return None
        return np.array([self._centers.center_column(index) for index in indices])

    def _gathered(self, count: int) -> Float | None:
        """Return room for columns of X, which are gathered with their Gram columns; None if full.

        They are likely scored next, and to gather one alone waits for memory at every row.
        """
        width = -(-self.n_rows // _LANES) * _LANES
        self._n_gathered += count
        is_room = width * self._n_gathered <= self._most_gathered
        return np.empty((count, width)) if is_room else None

    def likely_ahead(self, n_vectors: int) -> int:
        """Return how many likely features complete a pass for so many vectors; 0 without centres.

        The next centre is seldom one that was ranked next: the best takes its neighbours with it.
        """
        return 0 if self._centers is None else -n_vectors % self._at_once

    def anchor_products(self, anchor: Float, indices: Sequence[int] = ()) -> Float:
        """Return X'a of an anchor (t × rows) by a pass over X, (t × n).

        The pass also fetches the Gram columns of some features.
        """
        samples = self._samples
        (block,) = samples.blocks
        if self.used is not None:
            given, anchor = anchor, np.zeros((len(anchor), block.n_rows))
            anchor[:, self.used] = given
        values = samples.products_with(replace(block, anchor=anchor), indices)
        columns = values[: len(indices)].copy()
        if len(indices):
            self._make_room(len(indices))
            columns[:, self._constant] = 0.0
            order = np.array(indices, dtype=np.int64)
            self._module.products(self.handle, order, columns, None, self._kernels(indices))
            self.gram.keep(indices, columns)
        return np.ascontiguousarray(values[len(indices) :])
