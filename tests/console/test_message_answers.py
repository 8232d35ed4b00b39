"""What the desk really answers of messages is read by the pages about them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from oborona.console.message_answer import MessageAnswer, StoryAnswer
from oborona.console.message_table import fact_lines, rule_lines
from oborona.console.track_row import TrackedMail, cells, iso_time, time_of
from oborona.console.try_answer import CheckedMessage, ReadMessage, TriedMessage
from oborona.desk.asks.messages import (
    MessageQuestion,
    ReferenceQuestion,
    explain_message,
    find_messages,
    tell_message_story,
)
from oborona.desk.asks.uploads import (
    UploadedMessage,
    authenticate_upload,
    dissect_upload,
    try_scan,
)
from oborona.ident import to_text
from tests.cli.journaled import LINKS, LOTTERY, WORDS
from tests.desk.messages_site import (
    JOE,
    TERMINAL,
    entry_of,
    fill,
    late_of,
    make_site,
    move,
    say,
    scoped,
)
from tests.journal.refusals import make_refusal

T = TypeVar("T")


def read(answer: object, kind: type[T]) -> T:
    """Return an answer as a page reads it."""
    return msgspec.json.decode(msgspec.json.encode(answer), type=kind)


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "scoped"])
def test_rows_explanations_and_stories_are_read(tmp_path: Path, whole: bool) -> None:
    caller = TERMINAL if whole else scoped(JOE)
    site, entry = make_site(tmp_path), entry_of(subject="\ud800\0<b>")
    (reference,) = fill(
        site,
        entry,
        late=[late_of(entry)],
        refusals=[make_refusal(time=time.time() - 60, recipients=(JOE,))],
    )
    say(site, entry, JOE)
    move(site, entry, JOE)
    found = read(find_messages(site, caller, MessageQuestion()), TrackedMail)
    assert [row.refused for row in found.hits] == [True, False]
    assert cells(found.hits[1])[1] == to_text(entry.id)
    assert found.hits[1].moves[0].target == "INBOX"
    ask = ReferenceQuestion(what=to_text(entry.id))
    answer = read(explain_message(site, caller, ask), MessageAnswer)
    assert answer.message is not None
    assert answer.message.then is not None
    assert answer.message.feedback[0].stands
    assert [line.name for line in rule_lines(answer.message.then, answer.message.now)]
    story = read(tell_message_story(site, caller, ask), StoryAnswer)
    kinds = [one.kind for one in story.events]
    assert {"judged", "late", "said", "looked", "moved"} <= set(kinds)
    assert [one.move for one in story.events if one.can_undo] == [1]
    asked = ReferenceQuestion(what=reference)
    refused = read(explain_message(site, caller, asked), MessageAnswer)
    assert refused.refusal is not None
    assert refused.refusal.id == reference


def test_uploads_are_read(tmp_path: Path) -> None:
    site = make_site(tmp_path, LINKS + WORDS)
    asked = UploadedMessage(message=LOTTERY, sender="a@bank.example")
    tried = read(try_scan(site, TERMINAL, asked), TriedMessage)
    assert tried.explanation.now is not None
    assert tried.explanation.now.verdict == "spam"
    assert fact_lines(None, tried.explanation.now)
    taken = read(dissect_upload(site, TERMINAL, asked), ReadMessage)
    assert "You won the lottery" in taken.shown
    assert taken.parts
    checked = read(authenticate_upload(site, TERMINAL, asked), CheckedMessage)
    assert [one.method for one in checked.methods][-1] == "DMARC"


def test_facts_are_those_that_are_not_empty_and_filtered() -> None:
    then = {
        "verdict": "spam", "score": 1.0, "line": 2.0, "decided_by": "X",
        "facts": {"a": 0, "b": "", "c": [], "d": False, "e": None, "f": [1, "x"], "g": "y" * 900},
    }  # fmt: skip
    side: Any = {"message": {"then": then, "now": then | {"facts": {"a": 3, "f": [1, "x"]}}}}
    answer = msgspec.convert(side, MessageAnswer)
    assert answer.message is not None
    lines = fact_lines(answer.message.then, answer.message.now)
    assert [(line.name, line.then[:4], line.now) for line in lines] == [
        ("a", "0", "3"),
        ("f", "1, x", ""),
        ("g", "yyyy", ""),
    ]
    assert len(lines[2].then) == 401
    assert [line.name for line in fact_lines(answer.message.then, None, "Y")] == ["g"]


def test_no_time_is_empty() -> None:
    assert iso_time(1e30) == ""
    assert time_of("no id") is None
    assert time_of("") is None
