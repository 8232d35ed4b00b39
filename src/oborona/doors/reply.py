"""What a session answers to a mail server, in the words of SMTP and not of any transport.

A `SessionReply` is an answer, an optional SMTP text for it, and header edits for the end of a
message. Its constructor refuses what a mail server would garble or contradict: a 4xx code with a
5.x.x status, a refusal's code on an accepting answer, a text that smuggles a line.

    Reply()                                                  go on
    refuse(550, "5.7.1", "Message refused as spam")          REJECT with its text
    refuse(451, "4.7.1", "Try again later")                  TEMPFAIL with its text
    hold_reply("Message looks like spam")                    HOLD, or REJECT with its text

RFC 5321 section 4.2 (codes, multi-line replies), RFC 3463 (status codes).
Known limits: no change of sender or body, no recipient added: the design asks for none.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

import msgspec

from oborona.policy.headers import HeaderDetail
from oborona.policy.scan import Scan
from oborona.types import Action, Stage, Verdict

MAX_TEXT_LINES: Final = 32  # libmilter's smfi_setmlreply takes no more
# RFC 5321 section 4.5.3.1.5: a reply line is 512 octets with code, status and CRLF
MAX_TEXT_LINE: Final = 480

_ENHANCED = re.compile(r"([245])\.(\d{1,3})\.(\d{1,3})")
FIELD_NAME: Final = re.compile(r"[!-9;-~]+")  # RFC 5322 section 2.2: printable ASCII but colon
_FIELD_VALUE = re.compile(r"[\t -~]*(?:\n[\t ][\t -~]*)*")  # every further line is a folded one
_TEXT_LINE = re.compile(r"[ -$&-~]*")  # printable ASCII; % is libmilter's format sign


class ReplyAction(StrEnum):
    """What the mail server is told to do."""

    CONTINUE = "continue"  # go on; at the end of a message: take it
    ACCEPT = "accept"  # take it and ask no more
    REJECT = "reject"  # 5xx
    TEMPFAIL = "tempfail"  # 4xx
    DISCARD = "discard"  # say yes and throw away
    # take it and keep it in the queue until a person decides; who can't, refuses it with its text
    HOLD = "hold"


class AddHeader(msgspec.Struct, frozen=True):
    """One header to append, or to put above all others.

    `value` is ASCII (RFC 2047 for the rest), folded with newline and tab.
    """

    name: str
    value: str
    top: bool = False

    def __post_init__(self) -> None:
        if not FIELD_NAME.fullmatch(self.name):
            raise ValueError(f"not a header name: {self.name!r}")
        if not _FIELD_VALUE.fullmatch(self.value):
            raise ValueError(f"not a folded ASCII header value: {self.value!r}")


class RemoveHeader(msgspec.Struct, frozen=True):
    """One header to remove: the `index`-th of that name as the message came in, 1-based."""

    name: str
    index: int

    def __post_init__(self) -> None:
        if not FIELD_NAME.fullmatch(self.name):
            raise ValueError(f"not a header name: {self.name!r}")
        if self.index < 1:
            raise ValueError(f"headers are counted from 1, not {self.index}")


_CLASS_OF = {ReplyAction.REJECT: "5", ReplyAction.TEMPFAIL: "4", ReplyAction.HOLD: "5"}


class VerdictDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What a reply rests on, for protocols that tell more than an answer."""

    verdict: Verdict
    ident: str  # as in X-Mras-Id: the journal's, signed
    reference: str  # under which the log has it
    stage: Stage = (
        Stage.CONTENT
    )  # of what was judged: whether a refusal is the client's, the sender's, or one recipient's
    detail: HeaderDetail = HeaderDetail.NAMES  # how much the message's headers say of why
    spam_score: float  # the lines of the policy
    reject_score: float
    karma: float | None = None  # -100 to 100; None: it was not looked up
    scan: Scan | None = None  # None: not judged by its content, or not to the end


