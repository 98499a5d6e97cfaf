/* Searches by bounds in feature space. */
#ifndef GREEDYRLS_BOUNDED_H
#define GREEDYRLS_BOUNDED_H

#include "choice.h"

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
    for (int64_t j = 0; j < ld; j += WIDTH) {
        Vector z0 = AT(x[0] + j), z1 = AT(x[1] + j), z2 = AT(x[2] + j), z3 = AT(x[3] + j);
        for (int64_t k = 0; k < s; k++) {
            const Vector chosen = AT((stride ? first + k * stride : chosen_column(search, k)) + j);
            const double *b = beta + k * GROUP;
            z0 -= b[0] * chosen, z1 -= b[1] * chosen, z2 -= b[2] * chosen, z3 -= b[3] * chosen;
        }
        *(Vector *)(out + j) = z0;
        *(Vector *)(out + ld + j) = z1;
        *(Vector *)(out + 2 * ld + j) = z2;
        *(Vector *)(out + 3 * ld + j) = z3;
    }
}

/* Bounds of all candidates from vectors of n numbers; +inf for other features. */
static void bound_all(Search *search) {
    const Rows *rows = search->rows;
    const int64_t n = rows->n, t = rows->t;
    const double *sums = search->sums, largest = sums[6 * t + 2];
    const double shrink = 1.0 / (largest * largest);
    double *RESTRICT bounds = search->bounds;
    const double *RESTRICT delta = search->delta, *RESTRICT norms = search->norms;
    for (int64_t i = 0; i < n; i++) bounds[i] = search->total;
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
        const double least = SUM_ROUNDING * g_g, distance = sqrt(square > least ? square : least);
        search->distances[k] = distance;
        const double *RESTRICT tau = search->tau + k * n, *RESTRICT inner = search->inner + k * n;
        const double *RESTRICT anchored =
            !search->has_anchor ? inner : search->anchored + k * n;
        SIMD()
        for (int64_t i = 0; i < n; i++) {
            const double rho = tau[i] / delta[i], size = fabs(rho) * sqrt(norms[i]);
            bounds[i] -= 2.0 * rho * (c1 * inner[i] + c2 * anchored[i]) +
                         size * (2.0 * distance - size * shrink);
        }
    }
    /* Centres whose pivots are mostly rounding are no candidates, and so need no other limit. */
    const double trusted = has_kernel(search) ? 0.0 : TRUSTED_PIVOT;
    const double *RESTRICT diagonal = rows->diagonal, alpha = search->alpha;
    const unsigned char *RESTRICT barred = search->barred;
    SIMD()
    for (int64_t i = 0; i < n; i++) {
        const int is_trusted = (delta[i] >= trusted * (diagonal[i] + alpha)) & !isnan(bounds[i]);
        const double bound = is_trusted ? bounds[i] : -INFINITY;
        bounds[i] = barred[i] ? INFINITY : bound;
    }
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
        for (int64_t k = 0; k < t; k++) rho[k] = search->tau[k * n + i] / delta;
        if (delta < TRUSTED_PIVOT * scale) { /* the recurrences have lost its pivot */
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
        const double rounding = rounding_of(search, lost, loss, tolerance);
        if (!remember(scored, i, loss, tolerance, rounding)) return 0;
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

/* Both spaces with a feature added, whose pivot was measured on the rows. */
static int add_bounded(Search *search, int64_t index, const Best *best, double *work) {
    const Rows *rows = search->rows;
    const int64_t s = search->size, n = rows->n, t = rows->t, capacity = search->capacity;
    const double *column = rows->gram[index], delta = best->delta, root = sqrt(delta);
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
    for (int64_t first = 0; first < n; first += TILE) {
        const int64_t count = first + TILE < n ? TILE : n - first;
        if (has_kernel(search))
            factor_kernel_tile(search, column, 1.0 / root, on_chosen, overlap, first, count, l + first,
                               q + first);
        else factor_tile(search, column, 1.0 / root, on_chosen, both, first, count, l + first, q + first);
        if (index >= first && index < first + count) l[index] = root;
        follow_tile(search, best, along, first, count, l + first, q + first);
    }
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
    if (search->rows->gram[index] == NULL) return NEEDS_COLUMN;
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
    int64_t indices[MOST_RUNNERS_UP + 1 + FIRST], positions[MOST_RUNNERS_UP + 1];
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
        found = lowest_among(bounds, search->open, n_open, 2 * GROUP, indices);
        limit = score_in_order(search, &scored, indices, found, limit, work, &is_whole);
        int64_t left = 0;
        for (int64_t k = 0; k < n_open; k++)
            if (is_open(bounds[search->open[k]], limit)) search->open[left++] = search->open[k];
        n_open = left;
    }
    const int64_t wanted = count < scored.count ? count : scored.count;
    if (is_whole && !search->is_lost && wanted && best_of(&scored, wanted, positions)) {
        const int64_t index = scored.index[positions[0]];
        for (int64_t k = 0; k < count; k++) {
            best[k] = k < wanted ? scored.index[positions[k]] : -1;
            losses[k] = k < wanted ? scored.taken[k] : NAN;
        }
        result = take_best(search, index, &taken, work);
        if (result == NEEDS_COLUMN) note_decided(search, count, best, losses);
    }
    forget(&scored);
    return result;
}

#endif
