/* Searches by bounds in feature space. */
#ifndef GREEDYRLS_BOUNDED_H
#define GREEDYRLS_BOUNDED_H

#include "bounds.h"

/* The columns of a few candidates, at once: one that is gathered may take the position of another. */
static void columns_of(Search *search, const int64_t *indices, int64_t count, const double **x) {
    int is_settled = 0;
    for (int64_t c = 0; c < GROUP; c++) x[c] = NULL;
    while (!is_settled) {
        is_settled = 1;
        for (int64_t c = 0; c < GROUP; c++) {
            const double *column = column_of(search, indices[c < count ? c : 0]);
            is_settled = is_settled && x[c] == column;
            x[c] = column;
        }
    }
}

/* z = x_i − X_S β of a few candidates, (GROUP × ld); beta is (|S| × GROUP). */
static void residuals(Search *search, const int64_t *indices, int64_t count, const double *beta,
                      double *out) {
    const int64_t s = search->size, ld = search->rows->ld;
    const double *x[GROUP];
    columns_of(search, indices, count, x);
    const double *first = s ? chosen_column(search, 0) : NULL;
    const int64_t stride = search->columns == NULL ? 0 : ld; /* 0: columns lie anywhere */
    /* Two vectors of rows at a time: each difference waits for the one before. */
    for (int64_t j = 0; j < ld; j += 2 * WIDTH) {
        const int64_t l = j + WIDTH < ld ? j + WIDTH : j;
        Vector z[GROUP], other[GROUP];
        for (int c = 0; c < GROUP; c++) z[c] = AT(x[c] + j), other[c] = AT(x[c] + l);
        for (int64_t k = 0; k < s; k++) {
            const double *chosen = stride ? first + k * stride : chosen_column(search, k);
            const double *b = beta + k * GROUP;
            for (int c = 0; c < GROUP; c++) z[c] -= b[c] * AT(chosen + j), other[c] -= b[c] * AT(chosen + l);
        }
        for (int c = 0; c < GROUP; c++)
            *(Vector *)(out + c * ld + j) = z[c], *(Vector *)(out + c * ld + l) = other[c];
    }
}

/* z of a candidate that was scored lately, brought up to the current model; NULL if it was not. */
static double *cached_z(Search *search, int64_t i) {
    const int64_t n = search->rows->n, ld = search->rows->ld, slot = search->slot_of[i];
    if (slot < 0 || search->slot_feature[slot] != i) return NULL;
    double *RESTRICT z = search->cached + slot * ld;
    for (int64_t u = search->slot_size[slot]; u < search->size; u++) {
        const double slope = search->L[u * n + i] / sqrt(search->pivots[u]);
        const double *RESTRICT chosen = search->chosen_z + u * ld;
        for (int64_t j = 0; j < ld; j++) z[j] -= slope * chosen[j];
    }
    search->slot_size[slot] = search->size;
    return z;
}

/* Whether z of a group that is scored now is at a position in memory. */
static int is_in_use(double *const *z, int64_t count, const double *position) {
    for (int64_t c = 0; c < count; c++)
        if (z[c] == position) return 1;
    return 0;
}

/* A slot for z of a candidate: the one that was filled longest ago, but for those of its group. */
static double *new_slot(Search *search, int64_t i, double *const *z, int64_t count) {
    const int64_t ld = search->rows->ld;
    int64_t slot;
    do slot = search->n_filled++ % search->n_slots;
    while (is_in_use(z, count, search->cached + slot * ld));
    search->slot_feature[slot] = i;
    search->slot_size[slot] = search->size;
    search->slot_of[i] = slot;
    return search->cached + slot * ld;
}

