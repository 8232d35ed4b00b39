/* The count that a number of rows reach, for each window and metric; oborona/counters/row_order.py
   is its twin. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core.h"

enum { ROWS = 64 }; /* on the stack; a message has at most 32 values of a fingerprint */

/* Put a number into a list that falls, of which the first `kept` are wanted. */
static void keep_highest(int64_t *highest, Py_ssize_t *have, Py_ssize_t kept, int64_t number)
{
    Py_ssize_t place = *have;
    if (place == kept) {
        if (number <= highest[kept - 1])
            return;
        place--;
    } else
        (*have)++;
    for (; place > 0 && highest[place - 1] < number; place--)
        highest[place] = highest[place - 1];
    highest[place] = number;
}

/* Return a count of a row as 64 bits; -1 with an exception where it is none. */
static int64_t count_at(PyObject *row, int window, int metric)
{
    PyObject *counts = PyList_GET_ITEM(row, window);
    if (!PyList_Check(counts) || PyList_GET_SIZE(counts) != METRICS) {
        PyErr_Format(PyExc_ValueError, "a window has %d counts", METRICS);
        return -1;
    }
    int beyond;
    int64_t count = PyLong_AsLongLongAndOverflow(PyList_GET_ITEM(counts, metric), &beyond);
    return beyond > 0 ? INT64_MAX : beyond < 0 ? INT64_MIN : count;
}

/* Return the number-th highest count of one window and metric; -1 with an exception. */
static int64_t reached(PyObject *rows, Py_ssize_t number, int window, int metric, int64_t *highest)
{
    Py_ssize_t have = 0;
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(rows); place++) {
        PyObject *row = PyList_GET_ITEM(rows, place);
        int64_t count = count_at(row, window < WINDOWS ? window : WINDOWS - 1, metric);
        if (count == -1 && PyErr_Occurred())
            return -1;
        if (window == WINDOWS) { /* what is earlier than the day */
            int64_t day = count_at(row, WINDOWS - 2, metric);
            if (day == -1 && PyErr_Occurred())
                return -1;
            count = count > day ? (int64_t)((uint64_t)count - (uint64_t)day) : 0;
            if (count < 0)
                count = INT64_MAX;
        }
        keep_highest(highest, &have, number, count);
    }
    return highest[number - 1];
}

static int are_rows(PyObject *rows, Py_ssize_t number)
{
    if (!PyList_Check(rows)) {
        PyErr_SetString(PyExc_TypeError, "rows are a list");
        return 0;
    }
    if (number < 1 || number > PyList_GET_SIZE(rows)) {
        PyErr_SetString(PyExc_ValueError, "there are not so many rows");
        return 0;
    }
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(rows); place++) {
        PyObject *row = PyList_GET_ITEM(rows, place);
        if (!PyList_Check(row) || PyList_GET_SIZE(row) != WINDOWS) {
            PyErr_Format(PyExc_ValueError, "a row has %d windows", WINDOWS);
            return 0;
        }
    }
    return 1;
}

static PyObject *reached_row(PyObject *rows, Py_ssize_t number, int64_t *highest)
{
    PyObject *row = PyList_New(WINDOWS + 1);
    for (int window = 0; row != NULL && window <= WINDOWS; window++) {
        PyObject *counts = PyList_New(METRICS);
        for (int metric = 0; counts != NULL && metric < METRICS; metric++) {
            int64_t most = reached(rows, number, window, metric, highest);
            PyObject *count = most == -1 && PyErr_Occurred() ? NULL : PyLong_FromLongLong(most);
            if (count == NULL)
                Py_CLEAR(counts);
            else
                PyList_SET_ITEM(counts, metric, count);
        }
        if (counts == NULL)
            Py_CLEAR(row);
        else
            PyList_SET_ITEM(row, window, counts);
    }
    return row;
}

/* reached_counts(rows, number) */
PyObject *core_reached_counts(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (!check_count(count, 2))
        return NULL;
    Py_ssize_t number = PyLong_AsSsize_t(args[1]);
    if ((number == -1 && PyErr_Occurred()) || !are_rows(args[0], number))
        return NULL;
    int64_t few[ROWS], *highest = few;
    if (number > ROWS && (highest = PyMem_New(int64_t, (size_t)number)) == NULL)
        return PyErr_NoMemory();
    PyObject *row = reached_row(args[0], number, highest);
    if (highest != few)
        PyMem_Free(highest);
    return row;
}
