/* The Python interface of searches. */
#include "module.h"

#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define LARGE_PAGE ((size_t)1 << 21)
#define SEARCH "greedyrls.search"

typedef struct {
    Search search;
    PyObject *rows;
} OwnSearch;

static void free_search(OwnSearch *own)
{
    Search *search = &own->search;
    void *arrays[] = {
        search->chosen, search->barred, search->r, search->d, search->g, search->omega,
        search->delta, search->tau, search->sums, search->pivots, search->columns, search->gram,
        search->bounds, search->scratch, search->Z, search->c, search->steps, search->norms,
        search->inner, search->anchored, search->L, search->inverse, search->overlap,
        search->weights, search->anchor, search->recent, search->recent_index, search->open,
        search->fourth, search->mixed, search->distances, search->chosen_z, search->cached, search->sample,
        search->slot_of, search->slot_feature, search->slot_size, search->V, search->P,
        search->penalty,
    };
    for (size_t k = 0; k < sizeof(arrays) / sizeof(arrays[0]); k++)
        free(arrays[k]);
    Py_XDECREF(own->rows);
    free(own);
}

static void end_search(PyObject *capsule)
{
    free_search(PyCapsule_GetPointer(capsule, SEARCH));
}

static int is_allocated = 1; /* only while the interpreter lock is held */

static void *array(int64_t count, size_t size)
{
    void *memory = calloc((size_t)(count > 0 ? count : 1), size);
    if (memory == NULL)
        is_allocated = 0;
    return memory;
}

double *large_array(int64_t count)
{
    void *memory = NULL;
    const size_t bytes = (size_t)(count > 0 ? count : 1) * sizeof(double);
#ifdef MADV_HUGEPAGE
    if (bytes >= 2 * LARGE_PAGE) {
        if (posix_memalign(&memory, LARGE_PAGE, bytes))
            return NULL;
        madvise(memory, bytes, MADV_HUGEPAGE);
        return memory;
    }
#endif
    return malloc(bytes);
}

static double *room(int64_t count)
{
    double *memory = large_array(count);
    if (memory == NULL)
        is_allocated = 0;
    return memory;
}

static int allocate(Search *search)
{
    const Rows *rows = search->rows;
    const int64_t n = rows->n, t = rows->t, ld = rows->ld, capacity = search->capacity;
    const size_t number = sizeof(double);
    is_allocated = 1;
    search->chosen = array(capacity, sizeof(int64_t));
    search->r = array(t * ld, number), search->d = array(ld, number);
    search->g = array(t * ld, number), search->omega = array(ld, number);
    search->delta = array(n, number), search->tau = array(t * n, number);
    search->sums = array(N_SUMS(t), number), search->pivots = array(capacity, number);
    search->gram = array(capacity * capacity, number), search->bounds = array(n, number);
    search->scratch = array(4 * ld + capacity, number);
    search->steps = array(capacity * t, number);
    if (rows->packed == NULL) {
        search->columns = room(capacity * ld);
        search->recent = room(N_RECENT * ld);
        search->recent_index = array(N_RECENT, sizeof(int64_t));
        for (int64_t k = 0; is_allocated && k < N_RECENT; k++)
            search->recent_index[k] = -1;
    }
    search->inverse = array(capacity * capacity, number);
    search->weights = array(capacity * t, number);
    if (search->keeps_z) {
        search->Z = room(n * ld), search->c = array(n * capacity, number);
        return is_allocated;
    }
    search->open = array(n, sizeof(int64_t)), search->distances = array(3 * t, number);
    if (rows->m >= SPREAD_ROWS) {
        search->fourth = array(n, number), search->mixed = array(t * n, number);
        for (int64_t i = 0; is_allocated && i < n; i++)
            search->fourth[i] = UNKNOWN;
    }
    search->norms = array(n, number), search->inner = array(t * n, number);
    search->anchored = array(t * n, number), search->anchor = array(t * ld, number);
    search->L = room(capacity * n);
    if (rows->kernel_diagonal != NULL) {
        search->V = room(capacity * n), search->P = room(capacity * n);
        search->penalty = array(capacity * capacity, number);
    }
    search->n_slots = CACHED_NUMBERS / ld < n ? CACHED_NUMBERS / ld : n;
    search->n_slots = search->n_slots > FEWEST_SLOTS ? search->n_slots : FEWEST_SLOTS;
    search->chosen_z = room(capacity * ld);
    /* Of many searches on packed columns, most end before they fill large pages. */
    search->cached = rows->packed != NULL ? array(search->n_slots * ld, number)
                                          : room(search->n_slots * ld);
    search->slot_of = array(n, sizeof(int64_t));
    search->slot_feature = array(search->n_slots, sizeof(int64_t));
    search->slot_size = array(search->n_slots, sizeof(int64_t));
    for (int64_t i = 0; is_allocated && i < n; i++)
        search->slot_of[i] = -1;
    search->overlap = array(capacity * capacity, number);
    return is_allocated;
}

