"""The rating of an account: 100 less the penalties that are in force, never below 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from oborona.accounts.account import FULL_RATING
from oborona.policy.account_tests import AccountPenalty
from oborona.types import RuleMode


class Penalty(msgspec.Struct, frozen=True, kw_only=True):
    """What one test takes from the rating of one account."""

    test: str
    points: int
    say: str
    mode: RuleMode
    at: float  # when it was first found, Unix seconds
    until: float  # Unix seconds; 0 = while its condition holds


class AccountRating(msgspec.Struct, frozen=True, kw_only=True):
    """A rating, and what it is made of."""

    value: int  # 0 to 100
    penalties: tuple[Penalty, ...]  # in force; those on trial take nothing


def rate(found: Iterable[AccountPenalty], before: Sequence[Penalty], now: float) -> AccountRating:
    """Return the rating of an account.

    Args:
        found: by the tests, now.
        before: the penalties of its last rating; one that lasts stays in force without being
            found again, as it was then.
        now: Unix seconds.
    """
    known = {penalty.test: penalty for penalty in before}
    fresh = {
        penalty.test: Penalty(
            test=penalty.test,
            points=penalty.points,
            say=penalty.say,
            mode=penalty.mode,
            at=known[penalty.test].at if penalty.test in known else now,
            until=now + penalty.lasts_s if penalty.lasts_s else 0.0,
        )
        for penalty in found
    }
    lasting = {test: penalty for test, penalty in known.items() if now < penalty.until}
    penalties = tuple((lasting | fresh).values())
    taken = sum(penalty.points for penalty in penalties if penalty.mode is RuleMode.LIVE)
    return AccountRating(value=max(0, FULL_RATING - taken), penalties=penalties)
