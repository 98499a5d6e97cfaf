/* Products of X with vectors, where rows of X are contiguous. */
#ifndef GREEDYRLS_MULTIPLY_H
#define GREEDYRLS_MULTIPLY_H

#include "common.h"

/* A panel is PANEL registers of columns wide: its sums with AT_ONCE vectors stay in registers, too.
 * Without as many registers BLAS is faster. */
#define MOST_AT_ONCE 8
#if defined(__AVX512F__)
#define MULTIPLIES 1
#define AT_ONCE 8
#define PANEL 3
#define REGISTER_BYTES 64
#elif defined(__AVX2__)
#define MULTIPLIES 1
#define AT_ONCE 6
#define PANEL 2
#define REGISTER_BYTES 32
#else
#define MULTIPLIES 0
#define AT_ONCE 4
#define PANEL 2
#define REGISTER_BYTES 16
#endif
#if defined(__GNUC__) || defined(__clang__)
typedef double Register
    __attribute__((vector_size(REGISTER_BYTES), aligned(8), may_alias));
#else
typedef double Register;
#endif
#define REGISTER_WIDTH ((int64_t)(sizeof(Register) / sizeof(double)))
#define PANEL_COLUMNS (PANEL * REGISTER_WIDTH)
/* A tile of X stays in the cache for all vectors, and so do the parts of this many of them. */
#define TILE_ROWS 64
#define TILE_COLUMNS (504 / PANEL_COLUMNS * PANEL_COLUMNS)
/* Cache lines that a row of a panel begins, and numbers of each. */
#define PANEL_LINES ((PANEL_COLUMNS + 7) / 8)
#define LINE 8
/* With so few vectors the processor waits for memory anyway, and fetches best what comes next. */
#define FEW_VECTORS 4
#define MOST_VECTORS 64

/* The parts of some vectors that belong to the rows of a tile. */
typedef struct {
    int64_t count, height;
    int64_t at_once; /* vectors of a group: all groups but the last have as many */
    /* Of a group, row after row; the last one has room for as many as the others. */
    double numbers[(MOST_VECTORS + MOST_AT_ONCE) * TILE_ROWS];
} Parts;

static void set_parts(Parts *parts, int64_t count, int64_t height) {
    const int64_t groups = (count + AT_ONCE - 1) / AT_ONCE;
    parts->count = count, parts->height = height;
    parts->at_once = (count + groups - 1) / groups;
}

/* Where the number of vector b for the first row of the tile is; those for other rows follow,
 * `at_once` apart. */
static double *part_of(Parts *parts, int64_t b) {
    const int64_t group = b / parts->at_once;
    return parts->numbers + group * parts->at_once * parts->height + b % parts->at_once;
}

/* out += V X for `count` vectors and a panel. Meanwhile, some cache lines of a later tile are fetched. */
static ALWAYS_INLINE void add_panel(const int count, const double *v, int64_t at_once,
                                    const double *x, int64_t stride, int64_t height, double *out,
                                    int64_t apart, const double *later, int lines) {
    Register sum[MOST_AT_ONCE][PANEL];
    for (int b = 0; b < count; b++)
        for (int k = 0; k < PANEL; k++) sum[b][k] = *(const Register *)ZEROS;
    for (int64_t j = 0; j < height; j++, x += stride, v += at_once, later += stride) {
        for (int k = 0; k < PANEL_LINES; k++)
            if (k < lines) PREFETCH(later + k * LINE);
        Register a[PANEL];
        for (int k = 0; k < PANEL; k++) a[k] = *(const Register *)(x + k * REGISTER_WIDTH);
        for (int b = 0; b < count; b++)
            for (int k = 0; k < PANEL; k++) sum[b][k] += v[b] * a[k];
    }
    for (int b = 0; b < count; b++)
        for (int k = 0; k < PANEL; k++)
            *(Register *)(out + b * apart + k * REGISTER_WIDTH) += sum[b][k];
}

static void add_group(int64_t count, const double *v, int64_t at_once, const double *x,
                      int64_t stride, int64_t height, double *out, int64_t apart,
                      const double *later, int lines) {
#define CASE(b)                                                                                    \
    case b: add_panel(b, v, at_once, x, stride, height, out, apart, later, lines); break
    switch (count) { CASE(1); CASE(2); CASE(3); CASE(4); CASE(5); CASE(6); CASE(7); CASE(8); }
#undef CASE
}

