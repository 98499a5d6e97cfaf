/* See search.h. This file is compiled once for each set of instructions that it may run on. */

#include "search.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef VARIANT
#define VARIANT baseline
#endif
#define JOINED(variant, name) variant##_##name
#define NAME_IN(variant, name) JOINED(variant, name)
#define TEXT(a) #a
#define QUOTED(a) TEXT(a)

#if defined(__GNUC__) || defined(__clang__)
#define SIMD(...) _Pragma(QUOTED(omp simd __VA_ARGS__))
#define RESTRICT __restrict__
#else
#define SIMD(...)
#define RESTRICT __restrict
#endif

/* The constants of `_base/_tolerances.py`, where their reasons are; a test compares them. */
#define TIE 1e-10
#define TIE_ROUNDING 2e-15
#define LOSS_ROUNDING 1e-13
#define SUM_ROUNDING 1e-13
#define TINY 1e-300
#define PARALLEL 1e-10
#define SMALLEST_D 1e-12
#define REFINED_PIVOT 1e-3
#define TRUSTED_PIVOT 1e-5
#define DRIFT_BOUND 1e-10
#define MARGIN 1e-9
#define UNDECIDED 1e-10

/* Rounding of a candidate's loss, relative to it, for each A_ii/δ_i: its δ lost as many digits. */
#define PIVOT_ROUNDING (64.0 * DBL_EPSILON)
/* Within so much of it, relative to its terms, the side of a decision boundary is unknown. */
#define UNSURE 1e-12
/* Tile of rows in products of columns: both operands stay in the cache. */
#define TILE 512
/* An anchor, which takes a pass over X, pays where it may rule out one candidate in so many. */
#define ANCHOR_SHARE 16
/* Tile of a copy of X. */
#define PACKED_ROWS 64
#define PACKED_COLUMNS 32
/* Candidates whose z is computed together. */
#define GROUP 4
/* Candidates of lowest bound that a step scores first. */
#define FIRST 8

/* Vectors of LANES numbers, which compilers break up into those of the processor. */
#if defined(__GNUC__) || defined(__clang__)
typedef double Vector __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));
#define AT(a) (*(const Vector *)(a))
#else
#define AT(a) (*(a))
typedef double Vector;
#endif
static const double ZEROS[LANES] = {0.0};
#define WIDTH ((int64_t)(sizeof(Vector) / sizeof(double)))

static double total_of(Vector sums) {
    double total = 0.0;
    const double *parts = (const double *)&sums;
    for (int64_t l = 0; l < WIDTH; l++) total += parts[l];
    return total;
}

static double dot(const double *RESTRICT a, const double *RESTRICT b, int64_t count) {
    Vector first = AT(ZEROS), second = AT(ZEROS);
    int64_t j = 0;
    for (; j + 2 * WIDTH <= count; j += 2 * WIDTH) {
        first += AT(a + j) * AT(b + j);
        second += AT(a + j + WIDTH) * AT(b + j + WIDTH);
    }
    double rest = 0.0;
    for (; j < count; j++) rest += a[j] * b[j];
    return total_of(first + second) + rest;
}

/* --- Columns ------------------------------------------------------------------------------- */

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

/* --- The rows of the current model --------------------------------------------------------- */

static void measure_model(Search *search) {
    const Rows *rows = search->rows;
    const int64_t t = rows->t, ld = rows->ld, m = rows->m;
    const double *RESTRICT d = search->d, *RESTRICT w = rows->weights;
    double *RESTRICT omega = search->omega, *RESTRICT losses = search->scratch;
    double *sums = search->sums, largest = -INFINITY, smallest = INFINITY;
    for (int64_t j = 0; j < ld; j++) omega[j] = 1.0 / (d[j] * d[j]), losses[j] = 0.0;
    for (int64_t j = 0; j < m; j++) {
        largest = d[j] > largest ? d[j] : largest;
        smallest = d[j] < smallest ? d[j] : smallest;
    }
    search->total = 0.0;
    for (int64_t k = 0; k < t; k++) {
        const double *RESTRICT r = search->r + k * ld;
        double *RESTRICT g = search->g + k * ld;
        double r_r = 0.0, g_r = 0.0, g_g = 0.0;
        SIMD(reduction(+ : r_r, g_r, g_g))
        for (int64_t j = 0; j < ld; j++) {
            g[j] = omega[j] * r[j];
            losses[j] += g[j] * r[j];
            r_r += r[j] * r[j];
            g_r += g[j] * r[j];
            g_g += g[j] * g[j];
        }
        sums[k] = r_r, sums[t + k] = g_r, sums[2 * t + k] = g_g;
        sums[3 * t + k] = sums[4 * t + k] = sums[5 * t + k] = 0.0;
        search->total += g_r;
        if (search->has_anchor) {
            const double *a = search->anchor + k * ld;
            sums[3 * t + k] = dot(a, r, ld);
            sums[4 * t + k] = dot(a, g, ld);
            sums[5 * t + k] = dot(a, a, ld);
        }
    }
    double squares = 0.0, weighted = 0.0;
    for (int64_t j = 0; j < ld; j++) {
        const double loss = losses[j] / (double)t;
        squares += loss * loss;
        weighted += loss * w[j];
    }
    sums[6 * t] = squares, sums[6 * t + 1] = weighted;
    sums[6 * t + 2] = largest, sums[6 * t + 3] = smallest;
}

