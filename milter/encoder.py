"""What goes back to a mail server: terms, answers and header edits as milter packets.

Numbers as in Sendmail's include/libmilter/mfdef.h; there is no RFC.
Known limits: no change of sender or body, no recipient added; SMFIR_PROGRESS is not
sent, deadlines are shorter than any mail server's patience.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from struct import Struct
from typing import Final

from oborona.doors.reply import (
    TAKES,
    AddHeader,
    RemoveHeader,
    ReplyAction,
    SessionReply,
    in_removal_order,
    refused_hold,
)
from oborona.milter.protocol import MACROS, SET_MACROS, MilterTerms

_THREE = Struct("!III")
_FOUR_BYTES = Struct("!I")


def _packet(command: bytes, data: bytes = b"") -> bytes:
    return _FOUR_BYTES.pack(len(data) + 1) + command + data


CONTINUE: Final = _packet(b"c")
SKIP: Final = _packet(b"s")
_BARE_ANSWERS: Final = {
    ReplyAction.CONTINUE: CONTINUE,
    ReplyAction.ACCEPT: _packet(b"a"),
    ReplyAction.REJECT: _packet(b"r"),
    ReplyAction.TEMPFAIL: _packet(b"t"),
    ReplyAction.DISCARD: _packet(b"d"),
}


@lru_cache(maxsize=64)
def terms(agreed: MilterTerms) -> bytes:
    """Return the answer to a negotiation, with the macros asked for where they may be."""
    data = _THREE.pack(agreed.version, agreed.actions, agreed.protocol)
    if agreed.actions & SET_MACROS:
        data += b"".join(
            _FOUR_BYTES.pack(stage) + names.encode("ascii") + b"\0"
            for stage, names in MACROS.items()
        )
    return _packet(b"O", data)


def answer(reply: SessionReply) -> bytes:
    """Return the packet of a reply, its edits left out."""
    if not reply.code:
        return _BARE_ANSWERS[reply.answer]
    *more, last = reply.lines
    start = f"{reply.code}-{reply.enhanced} "
    lines = [f"{start}{line}\r\n" for line in more] + [f"{reply.code} {reply.enhanced} {last}"]
    return _packet(b"y", "".join(lines).encode("ascii") + b"\0")


def verdict(reply: SessionReply, agreed: MilterTerms) -> bytes:
    """Return the packets that end a message: its edits if it is taken, then the answer."""
    packets: list[bytes] = []
    if not agreed.holds:
        reply = refused_hold(reply)
    if reply.answer in TAKES:
        if reply.edits and agreed.edits:
            packets += _edits(reply.edits, agreed)
        if reply.removed and agreed.removes:
            packets += [
                _packet(b"-", f"<{recipient}>".encode() + b"\0") for recipient in reply.removed
            ]
    if reply.answer is ReplyAction.HOLD:
        packets.append(_packet(b"q", reply.text.encode("ascii") + b"\0"))
        return b"".join((*packets, _BARE_ANSWERS[ReplyAction.ACCEPT]))
    return b"".join((*packets, answer(reply)))


def _edits(edits: tuple[AddHeader | RemoveHeader, ...], agreed: MilterTerms) -> Iterator[bytes]:
    for edit in in_removal_order(edits):
        name = edit.name.encode("ascii") + b"\0"
        if isinstance(edit, AddHeader):
            data = name + agreed.value(edit).encode("ascii") + b"\0"
            yield _packet(b"i", _FOUR_BYTES.pack(0) + data) if edit.top else _packet(b"h", data)
        else:
            yield _packet(b"m", _FOUR_BYTES.pack(edit.index) + name + b"\0")
