"""What is published: a draft, on trial or live, through its guards."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import msgspec

from oborona.desk.call import CallError
from oborona.desk.policy.difference import meaning_changes
from oborona.desk.policy.draft_desk import check_base, draft_folder, owned
from oborona.desk.policy.draft_note import DraftProposal
from oborona.desk.policy.drafts import Draft
from oborona.desk.policy.file_set import OVERLAY
from oborona.desk.policy.folder_replacement import FolderWriter, replace_files
from oborona.desk.policy.form import HEAD
from oborona.desk.policy.guards import check_preview, checked_policy
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
    versions_of,
)
from oborona.desk.policy.trial import changed_verdicts, trial_overlay
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.policy.load import Policy
from oborona.stores.policy_versions.digests import FileSet, digests_of
from oborona.stores.policy_versions.store import PolicyVersion, VersionSort


class LivePlan(NamedTuple):
    """A draft that may be published live.

    Args:
        policy: that it makes.
        answer: what would be done.
    """

    policy: Policy
    answer: PolicyPublication


def live_plan(site: Site, draft: Draft, before: FileSet, *, sure: bool) -> LivePlan:
    """Return what a draft would do live, through all guards; the policy's lock is held.

    Args:
        site: whose draft.
        draft: as it is now.
        before: what the policy folder holds.
        sure: it is meant to change so much as the preview has shown.

    Raises:
        CallError: a guard refuses it.
    """
    check_base(draft, before)
    policy = checked_policy(site, draft.files, draft_folder(site).files_folder(draft.name))
    most = site.loaded.settings.recheck.runaway_messages
    check_preview(draft.note.preview, draft.digest, sure=sure, most_moves=most)
    return LivePlan(policy, _planned(site, before, draft.files, policy_in_force(site), policy))


def publish_live(
    site: Site,
    caller: Caller,
    name: str,
    reason: str,
    *,
    sure: bool,
    dry: bool,
    proposal_of: Callable[[Draft], DraftProposal] | None = None,
    write: FolderWriter = replace_files,
    without: Collection[str] = (),
) -> PolicyPublication:
    """Publish a draft live.

    Args:
        site: whose draft.
        caller: who publishes.
        name: of the draft.
        reason: why.
        sure: it is meant to change so much as the preview has shown.
        dry: say what would be done, and do nothing.
        proposal_of: returns what the caller approves by it, or refuses that; None = it is their
            own doing.
        write: writes the folder.
        without: machines of the site that are not waited for.

    Raises:
        CallError: a guard, or the daemon, refuses it; what was there is there.
        StoreError: it can't be written; what was there is there.
    """
    with policy_lock(site), versions_of(site) as store:
        draft = draft_folder(site).get(name)
        proposal = None if proposal_of is None else proposal_of(draft)
        version, before = noticed(site, store)
        plan = live_plan(site, draft, before, sure=sure if proposal is None else proposal.sure)
        if dry:
            return plan.answer
        published, outcome = put_in_force(
            site,
            store,
            caller,
            before=before,
            after=draft.files,
            sort=VersionSort.LIVE,
            comment=reason if proposal is None else f"{proposal.reason}; approved: {reason}",
            meaning=plan.policy.version,
            proposer="" if proposal is None else proposal.by,
            write=write,
            without=without,
        )
        _follow(site, draft, published, draft.files)
        return published_answer(site, plan.answer, published, outcome, version)


def publish_on_trial(
    site: Site,
    caller: Caller,
    name: str,
    reason: str,
    *,
    dry: bool,
    without: Collection[str] = (),
) -> PolicyPublication:
    """Publish a draft in shadow mode, in which it changes no verdict.

    Args:
        site: whose draft.
        caller: who publishes.
        name: of the draft.
        reason: why.
        dry: say what would be done, and do nothing.
        without: machines of the site that are not waited for.

    Raises:
        CallError: a guard, or the daemon, refuses it; what was there is there.
        StoreError: it can't be written; what was there is there.
    """
    folder = draft_folder(site)
    with policy_lock(site), versions_of(site) as store:
        draft = folder.get(name)
        owned(caller, name, draft.note)
        version, before = noticed(site, store)
        check_base(draft, before)
        current = policy_in_force(site)
        wanted = checked_policy(site, draft.files, folder.files_folder(name))
        after, tried, policy = _on_trial(site, before, current, wanted)
        planned = _planned(site, before, after, current, policy, tried)
        if dry:
            return planned
        published, outcome = put_in_force(
            site,
            store,
            caller,
            before=before,
            after=after,
            sort=VersionSort.SHADOW,
            comment=reason,
            meaning=policy.version,
            without=without,
        )
        _follow(site, draft, published, after)
        return published_answer(site, planned, published, outcome, version)


def _planned(
    site: Site,
    before: FileSet,
    after: FileSet,
    current: Policy | None,
    policy: Policy,
    tried: tuple[str, ...] = (),
) -> PolicyPublication:
    names = check_files(site, before, after)
    changes = tuple(meaning_changes(current.means, policy.means)) if current else ()
    return PolicyPublication(
        meaning=policy.version, files=tuple(names), changes=changes, tried=tried
    )


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


def _follow(site: Site, draft: Draft, published: PolicyVersion, after: FileSet) -> None:
    """Let a draft go on from what it has become: of a trial it may be published live."""
    note = msgspec.structs.replace(
        draft.note, base=published.number, files=digests_of(after), proposal=None
    )
    draft_folder(site).write_note(draft.name, note)
