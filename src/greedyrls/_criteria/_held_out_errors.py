"""Standard errors of held-out losses, from the samples held out.

The spread of fold means is no measure of them: stratified folds are alike by construction, which
makes it far too small. The estimand is the loss θ of the whole procedure, with all its choices, at
the size of the training sets. With s_f the share of fold f and e_j the share of sample j in its
fold, the mean over folds is

    θ̂ = Σ_f s_f L_f = Σ_j a_j ℓ_j,    a_j = s_f e_j,

for losses that are means over samples; for 1 − AUC, ℓ_j is DeLong's structural component, the
share of the other class in the fold that is ranked on the wrong side of the sample, and each class
is a stratum. Samples are independent up to clusters: the rows of a group, all tests of a row. So

    V = Σ_g (Σ_{j∈g} ã_j (ℓ_j − μ_c(j))) (…)',    ã_j = a_j √(G_c / (G_c − 1)),

with μ_c the mean of stratum c over all folds and G_c its number of clusters. ℓ_j is a vector: the
losses at the size chosen in the fold, without features, and at every size. Each fold sums its
clusters about its own means into a matrix (c × c) and a few vectors; once the means μ of all folds
are known, the sums are shifted to them. Only where a cluster has parts in several folds (repeated
folds) a row for each cluster is kept until the end.

V treats the models as fixed, but they depend on the training rows, which folds share. For K folds
Nadeau and Bengio (2003) multiply the variance by 1 + K/(K − 1); K/(K − 1) is ρ, the ratio of the
number of tested rows to the number of rows that a fold trains on, also where folds are repeated.
Two things make that too large. If all folds select the same features, their models hardly differ;
so the correction is applied in full up to a stability index Φ of ½ between the selections of the
folds, and decreases from there. And a loss depends on the model only as far as it differs from the
loss without features, by δ with the variance V_δ: Cov(ℓ_i, ℓ_j) between folds has δ in each of its
terms, so it is of the order of √(V V_δ) at most. Hence

    error² = V + min(1, 2(1 − Φ)) ρ √(V min(V, V_δ)).

Intervals (`path/_intervals.py`) take the t quantile of 9 degrees of freedom (of G − 1 with fewer
than ten clusters): the correction is rough, and with the normal quantile they were too short.
benchmarks/suites/coverage.py measures the coverage of this and of other corrections.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import SUM_ROUNDING, Float
from .._problem import Components, Loss, Split
from ._curves import LossMoments

Rows = NDArray[np.intp]


class Tests(NamedTuple):
    """The tested rows of one outer fold as a part of all tests."""

    share: float  # s_f, the weight of the fold in the mean over folds
    clusters: Rows  # (rows of positive weight) the cluster of each
    scales: Float  # (strata) √(G_c / (G_c − 1))
    is_closed: bool  # no cluster is tested in another fold as well


class Design(NamedTuple):
    """The tests of all folds; it does not depend on any selection."""

    of_folds: list[Tests]
    n_clusters: int  # the number of tested clusters

    def covariance(self, parts: Sequence[Part]) -> Float:
        """Return the covariance (c × c) of losses over all folds; NaN where it is undefined."""
        covariance = covariance_of(parts)
        if not self.of_folds[0].scales.any():
            covariance[:] = np.nan
        return covariance


class Clustered(NamedTuple):
    """Sums over the clusters of one fold; a cluster may have parts in other folds."""

    names: Rows  # (G)
    losses: Float  # (G × c) Σ ã (ℓ − centre) over the rows of the cluster
    amounts: Float  # (G × strata) Σ ã
    centres: Float  # (strata × c)
    weights: Float  # (strata) Σ a, by which centres are averaged over folds


class Summed(NamedTuple):
    """Sums of squares over the clusters of one fold, none of which has parts in other folds."""

    squares: Float  # (c × c) Σ_g u u'
    products: Float  # (strata × c) Σ_g b u'
    amounts: Float  # (strata × strata) Σ_g b b'
    centres: Float
    weights: Float

    @staticmethod
    def unknown(width: int, n_strata: int) -> Summed:
        """Return sums that are all NaN, for losses that were not computed."""
        nan = np.nan
        return Summed(
            np.full((width, width), nan),
            np.full((n_strata, width), nan),
            np.full((n_strata, n_strata), nan),
            np.full((n_strata, width), nan),
            np.full(n_strata, nan),
        )

    def first(self, width: int) -> Summed:
        """Return the sums of the first `width` losses."""
        return self._replace(
            squares=self.squares[:width, :width],
            products=self.products[:, :width],
            centres=self.centres[:, :width],
        )


Part = Clustered | Summed


def make_tests(
    loss: Loss,
    Y: Float,
    weights: Float | None,
    splits: Sequence[Split],
    groups: NDArray[np.generic] | None,
) -> Design | None:
    """Return the design of all tests; None for a loss that has no components per sample.

    Samples of a group are a cluster; without groups each row with all its tests is one.
    """
    if not loss.has_components:
        return None
    clusters: Rows = np.arange(len(Y))
    if groups is not None:
        clusters = np.unique(groups, return_inverse=True)[1].reshape(-1)
    row_weights = np.ones(len(Y)) if weights is None else weights
    tests = [split.test[row_weights[split.test] > 0.0] for split in splits]
    strata = loss.strata(Y)
    totals = np.array([row_weights[test].sum() for test in tests])
    tested = np.unique(np.concatenate(tests))
    pairs = np.unique(np.stack([strata[tested], clusters[tested]]), axis=1)
    counts = np.bincount(pairs[0]).astype(np.float64)
    scales = stratum_scales(counts)
    clusters_of = [np.unique(clusters[test]) for test in tests]
    is_closed = sum(map(len, clusters_of)) == len(np.unique(np.concatenate(clusters_of)))
    of_folds = [
        Tests(float(total / totals.sum()), clusters[test], scales, is_closed)
        for test, total in zip(tests, totals, strict=True)
    ]
    return Design(of_folds, len(np.unique(clusters[tested])))


def stratum_scales(counts: Float) -> Float:
    """Return √(G / (G − 1)) of strata with G clusters; 0 for a single one, without spread."""
    return np.where(counts > 1.0, np.sqrt(counts / np.maximum(counts - 1.0, 1.0)), 0.0)


def test_ratio(splits: Sequence[Split], has_weight: NDArray[np.bool_]) -> float:
    """Return ρ, the number of rows tested in any fold by the number that a fold trains on."""
    tested = np.unique(np.concatenate([split.test for split in splits]))
    trained = np.mean([split.n_trained_on(has_weight) for split in splits])
    return float(np.count_nonzero(has_weight[tested]) / trained)


def part_of(components: Components, tests: Tests) -> Part:
    """Return one fold's part of the covariance from the loss components of its tested rows."""
    losses, strata = components.losses, components.strata
    shares = tests.share * components.shares
    count = len(tests.scales)
    weight = np.bincount(strata, shares, count).astype(np.float64)
    centres = np.zeros((count, len(losses)))
    for stratum in np.flatnonzero(weight):
        rows = strata == stratum
        centres[stratum] = losses[:, rows] @ shares[rows] / weight[stratum]
    scaled = shares * tests.scales[strata]
    names, of_row = np.unique(tests.clusters, return_inverse=True)
    amounts = np.zeros((len(names), count))
    np.add.at(amounts, (of_row, strata), scaled)
    of_rows = ((losses - centres[strata].T) * scaled).T
    summed = np.zeros((len(names), len(losses)))
    if len(names) == len(of_rows):
        summed[of_row] = of_rows  # each row is a cluster
    else:
        np.add.at(summed, of_row, of_rows)
    whole = Clustered(names, summed, amounts, centres, weight)
    return _summed(whole) if tests.is_closed else whole


