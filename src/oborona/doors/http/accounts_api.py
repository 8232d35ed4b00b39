"""Accounts, incidents and addresses by HTTP: which request is served by what, and who may ask it.

401 no key, or none that is known          403 a key without the right
404 what is not there, or not the key's    405 another method
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple
from urllib.parse import unquote

from aiohttp import web

from oborona import state_files
from oborona.accounts.account_orders import ORDERS
from oborona.doors.context import DoorContext
from oborona.doors.http.account_keys import AccountKey
from oborona.doors.http.account_orders import answer_order
from oborona.doors.http.account_question import AccountQuestion
from oborona.doors.http.accounts import answer_account, answer_accounts
from oborona.doors.http.addresses import AddressService
from oborona.doors.http.incidents import answer_incident, answer_incidents
from oborona.doors.http.keyed_request import ReadBody, path_pieces
from oborona.doors.http.registrations import RegistrationService
from oborona.doors.http.store_queue import StoreQueue
from oborona.doors.web import error_answer
from oborona.errors import PeerError, StoreError
from oborona.telemetry.log import event

ROOMS: Final = frozenset({"accounts", "addresses", "incidents"})

log = logging.getLogger("oborona.http")


class _Service(NamedTuple):
    """What serves a path by one method."""

    method: str
    acts: bool  # the right that it needs; otherwise to read
    answer: Callable[[AccountQuestion], Awaitable[web.Response]]
    of_all: bool = False  # it is for keys of all customers


class AccountsApi:
    """What a door answers of accounts.

    Args:
        at: what the worker has for the door.
        queue: that work on files waits in.
    """

    def __init__(self, at: DoorContext, queue: StoreQueue) -> None:
        self._file = at.state / state_files.ACCOUNTS
        self._queue = queue
        self._addresses = AddressService(at)
        self._registrations = RegistrationService(lambda: at.policy().account_tests)

    @staticmethod
    def serves(request: web.BaseRequest) -> bool:
        """Tell whether a path is served here."""
        return path_pieces(request)[0] in ROOMS

    async def answer(
        self, request: web.BaseRequest, key: AccountKey, read: ReadBody
    ) -> web.Response:
        """Answer a request.

        Args:
            request: whose path is served here.
            key: that it shows.
            read: returns its body.

        Raises:
            BodyRefused: its body is not taken.
        """
        room, *pieces = path_pieces(request)
        services = self._services(room, pieces)
        if not services:
            return error_answer(404, "there is nothing here")
        method = "GET" if request.method == "HEAD" else request.method
        service = next((one for one in services if one.method == method), None)
        if service is None:
            allowed = [one.method for one in services]
            if "GET" in allowed:
                allowed.append("HEAD")
            return error_answer(405, f"{' or '.join(allowed)} only", Allow=", ".join(allowed))
        if not (key.name if service.acts else key.reads):
            return error_answer(403, f"the key may not {'act' if service.acts else 'read'}")
        if service.of_all and key.customer:
            return error_answer(403, "the key is for one customer alone")
        try:
            names = [unquote(piece, errors="strict") for piece in pieces]
        except UnicodeError:
            return error_answer(400, "a name is UTF-8")
        try:
            return await service.answer(
                AccountQuestion(request, names, key, self._file, read, self._queue)
            )
        except PeerError as error:
            return error_answer(400, str(error))
        except StoreError as error:
            event(log, logging.ERROR, "accounts can't be used", error=error)
            return error_answer(503, "accounts can't be used now", **{"Retry-After": "10"})

    def _services(self, room: str, pieces: list[str]) -> list[_Service]:
        match room, pieces:
            case "accounts", []:
                return [
                    _Service("GET", False, answer_accounts),
                    _Service("POST", True, self._registrations.answer, of_all=True),
                ]
            case "accounts", [_]:
                return [_Service("GET", False, answer_account)]
            case "accounts", [_, what] if what in ORDERS:
                return [_Service("POST", True, answer_order)]
            case "addresses", [_]:
                return [_Service("GET", False, self._addresses.answer)]
            case "incidents", []:
                return [_Service("GET", False, answer_incidents)]
            case "incidents", [_]:
                return [_Service("GET", False, answer_incident)]
        return []