/* z of a few candidates, from their slots or from the columns: valid until others are asked for. */
static void take_z(Search *search, const int64_t *indices, int64_t count, double **z, double *work) {
    const int64_t s = search->size, ld = search->rows->ld, capacity = search->capacity;
    double *Z = work, *beta = Z + GROUP * ld, *transposed = beta + capacity;
    int64_t missing[GROUP], places[GROUP], n_missing = 0;
    for (int64_t c = 0; c < count; c++) {
        z[c] = cached_z(search, indices[c]);
        if (z[c] == NULL) places[n_missing] = c, missing[n_missing++] = indices[c];
    }
    if (!n_missing) return;
    for (int64_t c = 0; c < GROUP; c++) {
        if (c < n_missing) coefficients(search, missing[c], beta);
        if (c < n_missing) check_centre(search, missing[c], beta);
        for (int64_t k = 0; k < s; k++) transposed[k * GROUP + c] = c < n_missing ? beta[k] : 0.0;
    }
    residuals(search, missing, n_missing, transposed, Z);
    for (int64_t c = 0; c < n_missing; c++) {
        double *slot = new_slot(search, missing[c], z, count);
        memcpy(slot, Z + c * ld, (size_t)ld * sizeof(double));
        z[places[c]] = slot;
    }
}

static int score_group(Search *search, Scored *scored, const int64_t *indices, int64_t count,
                       double *work) {
    const Rows *rows = search->rows;
    const int64_t n = rows->n, ld = rows->ld, t = rows->t;
    double *rho = work, *by_target = rho + t, *z[GROUP];
    Best measured = best_in(search, by_target + t);
    take_z(search, indices, count, z, by_target + t + BEST_SIZE(search));
    for (int64_t c = 0; c < count; c++) {
        const int64_t i = indices[c];
        double delta = search->delta[i];
        const double scale = scale_of(search, i);
        double lost = scale / delta;
        if (is_nearly_spanned(search, i, scale)) search->is_lost = 1;
        const double growth = growth_of_pivot(search, i, delta);
        for (int64_t k = 0; k < t; k++) rho[k] = search->tau[k * n + i] / delta;
        if (delta < REFINED_PIVOT * scale) { /* the recurrences have lost its pivot */
            coefficients(search, i, measured.beta);
            measure(search, i, &measured);
            memcpy(z[c], measured.z, (size_t)ld * sizeof(double));
            memcpy(rho, measured.rho, (size_t)t * sizeof(double));
            delta = measured.delta, lost = sqrt(scale / delta);
        }
        if (search->fourth != NULL) remember_spread(search, i, z[c]);
        double loss = loo_sums(search, z[c], delta, rho, by_target);
        search->n_evaluations++;
        if (!(loss < INFINITY)) loss = INFINITY;
        const double tolerance = loss < INFINITY ? tolerance_of(search, loss, by_target) : 0.0;
        if (has_kernel(search)) lost = scale / delta + search->lost;
        const double unknown = unknown_of(search, growth, loss);
        const double rounding = rounding_of(search, lost, loss, tolerance) + unknown;
        if (!remember(scored, i, loss, tolerance, rounding, unknown)) return 0;
    }
    return 1;
}

/* Score candidates in the order given, a group at a time, until the bound of one is too high. */
static double score_in_order(Search *search, Scored *scored, const int64_t *indices, int64_t count,
                             double limit, double *work, int *is_whole) {
    double *bounds = search->bounds;
    const double margin = MARGIN * search->total;
    for (int64_t first = 0; *is_whole && first < count; first += GROUP) {
        if (bounds[indices[first]] > limit) break;
        const int64_t group = first + GROUP < count ? GROUP : count - first;
        *is_whole = score_group(search, scored, indices + first, group, work);
        for (int64_t k = 0; k < group; k++) bounds[indices[first + k]] = INFINITY;
        limit = limit_of(scored) + margin;
    }
    return limit;
}

/* A feature as it is to be added: measured on the rows, and refined if little is left of it. */
static void take_bounded(Search *search, int64_t index, Best *best, double *work) {
    const double limit = REFINED_PIVOT * scale_of(search, index);
    const double *z = search->delta[index] < limit ? NULL : cached_z(search, index);
    coefficients(search, index, best->beta);
    if (z != NULL) {
        memcpy(best->z, z, (size_t)search->rows->ld * sizeof(double));
        measure_z(search, index, best);
    } else measure(search, index, best);
    if (search->size && best->delta < limit) {
        if (z != NULL) measure(search, index, best);
        refine(search, index, best, work);
    }
    if (search->fourth != NULL) remember_spread(search, index, best->z);
}

