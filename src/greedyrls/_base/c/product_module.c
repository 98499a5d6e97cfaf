/* The Python interface of products of X. */
#include "module.h"
#include "team.h"

#include <stdlib.h>
#include <string.h>

/* X: rows of float64, each contiguous; its buffer has two dimensions. */
static int has_contiguous_rows(const Py_buffer *x)
{
    return x->ndim == 2 && strcmp(x->format, "d") == 0 && x->strides[1] == 8
           && x->strides[0] >= 8 * x->shape[1] && x->strides[0] % 8 == 0;
}

/* Columns of a share are a multiple of this: whole panels of compiled code. What a column gets does not
 * depend on the columns beside it. */
#define ALIGNED 24
/* The fewest columns of a share: all gather the same vectors first. */
#define LEAST_COLUMNS 192
/* Calls of so many multiplications, about a tenth of a millisecond, gain from threads. */
#define SHARED_CALL (1 << 22)

/* A product of X that is shared by threads, some columns each. */
typedef struct {
    int64_t count, m, n, width;
    double *out;
    /* Of given vectors. */
    const double *v, *x, *w;
    int64_t stride;
    double *squares;
    /* Of columns of X. */
    const Rows *rows;
    const int64_t *features;
    const double *anchor;
    double *columns;
} Product;

int64_t share_width(double work, int64_t n, int64_t n_threads, int64_t each)
{
    const int64_t most = work < SHARED_CALL || n_threads <= 1 ? 1 : n / LEAST_COLUMNS;
    const int64_t n_shares = n_threads * each < most ? n_threads * each : most;
    return n_shares <= 1 ? n : (n + n_shares * ALIGNED - 1) / (n_shares * ALIGNED) * ALIGNED;
}

static void run_shared(Product *product, int64_t n_threads, RunShare run)
{
    const int64_t n = product->n;
    const double work = (double)product->m * (double)n * (double)(READ + product->count);
    product->width = share_width(work, n, n_threads, 1);
    if (product->width > 0)
        in_shares(n_threads, (n + product->width - 1) / product->width, run, product);
}

static void multiply_share(void *context, int64_t share)
{
    const Product *all = context;
    const int64_t start = share * all->width, end = start + all->width;
    const int64_t stop = end < all->n ? end : all->n;
    search_variant()->multiply(all->v, all->count, all->x + start, all->m, stop - start, all->stride,
                               all->out + start, all->n, all->w,
                               all->squares == NULL ? NULL : all->squares + start);
}

static void gram_share(void *context, int64_t share)
{
    const Product *all = context;
    const int64_t start = share * all->width, end = start + all->width;
    search_variant()->gram_columns(all->rows, all->features, all->count, all->anchor, start,
                                   end < all->n ? end : all->n, all->out,
                                   start > 0 ? NULL : all->columns);
}

PyObject *multiplies(PyObject *module, PyObject *Py_UNUSED(arguments))
{
    (void)module;
    return PyBool_FromLong(search_variant()->multiplies);
}

/* multiply(V, X, out, weights, squares, n_threads): V X, and the weighted sums of squares of the columns
 * of X unless that is None. */
