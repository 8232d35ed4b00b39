"""Mail of our own people through a real Postfix that asks the policy service alone: bans, limits on
what it counts at END-OF-MESSAGE, and what is held for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from oborona.session.unseen_message import UNSEEN
from tests.peers.dns import Zones
from tests.peers.ports import free_port
from tests.peers.postfix import Postfix
from tests.whole.gate import CONTACT, LETTER, Gate, eventually, reference
from tests.whole.queued import OUTGOING, command, outgoing, queue, send


def _limit(name: str, count: str, most: int, then: str) -> str:
    login = f"{name.lower()}@example.test"
    return (
        f'[[limit]]\nname = "{name}"\neach = "account"\ncount = "{count}"\nwindow = "hour"\n'
        f'limit = {most}\nthen = "{then}"\nunless = "login != \'{login}\'"\n'
    )


POLICY = "".join(
    _limit(*one)
    for one in (
        ("HELD", "recipients", 3, "hold"),
        ("PUT_OFF", "messages", 1, "tempfail"),
        ("REFUSED", "recipients", 3, "refuse"),
        ("NUMBERED", "recipients", 3, "refuse"),
        ("LARGE", "octets", 5_000, "refuse"),
        ("NEW", "new_recipients", 3, "refuse"),
        ("FIRST", "first_contacts", 1, "hold"),
        ("PLACES", "addresses", 1, "hold"),
    )
)
EVE = "eve@example.test"
WORDS = "Too many recipients of this account"


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    settings = {
        "doors.policy_service.listen": f"inet:127.0.0.1:{free_port()}",
        "doors.policy_service.limits": "true",
    }
    with Zones() as zones, Gate(zones.setting, POLICY, settings=settings) as running:
        yield running


def asking(gate: Gate, *stages: str, then: str = "") -> Postfix:
    """A Postfix that asks the policy service at some stages, and no milter.

    Args:
        gate: whose it is.
        stages: of SMTP.
        then: restriction of recipients behind it.
    """
    at = gate.oborona.setting("doors.policy_service.listen")
    ask = f"check_policy_service {{ {at}, timeout=20s, default_action=DEFER }}"
    places = {f"smtpd_{stage}_restrictions": ask for stage in stages}
    if then:
        places["smtpd_recipient_restrictions"] += f", {then}"
    return Postfix(main=OUTGOING | places)


@pytest.fixture(scope="module")
def postfix(gate: Gate) -> Iterator[Postfix]:
    with asking(gate, "recipient", "end_of_data") as running:
        yield running


def many(number: int, name: str = "r") -> list[str]:
    return [f"{name}{one}@b.example" for one in range(number)]


def said(
    postfix: Postfix, login: str, *recipients: str, raw: bytes = LETTER, ip: str = "192.0.2.9"
) -> str:
    """Send a message; return the last reply without what Postfix says before ours."""
    told = {"ADDR": ip, "NAME": "[UNAVAILABLE]", "LOGIN": login}
    reply = postfix.send(
        raw, sender="ann@example.test", recipients=recipients or ("bo@b.example",), xclient=told
    )[-1]
    return re.sub(r"^(\d+ [\d.]+ )<.*>: .* rejected: ", r"\1", reply)


def passed(gate: Gate, reply: str) -> dict[str, Any]:
    """Return the latest line of the log on the limit that a refusal refers to.

    The same refusal once more has the same reference.
    """
    ident = reference(reply)
    eventually(lambda: ident in {one["id"] for one in gate.events("limit")})
    return [one for one in gate.events("limit") if one["id"] == ident][-1]


def test_what_is_within_limits_leaves_and_is_known(gate: Gate, postfix: Postfix) -> None:
    ident = send(gate, postfix, LETTER, "Ann@example.test", *many(3))
    assert queue(postfix)[ident] != "hold"
    (logged,) = (one for one in gate.events("verdict") if one["queue"] == ident)
    assert (logged["decided_by"], logged["outcome"]) == (UNSEEN, "accept")
    assert (logged["login"], logged["recipients"]) == ("Ann@example.test", 3)
    assert abs(int(logged["size"]) - len(LETTER)) < 20
    found = command(gate, "find", "login:ann@example.test", "--json").stdout
    assert ident in found
    told = command(gate, "explain", str(logged["id"])).stdout
    assert UNSEEN in told


def test_what_goes_over_is_held_shown_and_let_go(gate: Gate, postfix: Postfix) -> None:
    login = "held@example.test"
    first = send(gate, postfix, LETTER, login, *many(3))
    eventually(lambda: is_held_now(gate, postfix, login))
    assert queue(postfix)[first] != "hold"
    shown = outgoing(gate, postfix, "held", "--login", login, "--json").stdout.splitlines()
    (one, *_) = map(json.loads, shown)
    assert one["ours"]
    assert "HELD: " in one["limits"][0]
    assert outgoing(gate, postfix, "release", one["queue_id"]).exit_code == 0
    assert queue(postfix)[one["queue_id"]] != "hold"


def is_held_now(gate: Gate, postfix: Postfix, login: str) -> bool:
    ident = send(gate, postfix, LETTER, login)
    return queue(postfix).get(ident) == "hold"


def test_what_goes_over_is_refused_at_the_end_and_then_before(gate: Gate, postfix: Postfix) -> None:
    login = "refused@example.test"
    reply = said(postfix, login, *many(4))
    assert reply == f"550 5.7.1 {WORDS}, reference {reference(reply)}; {CONTACT}"
    line = passed(gate, reply)
    assert (line["value"], line["stage"], line["done"]) == (4, "content", "refuse")
    assert said(postfix, login, *many(3)).startswith("250"), "what was refused uses up nothing"
    eventually(lambda: said(postfix, login).startswith("550"))
    eventually(lambda: passed(gate, said(postfix, login))["stage"] == "sender")  # it is used up


def test_what_goes_over_is_put_off(gate: Gate, postfix: Postfix) -> None:
    login = "put_off@example.test"
    assert said(postfix, login).startswith("250")
    eventually(lambda: said(postfix, login).startswith("451"))
    words = "451 4.7.1 Too many messages of this account, try again later, reference "
    assert said(postfix, login).startswith(words)


def test_octets_are_those_that_came(gate: Gate, postfix: Postfix) -> None:
    login = "large@example.test"
    assert said(postfix, login).startswith("250")
    reply = said(postfix, login, raw=LETTER + b"x" * 70 * 80 + b"\r\n")
    assert reply.startswith("550 5.7.1 Too much mail of this account")
    assert passed(gate, reply)["value"] > 5_600


def test_recipients_are_new_once(gate: Gate, postfix: Postfix) -> None:
    login = "new@example.test"
    for _ in range(3):
        assert said(postfix, login, *many(3, "n")).startswith("250")
    replies = said(postfix, login, *many(4, "other"))
    assert replies.startswith("550 5.7.1 Too many new recipients of this account"), replies


def test_first_contacts_and_addresses_are_counted(gate: Gate, postfix: Postfix) -> None:
    def is_held(login: str, to: str, ip: str = "192.0.2.9") -> bool:
        reply = said(postfix, login, to, ip=ip)
        assert reply.startswith("250"), reply
        return queue(postfix).get(reply.rsplit(" ", 1)[-1]) == "hold"

    stranger = (f"s{number}@b.example" for number in range(1_000))
    assert not is_held("first@example.test", next(stranger))
    eventually(lambda: is_held("first@example.test", next(stranger)))
    assert not is_held("places@example.test", "bo@b.example")
    eventually(lambda: is_held("places@example.test", "bo@b.example", "198.51.100.7"))


def test_a_recipient_whom_postfix_refused_later_is_none(gate: Gate) -> None:
    """Names and number come apart: Postfix counts."""
    refused = "check_recipient_access inline:{no@b.example=REJECT}"
    with asking(gate, "recipient", "end_of_data", then=refused) as postfix:
        told = {"ADDR": "192.0.2.9", "NAME": "[UNAVAILABLE]", "LOGIN": "later@example.test"}
        replies = postfix.send(
            LETTER,
            sender="ann@example.test",
            recipients=["bo@b.example", "no@b.example"],
            xclient=told,
        )
        assert [reply[:3] for reply in replies] == ["250", "250", "554", "250"]
        ident = replies[-1].rsplit(" ", 1)[-1]
        eventually(lambda: ident in {one["queue"] for one in gate.events("verdict")})
        (logged,) = (one for one in gate.events("verdict") if one["queue"] == ident)
        assert logged["recipients"] == 1


def test_asked_at_the_end_alone_the_number_counts_and_nobody_is_named(gate: Gate) -> None:
    with asking(gate, "end_of_data") as postfix:
        reply = said(postfix, "numbered@example.test", *many(70))
        assert reply.startswith(f"550 5.7.1 {WORDS}"), reply
        assert passed(gate, reply)["value"] == 70


def test_a_ban_refuses_and_holds_what_waits(gate: Gate, postfix: Postfix) -> None:
    waiting = {send(gate, postfix, LETTER, EVE) for _ in range(2)}
    done = command(gate, "account", "ban", EVE, "--reason", "stolen", postfix=postfix)
    assert "2 messages of banned accounts are on hold" in done.stderr
    blocked = "550 5.7.1 Sending is blocked: stolen, reference "
    eventually(lambda: said(postfix, EVE).startswith(blocked))
    assert {ident for ident in waiting if queue(postfix)[ident] == "hold"} == waiting
    done = command(gate, "account", "unban", EVE, "--reason", "changed", postfix=postfix)
    assert "2 messages of accounts that are open again are let go" in done.stderr
    eventually(lambda: said(postfix, EVE).startswith("250"))


def test_a_ban_that_comes_meanwhile_is_told_at_the_end(gate: Gate, postfix: Postfix) -> None:
    login = "meanwhile@example.test"
    told = {"ADDR": "192.0.2.9", "NAME": "[UNAVAILABLE]", "LOGIN": login}
    with postfix.connect(told) as smtp:
        assert smtp.mail("ann@example.test")[0] == 250
        assert smtp.rcpt("bo@b.example")[0] == 250
        before = len(gate.events("states of accounts changed"))
        command(gate, "account", "ban", login, "--reason", "stolen")
        eventually(lambda: len(gate.events("states of accounts changed")) > before)
        code, words = smtp.data(LETTER)
    assert code == 550
    assert b"Sending is blocked: stolen" in words


def test_mail_of_strangers_is_none_of_it(gate: Gate, postfix: Postfix) -> None:
    reply = said(postfix, "", "bo@b.example", ip="198.51.100.3")
    assert reply.startswith("250"), reply
    assert reply.rsplit(" ", 1)[-1] not in {one["queue"] for one in gate.events("verdict")}
