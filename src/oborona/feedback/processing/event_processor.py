"""Decides events in the order in which they were recorded, and carries out what follows from them.

Some events at a time, beside the trainer.

    resolve   find each event's message: its journal entry, its raw copy; outside of any
              transaction, as it takes milliseconds
    decide    circumstances, antifraud, decision; one transaction on the log of events
    follow    labels, own lists, reads, then the note that they are done; each once for a decision,
              even if the process is killed
    review    the campaign again, with all events so far
    propose   signatures of campaigns that several people complained of
    tidy      delete old raw copies, events and campaigns

An event on which our own code fails is decided as unreadable, so that later events go on.
"""

from __future__ import annotations

import logging
import time
from collections import Counter as Tally
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from oborona.errors import StoreError
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import (
    OPPOSITE,
    EventChannel,
    EventDecision,
    EventKind,
    StoredEvent,
)
from oborona.feedback.label_store import LabelStore
from oborona.feedback.processing import campaign_review, campaigns, signature_proposals
from oborona.feedback.processing.decision_effects import DecisionEffects
from oborona.feedback.processing.entry_witness import entries_of, packed_entries
from oborona.feedback.processing.event_decision import decide_event
from oborona.feedback.processing.event_message import (
    KINDS,
    EventMessage,
    SiteHashing,
    message_of_event,
)
from oborona.feedback.processing.ports import (
    JournaledMessage,
    JournalLookup,
    PersonalListStore,
    PersonVerdicts,
    ProposalSink,
)
from oborona.metrics import Counter
from oborona.sqlite_file import ERRORS

DECIDED: Final = Counter(
    "oborona_events_decided",
    (
        "Spam reports (complaint), not-spam reports (pardon), traps, reads and deletions by "
        "how they came and what was decided: believed (accepted), own (for the person's own "
        "mail alone), refused."
    ),
    ("what", "way", "decision"),
)
AT_ONCE: Final = 16  # events with a message of their own: 50 ms
AT_ONCE_SMALL: Final = 200  # reads and deletions
JOURNAL_S: Final = 5.0
"""That an event waits for the entry of its message: the journal is written four times a second, and
what a process that was killed has left is taken over by another within a second, or by the next
start.
"""
MACHINES_S: Final = 1.0
"""The same of a read or a deletion, in a site of several machines: the journals of the others."""
LOOK_S: Final = 1.0  # between looks for campaigns that are to be gone over
TIDY_S: Final = 60.0
TIDY_ROWS: Final = 500  # at once: other processes wait some milliseconds
TIDY_PAGES: Final = 256
# raw copies of a person: antifraud believes no more than 100 a day, and reading one takes
# milliseconds
READ_A_DAY: Final = 200
DAY_S: Final = 86_400
_SAID_BEFORE: Final = (
    "SELECT 1 FROM (SELECT what FROM event WHERE ident = ? AND person = ? AND id < ? AND what IN "  # noqa: S608 - literals
    "('complaint', 'pardon')"
    f" AND message IS NOT NULL AND rules <> '{OPPOSITE}' AND (way = 'report') = ? ORDER BY id DESC "
    "LIMIT 1) WHERE what = ?"
)

log = logging.getLogger("oborona.trainer")


class EventRetention(msgspec.Struct, frozen=True, kw_only=True):
    """How long events and raw copies are kept."""

    raw_s: float  # seconds
    events_s: float


