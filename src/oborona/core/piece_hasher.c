/* Hashes of pieces and unique pairs; oborona/message/piece_hasher.py is their twin.

   Input is ours: pieces of any octets, of lengths that objects of Python have.  Nothing is kept
   between calls but the state of the key, and no call lets the interpreter's lock go. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "blake2b.h"
#include "core.h"

enum { TYPES = 80, PAIR_HEAD = 4 };

typedef struct {
    PyObject_HEAD
    uint64_t keyed[8]; /* behind the block of the key */
    uint64_t mask;     /* of a pair's hash: what is its U's */
    PyTypeObject *shingle;
    PyTypeObject *pair;
} PieceHasher;

static void begin(const PieceHasher *self, Blake *state, long kind)
{
    const uint8_t octet = (uint8_t)kind;
    memcpy(state->h, self->keyed, sizeof state->h);
    state->length = BLOCK;
    state->filled = 0;
    update(state, &octet, 1);
}

static uint64_t hash_piece(const PieceHasher *self, long kind, const Py_buffer *piece)
{
    Blake state;
    begin(self, &state, kind);
    update(&state, piece->buf, (size_t)piece->len);
    return digest(&state);
}

/* Return a tuple of a type, of two objects that it takes over; NULL with an exception. */
static PyObject *two(PyTypeObject *type, PyObject *first, PyObject *second)
{
    PyObject *made = first != NULL && second != NULL ? type->tp_alloc(type, 2) : NULL;
    if (made == NULL) {
        Py_XDECREF(first);
        Py_XDECREF(second);
        return NULL;
    }
    PyTuple_SET_ITEM(made, 0, first);
    PyTuple_SET_ITEM(made, 1, second);
    return made;
}

static PyObject *shingle_of(const PieceHasher *self, long kind, uint64_t hash)
{
    return two(self->shingle, PyLong_FromLong(kind), PyLong_FromUnsignedLongLong(hash));
}

/* Return the number of a type; -1 with an exception. */
static long kind_of(PyObject *number)
{
    long kind = PyLong_AsLong(number);
    if (kind == -1 && PyErr_Occurred())
        return -1;
    if (kind < 0 || kind >= TYPES) {
        PyErr_Format(PyExc_IndexError, "no type has the number %ld", kind);
        return -1;
    }
    return kind;
}

static PyObject *hasher_octets(PieceHasher *self, PyObject *const *args, Py_ssize_t count)
{
    Py_buffer piece;
    if (!check_count(count, 2))
        return NULL;
    long kind = kind_of(args[0]);
    if (kind < 0 || PyObject_GetBuffer(args[1], &piece, PyBUF_SIMPLE) < 0)
        return NULL;
    uint64_t hash = hash_piece(self, kind, &piece);
    PyBuffer_Release(&piece);
    return shingle_of(self, kind, hash);
}

static PyObject *hasher_shingle(PieceHasher *self, PyObject *const *args, Py_ssize_t count)
{
    if (!check_count(count, 2))
        return NULL;
    long kind = kind_of(args[0]);
    if (kind < 0)
        return NULL;
    if (!PyUnicode_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "a piece is a text");
        return NULL;
    }
    Blake state;
    begin(self, &state, kind);
    if (PyUnicode_IS_ASCII(args[1])) {
        update(&state, PyUnicode_DATA(args[1]), (size_t)PyUnicode_GET_LENGTH(args[1]));
    } else {
        PyObject *octets = PyUnicode_AsEncodedString(args[1], "utf-8", "surrogatepass");
        if (octets == NULL)
            return NULL;
        update(&state, (const uint8_t *)PyBytes_AS_STRING(octets), (size_t)PyBytes_GET_SIZE(octets));
        Py_DECREF(octets);
    }
    return shingle_of(self, kind, digest(&state));
}

