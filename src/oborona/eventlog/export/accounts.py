"""The logs `deeds` and `incidents`: what people did to accounts, and which of them went over a
limit. Their person is the account.
"""

from __future__ import annotations

from typing import Final

from oborona.accounts.store import schema as accounts
from oborona.eventlog.export.own_log import plain_text
from oborona.eventlog.export.state_log import StateLog
from oborona.eventlog.ruled_logs import own_schema
from oborona.eventlog.schema import EventRow
from oborona.eventlog.times import microseconds
from oborona.policy import own_event_logs

DEEDS: Final = own_schema(own_event_logs.DEEDS, threshold=100.0)
INCIDENTS: Final = own_schema(own_event_logs.INCIDENTS, threshold=100.0)


class DeedLog(StateLog):
    """Follows what people did to accounts: imports and bans, trust and its end."""

    schema = DEEDS
    kind = accounts.SHARED
    person_prefix = "account "
    last = "SELECT id FROM deed WHERE at < ? ORDER BY id DESC LIMIT 1"
    rows = "SELECT id, at, what, account, by, until FROM deed WHERE id > ? AND id <= ? ORDER BY id"

    def _event(
        self, number: int, at: float, what: str, account: str, by: str, until: float
    ) -> EventRow:
        return (
            number,
            microseconds(at),
            plain_text(what),
            self._person(account),
            None,
            plain_text(by),
            microseconds(until) if until else None,
        )


class IncidentLog(StateLog):
    """Follows the incidents, each once, as it was when it was opened or some minutes later."""

    schema = INCIDENTS
    kind = accounts.SHARED
    person_prefix = "account "
    last = "SELECT id FROM incident WHERE opened < ? ORDER BY opened DESC, id DESC LIMIT 1"
    rows = (
        'SELECT id, opened, account, "limit", metric, "window", value, most, rating, line, address'
        " FROM incident WHERE id > ? AND id <= ? ORDER BY id"
    )

    def _event(
        self,
        number: int,
        opened: float,
        account: str,
        limit: str,
        metric: str,
        window: str,
        value: float,
        most: float,
        rating: int,
        line: str,
        address: str,
    ) -> EventRow:
        return (
            number,
            microseconds(opened),
            "incident",
            self._person(account),
            None,
            plain_text(limit),
            plain_text(metric),
            plain_text(window),
            value,
            most,
            rating,
            plain_text(line),
            self._hasher.text(address) if address else None,
        )
