/* See folds.h. This file is compiled once for each set of instructions that it may run on. */

#include "folds.h"

#include "common.h"

/* Less than this share of a pivot outside a fold is mostly rounding. */
#define LEAST_OUTSIDE 1e-5
/* With less of a pivot outside, a fold cannot be left out of a model at all. */
#define NOTHING_LEFT 1e-12

static int64_t padded_n(const FoldRows *rows) { return rows->n_blocks * BLOCK; }

/* --- A pass over all candidates -------------------------------------------------------------- */

/* V, δ and τ of a block of candidates in the rows of a fold after the last feature. */
static void follow(const FoldSearch *search, int64_t block, int64_t q, double *RESTRICT V,
                   double *RESTRICT delta, double *RESTRICT tau) {
    const FoldRows *rows = search->rows;
    const int64_t first = rows->starts[q], count = rows->starts[q + 1] - first;
    const double *RESTRICT z = search->z + first, *RESTRICT u = search->u + first;
    const double *g = search->g + block * BLOCK, alpha = search->alpha;
    const double inverse = 1.0 / search->left[q];
    double along[BLOCK];
    for (int64_t i = 0; i < BLOCK; i++) along[i] = g[i];
    for (int64_t j = 0; j < count; j++) {
        const double *RESTRICT line = V + j * BLOCK;
        SIMD()
        for (int64_t i = 0; i < BLOCK; i++) along[i] -= z[j] * line[i];
    }
    for (int64_t k = 0; k < rows->t; k++) {
        const double rho = search->rho[q * rows->t + k];
        SIMD()
        for (int64_t i = 0; i < BLOCK; i++) tau[k * BLOCK + i] -= along[i] * rho;
    }
    SIMD()
    for (int64_t i = 0; i < BLOCK; i++) {
        const double share = along[i] * inverse, least = delta[i] - along[i] * share;
        delta[i] = least > alpha ? least : alpha;
        along[i] = share;
    }
    for (int64_t j = 0; j < count; j++) {
        double *RESTRICT line = V + j * BLOCK;
        SIMD()
        for (int64_t i = 0; i < BLOCK; i++) line[i] -= u[j] * along[i];
    }
}

/* Changes of the sums with each candidate of a block added, and the least share of its pivot. */
static void score(const FoldSearch *search, int64_t q, const double *RESTRICT V,
                  const double *RESTRICT delta, const double *RESTRICT tau,
                  double *RESTRICT losses, double *RESTRICT smallest) {
    const FoldRows *rows = search->rows;
    const int64_t first = rows->starts[q], count = rows->starts[q + 1] - first;
    double norms[BLOCK] = {0.0}, inner[BLOCK];
    for (int64_t k = 0; k < rows->t; k++) {
        const double *RESTRICT errors = search->errors + k * rows->m + first;
        for (int64_t i = 0; i < BLOCK; i++) inner[i] = 0.0;
        for (int64_t j = 0; j < count; j++) {
            const double *RESTRICT line = V + j * BLOCK;
            SIMD()
            for (int64_t i = 0; i < BLOCK; i++) inner[i] += errors[j] * line[i];
            if (k > 0) continue;
            SIMD()
            for (int64_t i = 0; i < BLOCK; i++) norms[i] += line[i] * line[i];
        }
        double *RESTRICT out = losses + k * padded_n(rows);
        SIMD()
        for (int64_t i = 0; i < BLOCK; i++) {
            const double rho = tau[k * BLOCK + i] / delta[i];
            out[i] += rho * (rho * norms[i] - 2.0 * inner[i]);
        }
    }
    SIMD()
    for (int64_t i = 0; i < BLOCK; i++) smallest[i] = delta[i] < smallest[i] ? delta[i] : smallest[i];
}

static void pass(FoldSearch *search) {
    const FoldRows *rows = search->rows;
    const int64_t t = rows->t, n_folds = rows->n_folds;
    memset(search->losses, 0, (size_t)(t * padded_n(rows)) * sizeof(double));
    for (int64_t block = 0; block < rows->n_blocks; block++) {
        double *smallest = search->smallest + block * BLOCK;
        for (int64_t i = 0; i < BLOCK; i++) smallest[i] = INFINITY;
        for (int64_t q = 0; q < n_folds; q++) {
            double *V = search->V + (block * rows->m + rows->starts[q]) * BLOCK;
            double *delta = search->delta + (block * n_folds + q) * BLOCK;
            double *tau = search->tau + (block * n_folds + q) * t * BLOCK;
            if (search->is_behind) follow(search, block, q, V, delta, tau);
            score(search, q, V, delta, tau, search->losses + block * BLOCK, smallest);
        }
    }
    search->is_behind = 0;
}

