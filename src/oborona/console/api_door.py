"""The desk's calls for programs, by the console's address: passed on as they came, with an API key.

    POST /v1/NAME           GET /v1/openapi.json          Authorization: Bearer obk_…

A browser sends no such header by itself, and no cookie is looked at: so there is no form to forge.
Calls to sign in, and of who is signed in, are for pages alone.
"""

from __future__ import annotations

import re
from typing import Final

from aiohttp import web

from oborona.console.desk_client import CallerPlace, DeskClient, DeskError
from oborona.console.security_headers import NOT_KEPT, SECURITY_HEADERS
from oborona.doors.web import JSON, HttpLimits, bearer_token, error_answer, read_body
from oborona.people.token import KEY_PREFIX

PREFIX: Final = "/v1/"
DESCRIPTION: Final = "openapi.json"
MAX_BODY: Final = 32 << 20  # bytes, as the desk takes: an uploaded message
MAX_CALLS: Final = 8  # at once: each may hold a body
CALL_S: Final = 125.0  # the desk's own deadlines are shorter
LONGEST_KEY: Final = 200  # letters

_CALL: Final = re.compile(r"(?!login\.|me\.)[a-z_]{1,40}(?:\.[a-z_]{1,40})?\Z")


class ApiDoor:
    """Passes calls on.

    Args:
        desk: answers.
        limits: of a connection.
    """

    def __init__(self, desk: DeskClient, limits: HttpLimits) -> None:
        self._desk = desk
        self._limits = limits
        self._calls = 0

    async def answer(self, request: web.BaseRequest, address: str) -> web.Response:
        """Return what the desk answers, or why it was not asked.

        Args:
            request: whose path begins with `PREFIX`.
            address: of the program.
        """
        answer = await self._answer(request, address)
        answer.headers.update(SECURITY_HEADERS)
        answer.headers.update(NOT_KEPT)
        return answer

    async def _answer(self, request: web.BaseRequest, address: str) -> web.Response:
        name = request.rel_url.raw_path.removeprefix(PREFIX)
        described = name == DESCRIPTION
        if not described and not _CALL.match(name):
            return error_answer(404, "there is no such call")
        method = "GET" if described else "POST"
        if request.method != method:
            return error_answer(405, method, Allow=method)
        token = bearer_token(request)
        if not token.startswith(KEY_PREFIX) or not token.isascii() or len(token) > LONGEST_KEY:
            return error_answer(401, "show an API key", **{"WWW-Authenticate": "Bearer"})
        if self._calls >= MAX_CALLS:
            return error_answer(503, "too much at once, come again", **{"Retry-After": "1"})
        self._calls += 1
        try:
            body = b"" if described else await read_body(request, MAX_BODY, self._limits.read_s)
            if isinstance(body, web.Response):
                return body
            place = CallerPlace(token, address, request.headers.get("User-Agent", ""))
            status, words = await self._desk.pass_on(method, name, body, place, CALL_S)
        except DeskError as error:
            return error_answer(error.status, error.text)
        finally:
            self._calls -= 1
        return web.Response(status=status, body=words, headers={"Content-Type": JSON})
