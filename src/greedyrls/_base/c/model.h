/* The current model: its rows, its coefficients, and a feature that is to be added. */
#ifndef GREEDYRLS_MODEL_H
#define GREEDYRLS_MODEL_H

#include "columns.h"

static void measure_model(Search *search) {
    const Rows *rows = search->rows;
    const int64_t t = rows->t, ld = rows->ld, m = rows->m;
    const double *RESTRICT d = search->d, *RESTRICT w = rows->weights;
    double *RESTRICT omega = search->omega, *RESTRICT losses = search->scratch;
    double *sums = search->sums, largest = -INFINITY, smallest = INFINITY;
    for (int64_t j = 0; j < ld; j++) omega[j] = 1.0 / (d[j] * d[j]), losses[j] = 0.0;
    SIMD(reduction(max : largest) reduction(min : smallest))
    for (int64_t j = 0; j < m; j++) {
        largest = d[j] > largest ? d[j] : largest;
        smallest = d[j] < smallest ? d[j] : smallest;
    }
    search->total = 0.0;
    for (int64_t k = 0; k < t; k++) {
        const double *RESTRICT r = search->r + k * ld;
        double *RESTRICT g = search->g + k * ld;
        double r_r = 0.0, g_r = 0.0, g_g = 0.0;
        SIMD(reduction(+ : r_r, g_r, g_g))
        for (int64_t j = 0; j < ld; j++) {
            g[j] = omega[j] * r[j];
            losses[j] += g[j] * r[j];
            r_r += r[j] * r[j];
            g_r += g[j] * r[j];
            g_g += g[j] * g[j];
        }
        sums[k] = r_r, sums[t + k] = g_r, sums[2 * t + k] = g_g;
        sums[3 * t + k] = sums[4 * t + k] = sums[5 * t + k] = 0.0;
        search->total += g_r;
        if (search->has_anchor) {
            const double *a = search->anchor + k * ld;
            sums[3 * t + k] = dot(a, r, ld);
            sums[4 * t + k] = dot(a, g, ld);
            sums[5 * t + k] = dot(a, a, ld);
        }
    }
    double squares = 0.0, weighted = 0.0;
    SIMD(reduction(+ : squares, weighted))
    for (int64_t j = 0; j < ld; j++) {
        const double loss = losses[j] / (double)t;
        squares += loss * loss;
        weighted += loss * w[j];
    }
    sums[6 * t] = squares, sums[6 * t + 1] = weighted;
    sums[6 * t + 2] = largest, sums[6 * t + 3] = smallest;
}

/* r ← r − z ρ, d ← d − z²/δ, a ← a − z (a·z)/‖z‖². */
static void move_rows(Search *search, const double *RESTRICT z, double delta, const double *rho,
                      const double *along) {
    const int64_t ld = search->rows->ld;
    double *RESTRICT d = search->d;
    const double inverse = 1.0 / delta;
    for (int64_t j = 0; j < ld; j++) d[j] -= z[j] * z[j] * inverse;
    for (int64_t k = 0; k < search->rows->t; k++) {
        double *RESTRICT r = search->r + k * ld;
        const double step = rho[k];
        for (int64_t j = 0; j < ld; j++) r[j] -= step * z[j];
        if (search->has_anchor) {
            double *RESTRICT a = search->anchor + k * ld;
            const double part = along[k];
            for (int64_t j = 0; j < ld; j++) a[j] -= part * z[j];
        }
    }
}

/* The chosen column and its products with the others, from its Gram column if there is one. */
static void keep_column(Search *search, int64_t index, const double *products) {
    const int64_t s = search->size, ld = search->rows->ld, capacity = search->capacity;
    const double *column = column_of(search, index);
    if (search->columns != NULL)
        memcpy(search->columns + s * ld, column, (size_t)ld * sizeof(double));
    for (int64_t k = 0; k < s; k++)
        search->gram[s * capacity + k] = search->gram[k * capacity + s] =
            products != NULL ? products[search->chosen[k]]
                             : dot(column, chosen_column(search, k), ld);
    search->gram[s * capacity + s] = search->rows->diagonal[index];
    search->chosen[s] = index;
    search->n_left -= !search->barred[index];
    search->barred[index] = 1;
}

