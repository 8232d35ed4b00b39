"""Who a message is from, through a real Postfix and either transport: the header on top, forged
ones gone, DMARC's wish, and forwarders that are believed.
"""

from __future__ import annotations

import email
import email.policy
import time
from collections.abc import Iterator
from email.message import EmailMessage

import pytest

from tests.authentication.signing import rsa, sealed
from tests.peers.dns import Zones
from tests.whole.gate import Gate, eventually
from tests.whole.signed import letter, publish, signed

BANK = "bank.example"  # asks to refuse what is not its own
FORWARDER = "lists.example"
NAME = "Authentication-Results"
ELSEWHERE = "9.9.0.1"  # from where the bank sends nothing
TRUSTED = f'[authentication]\ntrusted_sealers = ["{FORWARDER}"]\n'
AS_ASKED = '[[rule]]\nname = "DMARC_REJECT"\nscore = 200\n'


@pytest.fixture(scope="module")
def zones() -> Iterator[Zones]:
    with Zones() as running:
        publish(running, BANK)
        running.add({f"s1._domainkey.{FORWARDER}": {"TXT": rsa().record}})
        yield running


@pytest.fixture(scope="module", params=["native", "libmilter"])
def gate(request: pytest.FixtureRequest, zones: Zones) -> Iterator[Gate]:
    with Gate(zones.setting, settings={"doors.milter.transport": request.param}) as running:
        yield running


@pytest.fixture(autouse=True)
def shipped(gate: Gate) -> Iterator[None]:
    """The next test finds the policy that ships."""
    yield
    gate.policy("")


def held(gate: Gate, reply: str) -> EmailMessage:
    assert reply.startswith("250"), reply
    found = email.message_from_bytes(gate.held(reply), policy=email.policy.default)
    assert isinstance(found, EmailMessage)
    return found


def said(value: object) -> list[str]:
    """Return the parts of a header's value, without folding."""
    return [part.strip() for part in " ".join(str(value).split()).split(";")]


def forwarded() -> bytes:
    """Return a letter of the bank as it leaves a list, which has changed what the bank signed and
    sealed what it saw before.
    """
    changed = signed(letter(BANK), BANK).replace(b"Subject: Lunch", b"Subject: [all] Lunch")
    return sealed(
        changed,
        results=f"mx.{FORWARDER}; dkim=pass header.d={BANK}; dmarc=pass header.from={BANK}",
        message={"d": FORWARDER},
        seal={"d": FORWARDER, "t": str(int(time.time()))},
    )


def forward(gate: Gate) -> str:
    return gate.send(
        ELSEWHERE,
        forwarded(),
        name=f"mx.{FORWARDER}",
        sender=f"all@{FORWARDER}",
        helo=f"mx.{FORWARDER}",
    )[-1]


def test_what_was_found_stands_on_top_of_the_message(gate: Gate) -> None:
    reply = gate.send(
        "9.1.0.1",
        signed(letter(BANK), BANK),
        name=f"mail.{BANK}",
        sender=f"ann@{BANK}",
        helo=f"mail.{BANK}",
    )[-1]
    message = held(gate, reply)
    assert message.keys()[:2] == [NAME, "Received"], "above what Postfix itself wrote"
    (value,) = message.get_all(NAME, [])
    parts = said(value)
    assert parts[0] == "mx.example.test"
    assert parts[1] == f"spf=pass smtp.mailfrom={BANK}"
    assert parts[2] == f"spf=none smtp.helo=mail.{BANK}"
    assert parts[3].startswith(f"dkim=pass header.d={BANK} header.s=s1 header.a=rsa-sha256")
    assert parts[4] == f"dmarc=pass (p=reject) header.from={BANK} policy.dmarc=none"
    assert parts[5] == "iprev=pass policy.iprev=9.1.0.1"
    assert message["X-Mras"] == "Ok"


def test_results_that_speak_in_our_name_are_taken_out_and_others_stay(gate: Gate) -> None:
    forged = (
        b"Authentication-Results: mx.example.test; dkim=pass header.d=bank.example\r\n"
        b"Authentication-Results: mx.other.example; spf=pass\r\n"
        b"authentication-results: (x) MX.Example.Test 1;\r\n dmarc=pass "
        b"header.from=bank.example\r\n"
    )
    reply = gate.send(ELSEWHERE, letter("plain.example", forged), sender="ann@plain.example")[-1]
    top, other = held(gate, reply).get_all(NAME, [])
    assert "dkim=none" in said(top)
    assert not any("pass" in part for part in said(top))
    assert said(other) == ["mx.other.example", "spf=pass"]


def test_our_own_people_s_mail_gets_no_results_and_keeps_no_forged_ones(gate: Gate) -> None:
    forged = b"Authentication-Results: mx.example.test; dmarc=pass\r\n"
    reply = gate.send(ELSEWHERE, letter(BANK, forged), sender=f"ann@{BANK}", login="ann")[-1]
    assert held(gate, reply).get_all(NAME) is None
    assert held(gate, reply)["X-Mras"] is None, "it is no business of who gets it"
    eventually(lambda: any(one.get("login") == "ann" for one in gate.events("verdict")))
    (verdict,) = (one for one in gate.events("verdict") if one.get("login") == "ann")
    assert verdict["verdict"] == "accept", "DMARC is no matter of theirs"


def test_mail_that_a_domain_asks_to_refuse_is_filed_and_refused_where_the_admin_says_so(
    gate: Gate,
) -> None:
    def send() -> str:
        return gate.send(
            ELSEWHERE,
            letter(BANK),
            name="mail.evil.example",
            sender="x@evil.example",
            helo="mail.evil.example",
        )[-1]

    message = held(gate, send())
    assert message["X-Mras"] == "Probable"
    assert message["X-Mras-Score"] == "110.0 / 100"
    assert f"DMARC_REJECT=110.0(DMARC of {BANK} fails, p=reject)" in " ".join(
        message["X-Mras-Reason"].split()
    )
    assert any(part.startswith("dmarc=fail") for part in said(message[NAME]))

    gate.policy(AS_ASKED)
    reply = send()
    assert reply.startswith("550 5.7.1 Message refused as spam, reference ")
    verdict = gate.verdict(reply)
    assert (verdict["stage"], verdict["decided_by"], verdict["score"]) == (
        "content",
        "DMARC_REJECT",
        200.0,
    )


def test_a_forwarder_that_is_trusted_saves_what_it_changed_and_any_other_does_not(
    gate: Gate,
) -> None:
    message = held(gate, forward(gate))
    assert message["X-Mras"] == "Probable", "the chain is right, and nobody knows who made it"
    assert any(part.startswith("arc=pass") for part in said(message[NAME]))

    gate.policy(TRUSTED + AS_ASKED)
    message = held(gate, forward(gate))
    parts = said(message[NAME])
    assert any(part.startswith("dkim=fail") for part in parts)
    assert any(part.startswith("dmarc=fail") for part in parts)
    assert any(part.startswith("arc=pass") and f"trusted={FORWARDER}" in part for part in parts)
    assert message["X-Mras"] == "Ok"

    gate.policy(TRUSTED.replace(FORWARDER, "other.example") + AS_ASKED)
    assert forward(gate).startswith("550 5.7.1 Message refused as spam")
