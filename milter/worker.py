"""A worker: one event loop that does all the thinking of its share of connections.

    open stores → serve the socket → until SIGTERM: flush counters, look for a changed policy → drain → write what is left

SIGHUP, and any change in the policy folder, load the policy again: whole or not at all; what is wrong is logged once and the old one
stays.  Stores are opened here, after the fork.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import uvloop

from oborona import secret
from oborona.config import Settings
from oborona.counters.store import LmdbCounters
from oborona.errors import StoreError
from oborona.message.shingles import Hasher
from oborona.milter.door import DoorFactory
from oborona.milter.log import event
from oborona.milter.session import Bench, Session
from oborona.policy.facts import SCHEMA
from oborona.policy.scan import Site
from oborona.policy.watch import LivePolicy
from oborona.recheck.ident import Numbers
from oborona.recheck.journal import Journal

WATCH_S: Final = 1.0  # between looks at the policy folder

log = logging.getLogger("oborona.worker")


class Server(Protocol):
    """A transport that serves, native or libmilter."""

    async def drain(self, grace_s: float) -> None:
        """Take no new connections, end those that are idle, wait for the others, cut them after the grace."""
        ...


class Worker:
    """One worker process.

    Args:
        number: 0 and up; workers that run at once have different ones.
        settings: of the site.
        name: authserv-id.
        state: folder of the stores.
        policy: folder of the policy.
        start: starts the transport with a door factory, in the loop.
    """

    def __init__(
        self,
        *,
        number: int,
        settings: Settings,
        name: str,
        state: Path,
        policy: Path,
        start: Callable[[DoorFactory], Awaitable[Server]],
    ) -> None:
        self._number = number
        self._settings = settings
        self._name = name
        self._state = state
        self._policy = LivePolicy(policy, SCHEMA)
        self._start = start
        self._stop = asyncio.Event()
        self._reload = asyncio.Event()
        self._trouble = ""  # of the counters, said once

    def run(self, ready: Callable[[], None]) -> int:
        """Serve until SIGTERM; return the exit status."""
        uvloop.run(self._serve(ready))
        return os.EX_OK

    async def _serve(self, ready: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stop.set)
        loop.add_signal_handler(signal.SIGINT, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload.set)
        keys = secret.load(self._state)
        counters = LmdbCounters(
            self._state / "counters", f"worker-{self._number}", sync_s=self._settings.counters.sync_s
        )
        async with await Journal.open(
            self._state / "journal.db", batch_s=self._settings.journal.batch_s
        ) as journal:
            bench = Bench(
                site=Site(name=self._name, hasher=Hasher(keys.shingles), counters=counters),
                settings=self._settings.milter,
                contact=self._settings.site.contact,
                policy=self._policy,
                counters=counters,
                journal=journal.append,
                numbers=Numbers(self._number),
                signing_key=keys.signature,
                clock=time.time,
            )
            server = await self._start(partial(Session, bench))
            ready()
            async with (
                asyncio.TaskGroup() as chores
            ):  # a chore that fails ends the worker: the supervisor starts another
                running = [chores.create_task(self._flush(counters)), chores.create_task(self._watch())]
                await self._stop.wait()
                await server.drain(self._settings.milter.drain_s)
                for chore in running:
                    chore.cancel()
            self._flush_once(counters)
            counters.close()

    async def _flush(self, counters: LmdbCounters) -> None:
        while True:
            await asyncio.sleep(self._settings.counters.flush_s)
            self._flush_once(counters)

    def _flush_once(self, counters: LmdbCounters) -> None:
        """Counts that can't be written wait in memory; said once for each kind of trouble, and once when it is over."""
        try:
            counters.flush(time.time())
        except StoreError as error:
            if str(error) != self._trouble:
                event(log, logging.ERROR, "counters wait in memory", error=error)
                self._trouble = str(error)
        else:
            if self._trouble:
                event(log, logging.WARNING, "counters are written again")
                self._trouble = ""

    async def _watch(self) -> None:
        while True:
            try:
                async with asyncio.timeout(WATCH_S):
                    await self._reload.wait()
            except TimeoutError:
                pass
            asked = self._reload.is_set()
            self._reload.clear()
            before = self._policy.error
            if self._policy.reload(force=asked):
                event(log, logging.INFO, "policy loaded", version=self._policy.current.version)
            elif self._policy.error is not None and (asked or str(self._policy.error) != str(before)):
                event(log, logging.ERROR, "policy refused, the old one stays", error=self._policy.error)
