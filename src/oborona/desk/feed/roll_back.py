"""Roll-back of the feed: its folder holds again what it held, and the versions since are not taken
again.
"""

from __future__ import annotations

import time

import msgspec

from oborona.desk.feed.feed_site import feed_folder, feed_versions, live_plan
from oborona.desk.feed.manifest import TRIAL
from oborona.desk.feed.record import read_record, write_record
from oborona.desk.policy.file_set import read_folder
from oborona.desk.policy.guarded_roll_back import tried_now
from oborona.desk.policy.guards import check_preview
from oborona.desk.policy.publication import PolicyPublication, published_answer, put_in_force
from oborona.desk.policy.site_policy import policy_lock, version_of
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.stores.policy_versions.digests import digest_of_all
from oborona.stores.policy_versions.store import VersionSort


def roll_back_feed(
    site: Site, caller: Caller, number: int, reason: str, *, sure: bool, dry: bool
) -> PolicyPublication:
    """Let the folder of the feed hold what it held, and nothing wait.

    Args:
        site: whose feed.
        caller: who asks.
        number: of the version of the folder.
        reason: why.
        sure: it is meant to change as much as a preview shows.
        dry: say what would be done, and do nothing.

    Raises:
        NotFoundError: there is no such version.
        CallError: a guard, or the daemon, refuses it; what was there is there.
        StoreError: it can't be written; what was there is there.
    """
    folder = feed_folder(site)
    with policy_lock(site), feed_versions(site) as store:
        before = read_folder(folder, links=False)
        former = store.notice(before, time.time())
        held = store.files(version_of(store, number))
        wanted = {name: raw for name, raw in held.items() if name != TRIAL}
        plan = live_plan(site, before, wanted)
        check_preview(
            tried_now(site, plan.policy, wanted),
            digest_of_all(wanted),
            sure=sure,
            most_moves=site.loaded.settings.recheck.runaway_messages,
        )
        if dry:
            return plan.answer
        # first: whoever is killed after this has nothing that comes into force by itself
        record = read_record(site.state)
        record = msgspec.structs.replace(record, held=record.highest, waiting=None, live=0)
        write_record(site.state, record)
        if wanted == before:
            return plan.answer
        published, outcome = put_in_force(
            site,
            store,
            caller,
            before=before,
            after=wanted,
            sort=VersionSort.BACK,
            comment=reason,
            meaning=plan.policy.version,
            of=number,
            folder=folder,
        )
        return published_answer(None, plan.answer, published, outcome, former)
