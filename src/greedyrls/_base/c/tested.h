/* The models of all sizes of a search: their penalties by leave-one-out, and their losses on rows held
 * out. In any doubt, which rounding may decide, the general engine is to compute them. */
#ifndef GREEDYRLS_TESTED_H
#define GREEDYRLS_TESTED_H

#include "curve.h"

/* L⁻¹ (k × k) of a matrix (k × k), whose lower half is read; `factor` is (k × k). Returns the smallest
 * share of its diagonal that is left in a pivot. */
static double invert(const double *matrix, int64_t k, double *factor, double *inverse) {
    double smallest = 1.0;
    memset(inverse, 0, (size_t)(k * k) * sizeof(double));
    for (int64_t i = 0; i < k; i++) {
        double *RESTRICT row = factor + i * k, *RESTRICT own = inverse + i * k;
        for (int64_t j = 0; j < i; j++)
            row[j] = (matrix[i * k + j] - dot(row, factor + j * k, j)) / factor[j * k + j];
        const double whole = matrix[i * k + i], pivot = whole - dot(row, row, i);
        if (!(pivot > 0.0)) return 0.0;
        if (pivot < smallest * whole) smallest = pivot / whole;
        row[i] = sqrt(pivot);
        for (int64_t u = 0; u < i; u++) {
            const double *RESTRICT before = inverse + u * k;
            const double slope = row[u];
            for (int64_t j = 0; j <= u; j++) own[j] -= slope * before[j];
        }
        for (int64_t j = 0; j < i; j++) own[j] /= row[i];
        own[i] = 1.0 / row[i];
    }
    return smallest;
}

/* Rows of a block: x (k × BLOCK) of the chosen features, in their order; zeros after the last row. */
static void block_of_chosen(const Search *search, int64_t k, int64_t top, double *x) {
    const int64_t ld = search->rows->ld;
    for (int64_t u = 0; u < k; u++) {
        const double *column = chosen_column(search, u);
        for (int64_t j = 0; j < BLOCK; j++) x[u * BLOCK + j] = top + j < ld ? column[top + j] : 0.0;
    }
}

/* q of feature s in a block of rows, (BLOCK), from its row of L⁻¹. */
static void q_of_block(const double *x, const double *inverse, int64_t s, double *q) {
    Vector sums[ABREAST];
    for (int64_t v = 0; v < ABREAST; v++) sums[v] = AT(ZEROS);
    for (int64_t u = 0; u <= s; u++)
        for (int64_t v = 0; v < ABREAST; v++) sums[v] += inverse[u] * AT(x + u * BLOCK + v * WIDTH);
    memcpy(q, sums, sizeof sums);
}

/* Σ q q' (count × count) over the rows plus its penalty, of some of the features: the identity up to
 * rounding. `x` is ((k + count) × BLOCK). */
static void factor_sums(const Search *search, int64_t k, double penalty, const double *inverse,
                        const int64_t *some, int64_t count, double *products, double *x) {
    double *q = x + k * BLOCK;
    for (int64_t a = 0; a < count; a++)
        for (int64_t b = 0; b <= a; b++)
            products[a * count + b] = penalty * dot(inverse + some[a] * k, inverse + some[b] * k, some[b] + 1);
    for (int64_t top = 0; top < search->rows->ld; top += BLOCK) {
        block_of_chosen(search, k, top, x);
        for (int64_t a = 0; a < count; a++) {
            q_of_block(x, inverse + some[a] * k, some[a], q + a * BLOCK);
            for (int64_t b = 0; b <= a; b++)
                products[a * count + b] += dot(q + a * BLOCK, q + b * BLOCK, BLOCK);
        }
    }
}

/* Where a feature is nearly spanned by those before it, q from Gram columns has lost twice as many
 * digits; q'q of the rows corrects it. With two that are far from spanned it is 0 to almost all digits.
 * `matrix` and `factor` are those of L⁻¹ and overwritten, as `work` is, (k² + k + 2 k × BLOCK). */
