/* Squared leave-one-out errors of the models of all sizes, for several penalties. */
#ifndef GREEDYRLS_CURVE_H
#define GREEDYRLS_CURVE_H

#include "common.h"

/* Vectors of rows that are computed together, so that sums do not wait for each other. */
#define ABREAST 4

/* Rows in a block; the last block of an array is padded with r = x = 0 and d = 1. */
#define BLOCK (ABREAST * WIDTH)

/* Add the squared errors of a block of rows, by size, to sums (k × BLOCK), for the sizes that is_end
 * (k) marks. `columns` (k × BLOCK), r (t × BLOCK) and d (BLOCK) are those of the block; r and d are
 * overwritten. */
static void curve_of_block(const double *columns, int64_t k, const double *inverse,
                           const double *steps, int64_t t, const unsigned char *is_end, double *r,
                           double *d, double *sums) {
    for (int64_t s = 0; s < k; s++) {
        Vector q[ABREAST], error;
        for (int64_t v = 0; v < ABREAST; v++) q[v] = AT(ZEROS);
        for (int64_t u = 0; u <= s; u++) {
            const double slope = inverse[s * k + u];
            const double *column = columns + u * BLOCK;
            for (int64_t v = 0; v < ABREAST; v++) q[v] += slope * AT(column + v * WIDTH);
        }
        for (int64_t v = 0; v < ABREAST; v++) {
            Vector *left = (Vector *)(d + v * WIDTH), *sum = (Vector *)(sums + s * BLOCK + v * WIDTH);
            *left -= q[v] * q[v];
            for (int64_t target = 0; target < t; target++) {
                Vector *residual = (Vector *)(r + target * BLOCK + v * WIDTH);
                *residual -= steps[target * k + s] * q[v];
                if (!is_end[s]) continue;
                error = *residual / *left;
                *sum += error * error;
            }
        }
    }
}

/* Sums over rows, (n_models × k), of squared errors: inverses are (n_models × k × k), steps
 * (n_models × t × k), columns (k × m), r (t × m), d (m). Returns 0 without memory. */
static int loo_curve(const double *columns, int64_t k, int64_t m, const double *inverses,
                     const double *steps, int64_t n_models, int64_t t, const double *r,
                     const double *d, const unsigned char *is_end, double *out) {
    const size_t size = (size_t)((k + 2 * t + 2 + n_models * k) * BLOCK);
    double *work = calloc(size, sizeof(double));
    if (work == NULL) return 0;
    double *x = work, *rows = x + k * BLOCK, *left = rows + t * BLOCK;
    double *moved = left + BLOCK, *shrunk = moved + t * BLOCK, *sums = shrunk + BLOCK;
    for (int64_t top = 0; top < m; top += BLOCK) {
        const int64_t height = top + BLOCK < m ? BLOCK : m - top;
        for (int64_t j = 0; j < BLOCK; j++) {
            for (int64_t u = 0; u < k; u++) x[u * BLOCK + j] = j < height ? columns[u * m + top + j] : 0.0;
            for (int64_t target = 0; target < t; target++)
                rows[target * BLOCK + j] = j < height ? r[target * m + top + j] : 0.0;
            left[j] = j < height ? d[top + j] : 1.0;
        }
        for (int64_t number = 0; number < n_models; number++) {
            memcpy(moved, rows, (size_t)(t * BLOCK) * sizeof(double));
            memcpy(shrunk, left, (size_t)BLOCK * sizeof(double));
            curve_of_block(x, k, inverses + number * k * k, steps + number * t * k, t, is_end, moved,
                           shrunk, sums + number * k * BLOCK);
        }
    }
    for (int64_t place = 0; place < n_models * k; place++) {
        double total = 0.0;
        for (int64_t j = 0; j < BLOCK; j++) total += sums[place * BLOCK + j];
        out[place] = total;
    }
    free(work);
    return 1;
}

#endif