static PyObject *hasher_each(PieceHasher *self, PyObject *const *args, Py_ssize_t count)
{
    if (!check_count(count, 2))
        return NULL;
    long kind = kind_of(args[0]);
    PyObject *pieces = kind < 0 ? NULL : PySequence_Fast(args[1], "pieces are a sequence");
    if (pieces == NULL)
        return NULL;
    Py_ssize_t number = PySequence_Fast_GET_SIZE(pieces);
    PyObject *made = PyList_New(number);
    for (Py_ssize_t place = 0; made != NULL && place < number; place++) {
        Py_buffer piece;
        PyObject *one = NULL;
        if (PyObject_GetBuffer(PySequence_Fast_GET_ITEM(pieces, place), &piece, PyBUF_SIMPLE) == 0) {
            one = shingle_of(self, kind, hash_piece(self, kind, &piece));
            PyBuffer_Release(&piece);
        }
        if (one == NULL)
            Py_CLEAR(made);
        else
            PyList_SET_ITEM(made, place, one);
    }
    Py_DECREF(pieces);
    return made;
}

/* Begin what a pair of a and anything is hashed over: a's length, and a; 0 with an exception. */
static int begin_pair(const PieceHasher *self, Blake *state, long kind, const Py_buffer *a)
{
    if ((uint64_t)a->len > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "int too big to convert");
        return 0;
    }
    const uint32_t length = (uint32_t)a->len;
    const uint8_t head[PAIR_HEAD] = {
        (uint8_t)(length >> 24), (uint8_t)(length >> 16), (uint8_t)(length >> 8), (uint8_t)length,
    };
    begin(self, state, kind);
    update(state, head, sizeof head);
    update(state, a->buf, (size_t)a->len);
    return 1;
}

/* Return the hash of P of a begun pair and b, in the place of U; error is set where b is none. */
static uint64_t pair_hash(const PieceHasher *self, const Blake *begun, PyObject *b, uint64_t unique,
                          int *error)
{
    Py_buffer piece;
    Blake state;
    *error = PyObject_GetBuffer(b, &piece, PyBUF_SIMPLE);
    if (*error)
        return 0;
    state = *begun;
    update(&state, piece.buf, (size_t)piece.len);
    PyBuffer_Release(&piece);
    return (unique & self->mask) | (digest(&state) & ~self->mask);
}

/* Add the pairs of one a with each b to a list; 0 with an exception. */
static int add_pairs(const PieceHasher *self, PyObject *made, long kind, long distinct, PyObject *a,
                     PyObject *each_b)
{
    Py_buffer piece;
    Blake begun;
    if (PyObject_GetBuffer(a, &piece, PyBUF_SIMPLE) < 0)
        return 0;
    uint64_t unique = hash_piece(self, distinct, &piece);
    int right = begin_pair(self, &begun, kind, &piece);
    PyBuffer_Release(&piece);
    PyObject *of_a = right ? shingle_of(self, distinct, unique) : NULL;
    if (of_a == NULL)
        return 0;
    for (Py_ssize_t place = 0; place < PySequence_Fast_GET_SIZE(each_b); place++) {
        int error;
        uint64_t hash =
            pair_hash(self, &begun, PySequence_Fast_GET_ITEM(each_b, place), unique, &error);
        PyObject *pair =
            error ? NULL : two(self->pair, shingle_of(self, kind, hash), Py_NewRef(of_a));
        if (pair == NULL || PyList_Append(made, pair) < 0) {
            Py_XDECREF(pair);
            Py_DECREF(of_a);
            return 0;
        }
        Py_DECREF(pair);
    }
    Py_DECREF(of_a);
    return 1;
}

static PyObject *hasher_pairs(PieceHasher *self, PyObject *const *args, Py_ssize_t count)
{
    if (!check_count(count, 4))
        return NULL;
    long kind = kind_of(args[0]);
    long distinct = kind < 0 ? -1 : kind_of(args[1]);
    if (distinct < 0)
        return NULL;
    PyObject *each_a = PySequence_Fast(args[2], "pieces are a sequence");
    PyObject *each_b = each_a == NULL ? NULL : PySequence_Fast(args[3], "pieces are a sequence");
    PyObject *made = each_b == NULL ? NULL : PyList_New(0);
    for (Py_ssize_t place = 0; made != NULL && place < PySequence_Fast_GET_SIZE(each_a); place++)
        if (!add_pairs(self, made, kind, distinct, PySequence_Fast_GET_ITEM(each_a, place), each_b))
            Py_CLEAR(made);
    Py_XDECREF(each_a);
    Py_XDECREF(each_b);
    return made;
}

