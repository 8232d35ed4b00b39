/* Keys of counters, and what the windows of their records add up; oborona/counters/record_windows.py
   and record.py are their twins.

   Records are cells of 8 octets (record.py has the layout); what is damaged in one makes a wrong
   sum, and nothing else.  The doorkeeper's slots are memory that another process writes to: each is
   read once. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core.h"

enum { CELL_BYTES = 8, KEY_BYTES = 10, WAYS = 8, SLOT_BYTES = 4 };
enum { BUCKETS_A_DAY = 144, DAYS = 14, RING = 1 << 17, FUTURE_BUCKETS = BUCKETS_A_DAY };
enum { BUCKET_SHIFT = 47, DAY_SHIFT = 46, LEVEL_SHIFT = 42, LEVEL = 15, LEVELS = 9 };
enum { DIGIT_BITS = 7, DIGIT = 127, SLOT_BUCKET_BITS = 17, PRINT_SHIFT = 20, PRINT = (1 << 15) - 1 };

#define SPREAD UINT64_C(0x9E3779B97F4A7C15)
#define HEAD_SPREAD UINT64_C(0xC2B2AE3D27D4EB4F)

typedef __int128 Sum; /* of amounts up to 2^63-1: no record has 2^63 cells */

typedef struct {
    const uint8_t *slots; /* NULL: there is no doorkeeper */
    int shift;            /* of a mixed key: what is left says its set */
    int64_t last;         /* the current ten-minute bucket */
    int takes;            /* some cell takes back */
} Reading;

static inline uint64_t big_endian(const uint8_t *octets, int number)
{
    uint64_t value = 0;
    for (int place = 0; place < number; place++)
        value = value << 8 | octets[place];
    return value;
}

static inline uint32_t slot_at(const uint8_t *octets)
{
    return octets[0] | (uint32_t)octets[1] << 8 | (uint32_t)octets[2] << 16 | (uint32_t)octets[3] << 24;
}

static inline int64_t day_of(int64_t bucket)
{
    return bucket / BUCKETS_A_DAY - (bucket % BUCKETS_A_DAY < 0);
}

/* Return how many buckets before the last a place on the ring lies, the nearest way round. */
static inline int64_t age_of(int64_t last, int64_t place)
{
    return ((last - place + RING / 2) & (RING - 1)) - RING / 2;
}

/* Return the smallest window that holds a cell; WINDOWS where none does. */
static int first_window(uint64_t cell, int64_t last)
{
    int64_t age = age_of(last, (int64_t)(cell >> BUCKET_SHIFT));
    if (!(cell >> DAY_SHIFT & 1) && age >= 0 && age < BUCKETS_A_DAY)
        return age < 1 ? 0 : age < 6 ? 1 : 2;
    int64_t days = day_of(last) - day_of(last - age);
    return days >= 0 && days < DAYS ? WINDOWS - 1 : WINDOWS;
}

static void add_cell(Reading *reading, uint64_t cell, Sum sums[WINDOWS][METRICS])
{
    int level = (int)(cell >> LEVEL_SHIFT & LEVEL), takes = level >= LEVELS;
    reading->takes |= takes;
    int first = first_window(cell, reading->last);
    if (first == WINDOWS)
        return;
    int weight = (takes ? level - LEVELS : level) * DIGIT_BITS;
    for (int metric = 0; metric < METRICS; metric++) {
        int64_t amount = (int64_t)((cell >> DIGIT_BITS * metric & DIGIT) << weight);
        sums[first][metric] += takes ? -amount : amount;
    }
}

