/* Forward searches by the exact leave-one-out criterion, in the letters of docs/theory.md.
 *
 * `Rows` is what searches on the same rows share for any penalty; `Search` is one of them. A search
 * takes the steps that nothing but the smallest loss decides. In any doubt it changes nothing and
 * says why; the general engine takes that step, and `add_feature` makes up for it here.
 */
#ifndef GREEDYRLS_SEARCH_H
#define GREEDYRLS_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* Numbers of a vector: arrays of m numbers are padded to a multiple of it. */
#define LANES 8
/* The most runners-up of a step. */
#define MOST_RUNNERS_UP 64
/* Bounds of the spread of z over the rows are of use with so many rows, and unknown at first. */
#define SPREAD_ROWS 4096
#define UNKNOWN 1e100
/* Numbers that z of candidates scored lately may take, and the fewest candidates. */
#define CACHED_NUMBERS (1 << 20)
#define FEWEST_SLOTS 64
/* The most Gram columns that a pass fetches ahead of their use. */
#define MOST_AHEAD 128
/* Columns scored lately that are kept, where X is not packed. */
#define N_RECENT 64

/* Pointers to columns, which searches read while another thread adds some: the numbers are there first. */
#if defined(__GNUC__) || defined(__clang__)
#define COLUMN(columns, i) __atomic_load_n(&(columns)[i], __ATOMIC_ACQUIRE)
#define PUBLISH(columns, i, values) __atomic_store_n(&(columns)[i], values, __ATOMIC_RELEASE)
#else
#define COLUMN(columns, i) ((columns)[i])
#define PUBLISH(columns, i, values) ((columns)[i] = (values))
#endif

enum loss { SQUARED = 0, ABSOLUTE = 1, ZERO_ONE = 2, BALANCED = 3 };

/* Why a search leaves the next step to others; the order is that of `_compiled_rows.py`. */
enum stop {
    TAKEN = 0,         /* it does not: the step was taken */
    DONE = 1,          /* no candidate, or no room, is left */
    IN_DOUBT = 2,      /* rounding may decide: a tie, a pivot without digits, a leverage of 1 */
    NEEDS_COLUMN = 3,  /* the Gram column of the best candidate is missing */
    NEEDS_ANCHOR = 4,  /* bounds are loose: X'a of the anchor would tighten them */
    NO_MEMORY = 5,
    LOST = 6 /* a loss has lost digits: the general engine repeats the search */
};

typedef struct {
    int64_t m, n, t; /* rows of positive weight, features, targets */
    int64_t ld;      /* m rounded up to LANES; padding has r = x = 0 and d = 1 */
    /* X as it was passed, with the numbers of its rows that count (NULL: all of them). */
    const char *x;
    int64_t row_stride, column_stride; /* in bytes */
    char type;                         /* of the numbers, as in struct's format strings */
    const int64_t *rows;
    const double *means;       /* (n) or NULL */
    double *root;              /* (ld) roots of the weights, or NULL */
    double *weights;           /* (ld) weights; 0 in the padding */
    double *shares;            /* (ld) of the rows in a loss other than the squared one */
    double scale;              /* of the sum of these losses */
    const double *diagonal;    /* (n) ‖x_i‖² */
    const double *correlation; /* (t × n) x_i·y */
    double *r, *d;             /* (t × ld), (ld) of the model without features */
    double *y;                 /* (t × ld) the targets, divided by the roots of the weights */
    double *energy;            /* (t) ‖r‖² */
    double *packed;            /* (n × ld) centred, weighted columns, or NULL */
    const double **gram;       /* (n) Gram columns, NULL where there is none */
    const double **columns;    /* (n) columns that were gathered with them, as `packed` has them */
    /* Where features are kernel functions k(·, c_i); else NULL. */
    double *kernel_diagonal; /* (n) k(c_i, c_i) */
    const double **kernels;  /* (n) k(c_i, ·) of all centres, where there is a Gram column */
} Rows;

/* Sums of a model, in the order of SampleStatistics: 6 t numbers, then these. */
#define N_SUMS(t) (6 * (t) + 4)

