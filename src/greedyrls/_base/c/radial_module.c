/* The Python interface of radial.h. */
#include "module.h"
#include "team.h"

#include <string.h>

/* Shares of each thread: those of a square matrix take longer the farther right they are. */
#define SHARES 4
/* The exponential function takes as long as so many differences. */
#define EXPONENTIAL 20

static int is_table(const Py_buffer *view, Py_ssize_t columns)
{
    return view->ndim == 2 && strcmp(view->format, "d") == 0 && view->shape[1] == columns;
}

/* Whether rows are contiguous. NumPy passes other strides than its own of a single row or column. */
static int has_rows(const Py_buffer *view)
{
    return (view->shape[1] <= 1 || view->strides[1] == 8)
           && (view->shape[0] <= 1
               || (view->strides[0] >= 8 * view->shape[1] && view->strides[0] % 8 == 0));
}

/* A kernel matrix that is shared by threads, some points each. */
typedef struct {
    const double *centers, *points;
    int64_t rows, n, d, width, stride;
    double gamma, *out;
    int is_square, has_failed;
} Radial;

static void radial_share(void *context, int64_t share)
{
    Radial *all = context;
    const int64_t start = share * all->width, end = start + all->width;
    if (!search_variant()->radial_kernel(all->centers, all->rows, all->points, all->d, all->gamma, start,
                                         end < all->n ? end : all->n, all->out, all->stride, all->is_square))
        all->has_failed = 1;
}

/* radial_kernel(centers, points, gamma, out, is_square, n_threads): out (rows × n) = exp(−γ‖x − c‖²) of
 * centres (rows × d) and points (n × d); with `is_square` both are the same. Rows of `out` are contiguous. */
PyObject *radial_kernel(PyObject *module, PyObject *arguments)
{
    PyObject *objects[3];
    Py_buffer views[3] = {{0}, {0}, {0}};
    const int flags[] = {PyBUF_C_CONTIGUOUS, PyBUF_C_CONTIGUOUS, PyBUF_STRIDED | PyBUF_WRITABLE};
    double gamma;
    Py_ssize_t n_threads;
    int is_square, is_right = 1, is_done = 1;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOdOpn", &objects[0], &objects[1], &gamma, &objects[2], &is_square,
                          &n_threads))
        return NULL;
    for (int k = 0; k < 3 && is_right; k++)
        is_right = PyObject_GetBuffer(objects[k], &views[k], PyBUF_FORMAT | flags[k]) == 0;
    const Py_buffer *centers = &views[0], *points = &views[1], *out = &views[2];
    if (is_right) {
        is_right = centers->ndim == 2 && is_table(centers, centers->shape[1])
                   && is_table(points, centers->shape[1]) && is_table(out, points->shape[0])
                   && out->shape[0] == centers->shape[0] && has_rows(out)
                   && (!is_square || centers->shape[0] == points->shape[0]);
        if (!is_right)
            PyErr_SetString(PyExc_ValueError, "expected points of float64, and a row for each centre");
    }
    if (is_right) {
        const int64_t stride = out->shape[0] > 1 ? out->strides[0] / 8 : out->shape[1];
        const int64_t n = points->shape[0], d = centers->shape[1];
        const double work = (double)centers->shape[0] * (double)n * (double)(d + EXPONENTIAL);
        Radial all = {centers->buf, points->buf, centers->shape[0], n, d, 0, stride, gamma, out->buf, is_square, 0};
        all.width = share_width(work, n, n_threads, SHARES);
        Py_BEGIN_ALLOW_THREADS
        if (all.width > 0)
            in_shares(n_threads, (n + all.width - 1) / all.width, radial_share, &all);
        is_done = !all.has_failed;
        Py_END_ALLOW_THREADS
    }
    for (int k = 0; k < 3; k++)
        PyBuffer_Release(&views[k]);
    if (is_right && !is_done)
        PyErr_NoMemory();
    if (!is_right || !is_done)
        return NULL;
    Py_RETURN_NONE;
}
