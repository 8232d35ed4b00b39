"""Words in disguise, brought back: `v1agra`, `ca$h`, `v.i.a.g.r.a` and `v i a g r a`.

    a digit or sign for a letter   one or two of them between letters: 0 o, 1 l, 3 e, 4 a, 5 s, 7 t,
                                   9 g, @ a, $ s, ! i
    a letter at a time             three single letters and more in a row are one word

Other forms of letters are gone already (`normalise`). What is made here is hashed and never shown,
so a wrong guess costs nothing: the same text gives the same words, and copies of it meet whether
they are disguised or not.

Limits: a 1 may have been an i; digits at either end of a word stay (`mp3`, `2nd`), and with them
the word counts as one that varies; in a text spaced out from end to end the words run into one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import re2

# Few texts hold any, so one fast scan looks for them first. No link and no address is one: there
# are dots in it.
_LATIN1: Final = re2.Options()
_LATIN1.encoding = re2.Options.Encoding.LATIN1  # octets
_ANY_SIGNS: Final = re2.compile(
    (
        rb"(?:^| )[^ 0-9a-z\x80-\xff]*[a-z\x80-\xff]+(?:[0134579$!@]{1,2}[a-z\x80-\xff]+)+[^ "
        rb"0-9a-z\x80-\xff]*(?: |$)"
    ),
    _LATIN1,
)
_ANY_SINGLE: Final = re2.compile(rb"(?: +(?:[a-z]|[\xc0-\xff][\x80-\xbf]+)){3} ", _LATIN1)
_SIGNS: Final = re.compile(
    rb"[0134579$!](?<=[a-z\x80-\xff].)[0134579$!]?(?=[a-z\x80-\xff])"
    rb"|@(?<=[a-z]@)(?=[a-z]{1,20}+(?![\w@-]|\.\w))"  # no address: nothing with a dot behind the @
)
_LETTERS: Final = bytes.maketrans(b"0134579$!@", b"oleastgsia")
_SINGLE: Final = re.compile(r" [^\W\d_](?: ++[^\W\d_]){2,}(?!\w)")


# text and subject are looked at twice: for what is counted, and for signatures
@lru_cache(maxsize=4)
def letters_for_signs(octets: bytes) -> bytes:
    """Return a text with letters where digits and signs stand for them inside words.

    Args:
        octets: UTF-8 of a `normalise`d text.
    """
    return octets if _ANY_SIGNS.search(octets) is None else _SIGNS.sub(_letters, octets)


def join_spaced_letters(octets: bytes) -> str:
    """Return a text with single letters in a row as one word.

    Args:
        octets: UTF-8 of words with spaces between, before the first and after the last.
    """
    text = octets.decode("utf-8", "surrogatepass")
    return text if _ANY_SINGLE.search(octets) is None else _SINGLE.sub(_word, text)


def _letters(signs: re.Match[bytes]) -> bytes:
    return signs[0].translate(_LETTERS)


def _word(single: re.Match[str]) -> str:
    return " " + single[0].replace(" ", "")
