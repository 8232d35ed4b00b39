"""Pages of one message or refusal, and acts on it."""

from __future__ import annotations

from typing import Any

import msgspec

from oborona.desk.acts.events import EventWithdrawalOutcome, WithdrawnEvent
from oborona.desk.acts.forgiveness import ForgivenMessage
from oborona.desk.acts.recheck import LookOutcome, MoveUndoOutcome
from oborona.desk.acts.teach import TeachOutcome
from oborona.desk.call import UndoCall
from oborona.desk.labels.lessons import LessonResult
from oborona.desk.messages.explanation import (
    CountedPiece,
    VerdictExplanation,
    VerdictSide,
)
from oborona.desk.messages.feedback import ExplainedFeedback
from oborona.desk.messages.proof import MessageProof, ProvedBy, ReputedEntity
from oborona.desk.messages.reference import CopyPlace, MessageExplanation
from oborona.desk.messages.refusal import RefusalExplanation
from oborona.desk.messages.story_event import MessageStory, StoryEvent, StoryKind
from oborona.desk.moves.look import RecheckLookResult
from oborona.feedback.events.model import EventChannel, EventKind
from oborona.ident import first_id_at, to_text
from oborona.journal.refusal import Told
from oborona.people.rights import Role
from oborona.recheck.moves import Move, MoveState
from oborona.types import Action, RuleHit, RuleMode, ShadowVerdict, Stage
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError
from tests.console.track_answers import found_message, refused_message

ID = to_text(first_id_at(NOW - 300))
REFERENCE = to_text(first_id_at(NOW - 900))


def side(**changes: Any) -> VerdictSide:
    """Return a verdict with what led to it."""
    fields: dict[str, Any] = {
        "verdict": Action.SPAM,
        "score": 112.4,
        "line": 100.0,
        "decided_by": "MASS_TEXT",
        "would": None,
        "policy": "8121c0de5a",
        "lines": None,
        "rules": (
            RuleHit(name="DMARC_FAIL", score=20, say="bank.example says: reject"),
            RuleHit(name="MASS_TEXT", score=70, say="the text came 312 times"),
            RuleHit(name="LINK_NEW", score=30, say="of 2 h", mode=RuleMode.SHADOW),
        ),
        "findings": (),
        "facts": {
            "author": "",
            "from.domain": "bank.example",
            "links.domains": ["parcel-x.example", "bank.example"],
            "score.karma": 0,
            "spf.result": "softfail",
            "text.copies": 312,
        },
        "model": {"probability": 0.973, "spam_learned": 12_000, "ham_learned": 48_112},
    }
    return VerdictSide(**{**fields, **changes})


def explained(**changes: Any) -> VerdictExplanation:
    """Return an explanation of a message."""
    now = side(
        verdict=Action.ACCEPT,
        score=62.0,
        rules=(RuleHit(name="DMARC_FAIL", score=20, say="bank.example says: reject"),),
        facts={"text.copies": 320, "from.domain": "bank.example"},
        not_judged={"MASS_TEXT": "its fact is not kept"},
    )
    parts = {"parts": [{"feature": "rule.DMARC_FAIL", "value": None, "log_odds": 1.5}]}
    fields: dict[str, Any] = {
        "id": ID,
        "time": "2026-11-28 10:35:00+00:00",
        "queue_id": "4XYZ1234",
        "client": "203.0.113.9",
        "helo": "mx.bank.example",
        "sender": "a@bank.example",
        "recipients": ("joe@shop.example", "ann@shop.example"),
        "login": "joe",
        "subject": "Your card <b>",
        "message_id": "<1@bank.example>",
        "size": 12_000,
        "then": side(
            would=ShadowVerdict(action=Action.REJECT, score=142, line=140, decided_by="LINK_NEW")
        ),
        "now": now,
        "late": side(verdict=Action.REJECT, score=210.0, decided_by="PICTURE"),
        "counts": (
            CountedPiece(
                piece="1:00ff",
                then={"hour": 1, "day": 3, "fortnight": 1300, "spam": 7, "complaints": 2},
                now=None,
            ),
        ),
        "changed_verdict": True,
        "feedback": (
            ExplainedFeedback(
                id=41,
                what=EventKind.PARDON,
                way=EventChannel.SIEVE,
                time="2026-11-28 10:37:00+00:00",
                person="joe@shop.example",
                source="",
                mailbox="INBOX",
                decision="believed",
                weight=0.3,
                rules=(),
                say="a person of ours",
                effects=("own list: allow a@bank.example",),
                done=True,
                word=3,
                word_state="learned",
                counted="yes",
                own_list=(),
                proposals=(),
                before=(),
            ),
        ),
        "final_model": {"probability": 0.4, "mean": 0.1, **parts},
        "shipped_model": {"log_odds": -0.25, "mean": 0.1, **parts},
    }
    return VerdictExplanation(**{**fields, **changes})