/* l = (x_b·x_i − Σ_u L_ub L_ui)/√δ of the features of a tile, and q·z_i likewise. Four rows of L at a
 * time: to read and write l and q takes as long as two of them. */
static void factor_tile(const Search *search, const double *column, double inverse,
                        const double *on_chosen, const double *both, int64_t first, int64_t count,
                        double *RESTRICT l, double *RESTRICT q) {
    const int64_t s = search->size, n = search->rows->n;
    const double *RESTRICT row = search->L + first;
    for (int64_t i = 0; i < count; i++) l[i] = q[i] = column[first + i] * inverse;
    int64_t u = 0;
    for (; u + 4 <= s; u += 4, row += 4 * n) {
        const double *a = on_chosen + u, *b = both + u;
        const double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
        const double b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
        const double *RESTRICT x0 = row, *RESTRICT x1 = row + n;
        const double *RESTRICT x2 = row + 2 * n, *RESTRICT x3 = row + 3 * n;
        SIMD()
        for (int64_t i = 0; i < count; i++) {
            l[i] -= (a0 * x0[i] + a1 * x1[i]) + (a2 * x2[i] + a3 * x3[i]);
            q[i] -= (b0 * x0[i] + b1 * x1[i]) + (b2 * x2[i] + b3 * x3[i]);
        }
    }
    for (; u < s; u++, row += n) {
        const double a = on_chosen[u], b = both[u];
        SIMD()
        for (int64_t i = 0; i < count; i++) l[i] -= a * row[i], q[i] -= b * row[i];
    }
}

/* δ, ‖z‖², τ, r·z and a·z of the features of a tile. */
static void follow_tile(Search *search, const Best *best, const double *along, int64_t first,
                        int64_t count, const double *RESTRICT l, const double *RESTRICT q) {
    const int64_t n = search->rows->n;
    const double root = sqrt(best->delta), q_q = best->norm / best->delta;
    const double least = has_kernel(search) ? 0.0 : search->alpha;
    double *RESTRICT deltas = search->delta + first, *RESTRICT norms = search->norms + first;
    SIMD()
    for (int64_t i = 0; i < count; i++) {
        const double pivot = deltas[i] - l[i] * l[i], left = norms[i] + l[i] * (q_q * l[i] - 2.0 * q[i]);
        deltas[i] = pivot > least ? pivot : least;
        norms[i] = left > 0.0 ? left : 0.0;
    }
    for (int64_t k = 0; k < search->rows->t; k++) {
        const double step = best->rho[k] * root, slope = best->inner[k] / root - step * q_q;
        const double part = along[k] * root;
        double *RESTRICT tau = search->tau + k * n + first, *RESTRICT inner = search->inner + k * n + first;
        SIMD()
        for (int64_t i = 0; i < count; i++) {
            tau[i] -= step * l[i];
            inner[i] -= slope * l[i] + step * q[i];
        }
        if (search->has_anchor) {
            double *RESTRICT anchored = search->anchored + k * n + first;
            SIMD()
            for (int64_t i = 0; i < count; i++) anchored[i] -= part * q[i];
        }
    }
}

/* A feature that is added, for what is left of the others. */
typedef struct {
    Search *search;
    const Best *best;
    const double *column, *on_chosen, *both, *overlap, *along;
    int64_t index;
    double root, *l, *q;
} Added;

static void follow_share(void *context, int64_t share) {
    const Added *added = context;
    Search *search = added->search;
    const int64_t n = search->rows->n, end = (share + 1) * SHARE < n ? (share + 1) * SHARE : n;
    for (int64_t first = share * SHARE; first < end; first += TILE) {
        const int64_t count = first + TILE < end ? TILE : end - first;
        double *l = added->l + first, *q = added->q + first;
        if (has_kernel(search))
            factor_kernel_tile(search, added->column, 1.0 / added->root, added->on_chosen,
                               added->overlap, first, count, l, q);
        else
            factor_tile(search, added->column, 1.0 / added->root, added->on_chosen, added->both, first,
                        count, l, q);
        if (added->index >= first && added->index < first + count) added->l[added->index] = added->root;
        follow_tile(search, added->best, added->along, first, count, l, q);
    }
}

