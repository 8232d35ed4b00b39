"""Searches for mail, and what they find."""

import msgspec

from oborona.console.ticked_rows import box_value
from oborona.console.track_row import TrackedMessage
from oborona.desk.acts.lists import ChangedList, RestoredList
from oborona.desk.acts.teach import TeachOutcome
from oborona.desk.asks.newer_messages import NewerMessages
from oborona.desk.call import UndoCall
from oborona.desk.labels.lessons import LessonResult
from oborona.desk.messages.found_messages import FoundMessage
from oborona.ident import first_id_at, to_text
from oborona.journal.refusal import Told
from oborona.people.rights import Role
from oborona.types import Action
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError
from tests.console.track_answers import ID, found_mail, found_message, refused_message


def newer(number: int, *, more: bool = False) -> dict[str, object]:
    return {"messages.newer": msgspec.to_builtins(NewerMessages(number=number, more=more))}


def box(message: FoundMessage) -> str:
    """Return what the box of a row sends."""
    return box_value(msgspec.convert(msgspec.to_builtins(message), TrackedMessage))


BOTH = found_mail(found_message(), refused_message())

CASES = [
    PageCase(
        name="track",
        path="/track?q=from%3Abank.example+to%3Ajoe+since%3A7d",
        answers=BOTH,
        texts=(
            "2 rows.",
            "Searched as far back as you asked.",
            "Junk 112 / 100",
            "joe@shop.example was moved to INBOX",
            "joe@shop.example says: not spam",
            "refused at RCPT TO",
            "7 times, until",
            "the text came 312 times",
            "Your card <b>",
            "A file has the newest 2 000 rows at most.",
        ),
    ),
    PageCase(
        name="track-follow",
        path="/track?q=verdict%3Ajunk&follow=on",
        answers=BOTH,
        texts=("Following", "Stop", "Look for newer mail"),
    ),
    PageCase(
        name="track-follow-empty",
        path="/track?q=verdict%3Ajunk&follow=on",
        answers=found_mail(),
        texts=("Following", "None found"),
    ),
    PageCase(
        name="track-new",
        path=f"/track/new?q=a&rows=on&newer={ID}",
        answers=newer(12),
        texts=("New: 12. Show them",),
    ),
    PageCase(
        name="track-new-many",
        path=f"/track/new?newer={ID}",
        answers=newer(100, more=True),
        texts=("New: more than 100. Show them",),
    ),
    PageCase(
        name="track-new-none",
        path=f"/track/new?newer={ID}",
        answers=newer(0),
        texts=("Nothing newer yet.",),
    ),
    PageCase(
        name="track-new-away",
        path=f"/track/new?newer={ID}",
        answers={"messages.newer": DeskRefusalError(503, "away", why="damaged")},
        texts=("Whether newer mail came is not known now.",),
    ),
    PageCase(name="track-new-of-nothing", path="/track/new", status=404),
    PageCase(
        name="track-no-acts",
        path="/track",
        role=Role.AUDITOR,
        answers=BOTH,
        texts=("2 rows.",),
    ),
    PageCase(
        name="track-acts-none-ticked",
        path="/track/act",
        form={"act": "spam"},
        status=422,
        texts=("Tick rows first",),
    ),
    PageCase(
        name="track-acts-refusal",
        path="/track/act",
        form={"act": "spam", "row[]": box(refused_message())},
        status=422,
        texts=("they are refusals",),
    ),
    PageCase(
        name="track-acts-spam",
        path="/track/act",
        form={"act": "spam", "row[]": box(found_message()), "back": "/track?q=a"},
        answers={
            "teach": msgspec.to_builtins(
                TeachOutcome(
                    messages=(LessonResult(message=ID, result="new"),), events=(), undo=None
                )
            )
        },
        texts=("They are spam", "What would be done", "learned as new", "Reason"),
    ),
    PageCase(
        name="track-acts-deny",
        path="/track/act",
        form={
            "act": "deny",
            "row[]": box(refused_message(sender="<b>@bank.example")),
            "step": "do",
            "reason": "r",
            "key": "k",
        },
        answers={
            "lists.add": msgspec.to_builtins(
                ChangedList(
                    name="SITE_DENY",
                    called="deny",
                    path="x",
                    changed=["<b>@bank.example"],
                    same=[],
                    warnings=[],
                    undo=UndoCall(call="lists.undo", asked={"name": "deny"}),
                )
            )
        },
        texts=("Done", "<b>@bank.example", "Undo"),
    ),
    PageCase(
        name="track-acts-undo",
        path="/track/undo",
        form={"call": "lists.undo", "asked": '{"name":"deny"}'},
        answers={
            "lists.undo": msgspec.to_builtins(
                RestoredList(
                    name="SITE_DENY",
                    called="deny",
                    path="x",
                    entries=3,
                    back=0,
                    gone=1,
                    undo=UndoCall(call="lists.undo", asked={"name": "deny"}),
                )
            )
        },
        texts=("It has 3 entries again.",),
    ),
    PageCase(
        name="track-bounce",
        path="/track",
        role=Role.AUDITOR,
        answers=found_mail(
            found_message(
                sender="", login="ann", recipients=tuple(f"p{n}@shop.example" for n in range(9))
            ),
            refused_message(recipients=(), verdict=Action.TEMPFAIL, told=Told.NEVER),
            found_message(verdict=Action.ACCEPT, moves=(), said=()),
        ),
        texts=("no sender", "and 6 more", "signed in as ann", "put off it left", "inbox"),
    ),
    PageCase(
        name="track-older",
        path="/track?moved=yes&q=verdict%3Ajunk",
        answers=found_mail(
            *(found_message(id=to_text(first_id_at(NOW - n))) for n in range(50)), older=ID
        ),
        texts=("50 rows, and there are more.", "Older", "only moved"),
    ),
    PageCase(
        name="track-none",
        path="/track?q=to%3Ajoe%40shop.example+%22a%27b%22&moved=yes",
        answers=found_mail(read_whole=("2026-11-14", "2026-11-15")),
        texts=(
            "None found",
            "Three things look alike",
            "grep -iF -- joe@shop.example /var/log/mail.log | grep -iF -- 'a'\"'\"'b'",
            "2026-11-14, 2026-11-15",
            "a copy was moved",
        ),
    ),
    PageCase(
        name="track-empty",
        path="/track",
        answers=found_mail(since=None, refusals_since=None),
        texts=("None yet", "The journal is empty."),
    ),
    PageCase(
        name="track-slow",
        path="/track?q=nothing",
        answers=found_mail(older=ID, reached=ID),
        texts=("longer than usual", "Nothing was found so far.", "Go on", "back to 2026-11-28"),
    ),
    PageCase(
        name="track-bad",
        path="/track?q=score%3E%3Cb%3E",
        answers={"messages.find": DeskRefusalError(422, "score: '<b>' is no number")},
        status=422,
        texts=("score: '<b>' is no number",),
    ),
    PageCase(
        name="track-away",
        path="/track",
        answers={"messages.find": DeskRefusalError(503, "the journal is away")},
        status=503,
        texts=("Not available now",),
    ),
]
