"""A DNS that fails in every way that it can: signed mail is answered in time, and let in, for what
nobody could check speaks against nobody.
"""

from __future__ import annotations

import email.policy
import struct
import time
from collections.abc import Iterable, Iterator

import dns.message
import pytest

from tests.peers.dns import Fault, Zones
from tests.whole.gate import Gate
from tests.whole.signed import letter, publish, signed

SENDER = "9.1.0.1"
TIMEOUT_S = 0.5  # of one question
# for a message, on a busy machine; what waits for the DNS waits 1 s at connect, and 1 s for the
# message
MUCH_S = 8.0
POLICY = '[[dns_list]]\nname = "BAD_CLIENTS"\nzone = "bl.test"\nof = ["client"]\nscore = 250\n'


@pytest.fixture(scope="module")
def zones() -> Iterator[Zones]:
    with Zones({"2.0.0.127.bl.test": {"A": "127.0.0.2"}}) as running:
        yield running


@pytest.fixture(scope="module")
def gate(zones: Zones) -> Iterator[Gate]:
    with Gate(
        zones.setting, POLICY, settings={"dns.timeout_s": TIMEOUT_S, "dns.message_s": 1}
    ) as running:
        yield running


@pytest.fixture(autouse=True)
def healed(zones: Zones) -> Iterator[None]:
    yield
    zones.heal()


def results(gate: Gate, domain: str) -> str:
    """Send a signed message of a domain; return what its Authentication-Results say."""
    began = time.monotonic()
    reply = gate.send(
        SENDER, signed(letter(domain), domain), sender=f"ann@{domain}", helo=f"mail.{domain}"
    )[-1]
    assert time.monotonic() - began < MUCH_S
    assert reply.startswith("250")
    held = email.message_from_bytes(gate.held(reply), policy=email.policy.SMTP)
    assert held["X-Mras"] == "Ok"
    (value,) = held.get_all("Authentication-Results", [])
    return " ".join(str(value).split())


def break_it(zones: Zones, domain: str, how: str) -> None:
    """Do it to all names of a domain."""
    for name in (domain, f"*.{domain}"):
        match how:
            case "late":
                zones.delay(name, 4 * TIMEOUT_S)
            case "loop":
                zones.reply(name, looping)
            case _:
                zones.fault(name, Fault(how))


def looping(question: dns.message.Message) -> Iterable[bytes]:
    name = question.question[0].name.to_text()
    response = dns.message.make_response(question, recursion_available=True)
    response.answer += [
        dns.rrset.from_text(name, 60, "IN", "CNAME", "loop.test."),
        dns.rrset.from_text("loop.test.", 60, "IN", "CNAME", name),
    ]
    return [response.to_wire()]


UNANSWERED = [
    *(fault.value for fault in Fault if fault not in (Fault.TRUNCATED, Fault.NO_CHASE)),
    "late",
    "loop",
]


@pytest.mark.parametrize("how", UNANSWERED)
def test_what_nobody_could_check_is_no_reason_to_refuse(gate: Gate, zones: Zones, how: str) -> None:
    domain = f"{how.replace(' ', '-')}.example"
    publish(zones, domain)
    break_it(zones, domain, how)
    zones.add(
        {"1.0.1.9.in-addr.arpa": {"PTR": "mail.sender.test."}, "mail.sender.test": {"A": SENDER}}
    )
    before = len(gate.events("verdict"))
    said = results(gate, domain)
    assert "spf=temperror" in said
    assert "dkim=temperror" in said
    assert "dmarc=temperror" in said
    verdict = gate.verdicts(SENDER, before + 1)[-1]
    assert (verdict["verdict"], verdict["score"]) == ("accept", 0.0)
    told = gate.oborona.run("explain", "-v", verdict["id"]).stdout
    assert "temperror" in told
    assert "spf, dkim, dmarc" in told


@pytest.mark.parametrize("how", ["at once", "truncated", "slowly", "forged"])
def test_what_can_be_known_all_the_same_is_known(gate: Gate, zones: Zones, how: str) -> None:
    domain = f"well-{how.replace(' ', '-')}.example"
    publish(zones, domain)
    for name in (domain, f"*.{domain}"):
        match how:
            case "truncated":
                zones.fault(name, Fault.TRUNCATED)
            case "slowly":
                zones.delay(name, TIMEOUT_S / 4)
            case "forged":
                zones.reply(name, lambda question: forged(zones, question))
    said = results(gate, domain)
    assert f"spf=pass smtp.mailfrom={domain}" in said
    assert f"dkim=pass header.d={domain}" in said
    assert "dmarc=pass" in said
    if how == "truncated":
        assert any(one.tcp and one.name == domain for one in zones.asked)


def forged(zones: Zones, question: dns.message.Message) -> Iterable[bytes]:
    """What others say in the server's name, who do not know the question's id or guess the
    question, and then what the server says.
    """
    denied = dns.message.make_response(question, recursion_available=True)
    denied.set_rcode(dns.rcode.NXDOMAIN)
    wrong_id = bytearray(denied.to_wire())
    wrong_id[:2] = struct.pack("!H", question.id ^ 1)
    other = dns.message.make_query("other.test", "TXT", id=question.id)
    wrong_question = dns.message.make_response(other, recursion_available=True)
    wrong_question.set_rcode(dns.rcode.NXDOMAIN)
    return [bytes(wrong_id), wrong_question.to_wire(), zones.answer(question).to_wire()]


def test_a_dns_that_answers_nothing_at_all_delays_a_client_and_refuses_it_nothing(
    gate: Gate, zones: Zones
) -> None:
    domain = "silence.example"
    publish(zones, domain)
    zones.fault("*", Fault.HANG)
    ip = "9.1.0.2"  # whom nothing is known of yet
    began = time.monotonic()
    reply = gate.send(ip, signed(letter(domain), domain), sender=f"ann@{domain}")[-1]
    assert time.monotonic() - began < MUCH_S
    assert reply.startswith("250")
    (verdict,) = gate.verdicts(ip, 1)
    told = gate.oborona.run("explain", "-v", verdict["id"]).stdout
    assert "BAD_CLIENTS" in told
    assert "iprev" in told
