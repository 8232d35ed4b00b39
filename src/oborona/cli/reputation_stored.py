"""The store of pins as commands open it, and what they say of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

import click
import msgspec

from oborona import secret, state_files
from oborona.cli.asked import Asked
from oborona.cli.owner import as_owner_of
from oborona.cli.reputation_entity import kind_of
from oborona.cli.shingle import name_of
from oborona.counters.spooled import Spooled
from oborona.errors import StoreError
from oborona.message.shingles import Hasher
from oborona.reputation.pins import Pin
from oborona.stores.counters import open_adding
from oborona.stores.pins.rows import Change, Note, What
from oborona.stores.pins.store import Store
from oborona.types import Shingle

_DONE: Final = {
    What.PIN: "set",
    What.CLEAR: "cleared",
    What.FORGET: "forgot the counts of",
    What.NOTE: "noted of",
    What.FORGIVE: "forgave",
    What.IMPORT: "imported",
}


@contextmanager
def written(asked: Asked) -> Iterator[Store]:
    """The store of the site, to be changed as the daemon's user; begun where there is none.

    Raises:
        StoreError: it can't be used.
    """
    _check_state(asked)
    with as_owner_of(asked.state), Store(asked.state / state_files.PINS) as store:
        yield store


@contextmanager
def read(asked: Asked) -> Iterator[Store | None]:
    """The store of the site, to be looked at; None where there is none yet.

    Raises:
        StoreError: it can't be used.
    """
    _check_state(asked)
    if not (asked.state / state_files.PINS).exists():
        yield None
        return
    with as_owner_of(asked.state), Store(asked.state / state_files.PINS, make=False) as store:
        yield store


def keyed(asked: Asked) -> Hasher:
    """Return what makes the site's hashes, for what is to be written: without its secret they would
    be nobody's.

    Raises:
        StoreError: there is no secret, or it can't be read.
    """
    _check_state(asked)
    return Hasher(secret.load(asked.state).shingles)


@contextmanager
def spool(asked: Asked) -> Iterator[Spooled]:
    """Counters to take something back from, or to forget something in: all of it is handed over
    when they are closed.

    Raises:
        StoreError: nobody counts here, or the spool can't be used.
    """
    folder = asked.state / state_files.COUNTERS
    if not folder.is_dir():
        raise StoreError(f"no spools in {folder}; has the writer (counters) run?")
    with (
        as_owner_of(folder),
        closing(open_adding(asked.loaded.settings, asked.state, "cli")) as counters,
    ):
        yield counters


def _check_state(asked: Asked) -> None:
    if not asked.state.is_dir():
        raise click.UsageError(
            f"{asked.state}: there is no state folder; has Oborona run with these settings?"
        )


def shown_time(at: float) -> str:
    """Return a time for people, by the clock of this machine; "for ever" for none."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else "for ever"


def lasting(until: float) -> str:
    """Return until when a pin holds, in words."""
    return f"until {shown_time(until)}" if until else "for ever"


def told_pin(pin: Pin) -> str:
    """Return a pin in a line."""
    return (
        f"set to {pin.flag} by {pin.by} at {shown_time(pin.since)}, {lasting(pin.until)}: "
        f"{pin.reason}"
    )


def told_note(note: Note) -> str:
    """Return a note in a line."""
    return f"{shown_time(note.at)} {note.by}: {note.text}"


def told_change(change: Change) -> str:
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


def change_object(change: Change) -> dict[str, Any]:
    """Return what somebody did as `--json` shows it."""
    entity: Shingle | None = change.entity
    found = msgspec.structs.asdict(change)
    return found | {"entity": change.name or (name_of(entity) if entity else "")}
