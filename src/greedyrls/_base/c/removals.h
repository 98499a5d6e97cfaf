/* Removing chosen features from a search by bounds: the reverse of bounded.h.
 *
 * Of a chosen feature p the others leave z = X_S β, with β = A⁻¹e_p/(A⁻¹)_pp, δ = 1/(A⁻¹)_pp and
 * ρ = w_p. Without p the model has r + z ρ and d + z²/δ: what scores candidates to add scores removals
 * with the signs of δ and ρ reversed. */
#ifndef GREEDYRLS_REMOVALS_H
#define GREEDYRLS_REMOVALS_H

#include "bounded.h"

/* z of candidates is brought along if it is so many steps behind at most; others are forgotten. */
#define FOLLOWED 4
/* A removal costs digits as A_pp/δ and the smallest d say; another search starts after so many. */
#define MOST_WEAR 1e4

/* All removals from the current model. */
typedef struct {
    double *beta;   /* (|S| × capacity) β of each */
    double *delta;  /* (|S|) */
    double *bounds; /* (|S|) of the losses; +inf for features that stay */
    double lost;    /* the largest A_pp/δ: A⁻¹ has lost as many digits */
    double growth;  /* the same with means far from the origin */
} Removals;

static size_t removals_size(const Search *search) {
    const Rows *rows = search->rows;
    return (size_t)((search->size + 4) * search->capacity + (GROUP + 1) * rows->ld + 8 * rows->t);
}

/* β, δ and bounds: without p, ‖r‖² is r·r + ρ(2 r·z + ρ‖z‖²), where r·z = αw'β and ‖z‖² = δ − αβ'β, and
 * no d exceeds the largest one of the empty model. */
static Removals removals_of(Search *search, const unsigned char *stays, double largest, double *work) {
    const int64_t s = search->size, capacity = search->capacity, t = search->rows->t;
    Removals all = {work, work + s * capacity, work + (s + 1) * capacity, 0.0, 0.0};
    for (int64_t p = 0; p < s; p++) {
        double *RESTRICT beta = all.beta + p * capacity;
        double v = 0.0;
        for (int64_t k = 0; k < s; k++) beta[k] = 0.0;
        for (int64_t u = p; u < s; u++) {
            const double *RESTRICT row = search->inverse + u * capacity, entry = row[p];
            v += entry * entry;
            for (int64_t k = 0; k <= u; k++) beta[k] += entry * row[k];
        }
        for (int64_t k = 0; k < s; k++) beta[k] /= v;
        const double delta = all.delta[p] = 1.0 / v, penalty = search->alpha * dot(beta, beta, s);
        const double norm = delta > penalty ? delta - penalty : 0.0;
        const double lost = (search->rows->diagonal[search->chosen[p]] + search->alpha) * v;
        if (!(lost <= all.lost) && !isnan(all.lost)) all.lost = lost;
        const double growth = growth_of_pivot(search, search->chosen[p], delta);
        if (!(growth <= all.growth)) all.growth = growth;
        double squares = 0.0;
        for (int64_t k = 0; k < t; k++) {
            const double rho = search->weights[p * t + k];
            double inner = 0.0;
            for (int64_t u = 0; u < s; u++) inner += search->weights[u * t + k] * beta[u];
            squares += search->sums[k] + rho * (2.0 * search->alpha * inner + rho * norm);
        }
        all.bounds[p] = stays[p] ? INFINITY : squares / (largest * largest) - MARGIN * search->total;
    }
    return all;
}