static int correct(const Search *search, int64_t k, double penalty, double *matrix, double *factor,
                   double *inverse, double *work) {
    double *second = work, *x = second + k * k + k;
    int64_t *some = (int64_t *)(second + k * k), count = 0;
    for (int64_t i = 0; i < k; i++)
        if (factor[i * k + i] * factor[i * k + i] < 10.0 * REFINED_PIVOT * matrix[i * k + i]) some[count++] = i;
    factor_sums(search, k, penalty, inverse, some, count, matrix, x);
    if (!(invert(matrix, count, factor, second) > 0.0)) return 0;
    for (int64_t a = count - 1; a >= 0; a--) {
        double *RESTRICT own = inverse + some[a] * k;
        for (int64_t j = 0; j <= some[a]; j++) own[j] *= second[a * count + a];
        for (int64_t b = 0; b < a; b++)
            for (int64_t j = 0; j <= some[b]; j++) own[j] += second[a * count + b] * inverse[some[b] * k + j];
    }
    return 1;
}

/* L⁻¹ (k × k) and L⁻¹X_S'y (t × k) of the first k features for a penalty; 0 if digits are lost. `work`
 * is (3 k² + k + 2 k × BLOCK). */
static int factorise(const Search *search, int64_t k, double penalty, double *inverse, double *steps,
                     double *work) {
    const Rows *rows = search->rows;
    double *matrix = work, *factor = matrix + k * k, *rest = factor + k * k;
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = 0; j < i; j++) matrix[i * k + j] = search->gram[i * search->capacity + j];
        matrix[i * k + i] = search->gram[i * search->capacity + i] + penalty;
    }
    const double left = invert(matrix, k, factor, inverse);
    if (!(left > TRUSTED_PIVOT)) return 0;
    if (left < REFINED_PIVOT && !correct(search, k, penalty, matrix, factor, inverse, rest)) return 0;
    for (int64_t i = 0; i < k; i++)
        for (int64_t target = 0; target < rows->t; target++) {
            double sum = 0.0;
            for (int64_t u = 0; u <= i; u++)
                sum += inverse[i * k + u] * rows->correlation[target * rows->n + search->chosen[u]];
            steps[target * k + i] = sum;
        }
    return 1;
}

/* Rows in a block of targets y (t × BLOCK) and predictions; the losses of the rows (BLOCK). `size` is
 * that of the numbers from which predictions were made. 0 if rounding may decide a class. */
static int losses_of_block(int loss, int64_t t, int64_t count, const double *y, const double *errors,
                           double *RESTRICT losses) {
    if (loss == SQUARED || loss == ABSOLUTE) {
        for (int64_t j = 0; j < BLOCK; j++) losses[j] = 0.0;
        for (int64_t target = 0; target < t; target++) {
            const double *RESTRICT e = errors + target * BLOCK;
            if (loss == SQUARED)
                for (int64_t j = 0; j < BLOCK; j++) losses[j] += e[j] * e[j];
            else
                for (int64_t j = 0; j < BLOCK; j++) losses[j] += fabs(e[j]);
        }
        for (int64_t j = 0; j < BLOCK; j++) losses[j] /= (double)t;
        return 1;
    }
    double own[BLOCK], other[BLOCK], size[BLOCK];
    for (int64_t j = 0; j < BLOCK; j++) own[j] = 0.0, other[j] = t == 1 ? 0.0 : -INFINITY, size[j] = 1.0;
    for (int64_t target = 0; target < t; target++) {
        const double *RESTRICT of = y + target * BLOCK, *RESTRICT e = errors + target * BLOCK;
        for (int64_t j = 0; j < BLOCK; j++) {
            const double value = of[j] - e[j];
            if (t == 1) own[j] = of[j] * value;
            else if (of[j] > 0.0) own[j] = value;
            else other[j] = value > other[j] ? value : other[j];
            size[j] = fabs(value) > size[j] ? fabs(value) : size[j];
        }
    }
    int is_sure = 1;
    for (int64_t j = 0; j < BLOCK; j++) {
        const double ahead = own[j] - other[j] - UNDECIDED;
        losses[j] = ahead > 0.0 ? 0.0 : 1.0;
        if (j < count && !(fabs(ahead) > 10.0 * UNSURE * size[j])) is_sure = 0;
    }
    return is_sure;
}

/* Leave-one-out losses of models of k sizes, (k), in a loss that is no sum of squares; 0 in doubt.
 * `work` is ((k + 4 t + 3) × BLOCK). */
