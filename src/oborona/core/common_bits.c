/* The bits that two strings of octets have in common; oborona/journal/words/bits.py is its twin. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "core.h"

/* common_bits(left, right) */
PyObject *core_common_bits(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (!check_count(count, 2))
        return NULL;
    if (!PyBytes_Check(args[0]) || !PyBytes_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "octets are needed");
        return NULL;
    }
    Py_ssize_t length = Py_MIN(PyBytes_GET_SIZE(args[0]), PyBytes_GET_SIZE(args[1]));
    PyObject *common = PyBytes_FromStringAndSize(NULL, length);
    if (common == NULL)
        return NULL;
    const char *left = PyBytes_AS_STRING(args[0]), *right = PyBytes_AS_STRING(args[1]);
    char *both = PyBytes_AS_STRING(common);
    uint64_t any = 0;
    Py_ssize_t place = 0;
    for (uint64_t a, b; place + 8 <= length; place += 8) {
        memcpy(&a, left + place, 8);
        memcpy(&b, right + place, 8);
        a &= b;
        any |= a;
        memcpy(both + place, &a, 8);
    }
    for (; place < length; place++)
        any |= (uint8_t)(both[place] = (char)(left[place] & right[place]));
    if (any)
        return common;
    Py_DECREF(common);
    return PyBytes_FromStringAndSize(NULL, 0);
}
