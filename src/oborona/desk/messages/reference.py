"""What is meant by an id, a reference, a queue id, a Message-ID or words, and all that explains
it.
"""

from __future__ import annotations

import time
from typing import Final

import msgspec

from oborona.desk.call import CallError, NotFoundError
from oborona.desk.messages.explanation import VerdictExplanation
from oborona.desk.messages.explanation_scope import ExplanationNarrowing, narrow_refusal
from oborona.desk.messages.found_messages import FoundMessage, rows_of
from oborona.desk.messages.lookup import FoundEntry, explain_journaled, look_up
from oborona.desk.messages.proof import MessageProof, ReputedEntity, entities_of, proof_of
from oborona.desk.messages.refusal import RefusalExplanation, explain_refusal
from oborona.desk.messages.search import open_search
from oborona.desk.messages.search_question import read_query, within_scope
from oborona.desk.site import Site
from oborona.ident import from_text, to_text
from oborona.journal.query import BadQuery, JournalQuery, QueryField, QueryTerm
from oborona.journal.refusal import RecordedRefusal
from oborona.journal.search_hit import SearchHit
from oborona.people.caller import Scope

CANDIDATES: Final = 20  # messages, where several answer


class CopyPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a copy went, as the delivery door reported."""

    recipient: str  # as the mail server names the mailbox
    junk: bool
    time: float  # Unix seconds


class MessageExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """All that explains a message or a refusal; or which messages may be meant.

    Args:
        message: then and now, counts, models, what was said, moves.
        refusal: before the content.
        proof: who sent it, as far as it was proved.
        who: what has a reputation, by name.
        copies: where they went.
        candidates: several that were meant, the newest first.
        reached: id; the search for them ended for want of time when all above it was searched.
    """

    message: VerdictExplanation | None = None
    refusal: RefusalExplanation | None = None
    proof: MessageProof | None = None
    who: tuple[ReputedEntity, ...] = ()
    copies: tuple[CopyPlace, ...] = ()
    candidates: tuple[FoundMessage, ...] = ()
    reached: str = ""


class MeantMessages(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller's words may mean: one, or several."""

    one: FoundEntry | RecordedRefusal | None = None
    several: tuple[FoundMessage, ...] = ()
    reached: str = ""


async def explain_reference(
    site: Site, what: str, scope: Scope, within_s: float
) -> MessageExplanation:
    """Return all that explains what is meant.

    Args:
        site: whose journal.
        what: id, reference, queue id, Message-ID, or the words of a search.
        scope: whose mail may be seen.
        within_s: seconds that a search may take.

    Raises:
        NotFoundError: there is none within the scope.
        CallError: the words can't be asked.
        StoreError: the journal can't be read, or its row is damaged.
    """
    meant = await find_meant(site, what, scope, within_s)
    if meant.one is None:
        return MessageExplanation(candidates=meant.several, reached=meant.reached)
    if isinstance(meant.one, RecordedRefusal):
        refusal = explain_refusal(meant.one)
        return MessageExplanation(
            refusal=refusal if scope.whole else narrow_refusal(refusal, scope)
        )
    entry = meant.one.entry
    explanation = await explain_journaled(site, meant.one)
    if not scope.whole:
        narrowing = ExplanationNarrowing(scope, entry.recipients, entry.sender, entry.header_from)
        explanation = narrowing.message(explanation)
    return MessageExplanation(
        message=explanation,
        proof=proof_of(explanation.then or explanation.now),
        who=entities_of(explanation),
        copies=tuple(
            CopyPlace(recipient=copy.recipient, junk=copy.spam, time=copy.time)
            for copy in meant.one.copies
            if scope.covers(copy.recipient)
        ),
        reached=meant.reached,
    )


async def find_meant(site: Site, what: str, scope: Scope, within_s: float) -> MeantMessages:
    """Return what is meant; the arguments and errors of `explain_reference`."""
    what = what.encode("utf-8", "replace").decode().strip()
    found = await look_up(site, from_text(what.partition(".")[0]), what, scope)
    if found is not None:
        return MeantMessages(one=found)
    hits, reached = _search(site, what, scope, within_s)
    if len(hits) == 1:
        found = await look_up(site, from_text(hits[0].id), scope=scope)
        if found is not None:
            return MeantMessages(one=found, reached=reached)
    if not hits and not reached:
        raise NotFoundError("no message or refusal has that id, or answers these words")
    return MeantMessages(several=rows_of(site, hits, scope), reached=reached)


def _search(site: Site, what: str, scope: Scope, within_s: float) -> tuple[list[SearchHit], str]:
    """Return what answers, and the id above which all was searched where time was over."""
    try:
        query = read_query(what, now=time.time())
    except BadQuery as error:
        raise CallError(str(error)) from error
    if query == JournalQuery():
        return [], ""
    with open_search(site, scope) as journal:
        if "@" in what and not any(letter.isspace() for letter in what):  # has an index
            named = JournalQuery(terms=(QueryTerm(QueryField.MESSAGE, what.strip("<>")),))
            hits = list(journal.find(named, CANDIDATES, within_s=within_s))
            if hits:
                return hits, ""
        hits = list(journal.find(within_scope(query, scope), CANDIDATES, within_s=within_s))
        return hits, "" if journal.reached is None else to_text(journal.reached)
