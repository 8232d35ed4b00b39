"""Carries out decided events: labels that are learned and counted, people's own lists, reads, and
spam that is no longer counted.

    accepted for all      a label with the weight of the belief; its message's hashes are counted
                          from `LEAST_COUNTED` on, once a day for each voice (`voices.py`)
    own mail              a label that trains the person's own weights alone, and their own list;
                          other people's reports do not matter
    an accepted pardon    subtracts what the verdict had counted as spam, once for each message
    neither               the effects of an earlier decision are undone; entries of the person's
                          own list stay as long as it is their own mail

Every effect carries the mark of its decision and is made once for it: a process that is killed
repeats all of them.
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
    """Carries out decisions.

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
        labelled = [
            event
            for event in events
            if event.what in KINDS and (event.counts or event.own) and about[event.id].pieces
        ]
        renewed = {event.id for event in labelled}
        self._take_back([event for event in events if event.turn > 1], renewed, now)
        recorded_labels = self._words.add(
            [self._word(event, about[event.id]) for event in labelled], now=now
        )
        effect_words: dict[int, list[str]] = {event.id: [] for event in events}
        word: dict[int, int] = {}
        for event, recorded in zip(labelled, recorded_labels, strict=True):
            word[event.id] = recorded.id
            effect_words[event.id] += self._tell_word(event, recorded, about[event.id])
            if event.own:
                effect_words[event.id] += self._list(event, recorded, about[event.id])
        told_reads = self._count(events, about)
        for ident, words in told_reads.items():
            effect_words[ident] += words
        self._log.note_effects_done(
            [
                (event.id, event.turn, word.get(event.id, 0), effect_words[event.id])
                for event in events
            ]
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
            return tuple(piece for piece in about.pieces if piece.type not in voices.SHARED)
        return about.pieces

    def _young(self, event: StoredEvent) -> bool:
        with self._log.told() as db:
            record = (
                persons.record_of(db, event.person, event.heard) if event.person else persons.NOBODY
            )
        return is_newcomer(record, event.heard)

    def _take_back(
        self, events: Sequence[StoredEvent], renewed: Collection[int], now: float
    ) -> None:
        """Take back what followed from the decisions before.

        Args:
            events: decided again.
            renewed: those from which a word follows again. Where none can, since its message is
                forgotten, the person's own list stays as it is.
            now: Unix seconds.
        """
        effects = EffectOutbox(self._words)
        for event in events:
            marks = [mark_of(self._origin, event.id, turn) for turn in range(1, event.turn)]
            words = self._words.of_marks(marks)
            self._log.again(words, event.id)
            self._words.take_back(words, reason=event.say or "decided again", by=BY, now=now)
            if words and (event.id in renewed or not event.own):
                self._lists.take_back(words)
            effects.take_back(marks)

    def _tell_word(
        self, event: StoredEvent, recorded: RecordedLabel, about: EventMessage
    ) -> list[str]:
        if not recorded.new:
            return [f"label {recorded.id} was there before"]
        taught = (
            f"trained with weight {self._weight(event):.2f}"
            if about.features
            else "no text to train on"
        )
        instead = f", instead of label {recorded.replaced}" if recorded.replaced else ""
        return [f"label {recorded.id}{instead}: {taught}, {recorded.counted} hashes counted"]

    def _list(self, event: StoredEvent, recorded: RecordedLabel, about: EventMessage) -> list[str]:
        """Write what follows for the person's own mail."""
        kind, _ = KINDS[event.what]
        entries = entries_from_label(
            kind, about.origin, about.pieces, person=event.person, word=recorded.id, now=event.time
        )
        self._lists.say(
            event.person, recorded.id, entries, replaced=recorded.replaced, now=event.time
        )
        return [f"{event.person}: {entry.say}" for entry in entries]

    def _count(
        self, events: Sequence[StoredEvent], about: Mapping[int, EventMessage]
    ) -> dict[int, list[str]]:
        """Hand in what is counted beside words; return it in words."""
        effects, requests, effect_words = (
            EffectOutbox(self._words),
            list[EffectRequest](),
            dict[int, list[str]](),
        )
        for event in events:
            if event.what in _READ and _is_counted(event):
                kind = _READ[event.what]
                requests.append(EffectRequest(self.mark(event), kind, about[event.id].pieces, None))
                effect_words[event.id] = [f"{kind} counted on {len(about[event.id].pieces)} hashes"]
            elif event.what is EventKind.PARDON and event.ident is not None:
                journaled = about[event.id].known if event.id in about else None
                marks = [forgiven_mark(event.ident), forgiven_late_mark(event.ident)]
                others = self._log.about(ident=event.ident)
                if not any(other.counts and other.what is EventKind.PARDON for other in others):
                    effects.take_back(marks)
                elif (
                    event.counts
                    and journaled is not None
                    and journaled.counted_spam
                    and journaled.shingles
                ):
                    requests.append(
                        EffectRequest(
                            marks[0], CountedEffect.FORGIVEN, journaled.shingles, journaled.time
                        )
                    )
                    requests.append(
                        EffectRequest(
                            marks[1], CountedEffect.FORGIVEN, journaled.late, journaled.late_time
                        )
                    )
                    effect_words[event.id] = [
                        f"spam taken back from {len(journaled.shingles) + len(journaled.late)} hashes"
                    ]
        effects.want(requests)
        return effect_words


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
