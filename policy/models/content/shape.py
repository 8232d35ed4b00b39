"""How a message is made, whatever its words: few things, each of which many messages share, so that
few examples teach them.

Each is a short text, `kind:value`, which also explains it. Numbers are rough: their logarithm, or
tenths.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from oborona.message.model import HeaderField, Message

LOOKED_AT: Final = 4000  # characters of the text
MANY: Final = 40  # links, attachments, lines of the skeleton and the like, that are looked at
VALUE: Final = 60  # characters of one value

_RUN: Final = re.compile(r"(.)\1+")
_KINDS: Final = bytes(
    ord("0")
    if 48 <= octet < 58
    else ord("A")
    if 65 <= octet < 91
    else ord("a")
    if 97 <= octet < 123
    else octet
    for octet in range(256)
)


def read_shape(message: Message, fields: Sequence[HeaderField]) -> list[str]:
    """Return the shape of a message.

    Args:
        message: any.
        fields: those of its header that count; hops don't: on its way to the mailbox a message gets
            more of them than it had at the door.
    """
    names = [header.name for header in fields if header.name != "received"]
    return [
        *(f"has:{name}" for name in names),
        *(f"after:{first}>{second}" for first, second in pairwise(names)),
        "order:" + "|".join(names)[:400],
        f"fields:{len(names) // 4}",
        *_sender(message),
        *_fields({header.name: header for header in reversed(fields)}),
        *_subject(message.subject),
        *_text(message.text[:LOOKED_AT], len(message.text)),
        *_body(message),
    ]


def pattern(text: str) -> str:
    """Return what kinds of characters a text is made of: `Ab12-x` is `Aa0-a`."""
    octets = text[:VALUE].encode("utf-8", "replace").translate(_KINDS)
    return _RUN.sub(r"\1", octets.decode("utf-8", "replace"))


def _sender(message: Message) -> list[str]:
    box = message.from_
    if box is None:
        return ["from:none"]
    return [
        "from:" + box.address.lower()[:VALUE],
        "domain:" + box.domain[:VALUE],
        "name:" + box.name.lower()[:VALUE],
        "local:" + pattern(box.address.partition("@")[0]),
        "tld:" + box.domain.rpartition(".")[2][:VALUE],
        "letters of name:" + pattern(box.name),
        f"reply to:{min(2, len(message.reply_to))}",
        f"recipients:{_log(len(message.recipients))}",
    ]


def _fields(by_name: dict[str, HeaderField]) -> list[str]:
    def value(name: str) -> str:
        header = by_name.get(name)
        return header.value[:200] if header else ""

    ident, kind, mailer = (
        value("message-id"),
        value("content-type"),
        value("x-mailer") or value("user-agent"),
    )
    return [
        "id:" + pattern(ident.partition("@")[0]),
        "id tld:" + ident.rstrip("> ").rpartition(".")[2][:6],
        "zone:" + value("date").rpartition(":")[2][2:14].strip(),
        "date:" + pattern(value("date")),
        "type:" + kind.lower()[:VALUE],
        "boundary:" + pattern(kind.partition("oundary=")[2]),
        "encoding:" + value("content-transfer-encoding").lower()[:20],
        "mailer:" + mailer.partition("/")[0].partition(" ")[0].lower()[:20],
        "priority:" + value("x-priority")[:3],
        "to:" + pattern(value("to")),
    ]


def _subject(subject: str) -> list[str]:
    letters = sum(map(str.isalpha, subject[:200]))
    return [
        f"subject length:{_log(len(subject))}",
        f"subject capitals:{sum(map(str.isupper, subject[:200])) * 10 // max(1, letters)}",
        f"subject digits:{min(3, sum(map(str.isdigit, subject[:200])))}",
        (
            f"subject marks:{min(3, subject.count('!'))} {'$' in subject} {'?' in subject} "
            f"{'   ' in subject}"
        ),
        "subject begins:" + subject[:3].lower(),
        f"subject ascii:{subject.isascii()}",
    ]


def _text(text: str, length: int) -> list[str]:
    octets = np.frombuffer(text.encode("latin-1", "replace"), np.uint8)
    counted = np.bincount(octets, minlength=256)
    capitals, small, digits = (
        int(counted[65:91].sum()),
        int(counted[97:123].sum()),
        int(counted[48:58].sum()),
    )
    return [
        f"length:{_log(length)}",
        f"capitals:{min(9, capitals * 20 // max(1, capitals + small))}",
        f"digits:{min(9, digits * 20 // max(1, len(text)))}",
        f"ascii:{int(counted[:128].sum()) * 10 // max(1, len(text))}",
        *(f"{mark!r}:{_log(int(counted[ord(mark)]))}" for mark in "!$?%>\n"),
    ]


def _body(message: Message) -> list[str]:
    links = message.links[:MANY]
    return [
        "tree:" + message.mime_tree[:VALUE],
        "charset:" + message.charset[:VALUE],
        "language:" + message.language,
        f"links:{_log(len(message.links))}",
        f"attachments:{min(3, len(message.attachments))}",
        f"hidden:{_log(len(message.hidden_text))}",
        *(f"finding:{finding.name}" for finding in message.findings),
        *(f"host:{link.host[:VALUE]}" for link in links),
        *(f"domain:{link.domain[:VALUE]}" for link in links),
        *(f"link tld:{link.domain.rpartition('.')[2][:VALUE]}" for link in links),
        *{f"link in:{link.place}" for link in links},
        *(f"file:{attached.extension[:VALUE]}" for attached in message.attachments[:MANY]),
        *(
            f"page:{line[:VALUE]}"
            for line in message.skeleton[:LOOKED_AT].split("\n")[:MANY]
            if line
        ),
    ]


def _log(number: int) -> int:
    return number.bit_length()
