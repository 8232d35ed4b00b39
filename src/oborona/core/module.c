/* oborona._core: what a message asks for a hundred times, without a call of Python for each.

   PieceHasher    hashes of pieces and unique pairs (piece_hasher.c) */

#include <Python.h>

#include "core.h"

static int core_exec(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&hasher_spec);
    if (type == NULL)
        return -1;
    int failed = PyModule_AddObjectRef(module, "PieceHasher", type);
    Py_DECREF(type);
    return failed;
}

static PyModuleDef_Slot core_slots[] = {
    {Py_mod_exec, (void *)core_exec},
    {0, NULL},
};

static PyModuleDef core = {
    PyModuleDef_HEAD_INIT,
    .m_name = "oborona._core",
    .m_doc = "What a message asks for a hundred times.",
    .m_slots = core_slots,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&core);
}
