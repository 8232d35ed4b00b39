"""The act that teaches what messages are: uploaded ones, or those of the journal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Final

import msgspec

from oborona import state_files
from oborona.desk.asks.recheck import message_number
from oborona.desk.call import ActOrder, CallError, UndoCall, act
from oborona.desk.labels.kept_messages import KeptMessages
from oborona.desk.labels.label_store import open_labels
from oborona.desk.labels.lessons import (
    AT_ONCE,
    Lesson,
    LessonReader,
    LessonResult,
    journal_entries,
    preview_lessons,
    write_lessons,
)
from oborona.desk.persons.store import person_named
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.feedback.label import LabelKind
from oborona.ident import to_text
from oborona.people.caller import Caller
from oborona.people.rights import Right

MOST_MESSAGES: Final = 1_000  # of one order
MOST_UPLOADED: Final = 50
UPLOAD_BYTES: Final = 32 << 20  # of one message


class TeachOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """What messages are.

    Args:
        kind: spam or ham.
        messages: ids of the journal, signed or bare. Where a report has kept the text, it is
            trained; of others what was counted of them counts.
        raw: messages themselves.
        person: mail address of who says so; empty = the site.
    """

    kind: LabelKind
    messages: Annotated[Sequence[str], msgspec.Meta(max_length=MOST_MESSAGES)] = ()
    raw: Annotated[
        Sequence[Annotated[bytes, msgspec.Meta(max_length=UPLOAD_BYTES)]],
        msgspec.Meta(max_length=MOST_UPLOADED),
    ] = ()
    person: str = ""


class TeachOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of each message; in a dry run, what would.

    Args:
        messages: in the order in which they were told.
        events: lines of the log of events that say so.
        undo: None = no label is new.
    """

    messages: tuple[LessonResult, ...]
    events: tuple[int, ...]
    undo: UndoCall | None


@act("teach", Right.TEACH, about=("kind", "messages", "person"))
def teach_messages(site: Site, caller: Caller, asked: TeachOrder) -> TeachOutcome:
    """Write down what messages are; the trainer learns it, and their pieces count so."""
    person = person_named(asked.person) if asked.person else ""
    if not asked.messages and not asked.raw:
        raise CallError("name messages, or hand some in")
    if not (site.state / state_files.SECRET).exists():
        raise StoreError(f"{site.state}: the site has no secret yet: has the daemon run?")
    lessons = list(_lessons(site, asked, person))
    results, events = list[LessonResult](), list[int]()
    if asked.dry and not (site.state / state_files.FEEDBACK).exists():
        results = preview_lessons(None, lessons)
    else:
        with open_labels(site, make=not asked.dry) as store:
            if asked.dry:
                results = preview_lessons(store, lessons)
            for start in range(0, 0 if asked.dry else len(lessons), AT_ONCE):
                some = lessons[start : start + AT_ONCE]
                written = write_lessons(site, store, some, by=caller.name)
                results += written.results
                events += written.events
    new = [one.id for one in results if one.id is not None and one.result != "duplicate"]
    undo = UndoCall(call="model.unlearn", asked={"words": new})
    return TeachOutcome(
        messages=tuple(results), events=tuple(events), undo=undo if new and not asked.dry else None
    )


def _lessons(site: Site, asked: TeachOrder, person: str) -> Iterator[Lesson]:
    """Yield what is to be written down of each message."""
    reader = LessonReader(site, asked.kind, person)
    for number, octets in enumerate(asked.raw, 1):
        yield reader.read(f"#{number}", octets)
    numbers = list(dict.fromkeys(map(message_number, asked.messages)))
    entries = asyncio.run(journal_entries(site, numbers))
    with KeptMessages(site) as kept:
        for number in numbers:
            yield reader.read_journaled(
                to_text(number), entries.get(number), kept.of(number), time.time()
            )
