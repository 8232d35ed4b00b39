"""The headers that tell an engine which reads headers alone what our own envelope knows:
Return-Path, and the Received of this mail server; pure.

SpamAssassin learns who the client is from the topmost Received, and a milter sees a message before
Postfix has written it.  It is written as Postfix does:

    Received: from HELO (NAME [ADDRESS])
    <tab>by SITE (Postfix) with ESMTP id QUEUE
    <tab>for <RECIPIENT>; Sun, 22 Nov 2026 18:00:00 +0000

What a peer gave stands in it only as far as it is made of the letters of names, so that no HELO can
forge another address.

Source: RFC 5321 section 4.4; Mail::SpamAssassin::Message::Metadata::Received reads it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import format_datetime
from ipaddress import IPv6Address, ip_address
from typing import Final

from oborona.message.received import NOBODY
from oborona.types import Envelope

MAX_NAME: Final = 253  # characters of a host's name
MAX_ADDRESS: Final = 320

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9._-]")
_LITERAL: Final = re.compile(r"\[(?:IPv6:)?[0-9A-Fa-f:.]{2,45}\]")
_NO_ADDRESS: Final = re.compile(r"[^!-~]|[<>()\[\]\\,;:\"]")


def trace_headers(envelope: Envelope, site: str, now: float) -> bytes:
    """Return the headers, with CRLF.

    Args:
        envelope: of the message.
        site: our name.
        now: Unix seconds.
    """
    shown = NOBODY if envelope.client.unknown else _address(envelope.client.ip)
    login = f"\r\n\t(Authenticated sender: {_mailbox(envelope.login)})" if envelope.login else ""
    recipient = (
        f"\r\n\tfor <{_mailbox(envelope.recipients[0])}>" if len(envelope.recipients) == 1 else ""
    )
    queue = f" id {_name(envelope.queue_id)}" if envelope.queue_id else ""
    protocol = "ESMTPA" if envelope.login else "ESMTP"
    return (
        f"Return-Path: <{_mailbox(envelope.sender)}>\r\n"
        f"Received: from {_helo(envelope.helo)} ({_name(envelope.client.name)} "
        f"[{shown}]){login}\r\n"
        f"\tby {_name(site)} (Postfix) with {protocol}{queue}{recipient}; "
        f"{format_datetime(datetime.fromtimestamp(now, UTC))}\r\n"
    ).encode("ascii")


def _address(ip: str) -> str:
    try:
        address = ip_address(ip)
    except ValueError:
        return "127.0.0.1"  # by a socket file: this machine
    return f"IPv6:{address}" if isinstance(address, IPv6Address) else str(address)


def _helo(helo: str) -> str:
    return helo if _LITERAL.fullmatch(helo) else _name(helo)


def _name(name: str) -> str:
    return _NO_NAME.sub("_", name[:MAX_NAME]) or "unknown"


def _mailbox(mailbox: str) -> str:
    return _NO_ADDRESS.sub("_", mailbox[:MAX_ADDRESS])
