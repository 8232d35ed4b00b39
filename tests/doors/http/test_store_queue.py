"""Requests of accounts that wait for another process take no thread from the worker's chores."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from oborona import state_files
from oborona.accounts.store.accounts import AccountStore
from oborona.doors.http.store_queue import AT_ONCE, MOST_WAITING, StoreQueue
from oborona.errors import StoreBusy
from tests.doors.http.account_site import ACTOR, ask, door, fill


async def test_so_many_work_at_once_and_so_many_wait() -> None:
    queue, gate = StoreQueue(), threading.Event()
    running, most, lock = 0, 0, threading.Lock()

    def work() -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gate.wait(60)
        with lock:
            running -= 1
        return 7

    tasks = [asyncio.create_task(queue.work(work)) for _ in range(AT_ONCE + MOST_WAITING)]
    try:
        async with asyncio.timeout(60):
            while running < AT_ONCE:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        with pytest.raises(StoreBusy):
            await queue.work(work)
    finally:
        gate.set()
        found = await asyncio.gather(*tasks)
    assert found == [7] * (AT_ONCE + MOST_WAITING)
    assert most == AT_ONCE
    assert await queue.work(work) == 7, "their places are free again"


async def test_what_fails_or_is_given_up_leaves_its_place() -> None:
    queue, gate = StoreQueue(), threading.Event()

    def fail() -> None:
        raise ValueError("broken")

    for _ in range(AT_ONCE + 1):
        with pytest.raises(ValueError, match="broken"):
            await queue.work(fail)
    holding = [asyncio.create_task(queue.work(lambda: gate.wait(60))) for _ in range(AT_ONCE)]
    waiting = [asyncio.create_task(queue.work(lambda: True)) for _ in range(MOST_WAITING)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    last = asyncio.create_task(queue.work(lambda: True))
    gate.set()
    assert await last
    assert all(await asyncio.gather(*holding))


async def test_a_worker_s_chores_go_on_while_others_write(open_folder: Path) -> None:
    fill(open_folder)
    async with door(open_folder).serving() as at:
        with AccountStore(open_folder / state_files.ACCOUNTS) as store, store.transaction():
            asking = [
                asyncio.create_task(
                    ask(
                        at,
                        "/v1/accounts/joe/ban",
                        ACTOR,
                        method="POST",
                        body=b'{"reason": "x"}',
                        headers={"Content-Type": "application/json"},
                    )
                )
                for _ in range(20)
            ]
            await asyncio.sleep(0.3)
            began = time.monotonic()
            await asyncio.to_thread(int)
            took = time.monotonic() - began
        assert {status for status, _ in await asyncio.gather(*asking)} == {200}
    assert took < 2.0, "BUSY_S is 5"