/* r ← r − z ρ, d ← d − z²/δ, a ← a − z (a·z)/‖z‖². */
static void move_rows(Search *search, const double *RESTRICT z, double delta, const double *rho,
                      const double *along) {
    const int64_t ld = search->rows->ld;
    double *RESTRICT d = search->d;
    const double inverse = 1.0 / delta;
    for (int64_t j = 0; j < ld; j++) d[j] -= z[j] * z[j] * inverse;
    for (int64_t k = 0; k < search->rows->t; k++) {
        double *RESTRICT r = search->r + k * ld;
        const double step = rho[k];
        for (int64_t j = 0; j < ld; j++) r[j] -= step * z[j];
        if (search->has_anchor) {
            double *RESTRICT a = search->anchor + k * ld;
            const double part = along[k];
            for (int64_t j = 0; j < ld; j++) a[j] -= part * z[j];
        }
    }
}

/* The chosen column and its products with the others. */
static void keep_column(Search *search, int64_t index, const double *column) {
    const int64_t s = search->size, ld = search->rows->ld, capacity = search->capacity;
    if (search->columns != NULL)
        memcpy(search->columns + s * ld, column, (size_t)ld * sizeof(double));
    for (int64_t k = 0; k < s; k++)
        search->gram[s * capacity + k] = search->gram[k * capacity + s] =
            dot(column, chosen_column(search, k), ld);
    search->gram[s * capacity + s] = search->rows->diagonal[index];
    search->chosen[s] = index;
    search->barred[index] = 1;
    search->n_left--;
}

/* The leave-one-out sum of each target with a candidate added; their sum. */
static double loo_sums(const Search *search, const double *RESTRICT z, double delta,
                       const double *rho, double *by_target) {
    const int64_t t = search->rows->t, ld = search->rows->ld;
    const double *RESTRICT d = search->d, inverse = 1.0 / delta;
    double total = 0.0;
    if (t == 1) {
        const double *RESTRICT r = search->r;
        const double step = rho[0];
        SIMD(reduction(+ : total))
        for (int64_t j = 0; j < ld; j++) {
            const double error = (r[j] - step * z[j]) / (d[j] - z[j] * z[j] * inverse);
            total += error * error;
        }
        by_target[0] = total;
        return total;
    }
    double *RESTRICT shrunk = search->scratch + 3 * ld;
    for (int64_t j = 0; j < ld; j++) {
        const double left = d[j] - z[j] * z[j] * inverse;
        shrunk[j] = 1.0 / (left * left);
    }
    for (int64_t k = 0; k < t; k++) {
        const double *RESTRICT r = search->r + k * ld;
        const double step = rho[k];
        double sum = 0.0;
        SIMD(reduction(+ : sum))
        for (int64_t j = 0; j < ld; j++) {
            const double error = r[j] - step * z[j];
            sum += error * error * shrunk[j];
        }
        by_target[k] = sum;
        total += sum;
    }
    return total;
}

/* --- Choosing ------------------------------------------------------------------------------ */

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
    double *loss, *tolerance, *rounding;
    int64_t n_least;
    double least[MOST_RUNNERS_UP + 1], limits[MOST_RUNNERS_UP + 1]; /* with tolerances */
    double taken[MOST_RUNNERS_UP + 1]; /* losses of the best */
} Scored;

static int remember(Scored *scored, int64_t index, double loss, double tolerance, double rounding) {
    if (scored->count == scored->room) {
        const int64_t room = scored->room ? 2 * scored->room : 64;
        int64_t *indices = realloc(scored->index, (size_t)room * sizeof(int64_t));
        if (indices != NULL) scored->index = indices;
        double **arrays[3] = {&scored->loss, &scored->tolerance, &scored->rounding};
        for (int k = 0; k < 3; k++) {
            double *array = realloc(*arrays[k], (size_t)room * sizeof(double));
            if (array != NULL) *arrays[k] = array;
            if (array == NULL || indices == NULL) return 0;
        }
        scored->room = room;
    }
    scored->index[scored->count] = index;
    scored->loss[scored->count] = loss;
    scored->tolerance[scored->count] = tolerance;
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
    free(scored->index), free(scored->loss), free(scored->tolerance), free(scored->rounding);
}

/* No candidate whose loss is above this is among the best, or ties with them. */
static double limit_of(const Scored *scored) {
    return scored->n_least < scored->wanted ? INFINITY : scored->limits[scored->wanted - 1];
}

static Scored nothing_scored(int64_t wanted) {
    Scored scored;
    memset(&scored, 0, sizeof(scored));
    scored.wanted = wanted;
    return scored;
}

/* Positions of the best, the best of the others, and so on: the lowest index of those that tie.
 * False where rounding may decide. */
static int best_of(Scored *scored, int64_t count, int64_t *positions) {
    for (int64_t rank = 0; rank < count; rank++) {
        int64_t least = -1;
        for (int64_t k = 0; k < scored->count; k++)
            if (scored->loss[k] < INFINITY && (least < 0 || scored->loss[k] < scored->loss[least]))
                least = k;
        if (least < 0) return 0;
        const double tolerance = scored->tolerance[least], limit = scored->loss[least] + tolerance;
        int64_t chosen = least;
        for (int64_t k = 0; k < scored->count; k++) {
            if (!(scored->loss[k] < INFINITY)) continue;
            const double doubt = scored->rounding[k] + scored->rounding[least] + 0.05 * tolerance;
            if (k != least && fabs(scored->loss[k] - limit) <= doubt) return 0;
            if (scored->loss[k] <= limit && scored->index[k] < scored->index[chosen]) chosen = k;
        }
        positions[rank] = chosen;
        scored->taken[rank] = scored->loss[chosen];
        scored->loss[chosen] = INFINITY;
    }
    return 1;
}

static double rounding_of(const Search *search, int64_t i, double loss, double tolerance) {
    const double scale = search->rows->diagonal[i] + search->alpha;
    return PIVOT_ROUNDING * scale / search->delta[i] * loss + 0.05 * tolerance;
}