class EventProcessor:
    """The state of the event processor; for one thread.

    Args:
        events: the log of events.
        words: people's word.
        journal: what messages are known.
        lists: people's own.
        proposer: of signatures; None = nothing is proposed.
        keys: of the site.
        kept: how long what is kept.
        verdicts: of event logs on persons.
        person_weight: how far one person's word teaches the model that all share, 0..1.
        people: so many who complain of one campaign, and are believed, propose signatures.
        clock: Unix seconds.
        monotonic: seconds that never go back.
    """

    def __init__(
        self,
        events: EventLog,
        words: LabelStore,
        *,
        journal: JournalLookup,
        lists: PersonalListStore,
        proposer: ProposalSink | None,
        keys: SiteHashing,
        kept: EventRetention,
        verdicts: PersonVerdicts,
        person_weight: float,
        people: int,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._events = events
        self._journal = journal
        self._lists = lists
        self._proposer = proposer
        self._keys = keys
        self._kept = kept
        self._people = people
        self._verdicts = verdicts
        self._clock = clock
        self._monotonic = monotonic
        self._following = DecisionEffects(events, words, lists, person_weight=person_weight)
        self._resolved: dict[
            int, EventMessage
        ] = {}  # messages of events that were decided just now
        self._day, self._spoke = 0, Tally[str]()  # events of persons today
        self._seen = -1  # version of the log that nothing more was to be done for
        self._awaits = False  # an event waits for its message's entry
        self._looked_at = self._tidied_at = float("-inf")

    def step(self) -> bool:
        """Do a little of what there is to do; return whether there is more.

        Raises:
            StoreError: a store can't be used; what was not done is done by a later call.
        """
        version = self._events.data_version()
        busy = False
        if version != self._seen:
            busy = self._decide()
            busy |= self._follow()
            self._seen = -1 if busy or self._awaits else version
        busy |= self._look()
        self._tidy()
        return busy

    def _decide(self) -> bool:
        """Decide the next events; return whether there were any."""
        waiting = _batch(self._events.undecided(0, AT_ONCE_SMALL))
        entries = self._entries(waiting)
        batch = self._journaled_events(waiting, entries)
        self._awaits = len(batch) < len(waiting)
        if not batch:
            return False
        about = self._about(batch, entries)
        decisions_asked = {event.id: self._asked_for(event, about[event.id]) for event in batch}
        now, decisions = self._clock(), list[EventDecision]()
        caught = {event.id: self._verdicts.caught_days(event.person, now) for event in batch}
        with self._events.transaction() as db:
            for event in batch:
                db.execute("SAVEPOINT one")
                try:
                    decision = decide_event(
                        db,
                        event,
                        about[event.id],
                        asked_for=decisions_asked[event.id],
                        now=now,
                        caught=caught[event.id],
                    )
                except ERRORS:
                    raise
                # a fault of ours must not stop the events behind this one
                except Exception as error:
                    log.exception("event %d can't be decided: a fault of ours", event.id)
                    db.execute("ROLLBACK TO one")
                    decision = decide_event(
                        db,
                        event,
                        EventMessage(why_unusable=_fault(error)),
                        asked_for=False,
                        now=now,
                    )
                db.execute("RELEASE one")
                decisions.append(decision)
            if self._events.is_common and entries:  # for who decides when this machine is away
                self._events.add_entries(packed_entries(entries))
        for event, decision in zip(batch, decisions, strict=True):
            DECIDED.inc(event.what, event.way, decision.word)
        self._resolved = about
        return True

    def _follow(self) -> bool:
        """Do what follows from the next decisions; return whether there were any."""
        undone = _batch(self._events.undone(0, AT_ONCE_SMALL))
        about, self._resolved = self._resolved, {}
        if undone:
            missing = [
                event for event in undone if (event.counts or event.own) and event.id not in about
            ]
            self._do(undone, about | self._about(missing, self._entries(missing)))
        return bool(undone)

    def _do(self, events: Sequence[StoredEvent], about: Mapping[int, EventMessage]) -> None:
        """Do what follows from decisions.

        One that makes our own code fail has no effects, and stops no other.
        """
        try:
            self._following.do(events, about, self._clock())
        except StoreError:
            raise
        except Exception as error:
            if len(events) > 1:
                for event in events:
                    self._do([event], about)
                return
            (event,) = events
            log.exception("what follows from event %d can't be done: a fault of ours", event.id)
            self._events.note_effects_done([(event.id, event.turn, 0, [_fault(error)])])

    def _look(self) -> bool:
        """Go over one campaign where it is time; return whether anything was found."""
        if self._monotonic() - self._looked_at < LOOK_S:
            return False
        now = self._clock()
        with self._events.told() as db:
            campaign = campaign_review.next_due_campaign(db, now)
        if not campaign:
            self._looked_at = self._monotonic()
            return False
        try:
            removed = campaign_review.review_campaign(self._events, campaign, now, self._verdicts)
            if removed:
                log.warning("campaign %d: %d reports are not accepted any more", campaign, removed)
                self._seen = -1
            if self._proposer is not None:
                signature_proposals.propose(
                    self._events, campaign, self._proposer, people=self._people, now=now
                )
        except StoreError:
            raise
        # its messages are anybody's; the campaigns behind it are gone over all the same
        except Exception:
            log.exception("campaign %d can't be gone over: a fault of ours", campaign)
            with self._events.transaction() as db:
                campaign_review.note_reviewed(db, campaign, now)
        return True

    def _tidy(self) -> None:
        """Forget what is over, a step at a time."""
        if self._monotonic() - self._tidied_at < TIDY_S:
            return
        now = self._clock()
        # reads and deletions go with the raw copies: nobody asks for them later
        removed = self._events.forget_raw(now - self._kept.raw_s, TIDY_ROWS)
        removed += self._events.forget(now - self._kept.raw_s, TIDY_ROWS, passing=True)
        removed += self._events.forget(now - self._kept.events_s, TIDY_ROWS, passing=False)
        with self._events.transaction() as db:
            removed += campaigns.forget(db, now - campaigns.KEPT_S, TIDY_ROWS)
        if removed:
            self._events.shrink(TIDY_PAGES)
        if removed < TIDY_ROWS:
            self._tidied_at = self._monotonic()

    def _entries(self, events: Sequence[StoredEvent]) -> dict[int, JournaledMessage]:
        """Return what the journal knows of the messages of events, by the event's id."""
        idents = {event.id: ident for event in events if (ident := self._ident(event)) is not None}
        journaled = self._journal.get(list(idents.values()))
        found = {event: journaled[ident] for event, ident in idents.items() if ident in journaled}
        if self._events.is_common:
            elsewhere = [event.id for event in events if event.id not in found]
            found |= entries_of(self._events.entries(elsewhere))
        return found

    def _journaled_events(
        self, events: Sequence[StoredEvent], entries: Mapping[int, JournaledMessage]
    ) -> Sequence[StoredEvent]:
        """Return the first events, up to one whose message is not in the journal yet.

        A trap's word is written down before its message's entry, and a mail program that sorts by
        itself is as quick.
        """
        now = self._clock()
        for place, event in enumerate(events):
            fresh = 0 <= now - event.heard < self._patience_s(event)
            if fresh and event.id not in entries:
                return events[:place]
        return events

    def _patience_s(self, event: StoredEvent) -> float:
        """Return how long an event waits for its message's entry."""
        if event.what in KINDS and event.ident is not None:
            return JOURNAL_S
        asked = event.ident is not None or (
            event.way is EventChannel.MAILBOX and event.message_id != ""
        )
        return MACHINES_S if asked and self._events.is_common else 0.0

    def _about(
        self, events: Sequence[StoredEvent], entries: Mapping[int, JournaledMessage]
    ) -> dict[int, EventMessage]:
        """Return which message each event is about."""
        return {event.id: self._read_message(event, entries.get(event.id)) for event in events}

    def _ident(self, event: StoredEvent) -> int | None:
        """Return the id in the journal of the message that an event is about.

        None where it names none.
        """
        if event.ident is not None or event.way is not EventChannel.MAILBOX or not event.message_id:
            return event.ident
        return self._journal.find(event.message_id, event.person)

    def _read_message(self, event: StoredEvent, journaled: JournaledMessage | None) -> EventMessage:
        try:
            raw = self._events.raw(event.id) if event.what in KINDS and self._worth(event) else b""
            return message_of_event(event, raw, journaled, self._keys)
        except StoreError:
            raise
        # a message is anybody's; what it makes fail must not stop the others
        except Exception as error:
            log.exception("event %d can't be read: a fault of ours", event.id)
            return EventMessage(why_unusable=_fault(error))

    def _worth(self, event: StoredEvent) -> bool:
        """Tell whether the raw copy is read: not for what was said before, and not for who says
        more than anybody is believed.
        """
        if not event.person or event.decided is not None:
            return True
        today = int(event.heard // DAY_S)
        if today != self._day:
            self._day, self._spoke = today, Tally()
        self._spoke[event.person] += 1
        if self._spoke[event.person] > READ_A_DAY:
            return False
        return event.ident is None or not self._events.rows(
            _SAID_BEFORE,
            (event.ident, event.person, event.id, event.way is EventChannel.REPORT, event.what),
        )

    def _asked_for(self, event: StoredEvent, about: EventMessage) -> bool:
        if event.what is not EventKind.COMPLAINT or not event.person or not about.signed:
            return False
        return self._lists.asked_for(event.person, about.origin, event.time)


def _fault(error: Exception) -> str:
    return f"can't be read: {type(error).__name__}"


def _batch(events: Sequence[StoredEvent]) -> list[StoredEvent]:
    """Return the first events that are taken at once: few where messages have to be read."""
    batch, large = [], 0
    for event in events:
        large += event.what in KINDS
        if large > AT_ONCE:
            break
        batch.append(event)
    return batch
