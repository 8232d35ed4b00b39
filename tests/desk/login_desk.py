"""A site's desk on a socket file, with settings that a test says."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from oborona import state_files
from oborona.desk.configured_site import SiteSource
from oborona.desk.followed_site import FollowedSite
from oborona.desk.process import desk_server
from oborona.people.store import PeopleStore

ROOT = Path(__file__).resolve().parents[2]


class LoginDesk:
    """What tests speak to."""

    def __init__(self, session: aiohttp.ClientSession, state: Path, path: Path) -> None:
        self.session, self.state, self.path = session, state, path

    async def call(
        self, name: str, /, *, bearer: str = "", place: str = "192.0.2.1", **told: object
    ) -> tuple[int, Any]:
        headers = {"X-Client-Address": place, "X-Client-Agent": "a browser"}
        if bearer:
            headers["Authorization"] = f"Bearer {bearer}"
        async with self.session.post(
            f"http://desk/v1/{name}", json=told, headers=headers
        ) as answer:
            return answer.status, await answer.json()

    def people(self) -> PeopleStore:
        return PeopleStore(self.state / state_files.PEOPLE)


@asynccontextmanager
async def login_desk(folder: Path, settings: Mapping[str, str]) -> AsyncIterator[LoginDesk]:
    state, path = folder / "state", folder / "desk.sock"
    state.mkdir(exist_ok=True)
    source = SiteSource(ROOT / "etc/oborona.toml", {"paths.state": str(state), **settings})
    server = desk_server(FollowedSite(source, lambda _text: None))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.setblocking(False)
        await server.start(listener)
        async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as session:
            yield LoginDesk(session, state, path)
        await server.drain(2)
    path.unlink()