/* --- Coefficients on the chosen features ----------------------------------------------------- */

/* l_u of a candidate: its entry in the factor. */
static double factor_of(const Search *search, int64_t u, int64_t i) {
    if (search->keeps_z)
        return search->c[i * search->capacity + u] / sqrt(search->pivots[u]);
    return search->L[u * search->rows->n + i];
}

/* β = L⁻ᵀ l, (|S|). */
static void coefficients(const Search *search, int64_t i, double *RESTRICT beta) {
    const int64_t s = search->size, capacity = search->capacity;
    for (int64_t k = 0; k < s; k++) beta[k] = 0.0;
    for (int64_t u = 0; u < s; u++) {
        const double l = factor_of(search, u, i);
        const double *RESTRICT row = search->inverse + u * capacity;
        for (int64_t k = 0; k <= u; k++) beta[k] += row[k] * l;
    }
}

/* A feature to add: its loss, pivot and direction. */
typedef struct {
    double loss, delta, norm;
    double *z, *beta, *rho, *inner; /* (ld), (capacity), (t), (t) */
} Best;

#define BEST_SIZE(search) ((search)->rows->ld + (search)->capacity + 2 * (search)->rows->t)

static Best best_in(const Search *search, double *work) {
    const int64_t ld = search->rows->ld, t = search->rows->t, capacity = search->capacity;
    double *rho = work + ld + capacity;
    const Best best = {INFINITY, 0.0, 0.0, work, work + ld, rho, rho + t};
    return best;
}

/* z, ‖z‖², δ, r·z and ρ of a feature from its coefficients. */
static void measure(Search *search, int64_t index, Best *best) {
    const Rows *rows = search->rows;
    const int64_t s = search->size, ld = rows->ld, t = rows->t;
    double *RESTRICT z = best->z;
    memcpy(z, column_of(search, index), (size_t)ld * sizeof(double));
    for (int64_t u = 0; u < s; u++) {
        const double *RESTRICT x = chosen_column(search, u);
        const double slope = best->beta[u];
        for (int64_t j = 0; j < ld; j++) z[j] -= slope * x[j];
    }
    best->norm = dot(z, z, ld);
    best->delta = best->norm + search->alpha * (1.0 + dot(best->beta, best->beta, s));
    for (int64_t k = 0; k < t; k++) {
        double shrinkage = 0.0;
        for (int64_t u = 0; u < s; u++) shrinkage += search->weights[u * t + k] * best->beta[u];
        best->inner[k] = dot(search->r + k * ld, z, ld);
        best->rho[k] = (best->inner[k] + search->alpha * shrinkage) / best->delta;
    }
}

/* Refine β by the difference of X_S'z and αβ, twice: z of a feature that the chosen ones nearly span
 * is mostly the error of β. `work` is (2 × capacity). */
static void refine(Search *search, int64_t index, Best *best, double *work) {
    const int64_t s = search->size, ld = search->rows->ld, capacity = search->capacity;
    double *wrong = work, *solved = work + capacity;
    for (int round = 0; round < 2; round++) {
        for (int64_t u = 0; u < s; u++)
            wrong[u] = dot(chosen_column(search, u), best->z, ld) - search->alpha * best->beta[u];
        for (int64_t u = 0; u < s; u++)
            solved[u] = dot(search->inverse + u * capacity, wrong, u + 1);
        for (int64_t u = 0; u < s; u++)
            for (int64_t k = 0; k <= u; k++)
                best->beta[k] += search->inverse[u * capacity + k] * solved[u];
        measure(search, index, best);
    }
}

/* L⁻¹ and w with a feature added. */
static void add_coefficients(Search *search, const Best *best) {
    const int64_t s = search->size, t = search->rows->t, capacity = search->capacity;
    const double root = sqrt(best->delta);
    for (int64_t u = 0; u < s; u++) {
        search->inverse[s * capacity + u] = best->beta[u] / -root;
        for (int64_t k = 0; k < t; k++) search->weights[u * t + k] -= best->beta[u] * best->rho[k];
    }
    search->inverse[s * capacity + s] = 1.0 / root;
    for (int64_t k = 0; k < t; k++) search->weights[s * t + k] = best->rho[k];
}

/* --- Searches that keep z of all candidates ------------------------------------------------- */

/* The loss of a candidate that is no sum of squares, from its z; `unsure` is the share of rows
 * whose class rounding may decide. */
static double other_loss(Search *search, const double *RESTRICT z, double delta, const double *rho,
                         double *unsure) {
    const Rows *rows = search->rows;
    const int64_t t = rows->t, ld = rows->ld;
    const double *RESTRICT d = search->d, *RESTRICT e = rows->shares, inverse = 1.0 / delta;
    double sum = 0.0, doubt = 0.0;
    *unsure = 0.0;
    if (search->loss == ABSOLUTE) {
        for (int64_t k = 0; k < t; k++) {
            const double *RESTRICT r = search->r + k * ld;
            const double step = rho[k];
            SIMD(reduction(+ : sum))
            for (int64_t j = 0; j < ld; j++)
                sum += e[j] * fabs((r[j] - step * z[j]) / (d[j] - z[j] * z[j] * inverse));
        }
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
            doubt += fabs(left) <= UNSURE * (d[j] + fabs(y[j] * r[j]) + fabs(moved)) ? e[j] : 0.0;
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
        doubt += fabs(ahead) <= 10.0 * UNSURE * size[j] ? e[j] : 0.0;
    }
    *unsure = rows->scale * doubt;
    return rows->scale * sum;
}

