/* Forward searches by folds, each row in one of them, in the letters of docs/theory.md.
 *
 * Every fold has a model of its own, of the rows of all others. For the rows of the fold, a search
 * keeps what the model leaves of every candidate, V = M_q z_i: a feature that is added takes a
 * multiple of its own column from each, for every fold another one. The model of all rows, by a
 * factor of its Gram matrix, gives these multiples.
 */
#ifndef GREEDYRLS_FOLDS_H
#define GREEDYRLS_FOLDS_H

#include <stdint.h>

/* Candidates whose V are side by side; arrays of n numbers are padded to a multiple of it. */
#define BLOCK 32

/* What searches share for any penalty: the models without features. Arrays of candidates come in
 * blocks, (n / BLOCK) × … × BLOCK. */
typedef struct {
    int64_t m, n, t, n_folds, n_blocks;
    int64_t *starts;  /* (K + 1) the first row of each fold */
    double *delta;    /* (blocks × K × BLOCK) without the penalty */
    double *tau;      /* (blocks × K × t × BLOCK) */
    double *errors;   /* (t × m) */
    double *diagonal; /* (n) ‖x_i‖² over all rows */
    double *far;      /* (n) what means far from the origin add to it where digits are counted */
    double *energy;   /* (t) sums of squared errors */
} FoldRows;

typedef struct {
    const FoldRows *rows;
    double alpha;
    int64_t capacity, size;
    int64_t *chosen;
    unsigned char *barred;     /* (padded n) */
    double *V;                 /* (blocks × m × BLOCK) */
    double *delta, *tau;       /* as those of the rows */
    double *errors, *sums;     /* (t × m) held-out errors, (t × K) sums of their squares */
    double *L;                 /* (capacity × padded n) factor of all rows */
    double *Q;                 /* (capacity × m) z_s/√δ_s of all rows */
    double *pivots;            /* (padded n) δ_i of all rows */
    double *losses, *smallest; /* (t × padded n) change of the sums, (padded n) least δ/A_ii */
    /* The feature that V does not know of yet. */
    int is_behind;
    double *z, *u;             /* (m) of all rows, and of the models of the folds */
    double *g;                 /* (padded n) x_i·z */
    double *left, *rho;        /* (K) δ, (K × t) ρ */
    double largest_drift;
    double growth;             /* the largest A_ii/δ_i of chosen features in a fold: digits lost */
    int64_t n_evaluations;
} FoldSearch;

/* Models on the first 1, 2, … of k features that are orthogonalised for a penalty, each fold left
 * out: `errors`, at first those without features, become those of the last model. */
typedef struct {
    int64_t m, t, n_folds, k;
    const int64_t *starts; /* (K + 1) */
    const double *start;   /* (m) q of the intercept, or NULL */
    const double *columns; /* (k × m) q of the features */
    const double *steps;   /* (k × t) coefficients on them */
    double *errors;        /* (t × m) */
    double *sums;          /* (k × t) squared errors; NaN from where a fold has nothing left */
    double *kept;          /* (k × t × m) errors of all models, or NULL */
} FoldCurves;

/* The functions of folds.c in one variant of the instruction set; what they return is `enum stop`. */
typedef struct {
    const char *name;
    int (*choose)(FoldSearch *search, int64_t n_runners_up, int64_t *best, double *losses);
    int (*add)(FoldSearch *search, int64_t index, const double *gram, const double *x);
    int (*curve)(const FoldCurves *curves);
} FoldVariant;

extern const FoldVariant baseline_folds;
#ifdef HAS_X86_VARIANTS
extern const FoldVariant avx2_folds;
extern const FoldVariant avx512_folds;
#endif

#endif
