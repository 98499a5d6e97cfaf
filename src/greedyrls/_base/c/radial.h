/* Values of the kernel exp(−γ‖x − c‖²) between points, tile by tile: each is written once. */
#ifndef GREEDYRLS_RADIAL_H
#define GREEDYRLS_RADIAL_H

#include "multiply.h"

/* Coordinates of points that stay in the second-level cache for all centres. */
#define RADIAL_NUMBERS (1 << 15)
/* e^x is 0 in float64 below this. */
#define LOWEST_EXPONENT (-746.0)

/* e^x for x ≤ 0, within 1.1 units in the last place (that of NumPy: 0.7). With n = round(x / ln 2) and
 * r = x − n ln 2 it is 2^n e^r, and e^r = 1 + r + r² q(r), where q interpolates at Chebyshev's points of
 * |r| ≤ ln 2 / 2: its share of the error is 0.15 units. There are no branches, so that compilers make
 * vectors of it, and NaN stays NaN. */
static ALWAYS_INLINE double exp_below_0(double x) {
    /* 1.5 · 2^52: the last bits of a sum with it are an integer. */
    const double shift = 6755399441055744.0;
    x = x < LOWEST_EXPONENT ? LOWEST_EXPONENT : x;
    const double shifted = x * 1.4426950408889634 + shift, n = shifted - shift;
    /* ln 2 in two parts: the product of n and the first one is exact. */
    const double r = (x - n * 0.6931471805582987) - n * 1.6465949582897082e-12;
    double q = 2.5100424157005067e-08;
    q = q * r + 2.7620138719733994e-07;
    q = q * r + 2.7557268378684192e-06;
    q = q * r + 2.480152119021773e-05;
    q = q * r + 0.00019841269863105968;
    q = q * r + 0.0013888888917281794;
    q = q * r + 0.008333333333330051;
    q = q * r + 0.04166666666662399;
    q = q * r + 0.16666666666666669;
    q = q * r + 0.5000000000000001;
    const double power = 1.0 + (r + (r * r) * q);
    /* 2^n in two factors: where it has fewer digits, below 2^−1022, only the last product rounds. */
    union { double value; uint64_t bits; } whole = {shifted}, first, second;
    const uint64_t exponent = whole.bits - 0x4338000000000000 + 2048; /* n + 2048 */
    first.bits = ((exponent >> 1) - 1) << 52;
    second.bits = (exponent - (exponent >> 1) - 1) << 52;
    return power * first.value * second.value;
}

/* Points (n × d) in panels: the first coordinates of PANEL_COLUMNS points, then the second ones. */
static void pack_points(const double *points, int64_t n, int64_t d, double *packed) {
    for (int64_t left = 0; left < n; left += PANEL_COLUMNS, packed += d * PANEL_COLUMNS)
        for (int64_t i = 0; i < PANEL_COLUMNS; i++)
            for (int64_t k = 0; k < d; k++)
                packed[k * PANEL_COLUMNS + i] = left + i < n ? points[(left + i) * d + k] : 0.0;
}

/* tile (AT_ONCE × PANEL_COLUMNS): −γ‖x − c‖² of some centres and the points of a panel. The sum of squared
 * differences is 0 for equal points, and the same for k(x, c) and k(c, x), in whatever tile they are. */
static ALWAYS_INLINE void measure_tile(const double *const *centers, const double *panel, int64_t d,
                                       double gamma, double *tile) {
    Register sum[AT_ONCE][PANEL];
    for (int b = 0; b < AT_ONCE; b++)
        for (int p = 0; p < PANEL; p++) sum[b][p] = *(const Register *)ZEROS;
    for (int64_t k = 0; k < d; k++, panel += PANEL_COLUMNS) {
        Register x[PANEL];
        for (int p = 0; p < PANEL; p++) x[p] = *(const Register *)(panel + p * REGISTER_WIDTH);
        for (int b = 0; b < AT_ONCE; b++)
            for (int p = 0; p < PANEL; p++) {
                const Register difference = x[p] - centers[b][k];
                sum[b][p] += difference * difference;
            }
    }
    for (int b = 0; b < AT_ONCE; b++)
        for (int p = 0; p < PANEL; p++)
            *(Register *)(tile + b * PANEL_COLUMNS + p * REGISTER_WIDTH) = -gamma * sum[b][p];
}

/* Write some rows and columns of a tile. */
static ALWAYS_INLINE void write_tile(const double *tile, int64_t rows, int64_t columns, double *out,
                                     int64_t stride) {
    for (int64_t b = 0; b < rows; b++, tile += PANEL_COLUMNS, out += stride)
        if (columns == PANEL_COLUMNS) memcpy(out, tile, PANEL_COLUMNS * sizeof(double)); /* no call */
        else memcpy(out, tile, (size_t)columns * sizeof(double));
}

/* The same on the other side of the diagonal. */
static ALWAYS_INLINE void mirror_tile(const double *tile, int64_t rows, int64_t columns, double *out,
                                      int64_t stride) {
    for (int64_t i = 0; i < columns; i++, out += stride)
        for (int64_t b = 0; b < rows; b++) out[b] = tile[b * PANEL_COLUMNS + i];
}

/* out (rows × n, rows `stride` numbers apart): the kernel of centres (rows × d) and points (n × d), for the
 * points from `start` to `stop`. If these are the same, `is_square`, values right of the diagonal are computed,
 * and mirrored. 0 without memory. */
static int radial_kernel(const double *centers, int64_t rows, const double *points, int64_t d, double gamma,
                         int64_t start, int64_t stop, double *out, int64_t stride, int is_square) {
    const int64_t most = RADIAL_NUMBERS / (d > 0 ? d : 1) / PANEL_COLUMNS;
    const int64_t width = PANEL_COLUMNS * (most > 1 ? most : 1);
    const double *some[AT_ONCE];
    double tile[AT_ONCE * PANEL_COLUMNS], *packed = malloc((size_t)(width * d + 1) * sizeof(double));
    if (packed == NULL) return 0;
    for (int64_t left = start; left < stop; left += width) {
        const int64_t end = left + width < stop ? left + width : stop;
        pack_points(points + left * d, end - left, d, packed);
        for (int64_t top = 0; top < (is_square ? end : rows); top += AT_ONCE) {
            const int64_t height = top + AT_ONCE < rows ? AT_ONCE : rows - top;
            for (int64_t b = 0; b < AT_ONCE; b++) some[b] = centers + (top + (b < height ? b : 0)) * d;
            for (int64_t i = left; i < end; i += PANEL_COLUMNS) {
                if (is_square && i + PANEL_COLUMNS <= top) continue;
                const int64_t count = i + PANEL_COLUMNS < end ? PANEL_COLUMNS : end - i;
                measure_tile(some, packed + (i - left) * d, d, gamma, tile);
                SIMD()
                for (int64_t k = 0; k < AT_ONCE * PANEL_COLUMNS; k++) tile[k] = exp_below_0(tile[k]);
                write_tile(tile, height, count, out + top * stride + i, stride);
                if (is_square) mirror_tile(tile, height, count, out + i * stride + top, stride);
            }
        }
    }
    free(packed);
    return 1;
}

#endif
