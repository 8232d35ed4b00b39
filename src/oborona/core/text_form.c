/* A text in one form: what is ASCII in lower case, white space folded; oborona/message/normalise.py
   and oborona/message/white_space.py have the twins.

   Texts are strangers'.  Each character is looked at once, and none becomes more than one. */

#include <Python.h>

#include "core.h"

/* Return room for as many characters of a kind, NULL with an exception. */
static void *room_for(Py_ssize_t length, int kind)
{
    void *room = PyMem_Malloc((size_t)length * (size_t)kind + 1);
    if (room == NULL)
        PyErr_NoMemory();
    return room;
}

/* Return what a character of ASCII becomes: itself in lower case, a space, or -1 for nothing. */
static inline int form_of(Py_UCS4 character)
{
    if (character >= 'A' && character <= 'Z')
        return (int)character | 0x20;
    if (character > ' ')
        return character == 0x7f ? -1 : (int)character;
    return is_ascii_space(character) ? ' ' : -1;
}

static inline Py_ssize_t write_form(const void *from, void *to, Py_ssize_t length, int kind)
{
    Py_ssize_t end = 0;
    int apart = 0; /* white space stands before what comes next */
    for (Py_ssize_t place = 0; place < length; place++) {
        Py_UCS4 character = PyUnicode_READ(kind, from, place);
        if (character < 0x80) {
            const int form = form_of(character);
            if (form == ' ')
                apart = end > 0;
            if (form <= ' ')
                continue;
            character = (Py_UCS4)form;
        }
        if (apart)
            PyUnicode_WRITE(kind, to, end++, ' ');
        apart = 0;
        PyUnicode_WRITE(kind, to, end++, character);
    }
    return end;
}

static inline Py_ssize_t write_lines(const void *from, void *to, Py_ssize_t length, int kind)
{
    Py_ssize_t end = 0;
    Py_UCS4 apart = 0; /* what stands before what comes next, if anything does */
    for (Py_ssize_t place = 0; place < length; place++) {
        const Py_UCS4 character = PyUnicode_READ(kind, from, place);
        if (is_space(character)) {
            if (end > 0 && apart != '\n')
                apart = character == '\n' ? '\n' : ' ';
            continue;
        }
        if (apart)
            PyUnicode_WRITE(kind, to, end++, apart);
        apart = 0;
        PyUnicode_WRITE(kind, to, end++, character);
    }
    return end;
}

typedef Py_ssize_t (*Writer)(const void *, void *, Py_ssize_t, int);

/* Make a writer's loop once for each kind of texts. */
#define FOR_KINDS(writer)                                                                          \
    static Py_ssize_t writer##_of_kind(const void *from, void *to, Py_ssize_t length, int kind)    \
    {                                                                                              \
        if (kind == PyUnicode_1BYTE_KIND)                                                          \
            return writer(from, to, length, PyUnicode_1BYTE_KIND);                                 \
        if (kind == PyUnicode_2BYTE_KIND)                                                          \
            return writer(from, to, length, PyUnicode_2BYTE_KIND);                                 \
        return writer(from, to, length, PyUnicode_4BYTE_KIND);                                     \
    }

FOR_KINDS(write_form)
FOR_KINDS(write_lines)

static PyObject *written(PyObject *text, Writer writer)
{
    if (!is_text(text))
        return NULL;
    const Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    const int kind = (int)PyUnicode_KIND(text);
    if (PyUnicode_IS_ASCII(text)) {
        PyObject *made = PyUnicode_New(length, 0x7f);
        if (made == NULL || length == 0)
            return made;
        const Py_ssize_t end = writer(PyUnicode_DATA(text), PyUnicode_DATA(made), length, kind);
        if (end < length && PyUnicode_Resize(&made, end) < 0)
            Py_CLEAR(made);
        return made;
    }
    void *room = room_for(length, kind);
    if (room == NULL)
        return NULL;
    const Py_ssize_t end = writer(PyUnicode_DATA(text), room, length, kind);
    PyObject *made = PyUnicode_FromKindAndData(kind, room, end);
    PyMem_Free(room);
    return made;
}

PyObject *core_fold_ascii(PyObject *module, PyObject *text)
{
    (void)module;
    return written(text, write_form_of_kind);
}

PyObject *core_fold_lines(PyObject *module, PyObject *text)
{
    (void)module;
    return written(text, write_lines_of_kind);
}
