/* Searches that keep z of all candidates. */
#ifndef GREEDYRLS_KEPT_H
#define GREEDYRLS_KEPT_H

#include "choice.h"

/* The loss of a candidate that is no sum of squares, from its z; `unsure` is the share of rows
 * whose class rounding may decide. */
static double other_loss(Search *search, const double *RESTRICT z, double delta, const double *rho,
                         double lost, double *unsure) {
    const Rows *rows = search->rows;
    const int64_t t = rows->t, ld = rows->ld;
    const double *RESTRICT d = search->d, *RESTRICT e = rows->shares, inverse = 1.0 / delta;
    double sum = 0.0, doubt = 0.0, smallest = INFINITY;
    /* Where a pivot has lost digits, so have the leverages that it changes. */
    const double rounding = UNSURE + PIVOT_ROUNDING * lost;
    *unsure = 0.0;
    if (search->loss == ABSOLUTE) {
        for (int64_t k = 0; k < t; k++) {
            const double *RESTRICT r = search->r + k * ld;
            const double step = rho[k];
            SIMD(reduction(+ : sum) reduction(min : smallest))
            for (int64_t j = 0; j < ld; j++) {
                const double left = d[j] - z[j] * z[j] * inverse;
                smallest = left < smallest ? left : smallest;
                sum += e[j] * fabs((r[j] - step * z[j]) / left);
            }
        }
        search->smallest_left = smallest;
        return rows->scale * sum / (double)t;
    }
    if (t == 1) {
        const double *RESTRICT r = search->r, *RESTRICT y = rows->y;
        const double step = rho[0], slope = (1.0 - UNDECIDED) * inverse;
        SIMD(reduction(+ : sum, doubt))
        for (int64_t j = 0; j < ld; j++) {
            const double moved = z[j] * (z[j] * slope - y[j] * step);
            const double margin = (1.0 - UNDECIDED) * d[j] - y[j] * r[j];
            const double left = margin - moved;
            sum += left <= 0.0 ? e[j] : 0.0;
            doubt += fabs(left) <= rounding * (d[j] + fabs(y[j] * r[j]) + fabs(moved)) ? e[j] : 0.0;
        }
        *unsure = rows->scale * doubt;
        return rows->scale * sum;
    }
    double *RESTRICT own = search->scratch, *RESTRICT other = own + ld;
    double *RESTRICT shrunk = other + ld, *RESTRICT size = shrunk + ld;
    for (int64_t j = 0; j < ld; j++) {
        shrunk[j] = 1.0 / (d[j] - z[j] * z[j] * inverse);
        own[j] = 0.0, other[j] = -INFINITY, size[j] = 1.0;
        if (rows->root != NULL && rows->root[j] > 0.0) shrunk[j] /= rows->root[j];
    }
    for (int64_t k = 0; k < t; k++) {
        const double *RESTRICT r = search->r + k * ld, *RESTRICT y = rows->y + k * ld;
        const double step = rho[k];
        SIMD()
        for (int64_t j = 0; j < ld; j++) {
            const double value = y[j] - (r[j] - step * z[j]) * shrunk[j];
            const double beaten = value > other[j] ? value : other[j];
            own[j] = y[j] > 0.0 ? value : own[j];
            other[j] = y[j] > 0.0 ? other[j] : beaten;
            size[j] = fabs(value) > size[j] ? fabs(value) : size[j];
        }
    }
    SIMD(reduction(+ : sum, doubt))
    for (int64_t j = 0; j < ld; j++) {
        const double ahead = own[j] - other[j] - UNDECIDED;
        sum += ahead > 0.0 ? 0.0 : e[j];
        doubt += fabs(ahead) <= 10.0 * rounding * size[j] ? e[j] : 0.0;
    }
    *unsure = rows->scale * doubt;
    return rows->scale * sum;
}

/* δ and τ of a candidate without the part along the feature added last, whose slope is returned. */
static double follow_sums(Search *search, int64_t i, const double *chosen, const double *slopes) {
    const Rows *rows = search->rows;
    const int64_t ld = rows->ld, s = search->size - 1;
    double *c = search->c + i * search->capacity;
    const double product = dot(search->Z + i * ld, chosen, ld) + dot(slopes, c, s);
    c[s] = product;
    const double slope = product / search->pivots[s];
    const double delta = search->delta[i] - product * slope;
    search->delta[i] = delta > search->alpha ? delta : search->alpha;
    for (int64_t k = 0; k < rows->t; k++)
        search->tau[k * rows->n + i] -= search->steps[s * rows->t + k] * product;
    return slope;
}

/* z, δ and τ of a candidate without the part along the feature added last. */
static void follow(Search *search, int64_t i, const double *RESTRICT chosen, const double *slopes) {
    const int64_t ld = search->rows->ld;
    double *RESTRICT z = search->Z + i * ld;
    const double slope = follow_sums(search, i, chosen, slopes);
    for (int64_t j = 0; j < ld; j++) z[j] -= slope * chosen[j];
}

