/* Lower bounds of the losses of all candidates, in feature space, and the candidates of lowest bound. */
#ifndef GREEDYRLS_BOUNDS_H
#define GREEDYRLS_BOUNDS_H

#include "choice.h"
#include "team.h"

/* Features of a share of a loop over all of them, and from how many on there are shares. */
#define SHARE (2 * TILE)
#define SHARED_FEATURES (4 * SHARE)

/* Run a loop over all features, in shares that threads take if it is long. */
static void over_features(const Search *search, RunShare run, void *context) {
    const int64_t n = search->rows->n;
    in_shares(n < SHARED_FEATURES ? 1 : search->n_threads, (n + SHARE - 1) / SHARE, run, context);
}

/* Bounds of the features of a share, from vectors of n numbers; +inf for those that are no candidates. */
static void bound_share(void *context, int64_t share) {
    const Search *search = context;
    const Rows *rows = search->rows;
    const int64_t n = rows->n, t = rows->t, first = share * SHARE;
    const int64_t count = first + SHARE < n ? SHARE : n - first;
    const double largest = search->sums[6 * t + 2], shrink = 1.0 / (largest * largest);
    double *RESTRICT bounds = search->bounds + first;
    const double *RESTRICT delta = search->delta + first, *RESTRICT norms = search->norms + first;
    for (int64_t i = 0; i < count; i++) bounds[i] = search->total;
    for (int64_t k = 0; k < t; k++) {
        const double distance = search->distances[k];
        const double c1 = search->distances[t + k], c2 = search->distances[2 * t + k];
        const double *RESTRICT tau = search->tau + k * n + first;
        const double *RESTRICT inner = search->inner + k * n + first;
        const double *RESTRICT anchored =
            !search->has_anchor ? inner : search->anchored + k * n + first;
        SIMD()
        for (int64_t i = 0; i < count; i++) {
            const double rho = tau[i] / delta[i], size = fabs(rho) * sqrt(norms[i]);
            bounds[i] -= 2.0 * rho * (c1 * inner[i] + c2 * anchored[i]) +
                         size * (2.0 * distance - size * shrink);
        }
    }
    /* Centres whose pivots are mostly rounding are no candidates, and so need no other limit. */
    const double trusted = has_kernel(search) ? 0.0 : TRUSTED_PIVOT;
    const double *RESTRICT diagonal = rows->diagonal + first, alpha = search->alpha;
    const unsigned char *RESTRICT barred = search->barred + first;
    SIMD()
    for (int64_t i = 0; i < count; i++) {
        const int is_trusted = (delta[i] >= trusted * (diagonal[i] + alpha)) & !isnan(bounds[i]);
        const double bound = is_trusted ? bounds[i] : -INFINITY;
        bounds[i] = barred[i] ? INFINITY : bound;
    }
}

/* Bounds of all candidates. */
static void bound_all(Search *search) {
    const int64_t t = search->rows->t;
    const double *sums = search->sums;
    for (int64_t k = 0; k < t; k++) {
        const double g_r = sums[t + k], g_g = sums[2 * t + k], r_r = sums[k] + TINY;
        double c1 = g_r / r_r, c2 = 0.0, square = (1.0 + SUM_ROUNDING) * g_g - c1 * g_r;
        if (search->has_anchor) {
            const double a_r = sums[3 * t + k], a_a = sums[5 * t + k], slope = a_r / r_r;
            const double across = a_a - slope * a_r, a_g = sums[4 * t + k] - slope * g_r;
            c2 = a_g / (fabs(across) + PARALLEL * a_a + TINY);
            c1 -= c2 * slope;
            square += c2 * (c2 * across - 2.0 * a_g);
        }
        const double least = SUM_ROUNDING * g_g;
        search->distances[k] = sqrt(square > least ? square : least);
        search->distances[t + k] = c1, search->distances[2 * t + k] = c2;
    }
    over_features(search, bound_share, search);
}

/* The lowest of some bounds; a loop over few of them, as compilers make vectors of it. */
static double lowest_of(const double *RESTRICT bounds, int64_t count) {
    double lowest = INFINITY;
    SIMD(reduction(min : lowest))
    for (int64_t i = 0; i < count; i++) lowest = bounds[i] < lowest ? bounds[i] : lowest;
    return lowest;
}

/* Behind how many of `found` features in order a bound belongs. */
static int64_t place_of(const double *bounds, const int64_t *indices, int64_t found, double bound) {
    int64_t first = 0, last = found;
    while (first < last) {
        const int64_t middle = (first + last) / 2;
        if (bounds[indices[middle]] > bound) last = middle;
        else first = middle + 1;
    }
    return first;
}

