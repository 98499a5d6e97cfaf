/* See search.h. This file is compiled once for each set of instructions that it may run on. */

#include "bounded.h"
#include "curve.h"
#include "dots.h"
#include "kept.h"
#include "multiply.h"
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
    return added(search, result);
}

/* Whether `set_anchor` can make the products of an anchor, in no more time than it takes to ask for them. */
static int makes_anchors(const Rows *rows) {
    const int reads = MULTIPLIES && has_plain_rows(rows) && rows->m * rows->n <= FEW_NUMBERS;
    return rows->packed != NULL || reads;
}

/* X'a (n) of an anchor, from packed columns or X. */
static void anchor_products(Search *search, const double *RESTRICT a, double *RESTRICT out) {
    const Rows *rows = search->rows;
    const int64_t n = rows->n, ld = rows->ld;
    if (rows->packed != NULL) {
        for (int64_t i = 0; i < n; i++) out[i] = dot(rows->packed + i * ld, a, ld);
        return;
    }
    double *v = search->scratch, total = 0.0;
    for (int64_t j = 0; j < rows->m; j++) {
        v[j] = rows->root == NULL ? a[j] : rows->root[j] * a[j];
        total += v[j];
    }
    multiply(v, 1, (const double *)rows->x, rows->m, n, rows->row_stride / 8, out, n, NULL, NULL);
    centre(rows, total, 0, n, out);
}

/* a = g = ω∘r with its products X'a, (t × n); if none are given, they are made here. */
static void set_anchor(Search *search, const double *given) {
    const Rows *rows = search->rows;
    const int64_t n = rows->n, t = rows->t, ld = rows->ld, s = search->size, capacity = search->capacity;
    memcpy(search->anchor, search->g, (size_t)(t * ld) * sizeof(double));
    search->n_passes += given == NULL;
    for (int64_t k = 0; k < t; k++) {
        double *RESTRICT anchored = search->anchored + k * n;
        if (given != NULL) memcpy(anchored, given + k * n, (size_t)n * sizeof(double));
        else anchor_products(search, search->anchor + k * ld, anchored);
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
    QUOTED(VARIANT), pack, products, begin, step, add, makes_anchors, set_anchor, lowest, loo_curve,
    test_models, MULTIPLIES, multiply, gram_columns, remove_worst, MOST_DOTS, column_product,
};
