/* Words of a template: oborona/message/templates.py is their twin, and says what they are.

   Octets are UTF-8 of a text of strangers, mostly ASCII.  What is dear to tell here is left to
   Python, which gets None: capitals, white space and controls that no normalised text has, and
   outside ASCII single characters in a row. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core.h"

enum {
    JOINED = 3,     /* single letters in a row that are one word */
    TOO_LONG = 20,  /* letters behind an @ that stands for one */
};

typedef struct {
    int is_ascii;
    int is_hard;
    Py_ssize_t singles; /* single characters in a row, until here */
    uint8_t *letters;   /* they, of ASCII: whether they are one word shows at their end */
    PyObject *reader;   /* words that are left out */
    PyObject *words;
} Template;

static inline int is_small(uint8_t octet)
{
    return octet >= 'a' && octet <= 'z';
}

/* A letter of a normalised text, or a part of one. */
static inline int is_lettered(uint8_t octet)
{
    return is_small(octet) || octet >= 0x80;
}

/* Return the letter that a digit or sign stands for, 0 where it stands for none. */
static inline uint8_t letter_for(uint8_t octet)
{
    switch (octet) {
    case '0': return 'o';
    case '1': return 'l';
    case '3': return 'e';
    case '4':
    case '@': return 'a';
    case '5':
    case '$': return 's';
    case '7': return 't';
    case '9': return 'g';
    case '!': return 'i';
    default: return 0;
    }
}

/* Whether white space that UTF-8 writes in more than one octet begins here. */
static inline int is_wide_space(const uint8_t *at, const uint8_t *end)
{
    if (*at == 0xc2)
        return end - at > 1 && (at[1] == 0x85 || at[1] == 0xa0);
    if ((*at < 0xe1 || *at > 0xe3) || end - at < 3)
        return 0;
    const unsigned rest = (unsigned)at[1] << 8 | at[2];
    if (*at == 0xe1)
        return rest == 0x9a80;
    if (*at == 0xe3)
        return rest == 0x8080;
    return (rest >= 0x8080 && rest <= 0x808a) || rest == 0x80a8 || rest == 0x80a9 ||
           rest == 0x80af || rest == 0x819f;
}

/* Whether a word is letters with signs for letters between them, and marks around. */
static int has_signs(const uint8_t *at, const uint8_t *end)
{
    while (at < end && !is_lettered(*at) && !is_ascii_digit(*at))
        at++;
    if (at == end || !is_lettered(*at))
        return 0;
    int groups = 0;
    for (;;) {
        while (at < end && is_lettered(*at))
            at++;
        int signs = 0;
        while (signs < 2 && at + signs < end && letter_for(at[signs]))
            signs++;
        if (signs == 0 || at + signs == end || !is_lettered(at[signs]))
            break;
        groups++;
        at += signs;
    }
    while (at < end && !is_lettered(*at) && !is_ascii_digit(*at))
        at++;
    return groups > 0 && at == end;
}

static int any_has_signs(const uint8_t *octets, Py_ssize_t length)
{
    const uint8_t *end = octets + length, *word = octets;
    int may = 0; /* a sign stands behind a letter */
    for (const uint8_t *at = octets; at < end; at++) {
        if (*at == ' ') {
            if (may && has_signs(word, at))
                return 1;
            word = at + 1;
            may = 0;
        } else if (!is_lettered(*at) && at > word && letter_for(*at) && is_lettered(at[-1])) {
            may = 1;
        }
    }
    return may && has_signs(word, end);
}

static inline int is_word_octet(uint8_t octet)
{
    return is_ascii_letter(octet) || is_ascii_digit(octet) || octet == '_';
}

/* Whether an @ at `at` stands for a letter: it is in no address. */
static int at_is_letter(const uint8_t *octets, const uint8_t *at, const uint8_t *end)
{
    if (at == octets || !is_small(at[-1]))
        return 0;
    const uint8_t *behind = at + 1;
    while (behind < end && behind - at <= TOO_LONG && is_small(*behind))
        behind++;
    if (behind == at + 1)
        return 0;
    if (behind == end)
        return 1;
    if (is_word_octet(*behind) || *behind == '@' || *behind == '-')
        return 0;
    return !(*behind == '.' && behind + 1 < end && is_word_octet(behind[1]));
}

/* Write letters for the signs that stand for them; each is judged by what was written. */
static void put_letters(const uint8_t *octets, uint8_t *to, Py_ssize_t length)
{
    const uint8_t *end = octets + length;
    memcpy(to, octets, (size_t)length);
    for (const uint8_t *at = octets; at < end; at++) {
        uint8_t *there = to + (at - octets);
        if (*at == '@') {
            if (at_is_letter(octets, at, end))
                *there = 'a';
            continue;
        }
        if (is_lettered(*at) || !letter_for(*at) || at == octets || !is_lettered(at[-1]))
            continue;
        const int two = end - at > 2 && at[1] != '@' && letter_for(at[1]) && is_lettered(at[2]);
        if (two) {
            there[0] = letter_for(at[0]);
            there[1] = letter_for(at[1]);
            at++;
        } else if (end - at > 1 && is_lettered(at[1])) {
            there[0] = letter_for(at[0]);
        }
    }
}

