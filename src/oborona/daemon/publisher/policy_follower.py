"""A worker's policy: the one in force on the page, loaded from its copy before it comes into force.

What is offered is loaded in a thread and said to be ready; the switch is one look at the page when
a message begins, and costs no waiting.  A worker that was late loads what is in force before it
judges, for `LATE_S` at most: then it judges by what it has, and an error says so.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.daemon.publisher.code import PublishedCode
from oborona.daemon.publisher.page import NOTHING, PolicyPage, version_of
from oborona.daemon.publisher.snapshots import snapshot_folder
from oborona.doorbell import Doorbell
from oborona.errors import PolicyError, StoreError
from oborona.policy.expression import FactSchema
from oborona.policy.folders import PolicyFolders
from oborona.policy.load import Policy, load_policy
from oborona.policy.load_cache import PolicyCache
from oborona.telemetry.log import event

LATE_S: Final = 3.0  # that a message waits for a policy which its worker was late to load
RETRY_S: Final = 1.0  # after a policy in force could not be loaded
START_S: Final = 10.0  # at a start, while what is in force changes

log = logging.getLogger("oborona.policy")


class FollowedPolicy:
    """The policy that a worker judges by.

    Args:
        state: state folder.
        worker: its number.
        schema: the facts that rules may name.
        key: of this service, as its publisher has it.
        source: the folders of which there are copies, as errors name them.
        before: what was known of policies before the fork, shared with other workers until it
            changes; None = nothing.
        prepare: called in a thread with a policy before the worker is ready for it, and with the
            one in use.
    """

    def __init__(
        self,
        state: Path,
        worker: int,
        schema: FactSchema,
        key: bytes,
        source: Path | PolicyFolders,
        prepare: Callable[[Policy, Policy | None], None] = lambda _next, _current: None,
        *,
        before: PolicyCache | None = None,
    ) -> None:
        self._folder = state / state_files.POLICY_IN_FORCE
        self._worker = worker
        self._schema = schema
        self._key = key
        self._source = PolicyFolders.of(source)
        self._prepare = prepare
        self._before = before or PolicyCache()
        self._loading: asyncio.Task[None] | None = None
        self._page: PolicyPage | None = None
        self._policy: Policy | None = None
        self._word = NOTHING  # of the policy in use
        self._next: tuple[int, Policy] | None = None  # ready, and not in force yet
        self._failed = NOTHING  # that can't be loaded
        self._failed_at = 0.0  # monotonic

    @property
    def current(self) -> Policy:
        """The policy in use; for what is no message's: those ask `now`."""
        if self._policy is None:
            raise StoreError(f"{self._folder}: no policy was loaded")
        return self._policy

    def begin(self) -> None:
        """Load the policy in force, before there is mail.

        Raises:
            StoreError: there is none, or it can't be loaded.
        """
        self._page = page = PolicyPage(self._folder / state_files.POLICY_PAGE)
        page.enter(self._worker, os.getpid())
        until = time.monotonic() + START_S
        while self._policy is None:
            word = page.active
            try:
                self._policy = self._load(word)
            except StoreError:
                # else it was taken away while we read it
                if page.active == word or time.monotonic() > until:
                    raise
                continue
            self._word = word
            page.is_ready(self._worker, word)

    async def now(self) -> Policy:
        """Return the policy that a message is judged by that begins now; never raises."""
        if self._open_page.active == self._word:
            return self.current
        return await self._switched()

    async def watch(self) -> None:
        """Make ready what is offered, and take what is in force, for ever."""
        # the words lie in memory, which moves no stamp: a ring that was missed is made up for by a
        # look at them each second
        with Doorbell(self._folder / state_files.POLICY_PAGE, anyway=lambda: True) as bell:
            while True:
                await bell.rung()
                page = self._open_page
                if page.active != self._word:
                    await self._switched()
                offered = page.offered
                if offered == self._word:
                    self._next = None  # what was offered is withdrawn
                elif offered != self._failed and not self._is_next(offered):
                    await self._make_ready(offered)

    def leave(self) -> None:
        """Say that nobody need wait for this worker any more; it goes on judging."""
        self._open_page.leave(self._worker)

    @property
    def _open_page(self) -> PolicyPage:
        if self._page is None:
            raise StoreError(f"{self._folder / state_files.POLICY_PAGE}: is not open")
        return self._page

    def _is_next(self, word: int) -> bool:
        return self._next is not None and self._next[0] == word

    async def _switched(self) -> Policy:
        """Take what is in force, loaded now if it was not before."""
        page = self._open_page
        word = page.active
        try:
            async with asyncio.timeout(LATE_S):
                while (word := page.active) != self._word:
                    if self._next is not None and self._next[0] == word:
                        self._word, self._policy = self._next
                        self._next = None
                        page.is_ready(self._worker, word)
                        break
                    if word == self._failed and time.monotonic() - self._failed_at < RETRY_S:
                        break
                    event(log, logging.WARNING, "policy is loaded late", version=version_of(word))
                    await self._make_ready(word)
        except TimeoutError:
            event(
                log,
                logging.ERROR,
                "judged by the old policy: the new one takes long",
                version=version_of(word),
            )
        return self.current

    async def _make_ready(self, word: int) -> None:
        """Wait until a policy is loaded, or another one, that was being loaded already.

        Who gives up ends nothing.
        """
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._loaded(word))
        await asyncio.shield(self._loading)

    async def _loaded(self, word: int) -> None:
        page = self._open_page
        try:
            # in a thread: a list of a million entries takes its time to be read
            self._next = word, await asyncio.to_thread(self._load, word)
        except StoreError as error:
            if word in (page.active, page.offered):  # else it was withdrawn, and taken away
                event(
                    log,
                    logging.ERROR,
                    "policy can't be loaded",
                    version=version_of(word),
                    error=error,
                )
            self._failed, self._failed_at = word, time.monotonic()
            page.set_failed(self._worker, word)
            return
        self._failed = NOTHING
        page.is_ready(self._worker, word)

    def _load(self, word: int) -> Policy:
        """Return a policy from its copy.

        Raises:
            StoreError: it is not there, or not what was published.
        """
        loaded = self._before.loaded(word)
        if loaded is not None:
            self._prepare(loaded, self._policy)
            return loaded
        folder = snapshot_folder(self._folder, word)
        try:
            policy = load_policy(
                self._source.copied(folder),
                self._schema,
                self._before,
                named=self._source,
                to_code=PublishedCode(self._key, folder),
            )
        except PolicyError as error:
            raise StoreError(f"the copy of a policy can't be used: {error}") from error
        if policy.version != version_of(word):
            raise StoreError(f"{folder}: holds the policy {policy.version}")
        self._prepare(policy, self._policy)
        return policy
