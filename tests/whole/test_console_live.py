"""The console before a real desk: who starts the daemon follows the link that it prints, sets a
password, and every page of the menu opens on the new site.
"""

from __future__ import annotations

import http.client
import re
import socket
import time
from collections.abc import Iterator
from html import unescape
from typing import Final
from urllib.parse import urlencode

import pytest

from oborona.console.declaration import PageDeclaration
from oborona.console.page_list import load_pages
from oborona.people.rights import ROLE_RIGHTS, Role
from tests.peers.oborona import Oborona
from tests.peers.ports import free_port

PASSWORD: Final = "correct horse battery staple"
PATIENCE_S: Final = 20.0
MENU: Final = [
    one
    for one in load_pages()
    if one.menu and "{" not in one.path and one.is_for(ROLE_RIGHTS[Role.ADMIN])
]


class LiveBrowser:
    """Somebody's browser, as far as cookies and forms go.

    Args:
        port: of the console.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._cookies: dict[str, str] = {}

    def open(self, path: str, form: dict[str, str] | None = None) -> tuple[int, str]:
        """Open a page, or send a form to it; return the status and the page."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_S)
        headers = {
            "Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items()),
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        body = None if form is None else urlencode(form)
        connection.request("GET" if form is None else "POST", path, body, headers)
        answer = connection.getresponse()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self._cookies[key] = rest.partition(";")[0]
        words = answer.read().decode()
        connection.close()
        return answer.status, words

    def send(self, path: str, **fields: str) -> int:
        """Fill in the form of a page; return the status."""
        _, page = self.open(path)
        token = re.search(r'name="token" value="([^"]+)"', page)
        assert token is not None, page
        return self.open(path, {"token": unescape(token[1]), **fields})[0]


@pytest.fixture(scope="module")
def daemon() -> Iterator[tuple[Oborona, LiveBrowser]]:
    port = free_port()
    settings = {
        "worker.processes": 1,
        "console.enabled": "true",
        "console.listen": f"inet:127.0.0.1:{port}",
    }
    with Oborona(settings) as oborona:
        link = re.search(r"http://127\.0\.0\.1:\d+(/link/\S+)", oborona.log())
        assert link is not None, oborona.log()
        _await(port)
        browser = LiveBrowser(port)
        assert browser.send(link[1], password=PASSWORD, again=PASSWORD) == 303
        yield oborona, browser


def _await(port: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < until, "the console never listened"
            time.sleep(0.05)
        else:
            return


@pytest.mark.parametrize("one", MENU, ids=lambda one: one.path)
def test_a_page_opens_on_a_new_site(
    daemon: tuple[Oborona, LiveBrowser], one: PageDeclaration
) -> None:
    status, page = daemon[1].open(one.path)
    assert status == 200, page
    assert "A fault of ours" not in page
    assert 'aria-current="page"' in page
