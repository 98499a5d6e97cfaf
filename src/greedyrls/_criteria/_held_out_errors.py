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

V takes the models as given, but they depend on the training rows. Two effects are added.

An error rate depends on the threshold, and that on the intercept, which every sample moves by its
residual y_j − p_j when it trains the models of the other folds: a sample with more positives than
usual has more errors to make, and a threshold that makes fewer of them or more. To first order the
sum of both is Σ_j a_j (ℓ_j + D (y_j − p_j)), D = dθ/db, so the loss at the chosen size is replaced
by the term in brackets. D is a difference quotient: the mean loss with all p moved by ± h, h being
the standard deviation of p in the fold times G^(−1/5), as for the density of p at the threshold.
Squared loss has D = 0 at its minimum, and AUC has no threshold.

And folds share training rows. For K folds Nadeau and Bengio (2003) multiply the variance by
1 + K/(K − 1); K/(K − 1) is ρ, the number of rows tested in all by that of the rows that a fold
trains on, also where folds are repeated. Two things make that too much. Where all folds select the
same features their models hardly differ; so it is applied in full up to a stability index Φ of ¾
between the selections of the folds, beyond which agreement is called excellent, and from there less
and less. And a loss depends on the model only as far as it differs from the loss without features,
by δ with the variance V_δ: Cov(ℓ_i, ℓ_j) between folds has δ in each of its terms, so it is of the
order of √(V V_δ) at most. Hence

    error² = V + min(1, 4(1 − Φ)) ρ √(V min(V, V_δ)).

Intervals (`path/_intervals.py`) take the t quantile of G − 1 degrees of freedom.
benchmarks/suites/coverage.py has the coverage of this and of other corrections.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._base import SUM_ROUNDING, Float
from .._problem import Components, Loss, Split
from ..path import CHOSEN, LOSSES_BEFORE_SIZES
from ._curves import LossMoments

Rows = NDArray[np.intp]


class Tests(NamedTuple):
    """The tested rows of one outer fold as a part of all tests."""

    share: float  # s_f, the weight of the fold in the mean over folds
    clusters: Rows  # (rows of positive weight) the cluster of each
    scales: Float  # (strata) √(G_c / (G_c − 1))
    is_closed: bool  # no cluster is tested in another fold as well
    # How far intercepts are moved to find D, in standard deviations of predictions; 0: not at all.
    shift: float = 0.0


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

    def with_intercepts(self, parts: Sequence[Part], n_targets: int) -> Float:
        """The same, with what each sample does to the intercepts added at the chosen size.

        Where `Tests.shift` is not 0, parts have `intercept_terms` before the losses of all sizes.
        """
        covariance = self.covariance(parts)
        if not self.of_folds[0].shift:
            return covariance
        first, end = LOSSES_BEFORE_SIZES + n_targets, LOSSES_BEFORE_SIZES + 2 * n_targets
        slopes = [part.weights[0] * part.centres[0, LOSSES_BEFORE_SIZES:first] for part in parts]
        D = np.sum(slopes, axis=0)
        moved = covariance[CHOSEN] + D @ covariance[first:end]
        moved[CHOSEN] = np.maximum(moved[CHOSEN] + D @ moved[first:end], 0.0)
        covariance[CHOSEN] = covariance[:, CHOSEN] = moved
        kept = np.r_[:LOSSES_BEFORE_SIZES, end : len(covariance)]
        result: Float = covariance[np.ix_(kept, kept)]
        return result


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

    def first(self, width: int) -> Summed:
        """Return the sums of the first `width` losses; NaN where there are fewer."""
        padded = _padded(self, max(width, self.centres.shape[1]))
        return padded._replace(
            squares=padded.squares[:width, :width],
            products=padded.products[:, :width],
            centres=padded.centres[:, :width],
        )


Part = Clustered | Summed
AnyPart = TypeVar("AnyPart", Clustered, Summed, Clustered | Summed)


