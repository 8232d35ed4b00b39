"""The pieces of a message that tell who sent it: what the mail server saw of the client and its
envelope, what the message says of itself, and what of that was proved.

Limits: `MAX_*` of each kind per message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from oborona import domains
from oborona.client_network import client_network
from oborona.message.hashing import ShingleType
from oborona.message.model import HeaderField, Message
from oborona.message.normalise import normalise
from oborona.types import Envelope, Location, ProvedIdentity

# The program that wrote a message, by its own word: X-Mailer or User-Agent, without what changes
# from one build of it to the next.
#
#     Microsoft Outlook Express 6.00.2800.1106      microsoft outlook express 6
#     iPhone Mail (16G77)                           iphone mail
#     Mozilla/5.0 (X11; U; rv:1.4) Gecko/20030624   mozilla/5 gecko
#
# Of a version the major number stays: forgers copy one program and keep to it, and its people move
# on together. What stands in brackets is systems, languages and builds. The name alone counts,
# whatever its letters look like. Fields as sent are for rules, by the fact `mailer`.

MAX_CHARACTERS: Final = 200  # of the field: the longest of browsers' names
MIN_LETTERS: Final = 3  # of what is left: "pine" has four

_BRACKETED: Final = re.compile(r"[(\[<{][^()\[\]<>{}]*(?:[)\]>}]|\Z)")
# 6.00.2800.1106, v2.00, 3.44.4-0ubuntu2
_VERSION: Final = re.compile(r"(?<![^\W\d_])v?(\d+)(?:[._-]\w*)*")
# 7/13/2001; 20030624; 8f3a9c1e; words that say no more than that a version follows
_BUILD: Final = re.compile(
    r"\d+/\d+/\d+|\d{5,}|(?<!\w)(?=[^\W\d]*+\d)(?=\d*+[^\W\d])\w{8,}|\b(?:version|ver|build|release|rev|v)\b"
)
_LOOSE: Final = re.compile(r"[/:;,.\-\s]+(?=\s|\Z)|(?<!\S)[/:;,.\-]+")


def program(message: Message) -> str:
    """Return the program's name and major version, normalised.

    Empty when it says none of `MIN_LETTERS`.
    """
    stated = message.get("x-mailer") or message.get("user-agent")
    if not stated:
        return ""
    name = normalise(stated[:MAX_CHARACTERS])
    name = _BRACKETED.sub(" ", _BRACKETED.sub(" ", name))  # brackets in brackets
    name = _VERSION.sub(_major, _BUILD.sub("", name))
    name = " ".join(_LOOSE.sub(" ", name).split())
    return name if sum(map(str.isalpha, name)) >= MIN_LETTERS else ""


def _major(version: re.Match[str]) -> str:
    return version[1].lstrip("0") or "0"


# The order in which the program that composed a message wrote its header: programs differ in it,
# and those of spammers from those they imitate.
#
# Only fields that a composing program writes are looked at, so that nothing counts which mail
# servers, filters and lists add on the way (Received, DKIM-Signature, ARC, X-Spam...) or a spammer
# invents (X-Qzw7). Nor what says whom one letter answers and who else gets it: In-Reply-To,
# References, Cc. So a program's first letter and its answer are alike.

MIN_FIELDS: Final = 6  # From, To, Subject, Date and one more are in everybody's order by chance
MAX_FIELDS: Final = 30  # more than all of them, each once

COMPOSED: Final = frozenset({
    "from", "sender", "reply-to", "to", "subject", "date", "message-id", "mime-version", "content-type", "content-transfer-encoding",
    "content-disposition", "content-language", "content-class", "user-agent", "x-mailer", "x-priority", "x-msmail-priority", "priority",
    "importance", "sensitivity", "x-mimeole", "organization", "accept-language", "disposition-notification-to",
    "return-receipt-to", "errors-to", "precedence", "auto-submitted", "feedback-id", "list-id", "list-unsubscribe", "list-unsubscribe-post",
    "list-help", "list-post", "list-subscribe", "x-campaign", "x-campaignid", "x-php-originating-script", "x-unsent",
})  # fmt: skip
"""Fields that count, lower case."""


def order(headers: tuple[HeaderField, ...]) -> str:
    """Return the names of the fields that count, in order, with spaces between.

    Empty when they are fewer than `MIN_FIELDS`.
    """
    names = [header.name for header in headers if header.name in COMPOSED][:MAX_FIELDS]
    return " ".join(names) if len(names) >= MIN_FIELDS else ""


MIN_NAME: Final = 3  # characters of a display name

MAX_REPLY_TO: Final = 5


def of_envelope(envelope: Envelope, location: Location) -> Iterator[tuple[ShingleType, str]]:
    """Yield the pieces that are known before the message comes; some may be empty."""
    client = envelope.client
    yield ShingleType.CLIENT_IP, client.ip
    yield ShingleType.CLIENT_NETWORK, client_network(client.ip)
    name = client.name.lower().rstrip(".")
    if name:
        yield ShingleType.RDNS, name
        yield ShingleType.RDNS_DOMAIN, domains.registrable(name) if "." in name else ""
    yield ShingleType.HELO, envelope.helo.lower().rstrip(".")
    sender = envelope.sender.lower()
    yield ShingleType.MAIL_FROM, sender
    yield ShingleType.MAIL_FROM_DOMAIN, sender.rpartition("@")[2] if "@" in sender else ""
    yield ShingleType.COUNTRY, location.country
    yield ShingleType.AS_NUMBER, str(location.as_number) if location.as_number else ""


def of_proved(identity: ProvedIdentity) -> Iterator[tuple[ShingleType, str]]:
    """Yield what was proved of the sender; some may be empty."""
    yield ShingleType.AUTHOR, identity.author
    yield ShingleType.AUTHOR_DOMAIN, identity.author_domain
    yield ShingleType.PROVED_SENDER, identity.sender
    yield ShingleType.ACCOUNT, identity.account


def of_message(message: Message) -> Iterator[tuple[ShingleType, str]]:
    """Yield the pieces of the header; some may be empty."""
    if message.from_ is not None:
        box = message.from_
        yield ShingleType.FROM, box.address.lower()
        yield ShingleType.FROM_DOMAIN, domains.registrable(box.domain) if box.domain else ""
        name = normalise(box.name)
        yield ShingleType.FROM_NAME, name if len(name) >= MIN_NAME else ""
    for box in message.reply_to[:MAX_REPLY_TO]:
        yield ShingleType.REPLY_TO, box.address.lower()
    ident = message.message_id
    yield ShingleType.MESSAGE_ID_DOMAIN, ident.rpartition("@")[2].lower() if "@" in ident else ""
    yield ShingleType.MAILER, program(message)
    yield ShingleType.HEADER_ORDER, order(message.headers)
