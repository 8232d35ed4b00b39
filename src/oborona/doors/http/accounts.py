"""GET /v1/accounts: accounts as a customer's panel shows them, to who has a key of it."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from aiohttp import web

from oborona.accounts.account_view import view_account, view_accounts
from oborona.doors.web import error_answer, json_answer
from oborona.errors import StoreError
from oborona.telemetry.log import event

ACCOUNTS: Final = "/v1/accounts"
PAGE: Final = 100  # accounts, where nothing is said
MAX_PAGE: Final = 1000
_KNOWN: Final = frozenset({"customer", "after", "limit"})

log = logging.getLogger("oborona.http")


def is_of_accounts(path: str) -> bool:
    """Tell whether a path is served here."""
    return path == ACCOUNTS or path.startswith(f"{ACCOUNTS}/")


async def answer_accounts(request: web.BaseRequest, file: Path, scope: str) -> web.Response:
    """Answer what is asked of accounts.

    Args:
        request: whose path is one of these.
        file: of the accounts.
        scope: the customer whose accounts the key reads; empty: all.
    """
    try:
        if request.path == ACCOUNTS:
            return await _page(request, file, scope)
        return await _one(request, file, scope)
    except StoreError as error:
        event(log, logging.ERROR, "accounts can't be read", error=error)
        return error_answer(503, "accounts can't be read now", **{"Retry-After": "10"})


async def _one(request: web.BaseRequest, file: Path, scope: str) -> web.Response:
    raw = request.rel_url.raw_path.removeprefix(f"{ACCOUNTS}/")
    try:
        name = unquote(raw, errors="strict")
    except UnicodeError:
        return error_answer(400, "a name is UTF-8")
    # a slash in a name is written %2F
    found = (
        None
        if "/" in raw
        else await asyncio.to_thread(view_account, file, name, customer=scope, now=time.time())
    )
    if found is None:
        return error_answer(404, "there is no such account")
    return json_answer(200, found)


async def _page(request: web.BaseRequest, file: Path, scope: str) -> web.Response:
    asked = request.query
    if set(asked) - _KNOWN or len(asked) != len(set(asked)):
        return error_answer(400, "customer, after and limit may be asked, once each")
    limit = asked.get("limit", str(PAGE))
    if not (
        limit.isascii() and limit.isdigit() and len(limit) <= 4 and 1 <= int(limit) <= MAX_PAGE
    ):
        return error_answer(400, f"limit is 1 to {MAX_PAGE}")
    customer = asked.get("customer", scope)
    if scope and customer != scope:
        return error_answer(404, "there is no such customer")
    page = await asyncio.to_thread(
        view_accounts,
        file,
        customer=customer,
        after=asked.get("after", ""),
        most=int(limit),
        now=time.time(),
    )
    return json_answer(200, page)
