"""A policy folder, its publisher and the workers that follow it, all in one process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from oborona import state_files
from oborona.daemon.publisher.page import PolicyPage
from oborona.daemon.publisher.policy_follower import FollowedPolicy
from oborona.daemon.publisher.publisher import PolicyPublisher
from oborona.daemon.publisher.reload_socket import ReloadOutcome
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load_cache import PolicyCache

KEY = b"k" * 32
PATIENCE_S = 0.5  # of the publisher, for workers that never get ready here


def rules(score: int) -> str:
    return f'[[rule]]\nname = "MANY_LINKS"\nwhen = "links > 5"\nscore = {score}\n'


class House:
    """One site.

    Args:
        root: an empty folder.
    """

    def __init__(self, root: Path) -> None:
        self.folder, self.state = root / "policy.d", root / "state"
        self.folder.mkdir()
        self.state.mkdir()
        self.write(rules(1))
        self.publisher = self.another()
        self.publisher.begin()
        self.publisher.open()
        self.page = PolicyPage(self.copies / state_files.POLICY_PAGE)

    @property
    def copies(self) -> Path:
        return self.state / state_files.POLICY_IN_FORCE

    def another(self, patience_s: float = PATIENCE_S) -> PolicyPublisher:
        """Return a publisher as its parent makes it."""
        return PolicyPublisher(self.folder, SCHEMA, self.state, KEY, patience_s=patience_s)

    def write(self, text: str, name: str = "10.toml") -> None:
        (self.folder / name).write_text(text)

    def worker(self, number: int = 0, before: PolicyCache | None = None) -> FollowedPolicy:
        """Return a worker's policy, begun."""
        followed = FollowedPolicy(self.state, number, SCHEMA, KEY, self.folder, before=before)
        followed.begin()
        return followed

    async def reload(self) -> ReloadOutcome:
        """Ask for a reload, beside the loop in which the workers live."""
        outcome = await asyncio.to_thread(self.publisher.look, asked=True)
        assert outcome is not None
        return outcome

    @asynccontextmanager
    async def workers(self, count: int = 2) -> AsyncIterator[list[FollowedPolicy]]:
        """Have workers that follow."""
        followed = [self.worker(number) for number in range(count)]
        watching = [asyncio.create_task(one.watch()) for one in followed]
        yield followed
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)


async def score(followed: FollowedPolicy) -> float:
    """Return the score of the one rule, by the policy that a message is judged by now."""
    return float((await followed.now()).rules[0].score)


def dead_pid() -> int:
    """Return the number of a process that has ended."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid
