"""Incidents in the file of accounts, and the actions that follow: both in one transaction."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from oborona.accounts.account import Account, AccountBlock, AccountState
from oborona.accounts.excess import STRANGERS_DO, WINDOWS_S, Excess
from oborona.accounts.incidents.incident import (
    ActionKind,
    ActionState,
    Incident,
    IncidentAction,
    IncidentVerdict,
)
from oborona.accounts.inspector.decision import IncidentLine, InspectorDecision
from oborona.accounts.store.accounts import AccountStore
from oborona.errors import StoreError

WEEK_S: Final = 7 * 86_400.0
HOUR_S: Final = 3600.0
MOST_EVIDENCE: Final = 16_384  # octets of JSON; what is larger is left out
MOST_IDENTS: Final = 20
INSPECTOR: Final = "inspector"
_STRANGERS_DO: Final = msgspec.json.encode(sorted(STRANGERS_DO)).decode()
INCIDENT_COLUMNS: Final = ", ".join(f'"{name}"' for name in Incident.__struct_fields__)
_ACTION_COLUMNS: Final = ", ".join(IncidentAction.__struct_fields__)
_OF_STATE: Final = (ActionKind.HOOK, ActionKind.COMMAND)  # whatever made it
_STATE_OF: Final = {AccountState.BANNED: ActionKind.BAN, AccountState.LIMITED: ActionKind.LIMIT}


class IncidentStore(AccountStore):
    """One process's access to the file of accounts, with the incidents in it."""

    def joined(self, excess: Excess, account: str, *, times: int = 1) -> int | None:
        """Add an excess to the open incident of its limit that it belongs to.

        Args:
            excess: the latest of them.
            account: whose.
            times: how many there were.

        Returns:
            The incident's id; None: there is none within the window.
        """
        with self.transaction():
            return self._join(excess, account, times)

    def open_incident(
        self,
        excess: Excess,
        account: Account,
        decision: InspectorDecision,
        *,
        rating: int,
        say: str,
        told: str,
        shadow: bool,
        second_at: float,
        now: float,
    ) -> int:
        """Write down an incident with all that follows from it: all or nothing.

        Args:
            excess: that opens it.
            account: whose.
            decision: of the inspector.
            rating: of the account, now.
            say: what was decided, in words.
            told: what the sender is told, where he is stopped.
            shadow: nothing is done.
            second_at: Unix seconds, when the second line is told.
            now: Unix seconds.

        Returns:
            Its id.
        """
        with self.changing():
            known = self._join(excess, account.id)  # another process was faster
            if known is not None:
                return known
            ident = self._insert(excess, account.id, decision.line, rating, say)
            kind = _STATE_OF.get(decision.state)
            if kind is not None:
                block = AccountBlock(
                    account=account.id,
                    state=decision.state,
                    until=decision.until,
                    why=told,
                    by=INSPECTOR,
                    incident=ident,
                )
                done = ActionState.SHADOW
                if not shadow:
                    done = ActionState.SKIPPED
                    if self._is_harder(block, now):
                        self._block(block, now)
                        done = ActionState.DONE
                self._act(ident, kind, account.id, done, now)
            if decision.alert:  # in shadow, too: people shall see what would be done
                self._act(ident, ActionKind.ALERT, account.id, ActionState.WANTED, now)
                self._act(ident, ActionKind.SECOND, account.id, ActionState.WANTED, now, second_at)
            return ident

    def counts(self, account: str, now: float) -> tuple[int, int]:
        """Return the incidents of an account that the duty had in a week, for what it did itself,
        and the accounts that were banned within an hour, or would have been.
        """
        ((week,),) = self.rows(
            "SELECT count(*) FROM incident WHERE account = ? AND line = 'duty' AND opened > ?"
            " AND metric NOT IN (SELECT value FROM json_each(?))",
            (account, now - WEEK_S, _STRANGERS_DO),
        )
        ((bans,),) = self.rows(
            "SELECT count(*) FROM action WHERE kind = 'ban' AND state IN ('done', 'shadow')"
            " AND wanted_at > ?",
            (now - HOUR_S,),
        )
        return week, bans

    def judged(self, file: str) -> int:
        """Return how many octets of a file of excesses were judged."""
        rows = self.rows("SELECT place FROM handover WHERE file = ?", (file,))
        return int(rows[0][0]) if rows else 0

    def note_judged(self, file: str, place: int) -> None:
        """Note how many octets of a file of excesses were judged; this machine's other files are
        forgotten.
        """
        with self.transaction() as db:
            db.execute("DELETE FROM handover WHERE machine = ? OR file = ?", (self.machine, file))
            db.execute(
                "INSERT INTO handover (file, place, machine) VALUES (?, ?, ?)",
                (file, place, self.machine),
            )

    def incident(self, ident: int) -> Incident | None:
        """Return an incident; None: there is none."""
        found = self._incidents("WHERE id = ?", (ident,))
        return found[0] if found else None

    def incidents(
        self,
        *,
        account: str | None = None,
        customer: str | None = None,
        closed: bool | None = None,
        before: int | None = None,
        most: int = -1,
    ) -> list[Incident]:
        """Return incidents, the latest first.

        Args:
            account: only its.
            customer: only those of accounts that are his now.
            closed: only those that are closed, or only those that are not.
            before: only those whose ids come before it.
            most: at most so many; -1 = all.
        """
        wanted: list[str] = []
        values: list[Any] = []
        if closed is not None:
            wanted.append("verdict <> ''" if closed else "verdict = ''")
        if account is not None:
            wanted.append("account = ?")
            values.append(account)
        if customer is not None:
            wanted.append("account IN (SELECT id FROM account WHERE customer = ?)")
            values.append(customer)
        if before is not None:
            wanted.append("id < ?")
            values.append(before)
        where = f"WHERE {' AND '.join(wanted)} " if wanted else ""
        return self._incidents(f"{where}ORDER BY id DESC LIMIT ?", (*values, most))

    def after(self, ident: int) -> list[Incident]:
        """Return the incidents that were opened after another, in their order."""
        return self._incidents("WHERE id > ? ORDER BY id", (ident,))

    def actions(self, incident: int) -> list[IncidentAction]:
        """Return the actions of an incident, in their order."""
        return self._actions("WHERE incident = ? ORDER BY id", (incident,))

    def wanted(self) -> list[IncidentAction]:
        """Return the actions that are to be done, in their order."""
        return self._actions("WHERE state = 'wanted' ORDER BY id", ())

    def done(self, action: int, now: float) -> None:
        """Note that an action is done."""
        with self.transaction() as db:
            db.execute(
                "UPDATE action SET state = 'done', done_at = ? WHERE id = ? AND state = 'wanted'",
                (now, action),
            )

    def failed(self, action: int, answer: str, *, retry_at: float) -> None:
        """Note that an attempt at an action failed, and when it is tried again, Unix seconds."""
        with self.transaction() as db:
            db.execute(
                "UPDATE action SET attempts = attempts + 1, answer = ?, retry_at = ?"
                " WHERE id = ? AND state = 'wanted'",
                (answer, retry_at, action),
            )

    def skip(self, action: int) -> None:
        """Note that nobody is to be told of an action."""
        with self.transaction() as db:
            db.execute(
                "UPDATE action SET state = 'skipped' WHERE id = ? AND state = 'wanted'", (action,)
            )

    def take(self, ident: int, by: str) -> None:
        """Note who looks after an incident.

        Raises:
            StoreError: it is closed, or there is none.
        """
        with self.transaction() as db:
            changed = db.execute(
                "UPDATE incident SET taken_by = ? WHERE id = ? AND verdict = ''", (by, ident)
            ).rowcount
        if not changed:
            raise StoreError(f"incident {ident} is closed, or there is none")

    def close_incident(
        self, ident: int, verdict: IncidentVerdict, *, by: str, note: str, now: float
    ) -> None:
        """Note what a person says of an incident; one that was no spam stops its account no more.

        Raises:
            StoreError: there is none.
        """
        with self.changing():
            changed = self._db.execute(
                "UPDATE incident SET verdict = ?, verdict_by = ?, closed = ?, note = ?"
                " WHERE id = ?",
                (verdict, by, now, note, ident),
            ).rowcount
            if not changed:
                raise StoreError(f"there is no incident {ident}")
            if verdict is IncidentVerdict.NOT_SPAM:
                self._undo(ident, by, now)

    def undo_incident(self, ident: int, *, by: str, now: float) -> list[IncidentAction]:
        """Take back what was done because of an incident, the last first.

        Returns:
            What was taken back; an alert that was sent can't be.

        Raises:
            StoreError: there is none.
        """
        with self.changing():
            if not self._db.execute("SELECT 1 FROM incident WHERE id = ?", (ident,)).fetchone():
                raise StoreError(f"there is no incident {ident}")
            return self._undo(ident, by, now)

    def undoable(self, ident: int) -> list[IncidentAction]:
        """Return what `undo_incident` would take back."""
        return [
            action
            for action in self._actions("WHERE incident = ? ORDER BY id DESC", (ident,))
            if (action.state is ActionState.WANTED and action.kind not in _OF_STATE)
            or (action.state is ActionState.DONE and action.kind in _STATE_OF.values())
        ]

    def _join(self, excess: Excess, account: str, times: int = 1) -> int | None:
        since = excess.at - WINDOWS_S[excess.window]
        row = self._db.execute(
            'SELECT id FROM incident WHERE account = ? AND "limit" = ? AND metric = ?'
            " AND last >= ? AND verdict = '' ORDER BY id DESC LIMIT 1",
            (account, excess.limit, excess.metric, since),
        ).fetchone()
        if row is None:
            return None
        self._db.execute(
            "UPDATE incident SET last = max(last, ?), value = max(value, ?),"
            " excesses = excesses + ? WHERE id = ?",
            (excess.at, excess.value, times, row[0]),
        )
        return int(row[0])

    def _is_harder(self, block: AccountBlock, now: float) -> bool:
        """Whether an account may do more than a block lets it: what a person said stands."""
        before = self._block_of(block.account)
        if before is None or not before.in_force(now):
            return True
        return before.state is AccountState.LIMITED and block.state is AccountState.BANNED

    def _undo(self, ident: int, by: str, now: float) -> list[IncidentAction]:
        taken_back = self.undoable(ident)
        for action in taken_back:
            block = self._block_of(action.target)
            # what was said of it since is another's word
            if block is not None and block.incident == ident:
                self._open(action.target, now)
            self._db.execute(
                "UPDATE action SET state = 'undone', undone_by = ? WHERE id = ?", (by, action.id)
            )
        return taken_back

    def _insert(
        self, excess: Excess, account: str, line: IncidentLine, rating: int, say: str
    ) -> int:
        evidence = msgspec.json.encode(excess.evidence, enc_hook=str)
        values = (
            account, excess.address, excess.limit, excess.metric, excess.window, excess.at,
            excess.at, 1, excess.value, excess.most, excess.usual, excess.then, rating, line, say,
            evidence.decode() if len(evidence) <= MOST_EVIDENCE else "{}",
            msgspec.json.encode(excess.idents[:MOST_IDENTS]).decode(), "", "", "", 0.0, "",
        )  # fmt: skip
        marks = ", ".join("?" * len(values))
        cursor = self._db.execute(f"INSERT INTO incident VALUES (NULL, {marks})", values)  # noqa: S608 - marks alone
        return int(cursor.lastrowid or 0)

    def _act(
        self,
        incident: int,
        kind: ActionKind,
        target: str,
        state: ActionState,
        now: float,
        not_before: float = 0.0,
    ) -> None:
        done_at = now if state is ActionState.DONE else 0.0
        self._db.execute(
            "INSERT INTO action VALUES (NULL, ?, ?, ?, ?, ?, ?, '', '', 0, ?, '')",
            (incident, kind, target, state, now, done_at, not_before),
        )

    def _incidents(self, where: str, values: tuple[Any, ...]) -> list[Incident]:
        rows = self.rows(f"SELECT {INCIDENT_COLUMNS} FROM incident {where}", values)  # noqa: S608 - literals
        return [incident_of(row) for row in rows]

    def _actions(self, where: str, values: tuple[Any, ...]) -> list[IncidentAction]:
        rows = self.rows(f"SELECT {_ACTION_COLUMNS} FROM action {where}", values)  # noqa: S608 - literals
        return [
            msgspec.convert(
                dict(zip(IncidentAction.__struct_fields__, row, strict=True)), IncidentAction
            )
            for row in rows
        ]


def incident_of(row: tuple[Any, ...]) -> Incident:
    """Return the incident of a row in the order of its fields.

    Raises:
        StoreError: it is none.
    """
    fields = dict(zip(Incident.__struct_fields__, row, strict=True))
    try:
        fields["evidence"] = msgspec.json.decode(fields["evidence"])
        fields["idents"] = msgspec.json.decode(fields["idents"])
        fields["verdict"] = fields["verdict"] or None
        return msgspec.convert(fields, Incident)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise StoreError(f"incident {row[0]!r} is none that this Oborona knows: {error}") from error
