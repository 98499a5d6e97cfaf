"""A row block: a part of the rows of X with its part of the residuals r and of d = 1 − h.

A block answers a few questions; answers of several blocks are added up (`add_up`). Only vectors of
feature space pass between a block and the driver: z of a candidate stays where the block is, and
the driver holds a reference to it. Blocks are immutable: `begin`, `anchored`, `moved` and `chose`
return new ones.
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

# Rows of chosen columns that are copied at a time from the columns kept for a file.
_COPIED_ROWS = 1 << 15

Answer = TypeVar("Answer", bound=tuple[Any, ...])


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows of X with their part of r (t × rows) and d (rows), after `chosen` were added."""

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
        """Return a block before the start, in which r is the raw targets and nothing is centred."""
        root = None if weights is None else namespace_of(weights).sqrt(weights)
        y, d = contiguous(Y.T), X.location.ones(X.shape[0])
        return cls(X, y, y, d, weights, root, None, ColumnStore(X, root, None, 0))

    def separate(self, count: int) -> RowBlock:
        """Return the block for a search with a store of chosen columns of its own."""
        return replace(self, columns=self.columns.attached(self.X, count))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.d.shape[0])

    def target_sums(self) -> TargetSums:
        """Return Σ w, the means of the targets and other sums of the weights."""
        xp, rows, w = namespace_of(self.r), self.n_rows, self.weights
        means = weighted_means(self.r, w)
        if w is None:
            return TargetSums(float(rows), means, float(rows), float(rows), 1.0)
        count = xp.sum(as_float(w > 0.0))
        return TargetSums(xp.sum(w), means, xp.sum(w * w), count, xp.max(w))

    def start_sums(self, target_means: Float) -> RawSums:
        """Return the sums that feature space starts from, in one pass."""
        location = self.X.location
        weights = location.ones(self.n_rows) if self.weights is None else self.weights
        (means,) = to_device(location, target_means)
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
        """Return the block at the empty model; a total weight means that there is an intercept.

        `spare_bytes` is the memory for kept columns, in bytes per row.
        """
        location = self.X.location
        (centre,) = to_device(location, target_means)
        r = self.r - centre[:, None]
        d = location.ones(self.n_rows)
        if means is not None and isinstance(means, np.ndarray):
            (means,) = to_device(location, means)
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
        """Return the block with g = ω∘r as its new anchor."""
        return replace(self, anchor=self.r / (self.d * self.d))

    def products(self, indices: Sequence[int], with_anchor: bool) -> Products:
        """Return v'X in one pass, where v are columns of X, then the anchor if `with_anchor`.

        Columns are gathered a few rows at a time, just before those rows are multiplied, so that
        they are in the cache, and B whole columns of X are never copied.
        """
        order = np.array(indices, dtype=np.intp)
        self.X.take_along(indices)  # they are likely scored next
        question = partial(self._tile_products, self.X.column_numbers(order), with_anchor)
        return add_up(self.X.map_tiles(question, len(order) + self.r.shape[0]))

    def _tile_products(
        self, numbers: Any, with_anchor: bool, rows: slice, tile: Matrix
    ) -> Products:
        """Compute `products` of a tile of rows in memory."""
        values: list[Float] = []
        sums: list[Float] = []
        count, most = int(numbers.shape[0]), tile.vectors_at_a_time
        for first in range(0, max(count, 1), most):
            part = numbers[first : min(count, first + most)]
            vectors = [self.columns.of_tile(tile, part, rows)] if count else []
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
        """Return a slice of the rows as a block whose X is in memory."""

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
        """Return z_i = x_i − X_S β_i of the candidates, (c × rows)."""
        Z = self.columns.get(indices)
        for rows in self._row_tiles():
            for positions, columns in self.columns.chosen(self.chosen, rows):
                Z[:, rows] -= beta[positions].T @ columns
        return Z

    def without_chosen(self, columns: Float, beta: Float) -> Float:
        """Return x_i − X_S β_i; beta may be padded with rows of 0 to the capacity."""
        buffer = self.columns.room
        if buffer is not None and beta.shape[0] == buffer.shape[0]:
            return columns - beta.T @ buffer
        for positions, chosen in self.columns.chosen(self.chosen):
            columns = columns - beta[positions, :].T @ chosen
        return columns

    def over_chunks(self, question: Callable[[RowBlock], Answer]) -> Answer:
        """Add up the answers of chunks of the rows, which are in memory one at a time."""
        return add_up(question(self.piece(rows, chunk)) for rows, chunk in self.X.chunks())

    def _row_tiles(self) -> Iterator[slice]:
        """Yield all rows at once, or slices of rows if columns of chosen features are copies."""
        if not self.X.keeps_columns:
            yield slice(None)
            return
        for top in range(0, len(self.d), _COPIED_ROWS):
            yield slice(top, min(len(self.d), top + _COPIED_ROWS))

    def shapes(self) -> ColumnShapes:
        """Return the largest |x_i − mean_i|, and where rare features are not 0, in one pass."""
        return column_shapes(self.X, self.means, self.weights, self.root_weights)

    def entry_counts(self) -> FeatureSums:
        """Count the nonzero values of each column of a sparse X, (n)."""
        return FeatureSums(self.X.nonzero_counts())

    def fetch(self, indices: NDArray[np.intp]) -> None:
        """Fetch columns that will be needed, in a single pass if they cost one."""
        self.X.fetch(indices.tolist())

    def gathered(self, indices: NDArray[np.intp]) -> Float:
        """Return x_i of the candidates, centred, (c × rows)."""
        return self.columns.fresh(indices)

    def fresh_moments(self, indices: NDArray[np.intp]) -> Moments:
        """Return ‖x‖² and r·x of the candidates."""
        return self.moments(self.gathered(indices))

    def row(self, Z: Float, index: Any) -> Float:
        """Return z of one candidate; the index is an int or a device vector of length 1."""
        z: Float = Z[index, :] if isinstance(index, int) else take_rows(Z, index)[0, :]
        return z

    def moments(self, Z: Float) -> Moments:
        """Return ‖z‖² and r·z of the candidates."""
        return Moments(row_dots(Z, Z), inner(self.r, Z))

    def losses(self, Z: Float, delta: Float, rho: Float, with_spread: bool) -> Losses:
        """Return this block's part of the leave-one-out sums with each candidate added."""
        return Losses(*kernels.loo_losses(Z, self.r, self.d, delta, rho, with_spread))

    def support_sums(
        self, indices: NDArray[np.intp], beta: Float, delta: Float, rho: Float
    ) -> SupportSums:
        """Return sums over nonzero values of rare candidates with coefficients beta (|S| × c)."""
        rows, owners, z = self.X.entries(indices)
        owner = np.searchsorted(indices, owners)
        if self.means is not None:
            z -= self.means[owners]
        if self.root_weights is not None:
            z *= self.root_weights[rows]
        for positions, chosen in self.columns.chosen(self.chosen, rows):
            z -= np.einsum("sp,sp->p", beta[positions][:, owner], chosen)
        d, r, count = self.d[rows], self.r[:, rows], len(indices)

        def sums(values: Float) -> Float:
            return np.array([np.bincount(owner, value, count) for value in values])

        errors = r - rho[:, owner] * z
        errors /= d - z * z / delta[owner]
        return SupportSums(
            sums(np.square(errors)),
            sums(np.square(r / d)),
            sums(r * z),
            sums((z * z)[None])[0],
        )

    def chosen_products(self, z: Float) -> FeatureSums:
        """Return X_S'z."""
        values = self.X.location.zeros(len(self.chosen))
        for rows in self._row_tiles():
            for positions, columns in self.columns.chosen(self.chosen, rows):
                values[positions] += inner(columns, z[None, rows])[:, 0]
        return FeatureSums(values)

    def advance(
        self, z: Float, index: int, delta: float, rho: Float, along: Float | None
    ) -> RowBlock:
        """Return the block with the feature added."""
        return self.moved(z, delta, rho, along).chose(index)

    def moved(self, z: Float, delta: float, rho: Float, along: Float | None) -> RowBlock:
        """Apply r ← r − z ρ, h ← h + z²/δ, a ← a − z (a·z)/‖z‖²; call `chose` next."""
        r, d, anchor = self.r - rho[:, None] * z, self.d - (z * z) / delta, self.anchor
        if anchor is not None and along is not None:
            anchor = anchor - along[:, None] * z
        return replace(self, r=r, d=d, anchor=anchor)

    def chose(self, index: int, column: Float | None = None) -> RowBlock:
        """Return a moved block with the feature added to `chosen`, and keep its column."""
        self.columns.keep(index, column)
        return replace(self, chosen=(*self.chosen, index))

    def along(self, z: Float) -> Along:
        """Return the inner product a·z of the anchor."""
        return Along(inner(self.anchor, z[None, :])[:, 0])

    def predictions(self) -> Float:
        """Return leave-one-out predictions of the current model, (t × rows)."""
        errors = self.r / self.d
        errors /= self.positive_root()
        return self.y - errors

    def candidate_predictions(
        self, indices: NDArray[np.intp], beta: Float, delta: Float, rho: Float
    ) -> Float:
        """Return leave-one-out predictions with each candidate added, (t × c × rows)."""
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
        """Return Σ_j e_j ℓ_j over the rows with each of all features added; e is 1 without factors.

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
            row_shares = None if shares is None else shares[rows]
            total += tiles.error_sums(kind, errors, self.y[:, rows], row_shares)
        return CandidateLosses(total, self.X.shape[0] * self.X.shape[1])

    def leftovers(self, candidates: NDArray[np.intp], beta: Float) -> Leftovers:
        """Return z of candidates with coefficients beta (|S| × c) in the rows of positive weight.

        This is for one target of labels ±1.
        """
        used, is_positive = self.filled_weights() > 0.0, self.y[0] > 0.0
        (first,), (last,) = (used & is_positive).nonzero(), (used & ~is_positive).nonzero()
        rows = np.concatenate([first, last])
        Z = np.empty((len(candidates), len(rows)))
        height = max(LEAST_TILE_ROWS, HALF_TILE_ELEMENTS // max(1, len(candidates)))
        for top in range(0, len(rows), height):
            part = slice(top, min(len(rows), top + height))
            Z[:, part] = self.tile(rows[part], candidates, beta).T
        return Leftovers(rows, len(first), candidates, Z)

    def kept_losses(
        self, kept: Leftovers, loss: Loss, factors: Float | None, delta: Float, rho: Float
    ) -> CandidateLosses:
        """Return the weight of wrong predictions with each candidate added, from kept z."""
        shares = None if factors is None else self.shares(loss, factors)
        codes, sizes = self.y[0], None
        if self.root_weights is not None:
            sizes = 1.0 / self.positive_root()
            codes = codes * sizes
        margins = tiles.loo_margins(codes, self.r[0], self.d)
        return CandidateLosses(kept.wrong_sums(margins, sizes, shares, delta, rho), 0)

    def filled_weights(self) -> Float:
        """Return w (rows), which is 1 without weights."""
        return np.ones(len(self.d)) if self.weights is None else self.weights

    def stratum_weights(self, loss: Loss) -> FeatureSums:
        """Return the total weight of the rows in each stratum of a loss."""
        count, weights = loss.n_strata(len(self.y)), self.filled_weights()
        sums: Float = np.bincount(loss.strata(self.y.T), weights, minlength=count).astype(float)
        return FeatureSums(sums)

    def shares(self, loss: Loss, factors: Float) -> Float:
        """Return e_j = w_j × the factor of its stratum (strata)."""
        row_factors: Float = factors[loss.strata(self.y.T)]
        return row_factors if self.weights is None else row_factors * self.weights

    def positive_root(self) -> Float:
        """Return √w, and 1 for rows of weight 0, which no loss counts."""
        root = self.root_weights
        return np.ones(len(self.d)) if root is None else np.where(root > 0.0, root, 1.0)

    def tile(self, rows: NDArray[np.intp], columns: NDArray[np.intp] | None, beta: Float) -> Float:
        """Return z of candidates (or all features) in some rows, (rows × c), in X's memory order.

        beta (|S| × c) are the coefficients of these candidates.
        """
        taken, by_rows = self.X.ordered_part(rows, columns)
        Z = taken.astype(np.float64, copy=False)
        if self.means is not None:
            Z -= self.means if columns is None else self.means[columns]
        if self.root_weights is not None:
            Z *= self.root_weights[rows, None]
        for positions, chosen in self.columns.chosen(self.chosen, rows):
            Z -= chosen.T @ beta[positions] if by_rows else (beta[positions].T @ chosen).T
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
        """Return the weight of wrong predictions, evaluating only rows whose class may change."""
        codes, r, d = self.y[0] / self.positive_root(), self.r[0], self.d

        def look(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> tiles.Flags:
            Z = self.tile(rows, columns, beta[:, columns])
            return tiles.loo_wrong(Z, codes[rows], r[rows], d[rows], delta[columns], rho[columns])

        def look_at_pairs(pairs: NDArray[np.intp], columns: NDArray[np.intp]) -> tiles.Flags:
            rows, z = support.rows[pairs], support.values[pairs]
            for positions, chosen in self.columns.chosen(self.chosen, rows):
                z -= np.einsum("sp,sp->p", beta[positions][:, columns], chosen)
            return tiles.loo_wrong(
                z[:, None], codes[rows], r[rows], d[rows], delta[columns], rho[columns], pairs=True
            )[:, 0]

        margins = tiles.loo_margins(codes, r, d)
        return CandidateLosses(*wrong_sums(margins, reach, shares, look, support, look_at_pairs))

    def statistics(self) -> SampleStatistics:
        """Return this block's part of the sums of r and h that the driver needs."""
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