/* z, δ and τ of a candidate without the part along the feature added last. */
static void follow(Search *search, int64_t i, const double *RESTRICT chosen, const double *slopes) {
    const Rows *rows = search->rows;
    const int64_t ld = rows->ld, s = search->size - 1;
    double *RESTRICT z = search->Z + i * ld, *c = search->c + i * search->capacity;
    double product = dot(z, chosen, ld);
    for (int64_t k = 0; k < s; k++) product += slopes[k] * c[k];
    c[s] = product;
    const double slope = product / search->pivots[s];
    for (int64_t j = 0; j < ld; j++) z[j] -= slope * chosen[j];
    const double delta = search->delta[i] - product * slope;
    search->delta[i] = delta > search->alpha ? delta : search->alpha;
    for (int64_t k = 0; k < rows->t; k++)
        search->tau[k * rows->n + i] -= search->steps[s * rows->t + k] * product;
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
    if (search->size && best->delta < REFINED_PIVOT * (rows->diagonal[index] + search->alpha))
        refine(search, index, best, work);
}

static int add_kept(Search *search, int64_t index, const Best *best) {
    const Rows *rows = search->rows;
    const int64_t t = rows->t, ld = rows->ld, s = search->size;
    memcpy(search->Z + index * ld, best->z, (size_t)ld * sizeof(double));
    memcpy(search->steps + s * t, best->rho, (size_t)t * sizeof(double));
    move_rows(search, best->z, best->delta, best->rho, NULL);
    add_coefficients(search, best);
    keep_column(search, index, column_of(search, index));
    search->pivots[s] = best->delta;
    search->size++;
    search->is_behind = 1;
    measure_model(search);
    return TAKEN;
}

/* Whether a candidate can be added without the general engine. */
static int is_safe(Search *search, int64_t index, const double *z, double delta) {
    const Rows *rows = search->rows;
    const double scale = rows->diagonal[index] + search->alpha;
    const double drift = fabs(delta - search->delta[index]) / scale;
    if (!(drift <= DRIFT_BOUND)) return 0;
    double smallest = INFINITY;
    const double inverse = 1.0 / delta;
    for (int64_t j = 0; j < rows->m; j++) {
        const double left = search->d[j] - z[j] * z[j] * inverse;
        smallest = left < smallest ? left : smallest;
    }
    if (!(smallest > 1e3 * SMALLEST_D)) return 0;
    if (drift > search->largest_drift) search->largest_drift = drift;
    return 1;
}

