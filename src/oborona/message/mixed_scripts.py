"""Tricks with letters: a text that reads well to people and badly to machines, judged by what a
reader sees.

    mixed-scripts       words that mix Latin with Cyrillic or Greek letters where one looks like the
                        other (Latin p and a in a Russian word)
    painted-letters     mathematical, circled, full-width, small capital or raised letters for words
    zero-width          characters without width inside words: joiners, invisible operators,
                        variation selectors and tags behind letters
    marks-piled         three and more combining marks on a letter, or letters struck out and
                        underlined one by one
    direction-override  characters that turn the order of letters round (U+202E)
    soft-hyphens        soft hyphens where no hyphenation is: around single letters, or in a plain
                        text's words one after another

What is honest and looks alike: a word of one script beside a word of another, also with a hyphen
(IP-address, half in Russian) or a Russian ending ("SMS" with one); TNF-alpha; joiners in Arabic,
Indic and Thai text and in emoji; selectors behind emoji and Chinese characters; marks of
Vietnamese, Hebrew, Arabic and phonetic writing, up to two on a letter; full-width letters in
Chinese, Japanese and Korean; a Latin i, j or h where a keyboard lacks the Ukrainian, Serbian or
Kazakh letter; an embedding around a telephone number; soft hyphens of web pages. A single word of a
long text may be a slip of the keyboard, so each trick has its least number; in a subject or a name,
which are written with care, it is less.

Limits: `LOOKED_AT` characters. A slang word of two changes (a Russian prefix, SMS, a Russian
ending) counts like a painted one.
"""

from __future__ import annotations

import re
from typing import Final

import re2

from oborona.message.findings import Findings

LOOKED_AT: Final = 32_768  # characters: 0.3 ms, and 15 ms where each of them is a trick
HEADER_LOOKED_AT: Final = 1000
# different ones: slips like a Latin c in a Russian word come one or two in a letter, a shop's name
# ten times
MIXED_WORDS: Final = 3
MIXED_SHARE: Final = 0.03  # of all words
PAINTED_LETTERS: Final = 12  # in runs of three and more: two words; formulas have single ones
# places; wikis put some into long names, at the capitals inside, which do not count
ZERO_WIDTH: Final = 4
PILED: Final = 3  # letters with three marks and more
STRUCK: Final = 8  # letters with a line through or under them
LONELY: Final = 3  # single letters between soft hyphens: hyphenation leaves two at least
HYPHENATED_WORDS: Final = 5
HYPHENATED_SHARE: Final = 0.2  # of a plain text's words; hyphenated German has one in ten
MAX_TURNED: Final = 1000  # runs of a text that are turned round
IN_HEADER: Final = 2  # mixed words, changes of script in one, and places of other tricks

_LATIN: Final = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
_GREEK: Final = "\u0370-\u0373\u0376-\u0377\u037b-\u037d\u0386-\u03ff"
_CYRILLIC: Final = "\u0400-\u0481\u048a-\u052f"
_ANY: Final = _LATIN + _GREEK + _CYRILLIC
_LATIN_LETTER: Final = re.compile(f"[{_LATIN}]")
_MIXED: Final = re.compile(
    f"(?<![{_ANY}])(?:[{_LATIN}]++[{_GREEK}{_CYRILLIC}]|[{_GREEK}]++[{_LATIN}]|[{_CYRILLIC}]++[{_LATIN}])[{_ANY}]*+"
)
_SIDE_BY_SIDE: Final = re2.compile(
    f"[{_LATIN}][{_GREEK}{_CYRILLIC}]|[{_GREEK}{_CYRILLIC}][{_LATIN}]"
)  # over octets: 7 µs for a letter, where `re` takes 110
_RUN: Final = re.compile(f"[{_LATIN}]+|[{_GREEK}]+|[{_CYRILLIC}]+")
_LIKE_LATIN: Final = frozenset(
    "\u0430\u0433\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u043a\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u041e\u0420\u0405\u0422\u0425\u0423\u03bf\u03bf\u03c1\u03bd\u03b9\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
)
_TYPED_FOR: Final = frozenset("iIjJhH\u00ef\u00cf")
_LIKE_OTHER: Final = frozenset("aceopxyijshkuABCEHIJKMOPSTXYNZ")

