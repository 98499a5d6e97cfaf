/* The Python interface of rows: what searches on them share. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

#define ROWS "greedyrls.rows"

/* A copy of (count × m) numbers, padded to (count × ld) with `filler`. */
static double *padded(PyObject *object, int64_t count, int64_t m, int64_t ld, double filler)
{
    Py_buffer view;
    const double *values = numbers(object, &view, 'd', (Py_ssize_t)(count * m), 0);
    if (values == NULL)
        return NULL;
    double *copy = malloc((size_t)(count * ld) * sizeof(double));
    if (copy == NULL)
        PyErr_NoMemory();
    else
        for (int64_t k = 0; k < count; k++)
            for (int64_t j = 0; j < ld; j++)
                copy[k * ld + j] = j < m ? values[k * m + j] : filler;
    PyBuffer_Release(&view);
    return copy;
}

OwnRows *own_rows_of(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, ROWS);
}

const Rows *rows_of(PyObject *capsule)
{
    const OwnRows *own = own_rows_of(capsule);
    return own == NULL ? NULL : &own->rows;
}

/* let_fetch(rows, count, numbers): searches compute Gram columns that they lack, as long as not more than
 * `count` are kept, and keep columns of X with them, up to so many numbers. */
PyObject *let_fetch(PyObject *module, PyObject *arguments)
{
    PyObject *capsule;
    long long count, most_numbers;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OLL", &capsule, &count, &most_numbers))
        return NULL;
    OwnRows *own = PyCapsule_GetPointer(capsule, ROWS);
    if (own == NULL)
        return NULL;
    own->most_kept = count, own->most_gathered = most_numbers;
    Py_RETURN_NONE;
}

static void free_rows(OwnRows *own)
{
    Rows *rows = &own->rows;
    if (own->has_x)
        PyBuffer_Release(&own->x);
    Py_XDECREF(own->kept);
    free((void *)rows->rows), free((void *)rows->means), free(rows->root), free(rows->weights);
    free(rows->shares), free((void *)rows->diagonal), free((void *)rows->correlation);
    free(rows->r), free(rows->d), free(rows->y), free(rows->energy), free(rows->packed);
    free((void *)rows->gram), free((void *)rows->columns), free((void *)rows->kernels);
    free(rows->kernel_diagonal), free(own);
}

static void end_rows(PyObject *capsule)
{
    free_rows(PyCapsule_GetPointer(capsule, ROWS));
}

/* Take X: two dimensions of float32 or float64, with strides of any kind. */
static int take_matrix(OwnRows *own, PyObject *X)
{
    if (PyObject_GetBuffer(X, &own->x, PyBUF_FORMAT | PyBUF_STRIDED_RO))
        return 0;
    own->has_x = 1;
    const char *format = own->x.format;
    if (own->x.ndim != 2 || strlen(format) != 1 || strchr("?bBhHiIlLqQfd", format[0]) == NULL) {
        PyErr_Format(PyExc_ValueError, "X cannot be read: %d dimensions of %s", own->x.ndim, format);
        return 0;
    }
    own->rows.type = format[0];
    own->rows.x = own->x.buf;
    own->rows.row_stride = own->x.strides[0];
    own->rows.column_stride = own->x.strides[1];
    own->rows.n = own->x.shape[1];
    return 1;
}

static int take_rows(OwnRows *own, PyObject *numbers_of_rows)
{
    own->rows.m = own->x.shape[0];
    if (numbers_of_rows == Py_None)
        return 1;
    Py_buffer view;
    const Py_ssize_t count = PyObject_Length(numbers_of_rows);
    const int64_t *values = count < 0 ? NULL : numbers(numbers_of_rows, &view, 'q', count, 0);
    if (values == NULL)
        return 0;
    int64_t *copy = malloc((size_t)count * sizeof(int64_t) + 1);
    int is_inside = copy != NULL;
    for (Py_ssize_t j = 0; is_inside && j < count; j++) {
        is_inside = values[j] >= 0 && values[j] < own->x.shape[0];
        copy[j] = values[j];
    }
    PyBuffer_Release(&view);
    own->rows.rows = copy;
    own->rows.m = count;
    if (!is_inside)
        PyErr_SetString(PyExc_ValueError, "a row is outside X");
    return is_inside;
}

