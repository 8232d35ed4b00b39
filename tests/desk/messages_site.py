"""A site with a journal, for tests of asks about messages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oborona import state_files
from oborona.cli.context import SHIPPED
from oborona.desk.configured_site import SiteSource
from oborona.desk.site import Site
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.ident import JournalIdGenerator, to_text
from oborona.journal import schema
from oborona.journal.entry import CopyDelivery, JournalEntry, LateFindings
from oborona.journal.journal import JournalWriter
from oborona.journal.refusal import Refusal
from oborona.people.caller import Caller, CallWay, Scope, caller_at_terminal
from oborona.people.rights import ROLE_RIGHTS, Right, Role
from oborona.recheck.moves import MoveDecision, MoveState, MoveStore
from oborona.types import Action
from tests.cli.journaled import LINES
from tests.journal.entries import make_entry
from tests.policy.models.final.made import leave_to_rules

TERMINAL = caller_at_terminal("root", "uid=root", "mx")
JOE, EVE, DAN = "joe@example.test", "eve@example.test", "dan@other.test"


def make_site(folder: Path, rules: str = "", **settings: str) -> Site:
    """Return a site whose state is below a folder; its notices are in `site.notices`."""
    policy = folder / "policy"
    policy.mkdir(parents=True, exist_ok=True)
    (policy / "10.toml").write_text(LINES + rules)
    state = folder / "state"
    state.mkdir(exist_ok=True)
    notices: list[str] = []
    overrides = {
        "paths.state": str(state),
        "paths.policy": str(policy),
        "paths.shipped_policy": "none",
        **{name.replace("__", "."): value for name, value in settings.items()},
    }
    leave_to_rules(state)
    site = Site(SiteSource(SHIPPED, overrides), notices.append)
    site.notices = notices  # type: ignore[attr-defined]
    return site


def scoped(*addresses: str, domains: Sequence[str] = (), role: Role = Role.ANALYST) -> Caller:
    """Return somebody who sees some addresses and domains alone, as the API knows them."""
    return Caller(
        name="anna",
        roles=frozenset({role}),
        rights=ROLE_RIGHTS[role] | {Right.OWN},
        scope=Scope(domains=frozenset(domains), addresses=frozenset(addresses)),
        way=CallWay.PAGE,
    )


def fill(
    site: Site,
    *entries: JournalEntry,
    refusals: Sequence[Refusal] = (),
    late: Sequence[LateFindings] = (),
    went: Sequence[CopyDelivery] = (),
) -> list[str]:
    """Write a journal; return the references of refusals as they were told."""

    async def write() -> list[str]:
        path = site.state / state_files.JOURNAL
        schema.prepare(path)
        async with await JournalWriter.open(path) as journal:
            for entry in entries:
                journal.append(entry)
            for found in late:
                journal.append_late(found)
            for copy in went:
                journal.append_went(copy)
            return [to_text(journal.take(one)) for one in refusals]

    return asyncio.run(write())


def entry_of(ago_s: float = 600, **changes: Any) -> JournalEntry:
    """Return an entry of some seconds ago."""
    when = time.time() - ago_s
    ident = JournalIdGenerator(253).next(when)  # a generator never goes back
    return make_entry(**{"id": ident, "time": when, **changes})


def late_of(entry: JournalEntry) -> LateFindings:
    """Return what was found late in a message."""
    return LateFindings(
        id=entry.id,
        time=entry.time + 60,
        before=entry.verdict,
        score_before=entry.score,
        verdict=Action.REJECT,
        score=210,
        line=200,
        decided_by="PICTURE",
    )


def say(site: Site, entry: JournalEntry, *persons: str) -> None:
    """Have persons say that a message is no spam, a minute after it."""
    with EventLog(site.state / state_files.EVENTS) as log:
        events = [
            FeedbackEvent(
                what=EventKind.PARDON,
                way=EventChannel.SIEVE,
                time=entry.time + 60,
                person=person,
                ident=entry.id,
                mailbox="INBOX",
            )
            for person in persons
        ]
        log.add(events, now=entry.time + 61)


def move(
    site: Site, entry: JournalEntry, *recipients: str, to: str = "INBOX", undo: bool = False
) -> None:
    """Have copies of a message moved, and asked back."""
    with MoveStore(site.state / state_files.MOVES) as moves:
        decisions = [
            MoveDecision(
                message=entry.id,
                recipient=recipient,
                source="Junk" if to == "INBOX" else "INBOX",
                target=to,
                why=f"MASS_TEXT: of {recipient}",
                score=62,
                line=100,
                event="pardon",
            )
            for recipient in recipients
        ]
        ids = moves.decide(decisions, now=entry.time + 120)
        moves.issue(ids, now=entry.time + 130)
        for ident in ids:
            moves.settle(ident, MoveState.DONE, now=entry.time + 140)
        if undo:
            moves.undo(ids, now=entry.time + 150)
