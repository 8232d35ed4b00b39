"""A call from its octets to its answer: may the caller, what are they told, and what stands in the
audit log.

    rights → decode → scope → reason → (order book) → row begun → function → row ended → JSON

Plain and blocking: one thread runs a call from begin to end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import msgspec

from oborona import state_files
from oborona.audit.declarations import ACTS
from oborona.audit.look_log import LookLog
from oborona.audit.outcome import outcome_of
from oborona.audit.record import ActRecord
from oborona.audit.row import ActOutcome, AuditRow, RowKind
from oborona.audit.site_key import audit_key
from oborona.audit.store import AuditStore
from oborona.audit.texts import arguments_json, cut_text, cut_values
from oborona.desk.call import ActOrder, Call, CallError, NotAllowedError, UndoCall
from oborona.desk.order_book import OrderBook, OrderConflict
from oborona.desk.site import Site
from oborona.errors import OboronaError, StoreAbsent, StoreError
from oborona.people.caller import Caller, CallWay
from oborona.people.rights import FRESH_NEEDED, NO_REASON, Right
from oborona.telemetry.log import event

_SAID_ELSEWHERE: Final = frozenset({"reason", "dry", "key"})
_TOLD_ONCE: Final = b""  # kept in the stead of an answer that holds a secret

log = logging.getLogger("oborona.desk")


class CallRunner:
    """Runs calls on a site.

    Args:
        site: its stores are opened for each call.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._state = site.state
        self._looks = LookLog(site.state)

    def run(self, call: Call, caller: Caller, body: bytes) -> bytes:
        """Return the answer in JSON.

        Args:
            call: which.
            caller: who makes it.
            body: what it is told, a JSON object; empty = nothing.

        Raises:
            NotAllowedError: they may not.
            CallError: it can't be done as it was told.
            OboronaError: a store, the policy or a setting is in the way.
        """
        right = _right(call, caller)
        try:
            asked = msgspec.json.decode(body or b"{}", type=call.asked)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise CallError(str(error)) from None
        if not call.scoped and not caller.scope.whole:
            raise NotAllowedError(f"{call.name} is for those who see the whole site")
        does = call.acts and not getattr(asked, "dry", False)
        hurts = any(caller.may(one) for one in FRESH_NEEDED.intersection(call.needs))
        if does and hurts and caller.way is CallWay.PAGE and not caller.fresh:
            raise NotAllowedError("give your password once more first", needs="password")
        reason = getattr(asked, "reason", "")
        must = (does and right not in NO_REASON) or caller.must_say_why(right)
        if must and not reason.strip():
            raise CallError("reason: say why", needs="reason")
        if not isinstance(asked, ActOrder):
            if any(getattr(asked, name, None) for name in call.person):
                self._note_look(call, caller, asked)
            return msgspec.json.encode(call.function(self._site, caller, asked))
        return self._act(call, caller, asked, body)

    def _act(self, call: Call, caller: Caller, asked: ActOrder, body: bytes) -> bytes:
        if asked.dry and not ACTS[call.name].dry:
            raise CallError(f"dry: {call.name} can't be tried, only done", needs="dry")
        if not asked.key or asked.dry:
            return self._recorded(call, caller, asked)
        with OrderBook(self._state / state_files.DESK) as orders:
            done = orders.begin(caller.name, asked.key, call.name, body)
            if done == _TOLD_ONCE:
                raise OrderConflict("this order was done; its answer was told once")
            if done is not None:
                return done
            try:
                answer = self._recorded(call, caller, asked)
            except OboronaError as error:
                if outcome_of(error) is ActOutcome.REFUSED:  # nothing was done
                    orders.drop(caller.name, asked.key)
                raise
            kept = _TOLD_ONCE if call.tells_secret else answer
            orders.end(caller.name, asked.key, kept)
        return answer

    def _recorded(self, call: Call, caller: Caller, asked: ActOrder) -> bytes:
        """Do an act, with its two rows in the audit log."""
        with self._record(call, caller, asked) as ended:
            answer = call.function(self._site, caller, asked)
            undo = getattr(answer, "undo", None)
            if isinstance(undo, UndoCall):
                ended.append(msgspec.json.encode(undo).decode())
        return msgspec.json.encode(answer)

    @contextmanager
    def _record(self, call: Call, caller: Caller, asked: ActOrder) -> Iterator[list[str]]:
        record = ActRecord(
            lambda make: self._audit(make=make),
            nullcontext,
            ACTS[call.name],
            self._row(RowKind.BEGUN, call, caller, asked),
            self._site.loaded.settings.log.audit_days,
        )
        try:
            trouble = record.begin()
        except StoreError as error:
            raise type(error)(
                f"nothing was done, as the audit log can't be written: {error}"
            ) from error
        if trouble:
            event(
                log,
                logging.WARNING,
                "the audit log has an act when there is room",
                call=call.name,
                error=trouble,
            )
        ended = list[str]()
        try:
            yield ended
        except BaseException as error:
            self._end(record, *_outcome(error))
            raise
        self._end(record, ActOutcome.DONE, 200, "", *ended)

    def _end(
        self, record: ActRecord, outcome: ActOutcome, status: int, text: str, undo: str = ""
    ) -> None:
        try:
            record.end(outcome, status, text, undo)
        except (StoreError, OSError) as error:  # that it began is there
            event(log, logging.ERROR, "the audit log does not have how an act ended", error=error)

    def _note_look(self, call: Call, caller: Caller, asked: msgspec.Struct) -> None:
        """Write that somebody looks at a person's mail; a reader's own is nobody else's."""
        if caller.rights <= {Right.OWN, Right.AUDIT_OWN}:
            return
        self._looks.note(self._row(RowKind.LOOKED, call, caller, asked))

    def _audit(self, *, make: bool) -> AuditStore:
        return AuditStore(self._state / state_files.AUDIT, audit_key(self._state), make=make)

    def _row(self, kind: RowKind, call: Call, caller: Caller, asked: msgspec.Struct) -> AuditRow:
        names = call.about if call.acts else call.person
        about = [text for name in names for text in texts_of(getattr(asked, name, None))]
        others = {
            name: value[0] if len(value) == 1 else value
            for name in asked.__struct_fields__
            if name not in _SAID_ELSEWHERE
            and name not in names
            and (value := texts_of(getattr(asked, name)))
        }
        return AuditRow(
            number=0,
            kind=kind,
            at=time.time_ns() // 1000,
            act=call.name,
            person=cut_text(caller.name),
            source=cut_text(caller.source),
            way=caller.way,
            place=cut_text(caller.place),
            about=", ".join(cut_values(about)),
            arguments=arguments_json(others),
            reason=cut_text(getattr(asked, "reason", "")),
            dry=int(getattr(asked, "dry", False)),
            roles=" ".join(sorted(caller.roles)),
        )