PyObject *new_search(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *barred;
    double alpha, initial_loss;
    int loss, keeps_z;
    long long capacity;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OdidOLp", &capsule, &alpha, &loss, &initial_loss, &barred,
                          &capacity, &keeps_z))
        return NULL;
    OwnRows *rows = own_rows_of(capsule);
    if (rows == NULL)
        return NULL;
    OwnSearch *own = calloc(1, sizeof(OwnSearch));
    if (own == NULL)
        return PyErr_NoMemory();
    Search *search = &own->search;
    search->rows = &rows->rows, search->alpha = alpha, search->loss = loss;
    search->initial_loss = initial_loss;
    search->capacity = capacity < rows->rows.n ? capacity : rows->rows.n;
    search->keeps_z = keeps_z;
    search->n_fetched = -1, search->n_threads = 1;
    own->rows = Py_NewRef(capsule);
    Py_buffer view;
    if (PyObject_GetBuffer(barred, &view, PyBUF_SIMPLE))
        goto failed;
    if (view.len != rows->rows.n || (search->barred = malloc((size_t)view.len + 1)) == NULL
        || !allocate(search)) {
        PyBuffer_Release(&view);
        PyErr_NoMemory();
        goto failed;
    }
    memcpy(search->barred, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    for (int64_t i = 0; i < rows->rows.n; i++)
        search->n_left += !search->barred[i];
    Py_BEGIN_ALLOW_THREADS
    search_variant()->begin(search);
    Py_END_ALLOW_THREADS
    PyObject *result = PyCapsule_New(own, SEARCH, end_search);
    if (result != NULL)
        return result;
failed:
    free_search(own);
    return NULL;
}

Search *search_of(PyObject *capsule)
{
    OwnSearch *own = PyCapsule_GetPointer(capsule, SEARCH);
    return own == NULL ? NULL : &own->search;
}

/* How many searches run on the rows of a search. */
static int *running_on(PyObject *capsule)
{
    OwnSearch *own = PyCapsule_GetPointer(capsule, SEARCH);
    OwnRows *rows = own_rows_of(own->rows);
    return &rows->n_running;
}

/* What is known after a step, for whoever follows the search without asking it. */
typedef struct {
    int64_t room;     /* steps */
    int64_t width;    /* a feature and its runners-up */
    int64_t *best;    /* (room × width) */
    double *losses;   /* (room × width) */
    double *sums;     /* (room × (N_SUMS + 2)) with evaluations and the largest drift */
    double *products; /* (room × capacity) x_i'X_S of the feature */
    double *r, *d;    /* (room × t × m), (room × m), or NULL */
} Log;

static void write_step(const Search *search, Log *log, int64_t place)
{
    const Rows *rows = search->rows;
    const int64_t t = rows->t, m = rows->m, last = search->size - 1, capacity = search->capacity;
    double *sums = log->sums + place * (N_SUMS(t) + 2);
    memcpy(sums, search->sums, (size_t)N_SUMS(t) * sizeof(double));
    sums[N_SUMS(t)] = (double)search->n_evaluations;
    sums[N_SUMS(t) + 1] = search->largest_drift;
    memcpy(log->products + place * capacity, search->gram + last * capacity,
           (size_t)search->size * sizeof(double));
    if (log->r == NULL)
        return;
    for (int64_t k = 0; k < t; k++)
        memcpy(log->r + (place * t + k) * m, search->r + k * rows->ld, (size_t)m * sizeof(double));
    memcpy(log->d + place * m, search->d, (size_t)m * sizeof(double));
}

/* Whether the search has what a step asked for; else it is for others to give. */
static int helps_itself(OwnRows *own, Search *search, int answer, int64_t n_more,
                        PyThreadState **thread)
{
    if (answer == NEEDS_ANCHOR)
        return search_variant()->makes_anchors(search->rows) && search_variant()->set_anchor(search, NULL);
    if (answer == NEEDS_COLUMN)
        return fetch_ahead(own, search, n_more, thread);
    return 0;
}

/* Steps until there is no room for more, or one cannot be taken: why it cannot, else TAKEN. */
static int take_steps(OwnRows *own, Search *search, Log *log, int64_t n_more, int64_t *count,
                      PyThreadState **thread)
{
    for (*count = 0; *count < log->room; (*count)++) {
        int result;
        do
            result = search_variant()->step(search, log->width - 1, log->best + *count * log->width,
                                   log->losses + *count * log->width);
        while (helps_itself(own, search, result, n_more - *count, thread));
        if (result != TAKEN)
            return result;
        write_step(search, log, *count);
    }
    return TAKEN;
}