/* Add a word, if it is not the reader's; 0 with an exception. */
static int add_word(const Template *self, const uint8_t *octets, Py_ssize_t length)
{
    PyObject *word;
    if (self->is_ascii) {
        word = PyUnicode_New(length, 0x7f);
        if (word != NULL)
            memcpy(PyUnicode_DATA(word), octets, (size_t)length);
    } else {
        word = PyUnicode_DecodeUTF8((const char *)octets, length, NULL);
    }
    if (word == NULL)
        return 0;
    int is_readers = 0;
    if (PySet_GET_SIZE(self->reader) > 0)
        is_readers = PySet_Contains(self->reader, word);
    const int done = is_readers < 0    ? 0
                     : is_readers == 0 ? PyList_Append(self->words, word) == 0
                                       : 1;
    Py_DECREF(word);
    return done;
}

/* Add the letters that wait; 0 with an exception. */
static int end_singles(Template *self)
{
    const Py_ssize_t number = self->is_ascii ? self->singles : 0;
    self->singles = 0;
    if (number >= JOINED)
        return add_word(self, self->letters, number);
    for (Py_ssize_t place = 0; place < number; place++)
        if (!add_word(self, self->letters + place, 1))
            return 0;
    return 1;
}

static inline int is_single(const uint8_t *octets, Py_ssize_t length)
{
    if (length == 1)
        return is_small(*octets);
    if (length > 4 || *octets < 0xc0)
        return 0;
    for (Py_ssize_t place = 1; place < length; place++)
        if ((octets[place] & 0xc0) != 0x80)
            return 0;
    return 1;
}

/* Take what stands between marks; 0 with an exception, or where it is hard. */
static int take_piece(Template *self, const uint8_t *octets, Py_ssize_t length)
{
    if (!is_single(octets, length))
        return end_singles(self) && add_word(self, octets, length);
    if (self->is_ascii) {
        self->letters[self->singles++] = *octets;
        return 1;
    }
    self->is_hard = ++self->singles >= JOINED;
    return !self->is_hard && add_word(self, octets, length);
}

static inline int begins(const uint8_t *at, const uint8_t *end, const char *mark, Py_ssize_t length)
{
    return end - at >= length && memcmp(at, mark, (size_t)length) == 0;
}

/* Return the end of a word, and whether it has what varies from copy to copy; NULL where it is
   hard. */
static const uint8_t *end_of_word(const uint8_t *at, const uint8_t *end, int *varies)
{
    *varies = 0;
    for (; at < end && *at != ' '; at++) {
        if (*at < ' ' || *at == 0x7f || (*at >= 'A' && *at <= 'Z') ||
            (*at >= 0xc2 && *at <= 0xe3 && is_wide_space(at, end)))
            return NULL;
        *varies |= is_ascii_digit(*at) || *at == '@' || (*at == ':' && begins(at, end, "://", 3)) ||
                   (*at == 'w' && begins(at, end, "www.", 4));
    }
    return at;
}

static inline int is_mark(uint8_t octet)
{
    return octet < 0x7f && !is_ascii_letter(octet) && !is_ascii_digit(octet);
}

/* Take all words; 0 with an exception, or where they are hard. */
static int take_words(Template *self, const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        int varies;
        const uint8_t *word_end = end_of_word(at, end, &varies);
        if (word_end == NULL) {
            self->is_hard = 1;
            return 0;
        }
        while (!varies && at < word_end) {
            while (at < word_end && is_mark(*at))
                at++;
            const uint8_t *start = at;
            while (at < word_end && !is_mark(*at))
                at++;
            if (at > start && !take_piece(self, start, at - start))
                return 0;
        }
        at = word_end + 1;
    }
    return end_singles(self);
}

/* Return the words of octets, None where they are hard, NULL with an exception. */
static PyObject *words_of(const uint8_t *octets, Py_ssize_t length, int is_ascii, PyObject *reader)
{
    Template self = {.is_ascii = is_ascii, .reader = reader, .words = PyList_New(0)};
    if (self.words == NULL)
        return NULL;
    uint8_t *room = PyMem_Malloc((size_t)length * 2 + 1);
    if (room == NULL) {
        Py_DECREF(self.words);
        return PyErr_NoMemory();
    }
    self.letters = room + length;
    if (any_has_signs(octets, length)) {
        put_letters(octets, room, length);
        octets = room;
    }
    if (!take_words(&self, octets, octets + length)) {
        Py_CLEAR(self.words);
        if (self.is_hard)
            self.words = Py_NewRef(Py_None);
    }
    PyMem_Free(room);
    return self.words;
}

PyObject *core_template_words(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (!check_count(count, 2) || !is_text(args[0]))
        return NULL;
    if (!PyAnySet_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "the reader's words are a set");
        return NULL;
    }
    if (PyUnicode_IS_ASCII(args[0]))
        return words_of(PyUnicode_DATA(args[0]), PyUnicode_GET_LENGTH(args[0]), 1, args[1]);
    PyObject *octets = PyUnicode_AsUTF8String(args[0]);
    if (octets == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return NULL;
        PyErr_Clear(); /* half a character */
        Py_RETURN_NONE;
    }
    PyObject *words = words_of((const uint8_t *)PyBytes_AS_STRING(octets),
                               PyBytes_GET_SIZE(octets), 0, args[1]);
    Py_DECREF(octets);
    return words;
}
