/* What the files of the Python interface share. */
#ifndef GREEDYRLS_MODULE_H
#define GREEDYRLS_MODULE_H

#include <Python.h>
#include <stdint.h>

#include "search.h"

/* What a capsule of rows holds. */
typedef struct {
    Rows rows;
    Py_buffer x;
    int has_x;
    PyObject *kept; /* a list of what Gram columns, and columns of X, are in */
    int n_running;     /* searches that may read them; changed with the interpreter lock only */
    int64_t n_kept, most_kept;         /* Gram columns; 0: searches ask for them */
    int64_t n_gathered, most_gathered; /* numbers of columns of X */
    double *spare; /* memory for so many Gram columns more */
    int64_t n_spare;
} OwnRows;

OwnRows *own_rows_of(PyObject *capsule);
const Rows *rows_of(PyObject *capsule);

/* Rows, in rows_module.c. */
PyObject *new_rows(PyObject *module, PyObject *arguments);
PyObject *let_fetch(PyObject *module, PyObject *arguments);
PyObject *products(PyObject *module, PyObject *arguments);
PyObject *forget(PyObject *module, PyObject *capsule);
PyObject *kept(PyObject *module, PyObject *capsule);

/* Searches, in search_module.c. */
PyObject *new_search(PyObject *module, PyObject *arguments);
PyObject *steps(PyObject *module, PyObject *arguments);
PyObject *add(PyObject *module, PyObject *arguments);
PyObject *read_numbers(PyObject *module, PyObject *arguments);
PyObject *lowest(PyObject *module, PyObject *arguments);
PyObject *likely(PyObject *module, PyObject *arguments);
PyObject *set_anchor(PyObject *module, PyObject *arguments);
PyObject *loo_curve(PyObject *module, PyObject *arguments);

/* A contiguous array of `count` numbers of a format ("d" or "q"); NULL with an error set. */
void *numbers(PyObject *object, Py_buffer *view, char format, Py_ssize_t count, int flags);

/* A copy of as many numbers; NULL with an error set. */
void *copied(PyObject *object, char format, int64_t count);

/* A search of a capsule; NULL with an error set. And the functions that this processor runs. */
Search *search_of(PyObject *capsule);
const Variant *search_variant(void);

/* Models on rows held out, in tests_module.c. */
PyObject *new_tests(PyObject *module, PyObject *arguments);
PyObject *test_models(PyObject *module, PyObject *arguments);

/* Removals, in removal_module.c. */
PyObject *remove_worst(PyObject *module, PyObject *arguments);

/* Products of arrays whose columns are contiguous, in dots_module.c. */
PyObject *most_dots(PyObject *module, PyObject *unused);
PyObject *column_product(PyObject *module, PyObject *arguments);

/* The same of float64, or NULL for None; `is_right` becomes 0 if it is neither, and nothing is done if
 * it was 0. The view may be released in any case. */
double *numbers_or_none(PyObject *object, Py_buffer *view, Py_ssize_t count, int flags,
                        int *is_right);

/* Kernels of points, in radial_module.c. */
PyObject *radial_kernel(PyObject *module, PyObject *arguments);

/* Products of X, in product_module.c. */
PyObject *multiplies(PyObject *module, PyObject *arguments);
PyObject *multiply(PyObject *module, PyObject *arguments);
PyObject *gram_columns(PyObject *module, PyObject *arguments);

/* To read a number of X takes as long as so many multiplications. */
#define READ 8

/* How many columns a share of a call has, if each thread may take some shares; `work` is in multiplications. */
int64_t share_width(double work, int64_t n, int64_t n_threads, int64_t each);

/* Compute the Gram column that a search needs, with those that are likely needed next; whether it did.
 * The interpreter lock is taken to keep them. */
int fetch_ahead(OwnRows *own, Search *search, int64_t n_more, PyThreadState **thread);

/* Many numbers that are written before they are read: in large pages where there are such, as the system
 * clears them faster. NULL without memory. */
double *large_array(int64_t count);

/* Searches by folds, in fold_module.c. */
void choose_fold_variant(const char *name);
PyObject *new_fold_rows(PyObject *module, PyObject *arguments);
PyObject *new_fold_search(PyObject *module, PyObject *arguments);
PyObject *fold_choose(PyObject *module, PyObject *arguments);
PyObject *fold_add(PyObject *module, PyObject *arguments);
PyObject *fold_drift(PyObject *module, PyObject *capsule);
PyObject *fold_losses(PyObject *module, PyObject *arguments);
PyObject *fold_curve(PyObject *module, PyObject *arguments);

#endif
