"""Whether newer mail came that somebody searched for: what a page that is left open asks."""

from __future__ import annotations

import time
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.desk.call import CallError, ask
from oborona.desk.messages.search import open_search
from oborona.desk.messages.search_question import read_query, within_scope
from oborona.desk.site import Site
from oborona.journal.query import BadQuery
from oborona.people.caller import Caller
from oborona.people.rights import Right

MOST: Final = 100  # that are counted
WITHIN_S: Final = 0.5


class NewerQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """How much newer mail a search finds.

    Args:
        query: in the language of searches.
        newer: id of the newest message that is known.
    """

    query: Annotated[str, Meta(max_length=2000)] = ""
    newer: Annotated[str, Meta(min_length=1, max_length=40)]


class NewerMessages(msgspec.Struct, frozen=True, kw_only=True):
    """How many there are, at most `MOST`, and whether there are more."""

    number: int
    more: bool


@ask("messages.newer", Right.TRACK, scoped=True)
def count_newer(site: Site, caller: Caller, asked: NewerQuestion) -> NewerMessages:
    """Tell how many messages and refusals a search finds that are newer than one.

    It shows no mail, so that nobody is noted to have looked at somebody's: they were when they
    searched.

    Raises:
        CallError: it can't be asked so.
        StoreError: the journal can't be read.
    """
    try:
        query = read_query(asked.query, newer=asked.newer, now=time.time())
    except BadQuery as error:
        raise CallError(str(error)) from error
    with open_search(site, caller.scope) as journal:
        hits = list(journal.find(within_scope(query, caller.scope), MOST + 1, within_s=WITHIN_S))
        return NewerMessages(
            number=min(len(hits), MOST), more=len(hits) > MOST or journal.reached is not None
        )
