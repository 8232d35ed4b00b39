"""The messages that a worker is judging, in memory that outlives it: its supervisor learns from it
over which message the worker died.

    message → its identity → is it set apart? → a note in a slot → each step of its scan, marked →
    the note is wiped

A worker judges many messages at once, and computes for one at a time: while a step of a scan runs,
its slot is marked, and no other's.  So a worker that dies, or hangs, in a step names one message,
and those beside it, which were waiting for the DNS or for a picture, are not blamed.  A death
outside of all steps is blamed on a message only where it was the only one there (what is done for
it in tasks of their own: SPF and seals of ARC).

The identity is a hash of what a retry brings again: the end of the header block, the body, its
length, the sender.  What relays put on top, and so what differs when another machine of the same
sender tries again, is no part of it.  The body is hashed whole up to `BODY_BYTES`: who has a
message that kills can't make it pass for somebody's letter, of which he changes the middle.

Limits: of a longer body the beginning and the end count.  Who changes a message with each try has a
new identity with each.  Of more than `SLOTS` messages at once, the rest are not noted.
"""

from __future__ import annotations

import mmap
import struct
import time
from collections.abc import Coroutine, Generator
from hashlib import sha256
from types import coroutine
from typing import Any, Final, NamedTuple, TypeVar

from oborona.doors.raw_message import RawMessage
from oborona.session.cpu_meter import CpuMeter
from oborona.types import Envelope

IDENTITY_BYTES: Final = 16
SLOTS: Final = 255  # as many messages as `worker.max_messages` lets in as it ships, but one
SLOT_BYTES: Final = 512
SAMPLE_BYTES: Final = 1024  # at the end of the header block, and of the body
BODY_BYTES: Final = 256 * 1024  # what many get is shorter; 0.14 ms
# characters of each word of an envelope: some 400 octets at worst would not fit, and are cut
WORDS: Final = 100
_HEAD: Final = struct.Struct("<16sdH")  # identity, when it began, octets of words behind
_SPLIT: Final = "\0"
_END_OF_HEADERS: Final = b"\r\n\r\n"

_T = TypeVar("_T")


class InFlightMessage(NamedTuple):
    """One message in flight."""

    identity: bytes
    began: float  # Unix seconds
    queue_id: str
    client: str
    sender: str


class InFlightTable:
    """The messages in flight of one worker, in memory that it shares with its supervisor."""

    __slots__ = ("_free", "_memory", "_running")

    def __init__(self) -> None:
        # the first slot is the head: which one runs
        self._memory = mmap.mmap(-1, (SLOTS + 1) * SLOT_BYTES)
        self._running = memoryview(self._memory)[:8].cast("Q")
        self._free = list(range(SLOTS, 0, -1))

    def take(self, identity: bytes, envelope: Envelope) -> int:
        """Note a message; return its slot, 0 where there is none left."""
        if not self._free:
            return 0
        slot = self._free.pop()
        client = envelope.client.ip
        words = f"{envelope.queue_id[:WORDS]}\0{client[:WORDS]}\0{envelope.sender[:WORDS]}".encode(
            "utf-8", "replace"
        )[: SLOT_BYTES - _HEAD.size]
        at = slot * SLOT_BYTES
        self._memory[at : at + _HEAD.size + len(words)] = (
            _HEAD.pack(identity, time.time(), len(words)) + words
        )
        return slot

    def wipe(self, slot: int) -> None:
        """Forget a message that was judged."""
        if slot:
            at = slot * SLOT_BYTES
            self._memory[at : at + IDENTITY_BYTES] = bytes(IDENTITY_BYTES)
            self._free.append(slot)

    @coroutine
    def steps(
        self, slot: int, work: Coroutine[Any, Any, _T], meter: CpuMeter
    ) -> Generator[Any, Any, _T]:
        """Run a coroutine, with the slot marked in each of its steps, and these measured.

        Returns and raises as it does.

        Tasks that the coroutine starts have no part in it.
        """
        running, step, argument = self._running, work.send, None
        while True:
            running[0] = slot
            meter.begin()
            try:
                awaited = step(argument)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            finally:
                meter.end()
                running[0] = 0
            try:
                argument = yield awaited
                step = work.send
            except BaseException as error:  # noqa: BLE001 - whatever is thrown in is the coroutine's to take
                step, argument = work.throw, error

    # What the supervisor asks, of a worker that has gone.

    @property
    def running(self) -> InFlightMessage | None:
        """The message in whose step it ended; None = in no step."""
        slot = self._running[0]
        return self._note(slot) if 0 < slot <= SLOTS else None

    def all(self) -> list[InFlightMessage]:
        """Return all messages that were in flight."""
        return [note for slot in range(1, SLOTS + 1) if (note := self._note(slot)) is not None]

    def clear(self) -> None:
        """Forget all: another worker gets the memory."""
        self._running[0] = 0
        for slot in range(1, SLOTS + 1):
            at = slot * SLOT_BYTES
            self._memory[at : at + IDENTITY_BYTES] = bytes(IDENTITY_BYTES)

    def _note(self, slot: int) -> InFlightMessage | None:
        at = slot * SLOT_BYTES
        identity, began, length = _HEAD.unpack_from(self._memory, at)
        if not any(identity):
            return None
        start = at + _HEAD.size
        words = self._memory[start : start + min(length, SLOT_BYTES - _HEAD.size)].decode(
            "utf-8", "replace"
        )
        queue_id, client, sender = [*words.split(_SPLIT), "", ""][:3]
        return InFlightMessage(identity, began, queue_id, client, sender)


def message_identity(message: RawMessage, sender: str) -> bytes:
    """Return by what a message is known when it comes again."""
    raw = message.raw
    body = raw.find(_END_OF_HEADERS) + len(_END_OF_HEADERS)
    digest = sha256(memoryview(raw)[max(0, body - SAMPLE_BYTES) : body + BODY_BYTES])
    digest.update(raw[-SAMPLE_BYTES:])
    digest.update(b"%d %b" % (message.size - body, sender.encode("utf-8", "surrogatepass")))
    return digest.digest()[:IDENTITY_BYTES]
