"""The envelope that a request gives beside the message.  Pure.

In headers, as clients of rspamd write them: IP, Hostname, Helo, From, Rcpt (again and again, or
with commas between), User, Queue-Id, Deliver-To; or in JSON. Nothing with a control character in it
is taken: no mail server has such an address, and logs have lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from oborona.doors.arguments import client_at_connect, path_address, peer_text
from oborona.doors.http.model import ScanEnvelope
from oborona.errors import PeerError
from oborona.types import Client, Envelope

MAX_VALUE: Final = 1000  # characters of a name or an address; SMTP has 510 in a line
MAX_RECIPIENTS: Final = 10_000
MAX_PORT: Final = 65_535

_ONCE: Final = {b"ip", b"hostname", b"helo", b"from", b"user", b"queue-id", b"deliver-to"}
_WITH_PORT: Final = re.compile(r"(?:\[([^\[\]]+)\]|([0-9.]+))(?::([0-9]{1,5}))?")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_PIECE: Final = re.compile(
    r'(?:\\.|"(?:\\.|[^"\\])*"|[^,"\\])+|["\\]'
)  # what is quoted may have commas of its own


class EnvelopeHeaders:
    """The headers of a request that tell of a message.

    Args:
        headers: as they came.

    Raises:
        PeerError: one is too long, or holds control characters.
    """

    __slots__ = ("_recipients", "_values")

    def __init__(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self._values: dict[bytes, str] = {}
        self._recipients: list[str] = []
        for raw_name, raw in headers:
            name = raw_name.lower()
            if name == b"rcpt":
                self._recipients += _addresses(peer_text(raw))
                if len(self._recipients) > MAX_RECIPIENTS:
                    raise PeerError(f"more than {MAX_RECIPIENTS} recipients")
            elif name in _ONCE:
                self._values[name] = _checked(peer_text(raw).strip())

    def get(self, name: bytes) -> str:
        """Return the value of a header, in lower case; empty where there is none.

        The last one counts.
        """
        return self._values.get(name, "")

    def envelope(self) -> Envelope:
        """Return the envelope.

        Raises:
            PeerError: the client's address is none.
        """
        recipients = self._recipients
        if not recipients and self.get(b"deliver-to"):
            recipients = [path_address(self.get(b"deliver-to"))]
        return Envelope(
            client=client_at_connect(self.get(b"hostname"), *_address(self.get(b"ip"))),
            helo=self.get(b"helo"),
            sender=path_address(self.get(b"from")),
            recipients=tuple(recipients),
            login=self.get(b"user"),
            queue_id=self.get(b"queue-id"),
        )


def envelope_of_json(scan: ScanEnvelope) -> Envelope:
    """Return the envelope of a request in JSON.

    Raises:
        PeerError: the client's address is none.
    """
    client = client_at_connect(scan.client.name, scan.client.ip, scan.client.port)
    return Envelope(
        client=Client(ip=client.ip, name=client.name, port=client.port),
        helo=scan.helo,
        sender=path_address(scan.sender),
        recipients=tuple(path_address(recipient) for recipient in scan.recipients),
        login=scan.login,
        queue_id=scan.queue_id,
    )


def _address(value: str) -> tuple[str, int]:
    """Return address and port of a client: rspamd's proxy writes 192.0.2.1:25025, or
    [2001:db8::1]:25025.
    """
    match = _WITH_PORT.fullmatch(value)
    if match is None:
        return "" if value == "unknown" else value, 0
    port = int(match[3] or 0)
    return match[1] or match[2], port if port <= MAX_PORT else 0


def _addresses(value: str) -> list[str]:
    pieces = (_checked(piece.strip()) for piece in _PIECE.findall(value))
    return [path_address(piece) for piece in pieces if piece]


def _checked(value: str) -> str:
    if len(value) > MAX_VALUE:
        raise PeerError(f"a value of more than {MAX_VALUE} characters")
    if _CONTROL.search(value):
        raise PeerError("a control character in a header")
    return value
