"""Triton kernels for vectors of n features, so that a whole step can be recorded.

`_features` and `_criterion.lower_bounds` have the same computation, an operation at a time. Here
two kernels compute the bounds of all candidates, find those of lowest bound and compute their
coefficients, and a third updates the vectors for a chosen feature. Vectors of |S| numbers are sent
from the host at every step. For one target.
"""

# Annotations of a kernel are Triton's own: they say what is compiled in.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .._base import Array, Float, Replay, location_of, recorder_of, split
from .._data import fused as _fused
from ._fused_round import FusedTerms

# Features that a program bounds and its warps, for few and for many features.
_BOUNDED = (1024, 4)
_MANY_BOUNDED = (4096, 16)
_MANY = 1 << 16
# Features that a program updates for a chosen one.
_MOVED = 512
# The largest number of chosen features: coefficients are in registers, and the inverse is sent.
MOST_CHOSEN = 256
# Numbers before the vectors that are sent.
_NUMBERS = 7
_ADDED = 7

# Stands for an unknown fourth root of a sum of fourth powers; its square is finite.
UNKNOWN = 1e150
TINY_FOURTH = 1e-290

tl: Any = None  # Triton's language, once the kernels are made


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
    """Coefficients of the bounds: `_criterion.lower_bounds`."""

    energy: float  # the leave-one-out sum of the current model
    along_r: float  # 2 c₁
    along_anchor: float  # 2 c₂
    distance: float  # 2 ‖g − c₁r − c₂a‖
    curve: float  # −1/d_max²
    growth: float  # 2/d_max³


class Added(NamedTuple):
    """A chosen feature, with what the update of all vectors needs: `FeatureSpace.add`."""

    size: int  # |S| before
    feature: int
    root: float  # √δ
    lost: float  # |t| ‖q‖₄
    rest: float  # ‖r∘q‖ + |t| ‖q‖₄²
    fourth: float  # ‖q‖₄
    address: float  # of its Gram column, an integer that float64 holds exactly
    slopes: Float  # (rows × 2)
    left: Float  # (2 × |S|)
    chosen: Any  # (|S|) which features


class Reported(NamedTuple):
    """Results of the kernels for the candidates of lowest bound."""

    indices: Any  # (c)
    beyond: float  # no other candidate has a lower bound
    delta: Float  # (c)
    anchored: Float  # (1 × c), if there is an anchor
    factor: Float  # (|S| × c)


