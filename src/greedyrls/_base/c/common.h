/* Constants, vectors and inner products, in one variant of the instruction set. */
#ifndef GREEDYRLS_COMMON_H
#define GREEDYRLS_COMMON_H

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
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define SIMD(...)
#define RESTRICT __restrict
#define ALWAYS_INLINE inline
#define PREFETCH(address)
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
#define KNOWN_LOSS 1e-12
#define Z_ROUNDING 1e-15
#define FAR_ROUNDING 1e-4

/* Rounding of a candidate's loss, relative to it, for each A_ii/δ_i: its δ lost as many digits. */
#define PIVOT_ROUNDING (64.0 * DBL_EPSILON)
/* With less left of a leverage, the loss of a candidate is mostly rounding. */
#define LEAST_LEFT (1e3 * SMALLEST_D)
/* Within so much of it, relative to its terms, the side of a decision boundary is unknown. */
#define UNSURE 1e-12
/* Tile of rows in products of columns: both operands stay in the cache. */
#define TILE 512
/* An anchor, which takes a pass over X, pays where it may rule out one candidate in so many. */
#define ANCHOR_SHARE 16
/* Columns that a thread multiplies at a time by an anchor, and numbers of X from which threads pay. */
#define ANCHOR_COLUMNS 504
#define SHARED_NUMBERS (1 << 18)
/* Tile of a copy of X. */
#define PACKED_ROWS 64
#define PACKED_COLUMNS 32
/* Bounds that are compared together before each. */
#define FEW 32
/* Candidates whose z is computed together. */
#define GROUP 4
/* Candidates of lowest bound that a step scores first. */
#define FIRST 8
/* Candidates that are put in the order of their bounds at a time. */
#define MOST_ORDERED (MOST_RUNNERS_UP + 1 + FIRST)

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
    const double *p = (const double *)&sums;
    if (WIDTH == 1) return p[0];
    return ((p[0] + p[4]) + (p[1] + p[5])) + ((p[2] + p[6]) + (p[3] + p[7]));
}

static double dot(const double *RESTRICT a, const double *RESTRICT b, int64_t count) {
    Vector first = AT(ZEROS), second = AT(ZEROS);
    int64_t j = 0;
    for (; j + 2 * WIDTH <= count; j += 2 * WIDTH) {
        first += AT(a + j) * AT(b + j);
        second += AT(a + j + WIDTH) * AT(b + j + WIDTH);
    }
    if (j + WIDTH <= count) first += AT(a + j) * AT(b + j), j += WIDTH;
    double rest = 0.0;
    for (; j < count; j++) rest += a[j] * b[j];
    return total_of(first + second) + rest;
}

#endif
