/* greedyrls._base._compiled: the Python interface, by the limited API of Python 3.11.
 *
 * Rows and searches are capsules. Arrays are passed as buffers; what a capsule points to, it owns.
 * Everything that takes long runs without the interpreter lock.
 */
#include "module.h"
#include "team.h"

#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define LARGE_PAGE ((size_t)1 << 21)
#define ROWS "greedyrls.rows"
#define SEARCH "greedyrls.search"

static const Variant *variant = &baseline_variant;

/* The best variant for this processor, or the one that GREEDYRLS_COMPILED names if it can run. */
static void choose_variant(void)
{
    const Variant *known[3];
    size_t count = 0;
    const char *wanted = getenv("GREEDYRLS_COMPILED");

#ifdef HAS_X86_VARIANTS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
            && __builtin_cpu_supports("avx512dq"))
            known[count++] = &avx512_variant;
        known[count++] = &avx2_variant;
    }
#endif
    known[count++] = &baseline_variant;
    variant = known[0];
    for (size_t i = 0; wanted != NULL && i < count; i++)
        if (strcmp(wanted, known[i]->name) == 0)
            variant = known[i];
}

const Variant *search_variant(void)
{
    return variant;
}

/* --- Buffers ------------------------------------------------------------------------------- */

void *numbers(PyObject *object, Py_buffer *view, char format, Py_ssize_t count, int flags)
{
    if (PyObject_GetBuffer(object, view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | flags))
        return NULL;
    /* Arrays that were sent to another process name their byte order, which NumPy writes as "=". */
    const char *found = view->format + (view->format[0] == '=');
    const int is_long = format == 'q' && (strcmp(found, "q") == 0 || strcmp(found, "l") == 0);
    const int is_right = is_long || (strlen(found) == 1 && found[0] == format);
    if (!is_right || view->itemsize != 8 || view->len != 8 * count) {
        PyErr_Format(PyExc_ValueError, "expected %zd numbers of format %c, got %zd bytes of %s",
                     count, format, view->len, found);
        PyBuffer_Release(view);
        return NULL;
    }
    return view->buf;
}

void *copied(PyObject *object, char format, int64_t count)
{
    Py_buffer view;
    const void *values = numbers(object, &view, format, (Py_ssize_t)count, 0);
    if (values == NULL)
        return NULL;
    void *copy = malloc((size_t)(count + 1) * 8);
    if (copy == NULL)
        PyErr_NoMemory();
    else
        memcpy(copy, values, (size_t)count * 8);
    PyBuffer_Release(&view);
    return copy;
}

double *numbers_or_none(PyObject *object, Py_buffer *view, Py_ssize_t count, int flags,
                        int *is_right)
{
    view->obj = NULL;
    if (object == Py_None || !*is_right)
        return NULL;
    double *found = numbers(object, view, 'd', count, flags);
    *is_right = found != NULL;
    return found;
}

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

/* --- Rows ---------------------------------------------------------------------------------- */

const Rows *rows_of(PyObject *capsule)
{
    const OwnRows *own = PyCapsule_GetPointer(capsule, ROWS);
    return own == NULL ? NULL : &own->rows;
}

/* let_fetch(rows, count, numbers): searches compute Gram columns that they lack, as long as not more than
 * `count` are kept, and keep columns of X with them, up to so many numbers. */
static PyObject *let_fetch(PyObject *module, PyObject *arguments)
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

static PyObject *new_rows(PyObject *module, PyObject *arguments)
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
        variant->pack(rows);
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
static PyObject *products(PyObject *module, PyObject *arguments)
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
        variant->products(&own->rows, features, count, values);
        Py_END_ALLOW_THREADS
    }
    if (is_right && PyList_Append(own->kept, out) == 0 && PyList_Append(own->kept, columns) == 0
        && PyList_Append(own->kept, kernels) == 0)
        for (Py_ssize_t k = 0; k < count; k++) {
            own->rows.gram[features[k]] = values + k * n;
            if (gathered != NULL)
                own->rows.columns[features[k]] = gathered + k * ld;
            if (penalties != NULL)
                own->rows.kernels[features[k]] = penalties + k * n;
        }
    for (int k = 0; k < 3; k++)
        PyBuffer_Release(&room[k]);
    PyBuffer_Release(&which);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

