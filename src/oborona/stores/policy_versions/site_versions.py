"""Versions that several machines have in common: begun, looked at by all, and published in one
write, or not at all.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.atomic_file import write_atomically
from oborona.errors import StoreError
from oborona.stores.policy_versions.digests import FileSet, digest_of_all
from oborona.stores.policy_versions.store import PolicyVersion, VersionState, VersionStore

_PASSED: Final = "another publication took its place"


class VersionOvertakenError(StoreError):
    """Another version was published, or begun, meanwhile."""


def begin_for_all(
    store: VersionStore, version: PolicyVersion, before: FileSet, files: FileSet
) -> PolicyVersion:
    """Write a version down for all machines to look at.

    Args:
        store: of versions.
        version: it.
        before: what the site's policy is now.
        files: what it is to be.

    Raises:
        VersionOvertakenError: the site's policy is another by now.
        StoreError: it can't be written.
    """
    with store.transaction() as db:
        latest = store.latest()
        if latest is not None and latest.digest != digest_of_all(before):
            raise VersionOvertakenError(
                f"version {latest.number} of the policy was published meanwhile; nothing was done"
            )
        db.execute(
            "UPDATE version SET state = ?, trouble = ? WHERE state = ?",
            (VersionState.REFUSED, _PASSED, VersionState.BEGUN),
        )
        return store.begin(version, files)


def check_begun(store: VersionStore, number: int) -> None:
    """Look whether a version still waits to be published.

    Raises:
        VersionOvertakenError: another was begun meanwhile.
    """
    version = store.get(number)
    if version is not None and version.state is not VersionState.BEGUN:
        raise VersionOvertakenError(f"{_PASSED}; nothing was changed anywhere")


def publish_for_all(store: VersionStore, number: int, meaning: str) -> None:
    """Publish a version that was begun: from this write on it is the site's.

    Raises:
        VersionOvertakenError: another was begun meanwhile.
        StoreError: it can't be written, or nobody knows whether it was.
    """
    with store.transaction() as db:
        done = db.execute(
            "UPDATE version SET state = ?, meaning = ? WHERE number = ? AND state = ?",
            (VersionState.PUBLISHED, meaning, number, VersionState.BEGUN),
        )
        if done.rowcount != 1:
            raise VersionOvertakenError(f"{_PASSED}; nothing was changed anywhere")


def give_up(store: VersionStore, number: int, trouble: str) -> None:
    """Let a version that was begun, and is not published, be refused."""
    with store.transaction() as db:
        db.execute(
            "UPDATE version SET state = ?, trouble = ? WHERE number = ? AND state = ?",
            (VersionState.REFUSED, trouble, number, VersionState.BEGUN),
        )


def begun_version(store: VersionStore) -> PolicyVersion | None:
    """Return the version that waits for the word of all machines; None = there is none."""
    newest = store.list(1)
    return newest[0] if newest and newest[0].state is VersionState.BEGUN else None


def knows_files(store: VersionStore, files: FileSet) -> bool:
    """Whether any version held these files."""
    rows = store.rows("SELECT 1 FROM version WHERE digest = ? LIMIT 1", (digest_of_all(files),))
    return bool(rows)


class AppliedVersion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was last brought into a machine's policy folder.

    Args:
        number: of the version; 0 = none of the site's.
        digest: of its files; of what the folder held before any of the site's, where that is to be
            replaced.
        coming: of the files that are being brought in; empty = none are.
        at: Unix seconds.
        trouble: why the folder does not hold the site's version; empty = it does.
    """

    number: int = 0
    digest: str = ""
    coming: str = ""
    at: float = 0.0
    trouble: str = ""


def applied_version(state: Path) -> AppliedVersion | None:
    """Return what was last brought into the policy folder; None = nothing was.

    Raises:
        StoreError: the note can't be read.
    """
    path = state / state_files.POLICY_APPLIED
    try:
        return msgspec.json.decode(path.read_bytes(), type=AppliedVersion)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(
            f"{path}: is damaged ({error}); remove it: what the policy folder holds is set aside "
            "then, and the site's policy takes its place"
        ) from error


def is_behind(state: Path) -> bool:
    """Whether the policy folder of a machine does not hold the site's version.

    Raises:
        StoreError: it can't be known.
    """
    path = state / state_files.POLICY_VERSIONS
    if not path.exists():
        return False
    with VersionStore(path, make=False) as store:
        latest = store.latest()
    applied = applied_version(state) or AppliedVersion()
    return latest is not None and (bool(applied.trouble) or applied.number != latest.number)


def note_coming(state: Path, held: FileSet, version: PolicyVersion) -> None:
    """Write down that a version is about to be brought into the policy folder: whoever looks after
    a kill knows either's files for no work of a person.

    Args:
        state: the state folder.
        held: what the policy folder holds.
        version: that comes.

    Raises:
        StoreError: it can't be written.
    """
    before = applied_version(state) or AppliedVersion(digest=digest_of_all(held))
    note = msgspec.structs.replace(before, coming=version.digest)
    if note != before:
        write_atomically(state / state_files.POLICY_APPLIED, msgspec.json.encode(note))


def note_applied(state: Path, version: PolicyVersion | None, trouble: str = "") -> None:
    """Write down what the policy folder holds.

    Args:
        state: the state folder.
        version: it; None = what it held before.
        trouble: why that is not the site's.

    Raises:
        StoreError: it can't be written.
    """
    before = applied_version(state)
    if version is None:
        note = msgspec.structs.replace(before or AppliedVersion(), trouble=trouble)
    else:
        note = AppliedVersion(
            number=version.number, digest=version.digest, at=time.time(), trouble=trouble
        )
        if before is not None and before.number == note.number:
            note = msgspec.structs.replace(note, at=before.at)
    if note != before:
        write_atomically(state / state_files.POLICY_APPLIED, msgspec.json.encode(note))
