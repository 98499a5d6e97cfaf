/* What the files of the Python interface share. */
#ifndef GREEDYRLS_MODULE_H
#define GREEDYRLS_MODULE_H

#include <Python.h>

#include "search.h"

/* The variant in use, and what a capsule of rows holds. */
const Variant *current_variant(void);
const Rows *rows_of(PyObject *capsule);

/* A contiguous array of `count` numbers of a format ("d" or "q"); NULL with an error set. */
void *numbers(PyObject *object, Py_buffer *view, char format, Py_ssize_t count, int flags);

/* The same of float64, or NULL for None; `is_right` becomes 0 if it is neither, and nothing is done if
 * it was 0. The view may be released in any case. */
double *numbers_or_none(PyObject *object, Py_buffer *view, Py_ssize_t count, int flags,
                        int *is_right);

/* Products of X, in product_module.c. */
PyObject *multiplies(PyObject *module, PyObject *arguments);
PyObject *multiply(PyObject *module, PyObject *arguments);
PyObject *gram_columns(PyObject *module, PyObject *arguments);

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
