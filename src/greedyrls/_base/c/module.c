/* greedyrls._base._compiled: the Python interface, by the limited API of Python 3.11.
 *
 * Rows and searches are capsules. Arrays are passed as buffers; what a capsule points to, it owns.
 * Everything that takes long runs without the interpreter lock.
 */
#include "module.h"

#include <stdlib.h>
#include <string.h>

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

static PyObject *variant_name(PyObject *module, PyObject *Py_UNUSED(arguments))
{
    (void)module;
    return PyUnicode_FromString(variant->name);
}

static PyMethodDef functions[] = {
    {"variant", variant_name, METH_NOARGS, "The variant in use: avx512, avx2 or baseline."},
    {"new_rows", new_rows, METH_VARARGS, "What searches on the same rows share."},
    {"let_fetch", let_fetch, METH_VARARGS, "Let searches compute Gram columns."},
    {"products", products, METH_VARARGS, "Gram columns of some features."},
    {"kept", kept, METH_O, "The number of Gram columns."},
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
    {"radial_kernel", radial_kernel, METH_VARARGS, "Values of the RBF kernel between points."},
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