@cache
def _kernels() -> tuple[Any, ...]:
    """Return the kernels, which Triton compiles on first use."""
    global tl  # names in a kernel are looked up in its module
    triton = importlib.import_module("triton")
    tl = importlib.import_module("triton.language")

    @triton.jit
    def bound(
        given, rows, doubtful, barred, mixed_root, fourth_root, values, places, n, kept,
        width: tl.constexpr, most: tl.constexpr, has_anchor: tl.constexpr,
        has_spread: tl.constexpr,
    ):  # fmt: skip
        """Compute lower bounds of losses of some features, and report the `kept` smallest."""
        if tl.load(given) < 0.0:
            return  # the search waits for the host: `_speculation`
        part = tl.program_id(0)
        own = tl.arange(0, width)
        i = part * width + own
        is_i = i < n
        row = rows + i
        delta = tl.load(row, mask=is_i, other=1.0)
        rho = tl.load(row + 2 * n, mask=is_i, other=0.0) / delta
        gain = tl.load(row + 3 * n, mask=is_i, other=0.0) * tl.load(given + 2)
        if has_anchor:
            gain += tl.load(row + 4 * n, mask=is_i, other=0.0) * tl.load(given + 3)
        gain *= rho
        size = tl.abs(rho) * tl.sqrt(tl.load(row + n, mask=is_i, other=0.0))
        gain += (size * tl.load(given + 5) + tl.load(given + 4)) * size
        value = tl.load(given + 1) - gain
        if has_spread:
            # What growing leverages add at least: `_criterion.leverage_growth`.
            fourth = tl.load(fourth_root + i, mask=is_i, other=0.0)
            spread = tl.load(mixed_root + i, mask=is_i, other=0.0) - tl.abs(rho) * fourth * fourth
            spread = tl.where(spread > 0.0, spread, 0.0)
            value += spread * spread * (tl.load(given + 6) / delta)
        lost = delta < tl.load(doubtful + i, mask=is_i, other=0.0)
        value = tl.where(lost, float("-inf"), value)
        # NaN gives no bound.
        least = tl.load(barred + i, mask=is_i, other=float("inf"))
        value = tl.where(value > least, value, least)
        k = tl.arange(0, most)
        best_values = tl.full((most,), float("inf"), tl.float64)
        best_places = tl.zeros((most,), tl.int32)
        for number in range(0, kept):
            smallest, at = tl.min(value, axis=0, return_indices=True)
            best_values = tl.where(k == number, smallest, best_values)
            best_places = tl.where(k == number, part * width + at, best_places)
            value = tl.where(own == at, float("inf"), value)
        tl.store(values + part * kept + k, best_values, mask=k < kept)
        tl.store(places + part * kept + k, best_places, mask=k < kept)

    @triton.jit
    def pick(
        given, values, places, count, L, rows, floor, beta, penalty, shrinkage, told, n, c,
        capacity, candidates: tl.constexpr, padded: tl.constexpr, pieces: tl.constexpr,
        ahead: tl.constexpr, has_anchor: tl.constexpr,
    ):  # fmt: skip
        """Find the candidates of lowest bound among all programs; compute their coefficients."""
        size = tl.load(given).to(tl.int64)
        if size < 0:
            return
        p = tl.arange(0, pieces)
        value = tl.load(values + p, mask=p < count, other=float("inf"))
        which = tl.load(places + p, mask=p < count, other=0)
        v = tl.arange(0, candidates)
        is_v = v < c
        index = tl.zeros((candidates,), tl.int32)
        for number in range(0, c):
            at = tl.argmin(value, axis=0)
            best = tl.sum(tl.where(p == at, which, 0), axis=0)
            index = tl.where(v == number, best, index)
            value = tl.where(p == at, float("inf"), value)
        tl.store(told + v, index.to(tl.float64), mask=is_v)
        tl.store(told + c, tl.min(value, axis=0))
        place = told + c + 1 + v
        tl.store(place, tl.load(rows + index, mask=is_v, other=0.0), mask=is_v)
        if has_anchor:
            on_anchor = tl.load(rows + 4 * n.to(tl.int64) + index, mask=is_v, other=0.0)
            tl.store(place + c, on_anchor, mask=is_v)
        a = tl.arange(0, padded)
        is_a = a < size
        inverse = given + 7
        total = tl.zeros((padded, candidates), tl.float64)
        for first in range(0, size, ahead):
            for s in tl.static_range(ahead):
                row = first + s
                is_there = is_v & (0 * v + row < size)
                f = tl.load(L + row * n + index, mask=is_there, other=0.0)
                tl.store(told + 3 * c + 1 + row * c + v, f, mask=is_there)
                own = tl.load(
                    inverse + row * capacity + a, mask=is_a & (0 * a + row < size), other=0.0
                )
                total += own[:, None] * f[None, :]
        out = beta + a[:, None] * c + v[None, :]
        tl.store(out, total, mask=is_a[:, None] & is_v[None, :])
        penalties = inverse + capacity * capacity + a
        p_a = tl.load(penalties, mask=is_a, other=0.0)[:, None]
        w_a = tl.load(penalties + capacity, mask=is_a, other=0.0)[:, None]
        weighted = p_a * total
        own_penalty = tl.load(floor + index, mask=is_v, other=0.0)
        tl.store(penalty + v, own_penalty + tl.sum(weighted * total, axis=0), mask=is_v)
        tl.store(shrinkage + v, tl.sum(w_a * weighted, axis=0), mask=is_v)

    @triton.jit
    def remember(
        given, told, mixed, mixed_root, fourth_root, c, candidates: tl.constexpr,
        tiny: tl.constexpr, unknown: tl.constexpr,
    ):  # fmt: skip
        """Store the spread of scored candidates: `FeatureSpace.remember_spread`."""
        if tl.load(given) < 0.0:
            return
        v = tl.arange(0, candidates)
        is_v = v < c
        index = tl.load(told + v, mask=is_v, other=0.0).to(tl.int64)
        products = tl.load(mixed + v, mask=is_v, other=0.0)
        fourth = tl.load(mixed + c + v, mask=is_v, other=1.0)
        is_known = (fourth > tiny) & (fourth < float("inf"))
        root = tl.where(is_known, tl.sqrt(products), 0.0)
        tl.store(mixed_root + index, root, mask=is_v)
        root = tl.where(is_known, tl.sqrt(tl.sqrt(fourth)), unknown)
        tl.store(fourth_root + index, root, mask=is_v)

    @triton.jit
    def follow(
        given, L, rows, floors, mixed_root, fourth_root, products, n, capacity,
        width: tl.constexpr, padded: tl.constexpr, height: tl.constexpr, ahead: tl.constexpr,
        has_spread: tl.constexpr,
    ):  # fmt: skip
        """Update all vectors for a chosen feature."""
        part = tl.program_id(0)
        i = part * width + tl.arange(0, width)
        is_i = i < n
        size = tl.load(given).to(tl.int64)
        if size < 0:
            return
        index = tl.load(given + 1).to(tl.int32)
        root = tl.load(given + 2)
        column = tl.load(given + 6).to(tl.int64).to(tl.pointer_type(tl.float64))
        slopes = given + 7
        left = slopes + 2 * height
        share = tl.load(column + i, mask=is_i, other=0.0) / root
        minus_l = tl.zeros((width,), tl.float64)  # −l and −q·z of docs/theory.md
        minus_q = tl.zeros((width,), tl.float64)
        for first in range(0, size, ahead):
            for s in tl.static_range(ahead):
                row = first + s
                is_there = is_i & (0 * i + row < size)
                values = tl.load(L + row * n + i, mask=is_there, other=0.0)
                minus_l += tl.load(left + row, mask=row < size, other=0.0) * values
                minus_q += tl.load(left + capacity + row, mask=row < size, other=0.0) * values
        minus_l = tl.where(i == index, -root, minus_l - share)
        minus_q -= share
        tl.store(L + size * n + i, -minus_l, mask=is_i)
        for row in tl.static_range(height):
            place = rows + row * n + i
            change = tl.load(slopes + 2 * row) * minus_l + tl.load(slopes + 2 * row + 1) * minus_q
            if row < 2:
                change *= -minus_l
            value = tl.load(place, mask=is_i, other=0.0) + change
            if row < 2:
                value = tl.maximum(value, tl.load(floors + row * n + i, mask=is_i, other=0.0))
            tl.store(place, value, mask=is_i)
        if has_spread:
            lost = tl.load(given + 3)
            fourth = tl.load(fourth_root + i, mask=is_i, other=0.0)
            mixed = tl.load(mixed_root + i, mask=is_i, other=0.0)
            mixed -= lost * fourth + tl.load(given + 4) * tl.abs(minus_l)
            tl.store(mixed_root + i, tl.maximum(mixed, 0.0), mask=is_i)
            tl.store(fourth_root + i, fourth + tl.abs(minus_l) * tl.load(given + 5), mask=is_i)
        if part == 0:
            a = tl.arange(0, padded)
            chosen = tl.load(left + 2 * capacity + a, mask=a < size, other=0.0).to(tl.int64)
            own = tl.load(column + chosen, mask=a < size, other=0.0)
            tl.store(products + size * capacity + a, own, mask=a < size)

    return bound, pick, remember, follow


