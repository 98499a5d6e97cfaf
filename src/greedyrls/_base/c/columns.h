/* Columns of X, centred and weighted, and their products. */
#ifndef GREEDYRLS_COLUMNS_H
#define GREEDYRLS_COLUMNS_H

#include "penalty.h"

static double number_at(const char *x, char type) {
    switch (type) {
    case 'd': return *(const double *)x;
    case 'f': return *(const float *)x;
    case '?':
    case 'B': return *(const unsigned char *)x;
    case 'b': return *(const signed char *)x;
    case 'h': return *(const short *)x;
    case 'H': return *(const unsigned short *)x;
    case 'i': return *(const int *)x;
    case 'I': return *(const unsigned int *)x;
    case 'l': return (double)*(const long *)x;
    case 'L': return (double)*(const unsigned long *)x;
    case 'q': return (double)*(const long long *)x;
    default: return (double)*(const unsigned long long *)x;
    }
}

/* A part of the numbers of a row or column; the type is known outside of the loop. */
#define COPY(TYPE)                                                                                 \
    for (int64_t k = 0; k < count; k++)                                                            \
        out[k] = (double)*(const TYPE *)(x + (numbers == NULL ? k : numbers[k]) * stride);         \
    return

static void copy(const char *x, char type, int64_t stride, const int64_t *numbers, int64_t count,
                 double *RESTRICT out) {
    if (type == 'd') { COPY(double); }
    if (type == 'f') { COPY(float); }
    for (int64_t k = 0; k < count; k++)
        out[k] = number_at(x + (numbers == NULL ? k : numbers[k]) * stride, type);
}

/* √w ∘ (x_i − mean_i), padded; 0 where a column does not vary: the rest is rounding of its mean. */
static void gather(const Rows *rows, int64_t i, double *RESTRICT out) {
    const int64_t m = rows->m;
    const double mean = rows->means == NULL ? 0.0 : rows->means[i];
    memset(out, 0, (size_t)rows->ld * sizeof(double));
    if (rows->diagonal[i] == 0.0) return;
    copy(rows->x + i * rows->column_stride, rows->type, rows->row_stride, rows->rows, m, out);
    for (int64_t j = 0; j < m; j++) out[j] -= mean;
    if (rows->root != NULL)
        for (int64_t j = 0; j < m; j++) out[j] *= rows->root[j];
}

/* Centred, weighted columns, one after the other; in C order a tile of them at a time. */
static void pack(Rows *rows) {
    const int64_t m = rows->m, n = rows->n, ld = rows->ld;
    const int64_t row_stride = rows->row_stride < 0 ? -rows->row_stride : rows->row_stride;
    const int64_t column_stride =
        rows->column_stride < 0 ? -rows->column_stride : rows->column_stride;
    if (row_stride <= column_stride) {
        for (int64_t i = 0; i < n; i++) gather(rows, i, rows->packed + i * ld);
        return;
    }
    double line[PACKED_COLUMNS];
    for (int64_t top = 0; top < m; top += PACKED_ROWS) {
        const int64_t end = top + PACKED_ROWS < m ? top + PACKED_ROWS : m;
        for (int64_t first = 0; first < n; first += PACKED_COLUMNS) {
            const int64_t width = first + PACKED_COLUMNS < n ? PACKED_COLUMNS : n - first;
            for (int64_t j = top; j < end; j++) {
                const int64_t row = rows->rows == NULL ? j : rows->rows[j];
                const char *x = rows->x + row * rows->row_stride + first * rows->column_stride;
                const double root = rows->root == NULL ? 1.0 : rows->root[j];
                copy(x, rows->type, rows->column_stride, NULL, width, line);
                for (int64_t k = 0; k < width; k++) {
                    const double mean = rows->means == NULL ? 0.0 : rows->means[first + k];
                    rows->packed[(first + k) * ld + j] = root * (line[k] - mean);
                }
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = rows->diagonal[i] == 0.0 ? 0 : m;
        for (int64_t j = first; j < ld; j++) rows->packed[i * ld + j] = 0.0;
    }
}

/* x_i·x_b of all features i, (count × n), from packed columns. What a pair gets does not depend on
 * which others are asked for. */
static void products(const Rows *rows, const int64_t *indices, int64_t count, double *out) {
    const int64_t n = rows->n, ld = rows->ld;
    memset(out, 0, (size_t)(count * n) * sizeof(double));
    for (int64_t top = 0; top < ld; top += TILE) {
        const int64_t height = top + TILE < ld ? TILE : ld - top;
        for (int64_t i = 0; i < n; i += 4) {
            const double *a[4];
            for (int k = 0; k < 4; k++) a[k] = rows->packed + (i + k < n ? i + k : i) * ld + top;
            const int64_t width = i + 4 <= n ? 4 : n - i;
            for (int64_t b = 0; b < count; b += 2) {
                const int64_t other = b + 1 < count ? b + 1 : b;
                const double *RESTRICT u = rows->packed + indices[b] * ld + top;
                const double *RESTRICT v = rows->packed + indices[other] * ld + top;
                const double *RESTRICT a0 = a[0], *RESTRICT a1 = a[1];
                const double *RESTRICT a2 = a[2], *RESTRICT a3 = a[3];
                double u0 = 0, u1 = 0, u2 = 0, u3 = 0, v0 = 0, v1 = 0, v2 = 0, v3 = 0;
                SIMD(reduction(+ : u0, u1, u2, u3, v0, v1, v2, v3))
                for (int64_t j = 0; j < height; j++) {
                    u0 += a0[j] * u[j], u1 += a1[j] * u[j], u2 += a2[j] * u[j], u3 += a3[j] * u[j];
                    v0 += a0[j] * v[j], v1 += a1[j] * v[j], v2 += a2[j] * v[j], v3 += a3[j] * v[j];
                }
                const double us[4] = {u0, u1, u2, u3}, vs[4] = {v0, v1, v2, v3};
                for (int64_t k = 0; k < width; k++) {
                    out[b * n + i + k] += us[k];
                    if (other > b) out[other * n + i + k] += vs[k];
                }
            }
        }
    }
}

static const double *column_of(Search *search, int64_t i) {
    const Rows *rows = search->rows;
    if (rows->packed != NULL) return rows->packed + i * rows->ld;
    const double *gathered = COLUMN(rows->columns, i);
    if (gathered != NULL) return gathered;
    for (int64_t k = 0; k < N_RECENT; k++)
        if (search->recent_index[k] == i) return search->recent + k * rows->ld;
    const int64_t place = search->n_gathered++ % N_RECENT;
    search->recent_index[place] = i;
    gather(rows, i, search->recent + place * rows->ld);
    return search->recent + place * rows->ld;
}

static const double *chosen_column(const Search *search, int64_t s) {
    if (search->columns == NULL)
        return search->rows->packed + search->chosen[s] * search->rows->ld;
    return search->columns + s * search->rows->ld;
}

#endif
