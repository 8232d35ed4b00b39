"""A reply of a session in the words of /v1.  Pure."""

from __future__ import annotations

from typing import Final, Literal

from oborona.doors.http.model import HeaderEdits, SmtpAnswer, VerdictAnswer
from oborona.doors.reply import AddHeader, RemoveHeader, ReplyAction, SessionReply
from oborona.types import Action

VerdictWord = Literal["accept", "spam", "reject", "tempfail", "discard", "hold"]

_WORDS: Final[dict[ReplyAction, VerdictWord]] = {
    ReplyAction.REJECT: "reject",
    ReplyAction.TEMPFAIL: "tempfail",
    ReplyAction.DISCARD: "discard",
    ReplyAction.HOLD: "hold",
}


def verdict_word(reply: SessionReply) -> VerdictWord:
    """Return the verdict in a word: REJECT by a policy that does not refuse is `spam`."""
    word = _WORDS.get(reply.answer)
    if word is not None:
        return word
    judged = reply.judged
    return "accept" if judged is None or judged.verdict.action is Action.ACCEPT else "spam"


def verdict_answer(reply: SessionReply) -> VerdictAnswer:
    """Return the answer to who asked; where nothing was judged, nothing is against it."""
    judged = reply.judged
    verdict = judged.verdict if judged is not None else None
    return VerdictAnswer(
        verdict=verdict_word(reply),
        score=verdict.score if verdict else 0.0,
        line=verdict.line if verdict else 0.0,
        spam_score=judged.spam_score if judged else 0.0,
        reject_score=judged.reject_score if judged else 0.0,
        decided_by=verdict.decided_by if verdict else "",
        rules=verdict.rules if verdict else (),
        findings=verdict.findings if verdict else (),
        karma=judged.karma if judged else None,
        id=judged.ident if judged else "",
        reference=judged.reference if judged else "",
        smtp=SmtpAnswer(code=reply.code, enhanced=reply.enhanced, text=reply.text)
        if reply.code
        else None,
        headers=HeaderEdits(
            add=tuple(edit for edit in reply.edits if isinstance(edit, AddHeader)),
            remove=tuple(edit for edit in reply.edits if isinstance(edit, RemoveHeader)),
        ),
        removed_recipients=reply.removed,
    )
