/* Min-hashes of a text; oborona/message/text_minima.py is their twin, and says what each number is.

   Without xxHash's header the core is built without them.  Input is ours: a list of texts. */

#include <Python.h>

#include "core.h"

#if HAS_XXHASH

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    WORD_VALUES = 32,
    VALUES = 16,
    WINDOW = 2,
    LONG_WORD = 4,
    MIN_LONG_WORDS = 18,
    MAX_WORDS = 3000,
    CHARACTER_WINDOW = 6,
    SHORT_LONG_WORDS = 26,
    MIN_LETTERS = 32,
    MIN_CHARACTER_WINDOWS = 16,
    MAX_LETTERS = 1000,
    NUMBERS = 2 * WORD_VALUES + WINDOW + 1 + CHARACTER_WINDOW,
    SHIFT = 29,
};

typedef struct {
    PyObject_HEAD
    uint64_t multiply[WORD_VALUES];
    uint64_t add[WORD_VALUES];
    uint64_t weights[WINDOW];
    uint64_t seed;
    uint64_t letter_weights[CHARACTER_WINDOW];
} TextMinima;

/* Make windows of hashes in their place; return how many there are. */
static Py_ssize_t join_windows(uint64_t *hashes, Py_ssize_t number, const uint64_t *weights,
                               Py_ssize_t width)
{
    const Py_ssize_t count = number - width + 1;
    for (Py_ssize_t first = 0; first < count; first++) {
        uint64_t window = 0;
        for (Py_ssize_t place = 0; place < width; place++)
            window += hashes[first + place] * weights[place];
        hashes[first] = window ^ window >> SHIFT;
    }
    return count;
}

static PyObject *minima(const TextMinima *self, const uint64_t *windows, Py_ssize_t count,
                        Py_ssize_t values)
{
    PyObject *found = PyTuple_New(values);
    for (Py_ssize_t value = 0; found != NULL && value < values; value++) {
        uint64_t least = UINT64_MAX;
        for (Py_ssize_t place = 0; place < count; place++) {
            const uint64_t permuted = self->multiply[value] * windows[place] + self->add[value];
            least = permuted < least ? permuted : least;
        }
        PyObject *number = PyLong_FromUnsignedLongLong(least);
        if (number == NULL)
            Py_CLEAR(found);
        else
            PyTuple_SET_ITEM(found, value, number);
    }
    return found;
}

/* Hash a word; 0 with an exception. */
static int hash_word(const TextMinima *self, PyObject *word, uint64_t *hash)
{
    if (PyUnicode_IS_ASCII(word)) {
        const size_t number = (size_t)PyUnicode_GET_LENGTH(word);
        *hash = XXH3_64bits_withSeed(PyUnicode_DATA(word), number, self->seed);
        return 1;
    }
    PyObject *octets = PyUnicode_AsEncodedString(word, "utf-8", "surrogatepass");
    if (octets == NULL)
        return 0;
    const size_t number = (size_t)PyBytes_GET_SIZE(octets);
    *hash = XXH3_64bits_withSeed(PyBytes_AS_STRING(octets), number, self->seed);
    Py_DECREF(octets);
    return 1;
}

/* Hash the long words into room for MAX_WORDS; return how many there are, -1 with an exception. */
static Py_ssize_t hash_words(const TextMinima *self, PyObject *words, uint64_t *hashes)
{
    Py_ssize_t number = 0;
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(words) && place < MAX_WORDS; place++) {
        PyObject *word = PyList_GET_ITEM(words, place);
        if (!PyUnicode_Check(word)) {
            PyErr_SetString(PyExc_TypeError, "a word is a text");
            return -1;
        }
        if (PyUnicode_GET_LENGTH(word) < LONG_WORD)
            continue;
        if (!hash_word(self, word, hashes + number))
            return -1;
        number++;
    }
    return number;
}

/* Take the first letters of all words, which are texts, into room for MAX_LETTERS. */
static Py_ssize_t take_letters(PyObject *words, uint64_t *letters)
{
    Py_ssize_t number = 0;
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(words) && place < MAX_LETTERS; place++) {
        PyObject *word = PyList_GET_ITEM(words, place);
        const Py_ssize_t length = PyUnicode_GET_LENGTH(word);
        for (Py_ssize_t letter = 0; letter < length && number < MAX_LETTERS; letter++)
            letters[number++] = PyUnicode_READ_CHAR(word, letter);
    }
    return number;
}

