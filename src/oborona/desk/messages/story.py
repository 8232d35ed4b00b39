"""The story of a message: what happened to it, in order of time, from the refusals before it to
its reader's click and back.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

import msgspec

from oborona import state_files
from oborona.client_network import client_network
from oborona.desk.configured_site import ConfiguredSite
from oborona.desk.messages.lookup import FoundEntry
from oborona.desk.messages.reference import find_meant
from oborona.desk.messages.search import open_search
from oborona.desk.messages.story_event import MessageStory, StoryEvent, StoryKind
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import StoredEvent
from oborona.ident import time_of_id, to_text
from oborona.journal.entry import JournalEntry
from oborona.journal.query import JournalQuery, QueryField, QueryTerm
from oborona.journal.recipient_scope import mask_words
from oborona.journal.refusal import RecordedRefusal, Refusal
from oborona.journal.search_hit import SearchHit
from oborona.people.caller import Scope
from oborona.recheck.moves import Move, MoveState, MoveStore
from oborona.types import Action

BEFORE_S: Final = 86_400.0  # that a mail server tries again within
MOST_BEFORE: Final = 20  # refusals
SEARCH_S: Final = 0.02  # for those without the Message-ID: the newest are found first
JUNK: Final = "Junk"
INBOX: Final = "INBOX"


async def tell_story(site: Site, what: str, scope: Scope, within_s: float) -> MessageStory:
    """Return what happened to a message; arguments and errors of `explain_reference`."""
    meant = await find_meant(site, what, scope, within_s)
    if meant.one is None:
        return MessageStory(candidates=meant.several, reached=meant.reached)
    if isinstance(meant.one, RecordedRefusal):
        event = _refusal(meant.one, scope)
        return MessageStory(id=event.ref, refused=True, events=(event,))
    entry = meant.one.entry
    before, before_since = _before(site, entry, scope)
    events = [*before, *_judged(meant.one, scope)]
    events += _said(site, entry, scope)
    events += _moved(site, entry, scope)
    events.sort(key=lambda event: event.time)  # of equals, in the order of what follows from what
    return MessageStory(
        id=to_text(entry.id),
        events=tuple(events),
        reached=meant.reached,
        before_since=before_since,
    )


def _before(
    site: ConfiguredSite, entry: JournalEntry, scope: Scope
) -> tuple[list[StoryEvent], float | None]:
    """Return refusals of the same sender to the same recipients before, by the Message-ID and from
    the same network, and when these were looked for back to; None = for a day.
    """
    found = dict[str, StoryEvent]()
    with open_search(site, scope) as journal:
        for query, within_s in _tries(entry):
            for hit in journal.find(query, 10 * MOST_BEFORE, within_s=within_s):
                if len(found) < MOST_BEFORE and _same(hit, entry):
                    found[hit.id] = _try(hit)
        reached = journal.reached
    return list(found.values()), None if reached is None else time_of_id(reached)


def _tries(entry: JournalEntry) -> Iterator[tuple[JournalQuery, float | None]]:
    """Yield what asks for earlier tries, and how long; the last one may come to no end."""
    since = max(0.0, entry.time - BEFORE_S)
    asked = JournalQuery(since=since, before=entry.id)
    if entry.message_id and entry.message_id.isascii():  # has an index
        term = QueryTerm(QueryField.MESSAGE, entry.message_id)
        yield msgspec.structs.replace(asked, terms=(term,)), None
    network = client_network(entry.client_ip) or entry.client_ip
    try:
        address = ip_address(network.partition("/")[0])
    except ValueError:
        return
    bits = network.partition("/")[2] or address.max_prefixlen
    terms = [QueryTerm(QueryField.CLIENT, f"{address}/{bits}")]
    if entry.sender and entry.sender.isascii():  # what is no Unicode can't be asked for
        terms.append(QueryTerm(QueryField.FROM, entry.sender))
    yield msgspec.structs.replace(asked, terms=tuple(terms)), SEARCH_S


def _try(hit: SearchHit) -> StoryEvent:
    return StoryEvent(
        time=hit.time,
        kind=StoryKind.REFUSED,
        ref=hit.id,
        client=hit.client,
        who=" ".join(hit.recipients),
        verdict=hit.verdict,
        score=hit.score,
        line=hit.line,
        decided_by=hit.decided_by,
        where=hit.told,
        times=hit.times,
        say=next((one.say for one in hit.reasons), ""),
    )


def _same(hit: SearchHit, entry: JournalEntry) -> bool:
    """Tell whether it was refused, and may have been an earlier try of a message."""
    named = {name.lower() for name in hit.recipients}
    return (
        hit.verdict in (Action.REJECT, Action.TEMPFAIL)
        and hit.sender.lower() == entry.sender.lower()
        and not named.isdisjoint(name.lower() for name in entry.recipients)
    )


def _refusal(recorded: RecordedRefusal, scope: Scope) -> StoryEvent:
    refusal: Refusal = recorded.refusal
    reason = next((hit.say for hit in refusal.rules), "")
    return StoryEvent(
        time=refusal.time,
        kind=StoryKind.REFUSED,
        ref=to_text(refusal.id),
        client=refusal.client_ip,
        who=" ".join(filter(scope.covers, refusal.recipients)),
        verdict=refusal.verdict,
        score=refusal.score,
        line=refusal.line,
        decided_by=refusal.decided_by,
        policy=refusal.policy_version,
        where=refusal.told,
        times=recorded.times if scope.whole else 1,
        say=_words(reason, scope, refusal.sender),
    )


def _judged(message: FoundEntry, scope: Scope) -> Iterator[StoryEvent]:
    entry, late = message.entry, message.late
    yield StoryEvent(
        time=entry.time,
        kind=StoryKind.JUDGED,
        ref=to_text(entry.id),
        client=entry.client_ip,
        who=" ".join(filter(scope.covers, entry.recipients)),
        verdict=entry.verdict,
        score=entry.score,
        line=entry.line,
        decided_by=entry.decided_by,
        policy=entry.policy_version,
    )
    if late is not None:
        yield StoryEvent(
            time=late.time,
            kind=StoryKind.LATE,
            verdict=late.verdict,
            score=late.score,
            line=late.line,
            decided_by=late.decided_by,
        )
    for copy in message.copies:
        if scope.covers(copy.recipient):
            yield StoryEvent(
                time=copy.time,
                kind=StoryKind.DELIVERED,
                who=copy.recipient,
                where=JUNK if copy.spam else INBOX,
            )


def _said(site: ConfiguredSite, entry: JournalEntry, scope: Scope) -> Iterator[StoryEvent]:
    path = site.state / state_files.EVENTS
    if not path.exists():
        return
    try:
        with site.as_owner(), EventLog(path, make=False) as log:
            events = log.about(ident=entry.id)
    except (StoreError, ValueError) as error:  # a row of it may be damaged
        site.notice(f"{error}; what people said of it is not told")
        return
    for event in events:
        if scope.covers(event.person):
            yield from _of_event(event, entry, scope)


def _of_event(event: StoredEvent, entry: JournalEntry, scope: Scope) -> Iterator[StoryEvent]:
    yield StoryEvent(
        time=event.time,
        kind=StoryKind.SAID,
        report=event.id,
        who=event.person,
        what=event.what.value,
        where=event.mailbox,
    )
    if event.decided is not None:
        yield StoryEvent(
            time=max(event.decided, event.time),
            kind=StoryKind.DECIDED,
            report=event.id,
            who=event.person,
            what="believed" if event.counts else "own" if event.own else "refused",
            weight=event.weight,
            say=_words("; ".join(filter(None, (event.say, *event.effects))), scope, entry.sender),
        )


def _moved(site: ConfiguredSite, entry: JournalEntry, scope: Scope) -> Iterator[StoryEvent]:
    path = site.state / state_files.MOVES
    if not path.exists():
        return
    try:
        with MoveStore(path, make=False) as store:
            moves = store.of(entry.id)
    except StoreError as error:
        site.notice(f"{error}; its moves are not told")
        return
    for move in moves:
        if scope.covers(move.recipient):
            yield from _of_move(move, entry, scope)


def _of_move(move: Move, entry: JournalEntry, scope: Scope) -> Iterator[StoryEvent]:
    back = move.undoes is not None
    why = "; ".join(filter(None, (move.event, move.why, move.because)))
    yield StoryEvent(
        time=move.time,
        kind=StoryKind.UNDONE if back else StoryKind.LOOKED,
        move=move.id,
        who=move.recipient,
        score=move.score,
        line=move.line,
        where=move.target,
        say=_words(why, scope, entry.sender),
    )
    if move.state in (MoveState.DECIDED, MoveState.ISSUED):
        return
    made = move.state in (MoveState.DONE, MoveState.UNDONE)
    yield StoryEvent(
        time=max(move.changed, move.time),
        kind=StoryKind.MOVED if made else StoryKind.LEFT,
        move=move.id,
        who=move.recipient,
        what=move.state.value,
        where=move.target,
        say=_words(move.note, scope, entry.sender),
        taken_back=move.state is MoveState.UNDONE,
        can_undo=move.state is MoveState.DONE and not back,
    )


def _words(text: str, scope: Scope, *senders: str) -> str:
    """Return words without the addresses of those beyond a scope."""
    return text if scope.whole else mask_words(text, scope.covers, *senders)