_SMALL: Final = "\u0299\u0262\u026a\u0274\u0280\u028f\u029c\u029f\u1d00\u1d04\u1d05\u1d07\u1d0a-\u1d0d\u1d0f\u1d18\u1d1b\u1d1c\u1d20-\u1d22\ua730\ua731\ua7af"
_PAINT: Final = f"\u24b6-\u24e9\U0001d400-\U0001d7ff\U0001f110-\U0001f189{_SMALL}\u1d2c-\u1d6a"
_WIDE: Final = "\uff21-\uff3a\uff41-\uff5a"
_PAINTED: Final = re.compile(f"[{_PAINT}]{{3,}}")
_PAINTED_OR_WIDE: Final = re.compile(f"[{_PAINT}{_WIDE}]{{3,}}")
_EAST_ASIAN: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

_NO_WIDTH: Final = "\u034f\u115f\u1160\u180e\u200b-\u200d\u2060-\u2064\u3164\ufeff\uffa0"
# variation selectors and tags: behind a sign or a Chinese character they choose its form, behind a
# letter they choose nothing
_SELECTORS: Final = "\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef"
# joiners and invisible operators; U+200B marks where a line may break in Japanese and Thai
_JOINERS: Final = "\u034f\u180e\u2060-\u2064\ufeff"
_SYLLABLE: Final = "\u3041-\u3096\u30a1-\u30fa\uac00-\ud7a3"  # hiragana, katakana, Hangul
_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff"
_SPLIT: Final = re.compile(f"(?<=[{_ANY}])[{_NO_WIDTH}{_SELECTORS}]++(?=[{_ANY}])")
_SPLIT_EAST_ASIAN: Final = re.compile(
    f"(?<=[{_SYLLABLE}])[{_JOINERS}{_SELECTORS}]++(?=[{_SYLLABLE}{_HAN}])"
    f"|(?<=[{_HAN}])[{_JOINERS}]++(?=[{_SYLLABLE}{_HAN}])"
)
_MARK: Final = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
_PILE: Final = re.compile(f"[{_MARK}]{{3,}}+")
_LINED: Final = re.compile(
    f"[{_ANY}][\u0332\u0333\u0335-\u0338\u20d2\u20d3\u20dd-\u20df\u20e5-\u20eb]"
)
_OVERRIDE: Final = "\u202e"
_TURNED: Final = re.compile("\u202e([^\u202c\u202d\u202e\n]*+)\u202c?")
_HYPHEN: Final = re.compile(f"[{_ANY}]++(?>\u00ad++[{_ANY}]++)++")
_LONELY: Final = re.compile(
    f"(?<![{_ANY}])[{_ANY}]\u00ad(?=[{_ANY}])|(?<=\u00ad)[{_ANY}](?![{_ANY}])"
)
_NOTABLE: Final = re2.compile(
    f"[{_PAINT}{_WIDE}{_NO_WIDTH}{_MARK}{_OVERRIDE}\u00ad]|[{_ANY}{_SYLLABLE}][{_SELECTORS}]"
)


def judge(text: str, plain: str, header: str, findings: Findings) -> None:
    """Note the tricks of a message's letters.

    Args:
        text: what a reader sees, not normalised.
        plain: the part of it that is no HTML.
        header: the subject and the names of senders, a line each.
        findings: gets mixed-scripts, painted-letters, zero-width, marks-piled, direction-override,
            soft-hyphens.

    """
    if not header.isascii():
        header = header[:HEADER_LOOKED_AT]
        mixed = _mixed(header)
        if len({word.lower() for word in mixed}) >= IN_HEADER or any(
            _changes(word) >= IN_HEADER for word in mixed
        ):
            findings.add("mixed-scripts", f"in the header: {mixed[0]}")
        _strange(header, "", findings, IN_HEADER)
    if text.isascii():
        return
    text = text[:LOOKED_AT]
    mixed = _mixed(text)
    if len({word.lower() for word in mixed}) >= MIXED_WORDS and len(mixed) >= MIXED_SHARE * (
        words := len(text.split())
    ):
        findings.add("mixed-scripts", f"{len(mixed)} of {words} words: {mixed[0]}")
    _strange(text, plain[:LOOKED_AT], findings, 0)


