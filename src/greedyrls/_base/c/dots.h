/* Products of X with a few vectors, where columns of X are contiguous. */
#ifndef GREEDYRLS_DOTS_H
#define GREEDYRLS_DOTS_H

#include "common.h"

/* Rows that are multiplied at a time: they stay in the cache for all vectors. */
#define DOT_ROWS 512

/* With so many vectors it is faster than BLAS, which copies X into another order first (measured), and
 * vectors and columns of X whose sums stay in registers. */
#if defined(__AVX512F__)
#define MOST_DOTS 32
#define DOT_VECTORS 4
#define DOT_COLUMNS 4
#else
#define MOST_DOTS 0
#define DOT_VECTORS 2
#define DOT_COLUMNS 2
#endif

/* sums[b][c] += v_b·x_c over some rows. The order of a sum does not depend on the other ones. */
static void add_dots(const double *const *v, const double *const *x, int64_t count,
                     double sums[DOT_VECTORS][DOT_COLUMNS]) {
    Vector parts[DOT_VECTORS][DOT_COLUMNS];
    for (int b = 0; b < DOT_VECTORS; b++)
        for (int c = 0; c < DOT_COLUMNS; c++) parts[b][c] = AT(ZEROS);
    int64_t j = 0;
    for (; j + WIDTH <= count; j += WIDTH) {
        Vector columns[DOT_COLUMNS];
        for (int c = 0; c < DOT_COLUMNS; c++) columns[c] = AT(x[c] + j);
        for (int b = 0; b < DOT_VECTORS; b++) {
            const Vector a = AT(v[b] + j);
            for (int c = 0; c < DOT_COLUMNS; c++) parts[b][c] += a * columns[c];
        }
    }
    for (int b = 0; b < DOT_VECTORS; b++)
        for (int c = 0; c < DOT_COLUMNS; c++) {
            double rest = 0.0;
            for (int64_t k = j; k < count; k++) rest += v[b][k] * x[c][k];
            sums[b][c] += total_of(parts[b][c]) + rest;
        }
}

/* out (count × n) = V (count × m) X, where columns of X are contiguous and `stride` numbers apart. */
static void column_product(const double *V, int64_t count, const double *X, int64_t m, int64_t n,
                           int64_t stride, double *out) {
    memset(out, 0, (size_t)(count * n) * sizeof(double));
    for (int64_t i = 0; i < n; i += DOT_COLUMNS)
        for (int64_t top = 0; top < m; top += DOT_ROWS) {
            const int64_t height = top + DOT_ROWS < m ? DOT_ROWS : m - top;
            const double *x[DOT_COLUMNS];
            for (int c = 0; c < DOT_COLUMNS; c++) x[c] = X + (i + c < n ? i + c : i) * stride + top;
            for (int64_t b = 0; b < count; b += DOT_VECTORS) {
                const double *v[DOT_VECTORS];
                double sums[DOT_VECTORS][DOT_COLUMNS] = {{0.0}};
                for (int k = 0; k < DOT_VECTORS; k++) v[k] = V + (b + k < count ? b + k : b) * m + top;
                add_dots(v, x, height, sums);
                for (int64_t k = 0; k < DOT_VECTORS && b + k < count; k++)
                    for (int64_t c = 0; c < DOT_COLUMNS && i + c < n; c++)
                        out[(b + k) * n + i + c] += sums[k][c];
            }
        }
}

#endif
