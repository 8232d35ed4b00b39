r"""The answer to Exim: one line of name=value that ${extract{name}{line}} takes apart.

    verdict=reject score=300.0 line=200 karma=-12 id=... reference=3k2 code=550 text="5.7.1 Sender
    refused, reference 3k2" decided_by=SENDER version=1

A value is as it stands, or in double quotes with a backslash before each quote and backslash.  One
that is empty is quoted too: Exim would take the next name for it.  Whatever stands in a reply, the
answer has its one line and its own names alone.

Source: Exim 4.96, src/expand.c (expand_getkeyed), src/string.c (string_dequote).
"""

from __future__ import annotations

import base64
import re
from typing import Final

from oborona.doors.reply import (
    BUSY,
    MAX_TEXT_LINE,
    AddHeader,
    RemoveHeader,
    ReplyAction,
    SessionReply,
)
from oborona.policy.headers import FLAG, RESULTS
from oborona.types import Action

# names; who forges more has them all taken off that anybody reads, and others left
MAX_REMOVED: Final = 100

_BARE: Final = re.compile(r"[!#-~][!-~]*")  # what needs no quotes
_UNPRINTABLE: Final = re.compile(r"[^ -~]")
_READ: Final = frozenset({"x-mras", "x-mras-score", "x-mras-reason", "x-mras-id", FLAG, RESULTS})
# that a list of Exim may hold, whatever it makes of its members
_NAME: Final = re.compile(r"[A-Za-z0-9-]+")
_UNSAID: Final = {  # where a reply leaves its words to the mail server
    ReplyAction.REJECT: (550, "5.7.1 Command rejected"),
    ReplyAction.TEMPFAIL: (451, "4.7.1 Service unavailable - try again later"),
}
_WORDS: Final = {
    ReplyAction.REJECT: "reject",
    ReplyAction.TEMPFAIL: "defer",
    ReplyAction.DISCARD: "discard",
    ReplyAction.HOLD: "hold",
}


def answer_line(reply: SessionReply) -> bytes:
    """Return the answer that a reply of a session is."""
    judged, verdict = reply.judged, reply.judged.verdict if reply.judged else None
    word = _WORDS.get(reply.answer)
    if word is None:
        word = "spam" if verdict and verdict.action in (Action.SPAM, Action.REJECT) else "accept"
    code, text = _UNSAID.get(reply.answer, (0, ""))
    if reply.code:
        code, text = reply.code, f"{reply.enhanced} {' '.join(reply.lines)[:MAX_TEXT_LINE]}"
    fields = {
        "verdict": word,
        "score": f"{verdict.score:.1f}" if verdict else "0.0",
        "line": f"{verdict.line:g}" if verdict else "",
        "karma": f"{judged.karma:.0f}" if judged and judged.karma is not None else "",
        "id": judged.ident if judged else "",
        "reference": judged.reference if judged else "",
        "code": str(code),
        "text": text,
        "decided_by": verdict.decided_by if verdict else "",
        "version": "1",
    }
    if judged and reply.answer is ReplyAction.REJECT:
        fields["of"] = judged.stage.value
    if reply.edits:
        fields["headers64"] = base64.b64encode(_added(reply).encode("ascii")).decode("ascii")
        fields["remove"] = ":".join(_removed(reply))
    return _line(fields)


def error_line(reason: str) -> bytes:
    """Return the answer where there is no verdict: a request that is none, or a failure of ours."""
    return _line(
        {
            "verdict": "error",
            "score": "0.0",
            "line": "",
            "karma": "",
            "code": "0",
            "text": reason,
            "version": "1",
        }
    )


def _line(fields: dict[str, str]) -> bytes:
    return (
        " ".join(f"{name}={_value(name, value)}" for name, value in fields.items()).encode("ascii")
        + b"\n"
    )


def _value(name: str, value: str) -> str:
    if name != "text" and _BARE.fullmatch(value):
        return value
    escaped = _UNPRINTABLE.sub("?", value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _added(reply: SessionReply) -> str:
    """Return the headers to add, as lines; the one that belongs on top comes first."""
    added = [edit for edit in reply.edits if isinstance(edit, AddHeader)]
    return "".join(
        f"{header.name}: {header.value}\n"
        for header in sorted(added, key=lambda header: not header.top)
    )


def _removed(reply: SessionReply) -> list[str]:
    """Return the names of headers to remove, each once; Exim removes all of a name."""
    named = {edit.name.lower(): edit.name for edit in reply.edits if isinstance(edit, RemoveHeader)}
    known_names = [name for low, name in named.items() if low in _READ]
    others = [name for low, name in named.items() if low not in _READ and _NAME.fullmatch(name)]
    return (known_names + others)[:MAX_REMOVED]


NOTHING: Final = answer_line(SessionReply())
"""Nothing is against it, and nothing is known."""

TOO_BUSY: Final = answer_line(BUSY)
"""Come again: there is no room for one more."""
