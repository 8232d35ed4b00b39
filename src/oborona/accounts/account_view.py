"""An account as a customer's panel shows it: what is the matter with it, and until when.

No thresholds, names of tests or persons: who reads it may be who sends the spam.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from oborona.accounts.account import Account, AccountState
from oborona.accounts.incidents.incident import ActionKind
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.ratings import penalties
from oborona.accounts.store.rows import DeedKind
from oborona.types import RuleMode

_DEEDS = {AccountState.BANNED: DeedKind.BAN, AccountState.LIMITED: DeedKind.LIMIT}


class AccountView(msgspec.Struct, frozen=True, kw_only=True):
    """An account as its customer sees it; times are Unix seconds."""

    account: str
    customer: str  # id; empty: nobody's
    logins: tuple[str, ...]
    state: AccountState
    reason: str  # why mail is not taken; empty: it is taken
    since: float  # that it is not taken; 0 = it is, or not known
    until: float  # that it is not taken; 0 = it is, or until a person says
    rating: int  # 0 to 100, as it was rated last
    penalties: tuple[str, ...]  # what speaks against it, the weightiest first


class AccountsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some accounts, in the order of their ids."""

    accounts: tuple[AccountView, ...]
    next: str | None  # `after` of the next page; null: there is none


def view_account(path: Path, name: str, *, customer: str, now: float) -> AccountView | None:
    """Return an account by its id or login; None: there is none that may be seen.

    Args:
        path: of the file of accounts; need not exist.
        name: id or login.
        customer: whose accounts may be seen; empty: all.
        now: Unix seconds.

    Raises:
        StoreError: the file can't be read.
    """
    if not path.exists():
        return None
    with AccountStore(path, make=False) as store:
        account = store.find(name)
        if account is None or not account.is_of(customer):
            return None
        return _view(store, account, now)


def view_accounts(path: Path, *, customer: str, after: str, most: int, now: float) -> AccountsPage:
    """Return accounts of a customer, or of all where it is empty.

    Args:
        path: of the file of accounts; need not exist.
        customer: whose they are; empty: all.
        after: only those whose ids come after it.
        most: of them, at least 1.
        now: Unix seconds.

    Raises:
        StoreError: the file can't be read.
    """
    if not path.exists():
        return AccountsPage(accounts=(), next=None)
    with AccountStore(path, make=False) as store:
        found = store.accounts(now=now, customer=customer or None, after=after, most=most + 1)
        shown = tuple(_view(store, account, now) for account in found[:most])
    return AccountsPage(accounts=shown, next=shown[-1].account if len(found) > most else None)


def _view(store: AccountStore, account: Account, now: float) -> AccountView:
    state = account.state(now)
    block = account.block if state is not AccountState.OPEN else None
    return AccountView(
        account=account.id,
        customer=account.customer_id,
        logins=account.logins,
        state=state,
        reason=block.why if block else "",
        since=_since(store, account.id, state, block.incident) if block else 0.0,
        until=block.until if block else 0.0,
        rating=account.rating,
        penalties=tuple(
            penalty.say
            for penalty in penalties(store, account.id)
            if penalty.mode is RuleMode.LIVE and (not penalty.until or now < penalty.until)
        ),
    )


def _since(store: AccountStore, account: str, state: AccountState, incident: int) -> float:
    """Return when a block was put on, by a person or for an incident."""
    if incident:
        rows = store.rows(
            "SELECT wanted_at FROM action WHERE incident = ? AND kind IN (?, ?)",
            (incident, ActionKind.BAN, ActionKind.LIMIT),
        )
        return float(rows[0][0]) if rows else 0.0
    deeds = (deed.at for deed in reversed(store.deeds(account)) if deed.what is _DEEDS[state])
    return next(deeds, 0.0)
