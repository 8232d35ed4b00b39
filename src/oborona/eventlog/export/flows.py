"""The log `flows`: what each own address sent past us, minute by minute, as the flow process keeps
it; a row for each source of a file with so many streams that its window is kept.

Its person is the account that had the address when the row was written, else the address. A row's
id and key follow from its minute, address and file alone: a file of flows that is taken again,
after its store was lost, makes the same rows, and they are told as duplicates.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from oborona.accounts.flows import schema as flows
from oborona.eventlog.export.own_log import plain_text
from oborona.eventlog.export.state_log import StateLog
from oborona.eventlog.ruled_logs import own_schema
from oborona.eventlog.schema import EventRow
from oborona.eventlog.times import microseconds
from oborona.policy import own_event_logs

SCHEMA: Final = own_schema(own_event_logs.FLOWS, threshold=5000.0)  # three addresses, all day

ACCOUNT: Final = "account "
ADDRESS: Final = "address "
FLOW: Final = "flow"
_NUMBERED: Final = 2  # version of the file from which on its windows can be followed
_MOST: Final = (1 << 63) - 1  # of a column; sums of what exporters tell may be anything


class FlowLog(StateLog):
    """Follows the windows of sources, file by file as they were taken."""

    schema = SCHEMA
    kind = flows.SHARED
    last = "SELECT number FROM flow_take WHERE written < ? ORDER BY number DESC LIMIT 1"
    rows = (
        "SELECT window.file, window.start, window.address, take.written, window.packets,"
        " window.octets, window.streams, window.at_once, window.destinations, window.networks,"
        " window.refused, window.sampled, window.account, window.customer, window.state,"
        ' (SELECT group_concat("limit", \' \') FROM (SELECT "limit" FROM flow_excess'
        ' WHERE start = window.start AND address = window.address ORDER BY "limit"))'
        " FROM flow_take AS take JOIN flow_window AS window"
        " ON window.take = take.number AND window.start BETWEEN take.start AND take.until"
        " WHERE take.number > ? AND take.number <= ?"
        " ORDER BY take.number, window.start, window.address"
    )

    @classmethod
    def person_names(cls, name: str) -> tuple[str, ...]:
        """Return the names of an account, and of an address of nobody's."""
        return (f"{ACCOUNT}{name}", f"{ADDRESS}{name}")

    def _last_place(self, db: sqlite3.Connection, after: int, before: float) -> int:
        ((version,),) = db.execute("PRAGMA user_version").fetchall()
        if version < _NUMBERED:  # no flow process has run since an older Oborona
            return after
        return super()._last_place(db, after, before)

    def _event(
        self,
        file: str,
        start: int,
        address: str,
        written: float,
        packets: int,
        octets: int,
        streams: int,
        at_once: int | None,
        destinations: int,
        networks: int | None,
        refused: int,
        sampled: int,
        account: str,
        customer: str,
        state: str,
        limits: str | None,
    ) -> EventRow:
        key = self._hasher.event(FLOW, None, (start, address, file))
        return (
            key,
            microseconds(start),
            FLOW,
            self._person(f"{ACCOUNT}{account}" if account else f"{ADDRESS}{address}"),
            key,
            self._hasher.text(address),
            self._hasher.text(customer) if customer else None,
            state or None,
            streams,
            min(packets, _MOST),
            min(octets, _MOST),
            destinations,
            networks,
            refused,
            at_once,
            bool(sampled),
            plain_text(limits) if limits else None,
            microseconds(written),
        )
