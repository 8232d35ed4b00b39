"""What was edited by hand in the policy folder of one machine of several: published on all, or
given up for what the site has.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from oborona.desk.call import CallError
from oborona.desk.policy.difference import MeaningChange, meaning_changes
from oborona.desk.policy.folder_replacement import FolderWriter, changed_names, replace_files
from oborona.desk.policy.guards import checked_policy, linted
from oborona.desk.policy.machine_policy import (
    MachinePolicy,
    machine_policy,
    reload_here,
    take_latest,
)
from oborona.desk.policy.publication import PolicyPublication, published_answer, put_in_force
from oborona.desk.policy.site_policy import policy_lock, versions_of
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.policy.load import Policy
from oborona.replication.link import read_link
from oborona.stores.policy_versions.digests import FileSet
from oborona.stores.policy_versions.store import VersionSort, VersionStore


def share_folder(
    site: Site,
    caller: Caller,
    reason: str,
    *,
    take: bool,
    dry: bool,
    without: Collection[str] = (),
    write: FolderWriter = replace_files,
) -> PolicyPublication:
    """Publish on all machines what this one's policy folder holds.

    Args:
        site: whose policy.
        caller: who publishes.
        reason: why.
        take: let the folder hold what the site has instead.
        dry: say what would be done, and do nothing.
        without: machines that are not waited for.
        write: writes the folder.

    Raises:
        CallError: this machine is alone, nothing differs, or a machine can't judge by it.
        StoreError: it can't be written.
    """
    if read_link(site.state) is None:
        raise CallError("this machine is alone: what its policy folder holds is in force already")
    with policy_lock(site), versions_of(site) as store:
        held = machine_policy(site, store)
        theirs = {} if held.latest is None else store.files(held.latest)
        names = changed_names(theirs, held.files)
        if not names and held.latest is not None:
            raise CallError("the policy folder holds what the site has")
        if take:
            return _taken(site, store, held, names, dry=dry, write=write)
        policy = checked_policy(site, held.files)
        planned = PolicyPublication(
            meaning=policy.version,
            files=tuple(names),
            changes=_changes(site, theirs, policy) if theirs else (),
        )
        if dry:
            return planned
        published, outcome = put_in_force(
            site,
            store,
            caller,
            before=theirs,
            after=held.files,
            sort=VersionSort.OUTSIDE,
            comment=reason,
            meaning=policy.version,
            write=_leave,  # it is there
            without=without,
        )
        return published_answer(site, planned, published, outcome, held.latest or published)


def _taken(
    site: Site,
    store: VersionStore,
    held: MachinePolicy,
    names: list[str],
    *,
    dry: bool,
    write: FolderWriter,
) -> PolicyPublication:
    if held.latest is None:
        raise CallError("the site has no policy in common yet")
    planned = PolicyPublication(meaning=held.latest.meaning, files=tuple(names))
    if dry:
        return planned
    take_latest(site, store, held, write)
    return published_answer(site, planned, held.latest, reload_here(site), held.latest)


def _changes(site: Site, before: FileSet, policy: Policy) -> tuple[MeaningChange, ...]:
    former = linted(site, before).policy
    return () if former is None else tuple(meaning_changes(former.means, policy.means))


def _leave(_folder: Path, _before: FileSet, _after: FileSet) -> None:
    """Write nothing."""