/* Rounding of a leave-one-out sum. z is known to Z_ROUNDING of ‖x‖, that is √growth times as much of
 * ‖z‖; so are r, relative to y, and 1 − h: e = r/(1 − h) is known to as much of (|y| + |e|)/(1 − h).
 * `steepness` is Σ (e/(1 − h))². */
static double rounding_of_sum(const Search *search, double growth, double steepness, double total) {
    double energy = 0.0;
    for (int64_t k = 0; k < search->rows->t; k++) energy += search->rows->energy[k];
    return Z_ROUNDING * sqrt(growth * steepness) * (sqrt(energy) + sqrt(total));
}

/* Whether a loss is known to a share of itself, or of that without features. */
static int is_known(const Search *search, double rounding, double total, double share) {
    const double scale = total > search->initial_total ? total : search->initial_total;
    return rounding <= share * scale;
}

/* The same for the current model, after a feature was added or removed. */
static int is_model_known(const Search *search) {
    double steepness = 0.0;
    for (int64_t k = 0; k < search->rows->t; k++) steepness += search->sums[2 * search->rows->t + k];
    const double rounding = rounding_of_sum(search, search->growth, steepness, search->total);
    return is_known(search, rounding, search->total, KNOWN_LOSS);
}

/* A_ii/δ_i of a feature, with what a mean far from the origin costs it. */
static double growth_of_pivot(const Search *search, int64_t i, double delta) {
    const double mean = search->rows->means == NULL ? 0.0 : search->rows->means[i];
    const double far = FAR_ROUNDING * search->total_weight * mean * mean;
    return (scale_of(search, i) + far) / delta;
}

static void note_growth(Search *search, double growth) {
    if (!(growth <= search->growth)) search->growth = growth;
}

/* The leave-one-out sum of each target with a candidate added; their sum. */
static double loo_sums(Search *search, const double *RESTRICT z, double delta,
                       const double *rho, double *by_target) {
    const int64_t t = search->rows->t, ld = search->rows->ld;
    const double *RESTRICT d = search->d, inverse = 1.0 / delta;
    double total = 0.0, smallest = INFINITY, steepness = 0.0;
    if (t == 1) {
        const double *RESTRICT r = search->r;
        const double step = rho[0];
        SIMD(reduction(+ : total, steepness) reduction(min : smallest))
        for (int64_t j = 0; j < ld; j++) {
            const double left = d[j] - z[j] * z[j] * inverse, shrunk = 1.0 / left;
            const double error = (r[j] - step * z[j]) * shrunk, slope = error * shrunk;
            smallest = left < smallest ? left : smallest;
            total += error * error;
            steepness += slope * slope;
        }
        search->smallest_left = smallest;
        search->steepness = steepness;
        by_target[0] = total;
        return total;
    }
    double *RESTRICT shrunk = search->scratch + 3 * ld;
    for (int64_t j = 0; j < ld; j++) {
        const double left = d[j] - z[j] * z[j] * inverse;
        smallest = left < smallest ? left : smallest;
        shrunk[j] = 1.0 / (left * left);
    }
    search->smallest_left = smallest;
    for (int64_t k = 0; k < t; k++) {
        const double *RESTRICT r = search->r + k * ld;
        const double step = rho[k];
        double sum = 0.0;
        SIMD(reduction(+ : sum, steepness))
        for (int64_t j = 0; j < ld; j++) {
            const double error = r[j] - step * z[j], square = error * error * shrunk[j];
            sum += square;
            steepness += square * shrunk[j];
        }
        by_target[k] = sum;
        total += sum;
    }
    search->steepness = steepness;
    return total;
}

/* l_u of a candidate: its entry in the factor. */
static double factor_of(const Search *search, int64_t u, int64_t i) {
    if (search->keeps_z)
        return search->c[i * search->capacity + u] / sqrt(search->pivots[u]);
    return search->L[u * search->rows->n + i];
}