/* forget(rows): drop all Gram columns, and return True; False if a search in another thread may read
 * them. Searches ask again for those that they need. */
static PyObject *forget(PyObject *module, PyObject *capsule)
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
    own->n_kept = own->n_gathered = 0;
    Py_RETURN_TRUE;
}

/* --- Searches ------------------------------------------------------------------------------ */

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
        search->fourth, search->mixed, search->distances, search->chosen_z, search->cached,
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

static PyObject *new_search(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *barred;
    double alpha, initial_loss;
    int loss, keeps_z;
    long long capacity;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OdidOLp", &capsule, &alpha, &loss, &initial_loss, &barred,
                          &capacity, &keeps_z))
        return NULL;
    OwnRows *rows = PyCapsule_GetPointer(capsule, ROWS);
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
    variant->begin(search);
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
    OwnRows *rows = PyCapsule_GetPointer(own->rows, ROWS);
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
static int helps_itself(PyObject *capsule, Search *search, int answer, int64_t n_more,
                        PyThreadState **thread)
{
    OwnSearch *own = PyCapsule_GetPointer(capsule, SEARCH);
    if (answer == NEEDS_ANCHOR)
        return variant->makes_anchors(search->rows) && variant->set_anchor(search, NULL);
    if (answer == NEEDS_COLUMN)
        return fetch_ahead(PyCapsule_GetPointer(own->rows, ROWS), search, n_more, thread);
    return 0;
}

/* Steps until there is no room for more, or one cannot be taken: why it cannot, else TAKEN. */
static int take_steps(PyObject *capsule, Search *search, Log *log, int64_t n_more, int64_t *count,
                      PyThreadState **thread)
{
    for (*count = 0; *count < log->room; (*count)++) {
        int result;
        do
            result = variant->step(search, log->width - 1, log->best + *count * log->width,
                                   log->losses + *count * log->width);
        while (helps_itself(capsule, search, result, n_more - *count, thread));
        if (result != TAKEN)
            return result;
        write_step(search, log, *count);
    }
    return TAKEN;
}

/* steps(search, best, losses, sums, products, r, d, n_more, n_threads) → (how many were taken, why not
 * more). Row i of the arrays is of step i; the features of the first row without a step say what it needs.
 * `n_more` features are still to be added, after these steps as well. */
static PyObject *steps(PyObject *module, PyObject *arguments)
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
        PyThreadState *thread = PyEval_SaveThread();
        result = take_steps(capsule, search, &log, n_more, &count, &thread);
        PyEval_RestoreThread(thread);
        (*n_running)--;
    }
    for (int k = n_ready; k > 0; k--)
        PyBuffer_Release(&views[k - 1]);
    return n_ready < n_arrays ? NULL : Py_BuildValue("(Li)", (long long)count, result);
}

static PyObject *add(PyObject *module, PyObject *arguments)
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
    result = variant->add(search, index);
    Py_END_ALLOW_THREADS
    (*n_running)--;
    return PyLong_FromLong(result);
}

/* Copy numbers of a search into an array: its sums, Gram matrix, r, d, anchor, counters or
 * passes over X. */
static PyObject *read_numbers(PyObject *module, PyObject *arguments)
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
    const double passes = (double)search->n_passes;
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
    else if (strcmp(what, "counters") == 0)
        source = counters, count = 2;
    else if (strcmp(what, "passes") == 0)
        source = &passes, count = 1;
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
static PyObject *lowest(PyObject *module, PyObject *arguments)
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
    const int64_t found = variant->lowest(search, count, indices);
    PyBuffer_Release(&room);
    return PyLong_FromLongLong(found);
}

/* Features that are likely chosen after one that was scored, into an array of their numbers; how many. */
static PyObject *likely(PyObject *module, PyObject *arguments)
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
    const int64_t found = variant->likely(search, first, count, indices);
    PyBuffer_Release(&room);
    return PyLong_FromLongLong(found);
}

