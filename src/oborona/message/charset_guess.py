"""Which charset octets are in when nobody says so, or what is said makes no words.

Guessed by uchardet (cchardet), judged here.

    guess       octets → the charset that uchardet names, if it is one of mail's and holds the
                octets
    oddness     text → the share of its words outside ASCII that no language writes, 0 to 1

uchardet alone is wrong for one short text in seven, and it never says that what was declared is
good enough. So a text is odd when it has words like these, whatever the language:

    a small letter before a capital, a sign between two letters; controls, boxes, unassigned
    characters   KOI8-R read as windows-1251 Latin words most of whose letters are outside ASCII
                 the same as iso-8859-1
    Cyrillic letters without those ten that make half of any text in them
    capitals in a wrong charset characters of Chinese, Japanese or Korean that nobody uses
    anything in octets of two

Of some 1,100 real texts of 40 characters in 24 charsets uchardet names 96 % right in 31 µs each (of
20 characters 91 %, of 200 99 %), 2 MB to load. chardet 7.7 is better at Latin letters (99 %), but
takes eight times as long and 34 MB, and takes every Russian text in capitals for another charset.
charset-normalizer 3.5 names 73 % right.

Limits: `SAMPLE` octets of lines that are not ASCII; texts in one multi-byte charset under the name
of another are believed.
"""

from __future__ import annotations

import re
from typing import Final

import cchardet

SAMPLE: Final = 600  # octets that are looked at: 0.3 ms; 200 are enough for 99 %
# of Cyrillic letters at least: Ukrainian 0.61, Russian 0.68, Bulgarian 0.74; 0.16 to 0.39 of those
# read in a wrong charset
COMMON_SHARE: Final = 0.6
MIN_CYRILLIC: Final = 8  # letters, to say anything of shares
# of the characters of a Japanese text at least; Chinese in the same octets has none
KANA_SHARE: Final = 0.3
MIN_WORD: Final = 4  # characters
# of a Latin word's letters; Turkish and Icelandic have such words, and not mostly such
OUTSIDE_SHARE: Final = 0.6

_CODECS: Final = {  # what uchardet says, and the codec that holds it and what senders mean by it
    "UTF-8": "utf-8",
    "WINDOWS-1250": "cp1250",
    "WINDOWS-1251": "cp1251",
    "WINDOWS-1252": "cp1252",
    "WINDOWS-1253": "cp1253",
    "WINDOWS-1254": "cp1254",
    "WINDOWS-1255": "cp1255",
    "WINDOWS-1256": "cp1256",
    "WINDOWS-1257": "cp1257",
    "WINDOWS-1258": "cp1258",
    "ISO-8859-1": "cp1252",
    "ISO-8859-2": "iso8859-2",
    "ISO-8859-5": "iso8859-5",
    "ISO-8859-6": "iso8859-6",
    "ISO-8859-7": "iso8859-7",
    "ISO-8859-8": "cp1255",
    "ISO-8859-9": "cp1254",
    "ISO-8859-11": "cp874",
    "ISO-8859-15": "iso8859-15",
    "TIS-620": "cp874",
    "KOI8-R": "koi8-u",  # has the Ukrainian letters besides
    "IBM866": "cp866",
    "BIG5": "cp950",
    "GB18030": "gb18030",
    "HZ-GB-2312": "hz",
    "EUC-JP": "euc_jp",
    "SHIFT_JIS": "cp932",
    "ISO-2022-JP": "iso2022_jp",
    "EUC-KR": "cp949",
    "UHC": "cp949",
    "ISO-2022-KR": "iso2022_kr",
}
_ALWAYS: Final = ("cp1251", "koi8-u", "cp1252")
"""Tried too where there is little to go by; in the order of how often mail has them undeclared"""

