/* Keys of the counters' store, and what the table of shingles seen once has of them;
   oborona/counters/record.py and doorkeeper.py have their twins, and say what each number is.

   Keys are ours.  The table is a file that the writer changes meanwhile: each slot is read once. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core.h"

enum {
    PREFIXES = 256,
    TYPES = 256,
    KEY_OCTETS = 10,
    CELL_OCTETS = 8,
    WAYS = 8,
    SLOT_OCTETS = 4,
    BUCKET_BITS = 17,
    RING = 1 << BUCKET_BITS,
    PRINT_SHIFT = 20,
    PRINT = (1 << 15) - 1,
    LIVES = 14 * 144,
    AHEAD = 144,
    BUCKET_SHIFT = 47,
};

static const uint64_t SPREAD = UINT64_C(0x9E3779B97F4A7C15);
static const uint64_t HEAD_SPREAD = UINT64_C(0xC2B2AE3D27D4EB4F);

/* Return the key of a shingle; NULL with an exception. */
static PyObject *key_of(uint8_t prefix, PyObject *shingle)
{
    if (!PyTuple_Check(shingle) || PyTuple_GET_SIZE(shingle) != 2) {
        PyErr_SetString(PyExc_TypeError, "a shingle is a type and a hash");
        return NULL;
    }
    const long kind = PyLong_AsLong(PyTuple_GET_ITEM(shingle, 0));
    if (kind == -1 && PyErr_Occurred())
        return NULL;
    if (kind < 0 || kind >= TYPES) {
        PyErr_Format(PyExc_IndexError, "no type has the number %ld", kind);
        return NULL;
    }
    const uint64_t hash = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(shingle, 1));
    if (hash == UINT64_MAX && PyErr_Occurred())
        return NULL;
    PyObject *key = PyBytes_FromStringAndSize(NULL, KEY_OCTETS);
    if (key == NULL)
        return NULL;
    uint8_t *octets = (uint8_t *)PyBytes_AS_STRING(key);
    octets[0] = prefix;
    octets[1] = (uint8_t)kind;
    for (int place = 0; place < 8; place++)
        octets[2 + place] = (uint8_t)(hash >> (56 - 8 * place));
    return key;
}

