"""One request of a browser: what a page is made of, and how it answers."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar, cast
from urllib.parse import urlencode

from aiohttp import web

from oborona.console import console_answer
from oborona.console.browser_state import keep_cookie
from oborona.console.client_address import ProxyWord
from oborona.console.console_parts import ConsoleParts
from oborona.console.console_person import ConsolePerson
from oborona.console.declaration import PageDeclaration
from oborona.console.desk_client import AWAY, SLOW, CallerPlace
from oborona.console.desk_visit import DeskVisit

SESSION: Final = "__Host-oborona"
DEVICE: Final = "__Host-oborona-device"
GUEST: Final = "__Host-oborona-guest"  # whose forms they are before anybody is signed in
LANGUAGE: Final = "__Host-oborona-language"
MACHINE: Final = "desk"  # of an address or form: whose the thing is
ZONE: Final = "oborona-zone"  # written by static/keys.js
PART_AWAY: Final = frozenset({403, 404, 500, 502, AWAY, SLOW})
YEAR_S: Final = 365 * 86400

T = TypeVar("T")


class Visit(DeskVisit):
    """A request that is being answered.

    Args:
        request: its head.
        console: what all share.
        address: of the browser.
        word: of a proxy, who is signed in; None: nobody is believed.
    """

    def __init__(
        self,
        request: web.BaseRequest,
        console: ConsoleParts,
        address: str,
        word: ProxyWord | None = None,
    ) -> None:
        self.request = request
        self.word = word
        self.token = request.cookies.get(SESSION, "")
        agent = request.headers.get("User-Agent", "")
        super().__init__(console, CallerPlace(self.token, address, agent))
        self.path = request.rel_url.raw_path
        self.parts: Mapping[str, str] = {}
        self.error_id = ""
        self._guest = request.cookies.get(GUEST, "")
        self._new_guest = False

    # what was asked

    @property
    def partial(self) -> bool:
        """Whether a script asks for a piece of a page that is there."""
        return self.request.headers.get("HX-Request", "").lower() == "true"

    def query(self, name: str) -> str:
        """Return a word behind the question mark, without blanks around it; empty: none."""
        return self.request.rel_url.query.get(name, "").strip()

    def url(self, **changed: str) -> str:
        """Return the address of this page with words of its query changed; empty takes one away."""
        words = [
            (name, value)
            for name, value in self.request.rel_url.query.items()
            if name not in changed
        ]
        words += [(name, value) for name, value in changed.items() if value]
        return f"{self.path}?{urlencode(words, errors='replace')}" if words else self.path

    @property
    def back(self) -> str:
        """Where to come back to: this page, or the first one where it is the answer to a form."""
        return self.url() if self.request.method in {"GET", "HEAD"} else "/"

    @property
    def menu(self) -> list[PageDeclaration]:
        """The pages of the menu that this person may open."""
        if self.person is None:
            return []
        rights, whole = self.person.rights, self.person.sees_all_mail
        found = [
            one
            for one in self.console.pages
            if one.menu and one.is_for(rights) and (whole or not one.whole)
        ]
        return sorted(found, key=lambda one: one.order)

    def leads(self, path: str, method: str = "GET") -> bool:
        """Return whether a path is that of a page which this person may use: for links to it."""
        found = self.console.routes.find(path.partition("?")[0])[0].get(method)
        rights = self.person.rights if self.person is not None else ()
        return found is not None and (found.public or found.is_for(rights))

    # forms

    @property
    def origin(self) -> str:
        """The address under which the browser sees these pages, as far as it tells; else empty."""
        told = self.request.headers.get("Origin", "")
        return told if told.startswith(("https://", "http://")) else ""

    @property
    def session_key(self) -> str:
        """What forms of this browser are tied to."""
        if self.token:
            return self.token
        if not self._guest:
            self._guest, self._new_guest = secrets.token_urlsafe(16), True
        return self._guest

    def form_token(self) -> str:
        """Return a token for a form of the page that is being made."""
        return self.console.tokens.make(self.session_key)

    # answers

    def render(self, template: str, status: int = 200, /, **values: object) -> web.Response:
        """Return a page."""
        words = self.console.templates.render(template, visit=self, **values)
        answer = console_answer.html_answer(self.request, words, status)
        if self._new_guest:
            keep_cookie(answer, GUEST, self._guest)
        return answer

    def go(self, url: str) -> web.Response:
        """Send the browser to another page."""
        answer = console_answer.redirect(url)
        if self.partial:
            answer = web.Response(headers={"HX-Redirect": url, "Cache-Control": "no-store"})
        return answer

    def csv(
        self, name: str, heads: Sequence[str], rows: Iterable[Sequence[object]]
    ) -> web.Response:
        """Return a table as CSV, for `?as=csv`."""
        return console_answer.csv_file(self.request, name, heads, rows)

    def json(self, name: str, words: object) -> web.Response:
        """Return what a page shows as JSON, for `?as=json`."""
        return console_answer.json_file(self.request, name, words)

    def text(self, name: str, words: str) -> web.Response:
        """Return lines of text that are saved as a file."""
        return console_answer.text_file(self.request, name, words)

    @property
    def signed_in(self) -> ConsolePerson:
        """Who is signed in: a page that is not public has somebody."""
        return cast("ConsolePerson", self.person)