static PyObject *hasher_pair_hashes(PieceHasher *self, PyObject *const *args, Py_ssize_t count)
{
    Py_buffer piece;
    Blake begun;
    if (!check_count(count, 4))
        return NULL;
    long kind = kind_of(args[0]);
    long distinct = kind < 0 ? -1 : kind_of(args[1]);
    if (distinct < 0 || PyObject_GetBuffer(args[2], &piece, PyBUF_SIMPLE) < 0)
        return NULL;
    uint64_t unique = hash_piece(self, distinct, &piece);
    int right = begin_pair(self, &begun, kind, &piece);
    PyBuffer_Release(&piece);
    PyObject *each_b = right ? PySequence_Fast(args[3], "pieces are a sequence") : NULL;
    if (each_b == NULL)
        return NULL;
    Py_ssize_t number = PySequence_Fast_GET_SIZE(each_b);
    PyObject *made = PyList_New(number);
    for (Py_ssize_t place = 0; made != NULL && place < number; place++) {
        int error;
        uint64_t hash =
            pair_hash(self, &begun, PySequence_Fast_GET_ITEM(each_b, place), unique, &error);
        PyObject *one = error ? NULL : PyLong_FromUnsignedLongLong(hash);
        if (one == NULL)
            Py_CLEAR(made);
        else
            PyList_SET_ITEM(made, place, one);
    }
    Py_DECREF(each_b);
    PyObject *both = made == NULL ? NULL : Py_BuildValue("(OK)", made, (unsigned long long)unique);
    Py_XDECREF(made);
    return both;
}

static int is_tuple_type(PyObject *type)
{
    return PyType_Check(type) && PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type);
}

static PyObject *hasher_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    Py_buffer key;
    PyObject *shingle, *pair;
    unsigned long long mask;
    if (named != NULL && PyDict_GET_SIZE(named) > 0) {
        PyErr_SetString(PyExc_TypeError, "no argument has a name");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "y*OOK", &key, &shingle, &pair, &mask))
        return NULL;
    PieceHasher *self = NULL;
    if (key.len < 1 || key.len > LONGEST_KEY)
        PyErr_Format(PyExc_ValueError, "a key has 1 to %d octets", LONGEST_KEY);
    else if (!is_tuple_type(shingle) || !is_tuple_type(pair))
        PyErr_SetString(PyExc_TypeError, "types of tuples are needed");
    else
        self = (PieceHasher *)type->tp_alloc(type, 0);
    if (self != NULL) {
        absorb_key(self->keyed, key.buf, (size_t)key.len);
        self->mask = mask;
        self->shingle = (PyTypeObject *)Py_NewRef(shingle);
        self->pair = (PyTypeObject *)Py_NewRef(pair);
    }
    PyBuffer_Release(&key);
    return (PyObject *)self;
}

static void hasher_dealloc(PieceHasher *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->shingle);
    Py_XDECREF(self->pair);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMethodDef hasher_methods[] = {
    {"octets", FAST(hasher_octets), METH_FASTCALL, "octets(kind, piece)"},
    {"shingle", FAST(hasher_shingle), METH_FASTCALL, "shingle(kind, text)"},
    {"each", FAST(hasher_each), METH_FASTCALL, "each(kind, pieces)"},
    {"pairs", FAST(hasher_pairs), METH_FASTCALL, "pairs(kind, distinct, each_a, each_b)"},
    {"pair_hashes", FAST(hasher_pair_hashes), METH_FASTCALL, "pair_hashes(kind, distinct, a, each_b)"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot hasher_slots[] = {
    {Py_tp_doc, "PieceHasher(key, shingle, pair, mask)"},
    {Py_tp_new, (void *)hasher_new},
    {Py_tp_dealloc, (void *)hasher_dealloc},
    {Py_tp_methods, hasher_methods},
    {0, NULL},
};

PyType_Spec hasher_spec = {
    .name = "oborona._core.PieceHasher",
    .basicsize = sizeof(PieceHasher),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = hasher_slots,
};