def story(*events: StoryEvent) -> dict[str, Any]:
    """Return what `messages.story` answers."""
    answer: dict[str, Any] = msgspec.to_builtins(MessageStory(id=ID, events=events))
    return answer


def happened(kind: StoryKind, after_s: float, **more: Any) -> StoryEvent:
    """Return something that happened some seconds after a message came."""
    return StoryEvent(time=NOW - 300 + after_s, kind=kind, **more)


STORY = story(
    happened(
        StoryKind.REFUSED, -600, ref=REFERENCE, client="203.0.113.9", who="joe@shop.example",
        verdict=Action.TEMPFAIL, where=Told.RECIPIENT, times=2, say="come again",
    ),
    happened(
        StoryKind.JUDGED, 0, ref=ID, verdict=Action.SPAM, score=112.4, line=100.0,
        decided_by="MASS_TEXT", policy="8121c0de5a",
    ),
    happened(StoryKind.LATE, 60, verdict=Action.REJECT, score=210.0, line=200.0),
    happened(StoryKind.DELIVERED, 1, who="joe@shop.example", where="Junk"),
    happened(StoryKind.SAID, 130, report=41, who="joe@shop.example", what="pardon"),
    happened(StoryKind.DECIDED, 131, report=41, what="believed", weight=0.3, say="own list"),
    happened(
        StoryKind.LOOKED, 200, move=7, who="joe@shop.example", score=62.0, line=100.0,
        where="INBOX", say="pardon; MASS_TEXT",
    ),
    happened(
        StoryKind.MOVED, 210, move=7, who="joe@shop.example", what="done", where="INBOX",
        can_undo=True,
    ),
    happened(StoryKind.UNDONE, 260, move=8, who="joe@shop.example", where="Junk"),
)  # fmt: skip


def explanation(message: VerdictExplanation | None = None, **more: Any) -> dict[str, Any]:
    """Return what `messages.explain` answers."""
    fields: dict[str, Any] = {"message": message}
    if message is not None:
        fields |= {
            "proof": MessageProof(
                methods=(
                    ProvedBy(method="spf", result="softfail", of="bank.example"),
                    ProvedBy(method="dkim", result="none", of=""),
                ),
                proved="",
            ),
            "who": (
                ReputedEntity(kind="sender", name="a@bank.example"),
                ReputedEntity(kind="client", name="203.0.113.9"),
                ReputedEntity(kind="link", name="parcel-x.example"),
            ),
            "copies": (CopyPlace(recipient="joe@shop.example", junk=True, time=NOW - 299),),
        }
    answer: dict[str, Any] = msgspec.to_builtins(MessageExplanation(**{**fields, **more}))
    return answer