PyObject *multiply(PyObject *module, PyObject *arguments)
{
    PyObject *vectors, *matrix, *result, *weights, *sums;
    Py_ssize_t n_threads;
    Py_buffer x, views[4];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOn", &vectors, &matrix, &result, &weights, &sums, &n_threads)
        || PyObject_GetBuffer(matrix, &x, PyBUF_FORMAT | PyBUF_STRIDED_RO))
        return NULL;
    const Py_ssize_t count = PyObject_Length(vectors);
    int is_right = count >= 0;
    if (is_right && !has_contiguous_rows(&x)) {
        PyErr_SetString(PyExc_ValueError, "expected X of float64 with contiguous rows");
        is_right = 0;
    }
    const Py_ssize_t m = is_right ? x.shape[0] : 0, n = is_right ? x.shape[1] : 0;
    const double *v = numbers_or_none(vectors, &views[0], count * m, 0, &is_right);
    double *out = numbers_or_none(result, &views[1], count * n, PyBUF_WRITABLE, &is_right);
    const double *w = numbers_or_none(weights, &views[2], m, 0, &is_right);
    double *squares = numbers_or_none(sums, &views[3], n, PyBUF_WRITABLE, &is_right);
    if (is_right) {
        Product product = {.count = count, .m = m, .n = n, .out = out, .v = v, .w = w};
        product.x = x.buf, product.stride = x.strides[0] / 8, product.squares = squares;
        Py_BEGIN_ALLOW_THREADS
        run_shared(&product, n_threads, multiply_share);
        Py_END_ALLOW_THREADS
    }
    for (int k = 0; k < 4; k++)
        PyBuffer_Release(&views[k]);
    PyBuffer_Release(&x);
    if (!is_right)
        return NULL;
    Py_RETURN_NONE;
}

static void multiply_columns(const Rows *rows, const int64_t *features, int64_t count,
                             const double *anchor, double *out, double *columns, int64_t n_threads)
{
    Product product = {.count = count, .m = rows->m, .n = rows->n, .out = out, .rows = rows};
    product.features = features, product.columns = columns, product.anchor = anchor;
    run_shared(&product, n_threads, gram_share);
}

/* gram_columns(rows, indices, out, columns, n_threads): x_b'X for features b, from X as it was passed:
 * rows of float64, each contiguous, all of which count; and the columns b themselves, unless that is
 * None. */
PyObject *gram_columns(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *indices, *result, *gathered;
    Py_ssize_t n_threads;
    Py_buffer which, views[2];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOn", &capsule, &indices, &result, &gathered, &n_threads))
        return NULL;
    const Rows *rows = rows_of(capsule);
    const Py_ssize_t count = PyObject_Length(indices);
    if (rows == NULL || count < 0)
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
        multiply_columns(rows, features, count, NULL, out, columns, n_threads);
        Py_END_ALLOW_THREADS
    }
    for (int k = 0; k < 2; k++)
        PyBuffer_Release(&views[k]);
    PyBuffer_Release(&which);
    if (!is_right)
        return NULL;
    Py_RETURN_NONE;
}

/* --- Gram columns that searches fetch by themselves ---------------------------------------- */

#define KEPT "greedyrls.kept"
/* Columns that are fetched at first, the fewest later, and how many for each one that was of use. */
#define FIRST_WIDTH 16
#define LEAST_WIDTH 8
#define LARGEST_WIDTH 64
#define WIDTH_MARGIN 2
/* X of so few numbers stays in the cache, so that a pass for few columns costs little. */
#define CACHED_X (1 << 20)
/* Gram columns that share an array, if it has at least so many numbers. */
#define MANY_COLUMNS 32
#define LARGE_ARRAY (1 << 19)

