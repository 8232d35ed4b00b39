"""Our headers in a message that is handed on: what they say, and the same header block with others
in their place.  Pure.

Lines are kept as they came: nothing of a header block changes but the fields that are ours.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from oborona.message.findings import Findings
from oborona.message.rfc2047 import decode_words
from oborona.policy.headers import FLAG, verdict_headers
from oborona.types import Action

VERDICT: Final = "x-mras"
SCORE: Final = "x-mras-score"
REASON: Final = "x-mras-reason"
IDENT: Final = "x-mras-id"
REPLACED: Final = frozenset({VERDICT, SCORE, REASON, FLAG})
OURS: Final = REPLACED | {IDENT}

_FIELD: Final = re.compile(rb"[!-9;-~]++[ \t]*+:[^\n]*+\n(?>[ \t][^\n]*+\n)*+|[^\n]*+\n")
# At the beginning of a line of its own: the first one holds what the client calls itself.
_QUEUE: Final = re.compile(rb"\n[ \t]+(?:by [^\n]*? )?id ([0-9A-Za-z-]{6,32})(?![0-9A-Za-z-])")
_SCORE: Final = re.compile(r"(-?[0-9]{1,9}(?:\.[0-9]+)?) / (-?[0-9]{1,9}(?:\.[0-9]+)?)")
_ACTIONS: Final = {
    "ok": Action.ACCEPT,
    "probable": Action.SPAM,
    "spam": Action.REJECT,
}


class HeaderMarks(msgspec.Struct, frozen=True, kw_only=True):
    """Our marks in a header block."""

    action: Action | None = None  # None: no X-Mras that we know
    score: float | None = None  # None: it is not told
    line: float = 0.0
    reason: str = ""  # unfolded, its encoded words (RFC 2047) decoded
    ident: str = ""  # as signed, unverified
    queue_id: str = ""  # that the topmost Received names: the mail server's own


class CopyMark(msgspec.Struct, frozen=True, kw_only=True):
    """The marks that a copy is to carry."""

    action: Action
    score: float | None  # None: it is not told
    line: float
    reason: str  # one line; empty: it is not told


def read_marks(header: bytes) -> HeaderMarks:
    """Return what a header block says.

    Of a field that comes more than once, the last one counts: ours stand below all others.

    Args:
        header: as it came, the blank line included or not.
    """
    marks: dict[str, str] = {}
    queue = None
    received = False
    for field in _FIELD.findall(header):
        key = _name(field)
        if key in OURS:
            marks[key] = " ".join(field.partition(b":")[2].decode("utf-8", "replace").split())
        elif key == "received" and not received:
            received, queue = True, _QUEUE.search(field)
    score = _SCORE.fullmatch(marks.get(SCORE, ""))
    return HeaderMarks(
        action=_ACTIONS.get(marks.get(VERDICT, "").lower()),
        score=float(score[1]) if score else None,
        line=float(score[2]) if score else 0.0,
        reason=" ".join(decode_words(marks.get(REASON, ""), Findings()).split()),
        ident=marks.get(IDENT, ""),
        queue_id=queue[1].decode("ascii") if queue else "",
    )


def with_mark(header: bytes, mark: CopyMark) -> bytes:
    """Return a header block that says what a copy is to say, in the place where ours stood.

    Args:
        header: with the blank line behind it; lines end with CRLF.
        mark: of the copy.
    """
    fields = _FIELD.findall(header)
    blank = fields.pop() if fields and not fields[-1].strip() else b""
    places = [place for place, field in enumerate(fields) if _name(field) in REPLACED]
    remaining = [field for field in fields if _name(field) not in REPLACED]
    place = places[0] if places else len(remaining)
    return b"".join((*remaining[:place], *_fields(mark), *remaining[place:], blank))


def _fields(mark: CopyMark) -> list[bytes]:
    reason = "".join(
        letter if letter.isprintable() else "?" for letter in " ".join(mark.reason.split())
    )
    written = verdict_headers(mark.action, mark.score, mark.line, reason)
    if mark.action is not Action.ACCEPT:
        written.append(("X-Spam-Flag", "YES"))
    return [f"{name}: {value}\n".replace("\n", "\r\n").encode("ascii") for name, value in written]


def _name(field: bytes) -> str:
    return field.partition(b":")[0].strip().decode("ascii", "replace").lower()
