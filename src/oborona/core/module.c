/* oborona._core: what a message asks for a hundred times, without a call of Python for each.

   PieceHasher    hashes of pieces and unique pairs (piece_hasher.c)
   TextMinima     min-hashes of a text (text_minima.c)
   counter_keys, window_totals    of the counters (counter_rows.c)
   reached_counts    of the rows of a fingerprint (reached_counts.c)
   plain_fields    of a header (plain_fields.c) */

#include <Python.h>

#include "core.h"

static int add_type(PyObject *module, PyType_Spec *spec, const char *name)
{
    PyObject *type = PyType_FromSpec(spec);
    if (type == NULL)
        return -1;
    int failed = PyModule_AddObjectRef(module, name, type);
    Py_DECREF(type);
    return failed;
}

static int core_exec(PyObject *module)
{
    if (add_type(module, &hasher_spec, "PieceHasher") < 0)
        return -1;
#if HAS_XXHASH
    if (add_type(module, &minima_spec, "TextMinima") < 0)
        return -1;
#endif
    return 0;
}

static PyMethodDef core_functions[] = {
    {"counter_keys", FAST(core_counter_keys), METH_FASTCALL, "counter_keys(prefix, shingles)"},
    {"window_totals", FAST(core_window_totals), METH_FASTCALL,
     "window_totals(keys, records, slots, bucket, nothing)"},
    {"reached_counts", FAST(core_reached_counts), METH_FASTCALL, "reached_counts(rows, number)"},
    {"plain_fields", core_plain_fields, METH_VARARGS,
     "plain_fields(data, start, end, most, longest, type)"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot core_slots[] = {
    {Py_mod_exec, (void *)core_exec},
    {0, NULL},
};

static PyModuleDef core = {
    PyModuleDef_HEAD_INIT,
    .m_name = "oborona._core",
    .m_doc = "What a message asks for a hundred times.",
    .m_methods = core_functions,
    .m_slots = core_slots,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&core);
}
