"""One form for texts that look the same (UAX 15 NFKC, case fold, UTS 39 look-alikes), as hashing
and signatures need it.

    ASCII                 control characters out, lower case, white space folded, in one pass
    runs outside ASCII    invisible characters out → NFKC → case fold → look-alikes to ASCII → stray
                          combining marks out

`V̲I\u0410GR\u0410`, `viagra` with a soft hyphen and `vi\u00e1gra` become `viagra`. A letter is
always replaced by the same one, whatever stands beside it, so Russian stays Russian to a hash
("\u043f\u0440\u0438\u0432\u0435\u0442" is "\u043fp\u0438bet" everywhere) and a Latin o inside it
changes nothing. Look-alikes inside ASCII (1 and l, 0 and o, rn and m) are left alone: they would
cost numbers and words their meaning.

The table is data of our own (confusables.tsv, written by tests/message/generate_confusables.py;
1,300 lines, 1 ms to load), because the package it comes from takes 30 ms to load, keeps groups
rather than a direction, and knows nothing of case.

What comes out is bounded by what goes in: no character becomes more than `MAX_GROWTH`, and no
letter keeps more than `MAX_MARKS` marks, as putting marks into their order takes the square of
their number. Both are held over all code points by tests/message/test_message_normalise.py.

Limits: Unicode 15.1; characters of other scripts without a Latin look-alike stay; right-to-left
text stays in its logical order; of the 19 signs that stand for a phrase or a long word (U+FDFA,
squared words of Japanese) the first letters stand for the whole.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Final
from unicodedata import combining, normalize

from oborona.message.core import fold_ascii

MAX_GROWTH: Final = 4  # characters that one may become, and octets that one of UTF-8 may
# in a row, UAX 15 s13 (Stream-Safe Text Format); no language writes more than 18
MAX_MARKS: Final = 30
# characters: subjects and names, which a scan asks for in several places
MAX_CACHED_TEXT: Final = 256
MAX_CACHED_RUN: Final = 40  # characters: words; a longer run hardly comes again
_ROUNDS: Final = 4  # until nothing changes; two do for all but hand-made strings

_RUN: Final = re.compile("[^\x00-\x7f]+")
_INVISIBLE: Final = (
    (0x00AD, 0x00AD),  # soft hyphen
    (0x034F, 0x034F),  # grapheme joiner
    (0x061C, 0x061C),  # Arabic letter mark
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),  # Mongolian selectors
    (0x200B, 0x200F),  # zero width, direction marks
    (0x202A, 0x202E),  # bidirectional overrides
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),  # tags, selectors
    (0x80, 0x84), (0x86, 0x9F),  # C1 controls; 85 is a line end
)  # fmt: skip
_STRAY_MARKS: Final = (
    (0x0300, 0x036F),
    (0x0483, 0x0489),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0xFE20, 0xFE2F),
)


_GROWING: Final = "\u3307\u3315\u3316\u3317\u3319\u331a\u3320\u332b\u332e\u3332\u3334\u3336\u3347\u334a\u3356\u33ae\u33af\ufdfa\ufdfb"
_SHORT: Final = {sign: normalize("NFKC", sign)[:MAX_GROWTH].rstrip() for sign in _GROWING}
_MARK: Final = "M"  # a letter: no pile has any
_MANY: Final = re.compile(f"{_MARK}{{{MAX_MARKS + 1},}}+")
_LAST_MARK: Final = 0x1E94A
_BECOME_MARKS: Final = "\u0f73\u0f75\u0f81\uff9e\uff9f"  # and are none: what NFKC makes of them is
_SPACES: Final = (0x85, 0x1680, 0x2028, 0x2029)  # white space that NFKC leaves alone


_INVISIBLE_CLASS: Final = "".join(f"{chr(first)}-{chr(last)}" for first, last in _INVISIBLE)
_INVISIBLE_RUN: Final = re.compile(f"[{_INVISIBLE_CLASS}]+")
_GROWS: Final = re.compile(f"[{_GROWING}]")
_UNUSUAL: Final = re.compile(f"[{_INVISIBLE_CLASS}{_GROWING}]")
_PILE: Final = re.compile(
    rf"[\W\uff9e\uff9f]{{{MAX_MARKS + 1},}}+"
)  # every mark is one, and so is every dash: `_limit_marks` tells them apart


def _load() -> dict[int, str]:
    table: dict[int, str] = {}
    for line in (
        files("oborona.message").joinpath("confusables.tsv").read_text("ascii").splitlines()[1:]
    ):
        code, _, shape = line.partition("\t")
        table[int(code, 16)] = sys.intern(shape)
    for first, last in (*_STRAY_MARKS, *_INVISIBLE):
        table.update(dict.fromkeys(range(first, last + 1), ""))
    table.update(dict.fromkeys(_SPACES, " "))
    return table


_TABLE: Final = _load()


def normalise(text: str) -> str:
    """Return the one form of a text, at most `MAX_GROWTH` times as long.

    The form of a form is itself.

    Source: UAX 15 (NFKC), Unicode s5.18 (case folding), UTS 39 s4 (confusables).
    """
    return _of_short(text) if len(text) <= MAX_CACHED_TEXT else _form(text)


def _form(text: str) -> str:
    if not text.isascii():
        text = _RUN.sub(_fold, text)
    return fold_ascii(text)


_of_short = lru_cache(maxsize=1024)(_form)


def normalised_piece(text: str) -> str:
    """Return a piece of a text as it stands inside the `normalise`d text: a space at either end
    stays.
    """
    return normalise(f",{text},")[1:-1]  # nothing combines with a comma


def normalised_letters(letters: Iterable[str]) -> list[str]:
    """Return characters in the forms that they have each alone, in the same order.

    Empty for what is invisible, a space for white space.

    Args:
        letters: single characters other than NUL; any number of them costs one pass.
    """
    forms = _fold_run("\0".join(letters)).translate(_SPACED).split("\0")
    return [form.lower() if form.isascii() else form for form in forms]


def look_alikes() -> Iterator[str]:
    """Yield the characters outside ASCII that become ASCII letters, of every script."""
    for code, shape in _TABLE.items():
        if shape.isalpha() and shape.isascii():
            yield chr(code)


def few_marks(text: str) -> str:
    """Return a text without the marks that stand behind `MAX_MARKS` others: what
    `unicodedata.normalize` takes in a time that its length bounds.
    """
    return text if len(text) <= MAX_MARKS or text.isascii() else _PILE.sub(_limit_marks, text)


def _limit_marks(pile: re.Match[str]) -> str:
    signs = pile[0]
    pieces = []
    end = 0
    for many in _MANY.finditer(signs.translate(_marks())):
        pieces.append(signs[end : many.start() + MAX_MARKS])
        end = many.end()
    return "".join((*pieces, signs[end:]))


@lru_cache(maxsize=1)
def _marks() -> dict[int, str]:
    """Return what makes `_MARK` of every mark.

    Asked for when the first message piles them up: 10 ms.
    """
    table = dict.fromkeys((code for code in range(_LAST_MARK + 1) if combining(chr(code))), _MARK)
    return table | dict.fromkeys(map(ord, _BECOME_MARKS), _MARK)


def _without_unusual(run: str) -> str:
    """Return a run without invisible characters, with the first letters of those that would
    grow.
    """
    run = _INVISIBLE_RUN.sub("", run)
    if _GROWS.search(run) is not None:
        for sign, short in _SHORT.items():
            run = run.replace(sign, short)
    return run


def _fold(run: re.Match[str]) -> str:
    text = run[0]
    return _fold_word(text) if len(text) <= MAX_CACHED_RUN else _fold_run(text)


def _fold_run(run: str) -> str:
    """Return a run outside ASCII in its one form."""
    for _ in range(_ROUNDS):
        folded = run if _UNUSUAL.search(run) is None else _without_unusual(run)
        folded = normalize("NFKC", normalize("NFKC", few_marks(folded)).casefold())
        folded = folded.translate(_TABLE)
        if folded == run or folded.isascii():
            return folded
        run = folded
    return run


_SPACED: Final = dict.fromkeys((*range(9, 14), *range(28, 32)), " ") | dict.fromkeys(
    (*range(1, 9), *range(14, 28), 127), ""
)
_fold_word = lru_cache(maxsize=16384)(_fold_run)
