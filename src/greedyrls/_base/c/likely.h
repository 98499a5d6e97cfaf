/* Which features a search is likely to choose after the next one: their Gram columns come in its pass. */
#ifndef GREEDYRLS_LIKELY_H
#define GREEDYRLS_LIKELY_H

#include "likely_centers.h"

/* Candidates scored in this step that are compared, and the most features that are asked for. */
#define MOST_COMPARED 64
#define MOST_LIKELY 16

/* Candidates as they are left by the features that were followed so far. */
typedef struct {
    int64_t count, index[MOST_COMPARED];
    const double *z[MOST_COMPARED];
    double delta[MOST_COMPARED], gain[MOST_COMPARED];
    double *tau;    /* (t × MOST_COMPARED) */
    double *slopes; /* (MOST_LIKELY × MOST_COMPARED) entries of the factor */
} Compared;

/* What a candidate lowers the squared error of training rows by. */
static double gain_of(const Search *search, int64_t i) {
    double gain = 0.0;
    for (int64_t k = 0; k < search->rows->t; k++) {
        const double tau = search->tau[k * search->rows->n + i];
        gain += tau * tau / search->delta[i];
    }
    return gain;
}

/* `first` and the candidates of largest gain among those whose z is known. */
static void compare_known(Search *search, int64_t first, Compared *compared) {
    const Rows *rows = search->rows;
    compared->count = 1, compared->index[0] = first, compared->gain[0] = INFINITY;
    for (int64_t slot = 0; slot < search->n_slots && slot < search->n_filled; slot++) {
        const int64_t i = search->slot_feature[slot];
        const int is_known = search->slot_of[i] == slot && search->slot_size[slot] == search->size;
        if (!is_known || search->barred[i] || i == first) continue;
        const double gain = gain_of(search, i);
        int64_t place = compared->count;
        if (place < MOST_COMPARED) compared->count++;
        else if (compared->gain[--place] >= gain) continue;
        for (; place > 1 && compared->gain[place - 1] < gain; place--) {
            compared->index[place] = compared->index[place - 1];
            compared->gain[place] = compared->gain[place - 1];
        }
        compared->index[place] = i, compared->gain[place] = gain;
    }
    for (int64_t c = 0; c < compared->count; c++) {
        const int64_t i = compared->index[c];
        compared->z[c] = search->cached + search->slot_of[i] * rows->ld;
        compared->delta[c] = search->delta[i];
        for (int64_t k = 0; k < rows->t; k++)
            compared->tau[k * MOST_COMPARED + c] = search->tau[k * rows->n + i];
    }
}

/* What is left of the others after one of them; the one of largest gain then. The penalty's part of the
 * products is left out: this is a guess. */
static int64_t after(const Search *search, Compared *compared, int64_t chosen, int64_t round) {
    const int64_t ld = search->rows->ld, t = search->rows->t;
    double *slopes = compared->slopes + round * MOST_COMPARED, largest = 0.0;
    const double root = sqrt(compared->delta[chosen]);
    int64_t best = -1;
    compared->gain[chosen] = -1.0;
    for (int64_t c = 0; c < compared->count; c++) {
        if (compared->gain[c] < 0.0) continue;
        double product = dot(compared->z[chosen], compared->z[c], ld), gain = 0.0;
        for (int64_t u = 0; u < round; u++) {
            const double *earlier = compared->slopes + u * MOST_COMPARED;
            product -= earlier[chosen] * earlier[c];
        }
        slopes[c] = product / root;
        const double left = compared->delta[c] - slopes[c] * slopes[c];
        const double least = TRUSTED_PIVOT * compared->delta[c];
        compared->delta[c] = left > least ? left : least;
        for (int64_t k = 0; k < t; k++) {
            double *tau = compared->tau + k * MOST_COMPARED;
            tau[c] -= slopes[c] * tau[chosen] / root;
            gain += tau[c] * tau[c] / compared->delta[c];
        }
        compared->gain[c] = gain;
        if (gain > largest) largest = gain, best = c;
    }
    return best;
}

/* Up to `count` features that are likely chosen after `first`, which was scored in this step. */
static int64_t likely(Search *search, int64_t first, int64_t count, int64_t *indices) {
    Compared compared;
    const size_t numbers = (size_t)(search->rows->t + MOST_LIKELY) * MOST_COMPARED;
    if (count < 1) return 0;
    if (follows_all(search)) return likely_centers(search, first, count, indices);
    if (search->keeps_z || cached_z(search, first) == NULL) return 0;
    compared.tau = malloc(numbers * sizeof(double));
    if (compared.tau == NULL) return 0;
    compared.slopes = compared.tau + search->rows->t * MOST_COMPARED;
    compare_known(search, first, &compared);
    int64_t found = 0, chosen = 0;
    while (found < count && found < MOST_LIKELY) {
        chosen = after(search, &compared, chosen, found);
        if (chosen < 0) break;
        indices[found++] = compared.index[chosen];
    }
    free(compared.tau);
    return found;
}

#endif
