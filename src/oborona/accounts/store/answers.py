"""Answers to requests that may be repeated: one that comes again is answered as the first was, and
does nothing.

The answer is written in the transaction that does what was asked: a kill, or a second request at
the same moment, never does it twice.

Source: draft-ietf-httpapi-idempotency-key-header.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from oborona.accounts.store.accounts import AccountStore

KEPT_S: Final = 86_400.0  # that an answer is remembered


class RepeatKey(NamedTuple):
    """What names a request that may come again."""

    asker: str  # who asks
    customer: str  # for whom; empty: for all
    key: str  # that he gave to it
    request: bytes  # digest of all that is asked


class GivenAnswer(NamedTuple):
    """What a request is answered."""

    body: bytes
    account: str  # that it is about, with which it is forgotten; empty: several
    again: bool = False  # it was given before, and nothing was done now


class RepeatKeyReused(Exception):  # noqa: N818 - reads as what happened
    """Another request came under the same key."""


_Given = TypeVar("_Given", bound=GivenAnswer | None)


def answer_once(
    store: AccountStore, key: RepeatKey | None, now: float, answer: Callable[[], _Given]
) -> _Given | GivenAnswer:
    """Do what is asked, unless it was done within a day; all of it or nothing.

    Args:
        store: the file of accounts.
        key: of the request; None: it is done each time.
        now: Unix seconds.
        answer: does it; None of it is passed on, and not remembered.

    Raises:
        RepeatKeyReused: the key is another request's.
        StoreError: it can't be written.
    """
    with store.transaction() as db:
        if key is not None:
            db.execute("DELETE FROM answer WHERE at <= ?", (now - KEPT_S,))
            known = db.execute(
                "SELECT request, body, account FROM answer"
                " WHERE asker = ? AND customer = ? AND key = ?",
                key[:3],
            ).fetchone()
            if known is not None:
                request, body, account = known
                if request != key.request:
                    raise RepeatKeyReused
                return GivenAnswer(body, account, again=True)
        given = answer()
        if key is not None and given is not None:
            db.execute(
                "INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*key, now, given.account, given.body),
            )
        return given


def forget_answers(store: AccountStore, now: float) -> None:
    """Forget what is remembered no more at Unix time `now`."""
    with store.transaction() as db:
        db.execute("DELETE FROM answer WHERE at <= ?", (now - KEPT_S,))