static int other_curve(const Search *search, int64_t k, const double *inverse, const double *steps,
                       double *out, double *work) {
    const Rows *rows = search->rows;
    const int64_t t = rows->t, ld = rows->ld;
    double *x = work, *r = x + k * BLOCK, *errors = r + t * BLOCK, *y = errors + t * BLOCK;
    double *d = y + t * BLOCK, *q = d + BLOCK, *losses = q + BLOCK;
    int is_sure = 1;
    for (int64_t s = 0; s < k; s++) out[s] = 0.0;
    for (int64_t top = 0; top < rows->m; top += BLOCK) {
        const int64_t count = top + BLOCK < rows->m ? BLOCK : rows->m - top;
        block_of_chosen(search, k, top, x);
        for (int64_t j = 0; j < BLOCK; j++) {
            const int is_row = j < count;
            d[j] = is_row ? rows->d[top + j] : 1.0;
            for (int64_t target = 0; target < t; target++) {
                const double root = rows->root == NULL || !is_row || t > 1 ? 1.0 : rows->root[top + j];
                r[target * BLOCK + j] = is_row ? rows->r[target * ld + top + j] : 0.0;
                y[target * BLOCK + j] = is_row ? rows->y[target * ld + top + j] * root : 0.0;
            }
        }
        for (int64_t s = 0; s < k; s++) {
            q_of_block(x, inverse + s * k, s, q);
            for (int64_t j = 0; j < BLOCK; j++) d[j] -= q[j] * q[j];
            for (int64_t target = 0; target < t; target++) {
                const double step = steps[target * k + s];
                for (int64_t j = 0; j < BLOCK; j++) {
                    const double root = rows->root == NULL || j >= count ? 1.0 : rows->root[top + j];
                    r[target * BLOCK + j] -= step * q[j];
                    errors[target * BLOCK + j] = r[target * BLOCK + j] / (d[j] * root);
                }
            }
            /* Shares for absolute loss have been divided by the roots. */
            is_sure &= losses_of_block(search->loss, t, count, y, errors, losses);
            for (int64_t j = 0; j < count; j++) {
                const double root = rows->root == NULL || search->loss != ABSOLUTE ? 1.0 : rows->root[top + j];
                out[s] += rows->shares[top + j] * root * losses[j];
            }
        }
    }
    for (int64_t s = 0; s < k; s++) out[s] *= rows->scale;
    return is_sure;
}

/* The models of a search for each penalty of an ascending grid. */
typedef struct {
    int64_t k, n_grid;
    const double *grid;
    double *inverses, *steps; /* (n_grid × k × k), (n_grid × t × k) */
    int64_t *positions;       /* (k) the penalty of each size in the grid */
} SizedModels;

/* Leave-one-out squared losses of all models, (n_grid × k). */
static void squared_curves(const Search *search, const SizedModels *models, double *losses, double *work) {
    const Rows *rows = search->rows;
    const int64_t t = rows->t, ld = rows->ld, k = models->k, n_grid = models->n_grid;
    double *x = work, *r = x + k * BLOCK, *d = r + t * BLOCK, *moved = d + BLOCK;
    double *shrunk = moved + t * BLOCK, *sums = shrunk + BLOCK;
    unsigned char *is_end = (unsigned char *)(sums + n_grid * k * BLOCK);
    memset(is_end, 1, (size_t)k);
    memset(sums, 0, (size_t)(n_grid * k * BLOCK) * sizeof(double));
    for (int64_t top = 0; top < ld; top += BLOCK) {
        block_of_chosen(search, k, top, x);
        for (int64_t j = 0; j < BLOCK; j++) {
            d[j] = top + j < ld ? rows->d[top + j] : 1.0;
            for (int64_t target = 0; target < t; target++)
                r[target * BLOCK + j] = top + j < ld ? rows->r[target * ld + top + j] : 0.0;
        }
        for (int64_t g = 0; g < n_grid; g++) {
            memcpy(moved, r, (size_t)(t * BLOCK) * sizeof(double));
            memcpy(shrunk, d, (size_t)BLOCK * sizeof(double));
            curve_of_block(x, k, models->inverses + g * k * k, models->steps + g * t * k, t, is_end, moved,
                           shrunk, sums + g * k * BLOCK);
        }
    }
    for (int64_t place = 0; place < n_grid * k; place++) {
        losses[place] = 0.0;
        for (int64_t j = 0; j < BLOCK; j++) losses[place] += sums[place * BLOCK + j];
    }
}

static int factorise_all(const Search *search, const SizedModels *models, double *work) {
    const int64_t k = models->k, t = search->rows->t;
    for (int64_t g = 0; g < models->n_grid; g++)
        if (!factorise(search, k, models->grid[g], models->inverses + g * k * k,
                       models->steps + g * t * k, work))
            return IN_DOUBT;
    return TAKEN;
}

/* For each size the penalty of the smallest leave-one-out loss; of those that tie the largest. `losses`
 * is (n_grid × k). */
