"""What a person or a program says of an account: trust it or no more, limit it, ban it, open it."""

from __future__ import annotations

import math
from typing import Final

import msgspec

from oborona.accounts.account import Account, AccountBlock, AccountState, Trust
from oborona.accounts.import_lines import LAST_TIME, account_record
from oborona.accounts.store.accounts import MAX_REASON, AccountStore
from oborona.accounts.store.rows import DeedKind

_BLOCKS: Final = {DeedKind.BAN: AccountState.BANNED, DeedKind.LIMIT: AccountState.LIMITED}
ORDERS: Final = (*_BLOCKS, DeedKind.UNBAN, DeedKind.TRUST, DeedKind.UNTRUST)
BEARING: Final = frozenset(_BLOCKS)
"""Orders by which a login that is no account yet becomes one."""
ENDING: Final = frozenset({*_BLOCKS, DeedKind.TRUST})
"""Orders that may have an end."""


class WrongOrder(ValueError):  # noqa: N818 - what was found
    """An order can't be kept or told; the text says why."""


class AccountOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody says of an account."""

    what: DeedKind  # of ORDERS
    by: str
    why: str  # as of `order_reason`
    until: float = 0.0  # Unix seconds, as of `order_end`; 0 = it does not end


class OrderOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of an account."""

    account: Account
    done: bool  # False: nothing was to be done, it was open or nobody trusted it
    new: bool  # it was no account yet


def order_reason(text: str) -> str:
    """Return a reason as the file of accounts holds it.

    Raises:
        WrongOrder: it can't.
    """
    if not text.strip() or not text.isprintable() or len(text) > MAX_REASON:
        raise WrongOrder(f"one line of printable text, of at most {MAX_REASON} characters")
    return text.strip()


def order_end(until: float, now: float) -> float:
    """Return when something ends, both in Unix seconds.

    Raises:
        WrongOrder: it is over, or never comes.
    """
    if not (math.isfinite(until) and now < until < LAST_TIME):
        raise WrongOrder("must end in the time to come, before the year 10000")
    return until


def carry_out(
    store: AccountStore, name: str, order: AccountOrder, now: float, *, scope: str = ""
) -> OrderOutcome | None:
    """Do what somebody says of an account: all of it or nothing.

    Args:
        store: the file of accounts.
        name: id or login. By an order of `BEARING` a login that is no account yet becomes one.
        order: what is said.
        now: Unix seconds.
        scope: customer whose accounts are to be seen, and no others; empty: all.

    Returns:
        None: there is no such account, and nothing is done.

    Raises:
        WrongAccount: there is none, and it can't be a login.
        StoreError: it can't be written.
    """
    with store.transaction():
        account, new = store.find(name), False
        if account is None and not scope and order.what in BEARING:
            record, new = account_record(name), True
            store.put([record], by=order.by, now=now)
            account = store.find(record.id)
        if account is None or not account.is_of(scope):
            return None
        done = _do(store, account, order, now)
        after = store.find(account.id)
        return None if after is None else OrderOutcome(account=after, done=done, new=new)


def _do(store: AccountStore, account: Account, order: AccountOrder, now: float) -> bool:
    """Return whether there was something to be done."""
    match order.what:
        case DeedKind.BAN | DeedKind.LIMIT:
            block = AccountBlock(
                account=account.id,
                state=_BLOCKS[order.what],
                until=order.until,
                why=order.why,
                by=order.by,
            )
            store.block(block, now=now)
        case DeedKind.UNBAN:
            return store.unblock(account.id, by=order.by, why=order.why, now=now) is not None
        case DeedKind.TRUST:
            store.trust(account.id, Trust(by=order.by, at=now, until=order.until, why=order.why))
        case DeedKind.UNTRUST:
            if not account.trusted(now):
                return False
            store.untrust(account.id, by=order.by, why=order.why, now=now)
        case DeedKind.IMPORT:
            raise ValueError("an import is no order")
    return True
