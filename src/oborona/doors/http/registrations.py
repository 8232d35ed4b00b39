"""POST /v1/accounts: registrations as a shop or a panel tells them, as `oborona account import`
takes them from a file.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from aiohttp import web

from oborona.accounts.registration_import import import_accounts
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.answers import GivenAnswer, RepeatKey, RepeatKeyReused, answer_once
from oborona.config.worker import MIB
from oborona.doors.http.account_question import (
    AccountQuestion,
    given_answer,
    key_reused,
)
from oborona.doors.http.json_rows import JSON_LINES, RefusedRow, json_rows
from oborona.doors.http.keyed_request import BodyRefused
from oborona.doors.http.query import query_of
from oborona.doors.web import JSON, error_answer
from oborona.policy.account_tests import AccountTests
from oborona.telemetry.log import event

MAX_REGISTRATIONS: Final = MIB  # octets of a body: of "[1,1,…" comes 30 times as much
MOST_REGISTRATIONS: Final = 1000  # of a body: they are one transaction, of 0.3 s

log = logging.getLogger("oborona.http")


class RegistrationAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of registrations: how many accounts, and what was left out."""

    new: int
    changed: int
    unchanged: int
    refused: tuple[RefusedRow, ...]


class RegistrationService:
    """What takes registrations.

    Args:
        tests: returns the tests of accounts of the policy in force.
    """

    def __init__(self, tests: Callable[[], AccountTests]) -> None:
        self._tests = tests

    async def answer(self, asked: AccountQuestion) -> web.Response:
        """Write down what is told.

        Raises:
            PeerError: the request is not what it should be.
            BodyRefused: so is its body.
            StoreError: it can't be written.
        """
        query_of(asked.request)
        body = await asked.body(MAX_REGISTRATIONS, JSON, *JSON_LINES)
        told = json_rows(body, lines=asked.request.content_type != JSON, most=MOST_REGISTRATIONS)
        if len(told) > MOST_REGISTRATIONS:
            raise BodyRefused(error_answer(413, f"more than {MOST_REGISTRATIONS} accounts"))
        key, by = asked.repeat_key(body), asked.key.name
        try:
            given = await asked.queue.work(
                partial(_take, asked.file, told, self._tests(), by, time.time(), key)
            )
        except RepeatKeyReused:
            return key_reused()
        if not given.again:
            event(log, logging.INFO, "registrations were told", number=len(told), by=by)
        return given_answer(given)


def _take(
    file: Path,
    told: list[tuple[int, bytes]],
    tests: AccountTests,
    by: str,
    now: float,
    key: RepeatKey | None,
) -> GivenAnswer:
    """Write it down, in a thread: all that is right of it, or nothing."""

    def answer() -> GivenAnswer:
        refused: list[RefusedRow] = []
        figures = import_accounts(
            store,
            told,
            tests,
            by=by,
            now=now,
            fault=lambda line, why: refused.append(RefusedRow(line=line, reason=why)),
        )
        refused.sort(key=lambda one: one.line)
        told_back = RegistrationAnswer(
            new=figures.new,
            changed=figures.changed,
            unchanged=figures.unchanged,
            refused=tuple(refused),
        )
        return GivenAnswer(msgspec.json.encode(told_back) + b"\n", "")

    with AccountStore(file) as store:
        return answer_once(store, key, now, answer)