/* --- Choosing -------------------------------------------------------------------------------- */

typedef struct {
    int64_t index;
    double loss, tolerance, rounding, kept, growth;
} Scored;

/* The loss of a candidate from its errors, which keeps digits that sums lose. */
static Scored scored(const FoldSearch *search, int64_t i) {
    const FoldRows *rows = search->rows;
    const int64_t block = i / BLOCK, within = i % BLOCK, t = rows->t, n_folds = rows->n_folds;
    double loss = 0.0, rounding = 0.0;
    for (int64_t k = 0; k < t; k++) {
        double sum = 0.0;
        for (int64_t q = 0; q < n_folds; q++) {
            const double delta = search->delta[(block * n_folds + q) * BLOCK + within];
            const double tau = search->tau[((block * n_folds + q) * t + k) * BLOCK + within];
            const double rho = tau / delta, *errors = search->errors + k * rows->m;
            const double *V = search->V + block * rows->m * BLOCK + within;
            for (int64_t j = rows->starts[q]; j < rows->starts[q + 1]; j++) {
                const double error = errors[j] - rho * V[j * BLOCK];
                sum += error * error;
            }
        }
        loss += sum;
        rounding += sqrt(sum * rows->energy[k]);
    }
    Scored one = {.index = i, .loss = loss < INFINITY ? loss : INFINITY};
    one.kept = one.loss;
    one.tolerance = TIE * loss + TIE_ROUNDING * rounding;
    const double scale = rows->diagonal[i] + search->alpha;
    one.growth = (scale + rows->far[i]) / search->smallest[i];
    one.rounding = PIVOT_ROUNDING * scale / search->smallest[i] * loss + 0.05 * one.tolerance;
    return one;
}

/* Whether a sum of squared errors is known to a share of itself, or of that without features. With
 * A_ii/δ_i in the models of folds, their errors lose as many digits, relative to y. */
static int is_known(const FoldSearch *search, double growth, double loss, double share) {
    double first = 0.0;
    for (int64_t k = 0; k < search->rows->t; k++) first += search->rows->energy[k];
    if (growth < search->growth) growth = search->growth;
    const double rounding = DBL_EPSILON * growth * sqrt(loss) * (sqrt(first) + sqrt(loss));
    return rounding <= share * (loss > first ? loss : first);
}

/* Positions of the best, the best of the others, and so on: the lowest index of those that tie.
 * TAKEN; IN_DOUBT where rounding may decide, LOST where it is more than what counts as a tie. */
static int best_of(Scored *all, int64_t n_scored, int64_t count, int64_t *positions) {
    for (int64_t rank = 0; rank < count; rank++) {
        int64_t least = -1;
        for (int64_t k = 0; k < n_scored; k++)
            if (all[k].loss < INFINITY && (least < 0 || all[k].loss < all[least].loss)) least = k;
        if (least < 0) return IN_DOUBT;
        const double tolerance = all[least].tolerance, limit = all[least].loss + tolerance;
        int64_t chosen = least;
        for (int64_t k = 0; k < n_scored; k++) {
            if (!(all[k].loss < INFINITY)) continue;
            const double doubt = all[k].rounding + all[least].rounding + 0.05 * tolerance;
            if (k != least && fabs(all[k].loss - limit) <= doubt) return doubt > tolerance ? LOST : IN_DOUBT;
            if (all[k].loss <= limit && all[k].index < all[chosen].index) chosen = k;
        }
        positions[rank] = chosen;
        all[chosen].loss = INFINITY;
    }
    return TAKEN;
}

/* What the losses of all candidates say they may be at least, in the place of the changes of the
 * first target; the `count`th smallest loss of all. */
static double reached(FoldSearch *search, int64_t count) {
    const FoldRows *rows = search->rows;
    const int64_t n = rows->n, width = padded_n(rows);
    double now = 0.0, least[MOST_RUNNERS_UP + 1];
    for (int64_t k = 0; k < rows->t * rows->n_folds; k++) now += search->sums[k];
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        if (search->barred[i]) continue;
        double loss = now;
        for (int64_t k = 0; k < rows->t; k++) loss += search->losses[k * width + i];
        if (!(loss < INFINITY)) loss = INFINITY;
        search->n_evaluations++;
        const double scale = rows->diagonal[i] + search->alpha;
        search->losses[i] = loss - MARGIN * now - PIVOT_ROUNDING * scale / search->smallest[i] * now;
        if (found == count && loss >= least[count - 1]) continue;
        int64_t place = found < count ? found++ : count - 1;
        for (; place > 0 && least[place - 1] > loss; place--) least[place] = least[place - 1];
        least[place] = loss;
    }
    return found ? least[found - 1] * (1.0 + 2.0 * TIE) + MARGIN * now : -INFINITY;
}