/* Return [Window][Metric] of sums by the smallest window. */
static PyObject *row_of(Sum sums[WINDOWS][METRICS])
{
    PyObject *row = PyList_New(WINDOWS);
    for (int window = 0; row != NULL && window < WINDOWS; window++) {
        PyObject *counts = PyList_New(METRICS);
        for (int metric = 0; counts != NULL && metric < METRICS; metric++) {
            if (window > 0)
                sums[window][metric] += sums[window - 1][metric];
            Sum sum = sums[window][metric];
            PyObject *count = PyLong_FromLongLong(sum > INT64_MAX   ? INT64_MAX
                                                  : sum < INT64_MIN ? INT64_MIN
                                                                    : (int64_t)sum);
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

/* Return the cell of a key's one sighting; 0 where the doorkeeper has none. */
static uint64_t sighting(const Reading *reading, const uint8_t *key)
{
    uint64_t mixed = (big_endian(key + 2, 8) ^ big_endian(key, 2) * HEAD_SPREAD) * SPREAD;
    uint64_t set = reading->shift < 64 ? mixed >> reading->shift : 0;
    uint64_t sought = mixed >> PRINT_SHIFT & PRINT;
    const uint8_t *slot = reading->slots + set * WAYS * SLOT_BYTES;
    for (int way = 0; way < WAYS; way++, slot += SLOT_BYTES) {
        uint64_t value = slot_at(slot), bucket = value & (RING - 1);
        if (value == 0 || value >> SLOT_BUCKET_BITS != sought)
            continue;
        int64_t age = (reading->last - (int64_t)bucket) & (RING - 1);
        if (age < DAYS * BUCKETS_A_DAY || age - RING >= -FUTURE_BUCKETS)
            return bucket << BUCKET_SHIFT | 1;
    }
    return 0;
}

static int are_octets(PyObject *object, const char *what)
{
    if (PyBytes_Check(object))
        return 1;
    PyErr_Format(PyExc_TypeError, "%s is bytes, not %.100s", what, Py_TYPE(object)->tp_name);
    return 0;
}

static PyObject *totals_of(Reading *reading, PyObject *key, PyObject *record, PyObject *nothing)
{
    Sum sums[WINDOWS][METRICS] = {{0}};
    if (!are_octets(key, "a key") || !are_octets(record, "a record"))
        return NULL;
    if (PyBytes_GET_SIZE(key) != KEY_BYTES) {
        PyErr_Format(PyExc_ValueError, "a key has %d octets", KEY_BYTES);
        return NULL;
    }
    const uint8_t *cells = (const uint8_t *)PyBytes_AS_STRING(record);
    Py_ssize_t octets = PyBytes_GET_SIZE(record);
    if (octets % CELL_BYTES)
        octets = 0; /* damaged: what is counted next takes its place */
    if (octets == 0) {
        uint64_t cell = reading->slots == NULL
                            ? 0
                            : sighting(reading, (const uint8_t *)PyBytes_AS_STRING(key));
        if (cell == 0)
            return Py_NewRef(nothing);
        add_cell(reading, cell, sums);
    }
    for (Py_ssize_t place = 0; place < octets; place += CELL_BYTES)
        add_cell(reading, number_at(cells + place), sums);
    return row_of(sums);
}

/* Look into the doorkeeper's slots, if there are any; 0 with an exception. */
static int begin_reading(Reading *reading, PyObject *slots, Py_buffer *view)
{
    view->obj = NULL;
    if (slots == Py_None)
        return 1;
    if (PyObject_GetBuffer(slots, view, PyBUF_SIMPLE) < 0)
        return 0;
    uint64_t sets = (uint64_t)view->len / (WAYS * SLOT_BYTES);
    if (sets == 0 || sets & (sets - 1) || view->len % (WAYS * SLOT_BYTES)) {
        PyErr_SetString(PyExc_ValueError, "sets of slots are a power of two");
        return 0;
    }
    reading->slots = view->buf;
    for (reading->shift = 64; sets > 1; sets >>= 1)
        reading->shift--;
    return 1;
}

/* Return a list of rows, one for each key and its record. */
static PyObject *rows_of(Reading *reading, PyObject *keys, PyObject *records, PyObject *nothing)
{
    PyObject *each_key = PySequence_Fast(keys, "keys are a sequence");
    PyObject *each_record = each_key == NULL ? NULL : PySequence_Fast(records, "records are a sequence");
    PyObject *rows = NULL;
    if (each_record != NULL) {
        Py_ssize_t number = PySequence_Fast_GET_SIZE(each_key);
        if (number != PySequence_Fast_GET_SIZE(each_record))
            PyErr_SetString(PyExc_ValueError, "each key has a record");
        else
            rows = PyList_New(number);
        for (Py_ssize_t place = 0; rows != NULL && place < number; place++) {
            PyObject *row = totals_of(reading, PySequence_Fast_GET_ITEM(each_key, place),
                                      PySequence_Fast_GET_ITEM(each_record, place), nothing);
            if (row == NULL)
                Py_CLEAR(rows);
            else
                PyList_SET_ITEM(rows, place, row);
        }
    }
    Py_XDECREF(each_key);
    Py_XDECREF(each_record);
    return rows;
}

/* window_totals(keys, records, slots, bucket, nothing) */
PyObject *core_window_totals(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    Reading reading = {NULL, 64, 0, 0};
    Py_buffer view;
    if (!check_count(count, 5))
        return NULL;
    reading.last = PyLong_AsLongLong(args[3]);
    if (reading.last == -1 && PyErr_Occurred())
        return NULL;
    if (reading.last > INT64_C(1) << 40 || reading.last < -(INT64_C(1) << 40)) {
        PyErr_SetString(PyExc_OverflowError, "no clock says such a time");
        return NULL;
    }
    PyObject *rows = begin_reading(&reading, args[2], &view)
                         ? rows_of(&reading, args[0], args[1], args[4])
                         : NULL;
    if (view.obj != NULL)
        PyBuffer_Release(&view);
    return rows == NULL ? NULL : Py_BuildValue("(NN)", rows, PyBool_FromLong(reading.takes));
}

/* Return the key of a shingle; NULL with an exception. */
static PyObject *key_of(uint8_t prefix, PyObject *shingle)
{
    if (!PyTuple_Check(shingle) || PyTuple_GET_SIZE(shingle) != 2) {
        PyErr_SetString(PyExc_TypeError, "a shingle is a type and a hash");
        return NULL;
    }
    long kind = PyLong_AsLong(PyTuple_GET_ITEM(shingle, 0));
    if (kind < 0 || kind > 255) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_IndexError, "no type has the number %ld", kind);
        return NULL;
    }
    if (!PyLong_Check(PyTuple_GET_ITEM(shingle, 1))) {
        PyErr_SetString(PyExc_TypeError, "a hash is a number");
        return NULL;
    }
    uint64_t hash = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(shingle, 1));
    if (hash == UINT64_MAX && PyErr_Occurred())
        return NULL;
    PyObject *key = PyBytes_FromStringAndSize(NULL, KEY_BYTES);
    if (key == NULL)
        return NULL;
    uint8_t *octets = (uint8_t *)PyBytes_AS_STRING(key);
    octets[0] = prefix;
    octets[1] = (uint8_t)kind;
    for (int place = 0; place < 8; place++)
        octets[2 + place] = (uint8_t)(hash >> (56 - 8 * place));
    return key;
}

/* counter_keys(prefix, shingles) */
PyObject *core_counter_keys(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (!check_count(count, 2))
        return NULL;
    long prefix = PyLong_AsLong(args[0]);
    if (prefix < 0 || prefix > 255) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "no prefix has the number %ld", prefix);
        return NULL;
    }
    PyObject *shingles = PySequence_Fast(args[1], "shingles are a sequence");
    if (shingles == NULL)
        return NULL;
    Py_ssize_t number = PySequence_Fast_GET_SIZE(shingles);
    PyObject *keys = PyList_New(number);
    for (Py_ssize_t place = 0; keys != NULL && place < number; place++) {
        PyObject *key = key_of((uint8_t)prefix, PySequence_Fast_GET_ITEM(shingles, place));
        if (key == NULL)
            Py_CLEAR(keys);
        else
            PyList_SET_ITEM(keys, place, key);
    }
    Py_DECREF(shingles);
    return keys;
}