static int64_t least_of_two(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How many columns to fetch, of those that are likely wanted. */
static int64_t width_of(const Search *search, int64_t n_more)
{
    const Rows *rows = search->rows;
    if (search->n_left <= least_of_two(MOST_AHEAD, 4 * n_more))
        return search->n_ahead; /* all there are: never another pass */
    int64_t width = FIRST_WIDTH;
    if (rows->m * rows->n <= CACHED_X)
        width = LEAST_WIDTH;
    else if (search->n_fetched >= 0) {
        width = WIDTH_MARGIN * (search->size - search->n_fetched);
        width = width < LEAST_WIDTH ? LEAST_WIDTH : least_of_two(width, LARGEST_WIDTH);
    }
    /* Past the last feature nothing is needed; a quarter more allows for wrong guesses. */
    return least_of_two(search->n_ahead, least_of_two(width, n_more + n_more / 4));
}

/* Order the features to fetch: first those that the missing one makes likely, then by rank. */
static void put_likely_first(Search *search, int64_t count)
{
    int64_t likely[MOST_AHEAD], rank = 1;
    const int64_t found = search_variant()->likely(search, search->ahead[0], count - 1, likely);
    for (int64_t k = 0; k < found; k++) {
        int64_t place = rank;
        while (place < search->n_ahead && search->ahead[place] != likely[k])
            place++;
        if (place == search->n_ahead)
            continue; /* its column is there */
        memmove(search->ahead + rank + 1, search->ahead + rank, (size_t)(place - rank) * sizeof(int64_t));
        search->ahead[rank++] = likely[k];
    }
}

static void free_kept(PyObject *capsule)
{
    free(PyCapsule_GetPointer(capsule, KEPT));
}

/* Let rows own memory. */
static int keep(OwnRows *own, double *memory)
{
    PyObject *capsule = memory == NULL ? NULL : PyCapsule_New(memory, KEPT, free_kept);
    if (capsule == NULL)
        free(memory);
    const int is_kept = capsule != NULL && PyList_Append(own->kept, capsule) == 0;
    Py_XDECREF(capsule);
    PyErr_Clear(); /* for lack of memory the column is asked for */
    return is_kept;
}

/* Memory for Gram columns that rows own. Long ones are many to an array, for its pages to be large. */
static double *reserve(OwnRows *own, int64_t count)
{
    const int64_t n = own->rows.n;
    if (own->n_spare < count) {
        const int64_t many = n * MANY_COLUMNS < LARGE_ARRAY || count > MANY_COLUMNS ? count : MANY_COLUMNS;
        double *memory = large_array(many * n);
        if (!keep(own, memory))
            return NULL;
        own->spare = memory, own->n_spare = many;
    }
    double *columns = own->spare;
    own->spare += count * n, own->n_spare -= count;
    return columns;
}

int fetch_ahead(OwnRows *own, Search *search, int64_t n_more, PyThreadState **thread)
{
    Rows *rows = &own->rows;
    const int64_t n = rows->n, ld = rows->ld;
    /* Each pass brings a new anchor along: it costs next to nothing, and fewer candidates are scored. */
    const int has_anchor = rows->packed == NULL && rows->t == 1;
    int64_t count = width_of(search, n_more);
    if (count < 1)
        return 0;
    if (has_anchor && count % LEAST_WIDTH == 0)
        count--; /* the anchor takes the place of a vector that is multiplied in the same time */
    if (own->most_kept > 0)
        put_likely_first(search, count);
    PyEval_RestoreThread(*thread);
    /* A search in another thread may have computed it in the meantime. */
    const int is_there = rows->gram[search->ahead[0]] != NULL;
    double *values = NULL, *columns = NULL;
    const int64_t n_products = count + has_anchor;
    if (!is_there && own->n_kept + n_products <= own->most_kept
        && (values = reserve(own, n_products)) != NULL) {
        own->n_kept += n_products;
        if (rows->packed == NULL && own->n_gathered + count * ld <= own->most_gathered) {
            columns = large_array(count * ld);
            columns = keep(own, columns) ? columns : NULL;
            own->n_gathered += columns == NULL ? 0 : count * ld;
        }
    }
    *thread = PyEval_SaveThread();
    if (values == NULL)
        return is_there;
    if (rows->packed != NULL)
        search_variant()->products(rows, search->ahead, count, values);
    else {
        const double *anchor = has_anchor ? search->g : NULL;
        multiply_columns(rows, search->ahead, count, anchor, values, columns, search->n_threads);
        search->n_passes++;
        if (has_anchor)
            search_variant()->set_anchor(search, values + count * n);
    }
    search->n_fetched = search->size;
    for (int64_t k = 0; k < count; k++) {
        if (columns != NULL)
            PUBLISH(rows->columns, search->ahead[k], columns + k * ld);
        PUBLISH(rows->gram, search->ahead[k], values + k * n);
    }
    return 1;
}