static int score_kept(Search *search, Scored *scored, int64_t i, double *rho, double *by_target) {
    const Rows *rows = search->rows;
    for (int64_t k = 0; k < rows->t; k++)
        rho[k] = search->tau[k * rows->n + i] / search->delta[i];
    double loss = loo_sums(search, search->Z + i * rows->ld, search->delta[i], rho, by_target);
    search->n_evaluations++;
    if (!(loss < INFINITY)) loss = INFINITY;
    double tolerance = loss < INFINITY ? tolerance_of(search, loss, by_target) : 0.0;
    if (search->loss != SQUARED) tolerance = loss < INFINITY ? TIE * loss : 0.0;
    return remember(scored, i, loss, tolerance, rounding_of(search, i, loss, tolerance));
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
        if (chosen != NULL) follow(search, i, chosen, slopes);
        if (search->loss == SQUARED) {
            search->bounds[i] = bound_of(search, i);
            if (lowest < 0 || search->bounds[i] < search->bounds[lowest]) lowest = i;
            continue;
        }
        double unsure;
        for (int64_t k = 0; k < t; k++) rho[k] = search->tau[k * n + i] / search->delta[i];
        double loss = other_loss(search, search->Z + i * rows->ld, search->delta[i], rho, &unsure);
        search->n_evaluations++;
        if (!(loss < INFINITY)) loss = INFINITY;
        const double tolerance = tolerance_of(search, loss, NULL);
        const double rounding = search->loss == ABSOLUTE ? rounding_of(search, i, loss, tolerance) : 0.0;
        is_whole = is_whole && remember(&scored, i, loss, tolerance, rounding);
        search->bounds[i] = loss;
        largest = loss > largest ? loss : largest;
        if (unsure > 0.0 && loss - unsure < unsure_least) unsure_least = loss - unsure;
        if (loss + unsure < certain_least) certain_least = loss + unsure;
    }
    search->is_behind = 0;
    if (search->loss == SQUARED) {
        const double margin = MARGIN * search->total;
        if (lowest >= 0) is_whole = score_kept(search, &scored, lowest, rho, by_target);
        double limit = limit_of(&scored) + margin;
        for (int64_t i = 0; is_whole && i < n; i++) {
            if (search->barred[i] || i == lowest || search->bounds[i] > limit) continue;
            is_whole = score_kept(search, &scored, i, rho, by_target);
            limit = limit_of(&scored) + margin;
        }
    } else {
        /* An undecided row may make any candidate the best. */
        const double tolerance = tolerance_of(search, certain_least, NULL);
        if (unsure_least <= certain_least + 2.0 * tolerance) is_whole = 0;
        /* As long as a rare class is never predicted, all tie, and squared loss decides. */
        if (is_whole && search->loss == BALANCED && largest - certain_least <= 0.5 * tolerance) {
            scored.count = scored.n_least = 0;
            for (int64_t i = 0; is_whole && i < n; i++)
                if (!search->barred[i]) is_whole = score_kept(search, &scored, i, rho, by_target);
        } else if (search->loss == BALANCED && largest - certain_least <= 2.0 * tolerance) is_whole = 0;
    }
    const int64_t found = count < scored.count ? count : scored.count;
    if (is_whole && found && best_of(&scored, found, positions)) {
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

/* --- Searches by bounds in feature space ---------------------------------------------------- */

/* z = x_i − X_S β of a few candidates, (GROUP × ld); beta is (|S| × GROUP). */
static void residuals(Search *search, const int64_t *indices, int64_t count, const double *beta,
                      double *out) {
    const int64_t s = search->size, ld = search->rows->ld;
    const double *x[GROUP];
    for (int64_t c = 0; c < GROUP; c++) x[c] = column_of(search, indices[c < count ? c : 0]);
    const double *first = s ? chosen_column(search, 0) : NULL;
    const int64_t stride = search->columns == NULL ? 0 : ld; /* 0: columns lie anywhere */
    for (int64_t j = 0; j < ld; j += WIDTH) {
        Vector z0 = AT(x[0] + j), z1 = AT(x[1] + j), z2 = AT(x[2] + j), z3 = AT(x[3] + j);
        for (int64_t k = 0; k < s; k++) {
            const Vector chosen = AT((stride ? first + k * stride : chosen_column(search, k)) + j);
            const double *b = beta + k * GROUP;
            z0 -= b[0] * chosen, z1 -= b[1] * chosen, z2 -= b[2] * chosen, z3 -= b[3] * chosen;
        }
        *(Vector *)(out + j) = z0;
        *(Vector *)(out + ld + j) = z1;
        *(Vector *)(out + 2 * ld + j) = z2;
        *(Vector *)(out + 3 * ld + j) = z3;
    }
}

/* Bounds of all candidates from vectors of n numbers; +inf for other features. */
static void bound_all(Search *search) {
    const Rows *rows = search->rows;
    const int64_t n = rows->n, t = rows->t;
    const double *sums = search->sums, largest = sums[6 * t + 2];
    const double shrink = 1.0 / (largest * largest);
    double *RESTRICT bounds = search->bounds;
    const double *RESTRICT delta = search->delta, *RESTRICT norms = search->norms;
    for (int64_t i = 0; i < n; i++) bounds[i] = search->total;
    for (int64_t k = 0; k < t; k++) {
        const double g_r = sums[t + k], g_g = sums[2 * t + k], r_r = sums[k] + TINY;
        double c1 = g_r / r_r, c2 = 0.0, square = (1.0 + SUM_ROUNDING) * g_g - c1 * g_r;
        if (search->has_anchor) {
            const double a_r = sums[3 * t + k], a_a = sums[5 * t + k], slope = a_r / r_r;
            const double across = a_a - slope * a_r, a_g = sums[4 * t + k] - slope * g_r;
            c2 = a_g / (fabs(across) + PARALLEL * a_a + TINY);
            c1 -= c2 * slope;
            square += c2 * (c2 * across - 2.0 * a_g);
        }
        const double least = SUM_ROUNDING * g_g, distance = sqrt(square > least ? square : least);
        search->distances[k] = distance;
        const double *RESTRICT tau = search->tau + k * n, *RESTRICT inner = search->inner + k * n;
        const double *RESTRICT anchored =
            !search->has_anchor ? inner : search->anchored + k * n;
        SIMD()
        for (int64_t i = 0; i < n; i++) {
            const double rho = tau[i] / delta[i], size = fabs(rho) * sqrt(norms[i]);
            bounds[i] -= 2.0 * rho * (c1 * inner[i] + c2 * anchored[i]) +
                         size * (2.0 * distance - size * shrink);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        const double scale = rows->diagonal[i] + search->alpha;
        if (search->barred[i]) bounds[i] = INFINITY;
        else if (delta[i] < TRUSTED_PIVOT * scale || isnan(bounds[i])) bounds[i] = -INFINITY;
    }
}

/* The features of the `count` lowest bounds, lowest first: of all, or of the `n` in `among`. */
static int64_t lowest_among(const double *bounds, const int64_t *among, int64_t n, int64_t count,
                            int64_t *indices) {
    int64_t found = 0;
    double last = INFINITY;
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = among == NULL ? k : among[k];
        const double bound = bounds[i];
        if (!(bound < last)) continue;
        int64_t place = found < count ? found++ : found - 1;
        while (place > 0 && bounds[indices[place - 1]] > bound)
            indices[place] = indices[place - 1], place--;
        indices[place] = i;
        if (found == count) last = bounds[indices[found - 1]];
    }
    return found;
}

/* How z of a candidate is spread over the rows, for the bounds of later steps. */
static void remember_spread(Search *search, int64_t i, const double *RESTRICT z) {
    const int64_t n = search->rows->n, ld = search->rows->ld;
    double fourth = 0.0;
    SIMD(reduction(+ : fourth))
    for (int64_t j = 0; j < ld; j++) fourth += (z[j] * z[j]) * (z[j] * z[j]);
    const int is_known = fourth > DBL_MIN && fourth < INFINITY;
    search->fourth[i] = is_known ? sqrt(sqrt(fourth)) : UNKNOWN;
    for (int64_t k = 0; k < search->rows->t; k++) {
        const double *RESTRICT r = search->r + k * ld;
        double mixed = 0.0;
        SIMD(reduction(+ : mixed))
        for (int64_t j = 0; j < ld; j++) mixed += (r[j] * z[j]) * (r[j] * z[j]);
        search->mixed[k * n + i] = is_known ? sqrt(mixed) : 0.0;
    }
}

/* The same after a feature: r ← r − t q, z_i ← z_i − l_i q, where q = z/√δ of that feature. */
static void follow_spread(Search *search, int64_t index, const double *RESTRICT l, const Best *best) {
    const int64_t n = search->rows->n;
    const double root = sqrt(best->delta), size = search->fourth[index] / root;
    for (int64_t k = 0; k < search->rows->t; k++) {
        double *RESTRICT mixed = search->mixed + k * n;
        const double *RESTRICT fourth = search->fourth;
        const double lost = fabs(best->rho[k]) * root * size;
        const double other = mixed[index] / root + lost * size;
        SIMD()
        for (int64_t i = 0; i < n; i++) {
            const double left = mixed[i] - lost * fourth[i] - other * fabs(l[i]);
            mixed[i] = left > 0.0 ? left : 0.0;
        }
    }
    double *RESTRICT fourth = search->fourth;
    SIMD()
    for (int64_t i = 0; i < n; i++) fourth[i] += size * fabs(l[i]);
}

/* At least what growing leverages add to a bound. */
static double growth_of(const Search *search, int64_t i) {
    const int64_t n = search->rows->n, t = search->rows->t;
    if (search->fourth == NULL) return 0.0;
    const double largest = search->sums[6 * t + 2], fourth = search->fourth[i];
    double growth = 0.0;
    for (int64_t k = 0; k < t; k++) {
        const double rho = fabs(search->tau[k * n + i] / search->delta[i]);
        const double spread = search->mixed[k * n + i] - rho * fourth * fourth;
        if (spread > 0.0) growth += spread * spread;
    }
    return growth * 2.0 / (largest * largest * largest * search->delta[i]);
}

/* How much a bound could rise if g·z_i were known. */
static double slack_of(const Search *search, int64_t i) {
    double slack = 0.0;
    for (int64_t k = 0; k < search->rows->t; k++)
        slack += search->distances[k] * fabs(search->tau[k * search->rows->n + i]);
    return 2.0 * slack * sqrt(search->norms[i]) / search->delta[i];
}

/* z of a candidate that was scored lately, brought up to the current model; NULL if it was not. */
static double *cached_z(Search *search, int64_t i) {
    const int64_t n = search->rows->n, ld = search->rows->ld, slot = search->slot_of[i];
    if (slot < 0 || search->slot_feature[slot] != i) return NULL;
    double *RESTRICT z = search->cached + slot * ld;
    for (int64_t u = search->slot_size[slot]; u < search->size; u++) {
        const double slope = search->L[u * n + i] / sqrt(search->pivots[u]);
        const double *RESTRICT chosen = search->chosen_z + u * ld;
        for (int64_t j = 0; j < ld; j++) z[j] -= slope * chosen[j];
    }
    search->slot_size[slot] = search->size;
    return z;
}

/* A slot for z of a candidate: the one that was filled longest ago. */
static double *new_slot(Search *search, int64_t i) {
    const int64_t slot = search->n_filled++ % search->n_slots;
    search->slot_feature[slot] = i;
    search->slot_size[slot] = search->size;
    search->slot_of[i] = slot;
    return search->cached + slot * search->rows->ld;
}

/* z of a few candidates, from their slots or from the columns: pointers that stay valid as long as
 * no more than n_slots others are asked for. */
static void take_z(Search *search, const int64_t *indices, int64_t count, double **z, double *work) {
    const int64_t s = search->size, ld = search->rows->ld, capacity = search->capacity;
    double *Z = work, *beta = Z + GROUP * ld, *transposed = beta + capacity;
    int64_t missing[GROUP], places[GROUP], n_missing = 0;
    for (int64_t c = 0; c < count; c++) {
        z[c] = cached_z(search, indices[c]);
        if (z[c] == NULL) places[n_missing] = c, missing[n_missing++] = indices[c];
    }
    if (!n_missing) return;
    for (int64_t c = 0; c < GROUP; c++) {
        if (c < n_missing) coefficients(search, missing[c], beta);
        for (int64_t k = 0; k < s; k++) transposed[k * GROUP + c] = c < n_missing ? beta[k] : 0.0;
    }
    residuals(search, missing, n_missing, transposed, Z);
    for (int64_t c = 0; c < n_missing; c++) {
        double *slot = new_slot(search, missing[c]);
        memcpy(slot, Z + c * ld, (size_t)ld * sizeof(double));
        z[places[c]] = slot;
    }
}

static int score_group(Search *search, Scored *scored, const int64_t *indices, int64_t count,
                       double *work) {
    const Rows *rows = search->rows;
    const int64_t n = rows->n, ld = rows->ld, t = rows->t;
    double *rho = work, *by_target = rho + t, *z[GROUP];
    Best measured = best_in(search, by_target + t);
    take_z(search, indices, count, z, by_target + t + BEST_SIZE(search));
    for (int64_t c = 0; c < count; c++) {
        const int64_t i = indices[c];
        double delta = search->delta[i];
        const double scale = rows->diagonal[i] + search->alpha;
        double lost = scale / delta;
        for (int64_t k = 0; k < t; k++) rho[k] = search->tau[k * n + i] / delta;
        if (delta < TRUSTED_PIVOT * scale) { /* the recurrences have lost its pivot */
            coefficients(search, i, measured.beta);
            measure(search, i, &measured);
            memcpy(z[c], measured.z, (size_t)ld * sizeof(double));
            memcpy(rho, measured.rho, (size_t)t * sizeof(double));
            delta = measured.delta, lost = sqrt(scale / delta);
        }
        if (search->fourth != NULL) remember_spread(search, i, z[c]);
        double loss = loo_sums(search, z[c], delta, rho, by_target);
        search->n_evaluations++;
        if (!(loss < INFINITY)) loss = INFINITY;
        const double tolerance = loss < INFINITY ? tolerance_of(search, loss, by_target) : 0.0;
        const double rounding = PIVOT_ROUNDING * lost * loss + 0.05 * tolerance;
        if (!remember(scored, i, loss, tolerance, rounding)) return 0;
    }
    return 1;
}

/* Score candidates in the order given, a group at a time, until the bound of one is too high. */
static double score_in_order(Search *search, Scored *scored, const int64_t *indices, int64_t count,
                             double limit, double *work, int *is_whole) {
    double *bounds = search->bounds;
    const double margin = MARGIN * search->total;
    for (int64_t first = 0; *is_whole && first < count; first += GROUP) {
        if (bounds[indices[first]] > limit) break;
        const int64_t group = first + GROUP < count ? GROUP : count - first;
        *is_whole = score_group(search, scored, indices + first, group, work);
        for (int64_t k = 0; k < group; k++) bounds[indices[first + k]] = INFINITY;
        limit = limit_of(scored) + margin;
    }
    return limit;
}

/* A feature as it is to be added: measured on the rows, and refined if little is left of it. */
static void take_bounded(Search *search, int64_t index, Best *best, double *work) {
    const double scale = search->rows->diagonal[index] + search->alpha;
    coefficients(search, index, best->beta);
    measure(search, index, best);
    if (search->size && best->delta < REFINED_PIVOT * scale) refine(search, index, best, work);
    if (search->fourth != NULL) remember_spread(search, index, best->z);
}

/* Both spaces with a feature added, whose pivot was measured on the rows. */
static int add_bounded(Search *search, int64_t index, const Best *best, double *work) {
    const Rows *rows = search->rows;
    const int64_t s = search->size, n = rows->n, t = rows->t, capacity = search->capacity;
    const double *RESTRICT column = rows->gram[index];
    const double delta = best->delta, root = sqrt(delta), norm = best->norm;
    double *on_chosen = work, *both = on_chosen + capacity, *overlap = both + capacity;
    double *along = overlap + capacity;
    for (int64_t u = 0; u < s; u++) on_chosen[u] = search->L[u * n + index] / root;
    for (int64_t u = 0; u < s; u++) {
        overlap[u] = on_chosen[u] - dot(search->overlap + u * capacity, on_chosen, s);
        both[u] = on_chosen[u] + overlap[u];
    }
    for (int64_t k = 0; k < t; k++)
        along[k] = !search->has_anchor || !(norm > 0.0) ? 0.0 : search->anchored[k * n + index] / norm;
    move_rows(search, best->z, delta, best->rho, along);
    double *RESTRICT l = search->L + s * n, *RESTRICT q = search->bounds;
    const double inverse = 1.0 / root;
    for (int64_t first = 0; first < n; first += TILE) {
        const int64_t last = first + TILE < n ? first + TILE : n;
        for (int64_t i = first; i < last; i++) l[i] = q[i] = column[i] * inverse;
        for (int64_t u = 0; u < s; u++) {
            const double *RESTRICT row = search->L + u * n;
            const double a = on_chosen[u], b = both[u];
            SIMD()
            for (int64_t i = first; i < last; i++) l[i] -= a * row[i], q[i] -= b * row[i];
        }
    }
    l[index] = root;
    if (search->fourth != NULL) follow_spread(search, index, l, best);
    const double q_q = norm / delta;
    double *RESTRICT deltas = search->delta, *RESTRICT norms = search->norms;
    const double alpha = search->alpha;
    SIMD()
    for (int64_t i = 0; i < n; i++) {
        const double pivot = deltas[i] - l[i] * l[i], left = norms[i] + l[i] * (q_q * l[i] - 2.0 * q[i]);
        deltas[i] = pivot > alpha ? pivot : alpha;
        norms[i] = left > 0.0 ? left : 0.0;
    }
    for (int64_t k = 0; k < t; k++) {
        const double step = best->rho[k] * root, slope = best->inner[k] / root - step * q_q;
        const double part = along[k] * root;
        double *RESTRICT tau = search->tau + k * n, *RESTRICT inner = search->inner + k * n;
        SIMD()
        for (int64_t i = 0; i < n; i++) {
            tau[i] -= step * l[i];
            inner[i] -= slope * l[i] + step * q[i];
        }
        if (search->has_anchor) {
            double *RESTRICT anchored = search->anchored + k * n;
            for (int64_t i = 0; i < n; i++) anchored[i] -= part * q[i];
        }
    }
    for (int64_t u = 0; u < s; u++)
        search->overlap[s * capacity + u] = search->overlap[u * capacity + s] = overlap[u];
    search->overlap[s * capacity + s] = q_q;
    add_coefficients(search, best);
    search->pivots[s] = delta;
    memcpy(search->chosen_z + s * rows->ld, best->z, (size_t)rows->ld * sizeof(double));
    keep_column(search, index, column_of(search, index));
    search->size++;
    search->is_anchor_fresh = 0;
    measure_model(search);
    return TAKEN;
}

static int step_bounded(Search *search, int64_t n_runners_up, int64_t *best, double *losses,
                        double *work) {
    const Rows *rows = search->rows;
    const int64_t n = rows->n, count = n_runners_up + 1;
    Scored scored = nothing_scored(count);
    Best taken = best_in(search, work);
    work += BEST_SIZE(search);
    bound_all(search);
    double *bounds = search->bounds;
    int64_t indices[MOST_RUNNERS_UP + 1 + FIRST], positions[MOST_RUNNERS_UP + 1];
    int64_t found = lowest_among(bounds, NULL, n, count > FIRST ? count : FIRST, indices);
    int is_whole = found > 0, result = IN_DOUBT;
    double limit = score_in_order(search, &scored, indices, found, INFINITY, work, &is_whole);
    int64_t n_open = 0, n_doubtful = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(bounds[i] <= limit)) continue;
        bounds[i] += growth_of(search, i);
        if (bounds[i] > limit) continue;
        search->open[n_open++] = i;
        n_doubtful += bounds[i] + slack_of(search, i) > limit;
    }
    const int64_t many = n / ANCHOR_SHARE > 16 ? n / ANCHOR_SHARE : 16;
    if (is_whole && n_doubtful > many && !search->is_anchor_fresh) {
        forget(&scored);
        return NEEDS_ANCHOR;
    }
    while (is_whole && n_open > 0) {
        /* The lowest of those that are left; then those that the new limit leaves. */
        found = lowest_among(bounds, search->open, n_open, 2 * GROUP, indices);
        limit = score_in_order(search, &scored, indices, found, limit, work, &is_whole);
        int64_t left = 0;
        for (int64_t k = 0; k < n_open; k++)
            if (bounds[search->open[k]] <= limit) search->open[left++] = search->open[k];
        n_open = left;
    }
    const int64_t wanted = count < scored.count ? count : scored.count;
    if (is_whole && wanted && best_of(&scored, wanted, positions)) {
        const int64_t index = scored.index[positions[0]];
        for (int64_t k = 0; k < count; k++) {
            best[k] = k < wanted ? scored.index[positions[k]] : -1;
            losses[k] = k < wanted ? scored.taken[k] : NAN;
        }
        if (rows->gram[index] == NULL) result = NEEDS_COLUMN;
        else {
            take_bounded(search, index, &taken, work);
            if (is_safe(search, index, taken.z, taken.delta))
                result = add_bounded(search, index, &taken, work);
        }
    }
    forget(&scored);
    return result;
}