static int have_enough_distinct(const uint64_t *windows, Py_ssize_t count)
{
    uint64_t seen[MIN_CHARACTER_WINDOWS];
    int number = 0;
    for (Py_ssize_t place = 0; place < count && number < MIN_CHARACTER_WINDOWS; place++) {
        int known = 0;
        for (int one = 0; one < number && !known; one++)
            known = seen[one] == windows[place];
        if (!known)
            seen[number++] = windows[place];
    }
    return number == MIN_CHARACTER_WINDOWS;
}

static PyObject *of_characters(const TextMinima *self, PyObject *words, uint64_t *room)
{
    Py_ssize_t count = take_letters(words, room);
    if (count < MIN_LETTERS)
        return PyTuple_New(0);
    count = join_windows(room, count, self->letter_weights, CHARACTER_WINDOW);
    if (!have_enough_distinct(room, count))
        return PyTuple_New(0);
    for (Py_ssize_t place = 0; place < count; place++) {
        room[place] *= self->multiply[0];
        room[place] ^= room[place] >> SHIFT;
    }
    return minima(self, room, count, VALUES);
}

static PyObject *minima_of(TextMinima *self, PyObject *words)
{
    uint64_t room[MAX_WORDS]; /* 24 kB */
    if (!PyList_Check(words)) {
        PyErr_SetString(PyExc_TypeError, "words are a list");
        return NULL;
    }
    const Py_ssize_t number = hash_words(self, words, room);
    if (number < 0)
        return NULL;
    PyObject *of_words, *characters = NULL;
    if (number < MIN_LONG_WORDS)
        of_words = PyTuple_New(0);
    else
        of_words =
            minima(self, room, join_windows(room, number, self->weights, WINDOW), WORD_VALUES);
    if (of_words != NULL)
        characters = number < SHORT_LONG_WORDS ? of_characters(self, words, room) : PyTuple_New(0);
    PyObject *both = characters == NULL ? NULL : PyTuple_Pack(2, of_words, characters);
    Py_XDECREF(of_words);
    Py_XDECREF(characters);
    return both;
}

static PyObject *minima_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    Py_buffer numbers;
    if (named != NULL && PyDict_GET_SIZE(named) > 0) {
        PyErr_SetString(PyExc_TypeError, "no argument has a name");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "y*", &numbers))
        return NULL;
    TextMinima *self = NULL;
    if (numbers.len != NUMBERS * 8)
        PyErr_Format(PyExc_ValueError, "%zd octets of numbers", numbers.len);
    else
        self = (TextMinima *)type->tp_alloc(type, 0);
    if (self != NULL) {
        uint64_t taken[NUMBERS];
        for (int place = 0; place < NUMBERS; place++)
            taken[place] = number_at((const uint8_t *)numbers.buf + 8 * place);
        for (int value = 0; value < WORD_VALUES; value++) {
            self->multiply[value] = taken[value] | 1;
            self->add[value] = taken[WORD_VALUES + value];
        }
        for (int place = 0; place < WINDOW; place++)
            self->weights[place] = taken[2 * WORD_VALUES + place] | 1;
        self->seed = taken[2 * WORD_VALUES + WINDOW];
        for (int place = 0; place < CHARACTER_WINDOW; place++)
            self->letter_weights[place] = taken[2 * WORD_VALUES + WINDOW + 1 + place] | 1;
    }
    PyBuffer_Release(&numbers);
    return (PyObject *)self;
}

static void minima_dealloc(TextMinima *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMethodDef minima_methods[] = {
    {"of", FAST(minima_of), METH_O, "of(words)"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot minima_slots[] = {
    {Py_tp_doc, "TextMinima(numbers)"},
    {Py_tp_new, (void *)minima_new},
    {Py_tp_dealloc, (void *)minima_dealloc},
    {Py_tp_methods, minima_methods},
    {0, NULL},
};

PyType_Spec minima_spec = {
    .name = "oborona._core.TextMinima",
    .basicsize = sizeof(TextMinima),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = minima_slots,
};

#endif
