/* The source of a page with white space where elements break lines and words;
   oborona/message/html_breaks.py is its twin.

   Sources are strangers'.  Each character is looked at a bounded number of times, and at most one is
   put before each `<`.  A tag with a letter that only Unicode folds to one of ASCII is left to
   Python, which gets None. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core.h"

enum {
    LONGEST = 10, /* letters of a name */
    MOST = 5,     /* names with one first letter */
};

/* By their first letters. */
static const char *const BLOCKS['z' - 'a' + 1][MOST] = {
    ['a' - 'a'] = {"article", "address", "aside"},
    ['b' - 'a'] = {"br", "blockquote"},
    ['c' - 'a'] = {"center", "caption"},
    ['d' - 'a'] = {"div", "dl", "dt", "dd"},
    ['f' - 'a'] = {"form", "footer", "fieldset", "figure", "figcaption"},
    ['h' - 'a'] = {"hr", "header"}, /* and h1 to h6 */
    ['l' - 'a'] = {"li"},
    ['m' - 'a'] = {"main"},
    ['n' - 'a'] = {"nav"},
    ['o' - 'a'] = {"ol", "option"},
    ['p' - 'a'] = {"p", "pre"},
    ['s' - 'a'] = {"section"},
    ['t' - 'a'] = {"tr", "table", "title"},
    ['u' - 'a'] = {"ul"},
};

typedef enum { NO_BREAK, LINE_BREAK, WORD_BREAK, HARD } Break;

static inline int is_block(const char *name, int length)
{
    if (length == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6')
        return 1;
    const char *const *names = BLOCKS[name[0] - 'a'];
    for (int place = 0; place < MOST && names[place] != NULL; place++)
        if (strcmp(names[place], name) == 0)
            return 1;
    return 0;
}

/* Return what breaks before the `<` at `place`. */
static Break break_before(const Py_UCS4 *source, Py_ssize_t place, Py_ssize_t length, int nested)
{
    Py_ssize_t at = place + 1;
    const int closes = at < length && source[at] == '/';
    char name[LONGEST + 1];
    int letters = 0;
    for (at += closes; at < length && letters < LONGEST; at++) {
        if (!is_ascii_letter(source[at]) && !(letters && is_ascii_digit(source[at])))
            break;
        name[letters++] = (char)(source[at] | 0x20);
    }
    name[letters] = 0;
    if (letters == 0 || at == length)
        return NO_BREAK;
    const Py_UCS4 behind = source[at];
    if (behind == 0x130 || behind == 0x131 || behind == 0x17f || behind == 0x212a)
        return HARD;
    if ((behind == '/' || behind == '>' || is_space(behind)) && is_block(name, letters))
        return LINE_BREAK;
    if (closes || letters != 2 || name[0] != 't' || (name[1] != 'd' && name[1] != 'h'))
        return NO_BREAK;
    if (behind == '>' || is_space(behind))
        return WORD_BREAK;
    if (behind != '<' || nested)
        return NO_BREAK;
    /* white space that is put before a next tag is behind this one */
    const Break next = break_before(source, at, length, 1);
    return next == LINE_BREAK ? WORD_BREAK : next == HARD ? HARD : NO_BREAK;
}

/* Write a source without line ends, NUL and half characters; return how long it is. */
static Py_ssize_t write_plain(PyObject *text, Py_UCS4 *to)
{
    const Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    const int kind = (int)PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    Py_ssize_t end = 0;
    for (Py_ssize_t place = 0; place < length; place++) {
        const Py_UCS4 character = PyUnicode_READ(kind, data, place);
        if (character == 0)
            continue;
        if (character == '\n' || character == '\r' || character == '\t' || character == '\f')
            to[end++] = ' ';
        else
            to[end++] = character >= 0xd800 && character < 0xe000 ? '?' : character;
    }
    return end;
}

PyObject *core_broken_source(PyObject *module, PyObject *text)
{
    (void)module;
    if (!is_text(text))
        return NULL;
    const size_t most = (size_t)PyUnicode_GET_LENGTH(text);
    Py_UCS4 *plain = PyMem_Malloc(most * 3 * sizeof(Py_UCS4) + sizeof(Py_UCS4));
    if (plain == NULL)
        return PyErr_NoMemory();
    Py_UCS4 *broken = plain + most;
    const Py_ssize_t length = write_plain(text, plain);
    Py_ssize_t end = 0;
    Break found = NO_BREAK;
    for (Py_ssize_t place = 0; place < length && found != HARD; place++) {
        if (plain[place] == '<') {
            found = break_before(plain, place, length, 0);
            if (found == LINE_BREAK)
                broken[end++] = '\n';
            else if (found == WORD_BREAK)
                broken[end++] = ' ';
        }
        broken[end++] = plain[place];
    }
    PyObject *made = found == HARD ? Py_NewRef(Py_None)
                                   : PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, broken, end);
    PyMem_Free(plain);
    return made;
}
