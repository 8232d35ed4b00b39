"""POST /v1/accounts/LOGIN/ban and its like: what the commands `oborona account ban` … do."""

from __future__ import annotations

import logging
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import msgspec
from aiohttp import web
from msgspec import Meta

from oborona.accounts.account import AccountState
from oborona.accounts.account_orders import (
    BEARING,
    ENDING,
    AccountOrder,
    OrderOutcome,
    WrongOrder,
    carry_out,
    order_end,
    order_reason,
)
from oborona.accounts.import_lines import Moment, WrongAccount, moment_seconds
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.answers import GivenAnswer, RepeatKey, RepeatKeyReused, answer_once
from oborona.accounts.store.rows import DeedKind
from oborona.doors.http.account_question import AccountQuestion, given_answer, key_reused
from oborona.doors.http.model import decode_body
from oborona.doors.http.query import query_of
from oborona.doors.web import JSON, error_answer
from oborona.errors import PeerError
from oborona.journal.query import parse_span
from oborona.telemetry.log import event

MAX_ORDER: Final = 16_384  # octets of a body


class OrderRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why an account is banned, limited, trusted or the like, and how long."""

    reason: Annotated[
        str,
        Meta(
            description="One line; kept with the name of the key. Of ban and limit the sender is "
            "told, where it is ASCII."
        ),
    ]
    span: Annotated[str, Meta(description="How long, such as 2h or 7d.")] | None = msgspec.field(
        name="for", default=None
    )
    until: (
        Annotated[
            Moment, Meta(description="Or when it ends: Unix seconds or RFC 3339. Neither: never.")
        ]
        | None
    ) = None


class OrderAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What an account may do now; times are Unix seconds."""

    account: str
    state: AccountState
    until: float  # that mail is not taken; 0 = it is, or until somebody says
    trusted: bool
    done: bool  # false: it was so before
    new: bool  # a login that was no account has become one


log = logging.getLogger("oborona.http")

_REQUEST: Final = msgspec.json.Decoder(OrderRequest)


async def answer_order(asked: AccountQuestion) -> web.Response:
    """Do what is said of the account of a path.

    Raises:
        PeerError: the request is not what it should be.
        BodyRefused: so is its body.
        StoreError: it can't be written.
    """
    query_of(asked.request)
    name, what = asked.names[0], DeedKind(asked.names[1])
    body = await asked.body(MAX_ORDER, JSON)
    now = time.time()
    try:
        order = order_of(body, what, asked.key.name, now)
        key, scope = asked.repeat_key(body), asked.key.customer
        given = await asked.queue.work(
            partial(_carry_out, asked.file, name, order, now, scope, key)
        )
    except WrongAccount as error:
        raise PeerError(str(error)) from None
    except RepeatKeyReused:
        return key_reused()
    if given is None:
        return error_answer(404, "there is no such account")
    if not given.again:
        event(
            log,
            logging.INFO,
            "an account was spoken of",
            what=what.value,
            account=given.account,
            by=asked.key.name,
        )
    return given_answer(given)


def order_of(body: bytes, what: DeedKind, by: str, now: float) -> AccountOrder:
    """Return what a body says of an account.

    Args:
        body: JSON.
        what: of ORDERS, as the path says it.
        by: who says it.
        now: Unix seconds.

    Raises:
        PeerError: it says nothing that can be done.
    """
    told = decode_body(_REQUEST, body)
    try:
        reason = order_reason(told.reason)
    except WrongOrder as error:
        raise PeerError(f"reason: {error}") from None
    try:
        until = _end(told, now)
    except (WrongOrder, WrongAccount) as error:
        raise PeerError(str(error)) from None
    if until and what not in ENDING:
        raise PeerError(f"{what} has no end")
    if not until and what is DeedKind.LIMIT:
        raise PeerError("a limit has an end: say for or until")
    return AccountOrder(what=what, by=by, why=reason, until=until)


def _end(told: OrderRequest, now: float) -> float:
    """Return when it ends, Unix seconds; 0: it does not."""
    if told.span is not None and told.until is not None:
        raise PeerError("say for or until, not both")
    if told.span is not None:
        span = parse_span(told.span)
        if span is None:
            raise PeerError("for is a number with s, m, h, d or w, such as 2h")
        return order_end(now + span, now)
    return 0.0 if told.until is None else order_end(moment_seconds(told.until, "until"), now)


def _carry_out(
    file: Path, name: str, order: AccountOrder, now: float, scope: str, key: RepeatKey | None
) -> GivenAnswer | None:
    """Do it, in a thread; None: there is no such account."""
    bears = order.what in BEARING and not scope
    if not bears and not file.exists():
        return None
    with AccountStore(file, make=bears) as store:
        return answer_once(store, key, now, partial(_given, store, name, order, now, scope))


def _given(
    store: AccountStore, name: str, order: AccountOrder, now: float, scope: str
) -> GivenAnswer | None:
    outcome = carry_out(store, name, order, now, scope=scope)
    if outcome is None:
        return None
    return GivenAnswer(msgspec.json.encode(_told(outcome, now)) + b"\n", outcome.account.id)


def _told(outcome: OrderOutcome, now: float) -> OrderAnswer:
    account = outcome.account
    block = account.block if account.state(now) is not AccountState.OPEN else None
    return OrderAnswer(
        account=account.id,
        state=account.state(now),
        until=block.until if block else 0.0,
        trusted=account.trusted(now),
        done=outcome.done,
        new=outcome.new,
    )
