"""Telephone numbers in a text, however they are spaced, spelled or painted: E.164 of those that
exist.

    candidate      a run of digits with spaces, brackets, dots, dashes; o and l among digits are 0
                   and 1; words for digits are digits
    number         phonenumbers (Google's numbering plans): parsed, and valid for its country

With + a number says its country. Without, it is tried under each of the site's regions, and must
look like a phone: groups with brackets, dashes or spaces, digits spelled as words, or a word for
telephone before it. So an order number is none.

Known limits: a number without + of a country that is no region of the site is none; two numbers of
one run are told apart only where a comma, a slash or a word stands between them; digit words are
English and Russian.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import phonenumbers
import re2

from oborona.message.findings import Findings
from oborona.message.normalise import normalise

MAX_PHONES: Final = 10  # of one message
MAX_TRIED: Final = 60  # readings that are parsed: 25 µs each
MAX_RUNS: Final = 200  # candidates that are looked at
MAX_CUTS: Final = 6  # shorter readings of one run that are tried
MIN_DIGITS: Final = 7  # of a number that is dialled
MAX_DIGITS: Final = 15  # ITU-T E.164 s6.2.1
_BEFORE: Final = 24  # characters before a run in which a word may call it a phone

# Read once, here: otherwise the plan of a country is read from its file when its first number
# comes.
phonenumbers.PhoneMetadata.load_all()

_SPELLED: Final = {
    normalise(word): str(digit)
    for digit, words in enumerate((
        "zero oh ноль", "one один", "two два", "three три", "four четыре", "five пять", "six шесть", "seven семь", "eight восемь", "nine девять",
    ))
    for word in words.split()
} | {"plus": "+", normalise("плюс"): "+"}  # fmt: skip
SPELLED: Final = tuple(sorted(_SPELLED, key=len, reverse=True))
"""Words for digits, normalised"""
_WORDS: Final = "|".join(SPELLED)
_SEPARATORS: Final = r"[ ().\-*_~]"
_DIGIT: Final = r"[0-9oli]"  # of a normalised text: O and I are o and i there
_AROUND: Final = r"[^0-9a-z@#$&=%/._+-]"  # what may stand before a number
_RUN: Final = rf"(?:^|{_AROUND})((?:START)\(?[0-9](?:{_SEPARATORS}{{0,3}}{_DIGIT}){{6,21}})(?:[^0-9a-z@%=&]|$)"
_NATIONAL: Final = re2.compile(_RUN.replace("START", rf"(?:\+{_SEPARATORS}{{0,3}})?").encode())
_INTERNATIONAL: Final = re2.compile(_RUN.replace("START", rf"\+{_SEPARATORS}{{0,3}}|00").encode())
_IN_WORDS: Final = re2.compile(
    rf"(?:\b|^)(?:plus |{normalise('плюс')} )?(?:(?:{_WORDS}|[0-9])[ ,.\-]{{0,3}}){{7,18}}".encode()
)
_SPELLING: Final = rf"(?:{_WORDS})[ ,.\-]{{0,3}}(?:{_WORDS}|[0-9])|[0-9][ ,.\-]{{0,3}}(?:{_WORDS})"
_MAY_SPELL: Final = re2.compile(_SPELLING.encode())
HINT: Final = rf"(?:\+{_SEPARATORS}{{0,3}}|\b00)\(?[0-9](?:{_SEPARATORS}{{0,3}}{_DIGIT}){{6}}"
"""RE2, of something that any normalised text with a number of a stated country in digits holds"""
WORDS_HINT: Final = _SPELLING
"""The same, with a number in words"""
_SPELLED_SAYS: Final = "call "  # stands before digits in words: nobody spells an order number
_SPELLED_DIGIT: Final = re.compile(_WORDS)
_LOOKS: Final = str.maketrans("oli", "011")
_DATE: Final = re.compile(
    r"(?:19|20)\d\d[-.]\d\d?[-.]\d\d?\b|\d\d?[-.]\d\d?[-.](?:19|20)\d\d\b|\d{1,3}(?:\.\d{1,3}){3}\b"
)
_NO_DIGIT: Final = re.compile(r"[^0-9]+")
_GROUP: Final = re.compile(r"[0-9]{2,}")
_SAYS: Final = re.compile(
    (
        r"(?:\b(?:tel|fax|phone|cell|mobile|mob|call|sms|text|whats "
        r"?app|viber|telegram|ring|dial|hotline|toll)|"
    )
    + "|".join(
        map(
            normalise, ("тел", "телефон", "факс", "моб", "звон", "номер", "ватсап", "вайбер", "смс")
        )
    )
    + r")[^0-9]{0,20}\Z"
)


def in_text(normal: str, regions: tuple[str, ...], findings: Findings) -> list[tuple[str, str]]:
    """Return the distinct numbers in a text as (E.164, as found), at most `MAX_PHONES`.

    Args:
        normal: the text, `normalise`d.
        regions: whose numbers may stand without their country, as ISO 3166 codes: ("RU", "DE").
        findings: keeps count of what the message has cost.
    """
    octets = normal.encode("utf-8", "surrogatepass")
    numbers: dict[str, str] = {}
    candidates: list[tuple[str, str, str]] = []  # digits, what stands before them, as found
    if regions or b"+" in octets or b"00" in octets:
        pattern = _NATIONAL if regions else _INTERNATIONAL
        candidates += _runs(pattern, octets)
    spelled_out = _IN_WORDS.finditer(octets) if _MAY_SPELL.search(octets) is not None else ()
    for match in islice(spelled_out, MAX_RUNS):
        spelled = _text(match[0])
        number = _SPELLED_DIGIT.sub(lambda word: _SPELLED[word[0]], spelled)
        if number != spelled:
            candidates.append((number, _SPELLED_SAYS, spelled))
    for run, before, raw in candidates:
        number = _number(run, before, regions, findings)
        if number:
            numbers.setdefault(number, raw.strip())
            if len(numbers) >= MAX_PHONES:
                break
    return list(numbers.items())


def of_link(url: str, findings: Findings) -> str:
    """Return the number that a tel: link or a messenger's link dials, with its country.

    Empty when there is none.

    Args:
        url: the digits and what is between them; a leading + may be missing.
        findings: keeps count of what the message has cost.
    """
    digits = "".join(character for character in url[:40] if character in "0123456789")
    return _valid("+" + digits, "", findings) if MIN_DIGITS <= len(digits) <= MAX_DIGITS else ""


def _text(octets: bytes) -> str:
    return octets.decode("utf-8", "ignore")


def _runs(pattern: Any, octets: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield runs of digits, what stands before each, and the run as found."""
    position = 0
    for _ in range(MAX_RUNS):
        match = pattern.search(octets, position)
        if match is None:
            return
        start, position = match.span(1)  # what ends one run may be what stands before the next
        run = match[1].decode("ascii")
        yield run, _text(octets[max(0, start - _BEFORE) : start]), run