/* The same for columns that are no whole panel, which are copied to one. */
static void add_rest(const Parts *parts, const double *x, int64_t stride, int64_t n, double *out,
                     int64_t apart) {
    double copy[TILE_ROWS * PANEL_COLUMNS], sums[MOST_AT_ONCE * PANEL_COLUMNS];
    memset(copy, 0, sizeof copy);
    for (int64_t j = 0; j < parts->height; j++)
        memcpy(copy + j * PANEL_COLUMNS, x + j * stride, (size_t)n * sizeof(double));
    for (int64_t b = 0; b < parts->count; b += parts->at_once) {
        const int64_t count = b + parts->at_once < parts->count ? parts->at_once : parts->count - b;
        memset(sums, 0, sizeof sums);
        add_group(count, parts->numbers + b * parts->height, parts->at_once, copy, PANEL_COLUMNS,
                  parts->height, sums, PANEL_COLUMNS, x, 0);
        for (int64_t k = 0; k < count; k++)
            for (int64_t i = 0; i < n; i++) out[(b + k) * apart + i] += sums[k * PANEL_COLUMNS + i];
    }
}

/* out += V X for the rows of a tile and n columns. Each group fetches some cache lines of the `later`
 * tile, which arrive while these are multiplied. */
static void add_tile(const Parts *parts, const double *x, int64_t stride, int64_t n, double *out,
                     int64_t apart, const double *later) {
    const int64_t whole = n / PANEL_COLUMNS * PANEL_COLUMNS;
    if (parts->count <= FEW_VECTORS) later = x + PANEL_COLUMNS + LINE - 1;
    const int64_t groups = (parts->count + parts->at_once - 1) / parts->at_once;
    for (int64_t g = 0; g < groups; g++) {
        const int64_t b = g * parts->at_once, left = parts->count - b;
        const int64_t first = g * PANEL_LINES / groups, end = (g + 1) * PANEL_LINES / groups;
        for (int64_t i = 0; i < whole; i += PANEL_COLUMNS)
            add_group(left < parts->at_once ? left : parts->at_once, parts->numbers + b * parts->height,
                      parts->at_once, x + i, stride, parts->height, out + b * apart + i, apart,
                      later + i + first * LINE, (int)(end - first));
    }
    if (whole < n) add_rest(parts, x + whole, stride, n - whole, out + whole, apart);
}

/* squares += the weighted squares of some rows; all weights are 1 without `w`. */
static void add_squares(const double *w, const double *x, int64_t stride, int64_t m, int64_t n,
                        double *RESTRICT squares) {
    for (int64_t j = 0; j < m; j++, x += stride) {
        const double weight = w == NULL ? 1.0 : w[j];
        for (int64_t i = 0; i < n; i++) squares[i] += weight * (x[i] * x[i]);
    }
}

static void clear(double *out, int64_t count, int64_t n, int64_t apart) {
    for (int64_t b = 0; b < count; b++) memset(out + b * apart, 0, (size_t)n * sizeof(double));
}

/* out (count × n, rows `apart` numbers apart) = V (count × m) X, where rows of X are `stride` numbers
 * apart; and the sums of squares of the columns of X, if `squares` is there. */
static void multiply(const double *V, int64_t count, const double *X, int64_t m, int64_t n,
                     int64_t stride, double *out, int64_t apart, const double *w, double *squares) {
    Parts parts;
    clear(out, count, n, apart);
    if (squares != NULL) clear(squares, 1, n, n);
    for (int64_t first = 0; first < count; first += MOST_VECTORS) {
        const int64_t some = first + MOST_VECTORS < count ? MOST_VECTORS : count - first;
        for (int64_t top = 0; top < m; top += TILE_ROWS) {
            set_parts(&parts, some, top + TILE_ROWS < m ? TILE_ROWS : m - top);
            for (int64_t b = 0; b < some; b++) {
                double *part = part_of(&parts, b);
                const double *v = V + (first + b) * m + top;
                for (int64_t j = 0; j < parts.height; j++) part[j * parts.at_once] = v[j];
            }
            for (int64_t left = 0; left < n; left += TILE_COLUMNS) {
                const int64_t end = left + TILE_COLUMNS;
                const int64_t width = (end < n ? end : n) - left;
                const double *x = X + top * stride + left;
                const double *later = end < n ? x + TILE_COLUMNS : X + (top + TILE_ROWS) * stride;
                add_tile(&parts, x, stride, width, out + first * apart + left, apart, later);
                if (squares != NULL && first == 0)
                    add_squares(w == NULL ? NULL : w + top, x, stride, parts.height, width,
                                squares + left);
            }
        }
    }
}

/* Whether X is float64 whose rows are contiguous, and all of them count. */
static int has_plain_rows(const Rows *rows) {
    return rows->type == 'd' && rows->rows == NULL && rows->column_stride == 8
           && rows->row_stride >= 8 * rows->n && rows->row_stride % 8 == 0;
}

