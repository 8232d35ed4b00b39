"""Header fields of a message or part (RFC 5322 s2.2), from octets with LF line ends.

A field is `name: value` with its folded lines. The fields end at an empty line, or at the first line that is no field:
as in the standard library's parser, the body starts there. A leading mbox line ("From ...") is no field and is passed over.

Limits: the octets of one field and the number of fields, from `Limits`; beyond them the fields still end where they end.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from oborona.message.findings import Findings
from oborona.message.limits import Limits
from oborona.message.model import Header
from oborona.message.rfc2047 import decode_words

_FIELD: Final = re.compile(rb"([!-9;-~]+)[ \t]*:[ \t]*([^\n]*(?:\n[ \t][^\n]*)*)\n?")
_MBOX_LINE: Final = re.compile(rb">?From [^\n]*\n?")
_FOLD: Final = re.compile(r"[\r\n]+[ \t]*")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]+")


def split(
    data: bytes, start: int, end: int, limits: Limits, findings: Findings
) -> tuple[tuple[Header, ...], int]:
    """Return the fields in `data[start:end]` and where the body begins; never raises.

    Args:
        data: octets with LF line ends.
        start: where the entity begins.
        end: where it ends.
        limits: for the length and number of fields.
        findings: gets header-broken, header-too-long, header-too-many, header-nul, header-8bit.

    """
    headers: list[Header] = []
    position = start
    mbox = _MBOX_LINE.match(data, start, end)
    if mbox:
        position = mbox.end()
    match_field = _FIELD.match
    while position < end:
        match = match_field(data, position, end)
        if match is None:
            if data[position : position + 1] == b"\n":
                return tuple(headers), position + 1
            findings.add("header-broken", data[position : position + 80])
            return tuple(headers), position
        position = match.end()
        if len(headers) >= limits.headers:
            findings.add("header-too-many")
            continue
        name, raw = match.groups()
        if len(raw) > limits.header_octets:
            findings.add("header-too-long", name)
            raw = raw[: limits.header_octets]
        headers.append(Header(_lower(name), raw, unfold(raw, findings)))
    return tuple(headers), end


@lru_cache(maxsize=2048)
def _lower(name: bytes) -> str:
    return name.decode("ascii").lower()


def unfold(raw: bytes, findings: Findings) -> str:
    """Return the text of a field's value: one line, encoded words decoded, no control characters."""
    try:
        text = raw.decode("ascii")
    except UnicodeDecodeError:
        try:
            text = raw.decode("utf-8")  # RFC 6532
        except UnicodeDecodeError:
            findings.add("header-8bit", raw)
            text = raw.decode("latin-1")
    if "=?" not in text and text.isprintable():  # nearly all
        return text.strip()
    if "\n" in text:
        text = _FOLD.sub(" ", text)
    if "\x00" in text:
        findings.add("header-nul", raw)
    if not text.isprintable():
        text = _CONTROLS.sub("", text)
    if "=?" in text:
        text = decode_words(text, findings)
        if not text.isprintable():
            text = _CONTROLS.sub(" ", text)
    return text.strip()


def undecoded(header: Header) -> str:
    """Return a field's text with its encoded words as sent, so that an encoded quote or comma is no syntax."""
    if b"=?" not in header.raw:
        return header.value
    return header.raw.decode("utf-8", "replace").replace("\n", "")


def first(headers: tuple[Header, ...], name: str) -> Header | None:
    """Return the first field called `name` (lower case)."""
    for header in headers:
        if header.name == name:
            return header
    return None