static PyObject *set_anchor(PyObject *module, PyObject *arguments)
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
    (void)variant->set_anchor(search, values); /* fails for lack of memory only, which it needs not */
    PyBuffer_Release(&view);
    Py_RETURN_NONE;
}

/* loo_curve(columns, inverses, steps, r, d, is_end, out, k, m, n_models, t): squared errors of models
 * of all sizes that is_end marks. */
static PyObject *loo_curve(PyObject *module, PyObject *arguments)
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
        is_done = variant->loo_curve(arrays[0], k, m, arrays[1], arrays[2], n_models, t, arrays[3],
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

static PyObject *variant_name(PyObject *module, PyObject *Py_UNUSED(arguments))
{
    (void)module;
    return PyUnicode_FromString(variant->name);
}

static PyObject *without_helpers(PyObject *module, PyObject *Py_UNUSED(arguments))
{
    (void)module;
    forget_helpers();
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"forget_helpers", without_helpers, METH_NOARGS, "Begin without threads, after a fork."},
    {"variant", variant_name, METH_NOARGS, "The variant in use: avx512, avx2 or baseline."},
    {"new_rows", new_rows, METH_VARARGS, "What searches on the same rows share."},
    {"let_fetch", let_fetch, METH_VARARGS, "Let searches compute Gram columns."},
    {"products", products, METH_VARARGS, "Gram columns of some features."},
    {"forget", forget, METH_O, "Drop all Gram columns."},
    {"new_search", new_search, METH_VARARGS, "A search at the model without features."},
    {"steps", steps, METH_VARARGS, "Take steps, and say why not more."},
    {"add", add, METH_VARARGS, "Add a given feature."},
    {"remove_worst", remove_worst, METH_VARARGS, "Remove the feature that costs least."},
    {"read", read_numbers, METH_VARARGS, "Copy numbers of a search."},
    {"lowest", lowest, METH_VARARGS, "The candidates of lowest bound."},
    {"likely", likely, METH_VARARGS, "Features likely chosen after one."},
    {"loo_curve", loo_curve, METH_VARARGS, "Squared errors of models of all sizes."},
    {"new_tests", new_tests, METH_VARARGS, "Rows held out, and how their losses are summed."},
    {"test_models", test_models, METH_VARARGS, "Penalties and losses of models of all sizes."},
    {"most_dots", most_dots, METH_NOARGS, "Vectors with which column_product is faster than BLAS."},
    {"column_product", column_product, METH_VARARGS, "Products with contiguous columns."},
    {"multiplies", multiplies, METH_NOARGS, "Whether products of X are faster than by BLAS."},
    {"multiply", multiply, METH_VARARGS, "Products of X with vectors."},
    {"gram_columns", gram_columns, METH_VARARGS, "Gram columns from X as it was passed."},
    {"set_anchor", set_anchor, METH_VARARGS, "Set the anchor of bounds."},
    {"new_fold_rows", new_fold_rows, METH_VARARGS, "What searches by the same folds share."},
    {"new_fold_search", new_fold_search, METH_VARARGS, "A search by folds, without features."},
    {"fold_choose", fold_choose, METH_VARARGS, "The best candidate of a search by folds."},
    {"fold_add", fold_add, METH_VARARGS, "Add a feature to the models of all folds."},
    {"fold_drift", fold_drift, METH_O, "The largest drift of a pivot in a search by folds."},
    {"fold_losses", fold_losses, METH_VARARGS, "The losses of candidates in the last step."},
    {"fold_curve", fold_curve, METH_VARARGS, "Held-out errors of models of all sizes."},
    {NULL, NULL, 0, NULL},
};

static int begin(PyObject *module)
{
    (void)module;
    choose_variant();
    choose_fold_variant(variant->name);
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)begin},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_compiled",
    .m_doc = "Forward steps in C.",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__compiled(void)
{
    return PyModuleDef_Init(&definition);
}
