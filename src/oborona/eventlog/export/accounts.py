"""The logs `deeds` and `incidents`: what people did to accounts, and which of them went over a
limit. Their person is the account.
"""

from __future__ import annotations

from typing import Final

from oborona.accounts.store import schema as accounts
from oborona.eventlog.export.own_log import plain_text
from oborona.eventlog.export.state_log import StateLog
from oborona.eventlog.schema import ColumnKind, EventRow, LogColumn, LogSchema
from oborona.eventlog.times import microseconds

DEEDS: Final = LogSchema(
    name="deeds",
    columns=(
        LogColumn("by", ColumnKind.TEXT),  # a person, or a program
        LogColumn("until", ColumnKind.TIME),  # null = for ever
    ),
    threshold=100.0,
)
INCIDENTS: Final = LogSchema(
    name="incidents",
    columns=(
        LogColumn("limit", ColumnKind.TEXT),
        LogColumn("metric", ColumnKind.TEXT),
        LogColumn("window", ColumnKind.TEXT),
        LogColumn("value", ColumnKind.NUMBER),
        LogColumn("most", ColumnKind.NUMBER),  # what the limit allows
        LogColumn("rating", ColumnKind.INTEGER),  # of the account
        LogColumn("line", ColumnKind.TEXT),  # trusted, confident, duty, ban
        LogColumn("address", ColumnKind.HASHED),
    ),
    threshold=100.0,
)


def _names(account: str) -> tuple[str, ...]:
    return (f"account {account}",)


class DeedLog(StateLog):
    """Follows what people did to accounts: imports and bans, trust and its end."""

    schema = DEEDS
    kind = accounts.SHARED
    last = "SELECT id FROM deed WHERE at < ? ORDER BY id DESC LIMIT 1"
    rows = "SELECT id, at, what, account, by, until FROM deed WHERE id > ? AND id <= ? ORDER BY id"

    @staticmethod
    def person_names(name: str) -> tuple[str, ...]:
        """Return the name of an account."""
        return _names(name)

    def _event(
        self, number: int, at: float, what: str, account: str, by: str, until: float
    ) -> EventRow:
        return (
            number,
            microseconds(at),
            plain_text(what),
            self._hasher.person(*_names(account)),
            None,
            plain_text(by),
            microseconds(until) if until else None,
        )


class IncidentLog(StateLog):
    """Follows the incidents, each once, as it was when it was opened or some minutes later."""

    schema = INCIDENTS
    kind = accounts.SHARED
    last = "SELECT id FROM incident WHERE opened < ? ORDER BY opened DESC, id DESC LIMIT 1"
    rows = (
        'SELECT id, opened, account, "limit", metric, "window", value, most, rating, line, address'
        " FROM incident WHERE id > ? AND id <= ? ORDER BY id"
    )

    @staticmethod
    def person_names(name: str) -> tuple[str, ...]:
        """Return the name of an account."""
        return _names(name)

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
            self._hasher.person(*_names(account)),
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
