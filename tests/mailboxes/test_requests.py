"""Requests to one server: their number, their owners, and those that nobody waits for any
longer.
"""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from oborona.errors import PeerError
from oborona.recheck.mailboxes.requests import GIVE_UP, MailServerRequests

SOON_S = 0.02
LATE_S = 20.0


async def test_so_many_at_once_and_one_for_an_owner() -> None:
    requests = MailServerRequests(2, deadline_s=LATE_S)
    running: list[str] = []
    most = 0

    async def work(owner: str) -> str:
        nonlocal most
        assert owner not in running
        running.append(owner)
        most = max(most, len(running))
        await asyncio.sleep(0.001)
        running.remove(owner)
        return owner

    owners = ["joe", "ann", "joe", "max", "ann", "joe"] * 3
    assert (
        await asyncio.gather(*(requests.run({one}, partial(work, one)) for one in owners)) == owners
    )
    assert most == 2
    await requests.close()


async def test_who_waits_no_longer_leaves_his_request_and_its_owner_taken() -> None:
    requests = MailServerRequests(2, deadline_s=SOON_S)
    end = asyncio.Event()
    made = 0

    async def slow() -> None:
        nonlocal made
        made += 1
        await end.wait()

    async def quick() -> str:
        return "answer"

    with pytest.raises(PeerError, match="no answer within"):
        await requests.run({"joe"}, slow)
    with pytest.raises(PeerError, match="still on the way"):
        await requests.run({"joe", "ann"}, slow)
    assert made == 1
    assert await requests.run({"ann"}, quick) == "answer"
    end.set()
    assert await requests.run({"joe"}, quick) == "answer"
    await requests.close()


async def test_who_is_cancelled_leaves_his_request_running() -> None:
    requests = MailServerRequests(1, deadline_s=LATE_S)
    end, ended = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        await end.wait()
        ended.set()

    call = asyncio.create_task(requests.run({"joe"}, slow))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    end.set()
    await requests.close()
    assert ended.is_set()


async def test_a_server_that_does_not_answer_is_asked_no_longer_and_once_more_in_the_next_call() -> (
    None
):
    requests = MailServerRequests(1, deadline_s=LATE_S)
    made = 0

    async def away() -> None:
        nonlocal made
        made += 1
        raise PeerError("away")

    async def fine() -> int:
        return 1

    requests.anew()
    for _ in range(GIVE_UP + 5):
        with pytest.raises(PeerError):
            await requests.run({"joe"}, away)
    assert made == GIVE_UP
    requests.anew()
    for _ in range(3):
        with pytest.raises(PeerError):
            await requests.run({"joe"}, away)
    assert made == GIVE_UP + 1
    requests.anew()
    assert await requests.run({"joe"}, fine) == 1
    assert await requests.run({"joe"}, fine) == 1
    await requests.close()


async def test_closing_ends_who_waits_and_begins_nothing() -> None:
    requests = MailServerRequests(1, deadline_s=LATE_S)
    end = asyncio.Event()

    async def slow() -> str:
        await end.wait()
        return "done"

    first = asyncio.create_task(requests.run({"joe"}, slow))
    await asyncio.sleep(0.001)
    second = asyncio.create_task(requests.run({"ann"}, slow))
    await asyncio.sleep(0.001)
    closing = asyncio.create_task(requests.close())
    with pytest.raises(PeerError, match="closed"):
        await second
    end.set()
    await closing
    assert await first == "done"
    with pytest.raises(PeerError, match="closed"):
        await requests.run({"joe"}, slow)