static int choose(FoldSearch *search, int64_t n_runners_up, int64_t *best, double *losses) {
    const FoldRows *rows = search->rows;
    if (search->size >= search->capacity) return DONE;
    pass(search);
    int64_t n_left = 0, n_scored = 0, positions[MOST_RUNNERS_UP + 1];
    for (int64_t i = 0; i < rows->n; i++) n_left += !search->barred[i];
    const int64_t count = n_runners_up + 1 < n_left ? n_runners_up + 1 : n_left;
    if (count == 0) return DONE;
    const double limit = reached(search, count);
    if (!(limit < INFINITY)) return IN_DOUBT;
    Scored *all = malloc((size_t)n_left * sizeof(Scored));
    if (all == NULL) return NO_MEMORY;
    for (int64_t i = 0; i < rows->n; i++)
        if (!search->barred[i] && !(search->losses[i] > limit)) all[n_scored++] = scored(search, i);
    int result = n_scored < count ? IN_DOUBT : best_of(all, n_scored, count, positions);
    for (int64_t k = 0; result == TAKEN && k < count; k++)
        if (!is_known(search, all[positions[k]].growth, all[positions[k]].kept, TIE)) result = LOST;
    for (int64_t k = 0; result == TAKEN && k <= n_runners_up; k++) {
        best[k] = k < count ? all[positions[k]].index : -1;
        losses[k] = k < count ? all[positions[k]].kept : NAN;
    }
    free(all);
    return result;
}

/* --- Adding ---------------------------------------------------------------------------------- */

/* u, δ and ρ of a feature in the models of all folds; false if rounding is too much of them. */
static int measure(FoldSearch *search, int64_t index, double delta) {
    const FoldRows *rows = search->rows;
    const int64_t block = index / BLOCK, within = index % BLOCK, t = rows->t;
    const double scale = rows->diagonal[index] + search->alpha;
    double drift = fabs(delta - search->pivots[index]) / scale, growth = search->growth;
    for (int64_t j = 0; j < rows->m; j++)
        search->u[j] = search->V[(block * rows->m + j) * BLOCK + within];
    for (int64_t q = 0; q < rows->n_folds; q++) {
        const int64_t first = rows->starts[q], count = rows->starts[q + 1] - first;
        const int64_t at = block * rows->n_folds + q;
        const double left = delta - dot(search->z + first, search->u + first, count);
        const double gap = fabs(left - search->delta[at * BLOCK + within]) / scale;
        drift = gap > drift ? gap : drift;
        if (!(left > LEAST_OUTSIDE * delta && left >= search->alpha)) return 0;
        if (search->size && left < REFINED_PIVOT * scale) return 0;
        const double lost = (scale + rows->far[index]) / left;
        growth = lost > growth ? lost : growth;
        search->left[q] = left;
        for (int64_t k = 0; k < t; k++)
            search->rho[q * t + k] = search->tau[(at * t + k) * BLOCK + within] / left;
    }
    if (!(drift <= DRIFT_BOUND)) return 0;
    if (drift > search->largest_drift) search->largest_drift = drift;
    search->growth = growth;
    return 1;
}

static int add(FoldSearch *search, int64_t index, const double *gram, const double *x) {
    const FoldRows *rows = search->rows;
    const int64_t m = rows->m, n = rows->n, t = rows->t, s = search->size, width = padded_n(rows);
    if (s >= search->capacity || search->barred[index]) return DONE;
    if (search->is_behind) pass(search);
    double *RESTRICT z = search->z, *RESTRICT g = search->g;
    memcpy(z, x, (size_t)m * sizeof(double));
    memcpy(g, gram, (size_t)n * sizeof(double));
    for (int64_t s_ = 0; s_ < s; s_++) {
        const double l = search->L[s_ * width + index];
        const double *RESTRICT q = search->Q + s_ * m, *RESTRICT row = search->L + s_ * width;
        SIMD()
        for (int64_t j = 0; j < m; j++) z[j] -= l * q[j];
        SIMD()
        for (int64_t i = 0; i < n; i++) g[i] -= l * row[i];
    }
    const double delta = dot(x, z, m) + search->alpha;
    if (!(delta >= search->alpha) || !measure(search, index, delta)) return LOST;
    const double root = 1.0 / sqrt(delta);
    for (int64_t j = 0; j < m; j++) search->Q[s * m + j] = z[j] * root;
    for (int64_t i = 0; i < n; i++) {
        const double l = g[i] * root, least = search->pivots[i] - l * l;
        search->L[s * width + i] = l;
        search->pivots[i] = least > search->alpha ? least : search->alpha;
    }
    for (int64_t q = 0; q < rows->n_folds; q++)
        for (int64_t k = 0; k < t; k++) {
            double *errors = search->errors + k * m, sum = 0.0;
            const double rho = search->rho[q * t + k];
            for (int64_t j = rows->starts[q]; j < rows->starts[q + 1]; j++) {
                errors[j] -= rho * search->u[j];
                sum += errors[j] * errors[j];
            }
            search->sums[k * rows->n_folds + q] = sum;
        }
    search->barred[index] = 1;
    search->chosen[search->size++] = index;
    search->is_behind = 1;
    double loss = 0.0;
    for (int64_t k = 0; k < t * rows->n_folds; k++) loss += search->sums[k];
    return is_known(search, search->growth, loss, KNOWN_LOSS) ? TAKEN : LOST;
}

