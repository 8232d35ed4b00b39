"""The policy of a site as drafts begin from it and publications write it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.desk.call import CallError, NotAllowedError, NotFoundError
from oborona.desk.policy.file_set import OVERLAY, checked_name, read_folder
from oborona.desk.policy.lint import lint
from oborona.desk.site import Site
from oborona.errors import StoreBusy
from oborona.lock import FileLock, hold
from oborona.policy.load import Policy
from oborona.replication.link import read_link
from oborona.stores.policy_versions.digests import FileSet, digest_of_all
from oborona.stores.policy_versions.store import PolicyVersion, VersionStore

PATIENCE_S: Final = 1.0  # for who publishes right now: they wait for all workers


class PolicyBusyError(CallError):
    """Somebody else publishes right now."""

    status = 409


class PolicyConflictError(CallError):
    """What a call began from is no longer what is there."""

    status = 409


def own_folder(site: Site) -> Path:
    """Return the site's own policy folder, which may be missing.

    Raises:
        CallError: it has none.
    """
    own = site.policy_folders.own
    if own is None:
        raise CallError(
            "paths.policy is the folder that ships: give the site a policy folder of its own"
        )
    return own


def may_write(site: Site, name: str) -> None:
    """Refuse the name of a file that drafts may not have changed.

    Raises:
        CallError: it is none of a policy file.
        NotAllowedError: the settings say so.
    """
    checked_name(name)
    mode = site.loaded.settings.console.policy
    if mode == "read":
        raise NotAllowedError('[console] policy = "read": the policy is written elsewhere')
    if mode == "overlay" and name != OVERLAY:
        raise NotAllowedError(f'[console] policy = "overlay": drafts change {OVERLAY} alone')


def policy_lock(site: Site, patience_s: float = PATIENCE_S) -> FileLock:
    """Keep others from publishing and from changing drafts meanwhile.

    Raises:
        PolicyBusyError: somebody does.
    """
    try:
        return hold(site.state / state_files.POLICY_LOCK, "oborona desk", patience_s=patience_s)
    except StoreBusy as error:
        raise PolicyBusyError(
            "somebody publishes a policy or changes a draft right now; try again"
        ) from error


@contextmanager
def versions_of(site: Site) -> Iterator[VersionStore]:
    """Give the store of versions."""
    with VersionStore(site.state / state_files.POLICY_VERSIONS) as store:
        yield store


def restored(site: Site, current: FileSet, wanted: FileSet) -> tuple[dict[str, bytes], list[str]]:
    """Return the files of an earlier version as far as the desk may write them, and the names of
    others that differ and stay.

    Args:
        site: whose policy.
        current: what is there.
        wanted: of the earlier version.
    """
    if site.loaded.settings.console.policy == "write":
        return dict(wanted), []
    files = {name: raw for name, raw in current.items() if name != OVERLAY}
    if OVERLAY in wanted:
        files[OVERLAY] = wanted[OVERLAY]
    differing = [
        name for name in sorted({*current, *wanted}) if current.get(name) != wanted.get(name)
    ]
    return files, [name for name in differing if name != OVERLAY]


def version_of(store: VersionStore, number: int) -> PolicyVersion:
    """Return a version.

    Raises:
        NotFoundError: there is none of that number.
    """
    version = store.get(number)
    if version is None:
        raise NotFoundError(f"there is no version {number} of the policy")
    return version


def noticed(site: Site, store: VersionStore) -> tuple[PolicyVersion, dict[str, bytes]]:
    """Return the version that the folder holds now, and its files; the lock is held.

    Raises:
        PolicyConflictError: this is one machine of several, and its folder is not the site's.
    """
    files = read_folder(own_folder(site))
    if read_link(site.state) is None:
        return store.notice(files, time.time()), files
    latest = store.latest()
    if latest is None:
        raise PolicyConflictError(
            "the machines of the site have no policy in common yet: `oborona policy share` on the one "
            "whose policy is to be that of all"
        )
    if latest.digest != digest_of_all(files):
        raise PolicyConflictError(
            f"this machine's policy folder does not hold version {latest.number}, which is the "
            f"site's; `oborona policy status` says why"
        )
    return latest, files


def policy_in_force(site: Site) -> Policy | None:
    """Return the policy that the folder holds; None where that can't be used."""
    return lint(site, own_folder(site)).policy
