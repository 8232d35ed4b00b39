/* Which of a telephone number, a wallet, a handle and a link in disguise a text may hold; the
   expressions of oborona/message/entities.py are the twin, and Hint there has the numbers.

   One pass (Aho and Corasick, 1975) for what takes the expressions three.  Texts are strangers', words
   are ours. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core.h"

enum {
    SPELLED = 1,   /* means something beside another of its kind, or a digit */
    NAME = 2,      /* as a word of its own */
    MARK = 4,      /* anywhere */
    BRACKETED = 8, /* in brackets */
    KINDS = 4,
    HELD_DISGUISE = 1,
    HELD_NAME = 2,
    HELD_SPELLED = 4,
    HELD_SPELLED_NUMBER = 8,
    HELD_DIALLED = 16,
    HELD_TOKEN = 32,
    MAX_NODES = 4096,
    MAX_WORD = 48, /* octets: less than BACK by what stands between */
    BACK = 64,     /* octets in which the end of what is spelled is remembered */
    NUMBER = 7,    /* digits and words for them */
    APART = 3,     /* signs between what is spelled, and between digits */
    DIALLED = 6,   /* digits behind the first */
    TOKEN = 26,
    LONG_TOKEN = 48,
};

typedef struct {
    PyObject_HEAD
    uint16_t (*next)[256];
    uint16_t *suffix; /* the longest shorter word that ends where a node does */
    uint8_t *kinds;
    uint8_t *length;
    int nodes;
} Hints;

static inline int is_small_or_digit(uint8_t octet)
{
    return (octet >= 'a' && octet <= 'z') || is_ascii_digit(octet);
}

static inline int parts_spelled(uint8_t octet)
{
    return octet == ' ' || octet == ',' || octet == '.' || octet == '-';
}

static inline int parts_digits(uint8_t octet)
{
    return octet == ' ' || octet == '(' || octet == ')' || octet == '.' || octet == '-' ||
           octet == '*' || octet == '_' || octet == '~';
}

/* Whether a number is dialled from `at` on, with so many signs before it at most. */
static int is_dialled(const uint8_t *at, const uint8_t *end, int apart)
{
    while (apart-- > 0 && at < end && parts_digits(*at))
        at++;
    if (at < end && *at == '(')
        at++;
    if (at == end || !is_ascii_digit(*at))
        return 0;
    at++;
    for (int digit = 0; digit < DIALLED; digit++) {
        for (int sign = 0; sign < APART && at < end && parts_digits(*at); sign++)
            at++;
        if (at == end || !(is_ascii_digit(*at) || *at == 'o' || *at == 'l' || *at == 'i'))
            return 0;
        at++;
    }
    return 1;
}

static inline int is_one_of(uint8_t octet, const char four[4])
{
    return octet == four[0] || octet == four[1] || octet == four[2] || octet == four[3];
}

static int is_in_brackets(const uint8_t *octets, Py_ssize_t start, Py_ssize_t end, Py_ssize_t length)
{
    if (start > 0 && octets[start - 1] == ' ')
        start--;
    if (end < length && octets[end] == ' ')
        end++;
    return start > 0 && end < length && is_one_of(octets[start - 1], "[({<") &&
           is_one_of(octets[end], "])}>");
}

/* Digits and words for them in a row: how many end at each place of the last BACK. */
typedef struct {
    uint8_t any[BACK];
    uint8_t with_word[BACK]; /* of these in a row that has a word; 0 = none has */
} Spelled;

/* Add what is spelled from `start` to `end`; return what it shows. */
static int add_spelled(Spelled *spelled, const uint8_t *octets, Py_ssize_t start, Py_ssize_t end,
                       int is_word)
{
    unsigned any = 0, with_word = 0;
    for (Py_ssize_t from = start; from >= 0 && start - from <= APART; from--) {
        const unsigned before = spelled->any[from % BACK];
        any = before > any ? before : any;
        if (spelled->with_word[from % BACK] > with_word)
            with_word = spelled->with_word[from % BACK];
        if (from == 0 || !parts_spelled(octets[from - 1]))
            break;
    }
    const int held = is_word ? any > 0 : with_word > 0;
    with_word = is_word ? any + 1 : with_word ? with_word + 1 : 0;
    any++;
    const Py_ssize_t at = end % BACK;
    if (spelled->any[at] < any)
        spelled->any[at] = (uint8_t)(any < NUMBER ? any : NUMBER);
    if (spelled->with_word[at] < with_word)
        spelled->with_word[at] = (uint8_t)(with_word < NUMBER ? with_word : NUMBER);
    return (held ? HELD_SPELLED : 0) | (with_word >= NUMBER ? HELD_SPELLED_NUMBER : 0);
}