/* A lower bound of the leave-one-out sum: what it would be if leverages did not grow. */
static double bound_of(const Search *search, int64_t i) {
    const Rows *rows = search->rows;
    const int64_t ld = rows->ld;
    const double *RESTRICT z = search->Z + i * ld, *RESTRICT omega = search->omega;
    double bound = search->total;
    if (rows->t == 1) {
        const double *RESTRICT g = search->g;
        double square = 0.0, inner = 0.0;
        SIMD(reduction(+ : square, inner))
        for (int64_t j = 0; j < ld; j++) square += omega[j] * z[j] * z[j], inner += g[j] * z[j];
        const double rho = search->tau[i] / search->delta[i];
        return bound - rho * (2.0 * inner - rho * square);
    }
    double square = 0.0;
    SIMD(reduction(+ : square))
    for (int64_t j = 0; j < ld; j++) square += omega[j] * z[j] * z[j];
    for (int64_t k = 0; k < rows->t; k++) {
        const double rho = search->tau[k * rows->n + i] / search->delta[i];
        bound -= rho * (2.0 * dot(search->g + k * ld, z, ld) - rho * square);
    }
    return bound;
}

/* Both for a single target, while z is at hand. */
static double follow_and_bound(Search *search, int64_t i, const double *RESTRICT chosen,
                               const double *slopes) {
    const int64_t ld = search->rows->ld;
    double *RESTRICT z = search->Z + i * ld;
    const double *RESTRICT omega = search->omega, *RESTRICT g = search->g;
    const double slope = follow_sums(search, i, chosen, slopes);
    double square = 0.0, inner = 0.0;
    SIMD(reduction(+ : square, inner))
    for (int64_t j = 0; j < ld; j++) {
        const double left = z[j] - slope * chosen[j];
        z[j] = left;
        square += omega[j] * left * left;
        inner += g[j] * left;
    }
    const double rho = search->tau[i] / search->delta[i];
    return search->total - rho * (2.0 * inner - rho * square);
}

static void slopes_of_last(const Search *search, double *slopes) {
    const int64_t s = search->size - 1, ld = search->rows->ld;
    const double *chosen = search->Z + search->chosen[s] * ld;
    for (int64_t k = 0; k < s; k++)
        slopes[k] = dot(search->Z + search->chosen[k] * ld, chosen, ld) / search->pivots[k];
}

/* Bring z of all candidates up to the current model. */
static void catch_up(Search *search, double *slopes) {
    if (!search->is_behind) return;
    slopes_of_last(search, slopes);
    const double *chosen = search->Z + search->chosen[search->size - 1] * search->rows->ld;
    for (int64_t i = 0; i < search->rows->n; i++)
        if (!search->barred[i]) follow(search, i, chosen, slopes);
    search->is_behind = 0;
}

/* A feature as it is to be added, from its kept z or, if little is left of it, refined. */
static void take_kept(Search *search, int64_t index, Best *best, double *work) {
    const Rows *rows = search->rows;
    const int64_t ld = rows->ld, t = rows->t;
    const double *z = search->Z + index * ld, *column = column_of(search, index);
    coefficients(search, index, best->beta);
    memcpy(best->z, z, (size_t)ld * sizeof(double));
    best->delta = dot(column, z, ld) + search->alpha;
    for (int64_t k = 0; k < t; k++)
        best->rho[k] = dot(column, search->r + k * ld, ld) / best->delta;
    if (search->size && best->delta < REFINED_PIVOT * scale_of(search, index))
        refine(search, index, best, work);
}

static int add_kept(Search *search, int64_t index, const Best *best) {
    const Rows *rows = search->rows;
    const int64_t t = rows->t, ld = rows->ld, s = search->size;
    memcpy(search->Z + index * ld, best->z, (size_t)ld * sizeof(double));
    memcpy(search->steps + s * t, best->rho, (size_t)t * sizeof(double));
    move_rows(search, best->z, best->delta, best->rho, NULL);
    add_coefficients(search, best);
    keep_column(search, index, NULL);
    search->pivots[s] = best->delta;
    search->size++;
    search->is_behind = 1;
    measure_model(search);
    return TAKEN;
}

/* `measured` and `work` are room for a candidate whose recurrences have lost their digits. */
static int score_kept(Search *search, Scored *scored, int64_t i, double *rho, double *by_target,
                      Best *measured, double *work) {
    const Rows *rows = search->rows;
    const double growth = (rows->diagonal[i] + search->alpha) / search->delta[i];
    const double *z = search->Z + i * rows->ld, *step = rho;
    double delta = search->delta[i], lost = growth;
    for (int64_t k = 0; k < rows->t; k++) rho[k] = search->tau[k * rows->n + i] / delta;
    if (search->size && growth * REFINED_PIVOT > 1.0) {
        take_kept(search, i, measured, work);
        z = measured->z, delta = measured->delta, step = measured->rho, lost = sqrt(growth);
    }
    double loss = loo_sums(search, z, delta, step, by_target);
    search->n_evaluations++;
    if (!(loss < INFINITY)) loss = INFINITY;
    double tolerance = loss < INFINITY ? tolerance_of(search, loss, by_target) : 0.0;
    if (search->loss != SQUARED) tolerance = loss < INFINITY ? TIE * loss : 0.0;
    const double unknown = unknown_of(search, growth_of_pivot(search, i, search->delta[i]), loss);
    return remember(scored, i, loss, tolerance, rounding_of(search, lost, loss, tolerance) + unknown,
                    search->loss == SQUARED ? unknown : 0.0);
}