/* The parts of columns b that belong to a tile, weighted, with their sums added to `totals`; and the
 * columns as `gather` has them, if they are wanted. */
static void take_parts(const Rows *rows, const int64_t *features, int64_t count, int64_t top,
                       Parts *parts, double *totals, double *columns) {
    const int64_t stride = rows->row_stride / (int64_t)sizeof(double);
    for (int64_t b = 0; b < count; b++) {
        const double mean = rows->means == NULL ? 0.0 : rows->means[features[b]];
        const double *x = (const double *)rows->x + top * stride + features[b];
        double *part = part_of(parts, b), *column = columns == NULL ? NULL : columns + b * rows->ld + top;
        for (int64_t j = 0; j < parts->height; j++) {
            PREFETCH(x + (j + TILE_ROWS) * stride);
            const double root = rows->root == NULL ? 1.0 : rows->root[top + j];
            const double value = root * (x[j * stride] - mean);
            part[j * parts->at_once] = root * value;
            totals[b] += root * value;
            if (column != NULL) column[j] = rows->diagonal[features[b]] == 0.0 ? 0.0 : value;
        }
    }
}

/* v'X minus the part of the means, where `total` is the sum of v; 0 of columns that do not vary: the
 * rest is rounding. */
static void centre(const Rows *rows, double total, int64_t start, int64_t stop,
                   double *RESTRICT sums) {
    const double *RESTRICT diagonal = rows->diagonal, *RESTRICT means = rows->means;
    if (means != NULL) {
        SIMD()
        for (int64_t i = start; i < stop; i++) sums[i] -= total * means[i];
    }
    SIMD()
    for (int64_t i = start; i < stop; i++) sums[i] = diagonal[i] > 0.0 ? sums[i] : 0.0;
}

/* The part of a vector of rows that belongs to a tile, weighted, with its sum added to `total`. */
static void take_vector(const Rows *rows, const double *vector, int64_t top, int64_t height,
                        int64_t at_once, double *part, double *total) {
    for (int64_t j = 0; j < height; j++) {
        const double value = rows->root == NULL ? vector[top + j] : rows->root[top + j] * vector[top + j];
        part[j * at_once] = value;
        *total += value;
    }
}

/* Gram columns x_b'X (count × n) of features, for the columns of X from `start` to `stop`, and those of
 * X (count × ld) if they are wanted. These are read where they lie, a tile ahead of its product. If there
 * is an anchor, one more row of `out` is a'X. */
static void gram_columns(const Rows *rows, const int64_t *indices, int64_t count, const double *anchor,
                         int64_t start, int64_t stop, double *out, double *columns) {
    const int64_t m = rows->m, n = rows->n, ld = rows->ld, total = count + (anchor != NULL);
    const int64_t stride = rows->row_stride / (int64_t)sizeof(double);
    Parts parts;
    double totals[MOST_VECTORS];
    clear(out + start, total, stop - start, n);
    if (columns != NULL) clear(columns + m, count, ld - m, ld);
    for (int64_t first = 0; first < total; first += MOST_VECTORS) {
        const int64_t some = first + MOST_VECTORS < total ? MOST_VECTORS : total - first;
        const int64_t n_features = first + some < count ? some : count - first;
        const int64_t *features = indices + first;
        double *sums = out + first * n;
        memset(totals, 0, sizeof totals);
        for (int64_t top = 0; top < m; top += TILE_ROWS) {
            set_parts(&parts, some, top + TILE_ROWS < m ? TILE_ROWS : m - top);
            take_parts(rows, features, n_features, top, &parts, totals,
                       columns == NULL ? NULL : columns + first * ld);
            if (n_features < some)
                take_vector(rows, anchor, top, parts.height, parts.at_once, part_of(&parts, n_features),
                            totals + n_features);
            for (int64_t left = start; left < stop; left += TILE_COLUMNS) {
                const int64_t end = left + TILE_COLUMNS;
                const double *x = (const double *)rows->x + top * stride + left;
                const double *later = end < stop ? x + TILE_COLUMNS : x + TILE_ROWS * stride - (left - start);
                add_tile(&parts, x, stride, (end < stop ? end : stop) - left, sums + left, n, later);
            }
        }
        for (int64_t b = 0; b < some; b++)
            if (b >= n_features || rows->diagonal[features[b]] > 0.0) centre(rows, totals[b], start, stop, sums + b * n);
            else clear(sums + b * n + start, 1, stop - start, n);
    }
}

#endif
