"""What people said of entities, in lines."""

from __future__ import annotations

import time
from typing import Final

from oborona.desk.reputation.statement import ShownChange, ShownPin
from oborona.reputation.pins import Pin
from oborona.stores.pins.rows import PinAction, PinNote

_DONE: Final = {
    PinAction.PIN: "set",
    PinAction.CLEAR: "cleared",
    PinAction.FORGET: "forgot the counts of",
    PinAction.NOTE: "noted of",
    PinAction.FORGIVE: "forgave",
    PinAction.IMPORT: "imported",
}


def shown_time(at: float) -> str:
    """Return a time for people, by the clock of this machine; "for ever" for none."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else "for ever"


def pin_duration(until: float) -> str:
    """Return until when a pin holds, in words."""
    return f"until {shown_time(until)}" if until else "for ever"


def pin_line(pin: Pin | ShownPin) -> str:
    """Return a pin in a line."""
    return (
        f"set to {pin.flag} by {pin.by} at {shown_time(pin.since)}, {pin_duration(pin.until)}: "
        f"{pin.reason}"
    )


def note_line(note: PinNote) -> str:
    """Return a note in a line."""
    return f"{shown_time(note.at)} {note.by}: {note.text}"


def change_line(change: ShownChange) -> str:
    """Return what somebody did, in a line."""
    flag = f" {change.flag}" if change.flag else ""
    until = f" until {shown_time(change.until)}" if change.until else ""
    return (
        f"{shown_time(change.at)} {change.by} {_DONE[change.what]}{flag} {change.entity}{until}: "
        f"{change.reason}"
    )
