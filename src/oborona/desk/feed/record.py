"""What a site knows of its feed: the newest version ever seen, what waits, what was rolled back.

It is written whole, and before the policy is touched where that matters: a kill leaves what is
older, and the next run finds out from the folder itself what is in force.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.atomic_file import write_atomically
from oborona.errors import StoreError

_MOST: Final = 1 << 20


class WaitingVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version that waits for its time; its files lie in a folder of their own.

    Args:
        version: its number.
        digest: of all its files.
        until: Unix seconds, when it may come into force.
        notes: what is new.
    """

    version: int
    digest: str
    until: float
    notes: str = ""


class FeedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is known.

    Args:
        highest: the newest version that was seen: an older one is never taken.
        manifest: SHA-256 of its manifest: a version is one thing.
        expires: Unix seconds, until when it may be taken.
        live: the version in force; 0 = none.
        digest: of the files in force; where the folder holds others, `live` says nothing.
        held: versions up to this were rolled back, and are not taken again.
        waiting: a version that waits.
        next_key: a key that `voucher` has named as one that may sign, too.
        voucher: the key of the settings that has; without it in the settings the other falls.
        refused: why the last update took nothing; empty = it did not fail.
        refused_at: Unix seconds, when that was.
    """

    highest: int = 0
    manifest: str = ""
    expires: int = 0
    live: int = 0
    digest: str = ""
    held: int = 0
    waiting: WaitingVersion | None = None
    next_key: str = ""
    voucher: str = ""
    refused: str = ""
    refused_at: float = 0.0


def read_record(state: Path) -> FeedRecord:
    """Return what is known; nothing where there is no file.

    Raises:
        StoreError: the file can't be read, or is damaged.
    """
    path = state / state_files.FEED
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_MOST), type=FeedRecord)
    except FileNotFoundError:
        return FeedRecord()
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise StoreError(
            f"{path}: damaged ({error}): put it back from a backup. Without it an older version of "
            f"the feed would be taken for a new one"
        ) from error


def write_record(state: Path, record: FeedRecord) -> None:
    """Write what is known.

    Raises:
        StoreError: it can't be written; what was there stays.
    """
    write_atomically(state / state_files.FEED, msgspec.json.encode(record) + b"\n")
