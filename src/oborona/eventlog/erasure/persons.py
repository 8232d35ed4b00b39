"""Who a person is in each log of a site, and what of their name stands outside of tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from oborona.atomic_file import write_atomically
from oborona.errors import ConfigError, StoreError
from oborona.eventlog.export.logins import LoginLog
from oborona.eventlog.export.own_log import OwnLog
from oborona.eventlog.keys import EventHasher


def persons_of(
    parts: Sequence[str], own: type[OwnLog | LoginLog] | None, hasher: EventHasher
) -> set[int]:
    """Return the keyed hashes that a person may have in a log.

    Args:
        parts: what tells the person; of a log of our own one: an address, a login, a network.
        own: the log where it is our own; its names are tried as given and in small letters.
        hasher: of the site.

    Raises:
        ConfigError: a log of our own has persons of one part, and none is empty.
    """
    if not parts or not all(parts):
        raise ConfigError("a person has a name")
    if own is None:
        names: Iterable[str] = ("\0".join(parts),)
    elif len(parts) > 1:
        raise ConfigError(f"{own.schema.name} knows a person by one name: {' '.join(parts)[:120]}")
    else:
        cases = dict.fromkeys((parts[0], parts[0].lower()))
        names = (name for case in cases for name in own.person_names(case))
    return {found for name in names if (found := hasher.person(name)) is not None}


def scrub_reasons(folder: Path, texts: Sequence[str]) -> int:
    """Remove the lines of rows that can't be used whose reason names a person; return how many.

    Args:
        folder: with files of JSON lines, each with a `why`.
        texts: of which one must be in it, whatever its case.

    Raises:
        StoreError: a file can't be read or written.
    """
    wanted = [text.lower() for text in texts]
    removed = 0
    try:
        for path in sorted(folder.glob("*.jsonl")):
            lines = path.read_bytes().splitlines(keepends=True)
            kept = [line for line in lines if not _names(line, wanted)]
            if len(kept) < len(lines):
                write_atomically(path, b"".join(kept))
                removed += len(lines) - len(kept)
    except OSError as error:
        raise StoreError(f"{error.filename or folder}: {error.strerror}") from error
    return removed


def _names(line: bytes, wanted: Sequence[str]) -> bool:
    try:
        why = str(msgspec.json.decode(line).get("why", "")).lower()
    except (msgspec.DecodeError, AttributeError):
        why = line.decode(errors="replace").lower()
    return any(text in why for text in wanted)
