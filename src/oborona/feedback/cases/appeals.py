"""Appeals of senders: one a refusal, kept for ninety days, with the answer that they read.

How many are taken is bounded here, whoever asks: so many a day of the site, and of one domain.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from oborona.errors import StoreError
from oborona.feedback.cases.schema import SHARED
from oborona.sqlite_file import SharedSqliteFile

KEPT_S: Final = 90 * 86_400.0
PERIOD_S: Final = 86_400.0
MOST_OF_SITE: Final = 200  # that are taken within a period: 18,000 are kept at most
MOST_OF_DOMAIN: Final = 10
MOST_TEXT: Final = 1_000  # characters of an appeal, and of its answer
_COLUMNS: Final = (
    "id, reference, address, domain, refused, put_off, reasons, at, text, state, words, by,"
    " answered"
)


class AppealState(StrEnum):
    """What became of an appeal."""

    WAITING = "waiting"
    PARDONED = "pardoned"  # the refusal was a mistake
    DECLINED = "declined"


class RefusalReason(StrEnum):
    """Why mail was refused, as a sender is told: a kind, never a rule."""

    LISTED = "listed"  # the client is on a list, or known for spam
    SITE_LIST = "site-list"  # the site itself wants no mail from there
    SENDER = "sender"  # SPF, DKIM or DMARC does not bear the sender out
    NAME = "name"  # of the client, or of its HELO
    CONTENT = "content"
    ACCOUNT = "account"  # of ours, banned or limited
    LIMIT = "limit"
    GREYLISTED = "greylisted"
    BUSY = "busy"
    FORM = "form"  # too many headers


class Appeal(msgspec.Struct, frozen=True, kw_only=True):
    """An appeal, and its answer.

    Args:
        id: its number.
        reference: of the refusal.
        address: who the sender says to be.
        domain: of the refused mail's envelope.
        refused: when, Unix seconds.
        put_off: it was refused for a while.
        reasons: why, by kinds.
        at: when the sender wrote, Unix seconds.
        text: what.
        state: what became of it.
        words: to the sender.
        by: who answered.
        answered: when, Unix seconds; 0 = nobody has.
    """

    id: int
    reference: int
    address: str
    domain: str
    refused: float
    put_off: bool
    reasons: tuple[RefusalReason, ...]
    at: float
    text: str
    state: AppealState = AppealState.WAITING
    words: str = ""
    by: str = ""
    answered: float = 0.0


class AppealBook(SharedSqliteFile):
    """One process's access to the appeals, in the file of cases; see `SharedSqliteFile`."""

    shared = SHARED

    def take(self, appeal: Appeal) -> bool:
        """Keep an appeal, unless there is one against the same refusal.

        Args:
            appeal: its number is given here.

        Returns:
            False = too many came within a day.
        """
        with self.transaction() as db:
            db.execute("DELETE FROM appeal WHERE at < ?", (appeal.at - KEPT_S,))
            if self.of(appeal.reference) is not None:
                return True
            of_site, of_domain = db.execute(
                "SELECT count(*), ifnull(sum(domain = ?), 0) FROM appeal WHERE at > ?",
                (appeal.domain, appeal.at - PERIOD_S),
            ).fetchone()
            if of_site >= MOST_OF_SITE or of_domain >= MOST_OF_DOMAIN:
                return False
            db.execute(
                "INSERT INTO appeal (reference, address, domain, refused, put_off, reasons, at,"
                " text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    appeal.reference,
                    appeal.address,
                    appeal.domain,
                    appeal.refused,
                    appeal.put_off,
                    " ".join(appeal.reasons),
                    appeal.at,
                    appeal.text,
                ),
            )
        return True

    def of(self, reference: int) -> Appeal | None:
        """Return the appeal against a refusal; None = there is none."""
        return self._one("reference = ?", reference)

    def named(self, ident: int) -> Appeal | None:
        """Return the appeal of a number; None = there is none."""
        return self._one("id = ?", ident)

    def waiting(self) -> int:
        """Return how many wait for an answer."""
        return int(self.rows("SELECT count(*) FROM appeal WHERE state = 'waiting'")[0][0])

    def all(self, *, waiting: bool, after: int, most: int) -> list[Appeal]:
        """Return appeals: those that wait in the order in which they came, or all, newest first.

        Args:
            waiting: those alone.
            after: how many to leave out.
            most: at most so many.
        """
        which = "WHERE state = 'waiting' ORDER BY id" if waiting else "ORDER BY id DESC"
        sql = f"SELECT {_COLUMNS} FROM appeal {which} LIMIT ? OFFSET ?"  # noqa: S608 - our own words
        return [_appeal(row) for row in self.rows(sql, (most, after))]

    def answer(
        self, ident: int, state: AppealState, words: str, *, by: str, now: float
    ) -> Appeal | None:
        """Answer an appeal that waits, or have it wait again; return it as it was before.

        Args:
            ident: its number.
            state: what becomes of it.
            words: to the sender.
            by: who answers.
            now: Unix seconds.

        Returns:
            None = there is none, or it was answered meanwhile.
        """
        reopens = state is AppealState.WAITING
        with self.transaction() as db:
            before = self.named(ident)
            if before is None or (before.state is AppealState.WAITING) is reopens:
                return None
            values = (state, "", "", 0.0) if reopens else (state, words, by, now)
            db.execute(
                "UPDATE appeal SET state = ?, words = ?, by = ?, answered = ? WHERE id = ?",
                (*values, ident),
            )
        return before

    def _one(self, where: str, value: int) -> Appeal | None:
        found = self.rows(f"SELECT {_COLUMNS} FROM appeal WHERE {where}", (value,))  # noqa: S608 - our own words
        return _appeal(found[0]) if found else None


def _appeal(row: tuple[Any, ...]) -> Appeal:
    fields = dict(zip(_COLUMNS.split(", "), row, strict=True))
    known = {str(one) for one in RefusalReason}
    fields["reasons"] = [one for one in str(fields["reasons"]).split() if one in known]
    fields["put_off"] = bool(fields["put_off"])
    try:
        return msgspec.convert(fields, Appeal)
    except msgspec.ValidationError as error:
        raise StoreError(f"appeal {row[0]} is damaged: {error}") from error