/* --- Models on chosen features ---------------------------------------------------------------- */

/* U of all features from `first` on after a step along q with pivot 1, for `count` rows. */
static void leave_out(int64_t count, int64_t k, int64_t first, const double *q, int64_t stride,
                      const double *u, double left, double *RESTRICT U, double *RESTRICT shares) {
    for (int64_t i = first; i < k; i++) shares[i] = 0.0;
    for (int64_t j = 0; j < count; j++) {
        const double *RESTRICT line = U + j * k;
        const double at = q[j * stride] / left;
        SIMD()
        for (int64_t i = first; i < k; i++) shares[i] += at * line[i];
    }
    for (int64_t j = 0; j < count; j++) {
        double *RESTRICT line = U + j * k;
        const double at = u[j * stride];
        SIMD()
        for (int64_t i = first; i < k; i++) line[i] += at * shares[i];
    }
}

static double strided_dot(const double *a, int64_t stride, const double *b, int64_t other,
                          int64_t count) {
    double total = 0.0;
    for (int64_t j = 0; j < count; j++) total += a[j * stride] * b[j * other];
    return total;
}

/* The rows of one fold; Q and U are (count × k), `shares` has room for k numbers. */
static void curve_of_fold(const FoldCurves *curves, int64_t first, int64_t count, double *RESTRICT Q,
                          double *RESTRICT U, double *shares) {
    const int64_t m = curves->m, t = curves->t, k = curves->k;
    for (int64_t s = 0; s < k; s++)
        for (int64_t j = 0; j < count; j++)
            Q[j * k + s] = U[j * k + s] = curves->columns[s * m + first + j];
    if (curves->start != NULL) {
        const double *start = curves->start + first;
        leave_out(count, k, 0, start, 1, start, 1.0 - dot(start, start, count), U, shares);
    }
    for (int64_t s = 0; s < k; s++) {
        const double left = 1.0 - strided_dot(Q + s, k, U + s, k, count);
        if (!(left > NOTHING_LEFT)) { /* nor have later models a loss */
            for (int64_t l = s * t; l < k * t; l++) curves->sums[l] = NAN;
            return;
        }
        leave_out(count, k, s + 1, Q + s, k, U + s, left, U, shares);
        for (int64_t l = 0; l < t; l++) {
            double *errors = curves->errors + l * m + first, sum = 0.0;
            const double inner = strided_dot(Q + s, k, errors, 1, count);
            const double rho = (curves->steps[s * t + l] - inner) / left;
            for (int64_t j = 0; j < count; j++) {
                errors[j] -= rho * U[j * k + s];
                sum += errors[j] * errors[j];
            }
            curves->sums[s * t + l] += sum;
            if (curves->kept != NULL)
                memcpy(curves->kept + (s * t + l) * m + first, errors, (size_t)count * sizeof(double));
        }
    }
}

static int curve(const FoldCurves *curves) {
    int64_t longest = 0;
    for (int64_t q = 0; q < curves->n_folds; q++) {
        const int64_t count = curves->starts[q + 1] - curves->starts[q];
        longest = count > longest ? count : longest;
    }
    const int64_t size = longest * curves->k;
    double *work = malloc((size_t)(2 * size + curves->k + 1) * sizeof(double));
    if (work == NULL) return NO_MEMORY;
    for (int64_t q = 0; q < curves->n_folds; q++) {
        const int64_t first = curves->starts[q];
        curve_of_fold(curves, first, curves->starts[q + 1] - first, work, work + size, work + 2 * size);
    }
    free(work);
    return TAKEN;
}

const FoldVariant NAME_IN(VARIANT, folds) = {QUOTED(VARIANT), choose, add, curve};
