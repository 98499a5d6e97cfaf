/* The Python interface of folds.c; see module.c. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

#include "folds.h"
#include "search.h"

#define FOLD_ROWS "greedyrls.fold_rows"
#define FOLD_SEARCH "greedyrls.fold_search"

static const FoldVariant *variant = &baseline_folds;

void choose_fold_variant(const char *name)
{
#ifdef HAS_X86_VARIANTS
    const FoldVariant *known[] = {&avx512_folds, &avx2_folds};
    for (size_t k = 0; k < 2; k++)
        if (strcmp(name, known[k]->name) == 0)
            variant = known[k];
#else
    (void)name;
#endif
}

/* Numbers (height × n) in blocks of candidates, the padding with `filler`. */
static double *in_blocks(PyObject *object, int64_t height, int64_t n, double filler)
{
    Py_buffer view;
    const double *values = numbers(object, &view, 'd', (Py_ssize_t)(height * n), 0);
    if (values == NULL)
        return NULL;
    const int64_t n_blocks = (n + BLOCK - 1) / BLOCK;
    double *blocks = malloc((size_t)(n_blocks * height * BLOCK + 1) * sizeof(double));
    if (blocks == NULL)
        PyErr_NoMemory();
    for (int64_t j = 0; blocks != NULL && j < height; j++)
        for (int64_t i = 0; i < n_blocks * BLOCK; i++)
            blocks[(i / BLOCK * height + j) * BLOCK + i % BLOCK] =
                i < n ? values[j * n + i] : filler;
    PyBuffer_Release(&view);
    return blocks;
}

static int are_starts(const int64_t *starts, int64_t count, int64_t m)
{
    int is_right = starts[0] == 0 && starts[count] == m;
    for (int64_t q = 0; q < count; q++)
        is_right = is_right && starts[q] <= starts[q + 1];
    if (!is_right)
        PyErr_SetString(PyExc_ValueError, "folds are no partition of the rows");
    return is_right;
}

/* --- Rows ---------------------------------------------------------------------------------- */

static void free_rows(FoldRows *rows)
{
    free(rows->starts), free(rows->delta), free(rows->tau), free(rows->errors);
    free(rows->diagonal), free(rows->far), free(rows->energy), free(rows);
}

static void end_rows(PyObject *capsule)
{
    free_rows(PyCapsule_GetPointer(capsule, FOLD_ROWS));
}

/* new_fold_rows(m, starts, delta, tau, errors, diagonal, far, energy): the models without features. */
PyObject *new_fold_rows(PyObject *module, PyObject *arguments)
{
    PyObject *starts, *delta, *tau, *errors, *diagonal, *far, *energy;
    long long m;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "LOOOOOOO", &m, &starts, &delta, &tau, &errors, &diagonal,
                          &far, &energy))
        return NULL;
    const Py_ssize_t n = PyObject_Length(diagonal), t = PyObject_Length(energy);
    const Py_ssize_t n_folds = PyObject_Length(starts) - 1;
    if (PyErr_Occurred())
        return NULL;
    FoldRows *rows = calloc(1, sizeof(FoldRows));
    if (rows == NULL)
        return PyErr_NoMemory();
    rows->m = m, rows->n = n, rows->t = t, rows->n_folds = n_folds;
    rows->n_blocks = (n + BLOCK - 1) / BLOCK;
    if ((rows->starts = copied(starts, 'q', n_folds + 1)) && are_starts(rows->starts, n_folds, m)
        && (rows->delta = in_blocks(delta, n_folds, n, 1.0))
        && (rows->tau = in_blocks(tau, n_folds * t, n, 0.0))
        && (rows->errors = copied(errors, 'd', t * m))
        && (rows->diagonal = copied(diagonal, 'd', n)) && (rows->far = copied(far, 'd', n))
        && (rows->energy = copied(energy, 'd', t))) {
        PyObject *capsule = PyCapsule_New(rows, FOLD_ROWS, end_rows);
        if (capsule != NULL)
            return capsule;
    }
    free_rows(rows);
    return NULL;
}

/* --- Searches ------------------------------------------------------------------------------ */

typedef struct {
    FoldSearch search;
    PyObject *rows;
} OwnSearch;

static void free_search(OwnSearch *own)
{
    FoldSearch *search = &own->search;
    void *arrays[] = {
        search->chosen, search->barred, search->V, search->delta, search->tau, search->errors,
        search->sums, search->L, search->Q, search->pivots, search->losses, search->smallest,
        search->z, search->u, search->g, search->left, search->rho,
    };
    for (size_t k = 0; k < sizeof(arrays) / sizeof(arrays[0]); k++)
        free(arrays[k]);
    Py_XDECREF(own->rows);
    free(own);
}

