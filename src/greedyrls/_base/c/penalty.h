/* The penalty P of a search: αI, or α k(c_i, c_b) where the features are kernel functions k(·, c_i).
 *
 * With P = αI, x_i·q_s is an entry of the factor L for every candidate i. It is not for kernel functions,
 * so that V = X'Q is kept beside L (docs/theory.md, "Kernel centres"). No penalty keeps their pivots from
 * 0: a centre that the chosen ones span up to rounding is no candidate any more.
 */
#ifndef GREEDYRLS_PENALTY_H
#define GREEDYRLS_PENALTY_H

#include "common.h"

/* Of A_ii, as in `_features/_penalties.py`: the pivot of a centre that is spanned, the least pivot, and
 * the share of a squared norm below 0 that is no rounding. */
#define SPANNED 1e-8
#define LEAST_PIVOT 1e-16
#define NEGATIVE 1e-9
/* The recurrences know a pivot up to DRIFT_BOUND, and so not whether a centre so near to SPANNED is
 * spanned. */
#define NEAR_SPANNED (3.0 * DRIFT_BOUND / SPANNED)

static int has_kernel(const Search *search) {
    return search->rows->kernel_diagonal != NULL;
}

/* A_ii = ‖x_i‖² + P_ii. */
static double scale_of(const Search *search, int64_t i) {
    const Rows *rows = search->rows;
    if (rows->kernel_diagonal == NULL) return rows->diagonal[i] + search->alpha;
    return rows->diagonal[i] + search->alpha * rows->kernel_diagonal[i];
}

/* P_SS β − P_Si of a feature, (|S|). */
static void pull(const Search *search, int64_t index, const double *beta, double *pulled) {
    const int64_t s = search->size, capacity = search->capacity, n = search->rows->n;
    for (int64_t u = 0; u < s; u++)
        if (has_kernel(search))
            pulled[u] = dot(search->penalty + u * capacity, beta, s) - search->P[u * n + index];
        else pulled[u] = search->alpha * beta[u];
}

/* α ‖k(·, c_i) − Σ_u β_u k(·, c_u)‖² of a centre and its `pulled`; if that is below 0 by more than rounding,
 * the kernel is not positive semidefinite, and the general engine is to say so. */
static double function_norm(Search *search, int64_t index, const double *beta,
                            const double *pulled) {
    const int64_t s = search->size, capacity = search->capacity, n = search->rows->n;
    const double own = search->alpha * search->rows->kernel_diagonal[index];
    double norm = own;
    for (int64_t u = 0; u < s; u++) norm += beta[u] * (pulled[u] - search->P[u * n + index]);
    if (norm >= 0.0) return norm;
    double summands = own;
    for (int64_t u = 0; u < s; u++) {
        double sum = 2.0 * fabs(search->P[u * n + index]);
        for (int64_t v = 0; v < s; v++) sum += fabs(search->penalty[u * capacity + v] * beta[v]);
        summands += fabs(beta[u]) * sum;
    }
    if (!(norm >= -NEGATIVE * summands)) search->is_lost = 1;
    return 0.0;
}

/* A centre about to be scored, with its β: the step is in doubt if it shows that the kernel is not positive
 * semidefinite. */
static void check_centre(Search *search, int64_t index, const double *beta) {
    double *pulled = search->scratch + 4 * search->rows->ld;
    if (!has_kernel(search)) return;
    pull(search, index, beta, pulled);
    function_norm(search, index, beta, pulled);
}

/* Whether the recurrences do not know if a candidate is spanned. */
static int is_nearly_spanned(const Search *search, int64_t i, double scale) {
    return has_kernel(search) && search->delta[i] < (1.0 + NEAR_SPANNED) * SPANNED * scale;
}

/* P of a centre that is being added: its row for all candidates, and its entries of P_SS. */
static void keep_penalty(Search *search, int64_t index, double delta) {
    const int64_t s = search->size, n = search->rows->n, capacity = search->capacity;
    const double *RESTRICT kernel = COLUMN(search->rows->kernels, index), alpha = search->alpha;
    double *RESTRICT row = search->P + s * n;
    for (int64_t i = 0; i < n; i++) row[i] = alpha * kernel[i];
    row[index] = alpha * search->rows->kernel_diagonal[index];
    for (int64_t u = 0; u < s; u++)
        search->penalty[s * capacity + u] = search->penalty[u * capacity + s] = row[search->chosen[u]];
    search->penalty[s * capacity + s] = row[index];
    if (search->lost * delta < scale_of(search, index)) search->lost = scale_of(search, index) / delta;
}

/* Of the features of a tile l = (A_bi − Σ_u L_ub L_ui)/√δ, v = (x_b·x_i − Σ_u L_ub V_ui)/√δ and
 * q·z_i = v − Σ_u (q·q_u) L_ui, where A_bi = x_b·x_i + P_bi. */
static void factor_kernel_tile(Search *search, const double *column, double inverse,
                               const double *on_chosen, const double *overlap, int64_t first,
                               int64_t count, double *RESTRICT l, double *RESTRICT q) {
    const int64_t s = search->size, n = search->rows->n;
    const double *RESTRICT row = search->L + first, *RESTRICT other = search->V + first;
    const double *RESTRICT penalty = search->P + s * n + first;
    double *RESTRICT v = search->V + s * n + first;
    for (int64_t i = 0; i < count; i++) {
        l[i] = (column[first + i] + penalty[i]) * inverse;
        v[i] = column[first + i] * inverse;
        q[i] = 0.0;
    }
    int64_t u = 0;
    for (; u + 2 <= s; u += 2, row += 2 * n, other += 2 * n) {
        const double a0 = on_chosen[u], a1 = on_chosen[u + 1], b0 = overlap[u], b1 = overlap[u + 1];
        const double *RESTRICT x0 = row, *RESTRICT x1 = row + n;
        const double *RESTRICT y0 = other, *RESTRICT y1 = other + n;
        SIMD()
        for (int64_t i = 0; i < count; i++) {
            l[i] -= a0 * x0[i] + a1 * x1[i];
            v[i] -= a0 * y0[i] + a1 * y1[i];
            q[i] -= b0 * x0[i] + b1 * x1[i];
        }
    }
    for (; u < s; u++, row += n, other += n) {
        const double a = on_chosen[u], b = overlap[u];
        SIMD()
        for (int64_t i = 0; i < count; i++) {
            l[i] -= a * row[i];
            v[i] -= a * other[i];
            q[i] -= b * row[i];
        }
    }
    for (int64_t i = 0; i < count; i++) q[i] += v[i];
}

/* Candidates that the chosen centres span are none from now on; no pivot divides by 0. */
static void bar_spanned(Search *search) {
    const double limit = (1.0 - NEAR_SPANNED) * SPANNED;
    for (int64_t i = 0; i < search->rows->n; i++) {
        const double scale = scale_of(search, i), pivot = search->delta[i];
        if (pivot < LEAST_PIVOT * scale) search->delta[i] = LEAST_PIVOT * scale;
        if (pivot > limit * scale || search->barred[i]) continue;
        search->barred[i] = 1;
        search->n_left--;
    }
}

#endif
