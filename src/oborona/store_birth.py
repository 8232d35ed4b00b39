"""What was begun in a state folder, and since when: so that a store that is lost, emptied or
another site's is never begun anew without a word.

    STORE              carries its birth: a random mark, the check value of the site's secret
                       (`secret.known`), the time
    begun/STORE.json   beside the stores: which birth is expected there, and when an earlier one was
                       lost

Both are made together.  A store with another mark than expected was begun anew, or another file was
put in its place; one with another check value is another site's.  A record that is missing or
damaged is made again from the store, which is how a state of an older Oborona gets its records.
"""

from __future__ import annotations

import logging
import secrets
import sqlite3
import time
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.atomic_file import write_atomically
from oborona.errors import StoreError

# the store of counts, as records name it
COUNTERS: Final = f"{state_files.COUNTERS}/{state_files.COUNTERS_DATA}"
MARK_BYTES: Final = 8
LOSS_REPORTED_S: Final = 30 * 86_400.0  # so long an admin is told that a store was lost

_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS begun (mark TEXT NOT NULL, known TEXT NOT NULL, since "
    "REAL NOT NULL)"
)
_log = logging.getLogger("oborona.state")


class StoreBirth(msgspec.Struct, frozen=True, kw_only=True):
    """What a store carries."""

    mark: str  # hexadecimal digits
    known: str  # of the secret that it was begun with; empty = there was no note of it
    since: float  # Unix seconds


class StoreBirthRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a store, beside it."""

    mark: str  # of the birth that is expected; empty = none yet
    since: float  # of that birth, Unix seconds
    lost: str = ""  # how the one before was lost; empty = none was
    lost_at: float = 0.0  # when that was found, Unix seconds
    off: str = ""  # why it can't be used since the last start; empty = it can


def new_birth(folder: Path) -> StoreBirth:
    """Return a new birth for a store in a folder that has a note of its secret, or has none."""
    return StoreBirth(
        mark=secrets.token_hex(MARK_BYTES), known=secret_check_value(folder), since=time.time()
    )


def secret_check_value(folder: Path) -> str:
    """Return the check value of the secret that a folder was begun with.

    Empty where there is none, or it can't be read.
    """
    try:
        return (folder / state_files.SECRET_NOTE).read_text("ascii").strip()
    except (OSError, UnicodeError):
        return ""


def is_foreign(birth: StoreBirth, folder: Path) -> bool:
    """Whether a store was begun with another secret than its folder."""
    ours = secret_check_value(folder)
    return bool(ours and birth.known and birth.known != ours)


def stored_birth(db: sqlite3.Connection) -> StoreBirth | None:
    """Return the birth that a SQLite file carries; None = it has none.

    Raises:
        sqlite3.Error, UnicodeDecodeError: the file can't be read.
    """
    if (
        db.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'begun'").fetchone()
        is None
    ):
        return None
    row = db.execute("SELECT mark, known, since FROM begun LIMIT 1").fetchone()
    return (
        None
        if row is None
        else StoreBirth(mark=str(row[0]), known=str(row[1]), since=float(row[2]))
    )


def ensure_birth(db: sqlite3.Connection, folder: Path) -> tuple[StoreBirth, bool]:
    """Return the birth of a SQLite file, and whether it got it now, because it had none.

    Raises:
        sqlite3.Error, UnicodeDecodeError: the file can't be read or written.
    """
    birth = stored_birth(db)
    if birth is not None:
        # begun by a tool before the secret was there
        if not birth.known and (ours := secret_check_value(folder)):
            db.execute("UPDATE begun SET known = ?", (ours,))
        return birth, False
    birth = new_birth(folder)
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute(_TABLE)
        db.execute(
            "INSERT INTO begun SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM begun)",
            (birth.mark, birth.known, birth.since),
        )
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    stored = stored_birth(db)
    assert stored is not None
    return stored, stored.mark == birth.mark


def read_record(state: Path, store: str) -> StoreBirthRecord | None:
    """Return what is known of a store; None = nothing, or the record can't be read."""
    try:
        return msgspec.json.decode(_path(state, store).read_bytes(), type=StoreBirthRecord)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def note_birth(
    state: Path, store: str, birth: StoreBirth, *, fresh: bool, empty: bool = True
) -> None:
    """Keep which birth a store has.

    Tell it where another one was expected.  Never raises: without a record, the store goes on.

    Args:
        state: the state folder.
        store: its file, as seen from there.
        birth: that it carries.
        fresh: it got its birth now.
        empty: nothing was in it when it got its birth.
    """
    before = read_record(state, store)
    if before is not None and before.mark not in {"", birth.mark}:
        if fresh and empty:
            before = note_lost(state, store, "was gone or empty")
        else:
            _log.warning(
                "%s: another file was put in its place, of %s; what that has is used",
                state / store,
                time.strftime("%Y-%m-%d %H:%M", time.localtime(birth.since)),
            )
    elif before is None and not fresh:
        _log.warning(
            "%s: there was no record of it in %s; made again",
            state / store,
            state / state_files.BEGUN,
        )
    elif before is not None and before.mark and not before.off:
        return
    loss = {} if before is None else {"lost": before.lost, "lost_at": before.lost_at}
    _write(state, store, StoreBirthRecord(mark=birth.mark, since=birth.since, **loss))  # type: ignore[arg-type]


def note_lost(state: Path, store: str, why: str) -> StoreBirthRecord:
    """Tell that a store was lost and is begun anew; keep that, and return it.  Never raises.

    Args:
        state: the state folder.
        store: its file, as seen from there.
        why: what became of it.
    """
    before = read_record(state, store)
    begun = (
        before is not None
        and before.mark
        and time.strftime("%Y-%m-%d", time.localtime(before.since))
    )
    _log.error(
        (
            "%s%s %s: begun anew, what it held is not known any more; put it back with "
            "`oborona restore` from a backup, if there is one"
        ),
        state / store,
        f" (begun {begun})" if begun else "",
        why,
    )
    record = StoreBirthRecord(mark="", since=0.0, lost=why, lost_at=time.time())
    _write(state, store, record)
    return record


def note_unusable(state: Path, store: str, why: str) -> None:
    """Keep that a store can't be used, and why; never raises."""
    before = read_record(state, store)
    record = before or StoreBirthRecord(mark="", since=0.0)
    _write(state, store, msgspec.structs.replace(record, off=why))


def read_records(state: Path) -> dict[str, StoreBirthRecord]:
    """Return all records that can be read, by store."""
    records = {}
    for path in sorted((state / state_files.BEGUN).glob("*.json")):
        store = path.name.removesuffix(".json").replace("%", "/")
        record = read_record(state, store)
        if record is not None:
            records[store] = record
    return records


def _path(state: Path, store: str) -> Path:
    return state / state_files.BEGUN / f"{store.replace('/', '%')}.json"


def _write(state: Path, store: str, record: StoreBirthRecord) -> None:
    path = _path(state, store)
    try:
        path.parent.mkdir(mode=0o750, exist_ok=True)
        write_atomically(path, msgspec.json.encode(record))
    except (OSError, StoreError) as error:
        _log.error("what was begun is not noted: %s", error)
