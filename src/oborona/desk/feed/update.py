"""The feed's newest version is fetched, checked, tried and put in force, or nothing is done.

    manifest and files (no lock) → lock → the record of what was seen → loader, tests, preview →
    the folder of the feed, as of any publication → the record of what is in force

Killed anywhere the folder holds what it held or what it was to hold, and the next run goes on from
what it finds there.
"""

from __future__ import annotations

import time
from contextlib import suppress

import msgspec

from oborona import state_files
from oborona.desk.call import CallError
from oborona.desk.feed.feed_site import feed_folder, feed_versions, unlike_shipped
from oborona.desk.feed.manifest import is_in_program
from oborona.desk.feed.offer import FeedOffer, fetch_offer
from oborona.desk.feed.record import FeedRecord, read_record, write_record
from oborona.desk.feed.step import FeedStep, next_step
from oborona.desk.feed.work import FeedUpdate, FeedWork
from oborona.desk.policy.file_set import read_folder
from oborona.desk.policy.site_policy import PolicyBusyError, policy_lock
from oborona.desk.site import Site
from oborona.errors import PeerError, StoreError
from oborona.people.caller import Caller
from oborona.policy.folders import PolicyFolders
from oborona.policy.shipped_files import MANIFEST, FileVersion, read
from oborona.stores.policy_versions.digests import FileSet, digest_of_all


def update_feed(
    site: Site, caller: Caller, *, sure: bool = False, now: bool = False, dry: bool = False
) -> FeedUpdate:
    """Take what the feed offers, if it is new and right.

    Args:
        site: whose feed.
        caller: who asks.
        sure: it is meant to change as much as a preview shows.
        now: let the newest version judge at once, one that was rolled back, too.
        dry: say what would be done, and do nothing.

    Raises:
        CallError: why nothing is taken; what was in force is.
        PeerError: the feed's server does not answer; the same.
        StoreError: it can't be written; the same.
    """
    try:
        return _updated(site, caller, sure=sure, now=now, dry=dry)
    except PolicyBusyError:
        raise  # it says nothing of the feed
    except (CallError, PeerError) as error:
        if not dry:
            _note_refusal(site, str(error))
        raise


def _updated(site: Site, caller: Caller, *, sure: bool, now: bool, dry: bool) -> FeedUpdate:
    settings, folder = site.loaded.settings.feed, feed_folder(site)
    record = read_record(site.state)
    offer = fetch_offer(settings, record)
    offer.seen(record, settings)
    before, waiting = read_folder(folder, links=False), _waiting_files(site)
    step = _step(site, _settled(record, before), offer, now=now)
    offered = offer.files((before, waiting)) if step.takes_files else {}
    fetched = unlike_shipped(site, offered)
    with policy_lock(site), feed_versions(site) as store:
        if read_folder(folder, links=False) != before or read_record(site.state) != record:
            raise PolicyBusyError("somebody else has changed the feed right now; try again")
        record = msgspec.structs.replace(offer.seen(record, settings), refused="", refused_at=0.0)
        if not dry:
            write_record(site.state, record)
        record = _settled(record, before)
        work = FeedWork(site, caller, store, before, record, offer, sure=sure, dry=dry)
        return work.done(step, fetched, waiting)


def _note_refusal(site: Site, why: str) -> None:
    """Write down that nothing was taken, for who looks before the newest version expires."""
    if not site.loaded.settings.feed.url:
        return
    with suppress(PolicyBusyError, StoreError), policy_lock(site):
        record = read_record(site.state)
        write_record(
            site.state, msgspec.structs.replace(record, refused=why, refused_at=time.time())
        )


def _step(site: Site, record: FeedRecord, offer: FeedOffer, *, now: bool) -> FeedStep:
    return next_step(
        record,
        offer.manifest,
        time.time(),
        now=now,
        shadowed=site.loaded.settings.feed.shadow_days > 0,
        shipped=is_in_program(offer.manifest, _ever_shipped(site.policy_folders)),
    )


def _settled(record: FeedRecord, before: FileSet) -> FeedRecord:
    """Return what is known, as far as the folder holds what was written down."""
    if record.live and record.digest != digest_of_all(before):
        return msgspec.structs.replace(record, live=0)
    return record


def _waiting_files(site: Site) -> dict[str, bytes]:
    return read_folder(site.state / state_files.FEED_WAITING, links=False)


def _ever_shipped(folders: PolicyFolders) -> list[FileVersion]:
    """Return every file that ever shipped; none where a folder of the site's stands for that."""
    table = None if folders.shipped is None else folders.shipped / MANIFEST
    return [] if table is None or not table.exists() else read(table)
