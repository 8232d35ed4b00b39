"""Asks about accounts of the site's own senders: what they are, and what they may do."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Annotated, Any

import msgspec

from oborona import state_files
from oborona.accounts.account import Account, AccountState
from oborona.accounts.rating.rating import Penalty
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.ratings import (
    RatingChange,
    facts_of,
    rating_changes,
    rating_of,
    with_ends,
)
from oborona.accounts.store.rows import AccountDeed
from oborona.accounts.waiting_blocks import WaitingBlocks, as_stopped
from oborona.desk.call import NotFoundError, ask
from oborona.desk.site import Site
from oborona.desk.state_folder import open_store
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.account_tests import ACCOUNT_SCHEMA

AccountRows = Annotated[int, msgspec.Meta(ge=1, le=1_000)]
AccountName = Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]


class AccountsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which accounts are asked for, in the order of their ids."""

    state: AccountState | None = None
    customer: str | None = None
    after: str = ""  # the next page: `next` of the one before
    most: AccountRows = 100


class AccountStanding(msgspec.Struct, frozen=True, kw_only=True):
    """An account, and what it may do now."""

    account: Account
    state: AccountState
    trusted: bool


class AccountPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some accounts, in the order of their ids."""

    accounts: tuple[AccountStanding, ...]
    next: str | None  # `after` of the next page; None = there is none


class NamedAccountQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An account, by its id or a login."""

    name: AccountName


class AccountDetails(msgspec.Struct, frozen=True, kw_only=True):
    """An account, and what people did to it, oldest first."""

    standing: AccountStanding
    deeds: tuple[AccountDeed, ...]


class RatingExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """What the rating of an account is made of, by the policy as it is now."""

    account: str
    rating: int
    stored: int  # as it was rated last
    penalties: tuple[Penalty, ...]
    facts: Mapping[str, Any]  # that tests may name
    changes: tuple[RatingChange, ...]


@ask("account.list", Right.ACCOUNT_SEE)
def list_accounts(site: Site, _caller: Caller, asked: AccountsQuestion) -> AccountPage:
    """Return accounts."""
    now = time.time()
    with open_accounts(site) as store:
        found = store.accounts(
            now=now,
            state=asked.state,
            customer=asked.customer,
            after=asked.after,
            most=asked.most,
        )
    last = found[-1].id if len(found) == asked.most else None
    return AccountPage(accounts=tuple(standing_at(one, now) for one in found), next=last)


@ask("account.show", Right.ACCOUNT_SEE)
def show_account(site: Site, _caller: Caller, asked: NamedAccountQuestion) -> AccountDetails:
    """Return all that is known of an account; its state is what this machine does."""
    now = time.time()
    with open_accounts(site) as store:
        found = find_account(store, asked.name)
        deeds = store.deeds(found.id)
        found = as_stopped(found, WaitingBlocks(store.path).now(), now)
    return AccountDetails(standing=standing_at(found, now), deeds=tuple(deeds))


@ask("account.explain", Right.ACCOUNT_SEE)
def explain_account(site: Site, _caller: Caller, asked: NamedAccountQuestion) -> RatingExplanation:
    """Return what the rating of an account is made of."""
    now = time.time()
    tests = site.policy().account_tests
    with open_accounts(site) as store:
        found = find_account(store, asked.name)
        rating = rating_of(store, found, tests, now)
        penalties = with_ends(store, found, tests, rating, now)
        facts = facts_of(store, found, now)
        changes = rating_changes(store, found.id)
    return RatingExplanation(
        account=found.id,
        rating=rating.value,
        stored=found.rating,
        penalties=penalties,
        facts={fact.name: getattr(facts, fact.attribute) for fact in ACCOUNT_SCHEMA.facts},
        changes=tuple(changes),
    )


def open_accounts(site: Site, *, make: bool = False) -> AbstractContextManager[AccountStore]:
    """Open the file of accounts as the daemon's user.

    Args:
        site: whose state folder it lies in.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    return open_store(site, AccountStore, state_files.ACCOUNTS, make=make)


def find_account(store: AccountStore, name: str) -> Account:
    """Return an account by its id or a login.

    Raises:
        NotFoundError: there is none.
    """
    account = store.find(name)
    if account is None:
        raise no_account(name)
    return account


def no_account(name: str) -> NotFoundError:
    """Return what says that there is no account by an id or login."""
    return NotFoundError(f"there is no account {name[:100]!r}, nor a login of one")


def standing_at(account: Account, now: float) -> AccountStanding:
    """Return what an account may do at Unix time `now`."""
    return AccountStanding(account=account, state=account.state(now), trusted=account.trusted(now))