static void end_search(PyObject *capsule)
{
    free_search(PyCapsule_GetPointer(capsule, FOLD_SEARCH));
}

static int allocate(FoldSearch *search)
{
    const FoldRows *rows = search->rows;
    const int64_t m = rows->m, t = rows->t, n_folds = rows->n_folds, capacity = search->capacity;
    const int64_t width = rows->n_blocks * BLOCK;
    struct {
        double **array;
        int64_t count;
    } wanted[] = {
        {&search->delta, n_folds * width},
        {&search->tau, n_folds * t * width}, {&search->errors, t * m},
        {&search->sums, t * n_folds}, {&search->L, capacity * width}, {&search->Q, capacity * m},
        {&search->pivots, width}, {&search->losses, t * width}, {&search->smallest, width},
        {&search->z, m}, {&search->u, m}, {&search->g, width}, {&search->left, n_folds},
        {&search->rho, n_folds * t},
    };
    for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++) {
        *wanted[k].array = calloc((size_t)wanted[k].count + 1, sizeof(double));
        if (*wanted[k].array == NULL)
            return 0;
    }
    search->chosen = calloc((size_t)capacity + 1, sizeof(int64_t));
    search->barred = calloc((size_t)width + 1, 1);
    return search->chosen != NULL && search->barred != NULL;
}

/* The models without features. */
static void start(FoldSearch *search)
{
    const FoldRows *rows = search->rows;
    const int64_t m = rows->m, t = rows->t, n_folds = rows->n_folds;
    const int64_t width = rows->n_blocks * BLOCK;
    memcpy(search->tau, rows->tau, (size_t)(n_folds * t * width) * sizeof(double));
    memcpy(search->errors, rows->errors, (size_t)(t * m) * sizeof(double));
    for (int64_t k = 0; k < n_folds * width; k++)
        search->delta[k] = rows->delta[k] + search->alpha;
    for (int64_t i = 0; i < rows->n; i++)
        search->pivots[i] = rows->diagonal[i] + search->alpha;
    for (int64_t k = 0; k < t; k++)
        for (int64_t q = 0; q < n_folds; q++)
            for (int64_t j = rows->starts[q]; j < rows->starts[q + 1]; j++)
                search->sums[k * n_folds + q] += rows->errors[k * m + j] * rows->errors[k * m + j];
}

/* new_fold_search(rows, V, alpha, barred, capacity); V is (m × n). */
PyObject *new_fold_search(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *V, *barred;
    double alpha;
    long long capacity;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOdOL", &capsule, &V, &alpha, &barred, &capacity))
        return NULL;
    const FoldRows *rows = PyCapsule_GetPointer(capsule, FOLD_ROWS);
    if (rows == NULL)
        return NULL;
    OwnSearch *own = calloc(1, sizeof(OwnSearch));
    if (own == NULL)
        return PyErr_NoMemory();
    FoldSearch *search = &own->search;
    search->rows = rows, search->alpha = alpha;
    search->capacity = capacity < rows->n ? capacity : rows->n;
    own->rows = Py_NewRef(capsule);
    Py_buffer view;
    search->V = in_blocks(V, rows->m, rows->n, 0.0);
    if (search->V == NULL || PyObject_GetBuffer(barred, &view, PyBUF_SIMPLE)) {
        free_search(own);
        return NULL;
    }
    if (view.len != rows->n || !allocate(search)) {
        PyBuffer_Release(&view);
        free_search(own);
        return PyErr_NoMemory();
    }
    memcpy(search->barred, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    start(search);
    PyObject *result = PyCapsule_New(own, FOLD_SEARCH, end_search);
    if (result == NULL)
        free_search(own);
    return result;
}

static FoldSearch *fold_search_of(PyObject *capsule)
{
    OwnSearch *own = PyCapsule_GetPointer(capsule, FOLD_SEARCH);
    return own == NULL ? NULL : &own->search;
}

/* fold_choose(search, best, losses) → why there is none, or TAKEN. */
PyObject *fold_choose(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *best, *losses;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO", &capsule, &best, &losses))
        return NULL;
    FoldSearch *search = fold_search_of(capsule);
    const Py_ssize_t count = PyObject_Length(best);
    if (search == NULL || count < 0)
        return NULL;
    if (count < 1 || count > MOST_RUNNERS_UP + 1)
        return PyErr_Format(PyExc_ValueError, "too many runners-up: %zd", count - 1);
    Py_buffer indices, values;
    int64_t *features = numbers(best, &indices, 'q', count, PyBUF_WRITABLE);
    if (features == NULL)
        return NULL;
    double *sums = numbers(losses, &values, 'd', count, PyBUF_WRITABLE);
    if (sums == NULL) {
        PyBuffer_Release(&indices);
        return NULL;
    }
    int result;
    Py_BEGIN_ALLOW_THREADS
    result = variant->choose(search, count - 1, features, sums);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&indices);
    PyBuffer_Release(&values);
    return PyLong_FromLong(result);
}

