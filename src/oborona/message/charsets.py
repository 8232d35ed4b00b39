"""Octets to text: charsets as people declare them, and as they are.

    UTF-8 with any character outside ASCII    wins over no charset, over one of single octets, and
    over none that Python knows: no other text looks so
    the declared charset                      where it holds the octets and makes words of them
                                              (`charset_guess.oddness`)
    a guess                                   where nothing is declared, or the declared charset
                                              cannot hold the octets, or makes no words

A guess replaces what is declared only when its words are much better; that is the finding
charset-lies. Text that is ASCII costs nothing here, and UTF-8 one decoding: doubt begins at octets
above 127 in another charset.

Limits: `MIN_OCTETS` outside ASCII for any guess, `MIN_AGAINST` against what is declared;
`MAX_GUESSES` of a message. A text in one Latin charset under the name of another (Polish as
windows-1252) has a few wrong letters in good words, and is believed.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from oborona.message import charset_guess
from oborona.message.charset_names import codec_of, name_of
from oborona.message.findings import Findings

MIN_OCTETS: Final = 4  # above 127: two Chinese characters, a short Russian word
# above 127, to say that a declaration lies: of 12 letters one in a hundred looked odd, of 20 none
MIN_AGAINST: Final = 14
# a declared charset that makes a text as odd as this is looked at again; of honest texts of 20
# letters one in 200 is, of 100 none
DOUBTED: Final = 0.3
ODD: Final = 0.5  # a guess that makes a text as odd as this is none
LESS_ODD: Final = 0.25  # what is better than the declared must be so by this much
MAX_GUESSES: Final = 60  # texts and header fields of a message: 20 ms
MAX_JUDGED: Final = 200  # the same, where only the declared charset is looked at: 10 ms
CUT: Final = 3  # octets at the end of a text that was cut inside a character

_WIDE: Final = ("utf-16", "utf-32")  # of octets that are no ASCII, whatever they say
_MULTIBYTE: Final = ("gb", "big5", "cp9", "euc", "shift", "johab", "hz", "iso2022")
_CYRILLIC: Final = ("cp1251", "koi8", "iso8859-5")
# ISO-2022-JP and -KR, RFC 1468 and 1557
_ESCAPED: Final = re.compile(rb"\x1b(?:\$[@B]|\$\)C|\([BJ])")


class DecodedText(NamedTuple):
    """Text, and what it was written in."""

    text: str
    charset: str  # as mail names it, lower case: utf-8, us-ascii, windows-1251, koi8-r, gbk, ...


def decode(octets: bytes, charset: str, findings: Findings, *, second: str = "") -> DecodedText:
    """Return the text of octets; never raises.

    Args:
        octets: the text as sent, transfer encoding undone; perhaps cut inside a character.
        charset: as declared, lower case; empty = not declared.
        findings: gets charset-unknown, charset-wrong, charset-lies or body-8bit.
        second: what another place declares: a page of itself, a body for the header.

    """
    codec = codec_of(charset) if charset else "ascii"
    if codec is None:
        findings.add("charset-unknown", charset)
        codec = "ascii"
    if octets.isascii():
        return _of_ascii(octets, codec, charset, findings)
    wide = codec.startswith(_WIDE)
    if not wide and (text := _strictly(octets, "utf-8")) is not None:
        if (codec.startswith(_MULTIBYTE) and not _long_in_utf8(text)) or _is_one_character(
            octets, codec
        ):
            pass  # two characters of GBK may be UTF-8 by chance, and some Russian letters
        else:
            if codec not in {"ascii", "utf-8", "utf-8-sig"}:
                findings.add("charset-lies", f"{charset} is utf-8")
            elif not charset:
                findings.add("body-8bit")
            return DecodedText(text, "utf-8")
    declared = _strictly(octets, codec) if codec != "ascii" else None
    if declared is not None and (wide or _makes_words(octets, codec, findings)):
        return DecodedText(_without_surrogates(declared, codec), name_of(codec))
    if not charset:
        findings.add("body-8bit")
    guess = _guessed(
        octets, codec, declared is not None, codec_of(second) if second else None, findings
    )
    if guess is not None:
        text, guessed = guess
        if codec != "ascii" and name_of(codec) != name_of(guessed):
            findings.add("charset-lies", f"{charset} is {name_of(guessed)}")
        return DecodedText(_without_surrogates(text, guessed), name_of(guessed))
    if declared is not None:
        return DecodedText(_without_surrogates(declared, codec), name_of(codec))
    if codec == "ascii":
        return DecodedText(_strictly(octets, "cp1252") or octets.decode("latin-1"), "windows-1252")
    findings.add("charset-wrong", charset)
    try:
        return DecodedText(
            _without_surrogates(octets.decode(codec, "replace"), codec), name_of(codec)
        )
    # a codec without replacement, such as utf-16 with half a unit
    except (UnicodeError, ValueError):
        return DecodedText(octets.decode("latin-1"), "windows-1252")


def _of_ascii(octets: bytes, codec: str, charset: str, findings: Findings) -> DecodedText:
    """Return the text of octets below 128: what they seem, but for charsets that write all in
    them.
    """
    if (
        b"\x1b" in octets
        and _ESCAPED.search(octets)
        and (codec == "ascii" or codec in _ASCII_SUPERSETS)
    ):
        for escaping in ("iso2022_jp", "iso2022_kr"):
            text = _strictly(octets, escaping)
            if text is not None:
                if codec != "ascii":
                    findings.add("charset-lies", f"{charset} is {name_of(escaping)}")
                return DecodedText(text, name_of(escaping))
    if codec == "ascii" or codec in _ASCII_SUPERSETS:
        return DecodedText(octets.decode("ascii"), name_of(codec))
    text = _strictly(octets, codec)
    if text is None:
        findings.add("charset-wrong", charset)
        text = octets.decode("ascii")
    return DecodedText(_without_surrogates(text, codec), name_of(codec))


_ASCII_SUPERSETS: Final = frozenset(
    {
        "utf-8",
        "cp1252",
        "cp1251",
        "cp1250",
        "cp1254",
        "koi8-r",
        "koi8-u",
        "iso8859-2",
        "iso8859-5",
        "iso8859-15",
    }
)


def _strictly(octets: bytes, codec: str) -> str | None:
    """Return the text that a codec makes of octets, None when they are no text in it.

    A last character may be cut.
    """
    try:
        return octets.decode(codec)
    except UnicodeDecodeError as error:
        whole = octets[: error.start]
        if (
            error.start < len(octets) - CUT
            or whole.isascii()
            or not error.reason.startswith(_CUT_OFF)
        ):
            return None
    except (UnicodeError, ValueError):
        return None
    return whole.decode(codec)


_CUT_OFF: Final = ("unexpected end", "incomplete multibyte")  # as Python's decoders say it


def _long_in_utf8(text: str) -> bool:
    """Return whether so much of a text is UTF-8 that it is no chance."""
    return sum(character > "\u07ff" for character in text[: charset_guess.SAMPLE]) >= MIN_OCTETS


def _is_one_character(octets: bytes, codec: str) -> bool:
    """Return whether all that is not ASCII is one character of UTF-8, and two or three Cyrillic
    letters of a declared charset: the Russian "her" in KOI8-R.
    """
    if not codec.startswith(_CYRILLIC) or _outside(octets) > _THREE:
        return False
    text = octets.decode(codec, "replace")
    letters = all(character.isascii() or character.isalpha() for character in text)
    return letters and charset_guess.oddness(text, octets, codec) == 0


def _outside(octets: bytes) -> int:
    """Return how many octets are above 127."""
    return len(octets) - len(octets.translate(None, _HIGH))


_HIGH: Final = bytes(range(128, 256))
_THREE: Final = 3  # octets of one character, which is no two of two


def _makes_words(octets: bytes, codec: str, findings: Findings) -> bool:
    """Return whether what is declared is to be believed."""
    if codec in {"utf-8", "utf-8-sig", "utf-7"}:
        return True
    looked_at = charset_guess.sample(octets)
    if _outside(looked_at) < MIN_AGAINST or not findings.afford("charsets judged", 1, MAX_JUDGED):
        return True
    return charset_guess.oddness(looked_at.decode(codec, "ignore"), looked_at, codec) < DOUBTED


def _guessed(
    octets: bytes, codec: str, holds: bool, second: str | None, findings: Findings
) -> tuple[str, str] | None:
    """Return the text and the codec that octets are in, None when nothing is better than what is
    declared.
    """
    looked_at = charset_guess.sample(octets)
    if (
        second is not None
        and codec == "ascii"
        and (text := _strictly(octets, second)) is not None
        and charset_guess.oddness(looked_at.decode(second, "ignore"), looked_at, second) < ODD
    ):
        return text, second
    if _outside(looked_at) < MIN_OCTETS or not findings.afford("charsets guessed", 1, MAX_GUESSES):
        return None
    best: tuple[str, str] | None = None
    least = ODD
    if holds:
        least = (
            charset_guess.oddness(looked_at.decode(codec, "ignore"), looked_at, codec) - LESS_ODD
        )
    elif codec in {"utf-8", "utf-8-sig"} and _mostly_whole(looked_at):
        return None  # a few broken characters; the rest is what it says
    for candidate in (second or codec, *charset_guess.guess(looked_at)):
        if candidate in {codec, "ascii"}:
            continue
        odd = charset_guess.oddness(looked_at.decode(candidate, "ignore"), looked_at, candidate)
        if odd < least and (text := _strictly(octets, candidate)) is not None:
            best, least = (text, candidate), odd
            if odd < LESS_ODD:
                break
    return best


def _mostly_whole(octets: bytes) -> bool:
    """Return whether most characters outside ASCII are whole in UTF-8."""
    text = octets.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return broken * 2 < sum(not character.isascii() for character in text)


def _without_surrogates(text: str, codec: str) -> str:
    """Return `text` without lone surrogates, which utf-7 and utf-16 can smuggle in."""
    if not codec.startswith(_MAY_HOLD_SURROGATES):
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


_MAY_HOLD_SURROGATES: Final = (*_WIDE, "utf-7", "hz", "iso2022")
