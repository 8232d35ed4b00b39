"""One step of a feed, done under the policy's lock: on trial, in force, or away."""

from __future__ import annotations

import shutil
import time
from typing import Final

import msgspec

from oborona import state_files
from oborona.desk.call import CallError
from oborona.desk.feed.feed_site import (
    FeedPlan,
    feed_folder,
    live_plan,
    over_shipped,
    trial_plan,
)
from oborona.desk.feed.manifest import TRIAL
from oborona.desk.feed.offer import FeedOffer
from oborona.desk.feed.record import FeedRecord, WaitingVersion, write_record
from oborona.desk.feed.step import FeedStep
from oborona.desk.policy.difference import FileDifference, file_differences
from oborona.desk.policy.file_set import read_folder
from oborona.desk.policy.folder_replacement import replace_files
from oborona.desk.policy.guarded_roll_back import tried_now
from oborona.desk.policy.guards import check_preview
from oborona.desk.policy.publication import PolicyPublication, published_answer, put_in_force
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.stores.policy_versions.digests import FileSet, digest_of_all
from oborona.stores.policy_versions.store import VersionSort, VersionStore

_DAY_S: Final = 86_400.0


class FeedUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """What was done about a feed, or would be.

    Args:
        step: it.
        version: the version of the feed that it is about.
        notes: what is new there.
        published: what it changes; None = nothing.
        files: the same, line by line.
        until: Unix seconds, when a version that waits may judge; 0 = none waits.
        untried: what of it can't be tried before, in words.
    """

    step: FeedStep
    version: int
    notes: str = ""
    published: PolicyPublication | None = None
    files: tuple[FileDifference, ...] = ()
    until: float = 0.0
    untried: tuple[str, ...] = ()


class FeedWork:
    """One step; the policy's lock is held.

    Args:
        site: whose feed.
        caller: who asks.
        store: of versions of its folder.
        before: what the folder holds.
        record: what is known.
        offer: of the feed.
        sure: it is meant to change as much as a preview shows.
        dry: say what would be done, and do nothing.
    """

    def __init__(
        self,
        site: Site,
        caller: Caller,
        store: VersionStore,
        before: FileSet,
        record: FeedRecord,
        offer: FeedOffer,
        *,
        sure: bool,
        dry: bool,
    ) -> None:
        self._site, self._caller, self._store = site, caller, store
        self._before, self._record, self._manifest = before, record, offer.manifest
        self._sure, self._dry = sure, dry

    def done(self, step: FeedStep, fetched: FileSet, waiting: FileSet) -> FeedUpdate:
        """Do it.

        Args:
            step: what is to be done.
            fetched: the files of the offer, if it needs them.
            waiting: those of the version that waits.
        """
        offered, waits = self._manifest, self._record.waiting
        match step:
            case FeedStep.TRIAL:
                return self._tried(fetched)
            case FeedStep.LIVE:
                return self._live(step, offered.version, offered.notes, fetched)
            case FeedStep.WAITED | FeedStep.WAITS:
                assert waits is not None
                if step is FeedStep.WAITS:
                    return FeedUpdate(
                        step=step, version=waits.version, notes=waits.notes, until=waits.until
                    )
                self._check_waiting(waits, waiting)
                return self._live(step, waits.version, waits.notes, waiting)
            case FeedStep.DROPPED:
                assert waits is not None
                left = {name: raw for name, raw in self._before.items() if name != TRIAL}
                return self._live(step, self._record.live, f"{waits.version} was withdrawn", left)
            case FeedStep.SHIPPED:
                self._record = msgspec.structs.replace(self._record, held=offered.version)
                return self._live(step, 0, "what ships has all of it", {})
        return FeedUpdate(step=step, version=offered.version, notes=offered.notes)

    def _tried(self, files: FileSet) -> FeedUpdate:
        plan = trial_plan(self._site, self._before, files)
        offered = self._manifest
        until = time.time() + self._site.loaded.settings.feed.shadow_days * _DAY_S
        answer = plan.answer
        if not self._dry:
            waiting = self._site.state / state_files.FEED_WAITING
            replace_files(waiting, read_folder(waiting, links=False), files)
            answer = self._published(
                plan, VersionSort.SHADOW, f"feed {offered.version} on trial: {offered.notes}"
            )
            self._write(
                self._record.live,
                plan.files,
                WaitingVersion(
                    version=offered.version,
                    digest=digest_of_all(files),
                    until=until,
                    notes=offered.notes,
                ),
            )
        return FeedUpdate(
            step=FeedStep.TRIAL,
            version=offered.version,
            notes=offered.notes,
            published=answer,
            files=self._differences(files),
            until=until,
            untried=plan.untried,
        )

    def _live(self, step: FeedStep, version: int, notes: str, files: FileSet) -> FeedUpdate:
        plan = live_plan(self._site, self._before, files)
        answer = plan.answer
        if files != self._before:
            check_preview(
                tried_now(self._site, plan.policy, files),
                digest_of_all(files),
                sure=self._sure,
                most_moves=self._site.loaded.settings.recheck.runaway_messages,
            )
        if not self._dry:
            answer = self._published(plan, VersionSort.LIVE, f"feed {version}: {notes}")
            self._write(version, files, None)
            shutil.rmtree(self._site.state / state_files.FEED_WAITING, ignore_errors=True)
        return FeedUpdate(
            step=step,
            version=version,
            notes=notes,
            published=answer,
            files=self._differences(files),
        )

    def _differences(self, files: FileSet) -> tuple[FileDifference, ...]:
        before = over_shipped(self._site, self._before, files)
        return tuple(file_differences(before, over_shipped(self._site, files, self._before)))

    def _published(self, plan: FeedPlan, sort: VersionSort, comment: str) -> PolicyPublication:
        former = self._store.notice(self._before, time.time())
        if plan.files == self._before:  # a kill came after the folder was written
            return plan.answer
        published, outcome = put_in_force(
            self._site,
            self._store,
            self._caller,
            before=self._before,
            after=plan.files,
            sort=sort,
            comment=comment,
            meaning=plan.policy.version,
            folder=feed_folder(self._site),
        )
        return published_answer(None, plan.answer, published, outcome, former)

    def _write(self, live: int, files: FileSet, waiting: WaitingVersion | None) -> None:
        write_record(
            self._site.state,
            msgspec.structs.replace(
                self._record, live=live, digest=digest_of_all(files), waiting=waiting
            ),
        )

    def _check_waiting(self, waits: WaitingVersion, files: FileSet) -> None:
        if digest_of_all(files) == waits.digest:
            return
        if not self._dry:
            write_record(self._site.state, msgspec.structs.replace(self._record, waiting=None))
        raise CallError(
            f"the files of version {waits.version}, which waited, were changed on the disk: the "
            f"next run fetches them anew"
        )
