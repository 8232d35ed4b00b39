"""A text that one of ours begins to send to strangers, behind a real Postfix: held from the tenth
copy on, and let go at once when a person says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.peers.dns import Zones
from tests.peers.postfix import Postfix
from tests.whole.gate import Gate, eventually
from tests.whole.queued import OUTGOING, command, outgoing, queue

LOGIN = "ann@example.test"
COPIES = 16
TEXT = b"""\
we run a small workshop in the north of the country and make tables, shelves and boards of old
oak, each of which has a number and the name of who made it. This spring we have begun to send
them abroad. If your house could do with a table that your grandchildren will still fight over,
have a look at what is ready and tell us which of them you like best. We answer every letter
ourselves, mostly in the evening, when the saws are still.
""".replace(b"\n", b"\r\n")


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with Zones() as zones, Gate(zones.setting) as running:
        yield running


@pytest.fixture
def postfix(gate: Gate) -> Iterator[Postfix]:
    with Postfix(f"unix:{gate.folder}/milter.sock", main=OUTGOING) as running:
        yield running


def letter(number: int) -> bytes:
    head = (
        f"From: Ann <{LOGIN}>\r\nTo: r{number}@b.example\r\nSubject: Tables of old oak\r\n"
        f"Date: Fri, 20 Nov 2026 10:00:00 +0000\r\nMessage-ID: <{number}@example.test>\r\n\r\n"
    )
    return head.encode() + TEXT


def send(postfix: Postfix, number: int, login: str) -> str:
    """Send a copy, and return the queue in which it comes to lie."""
    told = {"ADDR": "192.0.2.9", "NAME": "[UNAVAILABLE]", "LOGIN": login}
    reply = postfix.send(
        letter(number), sender=LOGIN, recipients=[f"r{number}@b.example"], xclient=told
    )[-1]
    assert reply.startswith("250"), reply
    return queue(postfix)[reply.rsplit(" ", 1)[-1]]


def test_one_text_to_strangers_is_held_from_the_tenth_copy_on(gate: Gate, postfix: Postfix) -> None:
    lain = []
    for number in range(COPIES):
        lain.append(send(postfix, number, LOGIN))
        eventually(
            lambda so_far=number + 1: (
                command(gate, "find", "login:ann", "--limit", "99").stdout.count(  # type: ignore[misc]
                    "Tables"
                )
                == so_far
            )
        )
    first = lain.index("hold")
    assert 8 <= first <= 13, "an estimate, and counts of a moment ago"
    assert set(lain[first:]) == {"hold"}
    told = command(gate, "find", "login:ann", "--limit", "1").stdout
    assert "OWN_MAILING_BEGINS" in told
    if os.geteuid() == 0:
        assert outgoing(gate, postfix, "release", "--login", LOGIN).exit_code == 0
        assert "hold" not in queue(postfix).values()


def test_without_a_login_it_is_nobodys_mailing(gate: Gate, postfix: Postfix) -> None:
    assert {send(postfix, 100 + number, "") for number in range(3)} <= {"active", "deferred"}
