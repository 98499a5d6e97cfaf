/* The Python interface of dots.h. */
#include "module.h"
#include "team.h"

#include <string.h>

/* X: columns of float64, each contiguous; its buffer has two dimensions. */
static int has_contiguous_columns(const Py_buffer *x)
{
    return x->ndim == 2 && strcmp(x->format, "d") == 0 && x->strides[0] == 8
           && x->strides[1] >= 8 * x->shape[0] && x->strides[1] % 8 == 0;
}

/* A product that is shared by threads, some columns each. */
typedef struct {
    const double *v, *x, *weights;
    int64_t count, m, n, stride, width;
    double *out, *squares;
} Dots;

static void dots_share(void *context, int64_t share)
{
    const Dots *all = context;
    const int64_t start = share * all->width, end = start + all->width;
    const int64_t stop = end < all->n ? end : all->n;
    search_variant()->column_product(all->v, all->count, all->x + start * all->stride, all->m, stop - start,
                                     all->stride, all->out + start, all->n, all->weights,
                                     all->squares == NULL ? NULL : all->squares + start);
}

/* column_product(V, X, out, weights, squares, n_threads): out (count × n) = V (count × m) X, and the weighted sums of
 * squares of columns of X, unless `squares` is None. */
PyObject *column_product(PyObject *module, PyObject *arguments)
{
    PyObject *vectors, *matrix, *result, *weights, *squares;
    Py_buffer x, v = {0}, out = {0}, w, sums;
    Py_ssize_t n_threads;
    int is_right = 1;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOn", &vectors, &matrix, &result, &weights, &squares, &n_threads)
        || PyObject_GetBuffer(matrix, &x, PyBUF_FORMAT | PyBUF_STRIDED_RO))
        return NULL;
    const Py_ssize_t count = PyObject_Length(vectors);
    is_right = count >= 0;
    if (!has_contiguous_columns(&x)) {
        PyErr_SetString(PyExc_ValueError, "expected X of float64 with contiguous columns");
        is_right = 0;
    }
    const Py_ssize_t m = is_right ? x.shape[0] : 0, n = is_right ? x.shape[1] : 0;
    is_right = is_right && numbers(vectors, &v, 'd', count * m, 0) != NULL
               && numbers(result, &out, 'd', count * n, PyBUF_WRITABLE) != NULL;
    const double *given = numbers_or_none(weights, &w, m, 0, &is_right);
    double *made = numbers_or_none(squares, &sums, n, PyBUF_WRITABLE, &is_right);
    if (is_right) {
        Dots all = {v.buf, x.buf, given, count, m, n, x.strides[1] / 8, 0, out.buf, made};
        all.width = share_width((double)m * (double)n * (double)(READ + count), n, n_threads, 1);
        Py_BEGIN_ALLOW_THREADS
        if (all.width > 0)
            in_shares(n_threads, (n + all.width - 1) / all.width, dots_share, &all);
        Py_END_ALLOW_THREADS
    }
    Py_buffer *views[] = {&x, &v, &out, &w, &sums};
    for (int k = 0; k < 5; k++)
        PyBuffer_Release(views[k]);
    if (!is_right)
        return NULL;
    Py_RETURN_NONE;
}

PyObject *most_dots(PyObject *module, PyObject *Py_UNUSED(unused))
{
    (void)module;
    return PyLong_FromLongLong(search_variant()->most_dots);
}
