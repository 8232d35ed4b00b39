/* Words of a text; oborona/message/word_count.py and oborona/message/templates.py have the twins.

   Texts are strangers'.  What is dear to tell here is left to Python: `template_words` gives None for
   a text with white space or controls that no normalised text has, and for one outside ASCII where
   single characters stand in a row. */

#include <Python.h>

#include "core.h"

static inline int says(Py_UCS4 character)
{
    return character < 0x80 ? is_ascii_letter(character) || is_ascii_digit(character)
                            : Py_UNICODE_ISALNUM(character);
}

PyObject *core_count_words(PyObject *module, PyObject *text)
{
    (void)module;
    if (!is_text(text))
        return NULL;
    const Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    const int kind = (int)PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    Py_ssize_t words = 0;
    int counted = 0;
    for (Py_ssize_t place = 0; place < length; place++) {
        const Py_UCS4 character = PyUnicode_READ(kind, data, place);
        if (is_space(character)) {
            counted = 0;
        } else if (!counted && says(character)) {
            counted = 1;
            words++;
        }
    }
    return PyLong_FromSsize_t(words);
}

/* Add a word to a list; 0 with an exception. */
static int add_word(PyObject *list, PyObject *text, Py_ssize_t start, Py_ssize_t end)
{
    PyObject *word = PyUnicode_Substring(text, start, end);
    const int added = word != NULL && PyList_Append(list, word) == 0;
    Py_XDECREF(word);
    return added;
}

PyObject *core_said_words(PyObject *module, PyObject *text)
{
    (void)module;
    if (!is_text(text))
        return NULL;
    PyObject *words = PyList_New(0);
    const Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    const int kind = (int)PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    Py_ssize_t place = 0;
    while (words != NULL && place < length) {
        const Py_ssize_t start = place;
        int said = 0;
        for (; place < length && !is_space(PyUnicode_READ(kind, data, place)); place++)
            said = said || says(PyUnicode_READ(kind, data, place));
        if (said && !add_word(words, text, start, place))
            Py_CLEAR(words);
        place++;
    }
    return words;
}

typedef struct {
    Py_ssize_t words;
    PyObject *dotted;   /* with a dot inside, or with :// and a dot */
    PyObject *schemes; /* with :// and no dot */
} Linked;

static inline int find_linked(Linked *found, PyObject *text, int kind)
{
    const Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    const void *data = PyUnicode_DATA(text);
    Py_ssize_t place = 0;
    for (;;) {
        while (place < length && is_space(PyUnicode_READ(kind, data, place)))
            place++;
        if (place == length)
            return 1;
        const Py_ssize_t start = place;
        Py_ssize_t dot = -1, last_dot = -1, slashes = -1;
        for (; place < length; place++) {
            const Py_UCS4 character = PyUnicode_READ(kind, data, place);
            if (character == '.') {
                last_dot = place;
                if (dot < 0 && place > start)
                    dot = place;
            } else if (character == '/') {
                if (slashes < 0 && place - start >= 2 &&
                    PyUnicode_READ(kind, data, place - 1) == '/' &&
                    PyUnicode_READ(kind, data, place - 2) == ':')
                    slashes = place;
            } else if (is_space(character)) {
                break;
            }
        }
        found->words++;
        if ((dot >= 0 && dot < place - 1) || (slashes >= 0 && last_dot >= 0)) {
            if (!add_word(found->dotted, text, start, place))
                return 0;
        } else if (slashes >= 0 && !add_word(found->schemes, text, start, place)) {
            return 0;
        }
    }
}

PyObject *core_linked_words(PyObject *module, PyObject *text)
{
    (void)module;
    if (!is_text(text))
        return NULL;
    Linked found = {0, PyList_New(0), PyList_New(0)};
    int done = 0;
    if (found.dotted != NULL && found.schemes != NULL) {
        const int kind = (int)PyUnicode_KIND(text);
        done = kind == PyUnicode_1BYTE_KIND   ? find_linked(&found, text, PyUnicode_1BYTE_KIND)
               : kind == PyUnicode_2BYTE_KIND ? find_linked(&found, text, PyUnicode_2BYTE_KIND)
                                              : find_linked(&found, text, PyUnicode_4BYTE_KIND);
    }
    if (done) {
        const Py_ssize_t end = PyList_GET_SIZE(found.dotted);
        done = PyList_SetSlice(found.dotted, end, end, found.schemes) == 0;
    }
    PyObject *both = done ? Py_BuildValue("(nO)", found.words, found.dotted) : NULL;
    Py_XDECREF(found.dotted);
    Py_XDECREF(found.schemes);
    return both;
}
