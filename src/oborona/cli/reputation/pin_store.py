"""The store of pins as commands open it, and what they say of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

import msgspec

from oborona import secret, state_files
from oborona.cli.context import CliContext
from oborona.cli.owner import as_owner_of
from oborona.cli.reputation.entity import kind_of
from oborona.cli.state_folder import require_state
from oborona.counters.write_only import WriteOnlyCounters
from oborona.errors import StoreError
from oborona.message.shingle_name import name_of
from oborona.message.shingles import Hasher
from oborona.reputation.pins import Pin
from oborona.stores.counters import open_spooled
from oborona.stores.pins.rows import PinAction, PinChange, PinNote
from oborona.stores.pins.store import PinStore
from oborona.types import Shingle

_DONE: Final = {
    PinAction.PIN: "set",
    PinAction.CLEAR: "cleared",
    PinAction.FORGET: "forgot the counts of",
    PinAction.NOTE: "noted of",
    PinAction.FORGIVE: "forgave",
    PinAction.IMPORT: "imported",
}


@contextmanager
def pins_for_writing(context: CliContext) -> Iterator[PinStore]:
    """The store of the site, to be changed as the daemon's user; begun where there is none.

    Raises:
        StoreError: it can't be used.
    """
    require_state(context)
    with as_owner_of(context.state), PinStore(context.state / state_files.PINS) as store:
        yield store


@contextmanager
def pins_for_reading(context: CliContext) -> Iterator[PinStore | None]:
    """The store of the site, to be looked at; None where there is none yet.

    Raises:
        StoreError: it can't be used.
    """
    require_state(context)
    if not (context.state / state_files.PINS).exists():
        yield None
        return
    with (
        as_owner_of(context.state),
        PinStore(context.state / state_files.PINS, make=False) as store,
    ):
        yield store


def require_hasher(context: CliContext) -> Hasher:
    """Return what makes the site's hashes, for what is to be written: without its secret they would
    be nobody's.

    Raises:
        StoreError: there is no secret, or it can't be read.
    """
    require_state(context)
    return Hasher(secret.load(context.state).shingles)


@contextmanager
def spool(context: CliContext) -> Iterator[WriteOnlyCounters]:
    """Counters to take something back from, or to forget something in: all of it is handed over
    when they are closed.

    Raises:
        StoreError: nobody counts here, or the spool can't be used.
    """
    folder = context.state / state_files.COUNTERS
    if not folder.is_dir():
        raise StoreError(f"no spools in {folder}; has the writer (counters) run?")
    with (
        as_owner_of(folder),
        closing(open_spooled(context.loaded.settings, context.state, "cli")) as counters,
    ):
        yield counters


def shown_time(at: float) -> str:
    """Return a time for people, by the clock of this machine; "for ever" for none."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else "for ever"


def pin_duration(until: float) -> str:
    """Return until when a pin holds, in words."""
    return f"until {shown_time(until)}" if until else "for ever"


def pin_line(pin: Pin) -> str:
    """Return a pin in a line."""
    return (
        f"set to {pin.flag} by {pin.by} at {shown_time(pin.since)}, {pin_duration(pin.until)}: "
        f"{pin.reason}"
    )


def note_line(note: PinNote) -> str:
    """Return a note in a line."""
    return f"{shown_time(note.at)} {note.by}: {note.text}"


def change_line(change: PinChange) -> str:
    """Return what somebody did, in a line."""
    flag = f" {change.flag}" if change.flag else ""
    of = change.name or (name_of(change.entity) if change.entity else "")
    until = f" until {shown_time(change.until)}" if change.until else ""
    return (
        f"{shown_time(change.at)} {change.by} {_DONE[change.what]}{flag} {of}{until}: "
        f"{change.reason}"
    )


def pin_object(pin: Pin) -> dict[str, Any]:
    """Return a pin as `--json` shows it."""
    return {"entity": pin.name or name_of(pin.shingle), "kind": kind_of(pin.type)} | {
        name: value
        for name, value in msgspec.structs.asdict(pin).items()
        if name not in ("type", "hash")
    }


def change_object(change: PinChange) -> dict[str, Any]:
    """Return what somebody did as `--json` shows it."""
    entity: Shingle | None = change.entity
    fields = msgspec.structs.asdict(change)
    return fields | {"entity": change.name or (name_of(entity) if entity else "")}
