/* Choosing among candidates that were scored: ties, runners-up, doubt. */
#ifndef GREEDYRLS_CHOICE_H
#define GREEDYRLS_CHOICE_H

#include "model.h"

static double tolerance_of(const Search *search, double loss, const double *by_target) {
    if (search->loss != SQUARED)
        return TIE * fabs(loss) + LOSS_ROUNDING * search->initial_loss;
    double rounding = 0.0;
    for (int64_t k = 0; k < search->rows->t; k++)
        rounding += sqrt(by_target[k] * search->rows->energy[k]);
    return TIE * loss + TIE_ROUNDING * rounding;
}

/* Candidates scored in a step. */
typedef struct {
    int64_t wanted; /* the best of them, in number */
    int64_t count, room;
    int64_t *index;
    double *loss, *tolerance, *rounding, *unknown; /* of the last, what is_known compares */
    int64_t n_least;
    double least[MOST_RUNNERS_UP + 1], limits[MOST_RUNNERS_UP + 1]; /* with tolerances */
    double taken[MOST_RUNNERS_UP + 1]; /* losses of the best */
} Scored;

static int remember(Scored *scored, int64_t index, double loss, double tolerance, double rounding,
                    double unknown) {
    if (scored->count == scored->room) {
        const int64_t room = scored->room ? 2 * scored->room : 64;
        int64_t *indices = realloc(scored->index, (size_t)room * sizeof(int64_t));
        if (indices != NULL) scored->index = indices;
        double **arrays[4] = {&scored->loss, &scored->tolerance, &scored->rounding, &scored->unknown};
        for (int k = 0; k < 4; k++) {
            double *array = realloc(*arrays[k], (size_t)room * sizeof(double));
            if (array != NULL) *arrays[k] = array;
            if (array == NULL || indices == NULL) return 0;
        }
        scored->room = room;
    }
    scored->index[scored->count] = index;
    scored->loss[scored->count] = loss;
    scored->tolerance[scored->count] = tolerance;
    scored->unknown[scored->count] = unknown;
    scored->rounding[scored->count++] = rounding;
    if (!(loss < INFINITY)) return 1;
    if (scored->n_least == scored->wanted && loss >= scored->least[scored->n_least - 1]) return 1;
    int64_t place = scored->n_least < scored->wanted ? scored->n_least++ : scored->n_least - 1;
    for (; place > 0 && scored->least[place - 1] > loss; place--) {
        scored->least[place] = scored->least[place - 1];
        scored->limits[place] = scored->limits[place - 1];
    }
    scored->least[place] = loss;
    scored->limits[place] = loss + tolerance;
    return 1;
}

static void forget(Scored *scored) {
    free(scored->index), free(scored->loss), free(scored->tolerance), free(scored->rounding), free(scored->unknown);
}

/* No candidate whose loss is above this is among the best, or ties with them. */
static double limit_of(const Scored *scored) {
    return scored->n_least < scored->wanted ? INFINITY : scored->limits[scored->wanted - 1];
}

/* The candidate of least loss so far; -1 if there is none. */
static int64_t least_of(const Scored *scored) {
    int64_t least = -1;
    for (int64_t k = 0; k < scored->count; k++)
        if (least < 0 || scored->loss[k] < scored->loss[least]) least = k;
    return least < 0 ? -1 : scored->index[least];
}

static Scored nothing_scored(int64_t wanted) {
    Scored scored;
    memset(&scored, 0, sizeof(scored));
    scored.wanted = wanted;
    return scored;
}

/* Positions of the best, the best of the others, and so on: the lowest index of those that tie.
 * TAKEN; IN_DOUBT where rounding may decide, LOST where it is more than what counts as a tie. */
static int best_of(Scored *scored, int64_t count, int64_t *positions) {
    for (int64_t rank = 0; rank < count; rank++) {
        int64_t least = -1;
        for (int64_t k = 0; k < scored->count; k++)
            if (scored->loss[k] < INFINITY && (least < 0 || scored->loss[k] < scored->loss[least]))
                least = k;
        if (least < 0) return IN_DOUBT;
        const double tolerance = scored->tolerance[least], limit = scored->loss[least] + tolerance;
        int64_t chosen = least;
        for (int64_t k = 0; k < scored->count; k++) {
            if (!(scored->loss[k] < INFINITY)) continue;
            const double doubt = scored->rounding[k] + scored->rounding[least] + 0.05 * tolerance;
            if (k != least && fabs(scored->loss[k] - limit) <= doubt) return doubt > tolerance ? LOST : IN_DOUBT;
            if (scored->loss[k] <= limit && scored->index[k] < scored->index[chosen]) chosen = k;
        }
        positions[rank] = chosen;
        scored->taken[rank] = scored->loss[chosen];
        scored->loss[chosen] = INFINITY;
    }
    return TAKEN;
}

/* Whether the losses of the best candidates are known to what counts as a tie: that of the first one is
 * looked at again when it was added. */
static int are_known(const Search *search, const Scored *scored, const int64_t *positions, int64_t count) {
    for (int64_t rank = 0; rank < count; rank++)
        if (!is_known(search, scored->unknown[positions[rank]], scored->taken[rank], TIE)) return 0;
    return 1;
}

/* Rounding of the loss of the candidate that was scored last; `lost` is A_ii/δ_i, or its root where δ
 * was measured. Leverages near 1 cost as many digits as they leave no room. */
static double rounding_of(Search *search, double lost, double loss, double tolerance) {
    const double left = search->smallest_left;
    if (!(left > LEAST_LEFT)) search->is_lost = 1;
    return PIVOT_ROUNDING * (lost + 1.0 / left) * loss + 0.05 * tolerance;
}

/* What is unknown of that loss, a sum of squares, with A_ii/δ_i of the candidate. */
static double unknown_of(const Search *search, double lost, double loss) {
    const double growth = lost > search->growth ? lost : search->growth;
    return rounding_of_sum(search, growth, search->steepness, loss);
}

/* Whether a candidate can be added without the general engine. */
static int is_safe(Search *search, int64_t index, const double *z, double delta) {
    const Rows *rows = search->rows;
    const double scale = scale_of(search, index);
    const double drift = fabs(delta - search->delta[index]) / scale;
    if (!(drift <= DRIFT_BOUND) || search->is_lost) return 0;
    double smallest = INFINITY;
    const double *RESTRICT d = search->d, inverse = 1.0 / delta;
    SIMD(reduction(min : smallest))
    for (int64_t j = 0; j < rows->m; j++) {
        const double left = d[j] - z[j] * z[j] * inverse;
        smallest = left < smallest ? left : smallest;
    }
    if (!(smallest > LEAST_LEFT)) return 0;
    if (drift > search->largest_drift) search->largest_drift = drift;
    return 1;
}

#endif
