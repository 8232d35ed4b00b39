"""What follows from decided events is done: words that are learned and counted, people's own lists,
reads, and spam that is counted no more.

    it counts for all       a word with the weight of the belief; its message's pieces count from
                            `LEAST_COUNTED` on, once a day for each voice (`voices.py`)
    it is the person's own  a word that teaches their own weights alone, and their own list,
                            whatever others may believe
    a pardon that counts    takes back what the verdict had counted as spam, once for each message
    neither                 what followed from an earlier decision is taken back; entries of the
                            person's own list stay while it is their own

Every one of these carries the mark of the decision that it follows from, and happens once for each:
who is killed in between does all of it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from oborona.feedback import voices
from oborona.feedback.antifraud.standing import is_newcomer
from oborona.feedback.effect_outbox import (
    CountedEffect,
    EffectOutbox,
    EffectRequest,
    forgiven_late_mark,
    forgiven_mark,
)
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventKind, StoredEvent
from oborona.feedback.label import Label, LabelSource, RecordedLabel
from oborona.feedback.label_store import LabelStore
from oborona.feedback.personal_entries import entries_from_label
from oborona.feedback.processing import persons
from oborona.feedback.processing.event_message import KINDS, EventMessage
from oborona.feedback.processing.ports import PersonalListStore
from oborona.types import Shingle

# weight from which on a complaint, or a read, is one of the counters, which know no halves; below
# it nobody listens
LEAST_COUNTED: Final = 0.1
BY: Final = "antifraud"
_READ: Final = {EventKind.READ: CountedEffect.READ, EventKind.DELETED: CountedEffect.DELETED}


class DecisionEffects:
    """Does what follows from decisions.

    Args:
        log: of events.
        words: people's word.
        lists: people's own.
        person_weight: how far one person's word teaches the model that all share, 0..1.
    """

    def __init__(
        self, log: EventLog, words: LabelStore, lists: PersonalListStore, *, person_weight: float
    ) -> None:
        self._log = log
        self._words = words
        self._lists = lists
        self._person_weight = person_weight
        self._origin = log.origin()

    def mark(self, event: StoredEvent) -> bytes:
        """Return the mark of an event's decision."""
        return mark_of(self._origin, event.id, event.turn)

    def do(
        self, events: Sequence[StoredEvent], about: Mapping[int, EventMessage], now: float
    ) -> None:
        """Do what follows from events, and note that it is done.

        Args:
            events: decided.
            about: their messages by the event's id, of those from which anything may follow.
            now: Unix seconds.

        Raises:
            StoreError: a store can't be written; what is missing is done by the next call.
        """
        said = [
            one
            for one in events
            if one.what in KINDS and (one.counts or one.own) and about[one.id].pieces
        ]
        anew = {one.id for one in said}
        self._take_back([one for one in events if one.turn > 1], anew, now)
        became = self._words.add([self._word(one, about[one.id]) for one in said], now=now)
        told: dict[int, list[str]] = {one.id: [] for one in events}
        word: dict[int, int] = {}
        for one, heard in zip(said, became, strict=True):
            word[one.id] = heard.id
            told[one.id] += self._tell_word(one, heard, about[one.id])
            if one.own:
                told[one.id] += self._list(one, heard, about[one.id])
        told_reads = self._count(events, about)
        for ident, words in told_reads.items():
            told[ident] += words
        self._log.note_effects_done(
            [(one.id, one.turn, word.get(one.id, 0), told[one.id]) for one in events]
        )

    def _word(self, event: StoredEvent, about: EventMessage) -> Label:
        kind, source = KINDS[event.what]
        return Label(
            kind=kind,
            source=source,
            time=event.time,
            digest=about.message,
            features=about.features,
            person=event.person,
            weight=self._weight(event),
            message_id=about.message_id,
            journal=event.ident if about.signed else None,
            pieces=self._counted(event, about),
            voices=_voices(event, about),
            event=event.id,
            mark=self.mark(event),
        )

    def _weight(self, event: StoredEvent) -> float:
        if not event.counts:
            return 0.0
        return event.weight * (self._person_weight if event.person else 1.0)

    def _counted(self, event: StoredEvent, about: EventMessage) -> tuple[Shingle, ...]:
        """Return the pieces that an event may count on: a stranger says nothing of what many
        senders have in common.
        """
        if not _is_counted(event):
            return ()
        if event.what is not EventKind.TRAP and self._young(event):
            return tuple(one for one in about.pieces if one.type not in voices.SHARED)
        return about.pieces

    def _young(self, event: StoredEvent) -> bool:
        with self._log.told() as db:
            record = (
                persons.record_of(db, event.person, event.heard) if event.person else persons.NOBODY
            )
        return is_newcomer(record, event.heard)

    def _take_back(self, events: Sequence[StoredEvent], anew: Collection[int], now: float) -> None:
        """Take back what followed from the decisions before.

        Args:
            events: decided again.
            anew: those from which a word follows again. Where none can, since its message is
                forgotten, the person's own list stays as it is.
            now: Unix seconds.
        """
        effects = EffectOutbox(self._words)
        for one in events:
            marks = [mark_of(self._origin, one.id, turn) for turn in range(1, one.turn)]
            words = self._words.of_marks(marks)
            self._log.again(words, one.id)
            self._words.take_back(words, reason=one.say or "decided again", by=BY, now=now)
            if words and (one.id in anew or not one.own):
                self._lists.take_back(words)
            effects.take_back(marks)

    def _tell_word(
        self, event: StoredEvent, heard: RecordedLabel, about: EventMessage
    ) -> list[str]:
        if not heard.new:
            return [f"label {heard.id} was there before"]
        taught = (
            f"trained with weight {self._weight(event):.2f}"
            if about.features
            else "no text to train on"
        )
        instead = f", instead of label {heard.replaced}" if heard.replaced else ""
        return [f"label {heard.id}{instead}: {taught}, {heard.counted} hashes counted"]

    def _list(self, event: StoredEvent, heard: RecordedLabel, about: EventMessage) -> list[str]:
        """Write what follows for the person's own mail."""
        kind, _ = KINDS[event.what]
        found = entries_from_label(
            kind, about.origin, about.pieces, person=event.person, word=heard.id, now=event.time
        )
        self._lists.say(event.person, heard.id, found, replaced=heard.replaced, now=event.time)
        return [f"{event.person}: {one.say}" for one in found]

    def _count(
        self, events: Sequence[StoredEvent], about: Mapping[int, EventMessage]
    ) -> dict[int, list[str]]:
        """Hand in what is counted beside words; return it in words."""
        effects, wanted, told = (
            EffectOutbox(self._words),
            list[EffectRequest](),
            dict[int, list[str]](),
        )
        for one in events:
            if one.what in _READ and _is_counted(one):
                kind = _READ[one.what]
                wanted.append(EffectRequest(self.mark(one), kind, about[one.id].pieces, None))
                told[one.id] = [f"{kind} counted on {len(about[one.id].pieces)} hashes"]
            elif one.what is EventKind.PARDON and one.ident is not None:
                known = about[one.id].known if one.id in about else None
                marks = [forgiven_mark(one.ident), forgiven_late_mark(one.ident)]
                others = self._log.about(ident=one.ident)
                if not any(other.counts and other.what is EventKind.PARDON for other in others):
                    effects.take_back(marks)
                elif one.counts and known is not None and known.counted_spam and known.shingles:
                    wanted.append(
                        EffectRequest(marks[0], CountedEffect.FORGIVEN, known.shingles, known.time)
                    )
                    wanted.append(
                        EffectRequest(marks[1], CountedEffect.FORGIVEN, known.late, known.late_time)
                    )
                    told[one.id] = [
                        f"spam taken back from {len(known.shingles) + len(known.late)} hashes"
                    ]
        effects.want(wanted)
        return told


def _is_counted(event: StoredEvent) -> bool:
    """Tell whether an event is believed enough for the counters."""
    return event.counts and event.weight >= LEAST_COUNTED


def mark_of(origin: bytes, event: int, turn: int) -> bytes:
    """Return the mark of a decision.

    Args:
        origin: of the log.
        event: its id.
        turn: which decision of it.
    """
    return hashlib.blake2b(b"%d %d" % (event, turn), key=origin, digest_size=16).digest()


def _voices(event: StoredEvent, about: EventMessage) -> tuple[bytes, ...]:
    """Return whose word an event is, where it counts at all."""
    if not event.counts:
        return ()
    kind, source = KINDS[event.what]
    if source is LabelSource.TRAP:
        return voices.of_trap(event.mailbox, about.pieces)
    return voices.of_person(event.person, kind)
