"""Letters that OCR takes for one another, brought to one form.

    folded     for hashing: 0 o, 1 i l |, 5 s, 8 b, rn m, vv w are one each in words with a letter;
               numbers stay numbers
    mended     for finding: letters among digits are digits again, and links begin and end as links
               do

A folded text is hashed and never shown; two readings of one picture meet in it, however the letters
came out.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.message.normalise import normalise

_WORD: Final = re.compile(r"\S+")
_ONE_FORM: Final = str.maketrans("01i|!5$8", "ollllssb")
_CYRILLIC_O: Final = "\u043e\u041e"
_CYRILLIC_3_6: Final = "\u0417\u0437\u0431"
_LIKE_DIGITS: Final = f"oO{_CYRILLIC_O}QlIi|!SsB{_CYRILLIC_3_6}"
_AS_DIGITS: Final = str.maketrans(_LIKE_DIGITS, "0000011111558336")
_DIGIT: Final = rf"[\d{_LIKE_DIGITS}]"
_NUMBERISH: Final = re.compile(
    rf"(?<!\S)(?>[(+]{{0,2}}{_DIGIT}(?>{_DIGIT}|[()\-.])*+(?![^\s,;)])[ ]?)++"
)
_SCHEME: Final = re.compile(r"\bh[tl]{2}p(s?) ?[:;] ?[/lI|\\] ?[/lI|\\] ?", re.IGNORECASE)
_WWW: Final = re.compile(r"\b(?:www|vvvvvv|vvww|wvvw|wwvv)[.,] ?(?=\w)", re.IGNORECASE)
_ENDING: Final = re.compile(r"(?<=\w)\.(?:c[o0]rn|c0m)\b(?!\.\w)", re.IGNORECASE)
_FEW_DIGITS: Final = 5  # in a run that is a number: words of such letters alone have none


def fold_confusions(text: str) -> str:
    """Return a text in the form in which what OCR confuses is one.

    Args:
        text: as it was read.

    """
    return _WORD.sub(_folded_word, normalise(text))


def _folded_word(word: re.Match[str]) -> str:
    letters = word[0].rstrip("!|")  # a mark behind a word is read as one or not at all
    if not any(character.isalpha() for character in letters):
        return letters
    return letters.replace("rn", "m").replace("vv", "w").translate(_ONE_FORM)


def correct_text(text: str) -> str:
    """Return a text with numbers and links as they were drawn, as far as that can be told.

    Args:
        text: as it was read.

    """
    lines = (_NUMBERISH.sub(_number, line) for line in text.split("\n"))
    text = "\n".join(lines)
    text = _SCHEME.sub(lambda match: f"http{match[1].lower()}://", text)
    return _ENDING.sub(".com", _WWW.sub("www.", text))


def _number(run: re.Match[str]) -> str:
    """Return a run as digits where most of it are digits; words otherwise."""
    digits = sum(character in "0123456789" for character in run[0])
    others = sum(character in _LIKE_DIGITS for character in run[0])
    return run[0].translate(_AS_DIGITS) if digits >= max(_FEW_DIGITS, others) else run[0]