/* β = L⁻ᵀ l, (|S|). */
static void coefficients(const Search *search, int64_t i, double *RESTRICT beta) {
    const int64_t s = search->size, capacity = search->capacity;
    for (int64_t k = 0; k < s; k++) beta[k] = 0.0;
    for (int64_t u = 0; u < s; u++) {
        const double l = factor_of(search, u, i);
        const double *RESTRICT row = search->inverse + u * capacity;
        for (int64_t k = 0; k <= u; k++) beta[k] += row[k] * l;
    }
}

/* A feature to add: its loss, pivot and direction. */
typedef struct {
    double loss, delta, norm;
    double *z, *beta, *rho, *inner; /* (ld), (capacity), (t), (t) */
} Best;

#define BEST_SIZE(search) ((search)->rows->ld + (search)->capacity + 2 * (search)->rows->t)

static Best best_in(const Search *search, double *work) {
    const int64_t ld = search->rows->ld, t = search->rows->t, capacity = search->capacity;
    double *rho = work + ld + capacity;
    const Best best = {INFINITY, 0.0, 0.0, work, work + ld, rho, rho + t};
    return best;
}

/* ‖z‖², δ, r·z and ρ of a feature from its coefficients and z. */
static void measure_z(Search *search, int64_t index, Best *best) {
    const int64_t s = search->size, ld = search->rows->ld, t = search->rows->t;
    const double *z = best->z, *shrunk = best->beta;
    double alpha = search->alpha, *pulled = search->scratch + 4 * ld;
    best->norm = dot(z, z, ld);
    if (has_kernel(search)) {
        pull(search, index, best->beta, pulled);
        best->delta = best->norm + function_norm(search, index, best->beta, pulled);
        shrunk = pulled, alpha = 1.0;
    } else best->delta = best->norm + alpha * (1.0 + dot(best->beta, best->beta, s));
    for (int64_t k = 0; k < t; k++) {
        double shrinkage = 0.0;
        for (int64_t u = 0; u < s; u++) shrinkage += search->weights[u * t + k] * shrunk[u];
        best->inner[k] = dot(search->r + k * ld, z, ld);
        best->rho[k] = (best->inner[k] + alpha * shrinkage) / best->delta;
    }
}

/* The same with z. */
static void measure(Search *search, int64_t index, Best *best) {
    const int64_t s = search->size, ld = search->rows->ld;
    double *RESTRICT z = best->z;
    memcpy(z, column_of(search, index), (size_t)ld * sizeof(double));
    for (int64_t u = 0; u < s; u++) {
        const double *RESTRICT x = chosen_column(search, u);
        const double slope = best->beta[u];
        for (int64_t j = 0; j < ld; j++) z[j] -= slope * x[j];
    }
    measure_z(search, index, best);
}

/* Refine β by the difference of X_S'z and P_SS β − P_Si, twice: z of a feature that the chosen ones nearly span
 * is mostly the error of β. `work` is (2 × capacity). */
static void refine(Search *search, int64_t index, Best *best, double *work) {
    const int64_t s = search->size, ld = search->rows->ld, capacity = search->capacity;
    double *wrong = work, *solved = work + capacity;
    for (int round = 0; round < 2; round++) {
        pull(search, index, best->beta, solved);
        for (int64_t u = 0; u < s; u++)
            wrong[u] = dot(chosen_column(search, u), best->z, ld) - solved[u];
        for (int64_t u = 0; u < s; u++)
            solved[u] = dot(search->inverse + u * capacity, wrong, u + 1);
        for (int64_t u = 0; u < s; u++)
            for (int64_t k = 0; k <= u; k++)
                best->beta[k] += search->inverse[u * capacity + k] * solved[u];
        measure(search, index, best);
    }
}

/* L⁻¹ and w with a feature added. */
static void add_coefficients(Search *search, const Best *best) {
    const int64_t s = search->size, t = search->rows->t, capacity = search->capacity;
    const double root = sqrt(best->delta);
    for (int64_t u = 0; u < s; u++) {
        search->inverse[s * capacity + u] = best->beta[u] / -root;
        for (int64_t k = 0; k < t; k++) search->weights[u * t + k] -= best->beta[u] * best->rho[k];
    }
    search->inverse[s * capacity + s] = 1.0 / root;
    for (int64_t k = 0; k < t; k++) search->weights[s * t + k] = best->rho[k];
}

#endif
