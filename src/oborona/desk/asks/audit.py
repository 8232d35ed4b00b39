"""Asks about the audit log: who did what, and whether all that was written is there."""

from __future__ import annotations

import time
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from oborona import state_files
from oborona.audit.reader import AuditedAct, AuditQuery, AuditReader
from oborona.audit.row import HASH_BYTES, ActOutcome
from oborona.audit.site_key import audit_key
from oborona.audit.store import ChainEnd
from oborona.desk.call import CALLS, CallError, UndoCall, ask
from oborona.desk.site import Site
from oborona.journal.query import BadQuery, parse_moment
from oborona.people.caller import Caller
from oborona.people.rights import Right

MOST: Final = 100_000


class AuditQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which acts; an empty text is any.

    Args:
        since: from then on: 30m, 2h, 7d, a day, or a time by the clock of the machine.
        until: before that; of a day its end.
        person: as a whole; also as who they were before (su, sudo).
        act: as a whole, or what it begins with before a dot.
        about: a part of what it was about.
        open: those alone that have no end.
        looks: also who looked at whose mail.
        before: numbers below this one; None = from the newest on.
        most: so many.
    """

    since: str = ""
    until: str = ""
    person: str = ""
    act: str = ""
    about: str = ""
    open: bool = False
    looks: bool = False
    before: int | None = None
    most: Annotated[int, Meta(ge=1, le=MOST)] = 50


class FoundActs(msgspec.Struct, frozen=True, kw_only=True):
    """Acts, the newest first.

    Args:
        undoable: numbers of those that the caller may take back by a call.
        more: there are older ones.
        own: only the caller's are shown.
    """

    acts: list[AuditedAct]
    undoable: list[int]
    more: bool
    own: bool


class ChainQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Whether the chain is whole.

    Args:
        anchor: a row that was noted, NUMBER:HASH; it has to be there as it was.
    """

    anchor: str = ""


class CheckedChain(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at every row found.

    Args:
        rows: how many there are.
        first: number of the first; 0 = there is none.
        end: the last, NUMBER:HASH; empty = there is none.
        dropped: rows that retention has dropped.
        unkeyed: rows from before the site had a secret.
        faults: what is wrong, the first twenty.
        more: how many more there are.
    """

    rows: int
    first: int
    end: str
    dropped: int
    unkeyed: int
    faults: list[str]
    more: int


@ask("audit.find", Right.AUDIT, Right.AUDIT_OWN, scoped=True)
def find_acts(site: Site, caller: Caller, asked: AuditQuestion) -> FoundActs:
    """Tell who did what; who may not see all of it, or a part of the site alone, what they did.

    Raises:
        CallError: a time is none.
        StoreError: the log can't be read.
    """
    own = not (caller.may(Right.AUDIT) and caller.scope.whole)
    now = time.time()
    try:
        since = parse_moment(asked.since, now) if asked.since else None
        until = parse_moment(asked.until, now, end=True) if asked.until else None
    except BadQuery as error:
        raise CallError(str(error)) from None
    query = AuditQuery(
        since=since,
        until=until,
        person=_words(asked.person),
        act=_words(asked.act),
        about=_words(asked.about),
        open_only=asked.open,
        looks=asked.looks,
        before=asked.before,
        own=caller.name if own else "",
    )
    path = site.state / state_files.AUDIT
    acts = list[AuditedAct]()
    if path.exists():
        with AuditReader(path) as reader:
            acts = reader.acts(query, asked.most + 1)
    more, acts = len(acts) > asked.most, acts[: asked.most]
    undoable = [act.number for act in acts if _may_undo(caller, act)]
    return FoundActs(acts=acts, undoable=undoable, more=more, own=own)


@ask("audit.verify", Right.AUDIT)
def verify_chain(site: Site, caller: Caller, asked: ChainQuestion) -> CheckedChain:
    """Look at every row: was one changed, removed, or put in between?

    Raises:
        CallError: the anchor is none.
        StoreError: the log can't be read.
    """
    anchor = parse_anchor(asked.anchor) if asked.anchor else None
    with AuditReader(site.state / state_files.AUDIT) as reader:
        report = reader.verify(audit_key(site.state), anchor)
    return CheckedChain(
        rows=report.rows,
        first=report.first,
        end=f"{report.end.number}:{report.end.hash.hex()}" if report.rows else "",
        dropped=report.dropped,
        unkeyed=report.unkeyed,
        faults=list(report.faults),
        more=report.more,
    )


def parse_anchor(text: str) -> ChainEnd:
    """Return the row that NUMBER:HASH names.

    Raises:
        CallError: it names none.
    """
    number, _, digits = text.partition(":")
    try:
        anchor = ChainEnd(int(number), bytes.fromhex(digits))
    except ValueError:
        anchor = ChainEnd(0, b"")
    if anchor.number < 1 or len(anchor.hash) != HASH_BYTES:
        raise CallError("write NUMBER:HASH as `oborona audit verify` prints it")
    return anchor


def _may_undo(caller: Caller, act: AuditedAct) -> bool:
    """Whether a call takes an act back, and the caller may make it."""
    if not act.undo or act.dry or act.outcome not in {ActOutcome.DONE, ActOutcome.PARTLY}:
        return False
    try:
        undo: Any = msgspec.json.decode(act.undo, type=UndoCall)
    except (msgspec.DecodeError, UnicodeError, RecursionError):  # somebody changed it
        return False
    call = CALLS.get(undo.call)
    return (
        call is not None
        and call.acts
        and any(caller.may(right) for right in call.needs)
        and (call.scoped or caller.scope.whole)
    )


def _words(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
