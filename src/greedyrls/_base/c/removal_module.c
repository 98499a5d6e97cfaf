/* The Python interface of removals.h. */
#include "module.h"

/* remove_worst(search, stays, below, largest, best, losses) → what came of it. */
PyObject *remove_worst(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *marks, *features, *values;
    double below, largest;
    Py_buffer stays, best, losses;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOddOO", &capsule, &marks, &below, &largest, &features, &values))
        return NULL;
    Search *search = search_of(capsule);
    const Py_ssize_t width = PyObject_Length(features);
    if (search == NULL || width < 0)
        return NULL;
    if (search->keeps_z || width < 1 || width > MOST_RUNNERS_UP + 1)
        return PyErr_Format(PyExc_ValueError, "no removals here, or too many: %zd", width);
    int result = -1;
    if (PyObject_GetBuffer(marks, &stays, PyBUF_SIMPLE))
        return NULL;
    if (stays.len != search->size)
        PyErr_Format(PyExc_ValueError, "expected %zd marks, got %zd", (Py_ssize_t)search->size, stays.len);
    else if (numbers(features, &best, 'q', width, PyBUF_WRITABLE) != NULL) {
        if (numbers(values, &losses, 'd', width, PyBUF_WRITABLE) != NULL) {
            Py_BEGIN_ALLOW_THREADS
            result = search_variant()->remove_worst(search, stays.buf, below, largest, width - 1, best.buf,
                                           losses.buf);
            Py_END_ALLOW_THREADS
            PyBuffer_Release(&losses);
        }
        PyBuffer_Release(&best);
    }
    PyBuffer_Release(&stays);
    return result < 0 ? NULL : PyLong_FromLong(result);
}