typedef struct Search {
    const Rows *rows;
    double alpha;
    int loss;
    int keeps_z;
    int64_t capacity, size, n_left;
    int64_t *chosen;
    unsigned char *barred; /* (n) features that are no candidates */
    double *r, *d;         /* (t × ld), (ld) */
    double *g, *omega;     /* (t × ld) ω∘r, (ld) 1/d² */
    double *delta, *tau;   /* (n), (t × n) */
    double *sums;          /* of the current model, N_SUMS(t) */
    double total;          /* its squared leave-one-out loss, a sum over rows and targets */
    double initial_loss;   /* of the model without features, if the loss is another one */
    double initial_total;  /* its squared loss, as a sum */
    double growth;         /* the largest one of features so far: z has lost as many digits */
    double total_weight;
    double *pivots;        /* (capacity) δ of the chosen features */
    double *columns;       /* (capacity × ld) chosen columns x_s; NULL where they are packed */
    double *gram;          /* (capacity × capacity) X_S'X_S */
    double *bounds;        /* (n) lower bounds of the losses, or losses */
    double *scratch;       /* (4 × ld + capacity) */
    int64_t *open;         /* (n) */
    double *distances;     /* (3 × t) between g and its approximation in the bounds, and its slopes */
    double *best;          /* (ld) z of the best candidate so far */
    /* Where z of all candidates is kept. */
    double *Z;     /* (n × ld) */
    double *c;     /* (n × capacity) x_i·z_s */
    int is_behind; /* whether Z does not know of the last chosen feature */
    double *steps; /* (capacity × t) ρ of the chosen features */
    /* Where it is not. */
    double *norms, *inner, *anchored; /* (n) ‖z_i‖², (t × n) r·z_i, (t × n) a·z_i or NULL */
    double *L;                        /* (capacity × n) */
    double *inverse, *overlap;        /* (capacity × capacity) of L_SS; q_u·q_s */
    double *weights;                  /* (capacity × t) w */
    double *anchor;                   /* (t × ld) a */
    int has_anchor;
    int is_anchor_fresh;              /* whether it was set at this model */
    double *fourth, *mixed; /* (n) at least ‖z_i‖₄, (t × n) at most ‖r∘z_i‖; NULL: few rows */
    double *recent;                   /* (N_RECENT × ld) columns that were scored lately */
    int64_t *recent_index;
    int64_t n_gathered;
    /* Where features are kernel functions, and x_i·q_s is no entry of L. */
    double *V;       /* (capacity × n) x_i·q_s */
    double *P;       /* (capacity × n) α k(c_s, c_i) */
    double *penalty; /* (capacity × capacity) P_SS */
    double lost;     /* the largest A_ss/δ_s of chosen ones: α keeps no pivot from 0 */
    double *chosen_z;  /* (capacity × ld) z of the chosen features when they were added */
    double *cached;    /* (n_slots × ld) z of candidates that were scored lately */
    float *sample;     /* (n × q) of X, made when likely centres are asked for */
    int64_t n_slots, n_filled;
    int64_t *slot_of;                  /* (n) -1 if there is none */
    int64_t *slot_feature, *slot_size; /* (n_slots) whose z it is, and of which model */
    /* Report of the last step. */
    int64_t wanted; /* the candidate whose Gram column is needed */
    int64_t n_ahead, ahead[MOST_AHEAD]; /* with those that are likely wanted next, best first */
    int64_t n_fetched; /* features when columns were fetched last; -1 if they were not */
    int64_t n_passes;  /* over X */
    int64_t n_threads; /* that may share a loop over features */
    int is_decided; /* whether a step waits for it only: the best, with their losses */
    int64_t decided_count, decided[MOST_RUNNERS_UP + 1];
    double decided_losses[MOST_RUNNERS_UP + 1];
    int64_t n_evaluations;
    double smallest_left; /* the smallest 1 − h with the candidate that was scored last */
    double steepness;     /* Σ (e/(1 − h))² with it, by which its loss multiplies rounding */
    int is_lost;          /* whether a candidate was scored whose loss is mostly rounding */
    double largest_drift;
    double wear; /* digits that removals have cost so far, in units of rounding */
} Search;

/* Rows that an outer fold holds out, and how their losses are summed. */
typedef struct {
    int64_t count, t, n_strata, n_clusters;
    int loss;
    const int64_t *rows;                /* (count) their numbers in X */
    const double *y;                    /* (t × count) */
    const double *target_means;         /* (t) of the training rows */
    const double *first;                /* (count) losses without features */
    const double *weights, *totals;     /* (count), (strata) their sums */
    const int64_t *strata, *clusters;   /* (count) */
    const double *shares, *share_sums;  /* (count), (strata) their sums */
    const double *scaled, *amounts;     /* (count), (strata × clusters) their sums */
} Tests;

/* What tests of models of k sizes are written to. */
typedef struct {
    double *values[2];                     /* (1 + k) in each measure */
    double *squares, *products, *centres;  /* (1 + k × 1 + k), (strata × 1 + k) twice; or NULL */
} Outcome;

/* The functions of this file in one variant of the instruction set. */
typedef struct Variant {
    const char *name;
    void (*pack)(Rows *rows);
    void (*products)(const Rows *rows, const int64_t *indices, int64_t count, double *out);
    int (*begin)(Search *search);
    int (*step)(Search *search, int64_t n_runners_up, int64_t *best, double *losses);
    int (*add)(Search *search, int64_t index);
    int (*makes_anchors)(const Rows *rows);
    int (*set_anchor)(Search *search, const double *products);
    int64_t (*lowest)(Search *search, int64_t count, int64_t *indices);
    int64_t (*likely)(Search *search, int64_t first, int64_t count, int64_t *indices);
    int (*loo_curve)(const double *columns, int64_t k, int64_t m, const double *inverses,
                     const double *steps, int64_t n_models, int64_t t, const double *r,
                     const double *d, const unsigned char *is_end, double *out);
    int (*test_models)(const Search *search, int64_t k, const double *grid, int64_t n_grid,
                       int64_t *positions, const Tests *const *tests, int n_tests, Outcome *outcome);
    int multiplies; /* whether the next two are faster than BLAS */
    void (*multiply)(const double *V, int64_t count, const double *X, int64_t m, int64_t n,
                     int64_t stride, double *out, int64_t apart, const double *w, double *squares);
    void (*gram_columns)(const Rows *rows, const int64_t *indices, int64_t count, const double *anchor,
                         int64_t start, int64_t stop, double *out, double *columns);
    int (*remove_worst)(Search *search, const unsigned char *stays, double below, double largest,
                        int64_t n_runners_up, int64_t *best, double *losses);
    int64_t most_dots; /* vectors with which `column_product` is faster than BLAS */
    void (*column_product)(const double *V, int64_t count, const double *X, int64_t m, int64_t n,
                           int64_t stride, double *out, int64_t apart, const double *w, double *squares);
    int (*radial_kernel)(const double *centers, int64_t rows, const double *points, int64_t d, double gamma,
                         int64_t start, int64_t stop, double *out, int64_t stride, int is_square);
} Variant;

extern const Variant baseline_variant;
#ifdef HAS_X86_VARIANTS
extern const Variant avx2_variant;
extern const Variant avx512_variant;
#endif

#endif
