"""Requests to the console as a browser makes them, without one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from html.parser import HTMLParser

import aiohttp

from oborona.people.rights import Role
from tests.console.conftest import RunningConsole
from tests.console.page_case import PageCase
from tests.console.stub_desk import token_of

FROM_HERE = {"Sec-Fetch-Site": "same-origin"}
GUEST = "__Host-oborona-guest=guest-of-tests"


def cookies(role: Role | None) -> dict[str, str]:
    """Return the header that a browser of this role sends."""
    return {"Cookie": f"__Host-oborona={token_of(role)}" if role is not None else GUEST}


def form_token(console: RunningConsole, role: Role | None) -> str:
    """Return the token of a form of a session."""
    session = token_of(role) if role is not None else GUEST.partition("=")[2]
    return console.server.console.tokens.make(session)


class HttpAnswer:
    """What came.

    Args:
        response: its head.
        text: its body.
    """

    def __init__(self, response: aiohttp.ClientResponse, text: str) -> None:
        self.status = response.status
        self.headers = response.headers
        self.cookies = response.cookies
        self.text = text
        self.shown = " ".join(unescape(re.sub(r"<[^>]*>", "", text)).split())


async def fetch(
    console: RunningConsole, http: aiohttp.ClientSession, case: PageCase, **headers: str
) -> HttpAnswer:
    """Open the page of a case."""
    console.desk.answers |= case.answers
    sent = {**cookies(case.role), **headers}
    if case.form is not None:
        fields = {"token": form_token(console, case.role), **case.form}
        return await send(console, http, case.path, fields, **(FROM_HERE | sent))
    async with http.get(
        f"{console.url}{case.path}", headers=sent, allow_redirects=False
    ) as response:
        return HttpAnswer(response, await response.text())


async def send(
    console: RunningConsole,
    http: aiohttp.ClientSession,
    path: str,
    fields: Mapping[str, str],
    **headers: str,
) -> HttpAnswer:
    """Send a form."""
    async with http.post(
        f"{console.url}{path}", data=fields, headers=headers, allow_redirects=False
    ) as response:
        return HttpAnswer(response, await response.text())


class PageParts(HTMLParser):
    """Links, forms and whatever a page must not have.

    Args:
        text: of the page.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: list[dict[str, str]] = []
        self.inline: list[str] = []
        self.elements: dict[str, int] = {}
        self._posts = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element."""
        told = {name: value or "" for name, value in attrs}
        self.elements[tag] = self.elements.get(tag, 0) + 1
        if tag in {"a", "link"} and "href" in told:
            self.links.append(told["href"])
        if tag == "form":
            self.forms.append(told)
        if tag == "input" and told.get("name") == "token":
            self.forms[-1]["token"] = told.get("value", "")
        if tag == "style" or (tag == "script" and not told.get("src", "").startswith("/static/")):
            self.inline.append(tag)
        self.inline += [name for name in told if name == "style" or name.startswith("on")]