static int held_by(const Hints *self, const uint8_t *octets, Py_ssize_t length)
{
    const uint8_t *end = octets + length;
    unsigned node = 0;
    int held = 0;
    Spelled spelled = {0};
    Py_ssize_t token = 0, long_token = 0;
    Py_ssize_t marked = -1; /* where a long token that begins as some wallets do begins */
    for (Py_ssize_t place = 0; place < length; place++) {
        const uint8_t octet = octets[place];
        const Py_ssize_t behind = place + 1;
        spelled.any[behind % BACK] = spelled.with_word[behind % BACK] = 0;
        node = self->next[node][octet];
        unsigned word = self->kinds[node] ? node : self->suffix[node];
        for (; word; word = self->suffix[word]) {
            const Py_ssize_t start = behind - self->length[word];
            const int kinds = self->kinds[word];
            if (kinds & MARK ||
                (kinds & BRACKETED && is_in_brackets(octets, start, behind, length)))
                held |= HELD_DISGUISE;
            if (kinds & NAME && (start == 0 || !is_small_or_digit(octets[start - 1])) &&
                (behind == length || !is_small_or_digit(octets[behind])))
                held |= HELD_NAME;
            if (kinds & SPELLED)
                held |= add_spelled(&spelled, octets, start, behind, 1);
        }
        if (is_ascii_digit(octet)) {
            held |= add_spelled(&spelled, octets, place, behind, 0);
            if (octet == '0' && behind < length && octets[behind] == '0' &&
                (place == 0 || !(is_ascii_letter(octets[place - 1]) ||
                                 is_ascii_digit(octets[place - 1]) || octets[place - 1] == '_')) &&
                is_dialled(octets + behind + 1, end, 0))
                held |= HELD_DIALLED;
        } else if (octet == '+' && is_dialled(octets + behind, end, APART)) {
            held |= HELD_DIALLED;
        }
        token = is_small_or_digit(octet) ? token + 1 : 0;
        if (token == TOKEN)
            held |= HELD_TOKEN;
        if (token == 0 && octet != '_' && octet != '-') {
            long_token = 0;
            marked = -1;
            continue;
        }
        long_token++;
        if (marked < 0 && long_token > 1 && (octet == 'q' || octet == 'f') &&
            (octets[place - 1] == 'e' || octets[place - 1] == 'u'))
            marked = place - 1;
        if (marked >= 0 && behind - marked >= LONG_TOKEN)
            held |= HELD_TOKEN;
    }
    return held;
}

static PyObject *hints_held(Hints *self, PyObject *text)
{
    if (!is_text(text))
        return NULL;
    if (PyUnicode_IS_ASCII(text))
        return PyLong_FromLong(held_by(self, PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text)));
    PyObject *octets = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    if (octets == NULL)
        return NULL;
    const int held =
        held_by(self, (const uint8_t *)PyBytes_AS_STRING(octets), PyBytes_GET_SIZE(octets));
    Py_DECREF(octets);
    return PyLong_FromLong(held);
}

/* Add a word; 0 with an exception. */
static int add_word(Hints *self, PyObject *word, int kind)
{
    char *octets;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(word, &octets, &length) < 0)
        return 0;
    if (length < 1 || length > MAX_WORD || self->nodes + length > MAX_NODES) {
        PyErr_SetString(PyExc_ValueError, "a word is empty or too long, or there are too many");
        return 0;
    }
    unsigned node = 0;
    for (Py_ssize_t place = 0; place < length; place++) {
        uint16_t *child = &self->next[node][(uint8_t)octets[place]];
        if (*child == 0)
            *child = (uint16_t)self->nodes++;
        node = *child;
    }
    self->kinds[node] |= (uint8_t)kind;
    self->length[node] = (uint8_t)length;
    return 1;
}

/* Add the words of a sequence; 0 with an exception. */
static int add_words(Hints *self, PyObject *words, int kind)
{
    PyObject *all = PySequence_Fast(words, "words are a sequence");
    int added = all != NULL;
    for (Py_ssize_t place = 0; added && place < PySequence_Fast_GET_SIZE(all); place++)
        added = add_word(self, PySequence_Fast_GET_ITEM(all, place), kind);
    Py_XDECREF(all);
    return added;
}

/* Say where each node goes on with an octet that none of its words has; 0 with an exception. */
static int link_nodes(Hints *self)
{
    uint16_t *queue = PyMem_Calloc((size_t)self->nodes * 2, sizeof(uint16_t));
    if (queue == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    uint16_t *shorter = queue + self->nodes; /* the longest node that is an end of each */
    int first = 0, last = 0;
    queue[last++] = 0;
    while (first < last) {
        const unsigned node = queue[first++];
        const unsigned back = shorter[node];
        self->suffix[node] = self->kinds[back] ? (uint16_t)back : self->suffix[back];
        for (int octet = 0; octet < 256; octet++) {
            uint16_t *child = &self->next[node][octet];
            const uint16_t other = node ? self->next[back][octet] : 0;
            if (*child && last < self->nodes) {
                shorter[*child] = other;
                queue[last++] = *child;
            } else {
                *child = other;
            }
        }
    }
    PyMem_Free(queue);
    return 1;
}

static void hints_dealloc(Hints *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyMem_Free(self->next);
    PyMem_Free(self->suffix);
    PyMem_Free(self->kinds);
    PyMem_Free(self->length);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *hints_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *words[KINDS];
    if (named != NULL && PyDict_GET_SIZE(named) > 0) {
        PyErr_SetString(PyExc_TypeError, "no argument has a name");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OOOO", &words[0], &words[1], &words[2], &words[3]))
        return NULL;
    Hints *self = (Hints *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->nodes = 1;
    self->next = PyMem_Calloc(MAX_NODES, sizeof(*self->next));
    self->suffix = PyMem_Calloc(MAX_NODES, sizeof(*self->suffix));
    self->kinds = PyMem_Calloc(MAX_NODES, 1);
    self->length = PyMem_Calloc(MAX_NODES, 1);
    int done = self->next && self->suffix && self->kinds && self->length;
    if (!done)
        PyErr_NoMemory();
    for (int kind = 0; done && kind < KINDS; kind++)
        done = add_words(self, words[kind], 1 << kind);
    if (!done || !link_nodes(self))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyMethodDef hints_methods[] = {
    {"held", FAST(hints_held), METH_O, "held(text)"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot hints_slots[] = {
    {Py_tp_doc, "Hints(spelled, names, marks, bracketed): what few texts hold."},
    {Py_tp_new, (void *)hints_new},
    {Py_tp_dealloc, (void *)hints_dealloc},
    {Py_tp_methods, hints_methods},
    {0, NULL},
};

PyType_Spec hints_spec = {
    .name = "oborona._core.Hints",
    .basicsize = sizeof(Hints),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = hints_slots,
};