/* z = X_S β of a few chosen features, (GROUP × ld). */
static void left_of(const Search *search, const Removals *all, const int64_t *positions,
                    int64_t count, double *out) {
    const int64_t s = search->size, ld = search->rows->ld, capacity = search->capacity;
    const double *b[GROUP];
    for (int64_t c = 0; c < GROUP; c++) b[c] = all->beta + positions[c < count ? c : 0] * capacity;
    for (int64_t j = 0; j < ld; j += WIDTH) {
        Vector z0 = AT(ZEROS), z1 = AT(ZEROS), z2 = AT(ZEROS), z3 = AT(ZEROS);
        for (int64_t k = 0; k < s; k++) {
            const Vector x = AT(chosen_column(search, k) + j);
            z0 += b[0][k] * x, z1 += b[1][k] * x, z2 += b[2][k] * x, z3 += b[3][k] * x;
        }
        *(Vector *)(out + j) = z0;
        *(Vector *)(out + ld + j) = z1;
        *(Vector *)(out + 2 * ld + j) = z2;
        *(Vector *)(out + 3 * ld + j) = z3;
    }
}

static int score_removals(Search *search, const Removals *all, Scored *scored,
                          const int64_t *positions, int64_t count, double *work) {
    const int64_t t = search->rows->t, ld = search->rows->ld;
    double *Z = work, *rho = Z + GROUP * ld, *by_target = rho + t;
    left_of(search, all, positions, count, Z);
    for (int64_t c = 0; c < count; c++) {
        const int64_t p = positions[c];
        for (int64_t k = 0; k < t; k++) rho[k] = -search->weights[p * t + k];
        double loss = loo_sums(search, Z + c * ld, -all->delta[p], rho, by_target);
        search->n_evaluations++;
        if (!(loss < INFINITY)) loss = INFINITY;
        const double tolerance = loss < INFINITY ? tolerance_of(search, loss, by_target) : 0.0;
        const double unknown = unknown_of(search, all->growth, loss);
        const double rounding = rounding_of(search, all->lost, loss, tolerance) + unknown;
        /* Among equal features the one with the lowest index stays: the others come first here. */
        if (!remember(scored, -search->chosen[p], loss, tolerance, rounding, unknown)) return 0;
    }
    return 1;
}

/* Score removals by their bounds, lowest first, as far as one may be below `below`. */
static int score_lowest_removals(Search *search, const Removals *all, Scored *scored, double below,
                                 double *work) {
    for (;;) {
        int64_t positions[GROUP];
        const int64_t found = lowest_among(all->bounds, NULL, search->size, GROUP, positions);
        const double limit = limit_of(scored);
        int64_t count = 0;
        while (count < found && all->bounds[positions[count]] <= (limit < below ? limit : below)) count++;
        if (!count) return 1;
        if (!score_removals(search, all, scored, positions, count, work)) return 0;
        for (int64_t c = 0; c < count; c++) all->bounds[positions[c]] = INFINITY;
    }
}

/* Whether the least loss is certainly below `below`: 1 if so, 0 if not, -1 if rounding may decide.
 * So may a loss above it that ties with the least one. */
static int is_below(const Scored *scored, double below) {
    double least = INFINITY, limit = INFINITY;
    for (int64_t k = 0; k < scored->count; k++) {
        const double loss = scored->loss[k];
        if (loss < INFINITY && fabs(loss - below) <= scored->rounding[k]) return -1;
        if (loss < least) least = loss, limit = loss + 2.0 * scored->tolerance[k];
    }
    if (!(least < below)) return 0;
    for (int64_t k = 0; k < scored->count; k++)
        if (scored->loss[k] <= limit && !(scored->loss[k] < below)) return -1;
    return 1;
}

/* Rotate two rows so that the first has nothing of a direction, in which they have a and b, and the
 * second all of it: first ← (a·second − b·first)/√(a² + b²), second ← (a·first + b·second)/√(a² + b²). */
static void rotate(double cosine, double sine, double *first, double *second, int64_t count,
                   int64_t stride) {
    for (int64_t i = 0; i < count * stride; i += stride) {
        const double a = first[i], b = second[i];
        first[i] = cosine * b - sine * a;
        second[i] = cosine * a + sine * b;
    }
}

/* Drop an entry (of `size` numbers) out of a list of `count`. */
static void drop(double *entries, int64_t count, int64_t position, int64_t size) {
    memmove(entries + position * size, entries + (position + 1) * size,
            (size_t)((count - 1 - position) * size) * sizeof(double));
}

