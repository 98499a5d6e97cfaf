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

/* A test of a capsule for a search, or NULL for None; `is_right` becomes 0 if it is neither. */
static const Tests *tests_of(PyObject *capsule, const Search *search, int *is_right)
{
    if (capsule == Py_None || !*is_right)
        return NULL;
    const Tests *tests = PyCapsule_GetPointer(capsule, TESTS);
    *is_right = tests != NULL && tests->t == search->rows->t;
    if (tests != NULL && !*is_right)
        PyErr_SetString(PyExc_ValueError, "the tests have another number of targets than the search");
    return tests;
}

/* test_models(search, grid, positions, tests, values, squares, products, centres, measure, measured):
 * choose the penalty of each size in the grid, and compute mean losses of the models on rows held out,
 * if there are tests, with sums for standard errors if `squares` is not None; and mean losses in
 * another measure if that is not None. Returns what a step would: TAKEN, or why not. */
PyObject *test_models(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *first, *second, *objects[7];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOO", &capsule, &objects[0], &objects[1], &first,
                          &objects[2], &objects[3], &objects[4], &objects[5], &second, &objects[6]))
        return NULL;
    const Search *search = search_of(capsule);
    if (search == NULL)
        return NULL;
    int is_right = 1;
    const Tests *tests[2] = {tests_of(first, search, &is_right), tests_of(second, search, &is_right)};
    const Py_ssize_t n_grid = PyObject_Length(objects[0]), k = PyObject_Length(objects[1]);
    if (!is_right || n_grid < 0 || k < 0)
        return NULL;
    if (k > search->size || n_grid < 1 || (tests[1] != NULL && tests[0] == NULL)
        || (tests[1] != NULL && tests[1]->count != tests[0]->count))
        return PyErr_Format(PyExc_ValueError, "cannot test %zd of %lld features with %zd penalties", k,
                            (long long)search->size, n_grid);
    const int n_tests = tests[0] == NULL ? 0 : tests[1] == NULL ? 1 : 2;
    const Py_ssize_t width = 1 + k;
    const Py_ssize_t of_strata = n_tests ? (Py_ssize_t)tests[0]->n_strata * width : 0;
    const Py_ssize_t counts[7] = {n_grid, k, width, width * width, of_strata, of_strata, width};
    void *arrays[7] = {NULL};
    Py_buffer views[7];
    for (int i = 0; i < 7; i++) {
        views[i].obj = NULL;
        if (!is_right || objects[i] == Py_None)
            continue;
        arrays[i] = numbers(objects[i], &views[i], i == 1 ? 'q' : 'd', counts[i], i ? PyBUF_WRITABLE : 0);
        is_right = arrays[i] != NULL;
    }
    const int has_sums = (arrays[3] != NULL) + (arrays[4] != NULL) + (arrays[5] != NULL);
    if (is_right && (arrays[0] == NULL || arrays[1] == NULL || (n_tests > 0 && arrays[2] == NULL)
                     || (n_tests > 1 && arrays[6] == NULL) || has_sums % 3 != 0)) {
        PyErr_SetString(PyExc_ValueError, "an array of results is missing");
        is_right = 0;
    }
    int result = NO_MEMORY;
    if (is_right) {
        Outcome outcome = {{arrays[2], arrays[6]}, arrays[3], arrays[4], arrays[5]};
        Py_BEGIN_ALLOW_THREADS
        result = search_variant()->test_models(search, k, arrays[0], n_grid, arrays[1], tests, n_tests,
                                               &outcome);
        Py_END_ALLOW_THREADS
    }
    for (int i = 0; i < 7; i++)
        PyBuffer_Release(&views[i]);
    return is_right ? PyLong_FromLong(result) : NULL;
}
