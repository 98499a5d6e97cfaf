/* The Python interface of tested.h: models of a search on rows that an outer fold holds out. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

#include "search.h"

#define TESTS "greedyrls.tests"

static void free_tests(Tests *tests)
{
    const void *arrays[] = {
        tests->rows, tests->y, tests->target_means, tests->first, tests->weights, tests->totals,
        tests->strata, tests->clusters, tests->shares, tests->share_sums, tests->scaled,
        tests->amounts,
    };
    for (size_t k = 0; k < sizeof(arrays) / sizeof(arrays[0]); k++)
        free((void *)arrays[k]);
    free(tests);
}

static void end_tests(PyObject *capsule)
{
    free_tests(PyCapsule_GetPointer(capsule, TESTS));
}

/* Whether numbers are from 0 to below a limit. */
static int are_below(const int64_t *values, int64_t count, int64_t limit)
{
    for (int64_t j = 0; j < count; j++)
        if (values[j] < 0 || values[j] >= limit) {
            PyErr_Format(PyExc_ValueError, "expected numbers below %lld, got %lld", (long long)limit,
                         (long long)values[j]);
            return 0;
        }
    return 1;
}

/* new_tests(loss, n_rows, rows, y, target_means, first, weights, totals, strata, clusters, shares,
 * share_sums, scaled, amounts): rows of X, of which there are n_rows, and how to sum their losses. */
PyObject *new_tests(PyObject *module, PyObject *arguments)
{
    PyObject *objects[12];
    long long n_rows;
    (void)module;
    Tests *tests = calloc(1, sizeof(Tests));
    if (tests == NULL)
        return PyErr_NoMemory();
    PyObject **o = objects;
    if (!PyArg_ParseTuple(arguments, "iLOOOOOOOOOOOO", &tests->loss, &n_rows, o, o + 1, o + 2, o + 3,
                          o + 4, o + 5, o + 6, o + 7, o + 8, o + 9, o + 10, o + 11))
        goto failed;
    const Py_ssize_t count = PyObject_Length(objects[0]), t = PyObject_Length(objects[2]);
    const Py_ssize_t n_strata = PyObject_Length(objects[5]), n_amounts = PyObject_Length(objects[11]);
    if (count < 0 || t < 0 || n_strata < 0 || n_amounts < 0)
        goto failed;
    tests->count = count, tests->t = t, tests->n_strata = n_strata;
    tests->n_clusters = n_strata ? n_amounts / n_strata : 0;
    if (!(tests->rows = copied(objects[0], 'q', count)) || !(tests->y = copied(objects[1], 'd', t * count))
        || !(tests->target_means = copied(objects[2], 'd', t))
        || !(tests->first = copied(objects[3], 'd', count))
        || !(tests->weights = copied(objects[4], 'd', count))
        || !(tests->totals = copied(objects[5], 'd', n_strata))
        || !(tests->strata = copied(objects[6], 'q', count))
        || !(tests->clusters = copied(objects[7], 'q', count))
        || !(tests->shares = copied(objects[8], 'd', count))
        || !(tests->share_sums = copied(objects[9], 'd', n_strata))
        || !(tests->scaled = copied(objects[10], 'd', count))
        || !(tests->amounts = copied(objects[11], 'd', n_strata * tests->n_clusters)))
        goto failed;
    if (!are_below(tests->rows, count, n_rows) || !are_below(tests->strata, count, n_strata)
        || !are_below(tests->clusters, count, tests->n_clusters))
        goto failed;
    PyObject *capsule = PyCapsule_New(tests, TESTS, end_tests);
    if (capsule != NULL)
        return capsule;
failed:
    free_tests(tests);
    return NULL;
}

/* best_penalties(search, grid, positions): for each size the position of its penalty in the grid. What
 * a step would return: TAKEN, or why not. */
PyObject *best_penalties(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *grid, *positions;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO", &capsule, &grid, &positions))
        return NULL;
    const Search *search = search_of(capsule);
    const Py_ssize_t n_grid = PyObject_Length(grid), k = PyObject_Length(positions);
    if (search == NULL || n_grid < 0 || k < 0)
        return NULL;
    if (k > search->size)
        return PyErr_Format(PyExc_ValueError, "the search has %lld features, not %zd",
                            (long long)search->size, k);
    Py_buffer views[2];
    const double *penalties = numbers(grid, &views[0], 'd', n_grid, 0);
    if (penalties == NULL)
        return NULL;
    int64_t *best = numbers(positions, &views[1], 'q', k, PyBUF_WRITABLE);
    int result = NO_MEMORY;
    if (best != NULL) {
        Py_BEGIN_ALLOW_THREADS
        result = search_variant()->best_penalties(search, k, penalties, n_grid, best);
        Py_END_ALLOW_THREADS
        PyBuffer_Release(&views[1]);
    }
    PyBuffer_Release(&views[0]);
    return best == NULL ? NULL : PyLong_FromLong(result);
}

/* held_out(search, grid, positions, tests, values, squares, products, centres): mean losses, and the
 * sums for their standard errors unless `squares` is None. */
PyObject *held_out(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *tests_of, *objects[6];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOO", &capsule, &objects[0], &objects[1], &tests_of,
                          &objects[2], &objects[3], &objects[4], &objects[5]))
        return NULL;
    const Search *search = search_of(capsule);
    if (search == NULL)
        return NULL;
    const Tests *tests = PyCapsule_GetPointer(tests_of, TESTS);
    if (tests == NULL)
        return NULL;
    const Py_ssize_t n_grid = PyObject_Length(objects[0]), k = PyObject_Length(objects[1]);
    if (n_grid < 0 || k < 0)
        return NULL;
    if (k > search->size || tests->t != search->rows->t)
        return PyErr_Format(PyExc_ValueError, "the search has %lld features, not %zd, of %lld targets",
                            (long long)search->size, k, (long long)search->rows->t);
    const Py_ssize_t width = 1 + k, of_strata = (Py_ssize_t)tests->n_strata * width;
    const Py_ssize_t counts[6] = {n_grid, k, width, width * width, of_strata, of_strata};
    const int n_arrays = objects[3] == Py_None ? 3 : 6;
    void *arrays[6] = {NULL};
    Py_buffer views[6];
    int n_taken = 0, result = NO_MEMORY;
    for (; n_taken < n_arrays; n_taken++) {
        const int flags = n_taken < 2 ? 0 : PyBUF_WRITABLE;
        arrays[n_taken] = numbers(objects[n_taken], &views[n_taken], n_taken == 1 ? 'q' : 'd',
                                  counts[n_taken], flags);
        if (arrays[n_taken] == NULL)
            break;
    }
    const int is_right = n_taken == n_arrays;
    if (is_right) {
        Py_BEGIN_ALLOW_THREADS
        result = search_variant()->held_out(search, k, arrays[0], n_grid, arrays[1], tests, arrays[2],
                                            arrays[3], arrays[4], arrays[5]);
        Py_END_ALLOW_THREADS
    }
    while (n_taken > 0)
        PyBuffer_Release(&views[--n_taken]);
    return is_right ? PyLong_FromLong(result) : NULL;
}