/* steps(search, best, losses, sums, products, r, d, n_more, n_threads) → (how many were taken, why not
 * more). Row i of the arrays is of step i; the features of the first row without a step say what it needs.
 * `n_more` features are still to be added, after these steps as well. */
PyObject *steps(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *objects[6];
    long long n_more, n_threads;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOLL", &capsule, &objects[0], &objects[1], &objects[2],
                          &objects[3], &objects[4], &objects[5], &n_more, &n_threads))
        return NULL;
    Search *search = search_of(capsule);
    const Py_ssize_t room = PyObject_Length(objects[0]);
    if (search == NULL || room < 0)
        return NULL;
    const Rows *rows = search->rows;
    Py_buffer views[6];
    if (PyObject_GetBuffer(objects[0], &views[0], PyBUF_ND))
        return NULL;
    const Py_ssize_t width = views[0].ndim == 2 ? views[0].shape[1] : 0;
    PyBuffer_Release(&views[0]);
    if (room < 1 || width < 1 || width > MOST_RUNNERS_UP + 1)
        return PyErr_Format(PyExc_ValueError, "too many runners-up: %zd", width - 1);
    const int64_t counts[6] = {
        width, width, N_SUMS(rows->t) + 2, search->capacity, rows->t * rows->m, rows->m,
    };
    const int n_arrays = objects[4] == Py_None ? 4 : 6;
    void *arrays[6] = {NULL};
    int n_ready = 0;
    for (; n_ready < n_arrays; n_ready++) {
        arrays[n_ready] = numbers(objects[n_ready], &views[n_ready], n_ready ? 'd' : 'q',
                                  room * (Py_ssize_t)counts[n_ready], PyBUF_WRITABLE);
        if (arrays[n_ready] == NULL)
            break;
    }
    int result = NO_MEMORY;
    int64_t count = 0;
    if (n_ready == n_arrays) {
        Log log = {room, width, arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], arrays[5]};
        int *n_running = running_on(capsule);
        (*n_running)++;
        search->n_threads = n_threads;
        OwnRows *own = own_rows_of(((OwnSearch *)PyCapsule_GetPointer(capsule, SEARCH))->rows);
        PyThreadState *thread = PyEval_SaveThread();
        result = take_steps(own, search, &log, n_more, &count, &thread);
        PyEval_RestoreThread(thread);
        (*n_running)--;
    }
    for (int k = n_ready; k > 0; k--)
        PyBuffer_Release(&views[k - 1]);
    return n_ready < n_arrays ? NULL : Py_BuildValue("(Li)", (long long)count, result);
}

PyObject *add(PyObject *module, PyObject *arguments)
{
    PyObject *capsule;
    long long index;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OL", &capsule, &index))
        return NULL;
    Search *search = search_of(capsule);
    if (search == NULL)
        return NULL;
    if (index < 0 || index >= search->rows->n)
        return PyErr_Format(PyExc_ValueError, "feature %lld is outside X", index);
    int result, *n_running = running_on(capsule);
    (*n_running)++;
    Py_BEGIN_ALLOW_THREADS
    result = search_variant()->add(search, index);
    Py_END_ALLOW_THREADS
    (*n_running)--;
    return PyLong_FromLong(result);
}

/* Copy numbers of a search into an array: its sums, Gram matrix, r, d, g, anchor and products of z with
 * it, counters, passes over X or the number of features. */
PyObject *read_numbers(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *out;
    const char *what;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OsO", &capsule, &what, &out))
        return NULL;
    const Search *search = search_of(capsule);
    if (search == NULL)
        return NULL;
    const Rows *rows = search->rows;
    const double counters[] = {(double)search->n_evaluations, search->largest_drift};
    const double passes = (double)search->n_passes, size = (double)search->size;
    const double *source = NULL;
    int64_t count = 0, height = 1, stride = 0;
    if (strcmp(what, "sums") == 0)
        source = search->sums, count = N_SUMS(rows->t);
    else if (strcmp(what, "gram") == 0)
        source = search->gram, height = count = search->size, stride = search->capacity;
    else if (strcmp(what, "r") == 0)
        source = search->r, height = rows->t, count = rows->m, stride = rows->ld;
    else if (strcmp(what, "d") == 0)
        source = search->d, count = rows->m;
    else if (strcmp(what, "g") == 0)
        source = search->g, height = rows->t, count = rows->m, stride = rows->ld;
    else if (strcmp(what, "anchor") == 0 && search->has_anchor)
        source = search->anchor, height = rows->t, count = rows->m, stride = rows->ld;
    else if (strcmp(what, "anchored") == 0 && search->has_anchor)
        source = search->anchored, height = rows->t, count = rows->n, stride = rows->n;
    else if (strcmp(what, "counters") == 0)
        source = counters, count = 2;
    else if (strcmp(what, "passes") == 0)
        source = &passes, count = 1;
    else if (strcmp(what, "size") == 0)
        source = &size, count = 1;
    else
        return PyErr_Format(PyExc_ValueError, "there is no %s in a search", what);
    Py_buffer room;
    double *values = numbers(out, &room, 'd', (Py_ssize_t)(height * count), PyBUF_WRITABLE);
    if (values == NULL)
        return NULL;
    for (int64_t k = 0; k < height; k++)
        memcpy(values + k * count, source + k * stride, (size_t)count * sizeof(double));
    PyBuffer_Release(&room);
    Py_RETURN_NONE;
}

