"""The console on a port of loopback, before a desk that answers what a test says; and a browser.

All of it lives on one event loop for the whole run: tests that use it are marked
`pytest.mark.asyncio(loop_scope="session")`.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from oborona.console.desk_client import DeskClient
from oborona.console.lasting_parts import lasting_parts
from oborona.console.server import ConsoleServer
from tests.console import try_page
from tests.console.stub_desk import StubDesk

assert try_page.PATH  # it is a page from here on
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


class RunningConsole:
    """What tests speak to.

    Args:
        server: of the console.
        desk: behind it.
        url: of the console, without a slash at the end.
    """

    def __init__(self, server: ConsoleServer, desk: StubDesk, url: str) -> None:
        self.server = server
        self.desk = desk
        self.url = url


@asynccontextmanager
async def open_console() -> AsyncIterator[RunningConsole]:
    """A console before a desk that answers what it is told to."""
    folder = Path(tempfile.mkdtemp(prefix="oborona-console-"))
    desk = StubDesk(folder / "desk.sock")
    await desk.start()
    client = DeskClient(desk.path)
    server = ConsoleServer(client, parts=lasting_parts(pseudo=True))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        await server.start(listening)
        port = listening.getsockname()[1]
        yield RunningConsole(server, desk, f"http://127.0.0.1:{port}")
        await server.drain(0.1)
    await client.close()
    await desk.stop()
    shutil.rmtree(folder)


@asynccontextmanager
async def open_browser() -> AsyncIterator[Browser]:
    """Debian's chromium."""
    async with async_playwright() as playwright:
        options: dict[str, Any] = {"executable_path": CHROMIUM, "args": ARGUMENTS}
        found = await playwright.chromium.launch(**options)
        yield found
        await found.close()


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def _running() -> AsyncIterator[RunningConsole]:
    async with open_console() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def console(_running: RunningConsole) -> RunningConsole:
    """The console, its desk as new."""
    _running.desk.reset()
    return _running


@pytest_asyncio.fixture(loop_scope="session")
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    """A client that keeps no cookies and follows nothing."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield session


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Debian's chromium."""
    async with open_browser() as found:
        yield found
