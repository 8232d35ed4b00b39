"""Notes of what is in flight, in memory that outlives who wrote them."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.raw_message import RawMessage
from oborona.session.cpu_meter import CpuMeter
from oborona.session.quarantine.in_flight import (
    IDENTITY_BYTES,
    SLOT_BYTES,
    SLOTS,
    InFlightTable,
    message_identity,
)
from oborona.session.quarantine.scan_tracker import ScanTracker
from oborona.types import Client, Envelope

ENVELOPE = Envelope(
    client=Client(ip="192.0.2.7"),
    sender="ann@a.example",
    recipients=("bob@b.example",),
    queue_id="4Xyz",
)
ONE, OTHER = b"1" * IDENTITY_BYTES, b"2" * IDENTITY_BYTES


def letter(head: str = "", body: str = "At noon?", number: int = 1) -> RawMessage:
    raw = (
        f"{head}From: ann@a.example\r\nMessage-ID: <{number}@a.example>\r\n\r\n{body}\r\n".encode()
    )
    return RawMessage(raw=raw, headers=(), size=len(raw))


def died(notes: InFlightTable, work: Callable[[], Coroutine[Any, Any, object]]) -> int:
    """Run work in a process of its own; return how that ended."""
    if (pid := os.fork()) == 0:
        asyncio.run(work())
        os._exit(0)
    return os.waitpid(pid, 0)[1]


async def deadly() -> None:
    await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGKILL)


async def waits() -> None:
    await asyncio.sleep(60)


def test_who_died_in_a_step_is_named_and_not_those_beside_it() -> None:
    notes = InFlightTable()

    async def work() -> None:
        beside = [
            asyncio.ensure_future(_through(notes, bytes([65 + n]) * IDENTITY_BYTES, waits()))
            for n in range(30)
        ]
        await asyncio.sleep(0.01)
        await _through(notes, ONE, deadly())
        await asyncio.gather(*beside)

    died(notes, work)
    assert notes.running is not None
    assert notes.running.identity == ONE
    assert (notes.running.queue_id, notes.running.client, notes.running.sender) == (
        "4Xyz",
        "192.0.2.7",
        "ann@a.example",
    )
    assert len(notes.all()) == 31
    notes.clear()
    assert notes.running is None
    assert notes.all() == []


async def _through(
    notes: InFlightTable, identity: bytes, work: Coroutine[Any, Any, object]
) -> object:
    slot = notes.take(identity, ENVELOPE)
    try:
        return await notes.steps(slot, work, CpuMeter(1.0))
    finally:
        notes.wipe(slot)


def test_between_steps_nobody_runs() -> None:
    notes, seen = InFlightTable(), list[object]()
    waits_now, looked = asyncio.Event(), asyncio.Event()

    async def scan() -> str:
        seen.append(notes.running)
        waits_now.set()
        await looked.wait()
        seen.append(notes.running)
        return "done"

    async def look() -> None:
        await waits_now.wait()
        seen.append(notes.running)
        looked.set()

    async def work() -> object:
        return (await asyncio.gather(_through(notes, ONE, scan()), look()))[0]

    assert asyncio.run(work()) == "done"
    first, between, second = seen
    assert first == second
    assert first is not None
    assert between is None
    assert notes.all() == []


def test_errors_and_deadlines_go_through() -> None:
    notes = InFlightTable()

    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("a fault")

    async def takes_its_cancelling() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            return "cleaned"
        return "never"

    async def late() -> None:
        async with asyncio.timeout(0.01):
            await _through(notes, ONE, waits())

    async def cleaned() -> object:
        task = asyncio.ensure_future(_through(notes, ONE, takes_its_cancelling()))
        await asyncio.sleep(0.01)
        task.cancel()
        return await task

    with pytest.raises(ValueError, match="a fault"):
        asyncio.run(_through(notes, ONE, fails()))
    with pytest.raises(TimeoutError):
        asyncio.run(late())
    assert asyncio.run(cleaned()) == "cleaned"
    assert notes.running is None
    assert notes.all() == []


def test_more_than_there_is_room_for_are_scanned_and_not_noted() -> None:
    notes = InFlightTable()
    slots = [notes.take(ONE, ENVELOPE) for _ in range(SLOTS)]
    assert sorted(slots) == list(range(1, SLOTS + 1))
    assert notes.take(OTHER, ENVELOPE) == 0
    assert asyncio.run(_through(notes, OTHER, asyncio.sleep(0, "done"))) == "done"
    for slot in slots:
        notes.wipe(slot)
    assert notes.take(OTHER, ENVELOPE) != 0


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300))
def test_whatever_an_envelope_holds_a_note_stays_in_its_slot(
    queue: str, client: str, sender: str
) -> None:
    notes = InFlightTable()
    for _ in range(2):
        envelope = Envelope(client=Client(ip=client), sender=sender, recipients=(), queue_id=queue)
        assert notes.take(ONE, envelope)
    assert [note.identity for note in notes.all()] == [ONE, ONE]
    assert all(len("".join(note[2:]).encode()) < SLOT_BYTES for note in notes.all())


def test_a_lone_surrogate_is_no_reason_to_fail() -> None:
    flights = ScanTracker()
    envelope = Envelope(
        client=Client(ip="\udcff"), sender="\udc80@a.example", recipients=(), queue_id="\ud800"
    )
    flight = flights.begin(letter(), envelope)
    assert asyncio.run(flight.through(asyncio.sleep(0, 1), CpuMeter(1.0))) == 1


@given(
    st.binary(max_size=5000),
    st.text(alphabet="ab@.", max_size=10),
    st.integers(0, 10**9),
)
def test_an_identity_never_fails_and_is_the_same_again(raw: bytes, sender: str, more: int) -> None:
    message = RawMessage(raw=raw, headers=(), size=len(raw) + more)
    assert len(message_identity(message, sender)) == IDENTITY_BYTES
    assert message_identity(message, sender) == message_identity(message, sender)
    assert message_identity(message, sender + "x") != message_identity(message, sender)


def test_what_a_relay_puts_on_top_changes_nothing() -> None:
    long = "X-Long: " + "x" * 70 + "\r\n"
    own = letter(long * 20)
    again = letter("Received: from another.example\r\n" * 3 + long * 20)
    assert message_identity(own, "a") == message_identity(again, "a")


def test_another_message_is_another() -> None:
    all_of_them = [
        letter(),
        letter(number=2),
        letter(body="At one?"),
        letter(body="x" * 5000),
        letter(body="x" * 5001),
        letter(body="y" + "x" * 4999),
        letter(body="x" * 4999 + "y"),
        letter(
            body="x" * 2500 + "y" + "x" * 2499
        ),  # what might have been made to be taken for somebody else's
        letter(head="Subject: Lunch\r\n"),
    ]
    assert len({message_identity(one, "a") for one in all_of_them}) == len(all_of_them)
