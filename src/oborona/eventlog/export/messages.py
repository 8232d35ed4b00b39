"""The log `messages`: every message that was delivered, from the journal.

Who sent it is told by a name that was proved: the login of one of our own people, else the author
whom authentication proved; else by the network of the client.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final

import msgspec

from oborona.client_network import client_network
from oborona.eventlog.export.own_log import OwnLog, plain_text
from oborona.eventlog.ruled_logs import own_schema
from oborona.eventlog.schema import EventRow
from oborona.eventlog.times import microseconds
from oborona.ident import first_id_at
from oborona.journal import schema as journal
from oborona.journal.fact_rows import unpack_facts
from oborona.journal.texts import from_json, unpack_text
from oborona.policy import own_event_logs
from oborona.types import RuleHit

SCHEMA: Final = own_schema(own_event_logs.MESSAGES, threshold=5000.0)

AUTHOR: Final = "author"
OUTGOING: Final = "outgoing"
"""Facts of a message: who proved to have written it, and whether one of ours did."""
_HITS: Final = msgspec.json.Decoder(tuple[RuleHit, ...])
_TEXTS: Final = msgspec.json.Decoder(tuple[str, ...])
_ARRIVALS: Final = (
    "SELECT a.place, v.id, v.time, v.verdict, v.score, v.decided_by, v.partial, v.policy_version,"
    " v.size, v.recipients, v.client_ip, v.login, v.rules, e.facts, n.names"
    " FROM arrival a JOIN verdict v ON v.id = a.id LEFT JOIN evidence e ON e.id = a.id"
    " LEFT JOIN names n ON n.id = e.shape"
    " WHERE a.place > ? AND a.place <= ? AND a.late = 0 ORDER BY a.place"
)


class MessageLog(OwnLog):
    """Follows the messages that were delivered."""

    schema = SCHEMA

    @classmethod
    def person_names(cls, name: str) -> tuple[str, ...]:
        """Return the names of an account, an author, and a network."""
        return (f"account {name}", f"author {name}", f"network {name}")

    def _open(self) -> sqlite3.Connection:
        return journal.open_reader(self._path)

    def _origin(self, db: sqlite3.Connection) -> str:
        return ""  # places of a journal that is begun anew lie above all of the old one's

    def _last_place(self, db: sqlite3.Connection, after: int, before: float) -> int:
        # By id, which carries the time: what was written down late, after its process had died,
        # has an early id and a late place, and is taken in the slot in which it is met.
        found = db.execute(
            "SELECT place FROM arrival WHERE place > ? AND id < ? AND late = 0"
            " ORDER BY place DESC LIMIT 1",
            (after, first_id_at(before)),
        ).fetchone()
        return after if found is None else int(found[0])

    def _rows(self, db: sqlite3.Connection, after: int, last: int) -> Iterable[EventRow]:
        for row in db.execute(_ARRIVALS, (after, last)):
            yield self._event(*row)

    def _event(
        self,
        place: int,
        number: int,
        time: float,
        verdict: str,
        score: float,
        decided_by: str,
        partial: int,
        policy: str,
        size: int,
        recipients: str | bytes,
        client_ip: str | bytes,
        login: str | bytes,
        rules: str | bytes,
        facts: str | bytes | None,
        names: str | bytes | None,
    ) -> EventRow:
        known = {} if facts is None else unpack_facts(facts, names)
        account, ip = unpack_text(login), unpack_text(client_ip)
        author = str(known.get(AUTHOR) or "")
        network = client_network(ip) if ip else ""
        name = (
            f"account {account}"
            if account
            else f"author {author}"
            if author
            else f"network {network}"
            if network
            else ""
        )
        return (
            place,
            microseconds(time),
            "message",
            self._hasher.person(name),
            None,  # a message is one event, and its id is its own
            number,
            verdict,
            score,
            plain_text(decided_by),
            bool(partial),
            plain_text(policy),
            size,
            len(from_json(recipients, _TEXTS)),
            bool(account) or bool(known.get(OUTGOING)),
            self._hasher.text(ip) if ip else None,
            plain_text(" ".join(hit.name for hit in from_json(rules, _HITS))),
        )
