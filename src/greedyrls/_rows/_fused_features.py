"""Triton kernels for vectors of n features, so that a whole step can be recorded.

`_features` and `_bounds.lower_bounds` have the same computation, an operation at a time. Here
two kernels compute the bounds of all candidates, find those of lowest bound and compute their
coefficients, and a third updates the vectors for a chosen feature. Vectors of |S| numbers are sent
from the host at every step. For one target.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .._base import Array, Float, Layout, Replay, location_of, recorder_of
from .._data import fused as _fused
from ._fused_round import RoundTerms

# Features that a program bounds and its warps, for few and for many features.
_BOUNDED = (1024, 4)
_MANY_BOUNDED = (4096, 16)
_MANY = 1 << 16
# Features that a program updates for a chosen one.
_MOVED = 512
# The largest number of chosen features: coefficients are in registers, and the inverse is sent.
MOST_CHOSEN = 256
# Stands for an unknown fourth root of a sum of fourth powers; its square is finite.
UNKNOWN = 1e150
TINY_FOURTH = 1e-290


class Vectors(NamedTuple):
    """The vectors of `_features`, in memory of fixed address."""

    rows: Array  # (4 or 5 × n) δ, ‖z‖², τ, r·z, and a·z if there is an anchor
    floors: Array  # (2 × n) lower limits of the first two rows
    penalty: Array  # (n)
    doubtful: Array  # (n) smaller values of δ are not trusted
    barred: Array  # (n) +inf where a feature is no candidate
    L: Array  # (capacity × n)
    products: Array  # (capacity × capacity) products of chosen features, below the diagonal
    spread: tuple[Array, Array] | None  # (1 × n) and (n) roots of Σ r² z² and Σ z⁴


class Chosen(NamedTuple):
    """Vectors of |S| numbers, from which coefficients of candidates are computed."""

    inverse: Float  # (|S| × |S|) inverse of the factor's chosen columns
    penalties: Float  # (|S|)
    weights: Float  # (|S|) w
    overlap: Float  # (|S| × |S|) q_u·q_s
    features: Any  # (|S|) which


class BoundTerms(NamedTuple):
    """Coefficients of the bounds: `_bounds.lower_bounds`."""

    energy: float  # the leave-one-out sum of the current model
    along_r: float  # 2 c₁
    along_anchor: float  # 2 c₂
    distance: float  # 2 ‖g − c₁r − c₂a‖
    curve: float  # −1/d_max²
    growth: float  # 2/d_max³


class Sent(NamedTuple):
    """What bounds and coefficients are computed from: sent by the host, or left by a step."""

    size: Array  # (1) |S|; negative while the search waits for the host
    terms: Array  # (6) `BoundTerms`
    inverse: Array  # (capacity × capacity)
    penalties: Array  # (capacity)
    weights: Array  # (capacity)


class AddedNumbers(NamedTuple):
    """Numbers of a feature that was chosen: `FeatureSpace.add`."""

    size: float  # |S| before
    feature: float
    root: float  # √δ
    lost: float  # |t| ‖q‖₄
    rest: float  # ‖r∘q‖ + |t| ‖q‖₄²
    q_fourth: float  # ‖q‖₄
    address: float  # of its Gram column, a whole number that float64 holds exactly


class Added(NamedTuple):
    """A feature that was chosen, as all vectors see it."""

    numbers: Any  # (7) `AddedNumbers`
    slopes: Float  # (rows × 2)
    left: Float  # (2 × |S|)
    chosen: Any  # (|S|) which features


class Reported(NamedTuple):
    """Results of the kernels for the candidates of lowest bound."""

    indices: Any  # (c)
    beyond: Any  # (1), or a number on the host: no other candidate has a lower bound
    delta: Float  # (c)
    anchored: Float  # (1 × c), if there is an anchor
    factor: Float  # (|S| × c)


class Memory(NamedTuple):
    """Memory of bounds and coefficients."""

    values: Array  # lowest bounds of each program, c + 1 each
    indices: Array  # their features
    beta: Array  # (capacity × c)
    penalty: Array  # (c)
    shrinkage: Array  # (1 × c)


class FusedFeatures:
    """The kernels and the vectors that they work on."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self.capacity, self.n = int(vectors.L.shape[0]), int(vectors.L.shape[1])
        self.height = int(vectors.rows.shape[0])
        self.has_anchor = self.height > 4
        self._padded = _fused.power_of_two(self.capacity)
        self._width, self._warps = _BOUNDED if self.n < _MANY else _MANY_BOUNDED
        self._programs = -(-self.n // self._width)
        capacity, width = self.capacity, len(BoundTerms._fields)
        self.sent = Layout(Sent, (1,), (width,), (capacity, capacity), (capacity,), (capacity,))
        width = len(AddedNumbers._fields)
        self.added = Layout(Added, (width,), (self.height, 2), (2, capacity), (capacity,))
        self._follower: Replay | None = None
        self._following: list[Array] = []  # the Gram column that is being read

    def fill(self, vector: Float, terms: BoundTerms, chosen: Chosen) -> None:
        """Fill the vector that is sent to the device."""
        sent, s = self.sent.views(vector), len(chosen.penalties)
        sent.size[0] = s
        sent.terms[:] = terms
        sent.inverse[:s, :s] = chosen.inverse
        sent.penalties[:s] = chosen.penalties
        sent.weights[:s] = chosen.weights

    def report(self, c: int) -> Layout[Reported]:
        """Return the layout of what the kernels report for c candidates."""
        return Layout(Reported, (c,), (1,), (c,), (1, c), (self.capacity, c))

    def memory(self, c: int) -> Memory:
        """Allocate memory for `launch`, before it is recorded."""
        new = self.vectors.L.new_empty
        values = new((self._programs * (c + 1),))
        return Memory(values, values.int(), new((self.capacity, c)), new((c,)), new((1, c)))

    def launch(self, vector: Array, memory: Memory, report: Reported, c: int) -> RoundTerms:
        """Compute bounds of all features, and the terms of the c candidates of lowest bound."""
        from ._kernels import bound, pick

        values, indices, beta, penalty, shrinkage = memory
        data, n, sent = self.vectors, self.n, self.sent.views(vector)
        mixed_root, fourth_root = data.spread or (values, values)
        count = self._programs * (c + 1)
        with _fused.device_of(vector):
            bound[(self._programs,)](
                sent.size, sent.terms, data.rows, data.doubtful, data.barred, mixed_root,
                fourth_root, values, indices, n, c + 1, self._width, _fused.power_of_two(c + 1),
                self.has_anchor, data.spread is not None, num_warps=self._warps,
            )  # fmt: skip
            pick[(1,)](
                sent.size, sent.inverse, sent.penalties, sent.weights, values, indices, count,
                data.L, data.rows, data.penalty, beta, penalty, shrinkage, *report, n, c,
                self.capacity, _fused.power_of_two(c), self._padded, _fused.power_of_two(count),
                _fused.AHEAD, self.has_anchor, num_warps=self._warps,
            )  # fmt: skip
        return RoundTerms(report.indices, beta, penalty, shrinkage, sent.size)

    def remember(self, terms: RoundTerms, scores: Array) -> None:
        """Store Σ r² z² and Σ z⁴ of the scored candidates."""
        from ._kernels import remember

        if self.vectors.spread is not None:
            c = len(terms.numbers)
            with _fused.device_of(scores):
                remember[(1,)](
                    terms.size, terms.numbers, scores, *self.vectors.spread, c,
                    _fused.power_of_two(c), TINY_FOURTH, UNKNOWN,
                )  # fmt: skip

    def new_added(self) -> Array:
        """Allocate the input of `launch_follow`."""
        return self.vectors.L.new_zeros((self.added.size,))

    def follow(self, column: Array, added: Added) -> None:
        """Update all vectors for a chosen feature, asynchronously."""
        if self._follower is None:
            recorder = recorder_of(location_of(self.vectors.L))
            assert recorder is not None
            self._follower = recorder(self.launch_follow, (self.new_added(),), False)
        self._follower.wait()
        sent, s = self.added.views(self._follower.host_input), len(added.chosen)
        sent.numbers[:] = added.numbers
        sent.slopes[:] = added.slopes
        sent.left[:, :s] = added.left
        sent.chosen[:s] = added.chosen
        self._following = [column]
        self._follower.start()

    def launch_follow(self, vector: Array) -> tuple[()]:
        """Launch the kernel that updates all vectors."""
        from ._kernels import follow

        data = self.vectors
        mixed_root, fourth_root = data.spread or (vector, vector)
        with _fused.device_of(vector):
            follow[(-(-self.n // _MOVED),)](
                *self.added.views(vector), data.L, data.rows, data.floors, mixed_root, fourth_root,
                data.products, self.n, self.capacity, _MOVED, self._padded, self.height,
                _fused.AHEAD, data.spread is not None,
            )  # fmt: skip
        return ()
