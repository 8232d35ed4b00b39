"""The reader's children, real ones: killed at their limits, replaced, confined.

And the desk before them.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oborona.daemon.reader import picture_queue as desks
from oborona.daemon.reader.picture_queue import PICTURES, PictureQueue
from oborona.daemon.reader.pool import STARTED
from oborona.daemon.reader.wire import PictureOutcome, PictureResult, ReaderTask
from tests.daemon.reader.plans import ask, desk, eventually, plan

Make = Callable[..., PictureQueue]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    made: list[PictureQueue] = []

    def one(**changes: Any) -> PictureQueue:
        made.append(desk(**changes))
        return made[-1]

    yield one
    for each in made:
        await each.close()


@asynccontextmanager
async def tended(at: PictureQueue) -> AsyncIterator[None]:
    """Tend a desk meanwhile.

    Afterwards it is not being tended any more, and no start is half done.
    """
    tending = asyncio.create_task(at.tend())
    try:
        yield
    finally:
        tending.cancel()
        await asyncio.gather(tending, return_exceptions=True)


def text(result: PictureResult) -> str:
    assert result.outcome is PictureOutcome.DONE, result
    return result.found.text


def children(at: PictureQueue, task: ReaderTask = ReaderTask.READ) -> list[int]:
    return at.pools[task].pids


def runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_a_child_is_started_with_the_first_picture_and_serves_the_next(make: Make) -> None:
    at = make()
    assert not children(at)
    first, second = text(await ask(at, "one")).split()[1], text(await ask(at, "two")).split()[1]
    assert first == second
    assert children(at) == [int(first)]


@pytest.mark.parametrize("what", ["hang", "spin"])
async def test_what_takes_too_long_is_killed_and_the_next_picture_is_served(
    make: Make, what: str
) -> None:
    at = make(limit_s=0.3)
    text(await ask(at, "warm"))
    (before,) = children(at)
    started = time.monotonic()
    assert await ask(at, what) == PictureResult(PictureOutcome.STOPPED)
    assert time.monotonic() - started < 1.5
    assert not runs(before)
    assert text(await ask(at, "next")).split()[1] != str(before)


async def test_what_takes_too_much_memory_is_stopped_and_the_next_has_all_of_it(make: Make) -> None:
    at = make()
    assert text(await ask(at, "eat 40")) == "40 MiB"
    assert await ask(at, "eat 200") == PictureResult(PictureOutcome.STOPPED)
    assert text(await ask(at, "eat 41")) == "41 MiB"


@pytest.mark.parametrize("kill", [True, False])
async def test_a_child_that_dies_over_a_picture_costs_that_picture(make: Make, kill: bool) -> None:
    at = make()
    text(await ask(at, "warm"))
    (before,) = children(at)
    asked = asyncio.create_task(ask(at, "hang" if kill else "crash"))
    if kill:
        await asyncio.sleep(0.1)
        os.kill(before, signal.SIGKILL)
    assert await asked == PictureResult(PictureOutcome.STOPPED)
    assert text(await ask(at, "next")).split()[1] != str(before)


async def test_a_child_that_died_while_it_rested_costs_nothing(make: Make) -> None:
    at = make()
    text(await ask(at, "warm"))
    os.kill(children(at)[0], signal.SIGKILL)
    await eventually(lambda: not at.pools[ReaderTask.READ]._idle[0].lives)
    assert (await ask(at, "next")).outcome is PictureOutcome.DONE


async def test_a_fault_of_ours_is_logged_and_the_child_goes_on(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    at = make()
    before = text(await ask(at, "warm")).split()[1]
    assert await ask(at, "bug") == PictureResult(PictureOutcome.FAILED)
    assert "ValueError: a bug" in str(caplog.records[-1].__dict__)
    assert text(await ask(at, "next")).split()[1] == before


@pytest.mark.parametrize(
    "what", ["open", "write /tmp/oborona-reader-was-here", "connect", "fork", "signal {own}"]
)
async def test_a_child_can_compute_and_answer_and_nothing_else(make: Make, what: str) -> None:
    assert text(await ask(make(), what.format(own=os.getpid()))) == "PermissionError"


async def test_a_child_is_behind_other_work(make: Make) -> None:
    at = make()
    text(await ask(at, "warm"))
    assert (
        os.getpriority(os.PRIO_PROCESS, children(at)[0]) == os.getpriority(os.PRIO_PROCESS, 0) + 3
    )


async def test_a_picture_is_known_after_the_first_time_and_shared_during_it(make: Make) -> None:
    at = make()
    both = await asyncio.gather(ask(at, "pause 0.2"), ask(at, "pause 0.2"))
    assert both[0] == both[1] == await ask(at, "pause 0.2")
    assert PICTURES.values == {("read", "done"): 1, ("read", "shared"): 1, ("read", "known"): 1}


async def test_a_picture_that_had_a_child_killed_is_not_tried_again_at_once(make: Make) -> None:
    at = make(limit_s=0.2)
    for _ in range(3):
        assert await ask(at, "hang") == PictureResult(PictureOutcome.STOPPED)
    assert PICTURES.values == {("read", "stopped"): 1, ("read", "known"): 2}
    assert STARTED.value("read") == 1


async def test_the_oldest_results_are_forgotten(make: Make) -> None:
    at = make(cache_entries=2)
    for what in ("a", "b", "c", "b", "a"):
        await ask(at, what)
    assert PICTURES.values == {("read", "done"): 4, ("read", "known"): 1}


async def test_what_is_kept_is_bounded_by_what_it_takes_in_memory(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desks, "CACHE_BYTES", 2000)
    at = make()
    for what in ("a", "b", "c", "b", "a"):
        await ask(at, what)
    assert PICTURES.values == {("read", "done"): 4, ("read", "known"): 1}


async def test_who_goes_away_leaves_the_work_to_who_stays(make: Make) -> None:
    at = make()
    await ask(at, "warm")
    gone = asyncio.create_task(ask(at, "pause 0.3"))
    await asyncio.sleep(0.05)
    gone.cancel()
    assert text(await ask(at, "pause 0.3")).startswith("pause")
    assert PICTURES.value("read", "shared") == 1


async def test_as_many_work_as_are_asked_for_and_no_more(make: Make) -> None:
    at = make(processes=2)
    results = await asyncio.gather(*(ask(at, f"pause 0.1{number}") for number in range(6)))
    assert len({text(one).split()[1] for one in results}) == 2
    assert len(children(at)) == 2


async def test_when_too_many_wait_the_answer_is_no_at_once(make: Make) -> None:
    at = make(queue=2)
    await ask(at, "warm")
    asked = [asyncio.create_task(ask(at, what)) for what in ("pause 1", "pause 0.1", "pause 0.11")]
    await asyncio.sleep(0.05)
    assert await ask(at, "more") == PictureResult(PictureOutcome.REFUSED)
    assert not any(one.done() for one in asked)
    assert {one.outcome for one in await asyncio.gather(*asked)} == {PictureOutcome.DONE}
    assert (await ask(at, "more")).outcome is PictureOutcome.DONE, "a refusal is not remembered"


async def test_what_waits_is_bounded_by_octets(make: Make) -> None:
    at = make(queue_bytes=1000)
    await ask(at, "warm")
    asked = asyncio.create_task(ask(at, "pause 1"))
    await asyncio.sleep(0.05)
    assert await ask(at, "large " + "x" * 1000) == PictureResult(PictureOutcome.REFUSED)
    await asked


async def test_what_a_mail_server_waits_for_goes_before_the_rest_even_if_it_came_later(
    make: Make,
) -> None:
    at, order = make(), list[str]()

    async def one(what: str, *, urgent: bool) -> None:
        await ask(at, what, urgent=urgent)
        order.append(what)

    await ask(at, "warm")
    asked = [asyncio.create_task(one("pause 0.2", urgent=False))]
    for what, urgent in (
        ("late-1", False),
        ("late-2", False),
        ("late-3", False),
        ("now", True),
        ("late-2", True),
    ):
        await asyncio.sleep(0.01)
        asked.append(asyncio.create_task(one(what, urgent=urgent)))
    await asyncio.gather(*asked)
    assert order == ["pause 0.2", "late-2", "late-2", "now", "late-1", "late-3"]


async def test_a_queue_of_reading_does_not_delay_a_look(make: Make) -> None:
    at = make()
    await ask(at, "warm", task=ReaderTask.LOOK)
    reading = [asyncio.create_task(ask(at, f"pause 1.5{number}")) for number in range(3)]
    await asyncio.sleep(0.05)
    assert (await ask(at, "look", task=ReaderTask.LOOK)).outcome is PictureOutcome.DONE
    assert not any(one.done() for one in reading)
    for one in reading:
        one.cancel()
    await asyncio.gather(*reading, return_exceptions=True)


async def test_a_child_is_replaced_after_many_pictures_and_ended_after_a_long_rest(
    make: Make,
) -> None:
    at = make(jobs=2, idle_s=0.2)
    pids = [text(await ask(at, what)).split()[1] for what in ("a", "b", "c")]
    assert pids[0] == pids[1] != pids[2]
    async with tended(at):
        await eventually(lambda: not runs(int(pids[2])))
        assert not children(at)


async def test_one_that_is_kept_is_there_before_the_first_picture_and_stays(make: Make) -> None:
    at = make(kept=1, processes=2, idle_s=0.2)
    async with tended(at):
        await eventually(lambda: len(children(at)) == 1)
        (kept,) = children(at)
        await asyncio.gather(*(ask(at, f"pause 0.1{number}") for number in range(2)))
        assert len(children(at)) == 2
        await eventually(lambda: len(children(at)) == 1)
        await asyncio.sleep(1.2)
        assert len(children(at)) == 1, "a rest does not end it"
        os.kill(children(at)[0], signal.SIGKILL)
        await eventually(lambda: len(children(at)) == 1 and children(at) != [kept])


async def test_a_picture_that_comes_while_one_is_started_to_be_kept_waits_for_it(
    make: Make,
) -> None:
    at = make(kept=1)
    async with tended(at):
        await asyncio.sleep(0.01)
        assert (await ask(at, "first")).outcome is PictureOutcome.DONE
        assert STARTED.value("read") == 1


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_a_start_that_is_given_up_leaves_nothing_open(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_words: object, **_how: object) -> None:
        await asyncio.sleep(3600)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", never)
    gc.collect()  # what other tests left
    before = descriptors()
    starting = asyncio.create_task(make().pools[ReaderTask.READ]._start())
    await eventually(lambda: descriptors() > before)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    gc.collect()  # a socket that was left open is a warning here, and so an error
    await eventually(lambda: descriptors() <= before)


async def test_work_that_cannot_be_prepared_is_said_once_and_is_no_error(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    at = make(orders=msgspec.structs.replace(plan().orders, languages="none"))
    for what in ("a", "b"):
        assert await ask(at, what) == PictureResult(PictureOutcome.UNABLE)
    told = [record for record in caplog.records if record.message == "no process for pictures"]
    assert len(told) == 1
    assert "no such language" in str(told[0].__dict__)


async def test_children_end_with_whoever_started_them(tmp_path: Path) -> None:
    program = (
        "import asyncio, os, signal\nfrom tests.daemon.reader.plans import ask, desk\n"
        "async def main():\n at = desk()\n print((await ask(at, 'one')).found.text.split()[1], "
        "flush=True)\n"
        " os.kill(os.getpid(), signal.SIGKILL)\nasyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    said, _ = await process.communicate()
    await eventually(lambda: not runs(int(said)))
