/* The Python interface of products of X. */
#include "module.h"

#include <string.h>

/* X: rows of float64, each contiguous; its buffer has two dimensions. */
static int has_contiguous_rows(const Py_buffer *x)
{
    return x->ndim == 2 && strcmp(x->format, "d") == 0 && x->strides[1] == 8
           && x->strides[0] >= 8 * x->shape[1] && x->strides[0] % 8 == 0;
}

/* Whether there are such columns; an error is set if not. */
static int are_columns(Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n)
{
    if (start >= 0 && stop >= start && stop <= n)
        return 1;
    PyErr_Format(PyExc_ValueError, "expected columns among %zd, got %zd to %zd", n, start, stop);
    return 0;
}

PyObject *multiplies(PyObject *module, PyObject *Py_UNUSED(arguments))
{
    (void)module;
    return PyBool_FromLong(search_variant()->multiplies);
}

/* multiply(V, X, out, start, stop, weights, squares): V X for the columns from `start` to `stop`, and
 * the weighted sums of their squares. */
PyObject *multiply(PyObject *module, PyObject *arguments)
{
    PyObject *vectors, *matrix, *result, *weights, *sums;
    Py_ssize_t start, stop;
    Py_buffer x, views[4];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOnnOO", &vectors, &matrix, &result, &start, &stop, &weights,
                          &sums)
        || PyObject_GetBuffer(matrix, &x, PyBUF_FORMAT | PyBUF_STRIDED_RO))
        return NULL;
    const Py_ssize_t count = PyObject_Length(vectors);
    int is_right = count >= 0;
    if (is_right && !has_contiguous_rows(&x)) {
        PyErr_SetString(PyExc_ValueError, "expected X of float64 with contiguous rows");
        is_right = 0;
    }
    is_right = is_right && are_columns(start, stop, x.shape[1]);
    const Py_ssize_t m = is_right ? x.shape[0] : 0, n = is_right ? x.shape[1] : 0;
    const double *v = numbers_or_none(vectors, &views[0], count * m, 0, &is_right);
    double *out = numbers_or_none(result, &views[1], count * n, PyBUF_WRITABLE, &is_right);
    const double *w = numbers_or_none(weights, &views[2], m, 0, &is_right);
    double *squares = numbers_or_none(sums, &views[3], n, PyBUF_WRITABLE, &is_right);
    if (is_right) {
        Py_BEGIN_ALLOW_THREADS
        search_variant()->multiply(v, count, (const double *)x.buf + start, m, stop - start,
                          x.strides[0] / 8, out + start, n, w,
                          squares == NULL ? NULL : squares + start);
        Py_END_ALLOW_THREADS
    }
    for (int k = 0; k < 4; k++)
        PyBuffer_Release(&views[k]);
    PyBuffer_Release(&x);
    if (!is_right)
        return NULL;
    Py_RETURN_NONE;
}

/* gram_columns(rows, indices, out, columns, start, stop): columns from `start` to `stop` of x_b'X for
 * features b, from X as it was passed: rows of float64, each contiguous, all of which count. The call
 * that begins at 0 fills the columns b themselves, unless that is None. */
PyObject *gram_columns(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *indices, *result, *gathered;
    Py_ssize_t start, stop;
    Py_buffer which, views[2];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOnn", &capsule, &indices, &result, &gathered, &start, &stop))
        return NULL;
    const Rows *rows = rows_of(capsule);
    const Py_ssize_t count = PyObject_Length(indices);
    if (rows == NULL || count < 0 || !are_columns(start, stop, (Py_ssize_t)rows->n))
        return NULL;
    if (rows->type != 'd' || rows->rows != NULL || rows->column_stride != 8
        || rows->row_stride < 8 * rows->n || rows->row_stride % 8 != 0)
        return PyErr_Format(PyExc_ValueError, "expected X of float64 with contiguous rows");
    const int64_t *features = numbers(indices, &which, 'q', count, 0);
    if (features == NULL)
        return NULL;
    int is_right = 1;
    for (Py_ssize_t k = 0; k < count; k++)
        is_right = is_right && features[k] >= 0 && features[k] < rows->n;
    if (!is_right)
        PyErr_SetString(PyExc_ValueError, "a feature is outside X");
    double *out = numbers_or_none(result, &views[0], count * (Py_ssize_t)rows->n, PyBUF_WRITABLE,
                                  &is_right);
    double *columns = numbers_or_none(gathered, &views[1], count * (Py_ssize_t)rows->ld,
                                      PyBUF_WRITABLE, &is_right);
    if (is_right) {
        Py_BEGIN_ALLOW_THREADS
        search_variant()->gram_columns(rows, features, count, start, stop, out,
                                        start > 0 ? NULL : columns);
        Py_END_ALLOW_THREADS
    }
    for (int k = 0; k < 2; k++)
        PyBuffer_Release(&views[k]);
    PyBuffer_Release(&which);
    if (!is_right)
        return NULL;
    Py_RETURN_NONE;
}