def texts_of(value: Any) -> Sequence[str]:
    """Return what a call is told in one field, as texts for a row; octets by their number alone."""
    match value:
        case None | "" | False:
            return ()
        case bytes():
            return (f"{len(value)} octets",)
        case list() | tuple() | set() | frozenset():
            return [text for member in value for text in texts_of(member)]
        case dict() | msgspec.Struct():
            return (msgspec.json.encode(value).decode(),)
        case _:
            return (str(value),)


def _right(call: Call, caller: Caller) -> Right:
    """Return the right by which they may.

    Raises:
        NotAllowedError: they have none of those that it needs.
    """
    having = [right for right in call.needs if caller.may(right)]
    if not having:
        raise NotAllowedError(
            f"{call.name} needs the right {' or '.join(call.needs)}", needs=call.needs[0]
        )
    # one that asks for no reason before one that does
    return min(having, key=caller.must_say_why)


def _outcome(error: BaseException) -> tuple[ActOutcome, int, str]:
    match error:
        case CallError():
            status = error.status
        case StoreAbsent():
            status = 404
        case StoreError() | OSError():
            status = 503
        case OboronaError():
            status = 422
        case _:
            return outcome_of(error), 500, f"{type(error).__name__}: {error}"
    return outcome_of(error), status, str(error)