PyObject *core_store_keys(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (!check_count(count, 2))
        return NULL;
    const long prefix = PyLong_AsLong(args[0]);
    if (prefix == -1 && PyErr_Occurred())
        return NULL;
    if (prefix < 0 || prefix >= PREFIXES) {
        PyErr_Format(PyExc_ValueError, "no prefix has the number %ld", prefix);
        return NULL;
    }
    PyObject *shingles = PySequence_Fast(args[1], "shingles are a sequence");
    if (shingles == NULL)
        return NULL;
    const Py_ssize_t number = PySequence_Fast_GET_SIZE(shingles);
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

typedef struct {
    const uint8_t *slots;
    Py_ssize_t number; /* of slots */
    int shift;         /* of a key's bits, to its set */
    uint64_t reference; /* current bucket, on the ring */
} Table;

static uint32_t slot_at(const Table *table, Py_ssize_t place)
{
    const uint8_t *octets = table->slots + place * SLOT_OCTETS;
    return octets[0] | (uint32_t)octets[1] << 8 | (uint32_t)octets[2] << 16 | (uint32_t)octets[3] << 24;
}

static int is_live(uint64_t bucket, uint64_t reference)
{
    const uint64_t age = (reference - bucket) % RING;
    return age < LIVES || age >= RING - AHEAD;
}

/* Return the bucket of the one sighting of a key; -1 where it has none. */
static long find_sighting(const Table *table, const uint8_t *key)
{
    const uint64_t head = (uint64_t)key[0] << 8 | key[1];
    uint64_t hash = 0;
    for (int place = 2; place < KEY_OCTETS; place++)
        hash = hash << 8 | key[place];
    const uint64_t mixed = (hash ^ head * HEAD_SPREAD) * SPREAD;
    const uint64_t set = table->shift > 63 ? 0 : mixed >> table->shift;
    const uint32_t sought = (uint32_t)(mixed >> PRINT_SHIFT & PRINT);
    if (set >= (uint64_t)(table->number / WAYS)) /* no table has another number of sets than 2^n */
        return -1;
    for (int way = 0; way < WAYS; way++) {
        const uint32_t slot = slot_at(table, (Py_ssize_t)set * WAYS + way);
        if (slot != 0 && slot >> BUCKET_BITS == sought && is_live(slot % RING, table->reference))
            return (long)(slot % RING);
    }
    return -1;
}

/* Return (place, the cell of a sighting); NULL with an exception. */
static PyObject *placed_cell(PyObject *place, long bucket)
{
    const uint64_t cell = (uint64_t)bucket << BUCKET_SHIFT | 1;
    uint8_t octets[CELL_OCTETS];
    for (int octet = 0; octet < CELL_OCTETS; octet++)
        octets[octet] = (uint8_t)(cell >> (8 * octet));
    PyObject *packed = PyBytes_FromStringAndSize((const char *)octets, CELL_OCTETS);
    PyObject *both = packed == NULL ? NULL : PyTuple_Pack(2, place, packed);
    Py_XDECREF(packed);
    return both;
}

static PyObject *find_sightings(const Table *table, PyObject *keys, PyObject *places)
{
    PyObject *found = PyList_New(0);
    for (Py_ssize_t at = 0; found != NULL && at < PySequence_Fast_GET_SIZE(keys); at++) {
        PyObject *key = PySequence_Fast_GET_ITEM(keys, at);
        if (!PyBytes_Check(key) || PyBytes_GET_SIZE(key) != KEY_OCTETS) {
            PyErr_Format(PyExc_ValueError, "a key has %d octets", KEY_OCTETS);
            Py_CLEAR(found);
            continue;
        }
        const long bucket = find_sighting(table, (const uint8_t *)PyBytes_AS_STRING(key));
        if (bucket < 0)
            continue;
        PyObject *both = placed_cell(PySequence_Fast_GET_ITEM(places, at), bucket);
        if (both == NULL || PyList_Append(found, both) < 0)
            Py_CLEAR(found);
        Py_XDECREF(both);
    }
    return found;
}

/* Describe a table of slots and the current bucket; 0 with an exception. */
static int describe(Table *table, const Py_buffer *slots, PyObject *reference)
{
    const long long bucket = PyLong_AsLongLong(reference);
    if (bucket == -1 && PyErr_Occurred())
        return 0;
    table->slots = slots->buf;
    table->number = slots->len / SLOT_OCTETS;
    table->reference = (uint64_t)bucket % RING; /* RING divides 2^64: right below zero, too */
    table->shift = 64;
    for (Py_ssize_t sets = table->number / WAYS - 1; sets > 0; sets >>= 1)
        table->shift--;
    return 1;
}

PyObject *core_cells_seen_once(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Py_buffer slots;
    Table table;
    (void)module;
    if (!check_count(count, 4) || PyObject_GetBuffer(args[0], &slots, PyBUF_SIMPLE) < 0)
        return NULL;
    PyObject *found = NULL;
    PyObject *keys = PySequence_Fast(args[1], "keys are a sequence");
    PyObject *places = keys == NULL ? NULL : PySequence_Fast(args[2], "places are a sequence");
    if (places != NULL && PySequence_Fast_GET_SIZE(keys) != PySequence_Fast_GET_SIZE(places))
        PyErr_SetString(PyExc_ValueError, "as many places as keys are needed");
    else if (places != NULL && describe(&table, &slots, args[3]))
        found = find_sightings(&table, keys, places);
    Py_XDECREF(places);
    Py_XDECREF(keys);
    PyBuffer_Release(&slots);
    return found;
}
