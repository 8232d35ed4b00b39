/* Header fields that have nothing odd in them; oborona/message/headers.py reads all others, and is
   the oracle of these.

   Octets are strangers'.  A field is plain where its name and value are printable ASCII, tabs and
   folds, without encoded words, and within the limits; what it comes out as is what Python makes of
   it.  At the first that is not plain this ends and leaves it, untouched, to Python: nothing here
   decides what is wrong.  Each octet is looked at once.

   Source: RFC 5322, section 2.2. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core.h"

enum { MAX_NAME = 200 };

typedef struct {
    const uint8_t *name;
    Py_ssize_t name_length;
    const uint8_t *raw; /* the value with its folds */
    Py_ssize_t raw_length;
    int is_folded;
    const uint8_t *next; /* the field behind it */
} Field;

static int is_blank(uint8_t octet)
{
    return octet == ' ' || octet == '\t';
}

static const uint8_t *skip_blanks(const uint8_t *at, const uint8_t *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

/* Read a field that begins at `at`; 0 where it is not plain, or none. */
static int read_field(Field *field, const uint8_t *at, const uint8_t *end, Py_ssize_t longest)
{
    field->name = at;
    while (at < end && at - field->name <= MAX_NAME && *at > ' ' && *at < 0x7f && *at != ':')
        at++;
    field->name_length = at - field->name;
    if (field->name_length == 0 || field->name_length > MAX_NAME)
        return 0;
    at = skip_blanks(at, end);
    if (at == end || *at != ':')
        return 0;
    at = skip_blanks(at + 1, end);
    field->raw = at;
    field->is_folded = 0;
    for (; at < end; at++) {
        if (*at == '\n') {
            if (at + 1 == end || !is_blank(at[1]))
                break;
            field->is_folded = 1;
        } else if (*at != '\t' && (*at < ' ' || *at >= 0x7f)) {
            return 0;
        } else if (*at == '?' && at > field->raw && at[-1] == '=') {
            return 0; /* an encoded word, or nearly one */
        }
        if (at - field->raw >= longest)
            return 0;
    }
    field->raw_length = at - field->raw;
    field->next = at < end ? at + 1 : at;
    return 1;
}

/* Return the text of octets that are ASCII, without blanks at its ends; NULL with an exception. */
static PyObject *stripped(const uint8_t *octets, Py_ssize_t length)
{
    const uint8_t *end = octets + length;
    octets = skip_blanks(octets, end);
    while (end > octets && is_blank(end[-1]))
        end--;
    PyObject *text = PyUnicode_New(end - octets, 0x7f);
    if (text != NULL && end > octets)
        memcpy(PyUnicode_DATA(text), octets, (size_t)(end - octets));
    return text;
}

/* Return the value of a field in one line: each fold with the blanks behind it is one space. */
static PyObject *unfolded(const Field *field)
{
    if (!field->is_folded)
        return stripped(field->raw, field->raw_length);
    uint8_t *line = PyMem_Malloc((size_t)field->raw_length);
    if (line == NULL)
        return PyErr_NoMemory();
    const uint8_t *at = field->raw, *end = field->raw + field->raw_length;
    Py_ssize_t length = 0;
    while (at < end) {
        if (*at == '\n') {
            line[length++] = ' ';
            at = skip_blanks(at + 1, end);
        } else {
            line[length++] = *at++;
        }
    }
    PyObject *text = stripped(line, length);
    PyMem_Free(line);
    return text;
}

/* Return a name in lower case, the one object that names of code are, too; NULL with an exception. */
static PyObject *lowered(const Field *field)
{
    PyObject *name = PyUnicode_New(field->name_length, 0x7f);
    if (name == NULL)
        return NULL;
    uint8_t *octets = PyUnicode_DATA(name);
    for (Py_ssize_t place = 0; place < field->name_length; place++) {
        const uint8_t octet = field->name[place];
        octets[place] = octet >= 'A' && octet <= 'Z' ? octet | 0x20 : octet;
    }
    PyUnicode_InternInPlace(&name);
    return name;
}

/* Add a field to a list, as an object of a type; 0 with an exception. */
static int add_field(PyObject *made, PyObject *type, const Field *field)
{
    PyObject *parts[3] = {lowered(field), NULL, NULL};
    if (parts[0] != NULL)
        parts[1] = PyBytes_FromStringAndSize((const char *)field->raw, field->raw_length);
    if (parts[1] != NULL)
        parts[2] = unfolded(field);
    PyObject *one = parts[2] == NULL ? NULL : PyObject_Vectorcall(type, parts, 3, NULL);
    const int added = one != NULL && PyList_Append(made, one) == 0;
    Py_XDECREF(one);
    for (int part = 0; part < 3; part++)
        Py_XDECREF(parts[part]);
    return added;
}

PyObject *core_plain_fields(PyObject *module, PyObject *args)
{
    Py_buffer data;
    Py_ssize_t start, end, most, longest;
    PyObject *type;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*nnnnO", &data, &start, &end, &most, &longest, &type))
        return NULL;
    PyObject *made = NULL;
    if (start < 0 || start > end || end > data.len)
        PyErr_SetString(PyExc_ValueError, "fields begin and end within the octets");
    else
        made = PyList_New(0);
    const uint8_t *octets = data.buf;
    const uint8_t *at = made == NULL ? octets : octets + start;
    Field field;
    while (made != NULL && most-- > 0 && read_field(&field, at, octets + end, longest)) {
        if (!add_field(made, type, &field))
            Py_CLEAR(made);
        at = field.next;
    }
    const Py_ssize_t position = at - octets;
    PyBuffer_Release(&data);
    PyObject *both = made == NULL ? NULL : Py_BuildValue("(On)", made, position);
    Py_XDECREF(made);
    return both;
}
