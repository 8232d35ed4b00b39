"""Header fields of a message or part (RFC 5322 s2.2), from octets with LF line ends.

A field is `name: value` with its folded lines. The fields end at an empty line, or at the first
line that is no field: as in the standard library's parser, the body starts there. A leading mbox
line ("From ...") is no field and is passed over. Octets that are neither ASCII nor UTF-8 are read
together, in the charset of the text they head or by a guess, as mail clients do.

The native core, where it was built, reads fields that have nothing odd in them, up to the first
that has; that one is read here. All can be, and come out the same.

Limits: the octets of one field and the number of fields, from `ParserLimits`; beyond them the
fields still end where they end.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from oborona.message import charsets
from oborona.message.findings import Findings
from oborona.message.limits import ParserLimits
from oborona.message.model import HeaderField
from oborona.message.rfc2047 import decode_words

if TYPE_CHECKING:
    from collections.abc import Callable

    PlainFields = Callable[
        [bytes, int, int, int, int, type[HeaderField]], tuple[list[HeaderField], int]
    ]
    plain_fields: PlainFields | None
else:
    try:
        from oborona._core import plain_fields
    except ImportError:  # it could not be built here
        plain_fields = None

# octets of a field's name that are kept: names are remembered in several places; honest ones have
# 50
MAX_NAME: Final = 200
# Possessive: what may be taken back costs 40 octets of memory for each line of a field.
_FIELD: Final = re.compile(rb"([!-9;-~]++)[ \t]*+:[ \t]*+([^\n]*+(?>\n[ \t][^\n]*+)*+)\n?+")
_FIELDS: Final = re.compile(rb"(?>[!-9;-~]++[ \t]*+:[^\n]*+(?>\n[ \t][^\n]*+)*+\n?+)++")
_MBOX_LINE: Final = re.compile(rb">?From [^\n]*\n?")
_CHARSET: Final = re.compile(rb"charset\s*=\s*\"?\s*([a-zA-Z0-9_:.-]{1,40})", re.IGNORECASE)
_FOLD: Final = re.compile(r"[\r\n]+[ \t]*")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]+")


def split(
    data: bytes,
    start: int,
    end: int,
    limits: ParserLimits,
    findings: Findings,
    plain: PlainFields | None = plain_fields,
) -> tuple[tuple[HeaderField, ...], int]:
    """Return the fields in `data[start:end]` and where the body begins; never raises.

    Args:
        data: octets with LF line ends.
        start: where the entity begins.
        end: where it ends.
        limits: for the length and number of fields.
        findings: gets header-broken, header-too-long, header-too-many, header-nul, header-8bit.
        plain: what reads fields that have nothing odd in them, if anything does.

    """
    headers: list[HeaderField] = []
    doubtful: list[int] = []  # places of those in octets that say nothing of their charset
    position = start
    mbox = _MBOX_LINE.match(data, start, end)
    if mbox:
        position = mbox.end()
    match_field = _FIELD.match
    while position < end:
        if plain is not None:
            room = limits.headers - len(headers)
            read, position = plain(data, position, end, room, limits.header_octets, HeaderField)
            headers += read
            if position >= end:
                break
        match = match_field(data, position, end)
        if match is None:
            if data[position : position + 1] == b"\n":
                return _settled(headers, doubtful, findings), position + 1
            findings.add("header-broken", data[position : position + 80])
            return _settled(headers, doubtful, findings), position
        if len(headers) >= limits.headers:
            findings.add("header-too-many")
            position = _FIELDS.match(data, position, end).end()  # type: ignore[union-attr]  # one matched just now
            continue
        position = match.end()
        name, raw = match.groups()
        if len(raw) > limits.header_octets:
            findings.add("header-too-long", name)
            raw = raw[: limits.header_octets]
        text = _text(raw)
        if text is None:
            doubtful.append(len(headers))
        headers.append(
            HeaderField(_lower(name[:MAX_NAME]), raw, unfold(text, findings) if text else "")
        )
    return _settled(headers, doubtful, findings), end


@lru_cache(maxsize=2048)
def _lower(name: bytes) -> str:
    return name.decode("ascii").lower()


def _text(raw: bytes) -> str | None:
    """Return the text of octets in ASCII or UTF-8 (RFC 6532), None for others."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _settled(
    headers: list[HeaderField], doubtful: list[int], findings: Findings
) -> tuple[HeaderField, ...]:
    """Return the fields of a part, with the text of those in doubt."""
    if not doubtful:
        return tuple(headers)
    findings.add("header-8bit", headers[doubtful[0]].raw)
    declared = (_CHARSET.search(header.raw) for header in headers if header.name == "content-type")
    charset = next((match[1].decode("ascii").lower() for match in declared if match), "")
    octets = b"\n".join(headers[place].raw for place in doubtful)
    lines = charsets.decode(octets, "us-ascii", findings, second=charset).text.split("\n")
    position = 0
    for place in doubtful:
        header = headers[place]
        end = position + header.raw.count(b"\n") + 1
        headers[place] = HeaderField(
            header.name, header.raw, unfold("\n".join(lines[position:end]), findings)
        )
        position = end
    return tuple(headers)


def unfold(text: str, findings: Findings) -> str:
    """Return a field's value: one line, encoded words decoded, no control characters."""
    if "=?" not in text and text.isprintable():  # nearly all
        return text.strip()
    if "\n" in text:
        text = _FOLD.sub(" ", text)
    if "\x00" in text:
        findings.add("header-nul", text)
    if not text.isprintable():
        text = _CONTROLS.sub("", text)
    if "=?" in text:
        text = decode_words(text, findings)
        if not text.isprintable():
            text = _CONTROLS.sub(" ", text)
    return text.strip()


def undecoded(header: HeaderField) -> str:
    """Return a field's text with its encoded words as sent, so that an encoded quote or comma is no
    syntax.
    """
    if b"=?" not in header.raw:
        return header.value
    return header.raw.decode("utf-8", "replace").replace("\n", "")


def first(headers: tuple[HeaderField, ...], name: str) -> HeaderField | None:
    """Return the first field called `name` (lower case)."""
    for header in headers:
        if header.name == name:
            return header
    return None
