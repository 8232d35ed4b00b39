"""Whose mail limits add up: one login, a domain's, an address, all; and nobody else's."""

from __future__ import annotations

from typing import Final

import pytest

from oborona.accounts.directory import AccountDirectory
from oborona.accounts.limits.subjects import domain_of, facts_of, subject_shingle
from oborona.accounts.sending_account import NoAccounts, SendingAccount
from oborona.message.hashing import Hasher
from oborona.policy.limit_table import LimitSubject
from oborona.policy.limits import LimitFacts
from oborona.types import Client, Envelope, Shingle

HASHER: Final = Hasher(b"k" * 32)


NOW: Final = 1_795_000_000.0
ACCOUNTS: Final = AccountDirectory()
ACCOUNTS.learn(
    [
        SendingAccount(
            id="ann",
            customer="firm",
            born=NOW - 36 * 3600,
            rating=85,
            trusted_until=NOW + 1,
            logins=("ann@a.example", "ann"),
            networks=("192.0.2.0/24",),
        ),
        SendingAccount(
            id="bob",
            customer="firm",
            rating=100,
            logins=("bob@b.example",),
            networks=("192.0.2.16/28", "2001:db8:1::/48"),
        ),
        SendingAccount(id="eve", rating=100, logins=("eve@e.example",)),
    ],
    anew=True,
)


def shingle(subject: str, login: str = "", ip: str = "") -> Shingle | None:
    envelope = Envelope(client=Client(ip=ip), login=login)
    return subject_shingle(LimitSubject(subject), envelope, HASHER, ACCOUNTS)


def test_one_login_is_one_account_whatever_its_capitals_and_where_it_is() -> None:
    ann = shingle("account", "ann@a.example")
    assert ann == shingle("account", "Ann@A.example", "192.0.2.1")
    assert ann != shingle("account", "bob@a.example")
    assert shingle("account", "", "192.0.2.1") is None


def test_a_domain_is_that_of_the_login() -> None:
    assert shingle("domain", "ann@a.example") == shingle("domain", "bob@A.example.")
    assert shingle("domain", "ann@a.example") != shingle("domain", "ann@b.example")
    assert shingle("domain", "ann") is None
    assert shingle("domain", "ann@") is None


def test_no_login_is_a_domain_or_all() -> None:
    every = {shingle("all"), shingle("domain", "x@a.example")}
    for login in ("a.example", "@a.example", "", "*", "all", "\0a.example"[1:]):
        assert shingle("account", login) not in every - {None}


def test_a_customer_is_all_accounts_that_he_answers_for() -> None:
    firm = shingle("customer", "Ann@A.example")
    assert firm is not None
    assert firm == shingle("customer", "ann") == shingle("customer", "bob@b.example")
    assert firm == shingle("customer", ip="192.0.2.20")  # mail without a login: of the network
    assert shingle("customer", "eve@e.example", "192.0.2.20") is None  # a login goes before it
    assert shingle("customer", "joe@a.example", "192.0.2.20") is None
    assert shingle("customer", ip="198.51.100.1") is None


def test_a_network_is_the_narrowest_around_the_client() -> None:
    wide, narrow = shingle("network", ip="192.0.2.1"), shingle("network", "joe", "192.0.2.17")
    assert None not in (wide, narrow)
    assert wide != narrow
    assert wide == shingle("network", "ann", "::ffff:192.0.2.200")
    assert shingle("network", ip="2001:db8:1:2::3") == shingle("network", ip="2001:db8:1::")
    for ip in ("198.51.100.1", "", "2001:db8:2::", "no address", "fe80::1%eth0"):
        assert shingle("network", "ann", ip) is None


def test_nothing_that_is_added_up_is_mistaken_for_another() -> None:
    names = ("firm", "customer@firm", "192.0.2.0/24", "network@192.0.2.0/24")
    others = {shingle("domain", f"x@{name}") for name in names}
    others |= {shingle("account", name) for name in names} | {shingle("all")}
    others |= {shingle("network", ip="192.0.2.1")}
    assert shingle("customer", "ann") not in others
    assert shingle("network", ip="192.0.2.1") not in others - {shingle("network", ip="192.0.2.1")}


def test_facts_of_an_account() -> None:
    def facts(login: str, ip: str = "", now: float = NOW) -> LimitFacts:
        return facts_of(Envelope(client=Client(ip=ip), login=login), ACCOUNTS, now)

    ann = facts("ANN")
    assert (ann.trusted, ann.rating, ann.age, ann.customer) == (True, 85, 1.5, "firm")
    assert facts("ann", now=NOW + 1).trusted is False
    eve = facts("eve@e.example")
    assert (eve.trusted, eve.rating, eve.age, eve.customer) == (False, 100, None, None)
    for unknown in (facts("joe", "192.0.2.1"), facts("", "198.51.100.1")):
        assert (unknown.trusted, unknown.rating, unknown.age, unknown.customer) == (None,) * 4
    assert facts("", "192.0.2.16").rating == 100


def test_of_ipv6_a_network_is_one() -> None:
    assert shingle("address", ip="2001:db8::1") == shingle("address", ip="2001:db8::ffff:1")
    assert shingle("address", ip="2001:db8::1") != shingle("address", ip="2001:db8:0:1::1")
    assert shingle("address", ip="192.0.2.1") != shingle("address", ip="192.0.2.2")
    assert shingle("address") is None


@pytest.mark.parametrize(
    ("login", "domain"),
    [("ann@A.example", "a.example"), ("a@b@c.example", "c.example"), ("ann", ""), ("", "")],
)
def test_domains_of_logins(login: str, domain: str) -> None:
    assert domain_of(login) == domain


def test_facts_of_a_message() -> None:
    envelope = Envelope(
        client=Client(ip="192.0.2.1"),
        login="Ann@A.example",
        sender="Ann@b.example",
        recipients=("x@c.example", "y@c.example"),
    )
    facts = facts_of(envelope, NoAccounts(), NOW)
    assert (facts.login, facts.domain, facts.client_ip) == (
        "ann@a.example",
        "a.example",
        "192.0.2.1",
    )
    assert (facts.sender, facts.recipients, facts.usual, facts.age_days) == (
        "Ann@b.example",
        2,
        0.0,
        0,
    )
