"""A row block: some rows of X with their piece of the residuals r and of d = 1 − h.

A block answers a few questions; answers of several blocks are added up (`add_up`). Only vectors of
feature space pass between a block and the driver: z of a candidate stays where the block is, and
the driver hands it back unseen. A block is a value: `begin`, `anchored`, `moved` and `chose` return
new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._base import (
    HALF_TILE_ELEMENTS,
    LEAST_TILE_ROWS,
    Executor,
    Float,
    add_up,
    as_float,
    ask,
    contiguous,
    inner,
    kernels,
    namespace_of,
    row_dots,
    stacked,
    take_rows,
    to_device,
    weighted_means,
)
from .._data import Matrix
from .._problem import Loss
from . import tiles
from ._answers import (
    Along,
    CandidateLosses,
    ColumnShapes,
    FeatureSums,
    Losses,
    Moments,
    Products,
    RawSums,
    SampleStatistics,
    Scores,
    SupportSums,
    TargetSums,
)
from ._columns import ColumnStore
from ._leftovers import Leftovers
from ._shapes import column_shapes
from ._statistics import statistics_of
from ._zero_one import Support, wrong_sums

# Rows of chosen columns that are read at a time from those kept of a file.
_COPIED_ROWS = 1 << 15

Answer = TypeVar("Answer", bound=tuple[Any, ...])


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows of X with their piece of r (t × rows) and d (rows), after `chosen` were added."""

    X: Matrix
    y: Float  # (t × rows) the targets as given
    r: Float
    d: Float
    weights: Float | None
    root_weights: Float | None
    means: Float | None
    columns: ColumnStore
    chosen: tuple[int, ...] = ()
    anchor: Float | None = None  # (t × rows)

    @classmethod
    def from_rows(cls, X: Matrix, Y: Float, weights: Float | None) -> RowBlock:
        """A block before the start: r is still the raw targets, nothing is centred."""
        root = None if weights is None else namespace_of(weights).sqrt(weights)
        y, d = contiguous(Y.T), X.place.ones(X.shape[0])
        return cls(X, y, y, d, weights, root, None, ColumnStore(X, root, None, 0))

    def separate(self, count: int) -> RowBlock:
        """The block for a search that keeps the columns of its chosen features to itself."""
        return replace(self, columns=self.columns.attached(self.X, count))

    @property
    def n_rows(self) -> int:
        """How many."""
        return int(self.d.shape[0])

    def target_sums(self) -> TargetSums:
        """Σw, the means of the targets and more of the weights."""
        xp, rows, w = namespace_of(self.r), self.n_rows, self.weights
        means = weighted_means(self.r, w)
        if w is None:
            return TargetSums(float(rows), means, float(rows), float(rows), 1.0)
        count = xp.sum(as_float(w > 0.0))
        return TargetSums(xp.sum(w), means, xp.sum(w * w), count, xp.max(w))

    def start_sums(self, target_means: Float) -> RawSums:
        """Sums for the start of feature space: one pass."""
        place = self.X.place
        weights = place.ones(self.n_rows) if self.weights is None else self.weights
        (means,) = to_device(place, target_means)
        vectors = stacked([(self.r - means[:, None]) * weights, weights[None, :]])
        return RawSums(*self.X.start_sums(vectors, self.weights))

    def begin(
        self,
        target_means: Float,
        means: Float | None,
        total_weight: float | None,
        spare_bytes: float,
        is_shared: bool = False,
    ) -> RowBlock:
        """The block at the empty model; a total weight means that there is an intercept.

        Spare bytes are those of a row.
        """
        place = self.X.place
        (centre,) = to_device(place, target_means)
        r = self.r - centre[:, None]
        d = place.ones(self.n_rows)
        if means is not None and isinstance(means, np.ndarray):
            (means,) = to_device(place, means)
        if total_weight is not None:
            d -= (1.0 if self.weights is None else self.weights) / total_weight
        if self.weights is not None:
            # A row of weight 0 has r = z = 0 whatever the feature, and any d will do: this one is
            # neither the largest nor the smallest, which bound the losses of candidates.
            d[self.weights == 0.0] = 0.5
        if self.root_weights is not None:
            r *= self.root_weights
        columns = ColumnStore(
            self.X, self.root_weights, means, spare_bytes * self.n_rows, is_shared
        )
        return replace(self, r=r, d=d, means=means, columns=columns)

    def anchored(self) -> RowBlock:
        """The block with g = ω∘r as its new anchor."""
        return replace(self, anchor=self.r / (self.d * self.d))

    def products(self, indices: Sequence[int], with_anchor: bool) -> Products:
        """v'X for v the named columns, then the anchor if asked for: one pass.

        Columns are gathered a few rows at a time, just before those rows are multiplied: they are
        in the cache then, and B whole columns of X are never copied.
        """
        order = np.array(indices, dtype=np.intp)
        self.X.take_along(indices)  # they are likely scored next
        question = partial(self._tile_products, self.X.column_numbers(order), with_anchor)
        return add_up(self.X.map_tiles(question, len(order) + self.r.shape[0]))

    def _tile_products(
        self, numbers: Any, with_anchor: bool, rows: slice, tile: Matrix
    ) -> Products:
        """`products` of some rows, which are in memory."""
        values: list[Float] = []
        sums: list[Float] = []
        count, most = int(numbers.shape[0]), tile.vectors_at_a_time
        for first in range(0, max(count, 1), most):
            some = numbers[first : min(count, first + most)]
            vectors = [self.columns.of_tile(tile, some, rows)] if count else []
            if with_anchor and self.anchor is not None and first + most >= count:
                vectors.append(self.anchor[:, rows])
            V = stacked(vectors)
            if self.root_weights is not None:
                V = V * self.root_weights[rows]
            values.append(tile.product(V))
            sums.append(namespace_of(V).sum(V, axis=1))
        if len(values) == 1:
            return Products(values[0], sums[0])
        return Products(np.concatenate(values), np.concatenate(sums))

    def piece(self, rows: slice, X: Matrix) -> RowBlock:
        """Some of the rows, as a block of its own whose X is in memory."""

        def cut(vector: Float | None) -> Float | None:
            return None if vector is None else vector[rows]

        return replace(
            self,
            X=X,
            y=self.y[:, rows],
            r=self.r[:, rows],
            d=self.d[rows],
            weights=cut(self.weights),
            root_weights=cut(self.root_weights),
            columns=self.columns.piece(X, rows),
            anchor=None if self.anchor is None else self.anchor[:, rows],
        )

    def residuals(self, indices: NDArray[np.intp], beta: Float) -> Float:
        """z_i = x_i − X_S β_i for the candidates, (c × rows)."""
        Z = self.columns.get(indices)
        for rows in self._row_tiles():
            for places, columns in self.columns.chosen(self.chosen, rows):
                Z[:, rows] -= beta[places].T @ columns
        return Z

    def without_chosen(self, columns: Float, beta: Float) -> Float:
        """x_i − X_S β_i; beta may have further rows of 0, for all that there is room for."""
        room = self.columns.room
        if room is not None and beta.shape[0] == room.shape[0]:
            return columns - beta.T @ room
        for places, chosen in self.columns.chosen(self.chosen):
            columns = columns - beta[places, :].T @ chosen
        return columns

    def over_chunks(self, question: Callable[[RowBlock], Answer]) -> Answer:
        """The answers of chunks of the rows that are in memory one after the other, added up."""
        return add_up(question(self.piece(rows, chunk)) for rows, chunk in self.X.chunks())

    def _row_tiles(self) -> Iterator[slice]:
        """All rows at once; some at a time where columns of chosen features are copies."""
        if not self.X.keeps_columns:
            yield slice(None)
            return
        for top in range(0, len(self.d), _COPIED_ROWS):
            yield slice(top, min(len(self.d), top + _COPIED_ROWS))

    def shapes(self) -> ColumnShapes:
        """How large |x_i − mean_i| is, and where rare features are not 0: one pass."""
        return column_shapes(self.X, self.means, self.weights, self.root_weights)

    def entry_counts(self) -> FeatureSums:
        """How many values of each column of a sparse X are not 0, (n)."""
        return FeatureSums(self.X.nonzero_counts())

    def fetch(self, indices: NDArray[np.intp]) -> None:
        """Columns that will be asked for: where they cost a pass, one for all."""
        self.X.fetch(indices.tolist())

    def gathered(self, indices: NDArray[np.intp]) -> Float:
        """x_i of some candidates, centred, (c × rows)."""
        return self.columns.fresh(indices)

    def fresh_moments(self, indices: NDArray[np.intp]) -> Moments:
        """‖x‖² and r·x."""
        return self.moments(self.gathered(indices))

    def row(self, Z: Float, place: Any) -> Float:
        """z of one of several candidates, also for a place that only the device knows, (1)."""
        z: Float = Z[place, :] if isinstance(place, int) else take_rows(Z, place)[0, :]
        return z

    def moments(self, Z: Float) -> Moments:
        """‖z‖² and r·z."""
        return Moments(row_dots(Z, Z), inner(self.r, Z))

    def losses(self, Z: Float, delta: Float, rho: Float, with_spread: bool) -> Losses:
        """This block's share of the leave-one-out sums if each candidate were added."""
        return Losses(*kernels.loo_losses(Z, self.r, self.d, delta, rho, with_spread))

    def support_sums(
        self, indices: NDArray[np.intp], beta: Float, delta: Float, rho: Float
    ) -> SupportSums:
        """Of rare candidates where they are not 0; beta (|S| × c) are their coefficients."""
        rows, owners, z = self.X.entries(indices)
        places = np.searchsorted(indices, owners)
        if self.means is not None:
            z -= self.means[owners]
        if self.root_weights is not None:
            z *= self.root_weights[rows]
        for some, chosen in self.columns.chosen(self.chosen, rows):
            z -= np.einsum("sp,sp->p", beta[some][:, places], chosen)
        d, r, count = self.d[rows], self.r[:, rows], len(indices)

        def sums(values: Float) -> Float:
            return np.array([np.bincount(places, value, count) for value in values])

        errors = r - rho[:, places] * z
        errors /= d - z * z / delta[places]
        return SupportSums(
            sums(np.square(errors)),
            sums(np.square(r / d)),
            sums(r * z),
            sums((z * z)[None])[0],
        )

    def chosen_products(self, z: Float) -> FeatureSums:
        """X_S'z."""
        values = self.X.place.zeros(len(self.chosen))
        for rows in self._row_tiles():
            for places, columns in self.columns.chosen(self.chosen, rows):
                values[places] += inner(columns, z[None, rows])[:, 0]
        return FeatureSums(values)

    def advance(
        self, z: Float, index: int, delta: float, rho: Float, along: Float | None
    ) -> RowBlock:
        """The block with the feature added."""
        return self.moved(z, delta, rho, along).chose(index)

    def moved(self, z: Float, delta: float, rho: Float, along: Float | None) -> RowBlock:
        """r ← r − z ρ, h ← h + z²/δ, a ← a − z (a·z)/‖z‖²; `chose` is to follow."""
        r, d, anchor = self.r - rho[:, None] * z, self.d - (z * z) / delta, self.anchor
        if anchor is not None and along is not None:
            anchor = anchor - along[:, None] * z
        return replace(self, r=r, d=d, anchor=anchor)

    def chose(self, index: int, column: Float | None = None) -> RowBlock:
        """The block with a feature noted, after it was moved along it; its column, if known."""
        self.columns.keep(index, column)
        return replace(self, chosen=(*self.chosen, index))

    def along(self, z: Float) -> Along:
        """a·z."""
        return Along(inner(self.anchor, z[None, :])[:, 0])

    def predictions(self) -> Float:
        """Leave-one-out predictions of the current model, (t × rows)."""
        errors = self.r / self.d
        errors /= self.positive_root()
        return self.y - errors

    def candidate_predictions(
        self, indices: NDArray[np.intp], beta: Float, delta: Float, rho: Float
    ) -> Float:
        """Leave-one-out predictions if each candidate were added, (t × c × rows)."""
        Z = self.residuals(indices, beta)
        errors = tiles.loo_errors(Z.T, self.r, self.d, delta, rho).transpose(0, 2, 1)
        return self.y[:, None, :] - errors / self.positive_root()

    def candidate_losses(
        self,
        support: Support | None,
        loss: Loss,
        factors: Float | None,
        beta: Float,
        delta: Float,
        rho: Float,
        reach: Float | None,
    ) -> CandidateLosses:
        """Σ_j e_j ℓ_j over the rows with each of all features added; without factors e is 1.

        For one target of labels ±1 and loss zero_one: reach (n) bounds how far z_i can move the
        margin of a row outside the support of i.
        """
        if not self.X.is_in_memory:
            return self.over_chunks(
                lambda piece: piece.candidate_losses(None, loss, factors, beta, delta, rho, None)
            )
        shares = None if factors is None else self.shares(loss, factors)
        if reach is not None and support is not None:
            return self._wrong(shares, beta, delta, rho[0], reach, support)
        kind = loss.name.removeprefix("balanced_")
        total = np.zeros(self.X.shape[1])
        height = max(LEAST_TILE_ROWS, HALF_TILE_ELEMENTS // self.X.shape[1])
        for top in range(0, len(self.d), height):
            rows = np.arange(top, min(len(self.d), top + height))
            Z = self.tile(rows, None, beta)
            errors = tiles.loo_errors(Z, self.r[:, rows], self.d[rows], delta, rho)
            if self.root_weights is not None:
                errors /= self.positive_root()[rows, None]
            own = None if shares is None else shares[rows]
            total += tiles.error_sums(kind, errors, self.y[:, rows], own)
        return CandidateLosses(total, self.X.shape[0] * self.X.shape[1])

    def leftovers(self, candidates: NDArray[np.intp], beta: Float) -> Leftovers:
        """z of some candidates in the rows that count, to be kept; beta (|S| × c) are theirs.

        For one target of labels ±1.
        """
        used, is_positive = self.filled_weights() > 0.0, self.y[0] > 0.0
        (first,), (last,) = (used & is_positive).nonzero(), (used & ~is_positive).nonzero()
        rows = np.concatenate([first, last])
        Z = np.empty((len(candidates), len(rows)))
        height = max(LEAST_TILE_ROWS, HALF_TILE_ELEMENTS // max(1, len(candidates)))
        for top in range(0, len(rows), height):
            some = slice(top, min(len(rows), top + height))
            Z[:, some] = self.tile(rows[some], candidates, beta).T
        return Leftovers(rows, len(first), candidates, Z)

    def kept_losses(
        self, kept: Leftovers, loss: Loss, factors: Float | None, delta: Float, rho: Float
    ) -> CandidateLosses:
        """The weight of the wrong predictions with each candidate added, from kept z."""
        shares = None if factors is None else self.shares(loss, factors)
        codes, sizes = self.y[0], None
        if self.root_weights is not None:
            sizes = 1.0 / self.positive_root()
            codes = codes * sizes
        margins = tiles.loo_margins(codes, self.r[0], self.d)
        return CandidateLosses(kept.wrong_sums(margins, sizes, shares, delta, rho), 0)

    def filled_weights(self) -> Float:
        """w (rows), 1 where none are given."""
        return np.ones(len(self.d)) if self.weights is None else self.weights

    def stratum_weights(self, loss: Loss) -> FeatureSums:
        """Weights of the rows in each stratum of a loss."""
        count, weights = loss.n_strata(len(self.y)), self.filled_weights()
        sums: Float = np.bincount(loss.strata(self.y.T), weights, minlength=count).astype(float)
        return FeatureSums(sums)

    def shares(self, loss: Loss, factors: Float) -> Float:
        """e_j = w_j × the factor of its stratum (strata)."""
        own: Float = factors[loss.strata(self.y.T)]
        return own if self.weights is None else own * self.weights

    def positive_root(self) -> Float:
        """√w, and 1 for rows of weight 0, which no loss counts."""
        root = self.root_weights
        return np.ones(len(self.d)) if root is None else np.where(root > 0.0, root, 1.0)

    def tile(self, rows: NDArray[np.intp], columns: NDArray[np.intp] | None, beta: Float) -> Float:
        """z of some candidates (or all) in some rows, (rows × c), in the memory order of X.

        beta (|S| × c) are the coefficients of these candidates.
        """
        taken, by_rows = self.X.ordered_part(rows, columns)
        Z = taken.astype(np.float64, copy=False)
        if self.means is not None:
            Z -= self.means if columns is None else self.means[columns]
        if self.root_weights is not None:
            Z *= self.root_weights[rows, None]
        for places, chosen in self.columns.chosen(self.chosen, rows):
            Z -= chosen.T @ beta[places] if by_rows else (beta[places].T @ chosen).T
        return Z

    def _wrong(
        self,
        shares: Float | None,
        beta: Float,
        delta: Float,
        rho: Float,
        reach: Float,
        support: Support,
    ) -> CandidateLosses:
        """The weight of the wrong predictions, looking only at rows that may change sides."""
        codes, r, d = self.y[0] / self.positive_root(), self.r[0], self.d

        def look(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> tiles.Flags:
            Z = self.tile(rows, columns, beta[:, columns])
            return tiles.loo_wrong(Z, codes[rows], r[rows], d[rows], delta[columns], rho[columns])

        def look_at_pairs(pairs: NDArray[np.intp], columns: NDArray[np.intp]) -> tiles.Flags:
            rows, z = support.rows[pairs], support.values[pairs]
            for places, chosen in self.columns.chosen(self.chosen, rows):
                z -= np.einsum("sp,sp->p", beta[places][:, columns], chosen)
            return tiles.loo_wrong(
                z[:, None], codes[rows], r[rows], d[rows], delta[columns], rho[columns], pairs=True
            )[:, 0]

        margins = tiles.loo_margins(codes, r, d)
        return CandidateLosses(*wrong_sums(margins, reach, shares, look, support, look_at_pairs))

    def statistics(self) -> SampleStatistics:
        """This block's share of what the driver must know of r and h."""
        return statistics_of(self.r, self.d, self.anchor, self.weights)


def make_scores(
    executor: Executor,
    blocks: Sequence[RowBlock],
    Z: list[Float],
    penalty: Float,
    shrinkage: Float,
    with_spread: bool,
) -> Scores:
    """Candidates from their z, where the blocks are."""
    norms, correlations = executor.total(ask(RowBlock.moments), blocks, Z)
    delta = norms + penalty
    rho = (correlations + shrinkage) / delta
    losses, mixed, fourth = executor.total(ask(RowBlock.losses, delta, rho, with_spread), blocks, Z)
    return Scores(losses, delta, rho, norms, correlations, mixed, fourth)
