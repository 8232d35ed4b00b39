"""Encoded words in headers (RFC 2047), and charsets as people declare them.

`=?charset?B?...?=` and `=?charset?Q?...?=` become text; white space between two of them is no text (s6.2). Adjacent
words of one charset are joined as octets before they are decoded, as many senders split a character in two.
Words stand anywhere, also inside quotes and words, where RFC 2047 forbids them: every mail client shows them decoded.

Limits: a word in an unknown charset or with broken code stays as it was written, and is a finding; so do all words beyond
`MAX_ENCODED` characters of a message.
"""

from __future__ import annotations

import binascii
import codecs
import re
from functools import lru_cache
from typing import Final

from oborona.message.findings import Findings

_WORD: Final = re.compile(
    r"=\?([^?\s*]{1,40})(?:\*[^?\s]{0,20})?\?([bBqQ])\?([^?]*)\?="
)  # *lang: RFC 2231 s5
MAX_ENCODED: Final = (
    512 << 10
)  # characters of all fields and parameters of a message that hold encoded words: 60 ms
_Q_CODE: Final = re.compile(rb"=([0-9A-Fa-f]{2})")
_ALIASES: Final = {  # what senders write, and what they mean
    "ansi_x3.4-1968": "ascii",
    "iso-8859-8-i": "iso-8859-8",
    "iso-8859-8-e": "iso-8859-8",
    "x-mac-roman": "mac-roman",
    "x-sjis": "shift_jis",
    "x-gbk": "gbk",
    "unicode-1-1-utf-7": "utf-7",
    "utf8mb4": "utf-8",
    "x-unknown": "ascii",
    "unknown-8bit": "ascii",
    "default": "ascii",
    "ks_c_5601-1987": "cp949",
    "gb2312": "gb18030",  # senders of GB2312 use its supersets
    "gbk": "gb18030",
    "iso-8859-1": "cp1252",  # as browsers and mail clients read it (WHATWG Encoding s4.2)
    "latin-1": "cp1252",
    "latin1": "cp1252",
    "us-ascii": "ascii",
}
_ESCAPES_TOO: Final = frozenset(
    {"utf_7", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"}
)
_NOT_TEXT: Final = _ESCAPES_TOO - {"utf_7"}  # codecs of Python that are no charset of mail


@lru_cache(maxsize=512)
def charset_codec(charset: str) -> str | None:
    """Return the Python codec for a declared charset, None when there is none; `charset` in lower case."""
    name = _ALIASES.get(charset, charset)
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError, UnicodeError):
        return None
    if not getattr(info, "_is_text_encoding", True) or info.name.replace("-", "_") in _NOT_TEXT:
        return None
    return info.name


def decode_octets(octets: bytes, charset: str, findings: Findings) -> str:
    """Return text for octets in a declared charset; never raises.

    Args:
        octets: the text as sent, transfer encoding undone.
        charset: as declared, lower case; empty = not declared.
        findings: gets charset-unknown, charset-wrong or body-8bit.

    """
    if octets.isascii() and (not charset or charset in _ASCII_SUPERSETS):
        return octets.decode("ascii")
    codec = charset_codec(charset) if charset else "ascii"
    if codec is None:
        findings.add("charset-unknown", charset)
        codec = "ascii"
    if codec != "ascii":
        try:
            return _whole(octets.decode(codec))
        except (UnicodeError, ValueError):
            findings.add("charset-wrong", charset)
            try:
                return _whole(octets.decode(codec, "replace"))
            except (UnicodeError, ValueError):
                pass  # a codec without replacement, such as utf-16 with half a unit
    if octets.isascii():
        return octets.decode("ascii")
    if not charset:
        findings.add("body-8bit")
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return octets.decode("latin-1")


_ASCII_SUPERSETS: Final = frozenset(
    {
        "us-ascii",
        "ascii",
        "utf-8",
        "iso-8859-1",
        "iso-8859-2",
        "iso-8859-15",
        "windows-1252",
        "windows-1251",
        "koi8-r",
    }
)


def _whole(text: str) -> str:
    """Return `text` without lone surrogates, which utf-7 and utf-16 can smuggle in."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def decode_words(value: str, findings: Findings) -> str:
    """Return `value` with its encoded words decoded; never raises.

    Source: RFC 2047 s2, s4, s6.2.
    """
    if "=?" not in value:
        return value
    if not findings.afford("encoded words", len(value), MAX_ENCODED):
        findings.add("header-too-long", "encoded words")
        return value
    pieces: list[str] = []
    pending: list[bytes] = []  # octets of adjacent words in one charset
    charset = ""
    end = 0
    for match in _WORD.finditer(value):
        between = value[end : match.start()]
        octets = _word_octets(match[2], match[3])
        known = charset_codec(match[1].lower()) is not None
        if octets is None or not known:
            findings.add("header-encoding-broken" if known else "charset-unknown", match[0])
            continue
        if between.strip() or not end:
            pieces.append(_joined(pending, charset, findings))
            pending = []
            pieces.append(between)
        if pending and match[1].lower() != charset:
            pieces.append(_joined(pending, charset, findings))
            pending = []
        charset = match[1].lower()
        pending.append(octets)
        end = match.end()
    pieces.append(_joined(pending, charset, findings))
    pieces.append(value[end:])
    return "".join(pieces)


def _joined(octets: list[bytes], charset: str, findings: Findings) -> str:
    return decode_octets(b"".join(octets), charset, findings) if octets else ""


def _word_octets(encoding: str, encoded: str) -> bytes | None:
    """Return the octets of one encoded word, None when its code is broken."""
    try:
        data = encoded.encode("ascii")
    except UnicodeEncodeError:
        return None
    if encoding in "qQ":
        return _Q_CODE.sub(lambda code: bytes.fromhex(code[1].decode()), data.replace(b"_", b" "))
    try:
        return binascii.a2b_base64(data + b"=" * (-len(data) % 4))
    except binascii.Error:
        return None
