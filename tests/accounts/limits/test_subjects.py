"""Whose mail limits add up: one login, a domain's, an address, all; and nobody else's."""

from __future__ import annotations

from typing import Final

import pytest

from oborona.accounts.limits.subjects import domain_of, facts_of, subject_shingle
from oborona.message.hashing import Hasher
from oborona.policy.limit_table import LimitSubject
from oborona.types import Client, Envelope, Shingle

HASHER: Final = Hasher(b"k" * 32)


def shingle(subject: str, login: str = "", ip: str = "") -> Shingle | None:
    envelope = Envelope(client=Client(ip=ip), login=login)
    return subject_shingle(LimitSubject(subject), envelope, HASHER)


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
    facts = facts_of(envelope)
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