def _number(run: str, before: str, regions: tuple[str, ...], findings: Findings) -> str:
    """Return the number that a run of digits begins with, in E.164, empty when it is none."""
    plain = run.strip().translate(_LOOKS)
    if sum(character in "oli" for character in run) * 2 > sum(
        character.isdigit() for character in plain
    ):
        return ""
    groups = plain.split(" ")
    tried = 0
    for end in range(len(groups), 0, -1):  # numbers that follow are no part of it
        whole = " ".join(groups[:end])
        digits = _NO_DIGIT.sub("", whole)
        if len(digits) < MIN_DIGITS or tried == MAX_CUTS:
            break
        if len(digits) > MAX_DIGITS + 2:
            continue
        tried += 1
        number = _read(whole, digits, before, regions, findings)
        if number:
            return number
    return ""


def _read(
    whole: str, digits: str, before: str, regions: tuple[str, ...], findings: Findings
) -> str:
    if whole[0] == "+":
        return _valid("+" + digits, "", findings)
    if digits.startswith("00"):
        return _valid("+" + digits[2:], "", findings)
    if not regions or _DATE.match(whole):
        return ""
    if "(" not in whole and len(_GROUP.findall(whole)) < 2 and _SAYS.search(before) is None:
        return ""
    return next(filter(None, (_valid(digits, region, findings) for region in regions)), "")


def _valid(number: str, region: str, findings: Findings) -> str:
    if not findings.afford("phone", 1, MAX_TRIED):
        return ""
    return _parsed(number, region)


@lru_cache(maxsize=2048)
def _parsed(number: str, region: str) -> str:
    """Return a number in E.164, empty when no telephone can have it."""
    try:
        read = phonenumbers.parse(number, region or None)
    except phonenumbers.NumberParseException:
        return ""
    if not phonenumbers.is_valid_number(read):
        return ""
    return str(phonenumbers.format_number(read, phonenumbers.PhoneNumberFormat.E164))
