"""Accounts out of lines of JSON, and what is made of hostile ones."""

from __future__ import annotations

import json
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.accounts.account import AccountNetwork, Customer, NetworkRole
from oborona.accounts.import_lines import (
    LINE_OCTETS,
    TEXT,
    WrongAccount,
    parse_account_line,
)


def line(**fields: object) -> bytes:
    return json.dumps({"account": "joe"} | fields).encode()


def test_a_line_tells_an_account_and_how_it_came_to_be() -> None:
    record = parse_account_line(
        line(
            logins=["Joe@Example.com", "joe@example.com", "joe"],
            customer={"id": "c17", "name": "Joe & Sons", "contact": "joe@elsewhere.example"},
            networks=[{"network": "192.0.2.0/28", "role": "nat"}, {"network": "2001:DB8::/64"}],
            since="2026-11-01T08:00:00Z",
            registration={"time": 1_793_520_000, "address": "2001:DB8::1", "country": "us"},
        )
    )
    assert record.logins == ("joe@example.com", "joe")
    assert record.customer == Customer(id="c17", name="Joe & Sons", contact="joe@elsewhere.example")
    assert record.networks == (
        AccountNetwork(network="192.0.2.0/28", role=NetworkRole.NAT),
        AccountNetwork(network="2001:db8::/64"),
    )
    assert record.since == 1_793_520_000.0
    assert record.registration is not None
    assert record.registration.time == record.since
    assert (record.registration.address, record.registration.country) == ("2001:db8::1", "US")


def test_an_account_without_logins_is_its_own() -> None:
    assert parse_account_line(line()).logins == ("joe",)
    assert parse_account_line(line(logins=[])).logins == ()


def test_texts_of_strangers_are_cut_and_what_can_not_be_printed_goes() -> None:
    record = parse_account_line(
        line(
            name="a\x00b\u202ec\n" + "x" * 5000,
            registration={"address": "nowhere", "country": "Narnia", "payment": "PayPal"},
        )
    )
    assert record.name.startswith("a b c x")
    assert len(record.name) == TEXT
    assert record.name.isprintable()
    assert record.registration is not None
    assert (record.registration.address, record.registration.country) == ("", "")
    assert record.registration.payment == "paypal"


@pytest.mark.parametrize("address", ["fe80::1%eth0", "fe80::1%\\n", "1.2.3", "1" * 5000])
def test_an_address_that_is_none_is_not_known(address: str) -> None:
    record = parse_account_line(line(registration={"address": address}))
    assert record.registration is not None
    assert record.registration.address == ""


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"[]",
        b"{",
        b'{"account": ""}',
        b'{"account": " joe"}',
        b'{"account": "j\\noe"}',
        b'{"account": "\\ud800"}',
        b"\xff\xfe",
        b'{"account": "joe", "no": 1}',
        line(logins=["x" * 300]),
        line(logins=[str(number) for number in range(1001)]),
        line(networks=[{"network": "192.0.2.1/28"}]),
        line(networks=[{"network": "fe80::%eth0/64"}]),
        line(networks=[{"network": "192.0.2.0/28", "role": "king"}]),
        line(since=-1),
        line(since=1e300),
        line(since="yesterday"),
        line(since=None),
        line(name="x" * LINE_OCTETS),
        b'{"account": "joe", "name": ' + b"[" * 30_000,
    ],
)
def test_what_is_no_account_is_refused(wrong: bytes) -> None:
    with pytest.raises(WrongAccount):
        parse_account_line(wrong)


@given(st.binary(max_size=300))
def test_any_octets_are_an_account_or_refused(octets: bytes) -> None:
    with suppress(WrongAccount):
        parse_account_line(octets)


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300))
def test_any_text_that_somebody_registers_with_can_be_shown(a: str, b: str, c: str) -> None:
    given_text = {"mail": a, "phone": b, "user_name": c, "country": a, "payment": b, "address": c}
    told = {name: text.encode(errors="replace").decode() for name, text in given_text.items()}
    record = parse_account_line(line(registration=told))
    assert record.registration is not None
    for text in msgspec.structs.astuple(record.registration):
        assert not isinstance(text, str) or (text.isprintable() and len(text) <= 3 * TEXT)
