"""What a reader sees of an invitation (iCalendar, RFC 5545) and of a card (vCard, RFC 6350): values
of the fields that people read.

Both are content lines `NAME;parameters:value`, folded like headers. Of events and to-dos the
summary, place, description, comment, contact, organiser and link; of cards the name, organisation,
title, note, address, telephone, e-mail and link. Lines in their order, each value once. Alarms
speak to programs and are passed over.

icalendar 7.3 reads all of RFC 5545; it takes 90 ms to load, and raises on what is broken, where
calendar programs show the rest.

Limits: `MAX_TEXT` characters, `MAX_VALUES` values; quoted-printable of vCard 2.1 stays as it is, a
description in HTML (X-ALT-DESC) is not read.
"""

from __future__ import annotations

import re
from typing import Final

MAX_TEXT: Final = 64 << 10  # characters: a calendar of 100 events
MAX_VALUES: Final = 100

_FOLD: Final = re.compile(r"\r?\n[ \t]")
_LINE: Final = re.compile(
    r"^(?:[\w-]{1,40}\.)?(BEGIN|END|SUMMARY|LOCATION|DESCRIPTION|COMMENT|CONTACT|ORGANIZER|URL|FN|ORG|TITLE|NOTE|TEL|EMAIL|ADR)"
    r"((?>;(?>[^\":;\r\n]++|\"[^\"\r\n]*+\")*+)*+):([^\r\n]*+)",
    re.MULTILINE | re.IGNORECASE,
)
_NAME: Final = re.compile(r"\bCN=(?:\"([^\"]*)\"|([^;:]*))", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPED: Final = {"n": "\n", "N": "\n"}


def read(text: str) -> str:
    """Return what people read of a calendar or a card, a line for each value; never raises.

    Args:
        text: of the file.

    """
    values: dict[str, None] = {}
    alarm = False
    for line in _LINE.finditer(_FOLD.sub("", text[:MAX_TEXT])):
        name, parameters, value = line[1].upper(), line[2], line[3].strip()
        if name in {"BEGIN", "END"}:
            if value.upper() == "VALARM":
                alarm = name == "BEGIN"
            continue
        if alarm or not value or len(values) >= MAX_VALUES:
            continue
        if name in {"ORG", "ADR"}:
            value = " ".join(part for part in value.split(";") if part)
        value = _ESCAPE.sub(lambda escaped: _ESCAPED.get(escaped[1], escaped[1]), value)
        if name == "ORGANIZER":
            match = _NAME.search(parameters)
            value = (
                f"{(match[1] or match[2] or '') if match else ''} "
                f"{value.removeprefix('mailto:').removeprefix('MAILTO:')}"
            )
        values[value.strip()] = None
    return "\n".join(filter(None, values))
