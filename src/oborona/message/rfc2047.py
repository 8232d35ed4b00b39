"""Encoded words in headers (RFC 2047).

`=?charset?B?...?=` and `=?charset?Q?...?=` become text; white space between two of them is no text
(s6.2). Adjacent words of one charset are joined as octets before they are decoded, as many senders
split a character in two. Words stand anywhere, also inside quotes and words, where RFC 2047 forbids
them: every mail client shows them decoded.

Limits: a word in an unknown charset or with broken code stays as it was written, and is a finding;
so do all words beyond `MAX_ENCODED` characters of a message.
"""

from __future__ import annotations

import binascii
import re
from typing import Final

from oborona.message import charsets
from oborona.message.charset_names import codec_of
from oborona.message.findings import Findings

_WORD: Final = re.compile(
    r"=\?([^?\s*]{1,40})(?:\*[^?\s]{0,20})?\?([bBqQ])\?([^?]*)\?="
)  # *lang: RFC 2231 s5
MAX_ENCODED: Final = (
    512 << 10
)  # characters of all fields and parameters of a message that hold encoded words: 60 ms
_Q_CODE: Final = re.compile(rb"=([0-9A-Fa-f]{2})")


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
        is_known = codec_of(match[1].lower()) is not None
        if octets is None or not is_known:
            findings.add("header-encoding-broken" if is_known else "charset-unknown", match[0])
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
    return charsets.decode(b"".join(octets), charset, findings).text if octets else ""


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
