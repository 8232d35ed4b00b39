"""Acts on appeals of senders: answered, and the answer taken back.

An answer tells the sender what he is to think of the refusal, and does nothing else: what let his
mail be refused is changed by the acts for that, on the pages of the refusal, its client and its
domain.
"""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from oborona.desk.asks.appeals import AppealId, AppealView, appeal_view, found_appeal, open_appeals
from oborona.desk.call import ActOrder, CallError, UndoCall, act
from oborona.desk.site import Site
from oborona.feedback.cases.appeals import MOST_TEXT, Appeal, AppealState
from oborona.people.caller import Caller
from oborona.people.rights import Right


class AppealVerdict(StrEnum):
    """How an appeal is answered."""

    PARDON = "pardon"
    DECLINE = "decline"


class AppealMetError(CallError):
    """Somebody has answered an appeal, or taken its answer back, meanwhile."""

    status = 409


class AppealAnswer(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """The answer to an appeal, with words to the sender."""

    id: AppealId
    verdict: AppealVerdict
    words: Annotated[str, Meta(max_length=MOST_TEXT)]


class AppealReopening(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """An appeal whose answer is taken back."""

    id: AppealId


class AppealOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """An appeal as it is now; in a dry run, as it would be."""

    appeal: AppealView
    undo: UndoCall | None


_STATES = {
    AppealVerdict.PARDON: AppealState.PARDONED,
    AppealVerdict.DECLINE: AppealState.DECLINED,
}


@act("appeals.answer", Right.TEACH, about=("id", "verdict"))
def answer_appeal(site: Site, caller: Caller, asked: AppealAnswer) -> AppealOutcome:
    """Answer an appeal: the sender reads it under the reference of the refusal.

    Raises:
        NotFoundError: there is none of this number.
        AppealMetError: it was answered meanwhile.
        CallError: there are no words to the sender.
    """
    words = asked.words.strip()
    if not words:
        raise CallError("an answer needs words to the sender")
    before = _set(site, caller, asked.id, _STATES[asked.verdict], words, dry=asked.dry)
    now = msgspec.structs.replace(
        before, state=_STATES[asked.verdict], words=words, by=caller.name, answered=time.time()
    )
    undo = UndoCall(call="appeals.reopen", asked={"id": asked.id})
    return AppealOutcome(appeal=appeal_view(now), undo=undo)


@act("appeals.reopen", Right.TEACH, about=("id",))
def reopen_appeal(site: Site, caller: Caller, asked: AppealReopening) -> AppealOutcome:
    """Take the answer to an appeal back: it waits again.

    Raises:
        NotFoundError: there is none of this number.
        AppealMetError: it waits already.
    """
    before = _set(site, caller, asked.id, AppealState.WAITING, "", dry=asked.dry)
    verdict = next(one for one, state in _STATES.items() if state is before.state)
    again = {"id": asked.id, "verdict": verdict, "words": before.words}
    now = msgspec.structs.replace(before, state=AppealState.WAITING, words="", by="", answered=0.0)
    return AppealOutcome(appeal=appeal_view(now), undo=UndoCall(call="appeals.answer", asked=again))


def _set(
    site: Site, caller: Caller, ident: int, state: AppealState, words: str, *, dry: bool
) -> Appeal:
    """Set what becomes of an appeal; return it as it was before."""
    with open_appeals(site) as book:
        before = found_appeal(book, ident)
        reopens = state is AppealState.WAITING
        if (before.state is AppealState.WAITING) is reopens:
            told = "waits already" if reopens else f"was answered by {before.by}"
            raise AppealMetError(f"appeal {ident} {told}")
        if dry:
            return before
        assert book is not None  # it was found there
        done = book.answer(ident, state, words, by=caller.name, now=time.time())
    if done is None:
        raise AppealMetError(f"appeal {ident} was answered meanwhile")
    return done
