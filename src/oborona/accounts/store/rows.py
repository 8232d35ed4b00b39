"""Rows of the file of accounts as what they mean."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from oborona.accounts.account import (
    Account,
    AccountBlock,
    AccountNetwork,
    AccountState,
    Customer,
    NetworkRole,
    Registration,
    Trust,
)
from oborona.accounts.sending_account import SendingAccount

_TEXTS: Final = msgspec.json.Decoder(list[str])
BLOCK_COLUMNS: Final = "id, state, state_until, state_why, state_by, incident"
ACCOUNT_COLUMNS: Final = (
    "a.id, a.state, a.state_until, a.state_why, a.state_by, a.incident, a.name, a.since,"
    " a.first_seen, a.rating, a.trusted_by, a.trusted_at, a.trusted_until, a.trusted_why,"
    " c.id, c.name, c.contact"
)
CHANGED: Final = "(SELECT number FROM version)"
"""Value of `changed` of an account that the change now under way is about."""
SENDING_COLUMNS: Final = (
    "a.id, ifnull(a.customer, ''), a.rating, a.trusted_by, a.trusted_until, a.since,"
    " (SELECT time FROM registration WHERE account = a.id),"
    " (SELECT json_group_array(login) FROM login WHERE account = a.id),"
    " (SELECT json_group_array(network) FROM network WHERE account = a.id)"
)
REGISTRATION_COLUMNS: Final = ", ".join(Registration.__struct_fields__)


class DeedKind(StrEnum):
    """What is done to accounts."""

    IMPORT = "import"
    TRUST = "trust"
    UNTRUST = "untrust"
    LIMIT = "limit"
    BAN = "ban"
    UNBAN = "unban"


class AccountDeed(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody did to an account."""

    at: float  # Unix seconds
    by: str
    what: DeedKind
    until: float = 0.0  # Unix seconds; 0 = for ever
    why: str = ""


class FollowedChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What those learn who follow accounts, as of a version of the store."""

    version: int
    blocks: dict[str, AccountBlock]  # by login, in lower case; all of them, some may be over
    accounts: list[SendingAccount]  # that have changed
    anew: bool  # these are all that there are


def block_of(row: tuple[Any, ...]) -> AccountBlock | None:
    """Return the block of a row in the order of BLOCK_COLUMNS; None: the account is open.

    A state of a newer version is a ban: it was not open.
    """
    account, state, until, why, by, incident = row
    if state == AccountState.OPEN:
        return None
    known = AccountState.LIMITED if state == AccountState.LIMITED else AccountState.BANNED
    return AccountBlock(
        account=account, state=known, until=until, why=why, by=by, incident=incident
    )


def sending_account_of(row: tuple[Any, ...]) -> SendingAccount:
    """Return the account of a row in the order of SENDING_COLUMNS."""
    key, customer, rating, trusted_by, trusted_until, since, registered, logins, networks = row
    return SendingAccount(
        id=key,
        customer=customer,
        born=since or registered or 0.0,
        rating=rating,
        trusted_until=trusted_until if trusted_by else None,
        logins=tuple(_TEXTS.decode(logins)),
        networks=tuple(_TEXTS.decode(networks)),
    )


def account_of(
    row: tuple[Any, ...],
    logins: list[tuple[str]],
    networks: list[tuple[str, str]],
    registration: tuple[Any, ...] | None,
) -> Account:
    """Return the account of a row in the order of ACCOUNT_COLUMNS, and of what belongs to it."""
    name, since, first_seen, rating, trusted_by, trusted_at, trusted_until, trusted_why = row[6:14]
    customer, customer_name, contact = row[14:]
    return Account(
        id=row[0],
        name=name,
        since=since,
        first_seen=first_seen,
        rating=rating,
        customer=None
        if customer is None
        else Customer(id=customer, name=customer_name, contact=contact),
        logins=tuple(login for (login,) in logins),
        networks=tuple(
            AccountNetwork(network=network, role=NetworkRole(role)) for network, role in networks
        ),
        registration=None
        if registration is None
        else Registration(**dict(zip(Registration.__struct_fields__, registration, strict=True))),
        trust=Trust(by=trusted_by, at=trusted_at, until=trusted_until, why=trusted_why)
        if trusted_by
        else None,
        block=block_of(row[:6]),
    )