/* Both spaces with a feature added, whose pivot was measured on the rows. */
static int add_bounded(Search *search, int64_t index, const Best *best, double *work) {
    const Rows *rows = search->rows;
    const int64_t s = search->size, n = rows->n, t = rows->t, capacity = search->capacity;
    const double *column = COLUMN(rows->gram, index), delta = best->delta, root = sqrt(delta);
    double *on_chosen = work, *both = on_chosen + capacity, *overlap = both + capacity;
    double *along = overlap + capacity;
    for (int64_t u = 0; u < s; u++) on_chosen[u] = search->L[u * n + index] / root;
    for (int64_t u = 0; u < s; u++) {
        /* x_b·q_u is an entry of the factor where the penalty is αI. */
        const double on_q = has_kernel(search) ? search->V[u * n + index] / root : on_chosen[u];
        overlap[u] = on_q - dot(search->overlap + u * capacity, on_chosen, s);
        both[u] = on_chosen[u] + overlap[u];
    }
    for (int64_t k = 0; k < t; k++)
        along[k] = !search->has_anchor || !(best->norm > 0.0) ? 0.0 : search->anchored[k * n + index] / best->norm;
    move_rows(search, best->z, delta, best->rho, along);
    double *l = search->L + s * n, *q = search->bounds;
    if (has_kernel(search)) keep_penalty(search, index, delta);
    Added added = {search, best, column, on_chosen, both, overlap, along, index, root, l, q};
    over_features(search, follow_share, &added);
    if (search->fourth != NULL) follow_spread(search, index, l, best);
    for (int64_t u = 0; u < s; u++)
        search->overlap[s * capacity + u] = search->overlap[u * capacity + s] = overlap[u];
    search->overlap[s * capacity + s] = best->norm / delta;
    add_coefficients(search, best);
    search->pivots[s] = delta;
    memcpy(search->chosen_z + s * rows->ld, best->z, (size_t)rows->ld * sizeof(double));
    keep_column(search, index, column);
    if (has_kernel(search)) bar_spanned(search);
    search->size++;
    search->is_anchor_fresh = search->is_decided = 0;
    measure_model(search);
    return TAKEN;
}

/* Whether a candidate is still to be scored: +inf are those that were, or are none, and the limit is
 * +inf where there are not as many as are wanted. */
static int is_open(double bound, double limit) {
    return bound < INFINITY && bound <= limit;
}

/* Add the best candidate, unless its Gram column is missing, or rounding may decide. */
static int take_best(Search *search, int64_t index, Best *taken, double *work) {
    if (COLUMN(search->rows->gram, index) == NULL) return NEEDS_COLUMN;
    take_bounded(search, index, taken, work);
    if (!is_safe(search, index, taken->z, taken->delta)) return IN_DOUBT;
    return add_bounded(search, index, taken, work);
}

/* A step that waited for a Gram column is not decided again. */
static int has_decided(const Search *search, int64_t count, int64_t *best, double *losses) {
    if (!search->is_decided || search->decided_count != count) return 0;
    memcpy(best, search->decided, (size_t)count * sizeof(int64_t));
    memcpy(losses, search->decided_losses, (size_t)count * sizeof(double));
    return 1;
}

static void note_decided(Search *search, int64_t count, const int64_t *best, const double *losses) {
    search->is_decided = 1, search->decided_count = count;
    memcpy(search->decided, best, (size_t)count * sizeof(int64_t));
    memcpy(search->decided_losses, losses, (size_t)count * sizeof(double));
}

