/* Products of X with a few vectors, where columns of X are contiguous. */
#ifndef GREEDYRLS_DOTS_H
#define GREEDYRLS_DOTS_H

#include "common.h"

/* Rows that are multiplied at a time: they stay in the cache for all vectors. */
#define DOT_ROWS 2048

/* With so many vectors it is faster than BLAS, which copies X into another order first (measured), and
 * vectors and columns of X whose sums stay in registers. */
#if defined(__AVX512F__)
#define MOST_DOTS 32
#define DOT_VECTORS 4
#define DOT_COLUMNS 6
#else
#define MOST_DOTS 0
#define DOT_VECTORS 2
#define DOT_COLUMNS 2
#endif

/* out[b][c] += v_b·x_c over some rows. The order of a sum does not depend on the other ones. What is
 * `ahead` numbers further is fetched: the same rows of the next columns, as long as there are such. */
static ALWAYS_INLINE void add_dots(const int vectors, const double *const *v, const double *const *x,
                                   int64_t count, int64_t ahead, double *out, int64_t apart,
                                   int64_t width) {
    Vector parts[4][DOT_COLUMNS];
    for (int b = 0; b < vectors; b++)
        for (int c = 0; c < DOT_COLUMNS; c++) parts[b][c] = AT(ZEROS);
    int64_t j = 0;
    for (; j + WIDTH <= count; j += WIDTH) {
        Vector columns[DOT_COLUMNS];
        for (int c = 0; c < DOT_COLUMNS; c++) columns[c] = AT(x[c] + j);
        if (ahead)
            for (int c = 0; c < DOT_COLUMNS; c++) PREFETCH(x[c] + ahead + j);
        for (int b = 0; b < vectors; b++) {
            const Vector a = AT(v[b] + j);
            for (int c = 0; c < DOT_COLUMNS; c++) parts[b][c] += a * columns[c];
        }
    }
    for (int b = 0; b < vectors; b++)
        for (int c = 0; c < DOT_COLUMNS && c < width; c++) {
            double rest = 0.0;
            for (int64_t k = j; k < count; k++) rest += v[b][k] * x[c][k];
            out[b * apart + c] += total_of(parts[b][c]) + rest;
        }
}

static void add_dots_of(int64_t vectors, const double *const *v, const double *const *x, int64_t count,
                        int64_t ahead, double *out, int64_t apart, int64_t width) {
#define CASE(b)                                                                                    \
    case b: add_dots(b, v, x, count, ahead, out, apart, width); break
    switch (vectors) { CASE(1); CASE(2); CASE(3); CASE(4); }
#undef CASE
}

/* Σ w x² over some rows; all weights are 1 without `w`. */
static double weighted_square(const double *w, const double *x, int64_t count) {
    if (w == NULL) return dot(x, x, count);
    Vector sums = AT(ZEROS);
    double rest = 0.0;
    int64_t j = 0;
    for (; j + WIDTH <= count; j += WIDTH) sums += AT(w + j) * (AT(x + j) * AT(x + j));
    for (; j < count; j++) rest += w[j] * (x[j] * x[j]);
    return total_of(sums) + rest;
}

/* out (count × n, rows `apart` numbers apart) = V (count × m) X, where columns of X are contiguous and `stride`
 * numbers apart; and the sums of squares of these columns with weights `w`, if `squares` is there. */
static void column_product(const double *V, int64_t count, const double *X, int64_t m, int64_t n,
                           int64_t stride, double *out, int64_t apart, const double *w,
                           double *squares) {
    for (int64_t b = 0; b < count; b++) memset(out + b * apart, 0, (size_t)n * sizeof(double));
    if (squares != NULL) memset(squares, 0, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i += DOT_COLUMNS)
        for (int64_t top = 0; top < m; top += DOT_ROWS) {
            const int64_t height = top + DOT_ROWS < m ? DOT_ROWS : m - top;
            const int64_t ahead = i + 2 * DOT_COLUMNS <= n ? DOT_COLUMNS * stride : 0;
            const double *x[DOT_COLUMNS];
            for (int c = 0; c < DOT_COLUMNS; c++) x[c] = X + (i + c < n ? i + c : i) * stride + top;
            for (int64_t b = 0; b < count; b += DOT_VECTORS) {
                const int64_t vectors = b + DOT_VECTORS < count ? DOT_VECTORS : count - b;
                const double *v[DOT_VECTORS];
                for (int k = 0; k < DOT_VECTORS; k++) v[k] = V + (b + (k < vectors ? k : 0)) * m + top;
                add_dots_of(vectors, v, x, height, b == 0 ? ahead : 0, out + b * apart + i, apart, n - i);
            }
            for (int64_t c = 0; squares != NULL && c < DOT_COLUMNS && i + c < n; c++)
                squares[i + c] += weighted_square(w == NULL ? NULL : w + top, x[c], height);
        }
}

#endif
