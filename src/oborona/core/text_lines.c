/* Lines of a text that quote, rule off or head an old message, or may;
   oborona/message/line_marks.py is their twin. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core.h"

enum {
    INDENT = 3,   /* blanks before a mark that quotes, or a name that heads */
    INITIALS = 3, /* letters before a mark that quotes */
    HEADED = 12,  /* characters before a colon */
};

typedef enum { PLAIN, RULED, QUOTED, HEADING } LineMark;

static inline int is_of_word(Py_UCS4 character)
{
    if (character < 0x80)
        return is_ascii_letter(character) || is_ascii_digit(character) || character == '_';
    return Py_UNICODE_ISALNUM(character);
}

static inline int rules_off(Py_UCS4 character)
{
    return character == '-' || character == '_' || character == '=' || character == '~' ||
           character == '*' || character == '#';
}

/* A word for "from" begins so. */
static inline int may_head(Py_UCS4 character)
{
    const Py_UCS4 small = character | 0x20;
    return character >= 0x80 || small == 'f' || small == 'v' || small == 'd' || small == 'l' ||
           small == 'o';
}

/* Return what a line from `place` on is marked by. */
static inline LineMark mark_of(const void *data, int kind, Py_ssize_t place, Py_ssize_t length)
{
    const Py_ssize_t start = place;
    Py_UCS4 character = 0;
    while (place < length) {
        character = PyUnicode_READ(kind, data, place);
        if (character != ' ' && character != '\t')
            break;
        place++;
    }
    if (place == length || character == '\n')
        return PLAIN;
    if (rules_off(character))
        return RULED;
    const int is_near = place - start <= INDENT;
    for (Py_ssize_t at = place; at < length && at - place <= INITIALS; at++) {
        const Py_UCS4 one = PyUnicode_READ(kind, data, at);
        if (one == '>' || one == '|')
            return is_near ? QUOTED : PLAIN;
        if (!is_of_word(one))
            break;
    }
    if (!is_near || !may_head(character))
        return PLAIN;
    for (Py_ssize_t at = place + 1; at < length && at - place <= HEADED; at++) {
        const Py_UCS4 one = PyUnicode_READ(kind, data, at);
        if (one == ':')
            return HEADING;
        if (one == '\n')
            break;
    }
    return PLAIN;
}

/* Add the marked lines to a list; 0 with an exception. */
static inline int find_marked(PyObject *found, PyObject *text, Py_ssize_t most, int kind)
{
    const Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    const void *data = PyUnicode_DATA(text);
    Py_ssize_t start = 0;
    for (Py_ssize_t number = 0; number < most && start <= length; number++) {
        const LineMark mark = mark_of(data, kind, start, length);
        if (mark != PLAIN) {
            PyObject *line =
                Py_BuildValue("(nnO)", number, start, mark == QUOTED ? Py_True : Py_False);
            const int added = line != NULL && PyList_Append(found, line) == 0;
            Py_XDECREF(line);
            if (!added)
                return 0;
        }
        while (start < length && PyUnicode_READ(kind, data, start) != '\n')
            start++;
        start++;
    }
    return 1;
}

PyObject *core_marked_lines(PyObject *module, PyObject *args)
{
    PyObject *text;
    Py_ssize_t most;
    (void)module;
    if (!PyArg_ParseTuple(args, "Un", &text, &most))
        return NULL;
    PyObject *found = PyList_New(0);
    if (found == NULL)
        return NULL;
    const int kind = (int)PyUnicode_KIND(text);
    const int done =
        kind == PyUnicode_1BYTE_KIND   ? find_marked(found, text, most, PyUnicode_1BYTE_KIND)
        : kind == PyUnicode_2BYTE_KIND ? find_marked(found, text, most, PyUnicode_2BYTE_KIND)
                                       : find_marked(found, text, most, PyUnicode_4BYTE_KIND);
    if (!done)
        Py_CLEAR(found);
    return found;
}
