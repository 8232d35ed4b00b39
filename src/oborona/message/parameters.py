"""Structured fields of MIME: a value and its parameters (RFC 2045 s5.1, RFC 2183), with RFC 2231
continuations.

    text/plain; charset="utf-8"; name*0*=utf-8''%D0%BE; name*1=tchet.txt

Parameters are looked for rather than parsed, as real ones are broken in every way: unquoted spaces,
missing semicolons, encoded words in quotes (RFC 2047 forbids them; every mail client decodes them).
The first of two equal names counts.

Limits: 100 parameters and 64 kB, as the header itself is limited.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_to_bytes

from oborona.message import charsets
from oborona.message.findings import Findings
from oborona.message.rfc2047 import decode_words

_SEPARATORS: Final = re.compile(r"[;\s]*")
_PARAMETER: Final = re.compile(  # possessive: nothing is tried twice
    r"([^\s=;\"]{1,60}+)\s*+=\s*+(?:\"((?>[^\"\\]++|\\.)*+)(?:\"|\\?$)|([^;]*+))",
    re.DOTALL,
)
_CONTINUATION: Final = re.compile(r"([^*]+)\*(?:(\d{1,2})(\*)?)?$")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
# real fields have up to 10; RFC 2231 continuations of long names up to 20
MAX_PARAMETERS: Final = 100


def parse(value: str, findings: Findings) -> tuple[str, dict[str, str]]:
    """Return the value before the first semicolon, in lower case, and the parameters by lower-case
    name.

    Args:
        value: the field, unfolded, encoded words *not* decoded.
        findings: of charsets and codes inside the parameters.

    """
    main, semicolon, _ = value.partition(";")
    parameters: dict[str, str] = {}
    continued: dict[str, dict[int, tuple[str, bool]]] = {}
    position = len(main) + len(semicolon)
    for _ in range(MAX_PARAMETERS):
        position = _SEPARATORS.match(value, position).end()  # type: ignore[union-attr]  # matches nothing, too
        match = _PARAMETER.match(value, position)
        if match is None:
            position = value.find(";", position)
            if position < 0:
                break
            continue
        position = match.end()
        name = match[1].lower()
        quoted, bare = match[2], match[3]
        text = _ESCAPED.sub(r"\1", quoted) if quoted is not None else bare.strip()
        continuation = _CONTINUATION.match(name) if "*" in name else None
        if continuation is None:
            parameters.setdefault(name, decode_words(text, findings))
        else:
            number = int(continuation[2] or 0)
            encoded = continuation[2] is None or continuation[3] is not None
            continued.setdefault(continuation[1], {}).setdefault(number, (text, encoded))
    for name, sections in continued.items():
        parameters[name] = _join(
            sections, findings
        )  # the extended form wins (RFC 6266 s4.3 says so of its own)
    return main.strip().lower(), parameters


def _join(sections: dict[int, tuple[str, bool]], findings: Findings) -> str:
    """Return the text of the sections of one parameter. Source: RFC 2231 s3, s4.1."""
    charset = ""
    octets: list[bytes] = []
    for number in sorted(sections):
        text, encoded = sections[number]
        if not encoded:
            octets.append(text.encode("utf-8", "replace"))
            continue
        if number == 0 and text.count("'") >= 2:
            charset, _, text = text.split("'", 2)
        octets.append(unquote_to_bytes(text))
    return charsets.decode(b"".join(octets), charset.lower()[:40] or "utf-8", findings).text