def _summed(part: Clustered) -> Summed:
    return Summed(
        part.losses.T @ part.losses,
        part.amounts.T @ part.losses,
        part.amounts.T @ part.amounts,
        part.centres,
        part.weights,
    )


def summed_moments(moments: LossMoments, tests: Tests) -> Summed:
    """Return the same as `part_of` from sums over rows, if each row is its own cluster."""
    present = moments.weights > 0.0
    totals = np.where(present, moments.weights, 1.0)
    centres = moments.sums / totals[:, None]
    weight = tests.share * present / np.count_nonzero(present)
    factors = np.square(weight / totals * tests.scales)  # ã² / w²
    squares = np.zeros(moments.squares.shape[1:])
    for of_stratum, firsts, zeroth, centre, factor in zip(
        moments.squares, moments.firsts, moments.zeroth, centres, factors, strict=True
    ):
        across = np.outer(centre, firsts)
        squares += factor * (of_stratum - across - across.T + zeroth * np.outer(centre, centre))
    products = factors[:, None] * (moments.firsts - moments.zeroth[:, None] * centres)
    return Summed(squares, products, np.diag(factors * moments.zeroth), centres, weight)


def covariance_of(parts: Sequence[Part]) -> Float:
    """Return the covariance (c × c) of losses over all folds, uncorrected for shared training.

    Folds may have different numbers of losses; a loss that any fold lacks is NaN.
    """
    width = max(part.centres.shape[1] for part in parts)
    parts = [_padded(part, width) for part in parts]
    weights = np.array([part.weights for part in parts])  # (F × strata)
    totals = weights.sum(axis=0)
    means = np.einsum("fs,fsc->sc", weights, np.array([part.centres for part in parts]))
    means /= np.where(totals > 0.0, totals, 1.0)[:, None]
    result = np.zeros((width, width))
    for closed in (part for part in parts if isinstance(part, Summed)):
        shift = means - closed.centres
        across = shift.T @ closed.products
        result += closed.squares - across - across.T + shift.T @ closed.amounts @ shift
    shared = [part for part in parts if isinstance(part, Clustered)]
    if shared:
        names = np.unique(np.concatenate([part.names for part in shared]))
        losses = np.zeros((len(names), width))
        for one in shared:
            positions = np.searchsorted(names, one.names)
            losses[positions] += one.losses - one.amounts @ (means - one.centres)
        result += losses.T @ losses
    result = (result + result.T) / 2.0
    # A loss that is the same for all samples but for rounding has no variance.
    largest = np.abs(means).max(axis=0)
    is_rounding = np.diagonal(result) <= np.square(SUM_ROUNDING * largest)
    result[is_rounding] = result[:, is_rounding] = 0.0
    return result


def _padded(part: Part, width: int) -> Part:
    more = (0, width - part.centres.shape[1])

    def wider(values: Float, *axes: tuple[int, int]) -> Float:
        return np.pad(values, axes, constant_values=np.nan)

    centres = wider(part.centres, (0, 0), more)
    if isinstance(part, Summed):
        squares = wider(part.squares, more, more)
        products = wider(part.products, (0, 0), more)
        return part._replace(squares=squares, products=products, centres=centres)
    return part._replace(losses=wider(part.losses, (0, 0), more), centres=centres)


def flat(part: Summed, width: int) -> Float:
    """Return all numbers of a part as one vector, padded to `width` losses."""
    padded = _padded(part, width)
    assert isinstance(padded, Summed)
    return np.concatenate([numbers.ravel() for numbers in padded])


def unflat(numbers: Float, width: int, n_strata: int) -> Summed:
    """Return a part from the vector of its numbers; the inverse of `flat`."""
    parts, first = [], 0
    for pattern in Summed.unknown(width, n_strata):
        parts.append(numbers[first : first + pattern.size].reshape(pattern.shape))
        first += pattern.size
    return Summed(*parts)
