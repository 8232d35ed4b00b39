"""The policy folder of one machine of a site, and how the site's version comes into it.

level    it holds the site's version
behind   it holds an earlier one: the site's is put in its place
new      it was never the site's, as after `oborona site join`: what it holds is set aside
edited   somebody has edited it here: it stays, and judges here, until it is shared or
             given up

What was last brought in is noted beside the stores.
"""

from __future__ import annotations

import time
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from oborona import __version__, state_files
from oborona.daemon.publisher.reload_socket import ReloadOutcome, ask_reload
from oborona.daemon.site.follower import ReplicaFollower
from oborona.desk.call import CallError
from oborona.desk.policy.file_set import read_folder
from oborona.desk.policy.folder_replacement import FolderWriter, replace_files
from oborona.desk.policy.reload_outcome import PATIENCE_S
from oborona.desk.policy.site_policy import own_folder, policy_lock, versions_of
from oborona.desk.site import Site
from oborona.errors import OboronaError, StoreError
from oborona.replication.link import read_link
from oborona.replication.log import ReplicationLog
from oborona.stores.policy_versions import schema
from oborona.stores.policy_versions.digests import FileSet, digest_of_all
from oborona.stores.policy_versions.site_versions import (
    applied_version,
    knows_files,
    note_applied,
    note_coming,
)
from oborona.stores.policy_versions.store import PolicyVersion, VersionStore

EDITED: Final = (
    "the policy folder was edited on this machine: `oborona policy share` publishes what it holds on "
    "all machines, `oborona policy share --take` gives it up for what the site has"
)


class FolderState(StrEnum):
    """How a machine's policy folder is to the site's version."""

    LEVEL = "level"
    BEHIND = "behind"
    NEW = "new"
    EDITED = "edited"


class MachinePolicy(NamedTuple):
    """What a machine's policy folder holds."""

    state: FolderState
    files: dict[str, bytes]
    latest: PolicyVersion | None  # that the site has; None = nothing was published yet


def machine_policy(site: Site, store: VersionStore) -> MachinePolicy:
    """Return what this machine's policy folder holds.

    Raises:
        CallError: it has none of its own.
        StoreError: it can't be read.
    """
    files, latest = read_folder(own_folder(site)), store.latest()
    applied = applied_version(site.state)
    if latest is None or latest.digest == digest_of_all(files):
        state = FolderState.LEVEL
    elif applied is None:
        state = FolderState.NEW
    elif digest_of_all(files) in (applied.digest, applied.coming):
        state = FolderState.BEHIND
    else:
        state = FolderState.EDITED
    return MachinePolicy(state, files, latest)


def take_latest(
    site: Site, store: VersionStore, held: MachinePolicy, write: FolderWriter = replace_files
) -> None:
    """Let the policy folder hold the site's version; the policy's lock is held.

    What it held is set aside, if no version has that.

    Raises:
        CallError, StoreError: it can't be; what was there is there.
    """
    if held.latest is None:
        return
    if held.state is not FolderState.LEVEL:
        if held.state is not FolderState.BEHIND and not knows_files(store, held.files):
            _set_aside(site.state, held.files)
        note_coming(site.state, held.files, held.latest)
        write(own_folder(site), held.files, store.files(held.latest))
    note_applied(site.state, held.latest)


def catch_up(site: Site) -> None:
    """Let a machine of a site begin with the site's policy, before it judges; what can't be had is
    told, and it begins with what it has.
    """
    link = read_link(site.state)
    if link is None:
        return
    kinds = {state_files.POLICY_VERSIONS: schema.SHARED}
    follower = ReplicaFollower(site.state, link, kinds, __version__)
    try:
        with closing(ReplicationLog(link.address, link.machine)) as log:
            log.check(link.site)
            follower.look(log)
        if not (site.state / state_files.POLICY_VERSIONS).exists():
            return  # nothing was published yet
        with policy_lock(site), versions_of(site) as store:
            held = machine_policy(site, store)
            if held.state is FolderState.EDITED:
                raise CallError(EDITED)
            take_latest(site, store, held)
    except OboronaError as error:
        site.notice(f"the site's policy is not fetched, what was last known is in force: {error}")
    finally:
        follower.close()


def reload_here(site: Site, patience_s: float = PATIENCE_S) -> ReloadOutcome | None:
    """Have this machine's daemon read the folder; return what it says, None where none runs.

    Raises:
        CallError: it can't judge by it.
    """
    outcome = ask_reload(site.state, patience_s)
    if outcome is not None and outcome.refused is not None:
        raise CallError(f"the daemon refuses it: {outcome.refused.problem}")
    if outcome is not None and outcome.trouble:
        raise CallError(f"the daemon does not take it: {outcome.trouble}")
    return outcome


def _set_aside(state: Path, files: FileSet) -> None:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = state / f"{state_files.POLICY_BEFORE_SITE}{stamp}"
    try:
        aside.mkdir(mode=0o700)
        for name, raw in files.items():
            (aside / name).write_bytes(raw)
    except OSError as error:
        raise StoreError(f"{error.filename or aside}: {error.strerror}") from error