/* The candidates of lowest bound, best first, into an array of their numbers; how many there are. */
PyObject *lowest(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *out;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO", &capsule, &out))
        return NULL;
    Search *search = search_of(capsule);
    const Py_ssize_t count = PyObject_Length(out);
    if (search == NULL || count < 0)
        return NULL;
    Py_buffer room;
    int64_t *indices = numbers(out, &room, 'q', count, PyBUF_WRITABLE);
    if (indices == NULL)
        return NULL;
    const int64_t found = search_variant()->lowest(search, count, indices);
    PyBuffer_Release(&room);
    return PyLong_FromLongLong(found);
}

/* Features that are likely chosen after one that was scored, into an array of their numbers; how many. */
PyObject *likely(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *out;
    long long first;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OLO", &capsule, &first, &out))
        return NULL;
    Search *search = search_of(capsule);
    const Py_ssize_t count = PyObject_Length(out);
    if (search == NULL || count < 0)
        return NULL;
    if (first < 0 || first >= search->rows->n)
        return PyErr_Format(PyExc_ValueError, "feature %lld is outside X", first);
    Py_buffer room;
    int64_t *indices = numbers(out, &room, 'q', count, PyBUF_WRITABLE);
    if (indices == NULL)
        return NULL;
    const int64_t found = search_variant()->likely(search, first, count, indices);
    PyBuffer_Release(&room);
    return PyLong_FromLongLong(found);
}

PyObject *set_anchor(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *given;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO", &capsule, &given))
        return NULL;
    Search *search = search_of(capsule);
    if (search == NULL)
        return NULL;
    Py_buffer view;
    const Py_ssize_t count = (Py_ssize_t)(search->rows->t * search->rows->n);
    const double *values = numbers(given, &view, 'd', count, 0);
    if (values == NULL)
        return NULL;
    (void)search_variant()->set_anchor(search, values); /* fails for lack of memory only, which it needs not */
    PyBuffer_Release(&view);
    Py_RETURN_NONE;
}

/* loo_curve(columns, inverses, steps, r, d, is_end, out, k, m, n_models, t): squared errors of models
 * of all sizes that is_end marks. */
PyObject *loo_curve(PyObject *module, PyObject *arguments)
{
    PyObject *objects[6], *marks;
    long long k, m, n_models, t;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOLLLL", &objects[0], &objects[1], &objects[2],
                          &objects[3], &objects[4], &marks, &objects[5], &k, &m, &n_models, &t))
        return NULL;
    const long long counts[6] = {k * m, n_models * k * k, n_models * t * k, t * m, m, n_models * k};
    Py_buffer views[6], is_end;
    double *arrays[6];
    int n_taken = 0, is_done = 0;
    if (PyObject_GetBuffer(marks, &is_end, PyBUF_SIMPLE))
        return NULL;
    if (is_end.len != k)
        PyErr_Format(PyExc_ValueError, "expected %lld marks, got %zd", k, is_end.len);
    for (; is_end.len == k && n_taken < 6; n_taken++) {
        const int flags = n_taken == 5 ? PyBUF_WRITABLE : 0;
        arrays[n_taken] = numbers(objects[n_taken], &views[n_taken], 'd', (Py_ssize_t)counts[n_taken], flags);
        if (arrays[n_taken] == NULL)
            break;
    }
    if (n_taken == 6) {
        Py_BEGIN_ALLOW_THREADS
        is_done = search_variant()->loo_curve(arrays[0], k, m, arrays[1], arrays[2], n_models, t, arrays[3],
                                     arrays[4], is_end.buf, arrays[5]);
        Py_END_ALLOW_THREADS
        if (!is_done)
            PyErr_NoMemory();
    }
    while (n_taken > 0)
        PyBuffer_Release(&views[--n_taken]);
    PyBuffer_Release(&is_end);
    if (!is_done)
        return NULL;
    Py_RETURN_NONE;
}
