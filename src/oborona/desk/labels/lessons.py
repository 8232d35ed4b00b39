"""Messages that are taught: read, held against the journal, and written down with what follows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from oborona import state_files
from oborona.desk.labels.personal_words import note_words
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.feedback.events.log import EventLog
from oborona.feedback.label import Label, LabelKind, LabelSource, RecordedLabel
from oborona.feedback.label_extraction import MESSAGE_ID_LENGTH, NotLabelable, extract_label
from oborona.feedback.label_store import LabelStore
from oborona.feedback.personal_entries import (
    LabelOrigin,
    claimed_origin,
    origin_from_journal,
    origin_from_message,
)
from oborona.feedback.processing.admin_events import TaughtLabel, log_taught_labels
from oborona.feedback.processing.event_message import message_digest
from oborona.ident import verify
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.message.shingles import Hasher

AT_ONCE: Final = 50  # words written down in one transaction


class Lesson(NamedTuple):
    """A message that is spoken of."""

    name: str
    word: Label | NotLabelable
    origin: LabelOrigin = LabelOrigin()


class LessonResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a message that was taught.

    Args:
        message: its name.
        result: new, replaced, duplicate or refused.
        id: of its label; None = it was refused.
        instead_of: label of the same that said the opposite; 0 = there was none.
        reason: why it was refused.
    """

    message: str
    result: str
    id: int | None = None
    instead_of: int = 0
    reason: str = ""


class LessonsWritten(NamedTuple):
    """What became of some messages."""

    results: list[LessonResult]
    events: list[int]  # lines of the log of events that say so


class LessonReader:
    """Makes of messages what is to be written down of them.

    Args:
        site: whose.
        kind: what they are said to be.
        person: mail address of who says so; empty = the site.
    """

    def __init__(self, site: Site, kind: LabelKind, person: str) -> None:
        self._site = site
        self._keys = site.keys()
        self._hasher = Hasher(self._keys.shingles)
        self._name = site.name
        self._kind, self._source, self._person = kind, _source(kind, person), person

    def read(self, name: str, raw: bytes) -> Lesson:
        """Return what is to be written down of a message.

        Args:
            name: that it is told by.
            raw: as it lies in a mailbox.
        """
        settings = self._site.loaded.settings
        try:
            word, message = extract_label(
                raw,
                self._kind,
                self._source,
                hasher=self._hasher,
                key=self._keys.feedback,
                now=time.time(),
                person=self._person,
                weight=settings.learning.person_weight if self._person else 1.0,
                regions=settings.site.regions.split(),
            )
        except NotLabelable as error:
            return Lesson(name, error)
        ident = verify(message.get("x-mras-id") or "", self._keys.signature)
        return Lesson(
            name,
            word if ident is None else msgspec.structs.replace(word, journal=ident),
            origin_from_message(message, self._name, ours=ident is not None),
        )

    def read_journaled(
        self, name: str, entry: JournalEntry | None, raw: bytes, now: float
    ) -> Lesson:
        """Return what is to be written down of a message of the journal.

        Args:
            name: that it is told by.
            entry: of the journal; None = it has none.
            raw: the message as somebody handed it in; empty = nobody did.
            now: Unix seconds.
        """
        if entry is None:
            return Lesson(name, NotLabelable("there is no such message in the journal"))
        lesson = self.read(name, raw) if raw else None
        if lesson is not None and isinstance(lesson.word, Label):
            # who handed it in may have written the id of one message above another
            same = lesson.word.message_id == entry.message_id[:MESSAGE_ID_LENGTH]
            if same and entry.message_id:
                return lesson._replace(word=msgspec.structs.replace(lesson.word, journal=entry.id))
        if not entry.shingles:
            return Lesson(name, NotLabelable("its text is not kept, nor what was counted of it"))
        word = Label(
            kind=self._kind,
            source=self._source,
            time=now,
            digest=message_digest(str(entry.id)),
            features=b"",
            person=self._person,
            weight=self._site.loaded.settings.learning.person_weight if self._person else 1.0,
            message_id=entry.message_id[:MESSAGE_ID_LENGTH],
            journal=entry.id,
            pieces=entry.shingles,
        )
        return Lesson(name, word, origin_from_journal(entry.facts) or LabelOrigin())


