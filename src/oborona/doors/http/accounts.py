"""GET /v1/accounts: accounts as a customer's panel shows them, to who has a key of it."""

from __future__ import annotations

import time
from functools import partial

from aiohttp import web

from oborona.accounts.account_view import view_account, view_accounts
from oborona.doors.http.account_question import AccountQuestion
from oborona.doors.http.query import page_size, query_of
from oborona.doors.web import error_answer, json_answer


async def answer_account(asked: AccountQuestion) -> web.Response:
    """Answer what the account of a path is."""
    (name,) = asked.names
    found = await asked.queue.work(
        partial(view_account, asked.file, name, customer=asked.key.customer, now=time.time())
    )
    if found is None:
        return error_answer(404, "there is no such account")
    return json_answer(200, found)


async def answer_accounts(asked: AccountQuestion) -> web.Response:
    """Answer a page of accounts.

    Raises:
        PeerError: something else is asked.
    """
    query, scope = query_of(asked.request, "customer", "after", "limit"), asked.key.customer
    customer = query.get("customer", scope)
    if scope and customer != scope:
        return error_answer(404, "there is no such customer")
    page = await asked.queue.work(
        partial(
            view_accounts,
            asked.file,
            customer=customer,
            after=query.get("after", ""),
            most=page_size(query),
            now=time.time(),
        )
    )
    return json_answer(200, page)