REFUSAL = RefusalExplanation(
    id=REFERENCE,
    time="2026-11-28 10:25:00+00:00",
    stage=Stage.CONNECT,
    told=Told.RECIPIENT,
    verdict=Action.REJECT,
    score=200.0,
    line=100.0,
    decided_by="ZEN",
    policy="8121c0de5a",
    rules=(RuleHit(name="ZEN", score=200, say="203.0.113.9 is listed"),),
    queue_id="",
    client="203.0.113.0/24",
    helo="bot",
    sender="a@bank.example",
    recipients=("joe@shop.example",),
    login="",
    shared=True,
    network="203.0.113.0/24",
    times=7,
    named=3,
    first="2026-11-28 10:25:00+00:00",
    last="2026-11-28 10:33:00+00:00",
    door="proxy",
)
WHOLE = {"messages.explain": explanation(explained()), "messages.story": STORY}
REFUSED = {
    "messages.explain": explanation(refusal=REFUSAL),
    "messages.story": story(
        happened(StoryKind.REFUSED, -600, ref=REFERENCE, verdict=Action.REJECT, where=Told.SENDER)
    ),
}
PURGED = {
    "messages.explain": explanation(
        explained(
            then=side(facts={}, model={}, rules=()),
            now=None,
            no_now="the evidence is purged",
            late=None,
            counts=(),
            feedback=(),
            changed_verdict=False,
            final_model=None,
            shipped_model=None,
            sender="",
            client="",
            login="",
            subject="",
        ),
        proof=None,
        who=(),
        copies=(),
    ),
    "messages.story": DeskRefusalError(503, "away"),
}
MOVE = Move(
    id=7, message=1, recipient="joe@shop.example", source="Junk", target="INBOX", time=NOW,
    changed=NOW, due=NOW, tries=1, state=MoveState.DONE, note="", why="", score=62.0, line=100.0,
    event="", because="", undoes=None,
)  # fmt: skip
LOOKED = LookOutcome(
    copies=(
        RecheckLookResult(
            id=ID, time=NOW, recipient="joe@shop.example", sender="a@bank.example", subject="s",
            then="spam", then_score=112.0, now="accept", now_score=62.0, possible=("accept",),
            line=100.0, why="w", source="Junk", target="INBOX",
        ),
    ),
    moves=(9,),
    undo=UndoCall(call="recheck.undo", asked={"moves": [9]}),
)  # fmt: skip
TAUGHT = TeachOutcome(
    messages=(LessonResult(message=ID, result="new", id=3),),
    events=(5,),
    undo=UndoCall(call="model.unlearn", asked={"words": [3]}),
)
TAKEN = EventWithdrawalOutcome(
    events=(
        WithdrawnEvent(
            id=41, what=EventKind.PARDON, person="joe@shop.example", source="", was="believed"
        ),
    ),
    undo=UndoCall(call="events.restore", asked={"ids": [41]}),
)
DO = {"step": "do", "reason": "the sender called", "key": "k1"}

