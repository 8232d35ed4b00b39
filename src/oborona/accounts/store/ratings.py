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
MOMENT_S: Final = 1.0  # before an end a penalty is in force, and no more behind it
_RENEWED_S: Final = HOUR_S  # an end that moves by less is not written down again
# each part by its index, so that a part of all accounts costs no look at the others
_TO_RATE: Final = """
    SELECT account FROM
        (SELECT DISTINCT account FROM penalty WHERE account > ?1 ORDER BY account LIMIT ?3)
    UNION SELECT account FROM
        (SELECT DISTINCT account FROM incident
            WHERE account > ?1 AND (opened > ?2 OR closed > ?2) ORDER BY account LIMIT ?3)
    ORDER BY account LIMIT ?3
"""
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

    The end of a penalty that lasts is put off by an hour at a time: it may come so much earlier.

    Raises:
        StoreError: it can't be written.
    """
    rating = rating_of(store, account, tests, now)
    if not _news(store, account, rating):
        return rating
    with store.changing(), store.transaction() as db:
        fresh = store.find(account.id)
        if fresh is None:  # it was forgotten a moment ago
            return rating
        rating = rating_of(store, fresh, tests, now)  # of one moment with what is written
        db.execute("DELETE FROM penalty WHERE account = ?", (account.id,))
        db.executemany(
            "INSERT INTO penalty VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(account.id, *msgspec.structs.astuple(penalty)) for penalty in rating.penalties],
        )
        if rating.value != fresh.rating:
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
                    fresh.rating,
                    rating.value,
                    " ".join(penalty.test for penalty in rating.penalties),
                ),
            )
    return rating


def _news(store: AccountStore, account: Account, rating: AccountRating) -> bool:
    """Tell whether a rating says what is not written down."""
    if rating.value != account.rating:
        return True
    before = {penalty.test: penalty for penalty in penalties(store, account.id)}
    return len(before) != len(rating.penalties) or any(
        _differs(penalty, before.get(penalty.test)) for penalty in rating.penalties
    )


def _differs(penalty: Penalty, before: Penalty | None) -> bool:
    return (
        before is None
        or msgspec.structs.replace(penalty, until=before.until) != before
        or abs(penalty.until - before.until) >= _RENEWED_S
    )


def to_rate_again(store: AccountStore, after: str, most: int, now: float) -> list[str]:
    """Return accounts whose rating time may change: against which something speaks, or which had an
    incident lately; ids in their order.

    Args:
        store: the file of accounts.
        after: only those whose ids come after it.
        most: of them.
        now: Unix seconds.
    """
    rows = store.rows(_TO_RATE, (after, now - MONTH_S, most))
    return [account for (account,) in rows]


def with_ends(
    store: AccountStore, account: Account, tests: AccountTests, rating: AccountRating, now: float
) -> tuple[Penalty, ...]:
    """Return the penalties of a rating with the times at which they end by themselves, if the
    account does nothing more.

    A penalty for incidents ends when they are older than tests look back, and so much later as it
    lasts; one that hangs on nothing that passes has no end (0).

    Args:
        store: the file of accounts.
        account: whose.
        tests: that found them.
        rating: of the account.
        now: Unix seconds.
    """
    rows = store.rows(
        "SELECT opened + ?2 FROM incident WHERE account = ?1 AND opened + ?2 > ?3"
        " UNION SELECT closed + ?2 FROM incident WHERE account = ?1 AND closed + ?2 > ?3"
        " ORDER BY 1 DESC",
        (account.id, MONTH_S, now),
    )
    ends: dict[str, float] = {}
    for (at,) in rows:  # the latest first: it is what counts
        behind = _found(store, account, tests, at + MOMENT_S)
        for test in _found(store, account, tests, at - MOMENT_S) - behind:
            ends.setdefault(test, at + tests.lasts_s.get(test, 0.0))
    return tuple(
        msgspec.structs.replace(penalty, until=ends.get(penalty.test, penalty.until))
        for penalty in rating.penalties
    )


def _found(store: AccountStore, account: Account, tests: AccountTests, at: float) -> set[str]:
    """Return the tests that find something at a time, if nothing more happens until then."""
    found, _ = tests.penalties(facts_of(store, account, at))
    return {penalty.test for penalty in found}


def rating_changes(store: AccountStore, account: str) -> list[RatingChange]:
    """Return how the rating of an account went, oldest first."""
    rows = store.rows(
        "SELECT at, before, after, say FROM rating_change WHERE account = ? ORDER BY id",
        (account,),
    )
    return [
        RatingChange(at=at, before=before, after=after, say=say) for at, before, after, say in rows
    ]
