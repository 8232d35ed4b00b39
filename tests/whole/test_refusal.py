"""Clients and senders refused before their mail is sent, by DNS lists of a real server behind a
real Postfix; and those who are not even asked about.

Addresses of documentation are nobody's on the Internet, and never asked about: here they are of
9.0.0.0/8 and 2001:470::/32.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

import pytest

from tests.peers.dns import Zones
from tests.peers.dns_servers import Rbldnsd
from tests.whole.gate import CONTACT, LETTER, Gate, eventually, reference

LISTED, TWICE, PARDONED, HALF, HALF_IN = "9.1.0.1", "9.1.0.2", "9.1.0.3", "9.1.0.4", "9.1.0.5"
LISTED_6 = "2001:470:1::7"
OWN = "9.2.0.1"  # on the list as well
A_LINK = 10.0  # score of a link with few words, whoever sends it
HEAD = "$TTL 60\n:127.0.0.2:listed\n"
ZONES = {
    "bl.test:ip4trie": f"{HEAD}127.0.0.2\n{LISTED}\n{PARDONED}\n9.2.0.0/16\n10.0.0.0/8\n9.1.9.0/24\n",
    "bl.test:ip6trie": f"{HEAD}{LISTED_6}\n",
    "one.test:ip4trie": f"{HEAD}127.0.0.2\n{TWICE}\n{HALF}\n{HALF_IN}\n",
    "two.test:ip4trie": f"{HEAD}127.0.0.2\n{TWICE}\n",
    "good.test:ip4trie": f"{HEAD}127.0.0.2\n{PARDONED}\n",
    "senders.test:dnset": f"{HEAD}test\n.spammer.example\n",
    "links.test:dnset": f"{HEAD}test\n.shop.example\n",
    "world.test:ip4trie": f"{HEAD}0.0.0.0/0\n",
    "denied.test:ip4trie": "$TTL 60\n:127.255.255.254:asked through a public resolver\n0.0.0.0/0\n",
}
POLICY = "\n".join(
    f'[[dns_list]]\nname = "{name}"\nzone = "{zone}.test"\nof = ["{of}"]\nscore = {score}\n{more}'
    for name, zone, of, score, more in (
        (
            "BAD_CLIENTS",
            "bl",
            "client",
            250,
            'ipv6 = true\nurl = "https://bl.test/?ip={subject}"\n',
        ),
        ("ONE", "one", "client", 120, ""),
        ("TWO", "two", "client", 90, ""),
        ("GOOD_CLIENTS", "good", "client", -300, ""),
        ("BAD_SENDERS", "senders", "sender", 250, ""),
        ("BAD_LINKS", "links", "links", 120, ""),
        ("WORLD", "world", "client", 1000, ""),
        ("DENIED", "denied", "client", 1000, ""),
    )
)


@pytest.fixture(scope="module")
def lists() -> Iterator[Rbldnsd]:
    with Rbldnsd(ZONES) as running:
        yield running


@pytest.fixture(scope="module")
def gate(lists: Rbldnsd) -> Iterator[Gate]:
    with (
        # rbldnsd refuses what is not in its zones, and the daemon asks the next one
        Zones() as others,
        Gate(
            f"{lists.setting} {others.setting}", POLICY, settings={"site.networks": "9.2.0.0/24"}
        ) as running,
    ):
        yield running


def questions(lists: Rbldnsd, ip: str) -> list[str]:
    """What was asked about an address."""
    label = ip_address(ip).reverse_pointer.removesuffix(".in-addr.arpa").removesuffix(".ip6.arpa")
    return [
        name for name in lists.asked() if name.startswith(f"{label}.") and name.endswith(".test")
    ]


@pytest.mark.parametrize("ip", [LISTED, LISTED_6])
def test_a_client_on_a_list_is_refused_at_its_recipient(gate: Gate, ip: str) -> None:
    _, reply = gate.send(ip)
    assert reply.startswith(
        "554 5.7.1 Client refused, listed by BAD_CLIENTS (https://bl.test/?ip="
        + ip
        + "), reference "
    )
    assert reply.endswith(f"; {CONTACT}")
    (verdict,) = gate.verdicts(ip, 1)
    assert verdict["id"] == reference(reply)
    assert (verdict["stage"], verdict["verdict"], verdict["decided_by"]) == (
        "connect",
        "reject",
        "BAD_CLIENTS",
    )
    assert (verdict["score"], verdict["line"]) == (250.0, 200.0)
    assert f"BAD_CLIENTS=250.0({ip} (127.0.0.2))" in verdict["reason"]


def test_two_lists_that_agree_reach_the_line_together_and_one_alone_does_not(gate: Gate) -> None:
    _, reply = gate.send(TWICE)
    assert "refused, listed by ONE" in reply, "the heavier one"
    (verdict,) = gate.verdicts(TWICE, 1)
    assert (verdict["stage"], verdict["score"]) == ("connect", 210.0)

    assert gate.send(HALF)[-1].startswith("250")
    (verdict,) = gate.verdicts(HALF, 1)
    assert (verdict["stage"], verdict["verdict"], verdict["decided_by"]) == (
        "content",
        "spam",
        "ONE",
    )


def test_a_list_of_good_clients_lets_in_whom_another_one_has(gate: Gate) -> None:
    assert gate.send(PARDONED)[-1].startswith("250")
    (verdict,) = gate.verdicts(PARDONED, 1)
    assert (verdict["stage"], verdict["verdict"]) == ("content", "accept")
    assert "GOOD_CLIENTS=-300.0" in verdict["reason"]
    assert "BAD_CLIENTS=250.0" in verdict["reason"]


def test_a_sender_on_a_list_of_domains_is_refused_at_its_recipient(gate: Gate) -> None:
    ip = "9.3.0.1"
    _, reply = gate.send(ip, sender="eve@mail.spammer.example")
    assert reply.startswith("550 5.7.1 Sender refused, listed by BAD_SENDERS, reference ")
    (verdict,) = gate.verdicts(ip, 1)
    assert (verdict["stage"], verdict["score"]) == ("sender", 250.0)
    assert gate.send(ip, sender="")[-1].startswith("250"), "a bounce has no domain"


def test_a_link_to_a_listed_domain_adds_to_the_score_of_the_message(gate: Gate) -> None:
    ip = "9.3.0.2"
    raw = LETTER + b"https://www.shop.example/pills\r\n"
    reply = gate.send(ip, raw)[-1]
    assert b"X-Mras: Probable\n" in gate.held(reply)
    (verdict,) = gate.verdicts(ip, 1)
    assert (verdict["stage"], verdict["verdict"], verdict["decided_by"]) == (
        "content",
        "spam",
        "BAD_LINKS",
    )


def test_a_refused_client_begins_no_message_and_is_counted_nowhere(gate: Gate) -> None:
    ip = "9.1.9.1"
    with gate.postfix.connect({"ADDR": ip, "NAME": "[UNAVAILABLE]"}) as client:
        for _ in range(3):  # it insists
            assert client.docmd("MAIL", "FROM:<ann@a.example>")[0] == 250
            for name in ("joe", "ann"):
                assert client.docmd("RCPT", f"TO:<{name}@example.test>")[0] == 554
            assert client.docmd("DATA")[0] in (503, 554)
            client.rset()
    gate.send("9.3.0.3")
    gate.verdicts("9.3.0.3", 1)
    refusals = gate.verdicts(ip, 3)
    assert [(one["stage"], one["recipients"]) for one in refusals] == [("connect", 2)] * 3

    def told() -> str:
        return gate.oborona.run("explain", refusals[0]["id"]).stdout

    eventually(lambda: "3 times from 9.1.9.0/24" in told())


@pytest.mark.parametrize(
    ("how", "ip"),
    [("own network", OWN), ("private address", "10.1.2.3"), ("submission port", "9.2.1.1")],
)
def test_our_own_people_are_never_asked_about(
    gate: Gate, lists: Rbldnsd, how: str, ip: str
) -> None:
    domain = f"{how.replace(' ', '-')}.example"
    raw = LETTER + b"https://www.%b/a\r\n" % domain.encode()
    before = len(lists.asked())
    reply = gate.send(ip, raw, sender=f"a@{domain}", submission=how == "submission port")[-1]
    assert reply.startswith("250")
    (verdict,) = gate.verdicts(ip, 1)
    assert (verdict["stage"], verdict["verdict"], verdict["score"]) == ("content", "accept", A_LINK)
    assert lists.asked()[before:] == []

    gate.send("9.3.0.5", raw, sender=f"a@{domain}")
    assert {f"{domain}.senders.test", f"{domain}.links.test"} <= set(lists.asked()[before:]), (
        "of anybody else"
    )


def test_after_a_login_what_lists_said_of_the_client_is_dropped(gate: Gate, lists: Rbldnsd) -> None:
    """A mail server names the client before anybody can log in: that alone may have been asked
    about.
    """
    raw = LETTER + b"https://www.login.example/b\r\n"
    assert gate.send(HALF_IN, raw, sender="a@login.example", login="joe")[-1].startswith("250")
    (verdict,) = gate.verdicts(HALF_IN, 1)
    assert (verdict["stage"], verdict["verdict"], verdict["score"]) == ("content", "accept", A_LINK)
    assert not [name for name in lists.asked() if name.startswith("login.example.")]


def test_a_list_of_the_whole_world_and_one_that_refuses_us_count_nothing(
    gate: Gate, lists: Rbldnsd
) -> None:
    ip = "9.3.0.4"
    assert gate.send(ip)[-1].startswith("250")
    (verdict,) = gate.verdicts(ip, 1)
    assert verdict["score"] < 100
    assert "WORLD" not in verdict["reason"]
    assert "DENIED" not in verdict["reason"]
    assert len(questions(lists, ip)) == 4, "those that are well, once each"
    sick = {
        one["list"]: one["why"] for one in gate.events("DNS list counts nothing until it is well")
    }
    assert sick == {
        "WORLD": "lists 127.0.0.1, which no list may: it lists the whole world",
        "DENIED": "asked through a public resolver (127.255.255.254): use a resolver of your own",
    }
    told = gate.oborona.run("doctor").stdout
    assert "DNS list WORLD" in told
    assert "lists the whole world" in told
