/* Which kernel centres a search is likely to choose after the next one.
 *
 * A chosen centre takes its neighbours along, and the best one then may have had any rank before. So all
 * candidates are followed: their products with what is left of the centre are estimated from a sample of the
 * rows, and computed for those that look best. That costs a tenth of a pass over X. It is a guess: the
 * penalty's part of products is left out, and the squared error of training rows stands for the loss. */
#ifndef GREEDYRLS_LIKELY_CENTERS_H
#define GREEDYRLS_LIKELY_CENTERS_H

#include "bounded.h"

/* The most centres that are followed, and candidates that are measured after each. */
#define MOST_FOLLOWED 16
#define MOST_MEASURED 16
/* So few candidates that were scored do not tell the next centre; numbers of an X beyond the cache. */
#define FEW_SCORED 48
#define LARGE_X (1 << 21)
/* Runs of LANES rows in the sample. */
#define SAMPLED_RUNS 38

/* Candidates as the centres that were followed so far leave them. */
typedef struct {
    int64_t count;                      /* centres */
    double *z;                          /* (MOST_FOLLOWED × ld) what is left of them */
    double pivot[MOST_FOLLOWED], *step; /* δ, and (MOST_FOLLOWED × t) τ/δ */
    double *delta, *tau;                /* (n), (t × n) of all candidates, as far as they are known */
    double *losses;                     /* (n) minus what they gain; +inf: no candidates any more */
    double *products, *exact;           /* (n) with the last centre; (MOST_FOLLOWED × n) by columns */
    int64_t *n_exact;                   /* (n) of how many centres */
    double *work;                       /* for `take_z` */
} Followed;

/* Whether columns of kernel functions are float64 and contiguous, and all rows count the same. */
static int has_plain_columns(const Rows *rows) {
    return rows->kernel_diagonal != NULL && rows->type == 'd' && rows->rows == NULL
           && rows->root == NULL && rows->row_stride == (int64_t)sizeof(double);
}

/* Whether to follow all candidates: few were scored in this step, and a pass over X waits for memory. */
static int follows_all(const Search *search) {
    const Rows *rows = search->rows;
    int64_t n_scored = 0;
    if (search->keeps_z || !has_plain_columns(rows) || rows->m * rows->n < LARGE_X) return 0;
    for (int64_t slot = 0; slot < search->n_slots && slot < search->n_filled; slot++)
        n_scored += search->slot_size[slot] == search->size;
    return n_scored < FEW_SCORED;
}

static const double *plain_column(const Rows *rows, int64_t i) {
    return (const double *)(rows->x + i * rows->column_stride);
}

static int64_t sampled_runs(const Rows *rows) {
    const int64_t runs = rows->m / LANES;
    return runs < SAMPLED_RUNS ? runs : SAMPLED_RUNS;
}

/* The first row of a run of the sample: runs are spread over all rows, as these may be in any order. */
static int64_t start_of_run(const Rows *rows, int64_t run) {
    return run * (rows->m / LANES) / sampled_runs(rows) * LANES;
}

/* The sample of X (n × q), centred: made once for a search. 0 without memory. */
static int take_sample(Search *search) {
    const Rows *rows = search->rows;
    const int64_t n = rows->n, runs = sampled_runs(rows);
    if (search->sample != NULL) return 1;
    float *out = search->sample = malloc((size_t)(n * runs * LANES + 1) * sizeof(float));
    if (out == NULL) return 0;
    for (int64_t i = 0; i < n; i++) {
        const double *x = plain_column(rows, i), mean = rows->means == NULL ? 0.0 : rows->means[i];
        for (int64_t run = 0; run < runs; run++) {
            const int64_t first = start_of_run(rows, run);
            for (int64_t j = first; j < first + LANES; j++)
                *out++ = (float)(x[j] - mean);
        }
    }
    return 1;
}

/* Some candidates after their products p with what is left of a centre. */
static void move(const Search *search, Followed *followed, int64_t u, const double *RESTRICT p, int64_t first,
                 int64_t count) {
    const int64_t n = search->rows->n, t = search->rows->t;
    const double inverse = 1.0 / followed->pivot[u];
    const double *RESTRICT whole = search->delta + first;
    double *RESTRICT delta = followed->delta + first;
    SIMD()
    for (int64_t i = 0; i < count; i++) {
        const double left = delta[i] - p[i] * p[i] * inverse, least = TRUSTED_PIVOT * whole[i];
        delta[i] = left > least ? left : least;
    }
    for (int64_t k = 0; k < t; k++) {
        double *RESTRICT tau = followed->tau + k * n + first;
        const double step = followed->step[u * t + k];
        SIMD()
        for (int64_t i = 0; i < count; i++) tau[i] -= step * p[i];
    }
}

static void note_gains(const Search *search, Followed *followed, int64_t first, int64_t count) {
    const double *RESTRICT delta = followed->delta + first;
    double *RESTRICT losses = followed->losses + first, *RESTRICT gains = followed->products + first;
    for (int64_t i = 0; i < count; i++) gains[i] = 0.0;
    for (int64_t k = 0; k < search->rows->t; k++) {
        const double *RESTRICT tau = followed->tau + k * search->rows->n + first;
        SIMD()
        for (int64_t i = 0; i < count; i++) gains[i] += tau[i] * tau[i];
    }
    SIMD()
    for (int64_t i = 0; i < count; i++) losses[i] = losses[i] < INFINITY ? -gains[i] / delta[i] : INFINITY;
}