class FusedFeatures:
    """The kernels and the vectors that they work on."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self.capacity, self.n = int(vectors.L.shape[0]), int(vectors.L.shape[1])
        self.height = int(vectors.rows.shape[0])
        self.has_anchor = self.height > 4
        self._padded = power_of_two(self.capacity)
        self._width, self._warps = _BOUNDED if self.n < _MANY else _MANY_BOUNDED
        self._programs = -(-self.n // self._width)
        self._follower: Replay | None = None
        self._following: list[Array] = []  # the Gram column that is being read

    @property
    def sent_size(self) -> int:
        """The length of the vector that `fill` fills."""
        return _NUMBERS + self.capacity * (self.capacity + 2)

    @property
    def sent_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the parts of `fill`'s vector: numbers, inverse, penalties and weights."""
        capacity = self.capacity
        return [(_NUMBERS,), (capacity, capacity), (capacity,), (capacity,)]

    def report_size(self, c: int) -> int:
        """Return how many numbers the kernels report for c candidates."""
        return 1 + c * (3 + self.capacity)

    def fill(self, sent: Float, terms: BoundTerms, chosen: Chosen) -> None:
        """Fill the vector that is sent to the device."""
        s, capacity = len(chosen.penalties), self.capacity
        sent[0] = s
        sent[1:_NUMBERS] = terms
        end = _NUMBERS + capacity * capacity
        sent[_NUMBERS:end].reshape(capacity, capacity)[:s, :s] = chosen.inverse
        sent[end : end + s] = chosen.penalties
        sent[end + capacity : end + capacity + s] = chosen.weights

    def unpacked(self, report: Float, c: int, size: int) -> Reported:
        """Return the reported numbers, which are on the host, as a tuple."""
        factor = report[1 + 3 * c :].reshape(self.capacity, c)[:size]
        return Reported(
            report[:c].astype(np.intp),
            float(report[c]),
            report[c + 1 : 2 * c + 1],
            report[2 * c + 1 : 3 * c + 1].reshape(1, c),
            factor,
        )

    def memory(self, c: int) -> list[Array]:
        """Allocate memory for `launch`, before it is recorded."""
        new = self.vectors.L.new_empty
        count = self._programs * (c + 1)
        values = new((count,))
        return [values, values.int(), new((self.capacity, c)), new((c,)), new((1, c))]

    def launch(self, sent: Array, memory: list[Array], report: Array, c: int) -> FusedTerms:
        """Compute bounds of all features, and the terms of the c candidates of lowest bound."""
        values, indices, beta, penalty, shrinkage = memory
        data, n, capacity = self.vectors, self.n, self.capacity
        mixed_root, fourth_root = data.spread or (values, values)
        bound, pick, _, _ = _kernels()
        count, most = self._programs * (c + 1), power_of_two(c + 1)
        with device_of(sent):
            bound[(self._programs,)](
                sent, data.rows, data.doubtful, data.barred, mixed_root, fourth_root, values,
                indices, n, c + 1, self._width, most, self.has_anchor, data.spread is not None,
                num_warps=self._warps,
            )  # fmt: skip
            pick[(1,)](
                sent, values, indices, count, data.L, data.rows, data.penalty, beta, penalty,
                shrinkage, report, n, c, capacity, power_of_two(c), self._padded,
                power_of_two(count), _fused.AHEAD, self.has_anchor, num_warps=self._warps,
            )  # fmt: skip
        return FusedTerms(report[:c], beta, penalty, shrinkage, sent[:1])

    def remember(self, sent: Array, report: Array, scores: Array, c: int) -> None:
        """Store Σ r² z² and Σ z⁴ of the scored candidates."""
        if self.vectors.spread is not None:
            with device_of(report):
                _kernels()[2][(1,)](
                    sent, report, scores[1 + 5 * c :], *self.vectors.spread, c, power_of_two(c),
                    TINY_FOURTH, UNKNOWN,
                )  # fmt: skip

    @property
    def added_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the parts of the input of `launch_follow`: numbers, slopes, left, chosen."""
        return [(_ADDED,), (self.height, 2), (2, self.capacity), (self.capacity,)]

    def new_added(self) -> Array:
        """Allocate the input of `launch_follow`."""
        count = sum(int(np.prod(shape)) for shape in self.added_shapes)
        return self.vectors.L.new_zeros((count,))

    def follow(self, column: Array, added: Added) -> None:
        """Update all vectors for a chosen feature, asynchronously."""
        if self._follower is None:
            recorder = recorder_of(location_of(self.vectors.L))
            assert recorder is not None
            self._follower = recorder(self.launch_follow, (self.new_added(),), False)
        self._follower.wait()
        numbers, slopes, left, chosen = split(self._follower.host_input, self.added_shapes)
        s = added.size
        numbers[:] = added[:_ADDED]
        slopes[:] = added.slopes
        left[:, :s] = added.left
        chosen[:s] = added.chosen
        self._following = [column]
        self._follower.start()

    def launch_follow(self, sent: Array) -> tuple[()]:
        """Launch the kernel that updates all vectors."""
        data = self.vectors
        mixed_root, fourth_root = data.spread or (sent, sent)
        with device_of(sent):
            _kernels()[3][(-(-self.n // _MOVED),)](
                sent, data.L, data.rows, data.floors, mixed_root, fourth_root, data.products,
                self.n, self.capacity, _MOVED, self._padded, self.height, _fused.AHEAD,
                data.spread is not None,
            )  # fmt: skip
        return ()


def power_of_two(count: int) -> int:
    """Return the smallest power of two that is at least `count` and 2."""
    return 1 << max(1, (count - 1).bit_length())


def device_of(values: Array) -> AbstractContextManager[Any]:
    """Return a context that launches kernels on the device of an array."""
    import torch

    return torch.cuda.device(values.device) if values.is_cuda else nullcontext()
