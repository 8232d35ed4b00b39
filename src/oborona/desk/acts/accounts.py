"""Acts on accounts: what a person says of one, and one that is forgotten."""

from __future__ import annotations

import time

import msgspec

from oborona.accounts.account import Account
from oborona.accounts.account_orders import (
    BEARING,
    AccountOrder,
    OrderOutcome,
    WrongOrder,
    carry_out,
    order_end,
    order_reason,
)
from oborona.accounts.import_lines import WrongAccount, account_record
from oborona.accounts.store.rows import DeedKind
from oborona.desk.asks.accounts import (
    AccountName,
    AccountStanding,
    find_account,
    no_account,
    open_accounts,
    standing_at,
)
from oborona.desk.call import ActOrder, CallError, UndoCall, act
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.people.caller import Caller
from oborona.people.rights import Right


class WrongAccountOrderError(CallError):
    """What is said of an account can't be kept, or can't be said of any."""


class AccountCommand(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """An account that something is said of, by its id or a login; the reason is kept."""

    name: AccountName


class LimitedAccountCommand(AccountCommand, kw_only=True, forbid_unknown_fields=True):
    """The same, until a time.

    Args:
        until: Unix seconds; 0 = it does not end.
    """

    until: float = 0.0


class AccountOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of an account; in a dry run, what would.

    Args:
        standing: the account; None = a login that would become one.
        done: False: nothing was to be done, it was open or nobody trusted it.
        new: it was no account yet.
        until: Unix seconds; 0 = it does not end.
        undo: None = nothing was done, or none does exactly that.
    """

    standing: AccountStanding | None
    done: bool
    new: bool
    until: float
    undo: UndoCall | None


class ForgottenAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An account that is forgotten; in a dry run, that would be."""

    account: str


@act("account.trust", Right.ACCOUNT, about=("name",))
def trust_account(site: Site, caller: Caller, asked: LimitedAccountCommand) -> AccountOutcome:
    """Trust an account: excesses of it are told, and it is never limited or banned for them."""
    return _say(site, caller, asked, DeedKind.TRUST, asked.until)


@act("account.untrust", Right.ACCOUNT, about=("name",))
def untrust_account(site: Site, caller: Caller, asked: AccountCommand) -> AccountOutcome:
    """Trust an account no more."""
    return _say(site, caller, asked, DeedKind.UNTRUST)


@act("account.limit", Right.ACCOUNT, about=("name",))
def limit_account(site: Site, caller: Caller, asked: LimitedAccountCommand) -> AccountOutcome:
    """Put off all mail of an account for a time."""
    if not asked.until:
        raise WrongAccountOrderError("say until when it is limited")
    return _say(site, caller, asked, DeedKind.LIMIT, asked.until)


@act("account.ban", Right.ACCOUNT, about=("name",))
def ban_account(site: Site, caller: Caller, asked: LimitedAccountCommand) -> AccountOutcome:
    """Refuse all mail of an account, with the reason."""
    return _say(site, caller, asked, DeedKind.BAN, asked.until)


@act("account.unban", Right.ACCOUNT, about=("name",))
def unban_account(site: Site, caller: Caller, asked: AccountCommand) -> AccountOutcome:
    """Take mail of an account again that is banned or limited."""
    return _say(site, caller, asked, DeedKind.UNBAN)


@act("account.forget", Right.ACCOUNT, about=("name",))
def forget_account(site: Site, _caller: Caller, asked: AccountCommand) -> ForgottenAccount:
    """Drop all that is known of an account; nothing brings it back."""
    now = time.time()
    with open_accounts(site) as store:
        found = find_account(store, asked.name)
        if not asked.dry:
            store.forget(found.id, now=now)
        elif found.block is not None and found.block.in_force(now):
            raise StoreError(f"{found.id} is {found.block.state}; unban it before it is forgotten")
    return ForgottenAccount(account=found.id)


def _say(
    site: Site, caller: Caller, asked: AccountCommand, what: DeedKind, until: float = 0.0
) -> AccountOutcome:
    """Do what somebody says of an account.

    Raises:
        WrongAccountOrderError: it can't be kept, or the name can't be a login.
        NotFoundError: there is no such account.
    """
    now = time.time()
    try:
        order = AccountOrder(
            what=what,
            by=caller.name,
            why=order_reason(asked.reason) if asked.reason or not asked.dry else "",
            until=order_end(until, now) if until else 0.0,
        )
        # who tries begins no file
        with open_accounts(site, make=what in BEARING and not asked.dry) as store:
            before = store.find(asked.name)
            if asked.dry:
                outcome = _preview(before, asked.name, what, now)
            else:
                outcome = _standing(carry_out(store, asked.name, order, now), asked.name, now)
    except (WrongOrder, WrongAccount) as error:
        raise WrongAccountOrderError(str(error)) from None
    undo = _undo(before, asked.name, what, now) if outcome.done else None
    return msgspec.structs.replace(outcome, until=order.until, undo=undo)


def _standing(outcome: OrderOutcome | None, name: str, now: float) -> AccountOutcome:
    if outcome is None:
        raise no_account(name)
    return AccountOutcome(
        standing=standing_at(outcome.account, now),
        done=outcome.done,
        new=outcome.new,
        until=0.0,
        undo=None,
    )


def _preview(account: Account | None, name: str, what: DeedKind, now: float) -> AccountOutcome:
    """Return what an order would do, by what is known of the account; nothing is written."""
    if account is None:
        if what not in BEARING:
            raise no_account(name)
        account_record(name)
        return AccountOutcome(standing=None, done=True, new=True, until=0.0, undo=None)
    done = {
        DeedKind.UNBAN: account.block is not None and account.block.in_force(now),
        DeedKind.UNTRUST: account.trusted(now),
    }.get(what, True)
    return AccountOutcome(
        standing=standing_at(account, now), done=done, new=False, until=0.0, undo=None
    )


def _undo(account: Account | None, name: str, what: DeedKind, now: float) -> UndoCall:
    """Return what makes an account again what it was.

    Args:
        account: as it was; None = there was none.
        name: that it was called by.
        what: was done to it.
        now: Unix seconds.
    """
    named = {"name": account.id if account is not None else name.lower()}
    if what in (DeedKind.TRUST, DeedKind.UNTRUST):
        trust = account.trust if account is not None and account.trusted(now) else None
        if trust is None:
            return UndoCall(call="account.untrust", asked=named)
        arguments = {**named, "until": trust.until, "reason": trust.why}
        return UndoCall(call="account.trust", asked=arguments)
    block = account.block if account is not None else None
    if block is None or not block.in_force(now):
        return UndoCall(call="account.unban", asked=named)
    arguments = {**named, "until": block.until, "reason": block.why}
    deed = "account.ban" if block.state == "banned" else "account.limit"
    return UndoCall(call=deed, asked=arguments)
