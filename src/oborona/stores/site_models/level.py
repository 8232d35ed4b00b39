"""Brings the final models in a machine's state folder to what its site has.

    what is to come is read, checked by its digest, and loaded as a worker loads it
    → then alone the files are written: the record, the models, and last which decides

A machine that can't use what the site has keeps what it had, all of it.  What a folder holds that
the site never had is somebody's, and is set aside.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.atomic_file import write_atomically
from oborona.errors import OboronaError, StoreError
from oborona.lock import hold
from oborona.policy.fact_table import SCHEMA
from oborona.policy.models.final.choice import decode_choice
from oborona.policy.models.final.file import MAX_OCTETS, decode
from oborona.policy.models.final.model import Forest
from oborona.replication.link import read_link
from oborona.stores.site_models.store import ModelStanding, SiteModelStore

FILES: Final = (
    state_files.FINAL_TRAINING,
    state_files.FINAL_MODEL_BEFORE,
    state_files.FINAL_MODEL,
    state_files.FINAL_SHIPPED,
    state_files.FINAL_CHOICE,
)
"""What is the same on all machines, in the order in which it is written."""

ASIDE: Final = ".before-site-"
PATIENCE_S: Final = 10.0  # for another that replaces a model
_USED: Final = (state_files.FINAL_MODEL, state_files.FINAL_SHIPPED)


class SiteModelsRefusedError(StoreError):
    """A machine can't use the models that its site has: what it had stays in force."""


def is_common(state: Path) -> bool:
    """Whether the final models of a state folder are those of a site of several machines.

    Raises:
        StoreError: it can't be known.
    """
    link = read_link(state)
    return link is not None and state_files.SITE_MODELS in link.stores


def held_files(state: Path) -> dict[str, bytes]:
    """Return what a state folder holds, by the names of the files that are there.

    Raises:
        StoreError: one can't be read.
    """
    held = {}
    for name in FILES:
        try:
            with (state / name).open("rb") as file:
                held[name] = file.read(MAX_OCTETS + 1)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(f"{state / name}: {error.strerror}") from error
    return held


def usable_files(state: Path) -> dict[str, bytes]:
    """Return what a state folder holds, but what can't be used, and so is not in force either.

    Raises:
        StoreError: a file can't be read.
    """
    held = held_files(state)
    return {name: octets for name, octets in held.items() if not _fault(name, octets)}


def gather(state: Path, machine: str, *, anew: bool) -> None:
    """Let a store of models hold what the state folder does: what a site begins with.

    Args:
        state: the state folder.
        machine: name of this one.
        anew: whatever the store held; else only where no machine has said yet what that is.

    Raises:
        StoreError: a file can't be read, or the store not be written.
    """
    held = usable_files(state)
    with SiteModelStore(state / state_files.SITE_MODELS) as store, store.transaction():
        if anew or store.standing() is None:
            files = {name: held.get(name) for name in FILES}
            store.replace(files, machine=machine, now=time.time())


def unlevel_files(state: Path, store: SiteModelStore) -> list[str]:
    """Return the files that do not hold what the site has; none before any machine has said that.

    Raises:
        StoreError: it can't be known.
    """
    if store.standing() is None:
        return []
    have = {name: _digest(state / name) for name in FILES}
    wanted = store.digests()
    return [name for name in FILES if have[name] != wanted.get(name)]


def bring_level(state: Path, store: SiteModelStore) -> list[Path]:
    """Let the state folder hold what the site has; `final.lock` is held.

    Return what was set aside.

    Raises:
        SiteModelsRefusedError: it can't be used here.
        StoreError: it is damaged, or can't be read or written.
    """
    changed = unlevel_files(state, store)
    coming = coming_files(store, changed)
    aside = [_set_aside(state / name) for name in changed if _is_lost(state / name, store)]
    for name in changed:
        if name in coming:
            write_atomically(state / name, coming[name])
        else:
            (state / name).unlink(missing_ok=True)
    return aside


def coming_files(store: SiteModelStore, names: Sequence[str]) -> dict[str, bytes]:
    """Return what some files are to hold, by the names of those that are to be there.

    Raises:
        SiteModelsRefusedError: this machine can't use it.
        StoreError: it is damaged, or can't be read.
    """
    wanted = store.digests()
    coming = {name: store.content(name, wanted[name]) for name in names if name in wanted}
    for name, octets in coming.items():
        if fault := _fault(name, octets):
            raise SiteModelsRefusedError(
                f"this machine can't use {name} of its site, and judges by what it had: {fault}"
            )
    return coming


def bring_level_here(state: Path, store: SiteModelStore) -> list[Path]:
    """Do as `bring_level` does, and hold `final.lock`.

    Raises:
        StoreBusy: another replaces a model now.
        StoreError: as of `bring_level`.
    """
    lock = state / state_files.FINAL_LOCK
    with hold(lock, "oborona, taking the site's model", patience_s=PATIENCE_S):
        return bring_level(state, store)


def standing_here(state: Path) -> ModelStanding | None:
    """Return who said last what the models of a site are; None = it is no site, or nobody has.

    Raises:
        StoreError: it can't be known.
    """
    path = state / state_files.SITE_MODELS
    if not path.exists() or not is_common(state):
        return None
    with SiteModelStore(path, make=False) as store:
        return store.standing()


def level_here(state: Path) -> list[Path]:
    """Do the same for a state folder, of a site or not.

    Raises:
        StoreError: as of `bring_level_here`.
    """
    path = state / state_files.SITE_MODELS
    if not path.exists() or not is_common(state):
        return []
    with SiteModelStore(path, make=False) as store:
        return bring_level_here(state, store)


def _is_lost(path: Path, store: SiteModelStore) -> bool:
    """Whether what a file holds would be nowhere once it is replaced."""
    digest = _digest(path)
    return digest is not None and not store.knows(digest)


def _fault(name: str, octets: bytes) -> str:
    """Return why this machine can't use what a file is to hold; empty = it can."""
    try:
        if name in _USED:
            Forest(decode(octets), SCHEMA)
        elif name == state_files.FINAL_CHOICE:
            decode_choice(octets)
        elif name == state_files.FINAL_TRAINING:
            msgspec.json.decode(octets)
    except (OboronaError, ValueError, RecursionError) as error:
        return str(error) or type(error).__name__
    return ""


def _set_aside(path: Path) -> Path:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = path.with_name(f"{path.name}{ASIDE}{stamp}")
    try:
        path.replace(aside)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    return aside


def _digest(path: Path) -> str | None:
    """Return the digest of a file; None where there is none.

    Of one that stays as it is this is cheap: it is read again only where its stamps have moved.
    """
    try:
        stamps = os.stat(path)  # noqa: PTH116 - each second
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    return _digest_of_file(path, stamps.st_ino, stamps.st_mtime_ns, stamps.st_size)


@lru_cache(maxsize=16)
def _digest_of_file(path: Path, _inode: int, _time: int, _size: int) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
