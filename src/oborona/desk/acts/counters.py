"""What is counted is forgotten."""

from __future__ import annotations

import asyncio
import time

from oborona import state_files
from oborona.desk.act_report import ActReport
from oborona.desk.asks.counters import metric_counts
from oborona.desk.call import ActOrder, act
from oborona.desk.owner import as_owner_of
from oborona.desk.shingle import shingle_named
from oborona.desk.site import Site
from oborona.errors import StoreAbsent
from oborona.lock import holder
from oborona.message.shingle_name import name_of
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.counters import open_counters, open_readonly
from oborona.types import CounterPrefix, Window


class ForgetOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Which shingle, TYPE:HASH, and of which service."""

    shingle: str
    prefix: CounterPrefix = CounterPrefix.IN


class ForgottenCounts(ActReport, frozen=True, kw_only=True):
    """What is forgotten.

    Args:
        shingle: TYPE:HASH.
        counts: of two weeks, by metric.
        writer: who does it; empty = the writer, when it runs again.
    """

    shingle: str
    counts: dict[str, int]
    writer: str = ""


@act("counters.forget", Right.SYSTEM, about=("shingle",))
def forget_counts(site: Site, caller: Caller, asked: ForgetOrder) -> ForgottenCounts:
    """Forget what is counted under a shingle: what comes after this counts from zero.

    Raises:
        UnusableValueError: it is no TYPE:HASH.
        StoreError: the counters can't be read, or nobody counts here.
    """
    shingle, now = shingle_named(asked.shingle), time.time()
    folder = site.state / state_files.COUNTERS
    with open_readonly(site.loaded.settings, site.state) as store:
        [totals] = asyncio.run(store.read([shingle], now, asked.prefix))
    counts = metric_counts(totals[Window.FORTNIGHT])
    if asked.dry:
        return ForgottenCounts(shingle=name_of(shingle), counts=counts, dry=True)
    if not folder.is_dir():
        raise StoreAbsent(f"no spools in {folder}: has the writer run?", state_files.COUNTERS)
    with as_owner_of(folder):
        spooled = open_counters(site.loaded.settings, site.state, "cli")
        try:
            spooled.forget(shingle, now, asked.prefix)
        finally:
            spooled.close()
    return ForgottenCounts(
        shingle=name_of(shingle),
        counts=counts,
        writer=str(holder(folder / state_files.COUNTERS_LOCK) or ""),
    )
