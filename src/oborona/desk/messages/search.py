"""Searches in the journal as a caller may make them: what is asked, and of whose mail."""

from __future__ import annotations

from typing import Final, NamedTuple

from oborona import state_files
from oborona.desk.configured_site import ConfiguredSite
from oborona.ident import HIGHEST
from oborona.journal.recipient_scope import Covers
from oborona.journal.search import JournalSearch
from oborona.people.caller import Scope
from oborona.recheck.moves import MoveStore

MOST_MOVED: Final = 5_000  # copies that a search among them looks at: some milliseconds


def covers(scope: Scope) -> Covers | None:
    """Return whose mail a scope covers; None = everybody's."""
    return None if scope.whole else scope.covers


def open_search(site: ConfiguredSite, scope: Scope) -> JournalSearch:
    """Return the journal, open for searching what a scope covers.

    Raises:
        StoreError: there is none, or it can't be read.
    """
    path = site.state / state_files.JOURNAL
    return JournalSearch(path, covers=covers(scope), files=site.search_files)


class MovedMessages(NamedTuple):
    """Messages of which copies were moved.

    Args:
        ids: of those that a caller may see.
        go_on: id before which further ones are to be looked for; None = these are all.
    """

    ids: tuple[int, ...]
    go_on: int | None


def moved_messages(site: ConfiguredSite, scope: Scope, before: int | None) -> MovedMessages:
    """Return the newest messages of which copies were moved.

    Args:
        site: whose moves.
        scope: whose copies.
        before: an id; only older messages; None = any.

    Raises:
        StoreError: the moves can't be read.
    """
    path = site.state / state_files.MOVES
    if not path.exists():
        return MovedMessages((), None)
    with MoveStore(path, make=False) as store:
        copies = store.moved_copies(before=HIGHEST if before is None else before, most=MOST_MOVED)
    ids = dict.fromkeys(message for message, recipient in copies if scope.covers(recipient))
    if len(copies) < MOST_MOVED:
        return MovedMessages(tuple(ids), None)
    last = copies[-1][0]
    if last == copies[0][0]:  # all are copies of one message
        return MovedMessages(tuple(ids), last)
    # of the last message there may be further copies: the next search has it whole
    return MovedMessages(tuple(ident for ident in ids if ident != last), last + 1)