/* L⁻¹ and q_u·q_v in rotated directions, of which the last one is that of feature p, without it; the
 * rotations (|S| × 2). */
static void rotate_small(Search *search, int64_t p, double root, double *turns) {
    const int64_t s = search->size, capacity = search->capacity;
    double *inverse = search->inverse, *overlap = search->overlap;
    double carried = inverse[p * capacity + p] * root;
    for (int64_t u = p; u + 1 < s; u++) {
        const double other = inverse[(u + 1) * capacity + p] * root;
        const double size = sqrt(carried * carried + other * other);
        const double cosine = turns[2 * u] = carried / size, sine = turns[2 * u + 1] = other / size;
        rotate(cosine, sine, inverse + u * capacity, inverse + (u + 1) * capacity, u + 2, 1);
        rotate(cosine, sine, overlap + u * capacity, overlap + (u + 1) * capacity, s, 1);
        carried = size;
    }
    for (int64_t u = p; u + 1 < s; u++)
        rotate(turns[2 * u], turns[2 * u + 1], overlap + u, overlap + u + 1, s, capacity);
    for (int64_t u = 0; u < s; u++) drop(inverse + u * capacity, s, p, 1);
    for (int64_t u = 0; u < s; u++) inverse[u * capacity + s - 1] = 0.0;
    for (int64_t u = p; u + 1 < s; u++) {
        const double entry = inverse[u * capacity + u];
        search->pivots[u] = 1.0 / (entry * entry);
    }
}

/* z of the candidates that were scored lately, up to the model before a removal; others are forgotten. */
static void follow_slots(Search *search) {
    const int64_t filled = search->n_filled < search->n_slots ? search->n_filled : search->n_slots;
    for (int64_t slot = 0; slot < filled; slot++) {
        const int64_t i = search->slot_feature[slot];
        if (search->slot_of[i] != slot) continue;
        if (search->barred[i] || search->slot_size[slot] + FOLLOWED < search->size) search->slot_of[i] = -1;
        else cached_z(search, i);
    }
}

/* The same up to the model after it: z_i ← z_i + z l_i/√δ. */
static void return_slots(Search *search, const double *RESTRICT l, const double *RESTRICT z, double root) {
    const int64_t filled = search->n_filled < search->n_slots ? search->n_filled : search->n_slots;
    const int64_t ld = search->rows->ld;
    for (int64_t slot = 0; slot < filled; slot++) {
        const int64_t i = search->slot_feature[slot];
        if (search->slot_of[i] != slot) continue;
        double *RESTRICT cached = search->cached + slot * ld;
        const double slope = l[i] / root;
        for (int64_t j = 0; j < ld; j++) cached[j] += slope * z[j];
        search->slot_size[slot] = search->size;
    }
}

/* L in the rotated directions, of which the last one, l, is left in the last row; q·z_i of it in
 * `bounds`. */
static void rotate_factor(Search *search, int64_t p, const double *turns, double q_q) {
    const int64_t s = search->size, last = s - 1, n = search->rows->n;
    const double *o = search->overlap + last * search->capacity;
    double *RESTRICT q = search->bounds, carried[TILE];
    for (int64_t first = 0; first < n; first += TILE) {
        const int64_t width = first + TILE < n ? TILE : n - first;
        double *RESTRICT part = q + first;
        memcpy(carried, search->L + p * n + first, (size_t)width * sizeof(double));
        for (int64_t i = 0; i < width; i++) part[i] = 0.0;
        for (int64_t u = 0; u < p; u++) {
            const double *RESTRICT row = search->L + u * n + first, slope = o[u];
            SIMD()
            for (int64_t i = 0; i < width; i++) part[i] -= slope * row[i];
        }
        for (int64_t u = p; u < last; u++) {
            double *RESTRICT row = search->L + u * n + first;
            const double *RESTRICT next = row + n;
            const double cosine = turns[2 * u], sine = turns[2 * u + 1], slope = o[u];
            SIMD()
            for (int64_t i = 0; i < width; i++) {
                const double a = carried[i], b = next[i], turned = cosine * b - sine * a;
                row[i] = turned;
                carried[i] = cosine * a + sine * b;
                part[i] -= slope * turned;
            }
        }
        double *RESTRICT l = search->L + last * n + first;
        for (int64_t i = 0; i < width; i++) l[i] = carried[i], part[i] += (1.0 - q_q) * carried[i];
    }
}

