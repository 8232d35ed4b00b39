"""A site whose journal has two messages, of which people and a trap have spoken, for tests of
calls; and callers.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from oborona import secret, state_files
from oborona.cli.context import SHIPPED
from oborona.daemon.state import prepare_state
from oborona.desk import calls
from oborona.desk.call import CALLS
from oborona.desk.configured_site import SiteSource
from oborona.desk.site import Site
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.feedback.processing.event_decision import decide_event
from oborona.feedback.processing.event_message import EventMessage, message_digest
from oborona.feedback.processing.ports import JournaledMessage
from oborona.ident import from_text
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.people.caller import Caller, CallWay, Scope, with_roles
from oborona.people.rights import Role
from oborona.types import Action
from tests.cli.journaled import LINKS, LOTTERY, LUNCH, journal, policy

ANN, BOB, EVE = "ann@a.example", "bob@b.example", "eve@e.example"
assert calls.__doc__


def caller(
    role: Role = Role.ADMIN, domains: Sequence[str] | None = None, name: str = "anna"
) -> Caller:
    """Return somebody with a role, and with a scope where domains are named."""
    scope = Scope(None if domains is None else frozenset(domains))
    return with_roles(
        name, frozenset({role}), scope, way=CallWay.PAGE, source="", place="192.0.2.1"
    )


class SpokenSite:
    """The site, and what calls of it answer.

    Args:
        folder: that is empty.
        more: rules beside that of links.
    """

    def __init__(self, folder: Path, more: Sequence[str] = ()) -> None:
        self.state = folder / "state"
        rules = policy(folder / "policy", LINKS, *more)
        prepare_state(self.state)
        key = secret.load(self.state).shingles
        self.lunch, self.lottery = journal(self.state, rules, [LUNCH, LOTTERY], key=key)
        self.notices: list[str] = []
        overrides = {"paths.state": str(self.state), "paths.policy": str(rules)}
        self.site = Site(SiteSource(SHIPPED, overrides), self.notices.append)

    def say(
        self, ident: str, person: str, kind: EventKind, *, raw: bytes = b"", decided: bool = True
    ) -> int:
        """Write down what somebody said of a message, and decide it; return the event's id."""
        entry, now = self.entry(ident), time.time()
        # what was let in is no pardon
        verdict = Action.SPAM if kind is EventKind.PARDON else Action.ACCEPT
        event = FeedbackEvent(
            what=kind,
            way=EventChannel.TRAP if kind is EventKind.TRAP else EventChannel.SIEVE,
            time=now,
            person=person,
            ident=entry.id,
            message_id=entry.message_id,
            raw=raw,
        )
        about = EventMessage(
            message=message_digest(str(entry.id)),
            signed=True,
            known=JournaledMessage(
                id=entry.id, time=entry.time, verdict=verdict, recipients=frozenset((person,))
            ),
            pieces=entry.shingles,
        )
        with EventLog(self.state / state_files.EVENTS) as log:
            (receipt,) = log.add([event], now=now)
            if decided:
                with log.transaction() as db:
                    decide_event(db, log.get(receipt.id), about, asked_for=False, now=now)
        return receipt.id

    def entry(self, ident: str) -> JournalEntry:
        """Return a message of the journal."""
        number = from_text(ident)
        assert number is not None

        async def read() -> JournalEntry | None:
            async with await JournalReader.open(self.state / state_files.JOURNAL) as reader:
                return await reader.get(number)

        entry = asyncio.run(read())
        assert entry is not None
        return entry

    def ask(self, name: str, who: Caller | None = None, /, **asked: Any) -> Any:
        """Make a call as the API would: by JSON there and back."""
        call = CALLS[name]
        order = msgspec.json.decode(msgspec.json.encode(asked), type=call.asked)
        answer = call.function(self.site, who or caller(), order)
        return msgspec.json.decode(msgspec.json.encode(answer))

    def stores(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return all rows of the stores that acts write."""
        rows: dict[str, list[tuple[Any, ...]]] = {}
        for path in sorted(self.state.glob("*.db")):
            with closing(sqlite3.connect(path)) as db:
                for (table,) in db.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
                ).fetchall():
                    rows[f"{path.name} {table}"] = db.execute(f"SELECT * FROM {table}").fetchall()
        return rows