static int step_kept(Search *search, int64_t n_runners_up, int64_t *best, double *losses,
                     double *work) {
    const Rows *rows = search->rows;
    const int64_t n = rows->n, t = rows->t, count = n_runners_up + 1;
    double *slopes = work, *rho = work + 2 * search->capacity, *by_target = rho + t;
    Best taken = best_in(search, by_target + t);
    const double *chosen = NULL;
    if (search->is_behind) {
        slopes_of_last(search, slopes);
        chosen = search->Z + search->chosen[search->size - 1] * rows->ld;
    }
    Scored scored = nothing_scored(count);
    int64_t positions[MOST_RUNNERS_UP + 1];
    int result = IN_DOUBT, is_whole = 1;
    double unsure_least = INFINITY, certain_least = INFINITY, largest = -INFINITY;
    int64_t lowest = -1;
    for (int64_t i = 0; i < n; i++) {
        if (search->barred[i]) continue;
        const int is_fused = chosen != NULL && search->loss == SQUARED && t == 1;
        if (chosen != NULL && !is_fused) follow(search, i, chosen, slopes);
        if (search->loss == SQUARED) {
            search->bounds[i] =
                is_fused ? follow_and_bound(search, i, chosen, slopes) : bound_of(search, i);
            if (lowest < 0 || search->bounds[i] < search->bounds[lowest]) lowest = i;
            continue;
        }
        double unsure;
        for (int64_t k = 0; k < t; k++) rho[k] = search->tau[k * n + i] / search->delta[i];
        const double lost = (rows->diagonal[i] + search->alpha) / search->delta[i];
        double loss =
            other_loss(search, search->Z + i * rows->ld, search->delta[i], rho, lost, &unsure);
        search->n_evaluations++;
        if (!(loss < INFINITY)) loss = INFINITY;
        const double tolerance = tolerance_of(search, loss, NULL);
        const double rounding =
            search->loss == ABSOLUTE ? rounding_of(search, lost, loss, tolerance) : 0.0;
        is_whole = is_whole && remember(&scored, i, loss, tolerance, rounding, 0.0);
        search->bounds[i] = loss;
        largest = loss > largest ? loss : largest;
        if (unsure > 0.0 && loss - unsure < unsure_least) unsure_least = loss - unsure;
        if (loss + unsure < certain_least) certain_least = loss + unsure;
    }
    search->is_behind = 0;
    if (search->loss == SQUARED) {
        const double margin = MARGIN * search->total;
        if (lowest >= 0) is_whole = score_kept(search, &scored, lowest, rho, by_target, &taken, slopes);
        double limit = limit_of(&scored) + margin;
        for (int64_t i = 0; is_whole && i < n; i++) {
            if (search->barred[i] || i == lowest || search->bounds[i] > limit) continue;
            is_whole = score_kept(search, &scored, i, rho, by_target, &taken, slopes);
            limit = limit_of(&scored) + margin;
        }
    } else {
        /* An undecided row may make any candidate the best, or a runner-up. */
        const double tolerance = tolerance_of(search, certain_least, NULL);
        const double last = scored.n_least > 1 ? scored.least[scored.n_least - 1] : certain_least;
        const double largest_asked = last > certain_least ? last : certain_least;
        if (unsure_least <= largest_asked + 2.0 * tolerance) is_whole = 0;
        /* As long as a rare class is never predicted, all tie, and squared loss decides. */
        if (is_whole && search->loss == BALANCED && largest - certain_least <= 0.5 * tolerance) {
            scored.count = scored.n_least = 0;
            for (int64_t i = 0; is_whole && i < n; i++)
                if (!search->barred[i]) is_whole = score_kept(search, &scored, i, rho, by_target, &taken, slopes);
        } else if (search->loss == BALANCED && largest - certain_least <= 2.0 * tolerance) is_whole = 0;
    }
    const int64_t found = count < scored.count ? count : scored.count;
    if (is_whole && !search->is_lost && found) result = best_of(&scored, found, positions);
    if (result == TAKEN && !are_known(search, &scored, positions, found)) result = LOST;
    if (result == TAKEN) {
        result = IN_DOUBT;
        const int64_t index = scored.index[positions[0]];
        take_kept(search, index, &taken, slopes);
        if (is_safe(search, index, taken.z, taken.delta)) {
            for (int64_t k = 0; k < count; k++) {
                best[k] = k < found ? scored.index[positions[k]] : -1;
                losses[k] = k >= found ? NAN : scored.taken[k];
                if (search->loss != SQUARED && k < found) losses[k] = search->bounds[best[k]];
            }
            result = add_kept(search, index, &taken);
        }
    }
    forget(&scored);
    return result;
}

#endif