/* --- What others call ----------------------------------------------------------------------- */

static size_t work_size(const Search *search) {
    const Rows *rows = search->rows;
    return (size_t)((GROUP + 2) * rows->ld + (2 * GROUP + 8) * search->capacity + 16 * rows->t + 64);
}

/* Arrays of the model without features; those of Z, or of bounds, are there already. */
static int begin(Search *search) {
    const Rows *rows = search->rows;
    const size_t n = (size_t)rows->n, ld = (size_t)rows->ld, t = (size_t)rows->t;
    memcpy(search->r, rows->r, t * ld * sizeof(double));
    memcpy(search->d, rows->d, ld * sizeof(double));
    memcpy(search->tau, rows->correlation, t * n * sizeof(double));
    for (size_t i = 0; i < n; i++) search->delta[i] = rows->diagonal[i] + search->alpha;
    if (search->keeps_z) {
        if (rows->packed != NULL) memcpy(search->Z, rows->packed, n * ld * sizeof(double));
        else {
            Rows copy = *rows;
            copy.packed = search->Z;
            pack(&copy);
        }
    } else {
        memcpy(search->norms, rows->diagonal, n * sizeof(double));
        memcpy(search->inner, rows->correlation, t * n * sizeof(double));
    }
    measure_model(search);
    return TAKEN;
}

