/* oborona._core: what a message asks for a hundred times, without a call of Python for each.

   PieceHasher    hashes of pieces and unique pairs (piece_hasher.c)
   TextMinima     min-hashes of a text (text_minima.c)
   counter_keys, window_totals    of the counters (counter_rows.c)
   reached_counts    of the rows of a fingerprint (reached_counts.c)
   common_bits    of slices of a search file (common_bits.c)
   plain_fields    of a header (plain_fields.c)
   fold_ascii, fold_lines    a text in one form (text_form.c)
   count_words, said_words, linked_words    of a text (text_words.c)
   marked_lines    of a text (text_lines.c)
   broken_source    of a page (html_source.c)
   template_words    of a text (template_words.c)
   Hints    whether a text may hold what few do (text_hints.c) */

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
    if (add_type(module, &hints_spec, "Hints") < 0)
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
    {"common_bits", FAST(core_common_bits), METH_FASTCALL, "common_bits(left, right)"},
    {"plain_fields", core_plain_fields, METH_VARARGS,
     "plain_fields(data, start, end, most, longest, type)"},
    {"fold_ascii", core_fold_ascii, METH_O, "fold_ascii(text)"},
    {"fold_lines", core_fold_lines, METH_O, "fold_lines(text)"},
    {"count_words", core_count_words, METH_O, "count_words(text)"},
    {"linked_words", core_linked_words, METH_O, "linked_words(text)"},
    {"marked_lines", core_marked_lines, METH_VARARGS, "marked_lines(text, most)"},
    {"broken_source", core_broken_source, METH_O, "broken_source(text)"},
    {"said_words", core_said_words, METH_O, "said_words(text)"},
    {"template_words", FAST(core_template_words), METH_FASTCALL, "template_words(text, reader)"},
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
