"""GET /v1/addresses/IP: is an address clean, as `oborona address` shows it."""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial

from aiohttp import web

from oborona.accounts.addresses.address_report import AddressReport, stored_address
from oborona.accounts.addresses.list_words import ask_lists
from oborona.doors.context import DoorContext
from oborona.doors.http.account_question import AccountQuestion
from oborona.doors.http.query import query_of
from oborona.doors.web import error_answer, json_answer
from oborona.errors import PeerError, StoreError
from oborona.reputation.dnsbl import public
from oborona.reputation.networks import plain
from oborona.telemetry.log import event

log = logging.getLogger("oborona.http")


class AddressService:
    """What tells of addresses.

    Args:
        at: what the worker has for the door.
    """

    def __init__(self, at: DoorContext) -> None:
        self._at = at

    async def answer(self, asked: AccountQuestion) -> web.Response:
        """Answer what the address of a path is.

        Raises:
            PeerError: it is no address.
            StoreError: what is known can't be read.
        """
        query_of(asked.request)
        address = plain(asked.names[0])
        if address is None:
            raise PeerError("it is no address")
        text, customer, now = str(address), asked.key.customer, time.time()
        stored = await asked.queue.work(partial(stored_address, self._at.state, text))
        if customer and not stored.is_of(customer):
            return error_answer(404, "no account has such an address")  # no list is asked
        lists = self._at.policy().dns_lists if public(address) else ()
        words, counted = await asyncio.gather(
            ask_lists(self._at.asker(), lists, text), self._counted(text)
        )
        report = AddressReport(address=text, lists=words, stored=stored, counted=counted)
        if customer:
            report = report.of_customer(customer, now)
        return json_answer(200, report.view(staff=not customer))

    async def _counted(self, text: str) -> dict[str, int]:
        """Return what was counted of its messages; nothing where none can be read."""
        try:
            return await self._at.count_address(text)
        except StoreError as error:
            event(log, logging.ERROR, "what an address sent is not known", error=error)
            return {}