/* δ, τ and the other vectors of n numbers without a feature whose direction is q = z/√δ. */
static void follow_removal(Search *search, const double *RESTRICT l, const Best *gone, const double *along) {
    const int64_t n = search->rows->n, t = search->rows->t;
    const double root = sqrt(gone->delta), q_q = gone->norm / gone->delta;
    const double *RESTRICT q = search->bounds;
    double *RESTRICT deltas = search->delta, *RESTRICT norms = search->norms;
    SIMD()
    for (int64_t i = 0; i < n; i++) {
        deltas[i] += l[i] * l[i];
        norms[i] += l[i] * (2.0 * q[i] + q_q * l[i]);
    }
    for (int64_t k = 0; k < t; k++) {
        const double step = gone->rho[k] * root, slope = gone->inner[k] / root + step * q_q;
        double *RESTRICT tau = search->tau + k * n, *RESTRICT inner = search->inner + k * n;
        SIMD()
        for (int64_t i = 0; i < n; i++) {
            tau[i] += step * l[i];
            inner[i] += slope * l[i] + step * q[i];
        }
        if (search->has_anchor) {
            const double part = along[k] / root;
            double *RESTRICT anchored = search->anchored + k * n;
            for (int64_t i = 0; i < n; i++) anchored[i] += part * l[i];
        }
    }
}

/* The feature as a candidate again, measured on the rows; it is likely to be scored soon. */
static void return_candidate(Search *search, int64_t index, const Best *gone, const double *along) {
    const int64_t n = search->rows->n, t = search->rows->t, ld = search->rows->ld;
    search->barred[index] = 0;
    search->n_left++;
    search->delta[index] = gone->delta;
    search->norms[index] = gone->norm;
    for (int64_t k = 0; k < t; k++) {
        search->tau[k * n + index] = gone->rho[k] * gone->delta;
        search->inner[k * n + index] = dot(search->r + k * ld, gone->z, ld);
        if (search->has_anchor) search->anchored[k * n + index] = along[k];
    }
    memcpy(new_slot(search, index, NULL, 0), gone->z, (size_t)ld * sizeof(double));
}

