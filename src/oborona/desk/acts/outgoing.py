"""The act by which an account's limits on outgoing mail begin anew."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec

from oborona import secret, state_files
from oborona.counters.window import BUCKET_S, BUCKETS_A_DAY, bucket_of
from oborona.desk.call import ActOrder, NotFoundError, act
from oborona.desk.site import Site
from oborona.errors import StoreAbsent
from oborona.message.hashing import Hasher, ShingleType
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.counters import open_counters, open_readonly
from oborona.types import Amounts, CounterPrefix, Metric, Shingle

COUNTED: Final = {
    CounterPrefix.SENT: "messages",
    CounterPrefix.RECIPIENTS: "recipients",
    CounterPrefix.OCTETS: "octets",
    CounterPrefix.NEW_RECIPIENTS: "new recipients",
}


class LimitsReset(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """An account whose limits are to begin anew."""

    login: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]


class LimitsResetOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What of the last day was taken back; in a dry run, would be.

    Args:
        login: of the account.
        used: messages, recipients, octets and new recipients.
    """

    login: str
    used: Mapping[str, int]


@act("outgoing.reset", Right.ACCOUNT, about=("login",))
def reset_limits(site: Site, _caller: Caller, asked: LimitsReset) -> LimitsResetOutcome:
    """Take back what an account used up of its limits in the last 24 hours.

    Raises:
        NotFoundError: there is nothing to take back.
    """
    now = time.time()
    hasher = Hasher(secret.load(site.state).shingles)
    account = hasher.shingle(ShingleType.ACCOUNT, asked.login.lower())
    used = {prefix: asyncio.run(_last_day(site, account, prefix, now)) for prefix in COUNTED}
    if not any(map(sum, used.values())):
        raise NotFoundError(f"{asked.login}: sent nothing in the last 24 hours")
    if not asked.dry:
        _take_back(site, account, used, now)
    return LimitsResetOutcome(
        login=asked.login, used={word: sum(used[prefix]) for prefix, word in COUNTED.items()}
    )


def _take_back(
    site: Site, account: Shingle, used: Mapping[CounterPrefix, list[int]], now: float
) -> None:
    folder = site.state / state_files.COUNTERS
    if not folder.is_dir():
        raise StoreAbsent(f"no spools in {folder}: has the writer run?", state_files.COUNTERS)
    first = bucket_of(now) - BUCKETS_A_DAY + 1
    with site.as_owner():
        counters = open_counters(site.loaded.settings, site.state, "cli")
        try:
            for prefix, buckets in used.items():
                for number, amount in enumerate(buckets):
                    if amount:
                        at = float((first + number) * BUCKET_S)
                        counters.take_back((account,), Amounts(seen=amount), at, prefix)
        finally:
            counters.close()


async def _last_day(site: Site, account: Shingle, prefix: CounterPrefix, now: float) -> list[int]:
    """Return how much there was in each ten minutes of the last day, oldest first."""
    with open_readonly(site.loaded.settings, site.state) as store:
        (line,) = await store.timelines([account], now, prefix)
    return [bucket[Metric.SEEN] for bucket in line.buckets]
