/* The Python interface of dots.h. */
#include "module.h"

#include <string.h>

/* X: columns of float64, each contiguous; its buffer has two dimensions. */
static int has_contiguous_columns(const Py_buffer *x)
{
    return x->ndim == 2 && strcmp(x->format, "d") == 0 && x->strides[0] == 8
           && x->strides[1] >= 8 * x->shape[0] && x->strides[1] % 8 == 0;
}

/* column_product(V, X, out): out (count × n) = V (count × m) X. */
PyObject *column_product(PyObject *module, PyObject *arguments)
{
    PyObject *vectors, *matrix, *result;
    Py_buffer x, v, out;
    int is_done = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO", &vectors, &matrix, &result)
        || PyObject_GetBuffer(matrix, &x, PyBUF_FORMAT | PyBUF_STRIDED_RO))
        return NULL;
    const Py_ssize_t count = PyObject_Length(vectors);
    if (!has_contiguous_columns(&x))
        PyErr_SetString(PyExc_ValueError, "expected X of float64 with contiguous columns");
    else if (count >= 0 && numbers(vectors, &v, 'd', count * x.shape[0], 0) != NULL) {
        if (numbers(result, &out, 'd', count * x.shape[1], PyBUF_WRITABLE) != NULL) {
            Py_BEGIN_ALLOW_THREADS
            search_variant()->column_product(v.buf, count, x.buf, x.shape[0], x.shape[1],
                                          x.strides[1] / 8, out.buf);
            Py_END_ALLOW_THREADS
            PyBuffer_Release(&out);
            is_done = 1;
        }
        PyBuffer_Release(&v);
    }
    PyBuffer_Release(&x);
    if (!is_done)
        return NULL;
    Py_RETURN_NONE;
}

PyObject *most_dots(PyObject *module, PyObject *Py_UNUSED(unused))
{
    (void)module;
    return PyLong_FromLongLong(search_variant()->most_dots);
}