def preview_lessons(store: LabelStore | None, lessons: Sequence[Lesson]) -> list[LessonResult]:
    """Return what would become of messages; nothing is written.

    Args:
        store: of labels; None = there is none yet.
        lessons: what would be written down.
    """
    results, said = list[LessonResult](), dict[bytes, LabelKind]()
    for lesson in lessons:
        word = lesson.word
        if not isinstance(word, Label):
            results.append(LessonResult(message=lesson.name, result="refused", reason=str(word)))
            continue
        stands = None if store is None else store.standing(word)
        before = said.get(word.digest) or (stands.kind if stands is not None else None)
        said[word.digest] = word.kind
        result = "new" if before is None else "duplicate" if before is word.kind else "replaced"
        instead = stands.id if stands is not None and result == "replaced" else 0
        results.append(LessonResult(message=lesson.name, result=result, instead_of=instead))
    return results


def write_lessons(
    site: Site, store: LabelStore, lessons: Sequence[Lesson], *, by: str
) -> LessonsWritten:
    """Write labels down, with what follows from them, and return what became of each message.

    Those about messages of the journal count under what was counted when these came, and what was
    proved then.

    Args:
        site: whose.
        store: of labels, open.
        lessons: at most `AT_ONCE` of them.
        by: who teaches.
    """
    numbers = [
        lesson.word.journal
        for lesson in lessons
        if isinstance(lesson.word, Label) and lesson.word.journal
    ]
    entries = asyncio.run(journal_entries(site, numbers))
    read = [_with_journal_entry(lesson, entries) for lesson in lessons]
    spoken = [lesson for lesson in read if isinstance(lesson.word, Label)]
    recorded = store.add(
        [lesson.word for lesson in spoken if isinstance(lesson.word, Label)], now=time.time()
    )
    events = _record_effects(site, spoken, recorded, by)
    labels = iter(recorded)
    return LessonsWritten([_result(lesson, labels) for lesson in read], events)


def _result(lesson: Lesson, labels: Iterator[RecordedLabel]) -> LessonResult:
    if not isinstance(lesson.word, Label):
        return LessonResult(message=lesson.name, result="refused", reason=str(lesson.word))
    label = next(labels)
    result = "replaced" if label.replaced else "new" if label.new else "duplicate"
    return LessonResult(message=lesson.name, result=result, id=label.id, instead_of=label.replaced)


def _record_effects(
    site: Site, spoken: Sequence[Lesson], recorded: Sequence[RecordedLabel], by: str
) -> list[int]:
    """Write down what follows from words for their persons' own mail, and a line of each in the log
    of events; return these.
    """
    words = [
        (lesson.word, lesson.origin, label)
        for lesson, label in zip(spoken, recorded, strict=True)
        if isinstance(lesson.word, Label)
    ]
    own = note_words(site, words) if any(word.person for word, _, _ in words) else [()] * len(words)
    with site.as_owner(), EventLog(site.state / state_files.EVENTS) as log:
        taught = [
            TaughtLabel(word, label, lines)
            for (word, _, label), lines in zip(words, own, strict=True)
        ]
        return log_taught_labels(log, taught, source=by, now=time.time())


def _source(kind: LabelKind, person: str) -> LabelSource:
    if not person:
        return LabelSource.COMMAND
    return LabelSource.COMPLAINT if kind is LabelKind.SPAM else LabelSource.PARDON


def _with_journal_entry(lesson: Lesson, entries: Mapping[int, JournalEntry]) -> Lesson:
    """Return a word with what the journal knows of its message."""
    entry = entries.get(lesson.word.journal or 0) if isinstance(lesson.word, Label) else None
    if entry is None or not isinstance(lesson.word, Label):
        return lesson
    if entry.message_id and entry.message_id[:MESSAGE_ID_LENGTH] != lesson.word.message_id:
        # somebody put the id of one message above another: it speaks for nothing that stands there
        word = msgspec.structs.replace(lesson.word, journal=None)
        return Lesson(lesson.name, word, claimed_origin(lesson.origin))
    word = (
        msgspec.structs.replace(lesson.word, pieces=entry.shingles)
        if entry.shingles
        else lesson.word
    )
    same = bool(entry.message_id)  # else the mail server gave it one later
    return Lesson(
        lesson.name, word, (origin_from_journal(entry.facts) if same else None) or lesson.origin
    )


async def journal_entries(site: Site, idents: Sequence[int]) -> dict[int, JournalEntry]:
    """Return messages of the journal, those that it still has."""
    if not idents:
        return {}
    try:
        async with await JournalReader.open(site.state / state_files.JOURNAL) as journal:
            entries = [await journal.get(ident) for ident in idents]
    except StoreError as error:
        site.notice(f"{error}; counted without what the journal knows")
        return {}
    return {entry.id: entry for entry in entries if entry is not None}