/* Candidates without a Gram column that are likely wanted next: those of least loss, then of lowest bound. */
static void rank_ahead(Search *search, const Scored *scored, int64_t count, const int64_t *best) {
    int64_t order[MOST_AHEAD];
    search->ahead[0] = best[0], search->n_ahead = 1; /* which the step waits for */
    for (int64_t k = 1; k < count && best[k] >= 0; k++)
        if (COLUMN(search->rows->gram, best[k]) == NULL) search->ahead[search->n_ahead++] = best[k];
    int64_t found = lowest_among(scored->loss, NULL, scored->count, MOST_AHEAD, order);
    for (int64_t k = 0; k < found && search->n_ahead < MOST_AHEAD; k++)
        if (COLUMN(search->rows->gram, scored->index[order[k]]) == NULL)
            search->ahead[search->n_ahead++] = scored->index[order[k]];
    found = lowest_among(search->bounds, NULL, search->rows->n, MOST_AHEAD, order);
    for (int64_t k = 0; k < found && search->n_ahead < MOST_AHEAD; k++)
        if (COLUMN(search->rows->gram, order[k]) == NULL) search->ahead[search->n_ahead++] = order[k];
}

static int step_bounded(Search *search, int64_t n_runners_up, int64_t *best, double *losses,
                        double *work) {
    const Rows *rows = search->rows;
    const int64_t n = rows->n, count = n_runners_up + 1;
    Scored scored = nothing_scored(count);
    Best taken = best_in(search, work);
    work += BEST_SIZE(search);
    if (has_decided(search, count, best, losses)) return take_best(search, best[0], &taken, work);
    bound_all(search);
    double *bounds = search->bounds;
    int64_t indices[MOST_ORDERED], positions[MOST_RUNNERS_UP + 1];
    int64_t found = lowest_among(bounds, NULL, n, count > FIRST ? count : FIRST, indices);
    int is_whole = found > 0, result = IN_DOUBT;
    double limit = score_in_order(search, &scored, indices, found, INFINITY, work, &is_whole);
    int64_t n_open = 0, n_doubtful = 0;
    for (int64_t first = 0; first < n; first += FEW) {
        const int64_t end = first + FEW < n ? first + FEW : n;
        if (!is_open(lowest_of(bounds + first, end - first), limit)) continue;
        for (int64_t i = first; i < end; i++) {
            if (!is_open(bounds[i], limit)) continue;
            bounds[i] += growth_of(search, i);
            if (bounds[i] > limit) continue;
            search->open[n_open++] = i;
            n_doubtful += bounds[i] + slack_of(search, i) > limit;
        }
    }
    const int64_t many = n / ANCHOR_SHARE > 16 ? n / ANCHOR_SHARE : 16;
    if (is_whole && n_doubtful > many && !search->is_anchor_fresh) {
        best[0] = least_of(&scored);
        forget(&scored);
        return NEEDS_ANCHOR;
    }
    while (is_whole && n_open > 0) {
        /* The lowest of those that are left; then those that the new limit leaves. */
        found = lowest_among(bounds, search->open, n_open, MOST_ORDERED, indices);
        limit = score_in_order(search, &scored, indices, found, limit, work, &is_whole);
        int64_t left = 0;
        for (int64_t k = 0; k < n_open; k++)
            if (is_open(bounds[search->open[k]], limit)) search->open[left++] = search->open[k];
        n_open = left;
    }
    const int64_t wanted = count < scored.count ? count : scored.count;
    if (is_whole && !search->is_lost && wanted) result = best_of(&scored, wanted, positions);
    if (result == TAKEN && !are_known(search, &scored, positions, wanted)) result = LOST;
    if (result == TAKEN) {
        const int64_t index = scored.index[positions[0]];
        for (int64_t k = 0; k < count; k++) {
            best[k] = k < wanted ? scored.index[positions[k]] : -1;
            losses[k] = k < wanted ? scored.taken[k] : NAN;
        }
        result = take_best(search, index, &taken, work);
        if (result == NEEDS_COLUMN) {
            note_decided(search, count, best, losses);
            rank_ahead(search, &scored, count, best);
        }
    }
    forget(&scored);
    return result;
}

#endif
