"""The console's server: whose browser asks, may it, and the page.

A browser's session is a token of the desk in a cookie; the console keeps none.  What changes
something comes by POST, from a page of ours (Sec-Fetch-Site or Origin), and with the token of a
form that was made for this session.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlsplit

from aiohttp import web

from oborona.console.api_door import PREFIX as API
from oborona.console.api_door import ApiDoor
from oborona.console.browser_state import drop_cookie
from oborona.console.client_address import ClientAddresses, ProxyWord
from oborona.console.confirmation import NEEDS_PASSWORD, password_page
from oborona.console.console_answer import static_answer
from oborona.console.console_parts import ConsoleParts
from oborona.console.console_person import ConsolePerson
from oborona.console.declaration import PageDeclaration
from oborona.console.desk_client import DeskClient, DeskError
from oborona.console.error_page import desk_error_page, error_page, not_yours
from oborona.console.form_body import Form, FormError, read_form
from oborona.console.language import UTC, VIEWER, Viewer, chosen_language, zone_of
from oborona.console.lasting_parts import LastingParts, lasting_parts
from oborona.console.machines.machine_set import MachineSet
from oborona.console.route_table import RouteTable
from oborona.console.static_files import PREFIX
from oborona.console.visit import LANGUAGE, SESSION, ZONE, Visit
from oborona.doors.web import HttpLimits, WebServer, busy_answer, read_body
from oborona.telemetry.log import event

MAX_CONNECTIONS: Final = 200
PER_CLIENT: Final = 0  # behind a proxy all are one client's
SIGN_IN: Final = "/sign-in"
PROXY: Final = "proxy"  # the way by which a session began
ENROL: Final = "/me/step"

log = logging.getLogger("oborona.console")


class ConsoleServer(WebServer):
    """Serves pages on one listening socket.

    Args:
        desk: answers.
        parts: that last; None = new ones.
        proxies: networks of proxies that say whose browser asks, with spaces between; whoever
            reaches us by a socket file is one.
        allowed: networks that may connect; empty: whoever can.
        remote_user: these proxies may say who is signed in, if the desk finds their secret right.
        node: name of this machine, where the desk tells none.
        others: names of other machines that are asked, too.
        max_connections: at once; those beyond are told to come again.
        limits: of a connection.
    """

    def __init__(
        self,
        desk: DeskClient,
        *,
        parts: LastingParts | None = None,
        proxies: str = "",
        allowed: str = "",
        remote_user: bool = False,
        node: str = "",
        others: Sequence[str] = (),
        max_connections: int = MAX_CONNECTIONS,
        limits: HttpLimits | None = None,
    ) -> None:
        super().__init__(
            limits=limits or HttpLimits(),
            tokens=None,
            max_connections=max_connections,
            log=log,
            note=lambda why: log.debug("a request came to nothing: %s", why),
            max_per_client=PER_CLIENT,
            busy=lambda _peer: busy_answer(),
            allowed=allowed,
        )
        parts = parts or lasting_parts()
        self._static = parts.static
        self._api = ApiDoor(desk, self.limits)
        self._addresses = ClientAddresses(proxies)
        self._remote_user = remote_user
        self.console = ConsoleParts(
            desk=desk,
            templates=parts.templates,
            pages=parts.pages,
            routes=RouteTable(parts.pages),
            tokens=parts.tokens,
            node=node,
            machines=MachineSet(desk, others) if others else None,
            languages=parts.languages,
        )

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.rel_url.raw_path
        if path.startswith(PREFIX):
            file = self._static.find(path)
            if file is not None and request.method in {"GET", "HEAD"}:
                return static_answer(request, file)
        address = self._addresses.of(request)
        if path.startswith(API):
            return await self._api.answer(request, address)
        word = self._addresses.word(request) if self._remote_user else None
        visit = Visit(request, self.console, address, word)
        self._look_as(visit)
        try:
            return await self._page(visit)
        except DeskError as error:
            if error.status == 401 and visit.token:
                return self._signed_out(visit)
            if error.needs == NEEDS_PASSWORD and visit.person is not None:
                return password_page(visit, 403)
            if error.status >= 500:
                event(log, logging.WARNING, "the desk did not answer", path=path, error=error)
            return desk_error_page(visit, error)
        except Exception:
            visit.error_id = secrets.token_hex(4)
            log.exception("a page failed: %s", visit.error_id)
            return error_page(visit, 500)

    async def _page(self, visit: Visit) -> web.Response:
        """Find a page and let it answer.

        Raises:
            DeskError: the desk does not.
        """
        methods, visit.parts = self.console.routes.find(visit.path)
        method = "GET" if visit.request.method == "HEAD" else visit.request.method
        if not methods:
            # before who is not signed in: no address tells them whether it is there
            await self._meet(visit)
            return error_page(visit, 404)
        if method not in methods:
            return error_page(visit, 405, Allow=", ".join(sorted(methods)))
        declared = methods[method]
        await self._meet(visit, needed=not declared.public)
        if visit.person is None and not declared.public:
            return self._signed_out(visit)
        must_enrol = visit.person is not None and visit.person.must_enrol
        if must_enrol and not (declared.public or declared.enrols):
            return visit.go(ENROL)
        if visit.person is not None and not declared.is_for(visit.person.rights):
            return not_yours(visit, declared.needs)
        if method == "POST" and not declared.signed:
            refused = await self._take_form(visit, declared)
            if refused is not None:
                return refused
        return await declared.handler(visit)

    async def _meet(self, visit: Visit, *, needed: bool = False) -> None:
        """Learn who is signed in.

        Raises:
            DeskError: it can't be told, and is needed.
        """
        if not visit.token:
            return
        try:
            person = await visit.ask("me.show", {}, ConsolePerson)
        except DeskError:
            if needed:
                raise
            return
        if person.way == PROXY and not is_still(person, visit.word):
            return
        visit.person = person
        self._look_as(visit)

    def _look_as(self, visit: Visit) -> None:
        """Make pages in the language and zone of whoever asks."""
        cookies = visit.request.cookies
        said = visit.person.language if visit.person is not None else ""
        language = chosen_language(
            self.console.languages,
            cookies.get(LANGUAGE, ""),
            said or "",
            visit.request.headers.get("Accept-Language", ""),
        )
        zone = zone_of(cookies.get(ZONE, "").strip('"')) or UTC
        VIEWER.set(Viewer(language, zone, visit.form_token, lambda: visit.desk))

    async def _take_form(self, visit: Visit, declared: PageDeclaration) -> web.Response | None:
        """Read a form, or return the page of one that is not taken."""
        request = visit.request
        if not is_from_here(request):
            return error_page(visit, 403)
        body = await read_body(request, declared.max_bytes, self.limits.read_s)
        if isinstance(body, web.Response):
            return error_page(visit, body.status)
        try:
            visit.form = read_form(request.content_type, _boundary(request), body)
        except FormError:
            return error_page(visit, 400)
        if not self.console.tokens.is_good(visit.form.one("token"), visit.session_key):
            visit.form = Form()
            return visit.render("old_form.html", 403)
        return None

    def _signed_out(self, visit: Visit) -> web.Response:
        """Send whoever has no session to where one begins, and back afterwards."""
        back = visit.back
        answer = visit.go(SIGN_IN if back == "/" else f"{SIGN_IN}?next={quote(back, safe='/')}")
        if visit.token:
            drop_cookie(answer, SESSION)
        return answer


def is_still(person: ConsolePerson, word: ProxyWord | None) -> bool:
    """Return whether the proxy by whose word a session began still says the same."""
    return word is not None and word.user.strip().lower() == person.name


def is_from_here(request: web.BaseRequest) -> bool:
    """Return whether a page of ours sends a form, as the browser says.

    Source: Fetch Metadata Request Headers, Sec-Fetch-Site; older browsers send an Origin.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    origin = urlsplit(request.headers.get("Origin", ""))
    return origin.scheme in {"http", "https"} and origin.netloc == request.headers.get("Host")


def _boundary(request: web.BaseRequest) -> str:
    for word in request.headers.get("Content-Type", "").split(";")[1:]:
        name, _, value = word.strip().partition("=")
        if name.lower() == "boundary":
            return value.strip('"')
    return ""
