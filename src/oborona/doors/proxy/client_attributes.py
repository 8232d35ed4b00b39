"""What mail servers say of a client by XCLIENT and XFORWARD: read, and written anew for the next
hop; no socket.

XCLIENT makes the next hop treat us as that client, for all that it allows; XFORWARD is for its log
alone.  A value is written as xtext, so that none can end a command and begin another.

Source: Postfix XCLIENT_README and XFORWARD_README; RFC 3461 section 4 (xtext).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from oborona.doors import arguments
from oborona.doors.arguments import peer_text
from oborona.errors import PeerError
from oborona.types import Client

XCLIENT: Final = ("NAME", "ADDR", "PORT", "PROTO", "HELO", "LOGIN", "DESTADDR", "DESTPORT")
XFORWARD: Final = ("NAME", "ADDR", "PORT", "PROTO", "HELO", "IDENT", "SOURCE")
MAX_VALUE: Final = 255  # bytes, decoded; Postfix takes no more of most
UNKNOWN: Final = b"[UNAVAILABLE]"

_ATTRIBUTE: Final = re.compile(rb"([A-Za-z]+)=([!-~\x80-\xff]*)")
_CODED: Final = re.compile(rb"\+([0-9A-F]{2})")
_TO_CODE: Final = re.compile(rb"[^!-*,-<>-~]")  # what is not printable ASCII, plus and equals
_NOTHING: Final = frozenset({UNKNOWN, b"[TEMPUNAVAIL]"})
_PROTOCOLS: Final = frozenset({b"SMTP", b"ESMTP", b"LMTP"})

Attributes = Mapping[str, bytes]
"""By name in capitals, decoded; empty = the client has none."""


def parse_attributes(argument: bytes, names: Iterable[str]) -> dict[str, bytes] | None:
    """Return what a command says, None where it is not written as it must be.

    Args:
        argument: all behind XCLIENT or XFORWARD.
        names: names of its attributes.
    """
    attributes: dict[str, bytes] = {}
    for word in argument.split():
        match = _ATTRIBUTE.fullmatch(word)
        if (
            match is None
            or (name := match[1].decode("ascii").upper()) not in names
            or name in attributes
        ):
            return None
        encoded = match[2]
        # codes stand in capitals, but some write them small
        value = b"" if encoded.upper() in _NOTHING else _decoded(encoded)
        if len(value) > MAX_VALUE or not peer_text(value).isprintable():
            return None
        attributes[name] = value
    return attributes if attributes and _sound(attributes) else None


def format_command(command: bytes, attributes: Attributes, offered: bytes) -> bytes | None:
    """Return the command for a next hop, None where it wants to know nothing of it.

    Args:
        command: XCLIENT or XFORWARD.
        attributes: what is known.
        offered: attributes that it offers to hear.
    """
    names = offered.decode("ascii", "replace").upper().split()
    words = [
        b"%s=%s" % (name.encode("ascii"), _TO_CODE.sub(_code, value) if value else UNKNOWN)
        for name, value in attributes.items()
        if name in names
    ]
    return b" ".join((command, *words)) if words else None


def client_of(attributes: Attributes, before: Client) -> Client:
    """Return the client that attributes describe; what they leave out stays as it was.

    Args:
        attributes: sound, as `parse_attributes` gives them.
        before: who it was until then.
    """
    get = attributes.get
    named = arguments.client_at_connect(
        peer_text(get("NAME", before.name.encode())),
        peer_text(get("ADDR", before.ip.encode())),
        _port(get("PORT")) if "PORT" in attributes else before.port,
    )
    login = peer_text(get("LOGIN", before.login.encode()))
    # another address is another client, whose name and login are not known yet
    if "ADDR" in attributes and named.ip != before.ip:
        return Client(
            ip=named.ip,
            name=named.name if "NAME" in attributes else "",
            port=named.port if "PORT" in attributes else 0,
            login=peer_text(get("LOGIN", b"")),
        )
    return Client(ip=named.ip, name=named.name, port=named.port, login=login)


def attributes_of(client: Client) -> dict[str, bytes]:
    """Return the attributes of a client whom we saw ourselves."""
    address = f"IPV6:{client.ip}" if ":" in client.ip else client.ip
    return {
        "NAME": client.name.encode(),
        "ADDR": address.encode(),
        "PORT": b"%d" % client.port if client.port else b"",
    }


def _sound(attributes: Attributes) -> bool:
    try:
        arguments.client_at_connect("", peer_text(attributes.get("ADDR", b"")), 0)
    except PeerError:
        return False
    ports = (attributes.get("PORT", b""), attributes.get("DESTPORT", b""))
    if not all(_port(port) or port in (b"", b"0") for port in ports):
        return False
    return attributes.get("PROTO", b"SMTP").upper() in _PROTOCOLS | {b""}


def _port(text: bytes | None) -> int:
    port = int(text) if text and text.isdigit() and len(text) <= 5 else 0
    return port if port <= 65_535 else 0


def _decoded(encoded: bytes) -> bytes:
    return _CODED.sub(lambda code: bytes.fromhex(code[1].decode("ascii")), encoded)


def _code(octet: re.Match[bytes]) -> bytes:
    return b"+%02X" % octet[0][0]
