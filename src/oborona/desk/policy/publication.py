"""A publication: files into the policy folder, the daemon asked to read them, and put back if it
refuses.

    lock → written down with all its files (begun) → the folder (at once) → reload → written down
    what came of it

Killed before the folder is written the old policy is there, and after it the new one; who looks
next sees which, and writes that down.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

import msgspec

from oborona.daemon.publisher.reload_socket import ReloadOutcome, ask_reload
from oborona.desk.call import CallError
from oborona.desk.policy.difference import MeaningChange
from oborona.desk.policy.folder_replacement import FolderWriter, changed_names, replace_files
from oborona.desk.policy.reload_outcome import PATIENCE_S
from oborona.desk.policy.site_policy import may_write, own_folder
from oborona.desk.site import Site
from oborona.errors import OboronaError, StoreError
from oborona.people.caller import Caller
from oborona.replication.link import read_link
from oborona.stores.policy_versions.digests import FileSet
from oborona.stores.policy_versions.site_versions import note_applied, note_coming
from oborona.stores.policy_versions.store import (
    PolicyVersion,
    VersionSort,
    VersionState,
    VersionStore,
)

NOBODY: Final = "nobody who runs on this state answers: it comes into force at the next start"


class PolicyPublication(msgspec.Struct, frozen=True, kw_only=True):
    """What was published, or would be.

    Args:
        version: its number; 0 where nothing was done.
        meaning: version of what it means, as in the log and the journal.
        files: names of the files that differ.
        changes: what differs in meaning.
        tried: names under which something is on trial.
        workers: that judge by it.
        late: workers that do not yet; they load it before their next message.
        note: what else is to be known.
        undo: number of the version to roll back to.
    """

    version: int = 0
    meaning: str = ""
    files: tuple[str, ...] = ()
    changes: tuple[MeaningChange, ...] = ()
    tried: tuple[str, ...] = ()
    workers: int = 0
    late: tuple[int, ...] = ()
    note: str = ""
    undo: int = 0


def check_files(site: Site, before: FileSet, after: FileSet) -> list[str]:
    """Return the names of files that a publication changes.

    Raises:
        CallError: none, or one that may not be written.
    """
    names = changed_names(before, after)
    if not names:
        raise CallError("nothing differs from what is in force")
    for name in names:
        may_write(site, name)
    return names


def put_in_force(
    site: Site,
    store: VersionStore,
    caller: Caller,
    *,
    before: FileSet,
    after: FileSet,
    sort: VersionSort,
    comment: str,
    meaning: str,
    of: int = 0,
    proposer: str = "",
    write: FolderWriter = replace_files,
    without: Collection[str] = (),
    folder: Path | None = None,
) -> tuple[PolicyVersion, ReloadOutcome | None]:
    """Publish files; the policy's lock is held.

    Args:
        site: whose policy.
        store: of versions.
        caller: who publishes.
        before: what the folder holds.
        after: what it is to hold, checked.
        sort: how the version comes to be.
        comment: why.
        meaning: version of what the policy means then.
        of: the version that it is again; 0 = none.
        proposer: who has proposed what the caller approves; empty = nobody.
        write: writes the folder.
        without: machines of the site that are not waited for.
        folder: that is written; None = the site's own.

    Returns:
        The version, and what the daemon said; None where none runs.

    Raises:
        CallError: the daemon refuses; the files of before are back.
        StoreError: files can't be written; those of before are there.
    """
    version = PolicyVersion(
        at=time.time(),
        author=proposer or caller.name,
        approved=caller.name if proposer else "",
        way=caller.way.value,
        comment=comment,
        sort=sort,
        state=VersionState.BEGUN,
        meaning=meaning,
        of=of,
    )
    # what a feed brings each machine fetches for itself
    link = read_link(site.state) if folder is None else None
    if link is not None:
        # of those alone who have several machines
        from oborona.desk.policy import site_publication  # noqa: PLC0415

        version = site_publication.publish_everywhere(link, store, version, before, after, without)
        return _brought_in(site, version, write, before, after)
    if without:
        raise CallError("this machine is alone: there is no other to publish without")
    version = store.begin(version, after)
    folder = folder or own_folder(site)
    try:
        write(folder, before, after)
    except OboronaError as error:
        store.end(version.number, VersionState.REFUSED, trouble=str(error))
        raise
    outcome = ask_reload(site.state, PATIENCE_S)
    trouble = _trouble(outcome)
    if trouble:
        try:
            write(folder, after, before)
        except OboronaError as error:
            store.end(version.number, VersionState.PUBLISHED, trouble=trouble)
            raise StoreError(
                f"the daemon refuses it ({trouble}), and what was there can't be put back: {error}"
            ) from error
        store.end(version.number, VersionState.REFUSED, trouble=trouble)
        ask_reload(site.state, PATIENCE_S)
        raise CallError(f"the daemon refuses it, and what was there is back: {trouble}")
    store.end(version.number, VersionState.PUBLISHED, meaning=meaning)
    return msgspec.structs.replace(version, state=VersionState.PUBLISHED), outcome


def _brought_in(
    site: Site, version: PolicyVersion, write: FolderWriter, before: FileSet, after: FileSet
) -> tuple[PolicyVersion, ReloadOutcome | None]:
    """Bring what is the site's policy by now into this machine's folder."""
    try:
        note_coming(site.state, before, version)
        write(own_folder(site), before, after)
        note_applied(site.state, version)
    except OboronaError as error:
        raise StoreError(
            f"version {version.number} is published on all machines, and this one's folder can't be "
            f"written: {error}"
        ) from error
    outcome = ask_reload(site.state, PATIENCE_S)
    if trouble := _trouble(outcome):
        raise CallError(
            f"version {version.number} is published on all machines, and the daemon of this one "
            f"refuses it: {trouble}"
        )
    return msgspec.structs.replace(version, state=VersionState.PUBLISHED), outcome


def _trouble(outcome: ReloadOutcome | None) -> str:
    if outcome is None:
        return ""
    if outcome.refused is not None:
        place = ":".join(
            str(part)
            for part in (outcome.refused.file, outcome.refused.line, outcome.refused.column)
            if part
        )
        return f"{place}: {outcome.refused.problem}" if place else outcome.refused.problem
    return outcome.trouble


def published_answer(
    site: Site | None,
    planned: PolicyPublication,
    published: PolicyVersion,
    outcome: ReloadOutcome | None,
    former: PolicyVersion,
) -> PolicyPublication:
    """Return what was planned, with what came of it.

    Args:
        site: whose policy, on all its machines; None: it is this machine's alone.
        planned: what was to be published.
        published: the version that it is.
        outcome: what the daemon said; None where none runs.
        former: the version before.
    """
    link, elsewhere = None if site is None else read_link(site.state), ""
    if link is not None:
        from oborona.desk.policy import site_publication  # noqa: PLC0415 - as above

        elsewhere = site_publication.wait_in_force(link, published.number)
    return msgspec.structs.replace(
        planned,
        version=published.number,
        workers=0 if outcome is None else outcome.workers,
        late=() if outcome is None else outcome.late,
        note="; ".join(filter(None, (planned.note, NOBODY if outcome is None else "", elsewhere))),
        undo=former.number,
    )
