"""What is published: a draft on trial or live, or an earlier version, each through its guards."""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.daemon.publisher.reload_socket import ReloadOutcome
from oborona.desk.call import CallError
from oborona.desk.policy.difference import meaning_changes
from oborona.desk.policy.draft_desk import check_base, draft_folder, owned
from oborona.desk.policy.drafts import Draft, DraftPreview
from oborona.desk.policy.file_set import OVERLAY
from oborona.desk.policy.folder_replacement import replace_files
from oborona.desk.policy.form import HEAD
from oborona.desk.policy.guards import check_preview, checked_policy, remembered
from oborona.desk.policy.lint import lint
from oborona.desk.policy.preview import preview
from oborona.desk.policy.publication import (
    NOBODY,
    FolderWriter,
    PolicyPublication,
    check_files,
    put_in_force,
)
from oborona.desk.policy.site_policy import (
    noticed,
    own_folder,
    policy_lock,
    restored,
    version_of,
    versions_of,
)
from oborona.desk.policy.trial import changed_verdicts, trial_overlay
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.people.caller import Caller
from oborona.policy.load import Policy
from oborona.stores.policy_versions.digests import FileSet, digest_of_all, digests_of
from oborona.stores.policy_versions.store import PolicyVersion, VersionSort

BACK_MESSAGES: Final = 1000  # that are judged before an earlier version is published again
BACK_S: Final = 1.0  # who rolls back is in a hurry


def publish_draft(
    site: Site, caller: Caller, name: str, reason: str, *, live: bool, sure: bool, dry: bool
) -> PolicyPublication:
    """Publish a draft.

    Args:
        site: whose draft.
        caller: who publishes.
        name: of the draft.
        reason: why.
        live: it decides about mail; False: in shadow mode.
        sure: it is meant to change so much as the preview has shown.
        dry: say what would be done, and do nothing.

    Raises:
        CallError: a guard, or the daemon, refuses it; what was there is there.
        StoreError: it can't be written; what was there is there.
    """
    folder = draft_folder(site)
    with policy_lock(site), versions_of(site) as store:
        draft = folder.get(name)
        if not live:
            owned(caller, name, draft.note)
        version, before = noticed(site, store)
        check_base(draft, before)
        current = _in_force(site)
        policy = checked_policy(site, draft.files, folder.files_folder(name))
        after, tried = draft.files, tuple[str, ...]()
        if live:
            most = site.loaded.settings.recheck.runaway_messages
            check_preview(draft.note.preview, draft.digest, sure=sure, most_moves=most)
        else:
            after, tried, policy = _on_trial(site, before, current, policy)
        names = check_files(site, before, after)
        changes = tuple(meaning_changes(current.means, policy.means)) if current else ()
        planned = PolicyPublication(
            meaning=policy.version, files=tuple(names), changes=changes, tried=tried
        )
        if dry:
            return planned
        published, outcome = put_in_force(
            site,
            store,
            caller,
            before=before,
            after=after,
            sort=VersionSort.LIVE if live else VersionSort.SHADOW,
            comment=reason,
            meaning=policy.version,
        )
        _follow(site, draft, published, after)
        return _published(planned, published, outcome, version)


def roll_back_to(
    site: Site,
    caller: Caller,
    number: int,
    reason: str,
    *,
    sure: bool,
    dry: bool,
    write: FolderWriter = replace_files,
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
        current = _in_force(site)
        policy = checked_policy(site, after)
        check_preview(
            _tried_now(site, policy, after),
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
        )
        return _published(planned, published, outcome, version)


def _in_force(site: Site) -> Policy | None:
    """Return the policy that the folder holds; None where that can't be used."""
    return lint(site, own_folder(site)).policy


def _on_trial(
    site: Site, before: FileSet, current: Policy | None, draft: Policy
) -> tuple[dict[str, bytes], tuple[str, ...], Policy]:
    """Return the files of a trial, what is tried, and the policy that they are."""
    if current is None:
        raise CallError("the policy that is there can't be used: nothing can be tried beside it")
    overlay = trial_overlay(before.get(OVERLAY, HEAD.encode()), current, draft, OVERLAY)
    after = {**before, OVERLAY: overlay.raw}
    policy = checked_policy(site, after)
    changed = changed_verdicts(current, policy)
    if changed:
        raise CallError(f"on trial it would change verdicts: {', '.join(changed[:5])}")
    return after, overlay.tried, policy


def _tried_now(site: Site, policy: Policy, files: FileSet) -> DraftPreview:
    """Return what a policy would have made of the newest messages, as far as that can be told."""
    digest = digest_of_all(files)
    try:
        found = preview(
            policy,
            site.state,
            messages=BACK_MESSAGES,
            within_s=BACK_S,
            window_s=site.loaded.settings.recheck.window_hours * 3600,
            examples=0,
        )
    except StoreError:  # without a journal an earlier version is better than one that harms
        return DraftPreview(digest=digest, at=0.0, messages=0)
    return remembered(found, digest, 0.0)


def _follow(site: Site, draft: Draft, published: PolicyVersion, after: FileSet) -> None:
    """Let a draft go on from what it has become: of a trial it may be published live."""
    note = msgspec.structs.replace(draft.note, base=published.number, files=digests_of(after))
    draft_folder(site).write_note(draft.name, note)


def _published(
    planned: PolicyPublication,
    published: PolicyVersion,
    outcome: ReloadOutcome | None,
    former: PolicyVersion,
) -> PolicyPublication:
    return msgspec.structs.replace(
        planned,
        version=published.number,
        workers=0 if outcome is None else outcome.workers,
        late=() if outcome is None else outcome.late,
        note="; ".join(filter(None, (planned.note, NOBODY if outcome is None else ""))),
        undo=former.number,
    )
