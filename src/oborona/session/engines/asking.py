"""The engines of a worker, asked about a message all at once, beside our own scan of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from oborona.config import Engine as EngineSettings
from oborona.config import Settings
from oborona.errors import ConfigError
from oborona.policy.engine_table import EngineName
from oborona.policy.engines import Asked, EngineSays
from oborona.policy.load import Policy
from oborona.policy.local import match
from oborona.policy.own import is_own
from oborona.session.engines.clamd import Clamd
from oborona.session.engines.engine import Engine
from oborona.session.engines.question import Client, Question
from oborona.session.engines.rspamd import Rspamd
from oborona.session.engines.spamd import Spamd
from oborona.telemetry.status import EngineStatus
from oborona.types import Envelope, Stage


class Spoken(NamedTuple):
    """An engine that is set, and who speaks to it."""

    name: EngineName
    settings: EngineSettings
    client: Client


class Being:
    """Engines that are being asked about one message.

    Args:
        tasks: one for each; none raises.
    """

    __slots__ = ("_tasks",)

    def __init__(self, tasks: Sequence[asyncio.Task[EngineSays]]) -> None:
        self._tasks = tasks

    async def said(self) -> tuple[EngineSays, ...]:
        """Return what all of them say."""
        return tuple([await task for task in self._tasks])

    def cancel(self) -> None:
        """Stop asking."""
        for task in self._tasks:
            task.cancel()


class Beside:
    """All engines that are set, in a worker.

    Args:
        engines: in the order of their settings.
    """

    def __init__(self, engines: Sequence[Engine]) -> None:
        self._engines = engines

    def ask(self, raw: bytes, envelope: Envelope, size: int, policy: Policy) -> Asked | None:
        """Begin to ask them: only some about mail of our own people, and none where lists of the
        site decide.
        """
        wanted = self._engines
        if is_own(envelope):
            wanted = [one for one in wanted if one.name in policy.engines.own]
        if not wanted or match(policy.local_lists, envelope, Stage.CONTENT) is not None:
            return None
        question = Question(raw, envelope, size)
        loop = asyncio.get_running_loop()
        return Being([loop.create_task(one.ask(question)) for one in wanted])

    def status(self) -> dict[str, EngineStatus]:
        """Return how each does."""
        return {one.name: one.status() for one in self._engines}

    async def close(self) -> None:
        """Let go of all."""
        for one in self._engines:
            await one.close()


def open_engines(settings: Settings, site: str) -> Beside | None:
    """Return the engines that the settings name; None where there are none.

    Args:
        settings: of the site.
        site: our name.

    Raises:
        ConfigError: the file of a password can't be read.
    """
    found = [
        Engine(one.name, one.client, one.settings, clock=time.monotonic, wall=time.time)
        for one in spoken(settings, site, time.time)
    ]
    return Beside(found) if found else None


def spoken(settings: Settings, site: str, wall: Callable[[], float]) -> Iterator[Spoken]:
    """Yield the engines that the settings name.

    Args:
        settings: of the site.
        site: our name.
        wall: Unix seconds.

    Raises:
        ConfigError: the file of a password can't be read.
    """
    rspamd, spamd, clamd = settings.engines.rspamd, settings.engines.spamd, settings.engines.clamd
    if rspamd.ask:
        password = _password(rspamd.password_file)
        yield Spoken(
            "rspamd", rspamd, Rspamd(rspamd.address, password=password, most=rspamd.max_questions)
        )
    if spamd.ask:
        yield Spoken("spamd", spamd, Spamd(spamd.address, site=site, user=spamd.user, clock=wall))
    if clamd.ask:
        yield Spoken("clamd", clamd, Clamd(clamd.address))


def _password(file: str) -> str:
    if not file:
        return ""
    try:
        return Path(file).read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"engines.rspamd.password_file: {error}") from error