/* Both spaces without a chosen feature. False, with nothing changed, where digits would be lost. */
static int remove_bounded(Search *search, int64_t p, const Removals *all, double *work) {
    const Rows *rows = search->rows;
    const int64_t s = search->size, last = s - 1, n = rows->n, ld = rows->ld, t = rows->t;
    const int64_t capacity = search->capacity, index = search->chosen[p];
    const double *beta = all->beta + p * capacity, scale = rows->diagonal[index] + search->alpha;
    double *along = work + GROUP * ld, *turns = along + 3 * t, *nothing = along + 2 * t;
    Best gone = {0.0, 0.0, 0.0, work, NULL, along + t, nothing};
    left_of(search, all, &p, 1, gone.z);
    gone.norm = dot(gone.z, gone.z, ld);
    gone.delta = gone.norm + search->alpha * dot(beta, beta, s);
    const double root = sqrt(gone.delta);
    double on_factor = 0.0;
    for (int64_t u = p; u < s; u++)
        on_factor += search->inverse[u * capacity + p] * search->L[u * n + index];
    on_factor *= root;
    const double drift = fabs(on_factor * on_factor - gone.delta) / scale;
    if (!(drift <= DRIFT_BOUND) || gone.delta < REFINED_PIVOT * scale) return 0;
    if (!(fabs(all->delta[p] - gone.delta) <= DRIFT_BOUND * scale)) return 0;
    if (drift > search->largest_drift) search->largest_drift = drift;
    search->wear += scale / gone.delta + 1.0 / search->sums[6 * t + 3];
    for (int64_t k = 0; k < t; k++) {
        gone.rho[k] = -search->weights[p * t + k];
        gone.inner[k] = 0.0;
    }
    move_rows(search, gone.z, -gone.delta, gone.rho, gone.inner);
    for (int64_t k = 0; k < t; k++) {
        gone.rho[k] = -gone.rho[k];
        gone.inner[k] = dot(search->r + k * ld, gone.z, ld) - gone.rho[k] * gone.norm; /* before */
        along[k] = search->has_anchor ? dot(search->anchor + k * ld, gone.z, ld) : 0.0;
    }
    follow_slots(search);
    rotate_small(search, p, root, turns);
    rotate_factor(search, p, turns, gone.norm / gone.delta);
    const double *l = search->L + last * n;
    if (search->fourth != NULL) {
        remember_spread(search, index, gone.z);
        follow_spread(search, index, l, &gone);
        remember_spread(search, index, gone.z);
    }
    follow_removal(search, l, &gone, along);
    for (int64_t u = 0; u < s; u++)
        for (int64_t k = 0; k < t; k++) search->weights[u * t + k] -= beta[u] * gone.rho[k];
    drop(search->weights, s, p, t);
    for (int64_t u = 0; u < s; u++) drop(search->gram + u * capacity, s, p, 1);
    drop(search->gram, s, p, capacity);
    if (search->columns != NULL) drop(search->columns, s, p, ld);
    memmove(search->chosen + p, search->chosen + p + 1, (size_t)(last - p) * sizeof(int64_t));
    search->size--;
    search->is_decided = 0;
    return_slots(search, l, gone.z, root);
    return_candidate(search, index, &gone, along);
    search->is_anchor_fresh = 0;
    measure_model(search);
    return 1;
}

/* Remove the feature without which the loss is smallest, if it is then below `below`; `stays` (|S|)
 * marks features that are not to be removed, and `largest` is the largest d of the empty model.
 * DONE if no loss is below it. */
static int remove_worst(Search *search, const unsigned char *stays, double below, double largest,
                        int64_t n_runners_up, int64_t *best, double *losses) {
    const int64_t count = n_runners_up + 1;
    double *work = malloc(removals_size(search) * sizeof(double));
    if (work == NULL) return NO_MEMORY;
    const Removals all = removals_of(search, stays, largest, work);
    double *rest = work + (search->size + 2) * search->capacity;
    Scored scored = nothing_scored(count);
    int64_t positions[MOST_RUNNERS_UP + 1];
    int result = IN_DOUBT;
    search->is_lost = 0;
    if (search->wear <= MOST_WEAR && all.lost * TRUSTED_PIVOT <= 1.0
        && score_lowest_removals(search, &all, &scored, n_runners_up ? INFINITY : below, rest)
        && !search->is_lost) {
        const int answer = is_below(&scored, below);
        const int64_t wanted = count < scored.count ? count : scored.count;
        if (!answer) result = DONE;
        else if (answer > 0) result = best_of(&scored, wanted, positions);
        if (result == TAKEN && !are_known(search, &scored, positions, wanted)) result = LOST;
        if (result == TAKEN) {
            result = IN_DOUBT;
            for (int64_t k = 0; k < count; k++) {
                best[k] = k < wanted ? -scored.index[positions[k]] : -1;
                losses[k] = k < wanted ? scored.taken[k] : NAN;
            }
            int64_t p = 0;
            while (search->chosen[p] != best[0]) p++;
            if (remove_bounded(search, p, &all, rest)) {
                note_growth(search, all.growth);
                result = is_model_known(search) ? TAKEN : LOST;
            }
        }
    }
    forget(&scored);
    free(work);
    return result;
}

#endif
