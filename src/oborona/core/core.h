/* What the parts of the native core share. */

#ifndef OBORONA_CORE_H
#define OBORONA_CORE_H

#include <Python.h>
#include <stdint.h>

#if __has_include(<xxhash.h>)
#define HAS_XXHASH 1
#else
#define HAS_XXHASH 0
#endif

enum { WINDOWS = 4, METRICS = 6 }; /* of a row of counts */

extern PyType_Spec hasher_spec;
extern PyType_Spec minima_spec; /* where HAS_XXHASH */
extern PyType_Spec hints_spec;

PyObject *core_common_bits(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *core_counter_keys(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *core_reached_counts(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *core_window_totals(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *core_plain_fields(PyObject *module, PyObject *args);
PyObject *core_fold_ascii(PyObject *module, PyObject *text);
PyObject *core_fold_lines(PyObject *module, PyObject *text);
PyObject *core_count_words(PyObject *module, PyObject *text);
PyObject *core_linked_words(PyObject *module, PyObject *text);
PyObject *core_marked_lines(PyObject *module, PyObject *args);
PyObject *core_broken_source(PyObject *module, PyObject *text);
PyObject *core_said_words(PyObject *module, PyObject *text);
PyObject *core_template_words(PyObject *module, PyObject *const *args, Py_ssize_t count);

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

/* Tell whether a call has as many arguments as it takes; with an exception where not. */
static inline int check_count(Py_ssize_t given, Py_ssize_t wanted)
{
    if (given == wanted)
        return 1;
    PyErr_Format(PyExc_TypeError, "%zd arguments are needed, %zd were given", wanted, given);
    return 0;
}

/* Tell whether an argument is a text; with an exception where not. */
static inline int is_text(PyObject *argument)
{
    if (PyUnicode_Check(argument))
        return 1;
    PyErr_Format(PyExc_TypeError, "a text is needed, not %.100s", Py_TYPE(argument)->tp_name);
    return 0;
}

static inline int is_ascii_letter(Py_UCS4 character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

static inline int is_ascii_digit(Py_UCS4 character)
{
    return character >= '0' && character <= '9';
}

/* What Python takes for white space in a text, of ASCII. */
static inline int is_ascii_space(Py_UCS4 character)
{
    return character == ' ' || (character >= 9 && character <= 13) ||
           (character >= 0x1c && character <= 0x1f);
}

/* The same, of all characters. */
static inline int is_space(Py_UCS4 character)
{
    if (character < 0x80)
        return character <= ' ' && is_ascii_space(character);
    return Py_UNICODE_ISSPACE(character);
}

/* Return a number of 8 octets, the lowest first. */
static inline uint64_t number_at(const uint8_t *octets)
{
    uint64_t number = 0;
    for (int place = 7; place >= 0; place--)
        number = number << 8 | octets[place];
    return number;
}

#endif
