"""`feed.json`: what a version of a feed holds, until when it may be taken, and by whom.

Only what is signed is parsed; all the same nothing in it is believed that is not checked here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Final

import msgspec

from oborona import __version__
from oborona.desk.call import CallError
from oborona.desk.policy.file_set import (
    MOST_FILES,
    MOST_WRITTEN,
    OVERLAY,
    checked_name,
)
from oborona.policy.shipped_files import DIGITS, FileVersion

MANIFEST: Final = "feed.json"
SIGNATURE: Final = "feed.json.minisig"
CONTENTS: Final = "files"
"""Folder of what is in the files: each by its SHA-256, so that a version that is being put there
does not disturb who fetches the one before."""
TRIAL: Final = "99-feed-trial.toml"
"""What a version changes, in shadow mode: the site's own file in the folder of the feed."""
FORMAT: Final = 1
MOST_MANIFEST: Final = 256 << 10
MOST_ALL: Final = 32 << 20  # octets of all files of a version
AHEAD_S: Final = 86_400.0  # a clock may be so far behind the one that made a feed
MOST_DAYS: Final = (
    400  # that a version may be taken for: what never expires can be held back for ever
)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_VERSION: Final = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}")


class FeedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file: SHA-256 in hex, and octets."""

    sha256: str
    size: int


class _FeedHead(msgspec.Struct, frozen=True, kw_only=True):
    """What is read before all else: whether this program understands the rest."""

    format: int
    oborona: str = "0"


class FeedManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A version of a feed.

    Args:
        format: of this file.
        version: rising.
        made: Unix seconds.
        expires: the same; it is not taken after that.
        files: by name.
        oborona: the oldest program that can use it.
        made_by: the program that made it.
        withdrawn: earlier versions that must not come into force any more.
        next_key: a further key by which versions from now on may be signed; empty = none.
        notes: what is new, one line.
    """

    format: int = FORMAT
    version: int
    made: int
    expires: int
    files: dict[str, FeedFile]
    oborona: str = "0"
    made_by: str = "0"
    withdrawn: tuple[int, ...] = ()
    next_key: str = ""
    notes: str = ""


def read_manifest(raw: bytes, now: float | None = None) -> FeedManifest:
    """Return a manifest whose signature was checked.

    Args:
        raw: of the file.
        now: Unix seconds; None = by the clock.

    Raises:
        CallError: it is none, needs a newer program, or may not be taken any more.
    """
    try:
        head = msgspec.json.decode(raw, type=_FeedHead)
        if head.format > FORMAT or _numbers(head.oborona) > _numbers(__version__):
            raise CallError(
                f"the feed needs a newer Oborona than this {__version__}"
                + (f": {head.oborona}" if _VERSION.fullmatch(head.oborona) else "")
            )
        manifest = msgspec.json.decode(raw, type=FeedManifest)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise CallError(f"{MANIFEST} can't be read: {error}") from error
    now = time.time() if now is None else now
    if not 0 < manifest.version < 1 << 53:
        raise CallError(f"{MANIFEST}: the version is no positive number")
    if manifest.expires <= now:
        raise CallError(
            f"the feed's version {manifest.version} expired on {_date(manifest.expires)}: its "
            f"server gives out old rules, or nobody keeps it"
        )
    if manifest.made > now + AHEAD_S:
        raise CallError(
            f"the feed's version {manifest.version} was made on {_date(manifest.made)}, which is "
            f"yet to come: is the clock right?"
        )
    if manifest.expires > now + MOST_DAYS * 86_400:
        raise CallError(f"{MANIFEST}: it may be taken for more than {MOST_DAYS} days")
    _check_files(manifest)
    return manifest


def is_in_program(manifest: FeedManifest, shipped: Iterable[FileVersion]) -> bool:
    """Tell whether what ships is newer, and has been all that a version of a feed says.

    Args:
        manifest: of the version.
        shipped: every file that ever shipped.
    """
    if _numbers(manifest.made_by) >= _numbers(__version__):
        return False
    known = {(version.name, version.digest) for version in shipped}
    return all((name, file.sha256[:DIGITS]) in known for name, file in manifest.files.items())


def _check_files(manifest: FeedManifest) -> None:
    if len(manifest.files) > MOST_FILES:
        raise CallError(f"{MANIFEST}: {len(manifest.files)} files; at most {MOST_FILES}")
    room = MOST_ALL
    for name, file in manifest.files.items():
        checked_name(name)
        if name in (OVERLAY, TRIAL):
            raise CallError(f"{MANIFEST}: {name} is a file of the site's own")
        if not _DIGEST.fullmatch(file.sha256):
            raise CallError(f"{MANIFEST}: {name}: {file.sha256[:80]!r} is no SHA-256")
        if not 0 <= file.size <= MOST_WRITTEN:
            raise CallError(f"{MANIFEST}: {name} is larger than {MOST_WRITTEN >> 20} MiB")
        room -= file.size
    if room < 0:
        raise CallError(f"{MANIFEST}: files of more than {MOST_ALL >> 20} MiB altogether")


def _numbers(version: str) -> tuple[int, ...]:
    """Return what versions of the program are compared by; what is none is older than all."""
    found = _VERSION.match(version)
    return tuple(map(int, found[0].split("."))) if found else ()


def _date(seconds: int) -> str:
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError):
        return "a day beyond all calendars"