# first octets of the common characters of multi-byte charsets, punctuation and kana included
_ROWS: Final = {
    "gb18030": rb"[\xa1-\xa3\xb0-\xd7]",
    "cp950": rb"[\xa1-\xc6]",
    "cp949": rb"[\xa1-\xa3\xb0-\xc8]",
    "euc_jp": rb"[\xa1-\xa5\xb0-\xcf]",
    "cp932": rb"[\x81-\x83\x88-\x97]",
}
_PAIR: Final = re.compile(rb"[\x81-\xfe][\x40-\xfe]")
_LETTERS: Final = re.compile(rb"[\xb1\xb3\xb6\xb9\xbf-\xff]")  # in any charset of single octets
# second octets of two characters in five
_BIG5_ALONE: Final = re.compile(rb"[\x81-\xfe][\x40-\x7e]")
_KANA: Final = re.compile(rb"[\xa4\xa5][\xa1-\xfe]")
_COMMON_PAIRS: Final = {codec: re.compile(rows + rb"[\x40-\xfe]") for codec, rows in _ROWS.items()}
_SIGNS: Final = (
    "\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00b4\u00b6\u00b8\u00bb\u00bf\u00d7\u00f7"
    "\u2020-\u2022\u2026\u2030\u2039\u203a\u20ac\u2116\u2122"
)
_BROKEN: Final = "\u0080-\u009f\u2320\u2321\u2500-\u25a0\ue000-\uf8ff\ufffd"
_LETTER: Final = r"[^\W\d_]"
_ODD: Final = re.compile(
    rf"[{_BROKEN}]|{_LETTER}[{_SIGNS}]{_LETTER}|[\u0430-\u044f\u0452-\u045f\u0491][\u0410-\u042f\u0401\u0402-\u040f\u0490]|[\u03b1-\u03ce][\u0391-\u03a9]|[A-Za-z\u00c0-\u024f][\u0400-\u04ff]|[\u0400-\u04ff][A-Za-z\u00c0-\u024f]"
)
_LATIN: Final = re.compile("[\u00c0-\u024f]")
_CYRILLIC: Final = re.compile("[\u0400-\u04ff]")
# o e a i n t s r v l, the Cyrillic ones
_COMMON: Final = re.compile(
    "[\u043e\u0435\u0430\u0438\u043d\u0442\u0441\u0440\u0432\u043b\u041e\u0415\u0410\u0418\u041d\u0422\u0421\u0420\u0412\u041b]"
)


def guess(octets: bytes) -> list[str]:
    """Return the codecs that may be meant, the likeliest first; each is one that Python has.

    Args:
        octets: of a `sample`.

    """
    named = _CODECS.get(str(cchardet.detect(octets)["encoding"] or ""))
    # its answer to what is short and in EUC
    if named == "cp950" and not _BIG5_ALONE.search(octets):
        named = (
            "euc_jp"
            if len(_KANA.findall(octets)) > KANA_SHARE * len(_PAIR.findall(octets))
            else "gb18030"
        )
    elif (named is None or named not in _COMMON_PAIRS) and _LETTERS.search(octets) is None:
        return ["cp1252"]  # quotes and dashes alone, which most charsets have in the same places
    candidates = [named] if named else []
    return [*candidates, *(codec for codec in _ALWAYS if codec != named)]


def oddness(text: str, octets: bytes, codec: str) -> float:
    """Return how odd a text looks, 0 to 1: what has words has none.

    Args:
        text: of a sample, as `codec` reads it.
        octets: of that sample.
        codec: name in Python.

    """
    rows = _COMMON_PAIRS.get(codec)
    if rows is not None:
        pairs = len(_PAIR.findall(octets))
        return 1 - len(rows.findall(octets)) / pairs if pairs else 0.0
    words = [word for word in text.split() if not word.isascii()]
    if not words:
        return 0.0
    odd = sum(1 for word in words if _ODD.search(word) or _mostly_outside(word))
    letters = len(_CYRILLIC.findall(text))
    if letters < MIN_CYRILLIC:
        return odd / len(words)
    return max(odd / len(words), 1 - len(_COMMON.findall(text)) / letters / COMMON_SHARE)


def _mostly_outside(word: str) -> bool:
    return len(word) >= MIN_WORD and len(_LATIN.findall(word)) > len(word) * OUTSIDE_SHARE


def sample(octets: bytes) -> bytes:
    """Return the first lines that are not ASCII, `SAMPLE` octets of them at most."""
    if len(octets) <= SAMPLE:
        return octets
    excerpt = b""
    place = 0
    while len(excerpt) < SAMPLE and (match := _HIGH.search(octets, place)):
        start = max(
            place,
            octets.rfind(b"\n", max(0, match.start() - SAMPLE), match.start()) + 1,
            match.start() - SAMPLE // 4,
        )
        end = octets.find(b"\n", match.end(), start + SAMPLE)
        end = start + SAMPLE if end < 0 else end + 1
        excerpt += octets[start:end]
        place = end
    return excerpt[:SAMPLE]


_HIGH: Final = re.compile(rb"[\x80-\xff]")
