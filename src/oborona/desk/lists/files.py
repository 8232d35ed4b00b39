"""The site's own lists as files of the policy folder: which there are, and one of them changed as a
whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from oborona import lock
from oborona.atomic_file import atomic_writer
from oborona.desk.call import CallError, NotFoundError
from oborona.desk.file_errors import UnreadableListError
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.policy.folders import FileOwner
from oborona.policy.load import Policy
from oborona.policy.local_lists import in_vain
from oborona.reputation.locallists import BrokenLine, ListAction, LocalList, read

KEPT_IN: Final = "80-lists.toml"
EMPTY: Final = b"# no entry\n"  # a file of nothing would be taken for half-written
MODE: Final = 0o644  # of a new file: the daemon's user reads it, whoever ran the command
FOLDER_MODE: Final = 0o755
_OF: Final = '["client", "rdns", "sender", "from"]'


class UnknownListError(CallError):
    """There is no such list, or it can't be changed like that; the text says what can."""


class MissingListError(UnknownListError, NotFoundError):
    """There is no such list."""

    status = NotFoundError.status


class ImplicitList(NamedTuple):
    """A list that is there without anybody having to write it: begun with its first entry."""

    word: str  # as it may be called
    name: str
    action: ListAction
    file: str
    says: str


OWN: Final = (
    ImplicitList("allow", "SITE_ALLOW", ListAction.ALLOW, "site-allow.list", "Who is let in whatever the score; names and addresses count once they are proved."),
    ImplicitList("deny", "SITE_DENY", ListAction.DENY, "site-deny.list", "Who is refused as soon as it is known who it is."),
)  # fmt: skip


class SiteList(NamedTuple):
    """A list and its file."""

    list: LocalList | None  # None: it is one of `OWN`, and not begun
    name: str
    path: Path


def implicit_list(name: str) -> ImplicitList | None:
    """Return the list that is begun by itself under a name or word; None for any other."""
    return next(
        (known_list for known_list in OWN if name in (known_list.word, known_list.name)), None
    )


def find_list(site: Site, name: str) -> SiteList:
    """Return a list by its name, `allow` or `deny`.

    Raises:
        PolicyError: the policy can't be read.
        UnknownListError: there is none, or it has no file.
    """
    policy, implicit = site.policy(), implicit_list(name)
    own_name = name if implicit is None else implicit.name
    local_list = next(
        (candidate for candidate in policy.local_lists.lists if candidate.name == own_name), None
    )
    path = file_of(policy, own_name)
    if local_list is not None and path is not None:
        if policy.folders.whose(path) in (FileOwner.SHIPPED, FileOwner.FEED):
            raise UnknownListError(
                f"{own_name} ships with the program or comes by its feed, which replaces {path}; keep "
                f"a list of your own"
            )
        return SiteList(local_list, own_name, path)
    if local_list is not None:
        place = policy.origins.get(f"local_list.{own_name}.entries", "")
        raise UnknownListError(
            f"{own_name} has its entries in {place}; change them there, or give it a file of its own"
        )
    if implicit is None:
        names = ", ".join(local_list.name for local_list in policy.local_lists.lists)
        raise MissingListError(
            f"there is no list {name[:64]!a}; there are allow, deny{f', {names}' if names else ''}"
        )
    return SiteList(None, implicit.name, site.policy_folders.main / implicit.file)


def file_of(policy: Policy, name: str) -> Path | None:
    """Return the file of a list; None where it has none."""
    value = policy.lists.get(f"local_list.{name}.file")
    if value is None:
        return None
    return policy.folders.find(str(value))


def contents(path: Path) -> bytes:
    """Return what a list file holds; nothing where there is none yet.

    Raises:
        UnreadableListError: it can't be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise UnreadableListError(f"{path}: {error.strerror}") from error


@contextmanager
def list_lock(site_list: SiteList) -> Iterator[None]:
    """Nobody else changes a list by a command meanwhile.

    Raises:
        StoreBusy: somebody has been at it for too long.
        StoreError: there is no policy folder of the site, and none can be made.
    """
    folder = site_list.path.parent
    try:
        folder.mkdir()
        folder.chmod(FOLDER_MODE)
    except FileExistsError:
        pass
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}") from error
    with lock.hold(site_list.path.with_name(f".{site_list.path.name}.lock"), "oborona list"):
        yield


def write(site_list: SiteList, raw: bytes) -> None:
    """Put a list file in the place of the one before, which is kept for `oborona list undo`.

    Begins the list where it is new.

    Args:
        site_list: the list, held.
        raw: the file.

    Raises:
        BrokenLine: the policy could not be loaded with it.
        StoreError: it can't be written; what was there stays.
    """
    check(site_list, raw)
    implicit = implicit_list(site_list.name)
    _put(undo_file(site_list.path), contents(site_list.path) or EMPTY, site_list.path)
    _put(site_list.path, raw, site_list.path)
    if site_list.list is None and implicit is not None:
        _begin(site_list.path.with_name(KEPT_IN), implicit)


def check(site_list: SiteList, raw: bytes) -> None:
    """Make sure that the policy could be loaded with a list file.

    Raises:
        BrokenLine: it could not.
    """
    table = read(raw)
    if site_list.list is not None and (vain := in_vain(table, site_list.list.of)) is not None:
        raise BrokenLine(f"list {site_list.name}: {vain[1]}", vain[0])


def undo_file(path: Path) -> Path:
    """Return where the file before the last change is kept."""
    return path.with_name(f".{path.name}.before")


def _put(path: Path, raw: bytes, like: Path) -> None:
    """Write a file with the mode and owner of another, if that is there."""
    try:
        details = like.stat()
        mode, owner = details.st_mode & 0o7777, (details.st_uid, details.st_gid)
    except FileNotFoundError:
        mode, owner = MODE, None
    with atomic_writer(path) as file:
        os.fchmod(file.fileno(), mode)
        if owner is not None and os.geteuid() == 0:
            os.fchown(file.fileno(), *owner)
        file.write(raw)


def _begin(path: Path, implicit: ImplicitList) -> None:
    table = (
        f'[[local_list]]\nname = "{implicit.name}"\naction = "{implicit.action.value}"\nof = '
        f'{_OF}\nfile = "{implicit.file}"\nwhy = "{implicit.says}"\n'
    )
    present = contents(path)
    head = (
        b"# Lists that `oborona list` keeps; what is in them stands in the files named here "
        b"(docs/policy/lists.md).\n"
    )
    _put(path, (present or head) + b"\n" + table.encode(), path)


def called(name: str) -> str:
    """Return a list's name as people call it."""
    implicit = implicit_list(name)
    return name if implicit is None else implicit.word
