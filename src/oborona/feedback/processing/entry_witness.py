"""Says what this machine's journal knows of messages that events are about, for another machine
that decides them: each machine has the journal of the mail that came to it.

It goes into the log of events, and waits there for as long as the event's raw copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import msgspec

from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, StoredEvent
from oborona.feedback.processing.ports import JournaledMessage, JournalLookup

AT_ONCE: Final = 200  # events
_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(JournaledMessage)


class EntryWitness:
    """The witness of a machine that does not decide; for one thread.

    Args:
        events: the log of events.
        journal: of this machine.
    """

    def __init__(self, events: EventLog, journal: JournalLookup) -> None:
        self._events = events
        self._journal = journal
        self._seen = -1  # version of the log that nothing more was to be said for

    def step(self) -> bool:
        """Say what is asked for; return whether there was anything.

        Raises:
            StoreError: a store can't be used.
        """
        version = self._events.data_version()
        if version == self._seen:
            return False
        waiting = self._events.undecided(0, AT_ONCE)
        said = self._events.entries([event.id for event in waiting])
        known = {
            event.id: message
            for event in waiting
            if event.id not in said and (message := self._known(event)) is not None
        }
        if known:
            self._events.add_entries(packed_entries(known))
            return True
        # the journal is written after the event may have come: looked at again while any waits
        self._seen = -1 if waiting else version
        return False

    def _known(self, event: StoredEvent) -> JournaledMessage | None:
        ident = event.ident
        if ident is None and event.way is EventChannel.MAILBOX and event.message_id:
            ident = self._journal.find(event.message_id, event.person)
        return None if ident is None else self._journal.get([ident]).get(ident)


def packed_entries(entries: Mapping[int, JournaledMessage]) -> dict[int, bytes]:
    """Return what is known of messages as octets, by the event's id."""
    return {ident: _encoder.encode(message) for ident, message in entries.items()}


def entries_of(packed: Mapping[int, bytes]) -> dict[int, JournaledMessage]:
    """Return what octets say of messages, by the event's id; what can't be read is left out."""
    entries = {}
    for ident, octets in packed.items():
        with suppress(msgspec.DecodeError):
            entries[ident] = _decoder.decode(octets)
    return entries