CASES = [
    PageCase(
        name="message-forgive",
        path=f"/message/{ID}/forgive",
        form={"any": ""},
        answers={
            "reputation.forgive": msgspec.to_builtins(
                ForgivenMessage(dry=True, ident=ID, client="203.0.113.9", pieces=31)
            )
        },
        texts=("What would be done", "31 counts are taken back.", "Reason"),
    ),
    PageCase(
        name="message",
        path=f"/message/{ID}",
        answers=WHOLE,
        texts=(
            "Your card <b>",
            "Junk 112 / 100 · decided by MASS_TEXT",
            "The policy of now would say: inbox 62 / 100",
            "With what is on trial it would have been: refused 142 / 140",
            "put off at RCPT TO under the reference",
            "believed, with weight 0.30",
            "the copy of joe@shop.example was moved to INBOX",
            "Move it back",
            "it can't be judged now: its fact is not kept",
            "On trial",
            "the text came 312 times",
            "Nobody is proved to have sent it.",
            "Content model: spam with 97 %.",
            "own list: allow a@bank.example",
            "Take back",
            "links.domains",
            "312 320",
            "1 300 / 7 / 2",
            "Look again",
            "It is not spam",
            "Copy for a ticket",
        ),
    ),
    PageCase(
        name="message-facts",
        path=f"/message/{ID}?facts=COPIES",
        role=Role.SUPPORT,
        answers=WHOLE,
        texts=("text.copies",),
    ),
    PageCase(
        name="message-no-fact",
        path=f"/message/{ID}?facts=nowhere%3Cb%3E",
        role=Role.AUDITOR,
        answers=WHOLE,
        texts=("No fact has this in its name or value.",),
    ),
    PageCase(
        name="message-purged",
        path=f"/message/{ID}",
        answers=PURGED,
        texts=(
            "A message without a subject",
            "Not available now",
            "the evidence is purged",
            "No rule fired",
            "Whom it names is no longer kept.",
            "What was proved is no longer kept",
            "Nobody has said anything of it.",
        ),
    ),
    PageCase(
        name="message-refusal",
        path=f"/message/{REFERENCE}",
        answers=REFUSED,
        texts=(
            "Refused before the content",
            "7 refusals are counted together, from 203.0.113.0/24",
            "3 recipients were named.",
            "203.0.113.9 is listed",
        ),
    ),
    PageCase(
        name="message-several",
        path="/message/4XYZ%2F1234",
        answers={
            "messages.explain": explanation(
                candidates=(found_message(), refused_message()), reached=ID
            ),
            "messages.story": story(),
        },
        texts=("Messages that may be meant", "Your card <b>", "Not all mail was searched in time."),
    ),
    PageCase(
        name="message-none",
        path="/message/%3Cb%3E%00",
        answers={"messages.explain": DeskRefusalError(404, "no message or refusal has that id")},
        status=404,
        texts=("None found", "Search for it", "no message or refusal has that id"),
    ),
    PageCase(
        name="message-away",
        path=f"/message/{ID}",
        answers={"messages.explain": DeskRefusalError(503, "away")},
        status=503,
        texts=("Not available now",),
    ),
    PageCase(
        name="message-teach",
        path=f"/message/{ID}/teach",
        form={"kind": "spam"},
        answers={"teach": msgspec.to_builtins(TAUGHT)},
        texts=("This message is spam", "learned as new", "Reason"),
    ),
    PageCase(
        name="message-taught",
        path=f"/message/{ID}/teach",
        form={"kind": "ham", **DO},
        answers={"teach": msgspec.to_builtins(TAUGHT)},
        texts=("This message is not spam", "Done", "Undo"),
    ),
    PageCase(
        name="message-unlearned",
        path=f"/message/{ID}/unlearn",
        form={"words": "3", **DO},
        answers={"model.unlearn": {"taken_back": [3]}},
        texts=("It concerns the numbers: 3",),
    ),
    PageCase(
        name="message-undo",
        path=f"/message/{ID}/undo",
        role=Role.SUPPORT,
        form={"moves": "7"},
        answers={"recheck.undo": msgspec.to_builtins(MoveUndoOutcome(moves=(MOVE,), runs=False))},
        texts=("joe@shop.example: INBOX → Junk", "does not run"),
    ),
    PageCase(
        name="message-looked",
        path=f"/message/{ID}/look",
        form=DO,
        answers={"recheck.look": msgspec.to_builtins(LOOKED)},
        texts=("Junk → inbox 62 / 100, to be moved to INBOX", "Undo"),
    ),
    PageCase(
        name="message-taken-back",
        path=f"/message/{ID}/take-back",
        form={"ids": "41", **DO},
        answers={"events.take_back": msgspec.to_builtins(TAKEN)},
        texts=("joe@shop.example says: not spam", "Undo"),
    ),
    PageCase(
        name="message-restored",
        path=f"/message/{ID}/restore",
        form={"ids": "41 x 9999999999999999999999", **DO},
        answers={"events.restore": {"events": [], "undo": None}},
        texts=("There is nothing left to do.",),
    ),
]
