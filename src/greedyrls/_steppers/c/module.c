/* greedyrls._steppers._compiled: the Python interface, by the limited API of Python 3.11. */
#include <Python.h>

#include <stdlib.h>
#include <string.h>

#include "search.h"

static const struct search *search = &baseline_search;

/* The best variant for this processor, or the one that GREEDYRLS_COMPILED names if it can run. */
static void choose_variant(void)
{
    const struct search *known[3];
    size_t count = 0;
    const char *wanted = getenv("GREEDYRLS_COMPILED");

#ifdef HAS_X86_VARIANTS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
            && __builtin_cpu_supports("avx512dq"))
            known[count++] = &avx512_search;
        known[count++] = &avx2_search;
    }
#endif
    known[count++] = &baseline_search;
    search = known[0];
    for (size_t i = 0; wanted != NULL && i < count; i++)
        if (strcmp(wanted, known[i]->variant) == 0)
            search = known[i];
}

static PyObject *variant(PyObject *module, PyObject *Py_UNUSED(arguments))
{
    (void)module;
    return PyUnicode_FromString(search->variant);
}

static PyMethodDef functions[] = {
    {"variant", variant, METH_NOARGS, "The variant in use: avx512, avx2 or baseline."},
    {NULL, NULL, 0, NULL},
};

static int begin(PyObject *module)
{
    (void)module;
    choose_variant();
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