/* The features of the `count` lowest bounds, lowest first: of all, or of the `n` in `among`. */
static int64_t lowest_among(const double *bounds, const int64_t *among, int64_t n, int64_t count,
                            int64_t *indices) {
    int64_t found = 0;
    double last = INFINITY;
    for (int64_t first = 0; first < n; first += FEW) {
        const int64_t end = first + FEW < n ? first + FEW : n;
        if (among == NULL && !(lowest_of(bounds + first, end - first) < last)) continue;
        for (int64_t k = first; k < end; k++) {
            const int64_t i = among == NULL ? k : among[k];
            const double bound = bounds[i];
            if (!(bound < last)) continue;
            const int64_t place = place_of(bounds, indices, found, bound);
            found += found < count;
            memmove(indices + place + 1, indices + place,
                    (size_t)(found - 1 - place) * sizeof(int64_t));
            indices[place] = i;
            if (found == count) last = bounds[indices[found - 1]];
        }
    }
    return found;
}

/* Σ (a_j b_j)² of padded vectors. */
static double dot_of_squares(const double *RESTRICT a, const double *RESTRICT b, int64_t count) {
    Vector first = AT(ZEROS), second = AT(ZEROS);
    int64_t j = 0;
    for (; j + 2 * WIDTH <= count; j += 2 * WIDTH) {
        const Vector one = AT(a + j) * AT(b + j), other = AT(a + j + WIDTH) * AT(b + j + WIDTH);
        first += one * one, second += other * other;
    }
    for (; j < count; j += WIDTH) first += (AT(a + j) * AT(b + j)) * (AT(a + j) * AT(b + j));
    return total_of(first + second);
}

/* How z of a candidate is spread over the rows, for the bounds of later steps. */
static void remember_spread(Search *search, int64_t i, const double *RESTRICT z) {
    const int64_t n = search->rows->n, ld = search->rows->ld;
    const double fourth = dot_of_squares(z, z, ld);
    const int is_known = fourth > DBL_MIN && fourth < INFINITY;
    search->fourth[i] = is_known ? sqrt(sqrt(fourth)) : UNKNOWN;
    for (int64_t k = 0; k < search->rows->t; k++) {
        const double mixed = dot_of_squares(search->r + k * ld, z, ld);
        search->mixed[k * n + i] = is_known ? sqrt(mixed) : 0.0;
    }
}

/* The same after a feature: r ← r − t q, z_i ← z_i − l_i q, where q = z/√δ of that feature. */
static void follow_spread(Search *search, int64_t index, const double *RESTRICT l, const Best *best) {
    const int64_t n = search->rows->n;
    const double root = sqrt(best->delta), size = search->fourth[index] / root;
    for (int64_t k = 0; k < search->rows->t; k++) {
        double *RESTRICT mixed = search->mixed + k * n;
        const double *RESTRICT fourth = search->fourth;
        const double lost = fabs(best->rho[k]) * root * size;
        const double other = mixed[index] / root + lost * size;
        SIMD()
        for (int64_t i = 0; i < n; i++) {
            const double left = mixed[i] - lost * fourth[i] - other * fabs(l[i]);
            mixed[i] = left > 0.0 ? left : 0.0;
        }
    }
    double *RESTRICT fourth = search->fourth;
    SIMD()
    for (int64_t i = 0; i < n; i++) fourth[i] += size * fabs(l[i]);
}

/* At least what growing leverages add to a bound. */
static double growth_of(const Search *search, int64_t i) {
    const int64_t n = search->rows->n, t = search->rows->t;
    if (search->fourth == NULL) return 0.0;
    const double largest = search->sums[6 * t + 2], fourth = search->fourth[i];
    double growth = 0.0;
    for (int64_t k = 0; k < t; k++) {
        const double rho = fabs(search->tau[k * n + i] / search->delta[i]);
        const double spread = search->mixed[k * n + i] - rho * fourth * fourth;
        if (spread > 0.0) growth += spread * spread;
    }
    return growth * 2.0 / (largest * largest * largest * search->delta[i]);
}

/* How much a bound could rise if g·z_i were known. */
static double slack_of(const Search *search, int64_t i) {
    double slack = 0.0;
    for (int64_t k = 0; k < search->rows->t; k++)
        slack += search->distances[k] * fabs(search->tau[k * search->rows->n + i]);
    return 2.0 * slack * sqrt(search->norms[i]) / search->delta[i];
}

#endif