PyObject *new_rows(PyObject *module, PyObject *arguments)
{
    PyObject *X, *which, *means, *root, *weights, *shares, *diagonal, *correlation, *r, *d, *y;
    PyObject *kernel;
    double scale;
    int is_packed;
    long long t;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOdOOOOOLpO", &X, &which, &means, &root, &weights, &shares,
                          &scale, &diagonal, &correlation, &r, &d, &y, &t, &is_packed, &kernel))
        return NULL;
    OwnRows *own = calloc(1, sizeof(OwnRows));
    if (own == NULL)
        return PyErr_NoMemory();
    Rows *rows = &own->rows;
    own->kept = PyList_New(0);
    if (own->kept == NULL || !take_matrix(own, X) || !take_rows(own, which))
        goto failed;
    const int64_t m = rows->m, n = rows->n, ld = (m + LANES - 1) / LANES * LANES;
    rows->t = t, rows->ld = ld, rows->scale = scale;
    rows->energy = calloc((size_t)t, sizeof(double));
    rows->gram = calloc((size_t)n, sizeof(double *));
    rows->columns = calloc((size_t)n, sizeof(double *));
    rows->kernels = calloc((size_t)n, sizeof(double *));
    if (!rows->energy || !rows->gram || !rows->columns || !rows->kernels) {
        PyErr_NoMemory();
        goto failed;
    }
    if ((means != Py_None && !(rows->means = padded(means, 1, n, n, 0.0)))
        || (root != Py_None && !(rows->root = padded(root, 1, m, ld, 0.0)))
        || !(rows->weights = padded(weights, 1, m, ld, 0.0))
        || !(rows->shares = padded(shares, 1, m, ld, 0.0))
        || !(rows->diagonal = padded(diagonal, 1, n, n, 0.0))
        || !(rows->correlation = padded(correlation, t, n, n, 0.0))
        || !(rows->r = padded(r, t, m, ld, 0.0)) || !(rows->d = padded(d, 1, m, ld, 1.0))
        || !(rows->y = padded(y, t, m, ld, 0.0))
        || (kernel != Py_None && !(rows->kernel_diagonal = padded(kernel, 1, n, n, 0.0))))
        goto failed;
    for (int64_t k = 0; k < t; k++)
        for (int64_t j = 0; j < m; j++)
            rows->energy[k] += rows->r[k * ld + j] * rows->r[k * ld + j];
    if (is_packed) {
        rows->packed = malloc((size_t)(n * ld) * sizeof(double) + 1);
        if (rows->packed == NULL) {
            PyErr_NoMemory();
            goto failed;
        }
        Py_BEGIN_ALLOW_THREADS
        search_variant()->pack(rows);
        Py_END_ALLOW_THREADS
    }
    PyObject *capsule = PyCapsule_New(own, ROWS, end_rows);
    if (capsule != NULL)
        return capsule;
failed:
    free_rows(own);
    return NULL;
}

/* products(rows, indices, out, columns, kernels): Gram columns of some features, which rows keep as well,
 * the columns of X, and k(c_i, ·) of kernel functions, unless these are None. Gram columns are computed
 * here where columns are packed. */
PyObject *products(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *indices, *out, *columns, *kernels;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOO", &capsule, &indices, &out, &columns, &kernels))
        return NULL;
    OwnRows *own = PyCapsule_GetPointer(capsule, ROWS);
    const Py_ssize_t count = PyObject_Length(indices);
    if (own == NULL || count < 0)
        return NULL;
    const int64_t n = own->rows.n, ld = own->rows.ld;
    int is_right = 1;
    Py_buffer which, room[3] = {{0}};
    const int64_t *features = numbers(indices, &which, 'q', count, 0);
    if (features == NULL)
        return NULL;
    double *values = numbers(out, &room[0], 'd', count * n, PyBUF_WRITABLE);
    is_right = values != NULL;
    double *gathered = numbers_or_none(columns, &room[1], count * ld, 0, &is_right);
    double *penalties = numbers_or_none(kernels, &room[2], count * n, 0, &is_right);
    if (is_right && own->rows.kernel_diagonal != NULL && penalties == NULL) {
        PyErr_SetString(PyExc_ValueError, "kernel functions need their values at all centres");
        is_right = 0;
    }
    for (Py_ssize_t k = 0; is_right && k < count; k++)
        if (features[k] < 0 || features[k] >= n) {
            PyErr_SetString(PyExc_ValueError, "a feature is outside X");
            is_right = 0;
        }
    if (is_right && own->rows.packed != NULL) {
        Py_BEGIN_ALLOW_THREADS
        search_variant()->products(&own->rows, features, count, values);
        Py_END_ALLOW_THREADS
    }
    if (is_right && PyList_Append(own->kept, out) == 0 && PyList_Append(own->kept, columns) == 0
        && PyList_Append(own->kept, kernels) == 0)
        for (Py_ssize_t k = 0; k < count; k++) {
            if (gathered != NULL)
                PUBLISH(own->rows.columns, features[k], gathered + k * ld);
            if (penalties != NULL)
                PUBLISH(own->rows.kernels, features[k], penalties + k * n);
            own->n_kept += own->rows.gram[features[k]] == NULL;
            PUBLISH(own->rows.gram, features[k], values + k * n);
        }
    for (int k = 0; k < 3; k++)
        PyBuffer_Release(&room[k]);
    PyBuffer_Release(&which);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

/* kept(rows): how many Gram columns are kept. */
PyObject *kept(PyObject *module, PyObject *capsule)
{
    (void)module;
    const OwnRows *own = own_rows_of(capsule);
    return own == NULL ? NULL : PyLong_FromLongLong((long long)own->n_kept);
}

/* forget(rows): drop all Gram columns, and return True; False if a search in another thread may read
 * them. Searches ask again for those that they need. */
PyObject *forget(PyObject *module, PyObject *capsule)
{
    (void)module;
    OwnRows *own = PyCapsule_GetPointer(capsule, ROWS);
    if (own == NULL)
        return NULL;
    if (own->n_running > 0)
        Py_RETURN_FALSE;
    memset((void *)own->rows.gram, 0, (size_t)own->rows.n * sizeof(double *));
    memset((void *)own->rows.columns, 0, (size_t)own->rows.n * sizeof(double *));
    memset((void *)own->rows.kernels, 0, (size_t)own->rows.n * sizeof(double *));
    if (PyList_SetSlice(own->kept, 0, PyList_Size(own->kept), NULL))
        return NULL;
    own->n_kept = own->n_gathered = own->n_spare = 0;
    Py_RETURN_TRUE;
}
