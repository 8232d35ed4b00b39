"""The store of cases: locks on campaigns, and decisions of people about them.

A decision is written down before anything is done for it, and noted as done after: what a process
that was killed has left is found by it, and is done again or taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from oborona.errors import StoreError
from oborona.feedback.cases.schema import SHARED
from oborona.sqlite_file import SharedSqliteFile

MOST_NOTES: Final = 100  # of a campaign that are shown
_COLUMNS: Final = "id, campaign, verdict, by, at, reason, withdrawn, taught, done"
_IDENTS: Final = msgspec.json.Decoder(tuple[int, ...])


class CaseVerdict(StrEnum):
    """What a campaign is."""

    SPAM = "spam"
    GOOD = "good"
    NEWSLETTER = "newsletter"  # who reported it has it in Junk; it is no spam for all


class CaseLock(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody looks at a campaign."""

    by: str
    until: float  # Unix seconds


class CaseNote(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wrote beside a campaign."""

    id: int
    by: str
    at: float  # Unix seconds
    text: str


class CaseDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody has decided of a campaign, and what stands."""

    id: int
    campaign: int
    verdict: CaseVerdict
    by: str
    at: float  # Unix seconds
    reason: str
    withdrawn: tuple[int, ...]  # ids of events that it takes back
    taught: tuple[int, ...]  # ids of events that say what the site taught, once it is done
    done: bool  # False: who did it ended before its end


class CaseStore(SharedSqliteFile):
    """One process's access to the cases; see `SharedSqliteFile`."""

    shared = SHARED

    def take(self, log: bytes, campaign: int, by: str, *, until: float, now: float) -> CaseLock:
        """Lock a campaign, or lock it for longer; return who has it then.

        Args:
            log: origin of the log of events.
            campaign: its number there.
            by: who looks at it.
            until: Unix seconds.
            now: Unix seconds.
        """
        with self.transaction() as db:
            db.execute("DELETE FROM lock WHERE until <= ?", (now,))
            db.execute(
                "INSERT INTO lock VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET until = excluded.until"
                " WHERE by = excluded.by",
                (log, campaign, by, until),
            )
            row = db.execute(
                "SELECT by, until FROM lock WHERE log = ? AND campaign = ?", (log, campaign)
            ).fetchone()
        return CaseLock(by=row[0], until=row[1])

    def give_back(self, log: bytes, campaign: int, by: str) -> bool:
        """Give up one's own lock; return whether there was one."""
        with self.transaction() as db:
            return (
                db.execute(
                    "DELETE FROM lock WHERE log = ? AND campaign = ? AND by = ?",
                    (log, campaign, by),
                ).rowcount
                > 0
            )

    def locks(self, log: bytes, now: float) -> dict[int, CaseLock]:
        """Return who looks at which campaigns at Unix time `now`."""
        rows = self.rows(
            "SELECT campaign, by, until FROM lock WHERE log = ? AND until > ?", (log, now)
        )
        return {campaign: CaseLock(by=by, until=until) for campaign, by, until in rows}

    def snooze(
        self, log: bytes, campaign: int, by: str, *, until: float, now: float
    ) -> CaseLock | None:
        """Put a campaign off, or wake it; return who had put it off until when.

        Args:
            log: origin of the log of events.
            campaign: its number there.
            by: who does.
            until: Unix seconds; not after `now`: it is woken.
            now: Unix seconds.
        """
        before = self.snoozed(log, now).get(campaign)
        with self.transaction() as db:
            db.execute(
                "DELETE FROM snooze WHERE until <= ? OR (log = ? AND campaign = ?)",
                (now, log, campaign),
            )
            if until > now:
                db.execute("INSERT INTO snooze VALUES (?, ?, ?, ?)", (log, campaign, by, until))
        return before

    def snoozed(self, log: bytes, now: float) -> dict[int, CaseLock]:
        """Return which campaigns are put off at Unix time `now`, by whom and until when."""
        rows = self.rows(
            "SELECT campaign, by, until FROM snooze WHERE log = ? AND until > ?", (log, now)
        )
        return {campaign: CaseLock(by=by, until=until) for campaign, by, until in rows}

    def note(self, log: bytes, campaign: int, by: str, text: str, *, now: float) -> None:
        """Write something beside a campaign."""
        with self.transaction() as db:
            db.execute(
                "INSERT INTO note (log, campaign, by, at, text) VALUES (?, ?, ?, ?, ?)",
                (log, campaign, by, now, text),
            )

    def notes(self, log: bytes, campaign: int) -> list[CaseNote]:
        """Return the last notes of a campaign, in order."""
        rows = self.rows(
            "SELECT id, by, at, text FROM note WHERE log = ? AND campaign = ? ORDER BY id DESC"
            " LIMIT ?",
            (log, campaign, MOST_NOTES),
        )
        return [
            CaseNote(id=ident, by=by, at=at, text=text) for ident, by, at, text in reversed(rows)
        ]

    def decisions(self, log: bytes) -> dict[int, CaseDecision]:
        """Return the decisions that stand, by the number of their campaign."""
        rows = self.rows(
            f"SELECT {_COLUMNS} FROM decision WHERE log = ? AND undone_at = 0",  # noqa: S608 - a literal
            (log,),
        )
        return {decision.campaign: decision for decision in map(_decision, rows)}

    def begin(
        self,
        log: bytes,
        campaign: int,
        verdict: CaseVerdict,
        *,
        by: str,
        reason: str,
        withdrawn: Sequence[int],
        now: float,
    ) -> CaseDecision:
        """Write down what is decided, before anything is done for it.

        Args:
            log: origin of the log of events.
            campaign: its number there.
            verdict: what it is.
            by: who decides.
            reason: why.
            withdrawn: ids of events that are taken back for it.
            now: Unix seconds.

        Raises:
            StoreError: a decision of it stands.
        """
        values = (
            log,
            campaign,
            verdict,
            by,
            now,
            reason,
            msgspec.json.encode(list(withdrawn)).decode(),
        )
        with self.transaction() as db:
            row = db.execute(
                "INSERT INTO decision (log, campaign, verdict, by, at, reason, withdrawn)"  # noqa: S608 - a literal
                f" VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING {_COLUMNS}",
                values,
            ).fetchone()
        if row is None:
            raise StoreError(f"campaign {campaign} was decided by somebody else meanwhile")
        return _decision(row)

    def note_done(self, decision: int, taught: Sequence[int]) -> None:
        """Note that all is done that a decision was to do.

        Args:
            decision: its id.
            taught: ids of events that say what the site taught.
        """
        said = msgspec.json.encode(list(taught)).decode()
        with self.transaction() as db:
            db.execute("UPDATE decision SET done = 1, taught = ? WHERE id = ?", (said, decision))

    def note_undone(self, decision: int, *, by: str, now: float) -> None:
        """Note that a decision is taken back."""
        with self.transaction() as db:
            db.execute(
                "UPDATE decision SET undone_by = ?, undone_at = ? WHERE id = ? AND undone_at = 0",
                (by, now, decision),
            )


def _decision(row: tuple[Any, ...]) -> CaseDecision:
    ident, campaign, verdict, by, at, reason, withdrawn, taught, done = row
    try:
        return CaseDecision(
            id=ident,
            campaign=campaign,
            verdict=CaseVerdict(verdict),
            by=by,
            at=at,
            reason=reason,
            withdrawn=_IDENTS.decode(withdrawn),
            taught=_IDENTS.decode(taught),
            done=bool(done),
        )
    except (ValueError, msgspec.DecodeError) as error:
        raise StoreError(f"a decision of campaign {campaign} is damaged: {error}") from error
