"""How `oborona doctor` asks at each listener: a request that changes nothing, and how the right
program's answer begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from oborona.config import Address, DoorSettings, Settings

DECISIVE_BYTES: Final = 5  # bytes of an answer that tell


class ListenerProbe(NamedTuple):
    """A listener that is on, and how to ask there."""

    name: str
    setting: str
    address: Address
    kind: str  # of program that answers there
    # what a client could say first; empty where it is greeted, for who speaks before that is shown
    # out
    hello: bytes
    reply: re.Pattern[bytes]  # how it is answered
    # how the answer begins instead while nobody is let in; empty: there is no such word
    closed: bytes = b""


_MILTER: Final = bytes.fromhex("0000000d4f00000006000001ff001fffff")  # negotiation of version 6
# a state in which nothing is asked
_NOWHERE: Final = b"request=smtpd_access_policy\nprotocol_state=NOOP\n\n"
_CLOSED: Final = b"421 "
_SILENT_SCRIPT: Final = b"VERSION\tscript\t4\t0\n-\n\n"
_DOORS: Final[tuple[tuple[str, str, str, bytes, str], ...]] = (
    ("milter", "listener", "milter", _MILTER, ".{4}O"),
    ("policy_service", "policy service", "policy service", _NOWHERE, "actio"),
    ("exim", "Exim listener", "service for Exim", b"oborona/1 ping\n", "verdi"),
    ("spamd", "spamd listener", "spamd", b"PING SPAMC/1.5\r\n\r\n", "SPAMD"),
    ("http", "HTTP listener", "web server", b"GET /v1/health HTTP/1.0\r\n\r\n", "HTTP/"),
    ("proxy", "proxy", "mail server", b"", "220 "),
    ("delivery", "delivery listener", "LMTP server", b"", "220 "),
)


def listener_probes(settings: Settings) -> Iterator[ListenerProbe]:
    """Yield how to ask at each listener that the settings open, those of the intake behind those of
    the workers.
    """
    for section, name, kind, hello, reply in _DOORS:
        door: DoorSettings = getattr(settings.doors, section)
        if door.listen:
            yield ListenerProbe(
                name,
                f"doors.{section}.listen",
                door.address,
                kind,
                hello,
                _begins(reply),
                b"" if hello else _CLOSED,
            )
    intake = settings.intake
    if intake.listen:
        script = ("script service", _SILENT_SCRIPT, _begins("[+-]\n"))
        yield ListenerProbe("feedback listener", "intake.listen", intake.address, *script)
    if intake.http_listen:
        web = ("web server", b"GET /health HTTP/1.0\r\n\r\n", _begins("HTTP/"))
        yield ListenerProbe("report listener", "intake.http_listen", intake.http_address, *web)


def _begins(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode(), re.DOTALL)
