"""Asks about messages and refusals: which there were, why, and what became of them."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.desk.call import CallError, ask
from oborona.desk.messages.found_messages import FoundMessage, rows_of
from oborona.desk.messages.own_mail import OwnMail, own_mail
from oborona.desk.messages.reference import MessageExplanation, explain_reference
from oborona.desk.messages.search import (
    moved_messages,
    open_search,
)
from oborona.desk.messages.search_question import people_named, read_query, within_scope
from oborona.desk.messages.story import tell_story
from oborona.desk.messages.story_event import MessageStory
from oborona.desk.messages.unicode_text import encodable
from oborona.desk.site import Site
from oborona.ident import to_text
from oborona.journal.query import BadQuery
from oborona.people.caller import Caller
from oborona.people.rights import Right

MOST_ROWS: Final = 500
OWN_DAYS: Final = 14  # that a reader sees
Query = Annotated[str, Meta(max_length=2000)]  # longer ones have more words than are allowed
Within = Annotated[float, Meta(ge=0.05, le=30)]
Moment = Annotated[str, Meta(max_length=40)]


class MessageQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which messages are wanted.

    Args:
        query: in the language of searches.
        since: from then on: 30m, 2h, 7d, 2026-11-22, or a day and time; empty = any.
        until: before that; of a day its end.
        limit: messages.
        older: id; messages before it: the next page.
        newer: id; messages after it, the newest of them first.
        moved: those alone of which a copy was moved later.
        within: seconds after which what was found is the answer.
        person: for the audit log: the recipients that the query names; told by it, whatever is
            given.
    """

    query: Query = ""
    since: Moment = ""
    until: Moment = ""
    limit: Annotated[int, Meta(ge=1, le=MOST_ROWS)] = 50
    older: Moment = ""
    newer: Moment = ""
    moved: bool = False
    within: Within = 1.5
    person: str = ""

    def __post_init__(self) -> None:
        """Take note whom it names."""
        self.person = people_named(self.query)


class MessageList(msgspec.Struct, frozen=True, kw_only=True):
    """Messages, the newest first.

    Args:
        hits: what was found.
        older: id that asks for the next page; empty = there is none.
        reached: the time was over when all above this id was searched; empty = it was enough.
        read_whole: days without a sound search file, as 2026-11-23.
        since: when the oldest message came that the journal has, Unix seconds; null = none.
        refusals_since: the same of refusals.
    """

    hits: tuple[FoundMessage, ...]
    older: str
    reached: str
    read_whole: tuple[str, ...]
    since: float | None
    refusals_since: float | None


class ReferenceQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which message or refusal is meant.

    Args:
        what: id, reference of a refusal, queue id, Message-ID, or what a search takes.
        within: seconds that a search for it may take.
    """

    what: Annotated[str, Meta(min_length=1, max_length=1000)]
    within: Within = 1.5


class OwnMailQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which of one's own mail.

    Args:
        address: of one's own; empty = all.
        days: back.
        limit: messages.
        older: id; messages before it: the next page.
        within: seconds after which what was found is the answer.
    """

    address: Annotated[str, Meta(max_length=320)] = ""
    days: Annotated[int, Meta(ge=1, le=OWN_DAYS)] = OWN_DAYS
    limit: Annotated[int, Meta(ge=1, le=MOST_ROWS)] = 100
    older: Moment = ""
    within: Within = 1.5


@ask("messages.find", Right.TRACK, scoped=True, person=("person",))
def find_messages(site: Site, caller: Caller, asked: MessageQuestion) -> MessageList:
    """Find messages and refusals, the newest first."""
    try:
        query = read_query(
            asked.query, asked.since, asked.until, asked.older, asked.newer, now=time.time()
        )
    except BadQuery as error:
        raise CallError(str(error)) from error
    go_on = None
    if asked.moved:
        among, go_on = moved_messages(site, caller.scope, query.before)
        query = msgspec.structs.replace(query, among=among)
    with open_search(site, caller.scope) as journal:
        found = journal.find(within_scope(query, caller.scope), asked.limit, within_s=asked.within)
        hits = list(found)
        reached = "" if journal.reached is None else to_text(journal.reached)
        if go_on is not None and len(hits) < asked.limit:
            reached = reached or to_text(go_on)
        full = len(hits) == asked.limit
        answer = MessageList(
            hits=rows_of(site, hits, caller.scope),
            older=reached or (hits[-1].id if full else ""),
            reached=reached,
            read_whole=tuple(journal.missing),
            since=journal.oldest(),
            refusals_since=journal.oldest_refusal(),
        )
    return encodable(answer)


@ask("messages.explain", Right.TRACK, scoped=True, person=("what",))
def explain_message(site: Site, caller: Caller, asked: ReferenceQuestion) -> MessageExplanation:
    """Tell why a message was judged as it was, or somebody refused, and what became of it."""
    return encodable(asyncio.run(explain_reference(site, asked.what, caller.scope, asked.within)))


@ask("messages.story", Right.TRACK, scoped=True, person=("what",))
def tell_message_story(site: Site, caller: Caller, asked: ReferenceQuestion) -> MessageStory:
    """Tell what happened to a message, from the refusals before it to its reader's click and back,
    in order of time.
    """
    return encodable(asyncio.run(tell_story(site, asked.what, caller.scope, asked.within)))


@ask("messages.mine", Right.OWN, scoped=True)
def list_own_mail(site: Site, caller: Caller, asked: OwnMailQuestion) -> OwnMail:
    """Tell a reader what of their own mail went into Junk or was refused, in words for readers."""
    own = own_mail(
        site,
        caller.scope,
        asked.address,
        since=time.time() - asked.days * 86_400,
        limit=asked.limit,
        older=asked.older,
        within_s=asked.within,
    )
    return encodable(own)
