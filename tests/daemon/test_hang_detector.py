"""When a silent process is held to hang, and how a process beats."""

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona import heartbeat
from oborona.daemon import hang_detector as watching
from oborona.daemon.hang_detector import STARTING_S, CpuUsage, HangDetector, cpu_usage
from oborona.heartbeat import LEAST_S, MOST_S, Heartbeat, StopSignal, beat_forever, beat_interval_s

LOOK_S = 3.0
HUNG_S = 15.0
NONE = CpuUsage(0.0, 0.0)


def test_silence_is_what_was_watched() -> None:
    silence = HangDetector(LOOK_S, 0.0)
    silence.look(1, NONE, LOOK_S)
    for look in range(2, 7):
        assert not silence.hangs(HUNG_S)
        silence.look(1, NONE, LOOK_S * look)
    assert silence.seconds == HUNG_S
    assert silence.hangs(HUNG_S)


def test_a_beat_ends_it() -> None:
    silence = HangDetector(LOOK_S, 0.0)
    for look in range(1, 100):
        silence.look(look // 3, NONE, LOOK_S * look)
        assert not silence.hangs(HUNG_S)


@given(st.floats(0, 1e7))
def test_a_pause_of_the_watcher_is_one_look(pause_s: float) -> None:
    silence = HangDetector(LOOK_S, 0.0)
    silence.look(1, NONE, 1.0)
    silence.look(1, NONE, 1.0 + pause_s)
    assert silence.seconds <= LOOK_S


@given(st.lists(st.tuples(st.floats(0, 60), st.booleans()), max_size=60))
def test_who_beats_once_in_two_looks_never_hangs(looks: list[tuple[float, bool]]) -> None:
    silence, now, beats = HangDetector(LOOK_S, 0.0), 0.0, 0
    for pause_s, beaten in looks:
        beats += 1
        now += pause_s
        silence.look(beats, NONE, now)
        now += pause_s
        beats += beaten
        silence.look(beats, NONE, now)
        assert not silence.hangs(HUNG_S)


def test_waiting_for_a_processor_is_not_hanging() -> None:
    silence = HangDetector(LOOK_S, 0.0)
    silence.look(1, NONE, LOOK_S)
    for look in range(2, 100):
        assert silence.hangs(HUNG_S) == (look > 3 * HUNG_S / LOOK_S + 1)
        silence.look(1, CpuUsage(0.0, LOOK_S * look), LOOK_S * look)


def test_who_computes_spins_and_who_waits_stands_still() -> None:
    for ran, waited, spins in (
        (1.0, 0.0, True),
        (0.6, 0.0, True),
        (0.1, 0.9, True),
        (0.1, 0.0, False),
        (0.0, 0.0, False),
        (0.2, None, True),  # a busy machine, on which nobody tells who waits
        (0.1, None, False),
        (0.0, None, False),
    ):
        silence = HangDetector(LOOK_S, 0.0)
        for look in range(1, 12):
            at = LOOK_S * look
            silence.look(
                1, CpuUsage(40.0 + ran * at, None if waited is None else 20.0 + waited * at), at
            )
        assert silence.spins is spins
        assert silence.ran_s == pytest.approx(ran * LOOK_S * 10)


def test_the_first_beat_may_take_long() -> None:
    silence = HangDetector(LOOK_S, 0.0)
    look = 0
    while not silence.hangs(HUNG_S):
        look += 1
        silence.look(0, NONE, LOOK_S * look)
    assert silence.seconds == STARTING_S


def test_the_kernel_tells_who_waited() -> None:
    """Three processes on one processor: each waits for about two thirds of the time."""
    core = min(os.sched_getaffinity(0))
    children = []
    for _ in range(3):
        if (pid := os.fork()) == 0:
            os.sched_setaffinity(0, {core})
            until = time.monotonic() + 1.0
            while time.monotonic() < until:
                pass
            signal.pause()
        children.append(pid)
    try:
        time.sleep(1.2)
        assert sum(cpu_usage(pid).waited_s or 0.0 for pid in children) > 1.0
        assert 0.0 < sum(cpu_usage(pid).ran_s for pid in children) < 1.5
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_who_is_gone_waited_for_nothing() -> None:
    assert cpu_usage(2**22 + 1) == CpuUsage(0.0, None)


@pytest.mark.parametrize(
    ("hung_s", "interval_s"), [(3.0, LEAST_S), (10.0, 2.0), (15.0, MOST_S), (3600.0, MOST_S)]
)
def test_nobody_is_woken_more_than_once_a_second(hung_s: float, interval_s: float) -> None:
    assert beat_interval_s(hung_s) == interval_s
    assert LEAST_S >= 1.0


@pytest.fixture
def heart() -> Iterator[Heartbeat]:
    one = Heartbeat()
    heartbeat.begin(one, 0.02)
    yield one
    heartbeat.begin(Heartbeat(), MOST_S)


def test_a_loop_that_turns_beats_and_one_that_does_not_is_silent(heart: Heartbeat) -> None:
    async def turn() -> tuple[int, int]:
        alive = asyncio.create_task(beat_forever())
        async with asyncio.timeout(20):
            while heart.beats < 3:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        turned = heart.beats
        time.sleep(0.2)
        hung = heart.beats
        alive.cancel()
        return turned, hung

    turned, hung = asyncio.run(turn())
    assert hung == turned


def test_a_child_beats_in_memory_of_its_parent() -> None:
    heart = Heartbeat()
    if (pid := os.fork()) == 0:
        heart.beat()
        os._exit(0)
    os.waitpid(pid, 0)
    assert heart.beats == 1
    heart.reset()
    assert heart.beats == 0
    heart.close()


@pytest.fixture
def stop() -> Iterator[StopSignal]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield StopSignal()
    for number, handler in before.items():
        signal.signal(number, handler)


def test_waiting_beats_all_along(heart: Heartbeat, stop: StopSignal) -> None:
    began = time.monotonic()
    assert not stop.wait(1.0)
    assert time.monotonic() - began >= 1.0
    assert heart.beats >= 5, "of fifty, if the machine had time"


def test_a_look_at_whether_to_stop_beats(heart: Heartbeat, stop: StopSignal) -> None:
    assert not stop.is_set()
    assert heart.beats == 1


def test_a_signal_stops(stop: StopSignal) -> None:
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
    began = time.monotonic()
    assert stop.wait(30.0)
    assert stop.is_set()
    assert time.monotonic() - began < 10
    assert stop.wait()


def test_a_heartbeat_is_closed_with_its_memory() -> None:
    gc.collect()  # those of other tests would go meanwhile
    before = Path("/proc/self/maps").read_text().count("/dev/zero")
    made = [Heartbeat() for _ in range(10)]
    assert Path("/proc/self/maps").read_text().count("/dev/zero") == before + 10
    for one in made:
        one.close()
    assert Path("/proc/self/maps").read_text().count("/dev/zero") == before


def test_what_a_process_ran_is_known_where_proc_hides_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own clock tells, as /proc does where that can be read."""
    told = cpu_usage(os.getpid())
    monkeypatch.setattr(watching, "Path", lambda _name: Path("/nonexistent"))
    hidden = cpu_usage(os.getpid())
    assert hidden.ran_s >= told.ran_s > 0
    assert hidden.waited_s is None, "nobody tells"
    assert cpu_usage(2**22 + 1).ran_s == 0


def test_what_a_process_takes_is_told_beside_its_beats() -> None:
    own = Heartbeat()
    heartbeat.begin(own, LEAST_S)
    child = os.fork()
    if child == 0:
        more = 0
        try:
            before = heartbeat.own_usage().open_files  # other threads of the parent open some, too
            for _ in range(7):
                os.open(os.devnull, os.O_RDONLY)
            heartbeat.beat_and_tell()
            more = own.usage.open_files - before
        finally:
            os._exit(more)
    _, status = os.waitpid(child, 0)
    told = own.usage
    assert own.beats == 1
    assert os.waitstatus_to_exitcode(status) == 7
    assert told.open_files > 7
    assert told.memory_bytes > 1_000_000
    assert told.cpu_s >= 0
    own.reset()
    assert own.usage == (0, 0, 0.0)
    heartbeat.begin(Heartbeat(), LEAST_S)


def test_a_process_looks_at_what_it_takes_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    usage, looks = heartbeat.own_usage(), 0

    def look() -> heartbeat.ProcessUsage:
        nonlocal looks
        looks += 1
        return usage

    monkeypatch.setattr(heartbeat, "own_usage", look)
    heartbeat.begin(Heartbeat(), LEAST_S)
    for _ in range(100):
        heartbeat.beat_and_tell()
    assert looks == 1