def visual_order(text: str) -> str:
    """Return a text as it is seen where U+202E turns the order of its letters round.

    Source: UAX 9 s2.2.
    """
    if _OVERRIDE not in text:
        return text
    return _TURNED.sub(lambda run: run[1][::-1], text, count=MAX_TURNED)


def _mixed(text: str) -> list[str]:
    """Return the words that mix scripts to look like one."""
    if _SIDE_BY_SIDE.search(text.encode()) is None:
        return []
    return [word for word in _MIXED.findall(text) if _looks_like_one(word)]


def _changes(word: str) -> int:
    return len(_RUN.findall(word)) - 1


def _looks_like_one(word: str) -> bool:
    letters = _LATIN_LETTER.findall(word)
    latin = set(letters)
    other = set(word) - latin
    if latin <= _TYPED_FOR and len(word) > 2 * len(letters):
        return False
    if latin <= _LIKE_OTHER and len(word) > 2 * len(letters) and not other <= _LIKE_LATIN:
        return True  # a Russian word with Latin letters
    if not other <= _LIKE_LATIN:
        return _changes(word) > 1 and not _GREEK_LETTER.search(word)
    runs = _RUN.findall(word)
    ending = len(runs) == 2 and word[0] in latin and len(runs[1]) > 1
    return not ending


_GREEK_LETTER: Final = re.compile(f"[{_GREEK}]")


def _strange(text: str, plain: str, findings: Findings, least: int) -> None:
    """Note the tricks of single characters.

    `least` stands for the least number of each, 0 = that of a text.
    """
    if _NOTABLE.search(text.encode()) is None:
        return
    if _OVERRIDE in text:
        place = text.index(_OVERRIDE)
        findings.add("direction-override", text[place : place + 40])
    east_asian = _EAST_ASIAN.search(text) is not None
    painted = (_PAINTED if east_asian else _PAINTED_OR_WIDE).findall(text)
    if sum(map(len, painted)) >= (3 * least or PAINTED_LETTERS):
        findings.add("painted-letters", " ".join(painted[:5]))
    split = [place for place in _SPLIT.finditer(text) if not _camel(text, place)]
    if east_asian:
        split += _SPLIT_EAST_ASIAN.finditer(text)
    if len(split) >= (least or ZERO_WIDTH):
        start = max(0, split[0].start() - 10)
        findings.add("zero-width", f"{len(split)} places: {text[start : split[0].end() + 10]}")
    piles = _PILE.findall(text)
    lined = _LINED.findall(text)
    if len(piles) >= (least or PILED) or len(lined) >= (2 * least or STRUCK):
        findings.add(
            "marks-piled", f"{len(piles)} piles, {len(lined)} letters struck out or underlined"
        )
    if "\u00ad" in text:
        _soft_hyphens(text, plain, findings)


def _camel(text: str, place: re.Match[str]) -> bool:
    return text[place.start() - 1].islower() and text[place.end()].isupper()


def _soft_hyphens(text: str, plain: str, findings: Findings) -> None:
    lonely = _LONELY.findall(text)
    words = _HYPHEN.findall(plain)
    share = len(words) / len(plain.split()) if words else 0.0
    if len(lonely) >= LONELY:
        findings.add("soft-hyphens", f"around {len(lonely)} single letters")
    elif len(words) >= HYPHENATED_WORDS and share >= HYPHENATED_SHARE:
        findings.add("soft-hyphens", f"in {share:.0%} of the words: {words[0]}")
