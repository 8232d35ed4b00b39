"""A real rspamd, as the milter of a mail server, has its messages judged here: what it understands
of our answer is what our milter says.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from oborona.config.address import Address, parse_address
from tests.letters import gtube
from tests.peers.mail_server import MailServer
from tests.peers.oborona import Oborona
from tests.peers.ports import free_port
from tests.peers.rspamd_proxy import RspamdProxy

pytestmark = pytest.mark.skipif(shutil.which("rspamd") is None, reason="no rspamd here")

HEADERS = [
    (b"From", b" Ann <ann@a.example>"),
    (b"To", b" Bob <bob@b.example>"),
    (b"Subject", b" lunch"),
    (b"Date", b" Sun, 22 Nov 2026 12:00:00 +0000"),
    (b"Message-ID", b" <1@a.example>"),
    (b"X-Mras", b" Ok"),
    (b"X-Mras-Id", b" forged"),
    (b"X-Mras-Id", b" forged again"),
]
OWN = (b"X-Mras-Id", b"X-Mras-Reason")  # of one message alone


@pytest.fixture(scope="module")
def addresses() -> Iterator[list[Address]]:
    """Our milter, and rspamd's over our HTTP door."""
    port = free_port()
    settings = {
        "doors.http.listen": f"inet:127.0.0.1:{port}",
        "worker.processes": 1,
        "reader.enabled": "false",
    }
    with Oborona(settings) as house, RspamdProxy(port) as proxy:
        yield [parse_address(house.milter), proxy.address]


def said(
    address: Address, headers: list[tuple[bytes, bytes]], body: bytes
) -> tuple[list[tuple[bytes, bytes]], bytes, bytes]:
    """Return the edits, without values that no two messages share, and the last word on a
    message.
    """
    with MailServer(address) as server:
        server.connect()
        server.helo()
        server.mail("<ann@a.example>")
        server.rcpt("<bob@b.example>")
        server.content(headers, [body])
        edits, letter, data = server.end()
    return sorted((kind, _known(edit)) for kind, edit in edits), letter, data


def _known(edit: bytes) -> bytes:
    name, _, value = edit.removesuffix(b"\0").rpartition(b"\0")
    return name if name.endswith(OWN) and value else name + b":" + value.removeprefix(b" ")


def test_what_passes_is_edited_alike(addresses: list[Address]) -> None:
    ours, theirs = (said(address, HEADERS, b"At noon?\r\n") for address in addresses)
    assert theirs[0] == ours[0]
    assert [kind for kind, _ in ours[0]].count(b"m") == 3  # all that was forged is taken off
    assert (ours[1], theirs[1]) == (b"a", b"a")


def test_spam_is_refused_with_our_words(addresses: list[Address]) -> None:
    head, _, body = gtube().wire.partition(b"\r\n\r\n")
    headers = [
        (name, b":".join(rest))
        for name, *rest in (line.split(b":") for line in head.split(b"\r\n"))
    ]
    for address in addresses:
        _, letter, data = said(address, headers, body)
        assert letter == b"y"
        assert b"5.7.1 Message refused as spam, reference " in data
