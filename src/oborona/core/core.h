/* What the parts of the native core share. */

#ifndef OBORONA_CORE_H
#define OBORONA_CORE_H

#include <Python.h>
#include <stdint.h>

#if __has_include(<xxhash.h>)
#define HAS_XXHASH 1
#else
#define HAS_XXHASH 0
#endif

enum { WINDOWS = 4, METRICS = 6 }; /* of a row of counts */

extern PyType_Spec hasher_spec;
extern PyType_Spec minima_spec; /* where HAS_XXHASH */

PyObject *core_counter_keys(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *core_reached_counts(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *core_window_totals(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *core_plain_fields(PyObject *module, PyObject *args);

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

/* Tell whether a call has as many arguments as it takes; with an exception where not. */
static inline int check_count(Py_ssize_t given, Py_ssize_t wanted)
{
    if (given == wanted)
        return 1;
    PyErr_Format(PyExc_TypeError, "%zd arguments are needed, %zd were given", wanted, given);
    return 0;
}

/* Return a number of 8 octets, the lowest first. */
static inline uint64_t number_at(const uint8_t *octets)
{
    uint64_t number = 0;
    for (int place = 7; place >= 0; place--)
        number = number << 8 | octets[place];
    return number;
}

#endif