/* All candidates as a centre leaves them, by the sample. */
static void estimate(const Search *search, Followed *followed, int64_t u) {
    const Rows *rows = search->rows;
    const int64_t runs = sampled_runs(rows), q = runs * LANES;
    const double scale = (double)rows->m / (double)(q > 0 ? q : 1), *z = followed->z + u * rows->ld;
    float part[SAMPLED_RUNS * LANES];
    for (int64_t k = 0; k < q; k++) part[k] = (float)z[start_of_run(rows, k / LANES) + k % LANES];
    for (int64_t i = 0; i < rows->n; i++) {
        const float *RESTRICT x = search->sample + i * q;
        float sum = 0.0f;
        SIMD(reduction(+ : sum))
        for (int64_t k = 0; k < q; k++) sum += x[k] * part[k];
        followed->products[i] = scale * (double)sum;
    }
    move(search, followed, u, followed->products, 0, rows->n);
    note_gains(search, followed, 0, rows->n);
}

/* A candidate as all of them leave it, by its column. */
static void measure_left(const Search *search, Followed *followed, int64_t i) {
    const Rows *rows = search->rows;
    const int64_t n = rows->n;
    const double *x = plain_column(rows, i); /* not centred, as the sum of z is 0 then */
    for (; followed->n_exact[i] < followed->count; followed->n_exact[i]++) {
        const int64_t u = followed->n_exact[i];
        followed->exact[u * n + i] = dot(x, followed->z + u * rows->ld, rows->m);
    }
    followed->delta[i] = search->delta[i];
    for (int64_t k = 0; k < rows->t; k++) followed->tau[k * n + i] = search->tau[k * n + i];
    for (int64_t u = 0; u < followed->count; u++) move(search, followed, u, followed->exact + u * n + i, i, 1);
    note_gains(search, followed, i, 1);
}

/* Follow a centre as well, and say which candidate gains most then; -1: none. */
static int64_t follow_center(Search *search, Followed *followed, int64_t index) {
    const Rows *rows = search->rows;
    const int64_t ld = rows->ld, u = followed->count++;
    double *z = followed->z + u * ld, *left;
    take_z(search, &index, 1, &left, followed->work);
    memcpy(z, left, (size_t)ld * sizeof(double));
    for (int64_t v = 0; v < u; v++) {
        const double *RESTRICT earlier = followed->z + v * ld;
        const double slope = dot(z, earlier, ld) / followed->pivot[v];
        for (int64_t j = 0; j < ld; j++) z[j] -= slope * earlier[j];
    }
    followed->pivot[u] = followed->delta[index];
    for (int64_t k = 0; k < rows->t; k++)
        followed->step[u * rows->t + k] = followed->tau[k * rows->n + index] / followed->delta[index];
    followed->losses[index] = INFINITY;
    estimate(search, followed, u);
    int64_t best[MOST_MEASURED];
    const int64_t found = lowest_among(followed->losses, NULL, rows->n, MOST_MEASURED, best);
    for (int64_t k = 0; k < found; k++) measure_left(search, followed, best[k]);
    int64_t next = -1;
    lowest_among(followed->losses, best, found, 1, &next);
    return next;
}

/* Up to `count` centres without a Gram column that are likely chosen after `first`. */
static int64_t likely_centers(Search *search, int64_t first, int64_t count, int64_t *indices) {
    const Rows *rows = search->rows;
    const int64_t n = rows->n, t = rows->t, ld = rows->ld, work = GROUP * ld + (GROUP + 1) * search->capacity;
    const int64_t numbers = MOST_FOLLOWED * (ld + t + n) + (t + 4) * n + work;
    double *room = take_sample(search) ? malloc((size_t)numbers * sizeof(double)) : NULL;
    if (room == NULL) return 0;
    Followed followed = {.z = room, .step = room + MOST_FOLLOWED * ld};
    followed.delta = followed.step + MOST_FOLLOWED * t, followed.tau = followed.delta + n;
    followed.losses = followed.tau + t * n, followed.products = followed.losses + n;
    followed.exact = followed.products + n, followed.work = followed.exact + MOST_FOLLOWED * n;
    followed.n_exact = (int64_t *)(followed.work + work);
    memset(followed.n_exact, 0, (size_t)n * sizeof(int64_t));
    memcpy(followed.delta, search->delta, (size_t)n * sizeof(double));
    memcpy(followed.tau, search->tau, (size_t)(t * n) * sizeof(double));
    for (int64_t i = 0; i < n; i++) followed.losses[i] = search->barred[i] ? INFINITY : 0.0;
    int64_t found = 0;
    for (int64_t next = first; found < count && followed.count < MOST_FOLLOWED && next >= 0;) {
        next = follow_center(search, &followed, next);
        if (next >= 0 && COLUMN(rows->gram, next) == NULL) indices[found++] = next;
    }
    free(room);
    return found;
}

#endif
