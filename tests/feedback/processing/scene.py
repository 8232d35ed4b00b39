"""A site in miniature: messages that were delivered, persons with lists, a believer over real
stores with a clock that tests set.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.counters.memory import MemoryCounters
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent, StoredEvent
from oborona.feedback.label import LabelKind, LabelSource
from oborona.feedback.label_counter import LabelCounter
from oborona.feedback.label_extraction import extract_label
from oborona.feedback.label_store import LabelStore
from oborona.feedback.personal_entries import LabelOrigin
from oborona.feedback.processing.event_message import SiteHashing
from oborona.feedback.processing.event_processor import EventProcessor, EventRetention
from oborona.feedback.processing.ports import JournaledMessage, NoVerdicts, PersonVerdicts
from oborona.reputation.personal import PersonalEntry
from oborona.types import Action, Amounts, CountedPieces, Window
from tests.feedback.words import HASHER, KEY, NOW, letter

DAY: Final = 86_400.0
SITE: Final = "mx.b.example"


class Journal:
    """Messages that were delivered."""

    def __init__(self) -> None:
        self.known: dict[int, JournaledMessage] = {}

    def get(self, idents: Sequence[int]) -> dict[int, JournaledMessage]:
        return {one: self.known[one] for one in idents if one in self.known}

    def find(self, message_id: str, person: str) -> int | None:
        return next(
            (
                one.id
                for one in reversed(self.known.values())
                if one.message_id == message_id and person in one.recipients
            ),
            None,
        )


class Lists:
    """People's own lists, by person and word."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, int], list[PersonalEntry]] = {}
        self.wanted: set[str] = set()  # persons who asked for everything

    def asked_for(self, person: str, origin: LabelOrigin, before: float) -> bool:
        return person in self.wanted

    def say(
        self, person: str, word: int, entries: Sequence[PersonalEntry], *, replaced: int, now: float
    ) -> None:
        self.take_back([word, replaced])
        self.entries[person, word] = list(entries)

    def take_back(self, words: Sequence[int]) -> None:
        for person, word in list(self.entries):
            if word in words:
                del self.entries[person, word]


class Proposer:
    """Signatures that were proposed."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str]] = []

    def propose(self, spam: Sequence[bytes], reason: str, now: float) -> list[str]:
        self.asked.append((len(spam), reason))
        return [f"s{len(self.asked)}"]


class Kept_(MemoryCounters):  # noqa: N801 - `EventRetention` is how long what is kept
    """Counters in memory."""

    stuck = False

    def flush(self, now: float) -> int:
        return 1


class Scene:
    """The stores of a state folder, and whoever believes."""

    def __init__(self, state: Path) -> None:
        self.state, self.now = state, NOW
        self.log, self.words = (
            EventLog(state / state_files.EVENTS),
            LabelStore(state / state_files.FEEDBACK),
        )
        self._believers = EventLog(state / state_files.EVENTS)  # of another process
        self.journal, self.lists, self.proposer, self.counters = (
            Journal(),
            Lists(),
            Proposer(),
            Kept_(),
        )
        self.verdicts: PersonVerdicts = NoVerdicts()
        self.believer, self.counting = self.begun(), LabelCounter(self.counters)

    def begun(self) -> EventProcessor:
        """Return a believer that has just started."""
        return EventProcessor(
            self._believers,
            self.words,
            journal=self.journal,
            lists=self.lists,
            proposer=self.proposer,
            keys=SiteHashing(hasher=HASHER, feedback=KEY, site=SITE),
            kept=EventRetention(raw_s=7 * DAY, events_s=400 * DAY),
            verdicts=self.verdicts,
            person_weight=1.0,
            people=3,
            clock=lambda: self.now,
            monotonic=lambda: self.now,
        )

    def close(self) -> None:
        self.log.close()
        self._believers.close()
        self.words.close()

    def deliver(
        self,
        ident: int,
        raw: bytes,
        *recipients: str,
        verdict: Action = Action.ACCEPT,
        when: float | None = None,
    ) -> None:
        """Deliver a message, and count it."""
        word, message = extract_label(
            raw, LabelKind.SPAM, LabelSource.COMMAND, hasher=HASHER, key=KEY, now=NOW
        )
        when = self.now - 60 if when is None else when
        spam = verdict is not Action.ACCEPT
        sender = message.from_.address if message.from_ else ""
        self.journal.known[ident] = JournaledMessage(
            id=ident,
            time=when,
            verdict=verdict,
            message_id=word.message_id,
            recipients=frozenset(recipients),
            facts={
                "author": sender,
                "author_domain": sender.rpartition("@")[2],
                "from_address": sender,
            },
            shingles=word.pieces,
            counted_spam=spam,
        )
        pieces = CountedPieces(shingles=word.pieces, pairs=())
        self.counters.add(pieces, Amounts(seen=1, spam=int(spam)), when)

    def say(
        self,
        what: EventKind,
        person: str = "",
        *,
        ident: int | None = None,
        raw: bytes = b"",
        way: EventChannel = EventChannel.SIEVE,
        message_id: str = "",
    ) -> int:
        """Write an event down; return its id."""
        one = FeedbackEvent(
            what=what,
            way=way,
            time=self.now,
            person=person,
            ident=ident,
            raw=raw,
            message_id=message_id,
        )
        return self.log.add([one], now=self.now)[0].id

    def run(self) -> None:
        """Let everybody do all there is to do."""
        for _ in range(10_000):
            if not self.believer.step() and not self.counting.step(self.words, self.now):
                return
        raise AssertionError("it does not come to an end")

    def pass_(self, seconds: float) -> None:
        """Let time pass, and everybody do what there is to do."""
        self.now += seconds
        self.run()

    def known_person(self, person: str, *, days: float = 60.0, right: float = 0.0) -> None:
        """Give a person a past."""
        with self.log.transaction() as db:
            db.execute(
                (
                    "INSERT INTO person (person, complaints, pardons, right, first) VALUES "
                    "(?, 5, 2, ?, ?)"
                ),
                (person, right, self.now - days * DAY),
            )

    def event(self, ident: int) -> StoredEvent:
        return self.log.get(ident)

    def counts(self, ident: int) -> Amounts:
        """Return what the pieces of a delivered message count in two weeks, of the first of
        them.
        """
        reading = self.counters.read(self.journal.known[ident].shingles[:1], self.now)
        try:
            reading.send(None)
        except StopIteration as ended:
            return Amounts(*ended.value[0][Window.FORTNIGHT])
        raise AssertionError("a read waited")


SPAM: Final = letter(1, LabelKind.SPAM)
HAM: Final = letter(1, LabelKind.HAM)
