"""The engines of a worker, asked about a message all at once, beside our own scan of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from oborona.config import EngineSettings, Settings
from oborona.errors import ConfigError
from oborona.policy.engine_table import EngineName
from oborona.policy.engines import EngineOpinion, PendingOpinions
from oborona.policy.load import Policy
from oborona.policy.local_clients import is_own
from oborona.policy.local_list_match import match_local_lists
from oborona.session.engines.clamd import ClamdClient
from oborona.session.engines.engine import ExternalEngine
from oborona.session.engines.question import EngineClient, EngineQuestion
from oborona.session.engines.rspamd import RspamdClient
from oborona.session.engines.spamd import SpamdClient
from oborona.telemetry.status import EngineStatus
from oborona.types import Envelope, Stage


class ConfiguredEngine(NamedTuple):
    """An engine that is set, and who speaks to it."""

    name: EngineName
    settings: EngineSettings
    client: EngineClient


class EngineQueries:
    """Engines that are being asked about one message.

    Args:
        tasks: one for each; none raises.
    """

    __slots__ = ("_tasks",)

    def __init__(self, tasks: Sequence[asyncio.Task[EngineOpinion]]) -> None:
        self._tasks = tasks

    async def said(self) -> tuple[EngineOpinion, ...]:
        """Return what all of them say."""
        return tuple([await task for task in self._tasks])

    def cancel(self) -> None:
        """Stop asking."""
        for task in self._tasks:
            task.cancel()


class EngineSet:
    """All engines that are set, in a worker.

    Args:
        engines: in the order of their settings.
    """

    def __init__(self, engines: Sequence[ExternalEngine]) -> None:
        self._engines = engines

    def ask(
        self, raw: bytes, envelope: Envelope, size: int, policy: Policy
    ) -> PendingOpinions | None:
        """Begin to ask them: only some about mail of our own people, and none where lists of the
        site decide.
        """
        engines = self._engines
        if is_own(envelope):
            engines = [engine for engine in engines if engine.name in policy.engines.own]
        if (
            not engines
            or match_local_lists(policy.local_lists, envelope, Stage.CONTENT) is not None
        ):
            return None
        question = EngineQuestion(raw, envelope, size)
        loop = asyncio.get_running_loop()
        return EngineQueries([loop.create_task(engine.ask(question)) for engine in engines])

    def status(self) -> dict[str, EngineStatus]:
        """Return how each does."""
        return {engine.name: engine.status() for engine in self._engines}

    async def close(self) -> None:
        """Let go of all."""
        for engine in self._engines:
            await engine.close()


def open_engines(settings: Settings, site: str) -> EngineSet | None:
    """Return the engines that the settings name; None where there are none.

    Args:
        settings: of the site.
        site: our name.

    Raises:
        ConfigError: the file of a password can't be read.
    """
    engines = [
        ExternalEngine(
            engine.name, engine.client, engine.settings, clock=time.monotonic, wall=time.time
        )
        for engine in configured_engines(settings, site, time.time)
    ]
    return EngineSet(engines) if engines else None


def configured_engines(
    settings: Settings, site: str, wall: Callable[[], float]
) -> Iterator[ConfiguredEngine]:
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
        yield ConfiguredEngine(
            "rspamd",
            rspamd,
            RspamdClient(rspamd.address, password=password, most=rspamd.max_questions),
        )
    if spamd.ask:
        yield ConfiguredEngine(
            "spamd", spamd, SpamdClient(spamd.address, site=site, user=spamd.user, clock=wall)
        )
    if clamd.ask:
        yield ConfiguredEngine("clamd", clamd, ClamdClient(clamd.address))


def _password(file: str) -> str:
    if not file:
        return ""
    try:
        return Path(file).read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"engines.rspamd.password_file: {error}") from error