/* fold_add(search, index, gram, x, sums): add a feature, with its Gram column and its rows; sums
 * become those of the squared errors of each fold. LOST if these have lost digits. */
PyObject *fold_add(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *gram, *x, *sums;
    long long index;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OLOOO", &capsule, &index, &gram, &x, &sums))
        return NULL;
    FoldSearch *search = fold_search_of(capsule);
    if (search == NULL)
        return NULL;
    const FoldRows *rows = search->rows;
    if (index < 0 || index >= rows->n)
        return PyErr_Format(PyExc_ValueError, "feature %lld is outside X", index);
    Py_buffer views[3];
    const Py_ssize_t n_sums = (Py_ssize_t)(rows->t * rows->n_folds);
    const double *column = numbers(gram, &views[0], 'd', (Py_ssize_t)rows->n, 0);
    if (column == NULL)
        return NULL;
    const double *values = numbers(x, &views[1], 'd', (Py_ssize_t)rows->m, 0);
    double *out = values == NULL ? NULL : numbers(sums, &views[2], 'd', n_sums, PyBUF_WRITABLE);
    int result = IN_DOUBT;
    if (out != NULL) {
        Py_BEGIN_ALLOW_THREADS
        result = variant->add(search, index, column, values);
        Py_END_ALLOW_THREADS
        memcpy(out, search->sums, (size_t)n_sums * sizeof(double));
        PyBuffer_Release(&views[2]);
    }
    if (values != NULL)
        PyBuffer_Release(&views[1]);
    PyBuffer_Release(&views[0]);
    return out == NULL ? NULL : PyLong_FromLong(result);
}

/* fold_drift(search) → the largest drift of a pivot. */
PyObject *fold_drift(PyObject *module, PyObject *capsule)
{
    (void)module;
    const FoldSearch *search = fold_search_of(capsule);
    return search == NULL ? NULL : PyFloat_FromDouble(search->largest_drift);
}

/* fold_losses(search, out): lower bounds of the losses in the last step, infinite if chosen. */
PyObject *fold_losses(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *out;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO", &capsule, &out))
        return NULL;
    const FoldSearch *search = fold_search_of(capsule);
    if (search == NULL)
        return NULL;
    Py_buffer room;
    double *values = numbers(out, &room, 'd', (Py_ssize_t)search->rows->n, PyBUF_WRITABLE);
    if (values == NULL)
        return NULL;
    for (int64_t i = 0; i < search->rows->n; i++)
        values[i] = search->barred[i] ? Py_HUGE_VAL : search->losses[i];
    PyBuffer_Release(&room);
    Py_RETURN_NONE;
}

/* fold_curve(starts, start, columns, steps, errors, sums, kept): see FoldCurves. */
PyObject *fold_curve(PyObject *module, PyObject *arguments)
{
    PyObject *objects[7];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOO", &objects[0], &objects[1], &objects[2], &objects[3],
                          &objects[4], &objects[5], &objects[6]))
        return NULL;
    FoldCurves curves = {.n_folds = PyObject_Length(objects[0]) - 1,
                         .k = PyObject_Length(objects[2]), .t = PyObject_Length(objects[4])};
    if (PyErr_Occurred())
        return NULL;
    Py_buffer views[7];
    int n_views = 0, result = IN_DOUBT;
    if ((curves.starts = numbers(objects[0], &views[0], 'q', (Py_ssize_t)curves.n_folds + 1, 0))) {
        n_views = 1;
        curves.m = curves.starts[curves.n_folds];
        const int64_t m = curves.m, t = curves.t, k = curves.k;
        const int64_t counts[] = {0, m, k * m, k * t, t * m, k * t, k * t * m};
        void *found[7] = {NULL};
        int is_right = are_starts(curves.starts, curves.n_folds, m);
        for (int l = 1; is_right && l < 7; l++) {
            if ((l == 1 || l == 6) && objects[l] == Py_None)
                continue;
            found[l] = numbers(objects[l], &views[n_views], 'd', (Py_ssize_t)counts[l],
                               l < 4 ? 0 : PyBUF_WRITABLE);
            is_right = found[l] != NULL;
            n_views += is_right;
        }
        if (is_right) {
            curves.start = found[1], curves.columns = found[2], curves.steps = found[3];
            curves.errors = found[4], curves.sums = found[5], curves.kept = found[6];
            Py_BEGIN_ALLOW_THREADS
            result = variant->curve(&curves);
            Py_END_ALLOW_THREADS
        }
    }
    for (int l = 0; l < n_views; l++)
        PyBuffer_Release(&views[l]);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(result);
}
