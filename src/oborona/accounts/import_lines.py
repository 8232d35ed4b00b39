"""Accounts as JSON, one object a line, and what is made of hostile ones.

    {"account": "joe", "logins": ["joe@example.com"], "since": "2026-11-01T08:00:00Z",
     "customer": {"id": "c17", "name": "Joe & Sons", "contact": "joe@elsewhere.example"},
     "networks": [{"network": "192.0.2.0/28", "role": "host"}],
     "registration": {"time": 1793520000, "address": "192.0.2.1", "country": "US", …}}

`account` alone is needed; without `logins` it is its own login.  Texts about an account are data of
whoever registered: they are cut, and what can't be printed is replaced.  What names an account
(ids, logins, networks) must be right as it is.  A country or an address that is none is not known.
"""

from __future__ import annotations

from datetime import datetime
from ipaddress import ip_address, ip_network
from typing import Final

import msgspec

from oborona.accounts.account import (
    AccountNetwork,
    AccountRecord,
    Customer,
    NetworkRole,
    Registration,
)

LINE_OCTETS: Final = 65_536
TEXT: Final = 200  # characters of a text that somebody registered with
NAME: Final = 255  # characters of an id or login
MOST_LOGINS: Final = 1000
MOST_NETWORKS: Final = 1000
LAST_TIME: Final = 253_402_300_800.0  # Unix seconds of the end of the year 9999

Moment = float | datetime
"""Unix seconds, or RFC 3339."""


class WrongAccount(ValueError):  # noqa: N818 - what was found
    """A line is no account; the text says why."""


class _CustomerLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    name: str = ""
    contact: str = ""


class _NetworkLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    network: str
    role: NetworkRole = NetworkRole.HOST


class _RegistrationLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    time: Moment = 0.0
    address: str = ""
    country: str = ""
    mail: str = ""
    phone: str = ""
    user_name: str = ""
    payment: str = ""
    payment_country: str = ""
    source: str = ""


class _AccountLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    account: str
    logins: list[str] | None = None
    customer: _CustomerLine | None = None
    name: str = ""
    since: Moment = 0.0
    networks: list[_NetworkLine] = []
    registration: _RegistrationLine | None = None


_DECODER: Final = msgspec.json.Decoder(_AccountLine)


def parse_account_line(line: bytes) -> AccountRecord:
    """Return the account of a line.

    Raises:
        WrongAccount: it is none.
    """
    if len(line) > LINE_OCTETS:
        raise WrongAccount(f"is longer than {LINE_OCTETS} octets")
    try:
        told = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WrongAccount(str(error) or "is nested too deep") from None
    logins = [told.account] if told.logins is None else told.logins
    if len(logins) > MOST_LOGINS or len(told.networks) > MOST_NETWORKS:
        raise WrongAccount(f"has more than {MOST_LOGINS} logins or {MOST_NETWORKS} networks")
    return AccountRecord(
        id=_name(told.account, "account"),
        logins=tuple(dict.fromkeys(_name(login, "login").lower() for login in logins)),
        customer=None
        if told.customer is None
        else Customer(
            id=_name(told.customer.id, "customer"),
            name=shown_text(told.customer.name),
            contact=shown_text(told.customer.contact),
        ),
        name=shown_text(told.name),
        since=moment_seconds(told.since, "since"),
        networks=tuple(_network(of) for of in told.networks),
        registration=None if told.registration is None else _registration(told.registration),
    )


def account_record(login: str) -> AccountRecord:
    """Return the account of a login of which nothing else is known.

    Raises:
        WrongAccount: it can't be a login.
    """
    name = _name(login.lower(), "login")
    return AccountRecord(id=name, logins=(name,))


def shown_text(text: str) -> str:
    """Return a text of a stranger's, cut, without what can't be printed (controls, bidi marks)."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:TEXT]).strip()


def _registration(told: _RegistrationLine) -> Registration:
    return Registration(
        time=moment_seconds(told.time, "registration.time"),
        address=_address(told.address),
        country=_country(told.country),
        mail=shown_text(told.mail),
        phone=shown_text(told.phone),
        user_name=shown_text(told.user_name),
        payment=shown_text(told.payment).lower(),
        payment_country=_country(told.payment_country),
        source=shown_text(told.source),
    )


def _name(text: str, called: str) -> str:
    if not text or text != text.strip() or len(text) > NAME or not text.isprintable():
        raise WrongAccount(f"{called} {text[:50]!r} is empty, too long, or can't be printed")
    return text


def moment_seconds(at: Moment, called: str) -> float:
    """Return the Unix seconds of a moment, which is called so where it is wrong.

    Raises:
        WrongAccount: it is none, or before 1970 or after 9999.
    """
    try:
        seconds = at.timestamp() if isinstance(at, datetime) else at
    except (OverflowError, ValueError, OSError):
        raise WrongAccount(f"{called} is no time") from None
    if not 0 <= seconds < LAST_TIME:
        raise WrongAccount(f"{called} is before 1970 or after 9999")
    return seconds


def _network(told: _NetworkLine) -> AccountNetwork:
    if "%" in told.network:
        raise WrongAccount(f"network {told.network[:50]!r}: a zone means nothing elsewhere")
    try:
        network = ip_network(told.network)
    except ValueError as error:
        raise WrongAccount(f"network {told.network[:50]!r}: {error}") from None
    return AccountNetwork(network=str(network), role=told.role)


def _address(text: str) -> str:
    try:
        return "" if "%" in text else str(ip_address(text))  # a zone means nothing elsewhere
    except ValueError:
        return ""


def _country(text: str) -> str:
    return text.upper() if len(text) == 2 and text.isascii() and text.isalpha() else ""
