/* See search.h. This file is compiled once for each set of instructions that it may run on. */

#include "bounded.h"
#include "curve.h"
#include "dots.h"
#include "kept.h"
#include "likely.h"
#include "multiply.h"
#include "radial.h"
#include "removals.h"
#include "tested.h"

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
    for (size_t i = 0; i < n; i++) search->delta[i] = scale_of(search, (int64_t)i);
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
    search->total_weight = 0.0;
    for (int64_t j = 0; j < rows->m; j++) search->total_weight += rows->weights[j];
    search->growth = 1.0, search->initial_total = search->total;
    return TAKEN;
}

/* What came of adding a feature: its model may have lost digits. */
static int added(Search *search, int result) {
    if (result != TAKEN) return result;
    const int64_t last = search->size - 1;
    note_growth(search, growth_of_pivot(search, search->chosen[last], search->pivots[last]));
    return is_model_known(search) ? TAKEN : LOST;
}

static int step(Search *search, int64_t n_runners_up, int64_t *best, double *losses) {
    if (search->size >= search->capacity || search->n_left <= 0) return DONE;
    search->is_lost = 0;
    double *work = malloc(work_size(search) * sizeof(double));
    if (work == NULL) return NO_MEMORY;
    const int result = (search->keeps_z ? step_kept : step_bounded)(search, n_runners_up, best, losses, work);
    free(work);
    return added(search, result);
}

static int add(Search *search, int64_t index) {
    if (search->size >= search->capacity) return DONE;
    if (!search->keeps_z && COLUMN(search->rows->gram, index) == NULL) return search->wanted = index, NEEDS_COLUMN;
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
    return added(search, result);
}

/* Whether `set_anchor` can make the products of an anchor. */
static int makes_anchors(const Rows *rows) {
    if (rows->kernel_diagonal != NULL) return 0; /* whoever makes it brings a Gram column along */
    return rows->packed != NULL || (MULTIPLIES && has_plain_rows(rows));
}

/* X'a of some vectors a, for a share of the columns of X as it was passed. */
typedef struct {
    const Rows *rows;
    const double *v, *totals;
    double *out;
} Anchors;

static void anchor_share(void *context, int64_t share) {
    const Anchors *all = context;
    const Rows *rows = all->rows;
    const int64_t n = rows->n, start = share * ANCHOR_COLUMNS;
    const int64_t stop = start + ANCHOR_COLUMNS < n ? start + ANCHOR_COLUMNS : n;
    multiply(all->v, rows->t, (const double *)rows->x + start, rows->m, stop - start,
             rows->row_stride / 8, all->out + start, n, NULL, NULL);
    for (int64_t k = 0; k < rows->t; k++) centre(rows, all->totals[k], start, stop, all->out + k * n);
}

/* X'a (t × n) of the anchor a = g, from packed columns or X; 0 without memory. */
static int anchor_products(Search *search, double *RESTRICT out) {
    const Rows *rows = search->rows;
    const int64_t m = rows->m, n = rows->n, t = rows->t, ld = rows->ld;
    if (rows->packed != NULL) {
        for (int64_t k = 0; k < t; k++)
            for (int64_t i = 0; i < n; i++)
                out[k * n + i] = dot(rows->packed + i * ld, search->g + k * ld, ld);
        return 1;
    }
    double *v = malloc((size_t)(t * (m + 1)) * sizeof(double));
    if (v == NULL) return 0;
    double *totals = v + t * m;
    for (int64_t k = 0; k < t; k++) {
        totals[k] = 0.0;
        for (int64_t j = 0; j < m; j++) {
            const double a = search->g[k * ld + j];
            v[k * m + j] = rows->root == NULL ? a : rows->root[j] * a;
            totals[k] += v[k * m + j];
        }
    }
    Anchors all = {rows, v, totals, out};
    const int is_long = m * n >= SHARED_NUMBERS;
    in_shares(is_long ? search->n_threads : 1, (n + ANCHOR_COLUMNS - 1) / ANCHOR_COLUMNS, anchor_share, &all);
    free(v);
    return 1;
}

/* a = g = ω∘r with its products X'a, (t × n); if none are given, they are made here. 0 without memory. */
static int set_anchor(Search *search, const double *given) {
    const Rows *rows = search->rows;
    const int64_t n = rows->n, t = rows->t, ld = rows->ld, s = search->size, capacity = search->capacity;
    if (given != NULL) memcpy(search->anchored, given, (size_t)(t * n) * sizeof(double));
    else if (!anchor_products(search, search->anchored)) return 0;
    memcpy(search->anchor, search->g, (size_t)(t * ld) * sizeof(double));
    search->n_passes += given == NULL;
    for (int64_t k = 0; k < t; k++) {
        double *RESTRICT anchored = search->anchored + k * n;
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
    return 1;
}

static int64_t lowest(Search *search, int64_t count, int64_t *indices) {
    if (!search->keeps_z) bound_all(search);
    return lowest_among(search->bounds, NULL, search->rows->n, count, indices);
}

const Variant NAME_IN(VARIANT, variant) = {
    QUOTED(VARIANT), pack, products, begin, step, add, makes_anchors, set_anchor, lowest, likely,
    loo_curve, test_models, MULTIPLIES, multiply, gram_columns, remove_worst, MOST_DOTS, column_product,
    radial_kernel,
};
