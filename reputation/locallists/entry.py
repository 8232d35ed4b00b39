"""One entry of a local list, as an admin writes it, in its normal form.

    192.0.2.7   192.0.2.0/24   2001:db8::/32     an address or a network
    mail.example.com                             exactly this name
    .example.com                                 it and all below it
    info@example.com                             this mail address, in any case
    @example.com                                 every mail address of exactly this domain

Names may be written in any script; they are kept in A-labels, lower case, without final dot.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.domains import MAX_HOST, normal_host
from oborona.reputation.networks import Network, network

MAX_LINE: Final = 1000  # characters: the longest address has 320, and a comment may follow

SIMPLE: Final = re.compile(
    r"(?>[a-z0-9._+-]{0,64}@|\.)?+(?>[a-z0-9-]{1,63}+\.)*+[a-z][a-z0-9-]{0,62}+"
).fullmatch
"""Recognises names and mail addresses that are in their normal form already, if they have at most
MAX_HOST characters.
"""

_COMMENT: Final = re.compile(r"(?:\A|\s)#.*", re.DOTALL)
_NUMERIC: Final = re.compile(r"[0-9./]+|[0-9a-fA-F:.]*:[0-9a-fA-F:./%]*")


def entry(line: str) -> Network | str | None:
    """Return the network, name or mail address that a line holds.

    None for an empty line or a comment.

    Raises:
        ValueError: what is wrong with it, in words for an admin.
    """
    if len(line) <= MAX_HOST and SIMPLE(line):
        return line
    if len(line) > MAX_LINE:
        raise ValueError(f"is longer than {MAX_LINE} characters")
    text = _COMMENT.sub("", line, count=1).strip()
    if not text:
        return None
    if len(text.split()) > 1:
        raise ValueError("holds more than one entry; write one a line, and # before a comment")
    if _NUMERIC.fullmatch(text):
        return network(text)
    local, at, domain = text.rpartition("@")
    if at:
        return _mailbox(local, domain)
    dot = "." if text.startswith(".") else ""
    return dot + _name(text[len(dot) :])


def _mailbox(local: str, domain: str) -> str:
    if "@" in local.replace('"', "") or len(local) > 64:
        raise ValueError(
            "is no mail address: one @ divides a name of at most 64 characters from a domain"
        )
    if domain.startswith("."):
        raise ValueError(
            f"holds @ and a dot together; {domain} alone means this domain and all below it"
        )
    return f"{local.lower()}@{_name(domain)}"


def _name(text: str) -> str:
    name = "" if text.startswith(".") or ".." in text or "%" in text else normal_host(text)
    if not name or name[-1].isdigit() or max(map(len, name.split("."))) > 63:
        raise ValueError("is no address, network, name or mail address")
    return name