static int best_penalties(const Search *search, const SizedModels *models, double *losses, double *work) {
    const int64_t k = models->k, t = search->rows->t, n_grid = models->n_grid;
    if (search->loss == SQUARED) squared_curves(search, models, losses, work);
    for (int64_t g = 0; g < n_grid && search->loss != SQUARED; g++)
        if (!other_curve(search, k, models->inverses + g * k * k, models->steps + g * t * k,
                         losses + g * k, work))
            return IN_DOUBT;
    for (int64_t s = 0; s < k; s++) {
        double smallest = INFINITY;
        for (int64_t g = 0; g < n_grid; g++) {
            if (!isfinite(losses[g * k + s])) return IN_DOUBT;
            if (losses[g * k + s] < smallest) smallest = losses[g * k + s];
        }
        for (int64_t g = 0; g < n_grid; g++)
            if (losses[g * k + s] <= smallest + TIE * fabs(smallest)) models->positions[s] = g;
    }
    return TAKEN;
}

/* Rows held out: x (k × BLOCK) of the chosen features, centred; zeros after the last row. */
static void block_held_out(const Search *search, int64_t k, const int64_t *numbers, int64_t count,
                           double *x) {
    const Rows *rows = search->rows;
    memset(x, 0, (size_t)(k * BLOCK) * sizeof(double));
    for (int64_t u = 0; u < k; u++) {
        const int64_t i = search->chosen[u];
        const double mean = rows->means == NULL ? 0.0 : rows->means[i];
        double *RESTRICT values = x + u * BLOCK;
        copy(rows->x + i * rows->column_stride, rows->type, rows->row_stride, numbers, count, values);
        for (int64_t j = 0; j < count; j++) values[j] -= mean;
    }
}

/* Losses of the tested rows, (1 + k × count): of the guess, and of models of k sizes, each with its own
 * penalty; in one or two measures. `work` is ((k + 3 t + 2) × BLOCK). */
static int losses_held_out(const Search *search, const SizedModels *models, const Tests *const *tests,
                           int n_tests, double *const *losses, double *work) {
    const int64_t k = models->k, t = search->rows->t, count = tests[0]->count;
    double *x = work, *y = x + k * BLOCK, *start = y + t * BLOCK, *errors = start + t * BLOCK;
    double *q = errors + t * BLOCK, *of_block = q + BLOCK;
    for (int a = 0; a < n_tests; a++) memcpy(losses[a], tests[a]->first, (size_t)count * sizeof(double));
    for (int64_t top = 0; top < count; top += BLOCK) {
        const int64_t height = top + BLOCK < count ? BLOCK : count - top;
        block_held_out(search, k, tests[0]->rows + top, height, x);
        for (int64_t target = 0; target < t; target++)
            for (int64_t j = 0; j < BLOCK; j++) {
                const double value = j < height ? tests[0]->y[target * count + top + j] : 0.0;
                y[target * BLOCK + j] = value;
                start[target * BLOCK + j] = j < height ? value - tests[0]->target_means[target] : 0.0;
            }
        for (int64_t g = 0; g < models->n_grid; g++) {
            int64_t last = -1;
            for (int64_t s = 0; s < k; s++)
                if (models->positions[s] == g) last = s;
            memcpy(errors, start, (size_t)(t * BLOCK) * sizeof(double));
            for (int64_t s = 0; s <= last; s++) {
                q_of_block(x, models->inverses + (g * k + s) * k, s, q);
                for (int64_t target = 0; target < t; target++) {
                    const double step = models->steps[(g * t + target) * k + s];
                    double *RESTRICT e = errors + target * BLOCK;
                    for (int64_t j = 0; j < BLOCK; j++) e[j] -= step * q[j];
                }
                for (int a = 0; a < n_tests && models->positions[s] == g; a++) {
                    if (!losses_of_block(tests[a]->loss, t, height, y, errors, of_block)) return IN_DOUBT;
                    memcpy(losses[a] + (1 + s) * count + top, of_block, (size_t)height * sizeof(double));
                }
            }
        }
    }
    return TAKEN;
}

/* Means over strata of means over rows: whole numbers are divided once, at the end. */
static double mean_of(const Tests *tests, const double *losses, double *sums) {
    double total = 0.0;
    int64_t n_present = 0;
    for (int64_t stratum = 0; stratum < tests->n_strata; stratum++) sums[stratum] = 0.0;
    for (int64_t j = 0; j < tests->count; j++) sums[tests->strata[j]] += tests->weights[j] * losses[j];
    for (int64_t stratum = 0; stratum < tests->n_strata; stratum++)
        if (tests->totals[stratum] > 0.0)
            total += sums[stratum] / tests->totals[stratum], n_present++;
    return total / (double)n_present;
}

