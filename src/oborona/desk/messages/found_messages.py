"""Messages that a search found, as rows: with what people said of them, and their moves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from oborona import state_files
from oborona.desk.configured_site import ConfiguredSite
from oborona.errors import StoreError
from oborona.feedback.events.log import EventLog
from oborona.ident import from_text
from oborona.journal.refusal import Told
from oborona.journal.search_hit import SearchHit
from oborona.people.caller import Scope
from oborona.recheck.moves import MoveStore
from oborona.types import Action, RuleHit, Stage


class FoundReport(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody said of a message that was found."""

    person: str  # empty = nobody: a trap, the site
    what: str
    time: float  # Unix seconds
    believed: bool | None  # null: not decided yet


class FoundMove(msgspec.Struct, frozen=True, kw_only=True):
    """The last move of a copy of a message that was found."""

    id: int
    recipient: str
    target: str  # mailbox
    state: str
    time: float  # Unix seconds, of this state
    back: bool  # it takes an earlier one back


class FoundMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message, or refusals before the content, as one row."""

    id: str  # or reference
    time: float  # Unix seconds
    refused: bool  # before its content
    verdict: Action
    score: float
    line: float
    decided_by: str
    reasons: tuple[RuleHit, ...]  # the live rules that weigh most
    queue_id: str
    message_id: str
    client: str
    helo: str
    sender: str
    header_from: str
    recipients: tuple[str, ...]  # that the caller may see
    login: str
    subject: str
    size: int
    stage: Stage  # of what was judged
    told: Told  # where the client heard of it
    head: str  # of refusals: the first of those that are counted together
    network: str  # of refusals: of the client
    times: int  # how many they are
    last: float | None  # of refusals: when the last of them was, Unix seconds
    door: str  # the listener that it came by; empty = unknown, or of an older Oborona
    said: tuple[FoundReport, ...] = ()
    moves: tuple[FoundMove, ...] = ()


def rows_of(
    site: ConfiguredSite, hits: Sequence[SearchHit], scope: Scope
) -> tuple[FoundMessage, ...]:
    """Return what was found as rows, with what people said of it and where it was moved."""
    numbers = [from_text(hit.id) for hit in hits if not hit.head]
    idents = [number for number in numbers if number is not None]
    said, moves = _said(site, idents, scope), _moves(site, idents, scope)
    return tuple(
        row_of(hit, said.get(from_text(hit.id), ()), moves.get(from_text(hit.id), ()))
        for hit in hits
    )


def row_of(
    hit: SearchHit, said: Iterable[FoundReport] = (), moves: Iterable[FoundMove] = ()
) -> FoundMessage:
    """Return what was found as a row."""
    fields = {name: getattr(hit, name) for name in hit.__struct_fields__ if name != "rules"}
    return FoundMessage(
        **fields,
        refused=bool(hit.head),
        reasons=hit.reasons,
        said=tuple(said),
        moves=tuple(moves),
    )


def _said(
    site: ConfiguredSite, idents: Sequence[int], scope: Scope
) -> dict[int | None, list[FoundReport]]:
    path = site.state / state_files.EVENTS
    if not idents or not path.exists():
        return {}
    try:
        with site.as_owner(), EventLog(path, make=False) as log:
            summaries = log.summaries_of(idents)
    except (StoreError, ValueError) as error:  # a row of it may be damaged
        site.notice(f"{error}; what people said is not told")
        return {}
    return {
        ident: [
            FoundReport(
                person=one.person, what=one.what.value, time=one.time, believed=one.believed
            )
            for one in events
            if scope.covers(one.person)
        ]
        for ident, events in summaries.items()
    }


def _moves(
    site: ConfiguredSite, idents: Sequence[int], scope: Scope
) -> dict[int | None, list[FoundMove]]:
    path = site.state / state_files.MOVES
    if not idents or not path.exists():
        return {}
    found = dict[int | None, list[FoundMove]]()
    try:
        with MoveStore(path, make=False) as store:
            last = {(move.message, move.recipient): move for move in store.of_all(idents)}
    except StoreError as error:
        site.notice(f"{error}; moves are not told")
        return {}
    for move in last.values():
        if scope.covers(move.recipient):
            found.setdefault(move.message, []).append(
                FoundMove(
                    id=move.id,
                    recipient=move.recipient,
                    target=move.target,
                    state=move.state.value,
                    time=move.changed,
                    back=move.undoes is not None,
                )
            )
    return found