class SessionReply(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that any mail server can be given.

    `refusal_reply` is the short way to one with a text.

    Args:
        answer: what to do.
        code: SMTP code; of HOLD that of who can't; 0 leaves code and text to the mail server.
        enhanced: RFC 3463 status of the same class; given exactly when `code` is.
        text: one or more lines parted by newline, printable ASCII without "%"; none is empty.
        edits: applied only when the message is taken; removals before additions.
        removed: recipients that get no copy, as they were named; applied only when the message is
            taken.
        judged: what it rests on; None where nobody was judged: nothing is decided at that stage, or
            we are too busy.

    Raises:
        ValueError: parts that disagree; 450 with 5.x.x can't be built.
    """

    answer: ReplyAction = ReplyAction.CONTINUE
    code: int = 0
    enhanced: str = ""
    text: str = ""
    edits: tuple[AddHeader | RemoveHeader, ...] = ()
    removed: tuple[str, ...] = ()
    judged: VerdictDetails | None = None

    def __post_init__(self) -> None:
        for recipient in self.removed:
            if not recipient.isprintable():
                raise ValueError(f"not a recipient: {recipient[:80]!r}")
        if self.code == 0:
            if self.enhanced or self.text:
                raise ValueError("a text or status needs its SMTP code")
            return
        code_class = _CLASS_OF.get(self.answer)
        if code_class is None:
            raise ValueError(f"{self.answer} takes no SMTP code, got {self.code}")
        if not 400 <= self.code <= 599 or str(self.code)[0] != code_class:
            raise ValueError(f"{self.answer} takes a {code_class}xx code, got {self.code}")
        status = _ENHANCED.fullmatch(self.enhanced)
        if status is None or status[1] != code_class:
            raise ValueError(f"{self.code} takes a status {code_class}.x.x, got {self.enhanced!r}")
        lines = self.lines
        if len(lines) > MAX_TEXT_LINES:
            raise ValueError(f"a reply has at most {MAX_TEXT_LINES} lines, got {len(lines)}")
        for line in lines:
            if not line or len(line) > MAX_TEXT_LINE or not _TEXT_LINE.fullmatch(line):
                raise ValueError(f"not a line of a reply: {line[:80]!r}")

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of `text`, at least one."""
        return tuple(self.text.split("\n"))


TAKES: Final = frozenset({ReplyAction.CONTINUE, ReplyAction.ACCEPT, ReplyAction.HOLD})
"""Answers by which a message is taken, and its edits made."""


def in_removal_order(edits: tuple[AddHeader | RemoveHeader, ...]) -> list[AddHeader | RemoveHeader]:
    """Return edits so that every index still means what it meant when the message came in.

    Mail servers differ in whether a removed header is counted on; removed from the last to the
    first, none is affected.
    """
    removals = sorted(
        (e for e in edits if isinstance(e, RemoveHeader)), key=lambda e: e.index, reverse=True
    )
    return [*removals, *(e for e in edits if isinstance(e, AddHeader))]


def refusal_reply(
    code: int, enhanced: str, text: str, judged: VerdictDetails | None = None
) -> SessionReply:
    """Return the reply whose answer follows from its code: 4xx TEMPFAIL, 5xx REJECT.

    Raises:
        ValueError: a code of another class, or parts that disagree.
    """
    answer = ReplyAction.REJECT if code // 100 == 5 else ReplyAction.TEMPFAIL
    return SessionReply(answer=answer, code=code, enhanced=enhanced, text=text, judged=judged)


def hold_reply(
    text: str,
    judged: VerdictDetails | None = None,
    edits: tuple[AddHeader | RemoveHeader, ...] = (),
) -> SessionReply:
    """Return the reply that has a message held; where that is not possible, it is refused with the
    text.
    """
    return SessionReply(
        answer=ReplyAction.HOLD, code=550, enhanced="5.7.1", text=text, edits=edits, judged=judged
    )


def refused_hold(reply: SessionReply) -> SessionReply:
    """Return what a mail server that has no hold queue is told in the place of HOLD; any other
    reply as it is.
    """
    if reply.answer is not ReplyAction.HOLD:
        return reply
    judged = reply.judged
    if judged is not None:  # for protocols that refuse by score
        verdict = msgspec.structs.replace(judged.verdict, action=Action.REJECT)
        judged = msgspec.structs.replace(judged, verdict=verdict)
    return msgspec.structs.replace(
        reply, answer=ReplyAction.REJECT, edits=(), removed=(), judged=judged
    )


CONTINUE: Final = SessionReply()
ACCEPT: Final = SessionReply(answer=ReplyAction.ACCEPT)
TEMPFAIL: Final = SessionReply(answer=ReplyAction.TEMPFAIL)


BUSY: Final = refusal_reply(451, "4.3.2", "Too busy, try again later")


def is_busy(reply: SessionReply) -> bool:
    """Tell whether a reply says "too busy": nobody judged the message, which is to come again."""
    return reply.enhanced == BUSY.enhanced
