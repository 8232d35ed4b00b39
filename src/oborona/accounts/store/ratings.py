"""Ratings in the file of accounts: what they are made of, and how they went."""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.accounts.account import Account
from oborona.accounts.rating.facts import account_facts
from oborona.accounts.rating.rating import AccountRating, Penalty, rate
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.records import registration_network
from oborona.accounts.store.rows import CHANGED
from oborona.policy.account_tests import AccountFacts, AccountTests
from oborona.types import RuleMode

HOUR_S: Final = 3600.0
MONTH_S: Final = 30 * 86_400.0
_COLUMNS: Final = ", ".join(Penalty.__struct_fields__)


class RatingChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a rating."""

    at: float  # Unix seconds
    before: int
    after: int
    say: str  # the tests whose penalties were in force then


def facts_of(store: AccountStore, account: Account, now: float) -> AccountFacts:
    """Return what tests may name of an account at Unix time `now`."""
    same_network, told = 0, account.registration
    if told is not None and told.address and told.time:
        ((same_network,),) = store.rows(
            "SELECT count(*) FROM registration WHERE network = ? AND network <> ''"
            " AND time BETWEEN ? AND ?",
            (registration_network(told.address), told.time - HOUR_S, told.time + HOUR_S),
        )
    ((spam,),) = store.rows(
        "SELECT count(*) FROM incident WHERE account = ? AND verdict = 'spam' AND closed > ?",
        (account.id, now - MONTH_S),
    )
    incidents = store.rows(
        "SELECT metric, count(*) FROM incident WHERE account = ? AND opened > ?"
        " AND ifnull(verdict, '') <> 'not-spam' GROUP BY metric",
        (account.id, now - MONTH_S),
    )
    return account_facts(
        account,
        same_network=same_network,
        spam_incidents=spam,
        incidents=dict(incidents),
        now=now,
    )


def penalties(store: AccountStore, account: str) -> list[Penalty]:
    """Return what spoke against an account when it was rated last."""
    rows = store.rows(
        f"SELECT {_COLUMNS} FROM penalty WHERE account = ? ORDER BY points DESC, test",  # noqa: S608 - names of columns
        (account,),
    )
    return [
        Penalty(test=test, points=points, say=say, mode=RuleMode(mode), at=at, until=until)
        for test, points, say, mode, at, until in rows
    ]


def rating_of(
    store: AccountStore, account: Account, tests: AccountTests, now: float
) -> AccountRating:
    """Return the rating of an account as it would be at Unix time `now`; nothing is written."""
    found, _ = tests.penalties(facts_of(store, account, now))
    return rate(found, penalties(store, account.id), now)


def rate_account(
    store: AccountStore, account: Account, tests: AccountTests, now: float
) -> AccountRating:
    """Rate an account, and write it down where it has changed.

    Raises:
        StoreError: it can't be written.
    """
    before = penalties(store, account.id)
    found, _ = tests.penalties(facts_of(store, account, now))
    rating = rate(found, before, now)
    if rating.value == account.rating and set(rating.penalties) == set(before):
        return rating
    with store.changing(), store.transaction() as db:
        db.execute("DELETE FROM penalty WHERE account = ?", (account.id,))
        db.executemany(
            "INSERT INTO penalty VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(account.id, *msgspec.structs.astuple(penalty)) for penalty in rating.penalties],
        )
        if rating.value != account.rating:
            db.execute(
                f"UPDATE account SET rating = ?, changed = {CHANGED} WHERE id = ?",  # noqa: S608 - a literal
                (rating.value, account.id),
            )
            db.execute(
                "INSERT INTO rating_change (account, at, before, after, say)"
                " VALUES (?, ?, ?, ?, ?)",
                (
                    account.id,
                    now,
                    account.rating,
                    rating.value,
                    " ".join(penalty.test for penalty in rating.penalties),
                ),
            )
    return rating


def rating_changes(store: AccountStore, account: str) -> list[RatingChange]:
    """Return how the rating of an account went, oldest first."""
    rows = store.rows(
        "SELECT at, before, after, say FROM rating_change WHERE account = ? ORDER BY id",
        (account,),
    )
    return [
        RatingChange(at=at, before=before, after=after, say=say) for at, before, after, say in rows
    ]
