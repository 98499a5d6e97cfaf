/* Products of X with a few vectors. */
#ifndef GREEDYRLS_THIN_H
#define GREEDYRLS_THIN_H

#include "common.h"

/* Vectors, and rows of X, that are multiplied at a time: their coefficients stay in registers. */
#define THIN_VECTORS 4
#define THIN_ROWS 4
/* Rows and columns of a tile of X, which stays in the cache for all vectors. */
#define THIN_TILE_ROWS 64
#define THIN_TILE_COLUMNS 512

/* With so many vectors it is faster than BLAS, which copies X into another order first: that takes as
 * long as the product with some vectors, but needs fewer registers afterwards. Measured. */
#if defined(__AVX512F__)
#define MOST_THIN 32
#elif defined(__AVX2__)
#define MOST_THIN 4
#else
#define MOST_THIN 0
#endif

/* out += V X for THIN_VECTORS vectors and THIN_ROWS rows, `stride` numbers apart. */
static void add_rows(const double *const *v, const double *x, int64_t stride, int64_t n,
                     double *const *out) {
    const double *x0 = x, *x1 = x + stride, *x2 = x1 + stride, *x3 = x2 + stride;
    double c[THIN_VECTORS][THIN_ROWS];
    for (int b = 0; b < THIN_VECTORS; b++)
        for (int k = 0; k < THIN_ROWS; k++) c[b][k] = v[b][k];
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) {
        const Vector a0 = AT(x0 + i), a1 = AT(x1 + i), a2 = AT(x2 + i), a3 = AT(x3 + i);
        for (int b = 0; b < THIN_VECTORS; b++) {
            Vector *sum = (Vector *)(out[b] + i);
            *sum += (c[b][0] * a0 + c[b][1] * a1) + (c[b][2] * a2 + c[b][3] * a3);
        }
    }
    for (; i < n; i++)
        for (int b = 0; b < THIN_VECTORS; b++)
            out[b][i] += (c[b][0] * x0[i] + c[b][1] * x1[i]) + (c[b][2] * x2[i] + c[b][3] * x3[i]);
}

/* out (count × n) = V (count × m) X, where rows of X are contiguous and `stride` numbers apart. */
static void thin_product(const double *V, int64_t count, const double *X, int64_t m, int64_t n,
                         int64_t stride, double *out) {
    double unused[THIN_TILE_COLUMNS], nothing[THIN_TILE_ROWS] = {0.0};
    memset(out, 0, (size_t)(count * n) * sizeof(double));
    memset(unused, 0, sizeof unused);
    for (int64_t top = 0; top < m; top += THIN_TILE_ROWS) {
        const int64_t end = top + THIN_TILE_ROWS < m ? top + THIN_TILE_ROWS : m;
        for (int64_t first = 0; first < n; first += THIN_TILE_COLUMNS) {
            const int64_t width = first + THIN_TILE_COLUMNS < n ? THIN_TILE_COLUMNS : n - first;
            for (int64_t b = 0; b < count; b += THIN_VECTORS) {
                const double *v[THIN_VECTORS];
                double *sums[THIN_VECTORS];
                for (int k = 0; k < THIN_VECTORS; k++) {
                    v[k] = b + k < count ? V + (b + k) * m + top : nothing;
                    sums[k] = b + k < count ? out + (b + k) * n + first : unused;
                }
                int64_t j = 0;
                for (; j + THIN_ROWS <= end - top; j += THIN_ROWS) {
                    const double *rows[THIN_VECTORS];
                    for (int k = 0; k < THIN_VECTORS; k++) rows[k] = v[k] + j;
                    add_rows(rows, X + (top + j) * stride + first, stride, width, sums);
                }
                for (; j < end - top; j++) {
                    const double *RESTRICT x = X + (top + j) * stride + first;
                    for (int k = 0; k < THIN_VECTORS; k++)
                        for (int64_t i = 0; i < width; i++) sums[k][i] += v[k][j] * x[i];
                }
            }
        }
    }
}

#endif
