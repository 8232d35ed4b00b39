"""Roll-back: an earlier version is published again, through its guards, by one person."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from oborona.desk.policy.difference import meaning_changes
from oborona.desk.policy.draft_note import DraftPreview
from oborona.desk.policy.folder_replacement import FolderWriter, replace_files
from oborona.desk.policy.guards import check_preview, checked_policy, remembered
from oborona.desk.policy.preview import preview
from oborona.desk.policy.publication import (
    PolicyPublication,
    check_files,
    published_answer,
    put_in_force,
)
from oborona.desk.policy.site_policy import (
    noticed,
    policy_in_force,
    policy_lock,
    restored,
    version_of,
    versions_of,
)
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.people.caller import Caller
from oborona.policy.load import Policy
from oborona.stores.policy_versions.digests import FileSet, digest_of_all
from oborona.stores.policy_versions.store import VersionSort

BACK_MESSAGES: Final = 1000  # that are judged before an earlier version is published again
BACK_S: Final = 1.0  # who rolls back is in a hurry


def roll_back_to(
    site: Site,
    caller: Caller,
    number: int,
    reason: str,
    *,
    sure: bool,
    dry: bool,
    write: FolderWriter = replace_files,
    without: Collection[str] = (),
) -> PolicyPublication:
    """Publish an earlier version again.

    Args:
        site: whose policy.
        caller: who publishes.
        number: of the version.
        reason: why.
        sure: it is meant to change as much as it does.
        dry: say what would be done, and do nothing.
        write: writes the folder.
        without: machines of the site that are not waited for.

    Raises:
        NotFoundError: there is no such version.
        CallError: a guard, or the daemon, refuses it; what was there is there.
        StoreError: it can't be written; what was there is there.
    """
    with policy_lock(site), versions_of(site) as store:
        version, before = noticed(site, store)
        wanted = store.files(version_of(store, number))
        after, left = restored(site, before, wanted)
        names = check_files(site, before, after)
        current = policy_in_force(site)
        policy = checked_policy(site, after)
        check_preview(
            tried_now(site, policy, after),
            digest_of_all(after),
            sure=sure,
            most_moves=site.loaded.settings.recheck.runaway_messages,
        )
        planned = PolicyPublication(
            meaning=policy.version,
            files=tuple(names),
            changes=tuple(meaning_changes(current.means, policy.means)) if current else (),
            note=f"stay as they are, since they are written elsewhere: {', '.join(left)}"
            if left
            else "",
        )
        if dry:
            return planned
        published, outcome = put_in_force(
            site,
            store,
            caller,
            before=before,
            after=after,
            sort=VersionSort.BACK,
            comment=reason,
            meaning=policy.version,
            of=number,
            write=write,
            without=without,
        )
        return published_answer(site, planned, published, outcome, version)


def tried_now(site: Site, policy: Policy, files: FileSet) -> DraftPreview:
    """Return what a policy would have made of the newest messages, as far as that can be told."""
    digest = digest_of_all(files)
    try:
        found = preview(
            policy,
            site,
            messages=BACK_MESSAGES,
            within_s=BACK_S,
            examples=0,
        )
    except StoreError:  # without a journal an earlier version is better than one that harms
        return DraftPreview(digest=digest, at=0.0, messages=0)
    return remembered(found, digest, 0.0)