static int step(Search *search, int64_t n_runners_up, int64_t *best, double *losses) {
    if (search->size >= search->capacity || search->n_left <= 0) return DONE;
    double *work = malloc(work_size(search) * sizeof(double));
    if (work == NULL) return NO_MEMORY;
    const int result = (search->keeps_z ? step_kept : step_bounded)(search, n_runners_up, best, losses, work);
    free(work);
    return result;
}

static int add(Search *search, int64_t index) {
    if (search->size >= search->capacity) return DONE;
    if (!search->keeps_z && search->rows->gram[index] == NULL) return search->wanted = index, NEEDS_COLUMN;
    double *work = malloc(work_size(search) * sizeof(double));
    if (work == NULL) return NO_MEMORY;
    int result;
    Best best = best_in(search, work);
    double *rest = work + BEST_SIZE(search);
    if (search->keeps_z) {
        catch_up(search, rest);
        take_kept(search, index, &best, rest);
        result = add_kept(search, index, &best);
    } else {
        take_bounded(search, index, &best, rest);
        result = add_bounded(search, index, &best, rest);
    }
    free(work);
    return result;
}

/* a = g = ω∘r with its products X'a, (t × n); from packed columns if none are given. */
static void set_anchor(Search *search, const double *given) {
    const Rows *rows = search->rows;
    const int64_t n = rows->n, t = rows->t, ld = rows->ld, s = search->size, capacity = search->capacity;
    memcpy(search->anchor, search->g, (size_t)(t * ld) * sizeof(double));
    for (int64_t k = 0; k < t; k++) {
        double *RESTRICT anchored = search->anchored + k * n;
        for (int64_t i = 0; i < n; i++)
            anchored[i] = given != NULL ? given[k * n + i]
                                        : dot(rows->packed + i * ld, search->anchor + k * ld, ld);
        /* Minus the components along the pivots: a·q_u = Σ_v (L⁻¹)_uv a·x_v. */
        double *of_chosen = search->scratch + 4 * ld;
        for (int64_t v = 0; v < s; v++) of_chosen[v] = anchored[search->chosen[v]];
        for (int64_t u = 0; u < s; u++) {
            const double along = dot(search->inverse + u * capacity, of_chosen, u + 1);
            const double *RESTRICT row = search->L + u * n;
            for (int64_t i = 0; i < n; i++) anchored[i] -= along * row[i];
        }
    }
    search->has_anchor = search->is_anchor_fresh = 1;
    measure_model(search);
}

static int64_t lowest(Search *search, int64_t count, int64_t *indices) {
    if (!search->keeps_z) bound_all(search);
    return lowest_among(search->bounds, NULL, search->rows->n, count, indices);
}

const Variant NAME_IN(VARIANT, variant) = {
    QUOTED(VARIANT), pack, products, begin, step, add, set_anchor, lowest,
};