/* The sums of `_held_out_errors.Summed` that depend on the losses, (1 + k × count): squares, products
 * with amounts, and centres. `of_clusters` is (1 + k × clusters). */
static void sum_clusters(const Tests *tests, int64_t width, const double *losses, double *squares,
                         double *products, double *centres, double *of_clusters) {
    const int64_t count = tests->count, n_clusters = tests->n_clusters, n_strata = tests->n_strata;
    memset(of_clusters, 0, (size_t)(width * n_clusters) * sizeof(double));
    memset(centres, 0, (size_t)(n_strata * width) * sizeof(double));
    for (int64_t c = 0; c < width; c++) {
        const double *RESTRICT row = losses + c * count;
        double *RESTRICT sums = of_clusters + c * n_clusters;
        for (int64_t j = 0; j < count; j++)
            centres[tests->strata[j] * width + c] += row[j] * tests->shares[j];
        for (int64_t stratum = 0; stratum < n_strata; stratum++)
            if (tests->share_sums[stratum] != 0.0) centres[stratum * width + c] /= tests->share_sums[stratum];
        for (int64_t j = 0; j < count; j++)
            sums[tests->clusters[j]] += (row[j] - centres[tests->strata[j] * width + c]) * tests->scaled[j];
        for (int64_t other = 0; other <= c; other++)
            squares[c * width + other] = squares[other * width + c] =
                dot(sums, of_clusters + other * n_clusters, n_clusters);
        for (int64_t stratum = 0; stratum < n_strata; stratum++)
            products[stratum * width + c] = dot(sums, tests->amounts + stratum * n_clusters, n_clusters);
    }
}

static int means_of(const Tests *tests, int64_t width, const double *losses, double *values, double *sums) {
    for (int64_t c = 0; c < width; c++) {
        values[c] = mean_of(tests, losses + c * tests->count, sums);
        if (!isfinite(values[c])) return IN_DOUBT;
    }
    return TAKEN;
}

/* Choose the penalty of each size, if there are several, and test the models on rows held out, if there
 * are any. `outcome` has arrays for mean losses (1 + k) in each measure, and for the sums of the first
 * that standard errors need, or NULL. */
static int test_models(const Search *search, int64_t k, const double *grid, int64_t n_grid,
                       int64_t *positions, const Tests *const *tests, int n_tests, Outcome *outcome) {
    const int64_t t = search->rows->t, width = 1 + k;
    const int64_t count = n_tests ? tests[0]->count : 0, n_strata = n_tests ? tests[0]->n_strata : 0;
    const int64_t n_clusters = n_tests ? tests[0]->n_clusters : 0;
    const int64_t of_losses = n_tests * width * count, of_models = n_grid * k * (k + t);
    const int64_t of_blocks = ((n_grid + 1) * k + 4 * t + 4) * BLOCK + 3 * k * k + 2 * k, most_strata = t > 2 ? t : 2;
    double *work = malloc((size_t)(of_models + n_grid * k + of_losses + width * n_clusters
                                   + most_strata + n_strata + of_blocks) * sizeof(double));
    if (work == NULL) return NO_MEMORY;
    double *loo = work + of_models, *first = loo + n_grid * k;
    double *of_clusters = first + of_losses, *sums = of_clusters + width * n_clusters;
    double *rest = sums + most_strata + n_strata, *losses[2] = {first, first + width * count};
    const SizedModels models = {k, n_grid, grid, work, work + n_grid * k * k, positions};
    for (int64_t s = 0; s < k && n_grid == 1; s++) positions[s] = 0;
    int result = factorise_all(search, &models, rest);
    if (result == TAKEN && n_grid > 1) result = best_penalties(search, &models, loo, rest);
    if (result == TAKEN && n_tests)
        result = losses_held_out(search, &models, tests, n_tests, losses, rest);
    for (int a = 0; a < n_tests && result == TAKEN; a++)
        result = means_of(tests[a], width, losses[a], outcome->values[a], sums);
    if (result == TAKEN && n_tests && outcome->squares != NULL)
        sum_clusters(tests[0], width, first, outcome->squares, outcome->products, outcome->centres,
                     of_clusters);
    free(work);
    return result;
}

#endif
