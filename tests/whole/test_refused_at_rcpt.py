"""A refused client as its mail server sees it, behind a real Postfix with Debian's own
smtpd_delay_reject = yes and behind a real Exim: who leaves at a 554 greeting must see none.
"""

from __future__ import annotations

import re
import smtplib
import socket
from collections.abc import Iterator

import pytest

from tests.exim.site import Site, letter
from tests.peers import exim as exim_peer
from tests.peers.dns import Zones
from tests.peers.exim import Exim
from tests.peers.postfix import available
from tests.whole.gate import CONTACT, Gate, eventually, reference

REFUSED, LET_IN = "127.0.0.66", "127.0.0.7"
POLICY = f"""
[[local_list]]
name = "OUT"
action = "deny"
of = ["client"]
entries = ["{REFUSED}", "192.0.2.66"]
"""
RECIPIENTS = ["joe@example.test", "ann@example.test", "bob@example.test"]

needs_postfix = pytest.mark.skipif(not available(), reason="needs Postfix and root")
needs_exim = pytest.mark.skipif(not exim_peer.available(), reason="needs Exim and root")


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with Zones() as dns, Gate(dns.setting, POLICY) as running:
        yield running


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Zones() as dns, Site(dns.setting, POLICY) as running:
        yield running


@pytest.fixture(scope="module")
def exim(site: Site) -> Iterator[Exim]:
    with site.exim() as running:
        yield running


def greeting(gate: Gate) -> str:
    """Return what the refused client is greeted with."""
    with socket.create_connection(
        ("127.0.0.1", gate.postfix.port), 30, source_address=(REFUSED, 0)
    ) as sock:
        return sock.recv(1000).decode()


def said_to(smtp: smtplib.SMTP) -> list[str]:
    """Return what a message to three recipients is answered, from MAIL on."""
    commands = [
        ("MAIL", "FROM:<anna@partner.example>"),
        *(("RCPT", f"TO:<{one}>") for one in RECIPIENTS),
    ]
    return [f"{code} {text.decode()}" for code, text in (smtp.docmd(*one) for one in commands)]


@needs_postfix
def test_behind_postfix_the_sender_learns_why_and_the_log_who(gate: Gate) -> None:
    # smtplib raises at a 554 greeting, as a mail server leaves there
    with smtplib.SMTP(
        "127.0.0.1", gate.postfix.port, timeout=30, source_address=(REFUSED, 0)
    ) as smtp:
        smtp.ehlo("mail.partner.example")
        mail, *replies = said_to(smtp)
    assert mail.startswith("250 ")
    assert {reply[:10] for reply in replies} == {"554 5.7.1 "}
    assert len(set(replies)) == 1, "one reference for the message"
    assert replies[0].endswith(f"; {CONTACT}")
    (line,) = gate.verdicts(REFUSED, 1)
    assert line["id"] == reference(replies[0])
    assert (line["stage"], line["said"], line["decided_by"]) == ("connect", "recipient", "OUT")
    assert (line["sender"], line["recipient"], line["recipients"]) == (
        "anna@partner.example",
        RECIPIENTS[0],
        3,
    )
    own = gate.postfix.whole_log()
    assert f"milter-reject: RCPT from unknown[{REFUSED}]: 554 5.7.1 Client refused" in own
    assert "from=<anna@partner.example> to=<joe@example.test>" in own, (
        "and Postfix's own log names both"
    )


@needs_postfix
def test_a_client_that_leaves_before_it_names_a_recipient_is_in_the_log(gate: Gate) -> None:
    before = len([one for one in gate.events("verdict") if one["client"] == REFUSED])
    with smtplib.SMTP(
        "127.0.0.1", gate.postfix.port, timeout=30, source_address=(REFUSED, 0)
    ) as smtp:
        smtp.ehlo("bot.example")
        assert smtp.docmd("RCPT", "TO:<joe@example.test>")[0] == 503
    found = gate.verdicts(REFUSED, before + 1)[-1]
    assert (found["said"], found["helo"], found["sender"]) == ("never", "", "")


@needs_postfix
def test_where_the_admin_says_so_it_is_refused_in_the_place_of_the_greeting(gate: Gate) -> None:
    gate.policy(f'{POLICY}\n[verdict]\nclients_at = "connect"\n')
    try:
        eventually(
            lambda: greeting(gate).startswith("554 ")
        )  # what a milter connection waits for is agreed when it begins
        assert "reference" not in greeting(gate), "Postfix keeps our words to itself"
        gate.policy(f'{POLICY}\n[verdict]\nclients_at = "sender"\n')

        def refused_at_sender() -> bool:
            with smtplib.SMTP(
                "127.0.0.1", gate.postfix.port, timeout=30, source_address=(REFUSED, 0)
            ) as smtp:
                if smtp.ehlo("mail.partner.example")[0] != 250:
                    return False
                return (
                    re.match(r"554 5\.7\.1 Client refused, reference \w+", said_to(smtp)[0])
                    is not None
                )

        eventually(refused_at_sender)  # agreed when a connection begins, as above
    finally:
        gate.policy(POLICY)
    with smtplib.SMTP(
        "127.0.0.1", gate.postfix.port, timeout=30, source_address=(LET_IN, 0)
    ) as smtp:
        assert smtp.ehlo("mail.partner.example")[0] == 250


@needs_postfix
def test_who_logs_in_is_not_refused_for_where_he_is(gate: Gate) -> None:
    assert gate.send("192.0.2.66")[-1].startswith("554 5.7.1 ")
    assert gate.send("192.0.2.66", login="joe")[-1].startswith("250 ")


@needs_exim
def test_behind_exim_the_sender_learns_why_and_the_log_who(exim: Exim, site: Site) -> None:
    with exim.connect("192.0.2.66") as smtp:
        mail, *replies = said_to(smtp)
        assert smtp.docmd("RSET")[0] == 250
        again = said_to(smtp)
    assert mail.startswith("250 ")
    assert {reply.partition(", reference")[0] for reply in replies} == {"554 5.7.1 Client refused"}
    assert len(set(replies)) == 1, "Exim says to all what it heard of the first"
    found = site.verdict(replies[0])
    assert (found["stage"], found["said"], found["decided_by"]) == ("connect", "recipient", "OUT")
    assert (found["sender"], found["recipient"]) == ("anna@partner.example", RECIPIENTS[0])
    assert reference(again[1]) == reference(replies[0]), "the same refusal has one reference"
    assert exim.send(letter(), ip="192.0.2.67")[-1].startswith("250 ")