def make_tests(
    loss: Loss,
    Y: Float,
    weights: Float | None,
    splits: Sequence[Split],
    groups: NDArray[np.generic] | None,
    has_intercepts: bool = False,
) -> Design | None:
    """Return the design of all tests; None for a loss that has no components per sample.

    Samples of a group are a cluster; without groups a row is one, with all its tests. With
    `has_intercepts`, rows move the intercepts of other folds by their residuals; this counts for
    error rates, where all rows that are tested train other folds and no others do.
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
    # The clusters of each stratum are counted by pairs of both.
    pairs = np.unique(strata[tested] * (clusters.max() + 1) + clusters[tested])
    counts = np.bincount(pairs // (clusters.max() + 1)).astype(np.float64)
    scales = stratum_scales(counts)
    of_tests = [np.unique(clusters[test]) for test in tests]
    n_clusters = len(np.unique(clusters[tested]))
    is_closed = sum(map(len, of_tests)) == n_clusters
    shift = 0.0
    if (
        has_intercepts
        and loss.name == "zero_one"
        and _are_all_trained_on(splits, row_weights, tested)
    ):
        shift = float(n_clusters**-0.2)
    of_folds = [
        Tests(float(total / totals.sum()), clusters[test], scales, is_closed, shift)
        for test, total in zip(tests, totals, strict=True)
    ]
    return Design(of_folds, n_clusters)


def _are_all_trained_on(splits: Sequence[Split], weights: Float, tested: Rows) -> bool:
    """Whether the rows that are tested are those that some fold trains on."""
    is_trained_on = np.zeros(len(weights), dtype=bool)
    for split in splits:
        is_trained_on[split.train] = True
    return np.array_equal(np.flatnonzero(is_trained_on & (weights > 0.0)), tested)


def intercept_terms(loss: Loss, Y: Float, P: Float, shares: Float, shift: float) -> Float:
    """Slopes of the loss of each row by the t intercepts, then y − p, (2t × m); P is (t × m).

    The mean of the slopes over all folds is D.
    """
    widths = shift * np.sqrt(np.square(P - (P @ shares)[:, None]) @ shares)
    slopes = np.zeros(P.shape)
    for target in np.flatnonzero(widths):
        moved = np.stack([P, P], axis=1)
        moved[target] += widths[target] * np.array([[1.0], [-1.0]])
        up, down = loss.sample_losses(Y, moved)
        slopes[target] = (up - down) / (2.0 * widths[target])
    return np.concatenate([slopes, Y.T - P])


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
    names, of_row = tests.clusters, np.arange(len(tests.clusters))
    if not (names[1:] > names[:-1]).all():
        names, of_row = np.unique(names, return_inverse=True)
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
    parts, means = _with_means(parts)
    width = means.shape[1]
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


def variances_of(parts: Sequence[Summed]) -> Float:
    """Return the diagonal of `covariance_of`, (c)."""
    parts, means = _with_means(parts)
    result = np.zeros(means.shape[1])
    for part in parts:
        shift = means - part.centres
        across = part.amounts @ shift - 2.0 * part.products
        result += np.diagonal(part.squares) + (shift * across).sum(axis=0)
    result[result <= np.square(SUM_ROUNDING * np.abs(means).max(axis=0))] = 0.0
    return result


def _with_means(parts: Sequence[AnyPart]) -> tuple[list[AnyPart], Float]:
    """Return parts with as many losses as the one that has most, and their means (strata × c)."""
    width = max(part.centres.shape[1] for part in parts)
    padded = [_padded(part, width) for part in parts]
    weights = np.array([part.weights for part in padded])  # (F × strata)
    totals = weights.sum(axis=0)
    means = np.einsum("fs,fsc->sc", weights, np.array([part.centres for part in padded]))
    means /= np.where(totals > 0.0, totals, 1.0)[:, None]
    return padded, means


def _padded(part: AnyPart, width: int) -> AnyPart:
    """Return a part with NaN for losses up to `width`."""
    if part.centres.shape[1] == width:
        return part

    def wider(values: Float, height: int) -> Float:
        padded = np.full((height, width), np.nan)
        padded[: values.shape[0], : values.shape[1]] = values
        return padded

    centres = wider(part.centres, len(part.centres))
    if isinstance(part, Summed):
        products = wider(part.products, len(part.products))
        return part._replace(squares=wider(part.squares, width), products=products, centres=centres)
    return part._replace(losses=wider(part.losses, len(part.losses)), centres=centres)


def flat(part: Summed, width: int) -> Float:
    """Return all numbers of a part as one vector, padded to `width` losses."""
    return np.concatenate([numbers.ravel() for numbers in part.first(width)])


def unflat(numbers: Float, width: int, n_strata: int) -> Summed:
    """Return a part from the vector of its numbers; the inverse of `flat`."""
    shapes = ((width, width), (n_strata, width), (n_strata, n_strata), (n_strata, width))
    ends = np.cumsum([height * breadth for height, breadth in shapes]).tolist()
    squares, products, amounts, centres = (
        numbers[end - height * breadth : end].reshape(height, breadth)
        for (height, breadth), end in zip(shapes, ends, strict=True)
    )
    return Summed(squares, products, amounts, centres, numbers[ends[-1] :][:n_strata])
