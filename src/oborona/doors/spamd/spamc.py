"""Verdicts as spamd answers them.  Pure.

    SPAMD/1.1 0 EX_OK
    Content-length: 1234                       from version 1.3 on; before, Exim's, one header or
                                               the other
    Spam: True ; 112.5 / 100.0

    <report, names of rules, header or message>

After delivery nobody can be refused or put off: what is refused elsewhere is spam here and marked
as that; what is put off elsewhere is held to the line by its score.  The number never contradicts
the word, since some clients look at the one and some at the other.

Source: spamd.raw and spamc of SpamAssassin 4.0; an error is one line, for spamc takes an empty one
behind it for a good answer.
"""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.doors import rfc5322
from oborona.doors.headers import header_edits
from oborona.doors.reply import ReplyAction, SessionReply, VerdictDetails
from oborona.doors.spamd.codec import SpamdCommand, SpamdRequest
from oborona.doors.spamd.report import report_lines
from oborona.doors.spamd.request import MessageToScan
from oborona.policy.local_clients import is_own
from oborona.types import Action, RuleMode

BOTH_HEADERS: Final = 1.3  # from this version on a client takes more than one
MARKED: Final = frozenset({SpamdCommand.PROCESS, SpamdCommand.HEADERS})
PONG: Final = b"SPAMD/1.5 0 PONG\r\n"
UNAVAILABLE: Final = 69
TEMPFAIL: Final = 75
PROTOCOL: Final = 76
NOPERM: Final = 77

_NAMES: Final = {
    UNAVAILABLE: "EX_UNAVAILABLE",
    TEMPFAIL: "EX_TEMPFAIL",
    PROTOCOL: "EX_PROTOCOL",
    NOPERM: "EX_NOPERM",
}


def error_answer(code: int, words: str) -> bytes:
    """Return the answer to a request that gets none; `words` are one line."""
    plain = words.encode("ascii", "backslashreplace").decode("ascii")
    return f"SPAMD/1.1 {code} {_NAMES[code]} {plain}\r\n".encode("ascii")


TOO_BUSY: Final = error_answer(TEMPFAIL, "Too busy, try again later")


def busy_answer(reply: SessionReply) -> bytes:
    """Return what somebody hears for whom there is no room, with the words of a reply."""
    return error_answer(TEMPFAIL, reply.text)


def is_spam(answer: ReplyAction, judged: VerdictDetails) -> bool:
    """Tell whether a message is spam, for who can do no more than file it."""
    verdict = judged.verdict
    if answer in (ReplyAction.REJECT, ReplyAction.DISCARD):
        return True
    if verdict.action is Action.TEMPFAIL:
        return verdict.score >= judged.spam_score
    return verdict.action is not Action.ACCEPT


def shown_points(
    score: float, line: float, *, spam: bool, scale: float = 1.0, decimals: int = 1
) -> tuple[str, str]:
    """Return score and line as they are told: what is spam reaches the line, what is none does not,
    as it is written.
    """
    bar = round(line * scale, decimals)
    shown = round(score * scale, decimals)
    shown = max(shown, bar) if spam else min(shown, bar - 10**-decimals)
    return f"{shown:.{decimals}f}", f"{bar:.{decimals}f}"


def _bounded_score(judged: VerdictDetails, scale: float) -> float:
    """Return a score that reaches the line of refusals where that is the verdict, and there alone:
    mail servers refuse by it.
    """
    verdict, bar = judged.verdict, judged.reject_score
    if verdict.action is Action.REJECT:
        return max(verdict.score, bar)
    return min(verdict.score, bar - 0.1 / scale)  # as few points below it as are told


def spamc_answer(
    request: SpamdRequest, message: MessageToScan, reply: SessionReply, name: str, scale: float
) -> bytes:
    """Return the answer to a message.

    Args:
        request: which asked.
        message: what it told.
        reply: of the session.
        name: ours.
        scale: what points are multiplied by.
    """
    judged = reply.judged
    if judged is None:
        return TOO_BUSY
    spam = is_spam(reply.answer, judged)
    score, line = shown_points(
        _bounded_score(judged, scale), judged.spam_score, spam=spam, scale=scale
    )
    # spamd says "Yes" to REPORT_IFSPAM, which its own spamc takes for no spam
    header = f"Spam: {'True' if spam else 'False'} ; {score} / {line}\r\n"
    body = b""
    match request.command:
        case SpamdCommand.SYMBOLS:
            names = ",".join(hit.name for hit in judged.verdict.rules if hit.mode is RuleMode.LIVE)
            body = names.encode() + (b"" if request.version >= BOTH_HEADERS else b"\r\n")
        case SpamdCommand.REPORT | SpamdCommand.REPORT_IFSPAM if (
            spam or request.command is SpamdCommand.REPORT
        ):
            body = report_lines(judged, name, score, line, scale).encode()
        case SpamdCommand.HEADERS | SpamdCommand.PROCESS:
            end = _header_end(request, message.mailbox_line)
            if request.truncated and (
                request.command is SpamdCommand.PROCESS or end == len(request.raw)
            ):
                return error_answer(
                    UNAVAILABLE, f"No more than {len(request.raw)} bytes are given back"
                )
            raw = request.raw[:end] if request.command is SpamdCommand.HEADERS else request.raw
            body = _marked(raw, message, judged, name, spam=spam)
        case _:
            pass
    return _whole(request, header, body)


def _whole(request: SpamdRequest, header: str, body: bytes) -> bytes:
    length = f"Content-length: {len(body)}\r\n"
    if request.command is SpamdCommand.CHECK:
        length = ""
    elif request.version < BOTH_HEADERS:
        if request.command in MARKED:
            header = ""
        else:
            length = ""
    return f"SPAMD/1.1 0 EX_OK\r\n{length}{header}\r\n".encode("ascii") + body


def _marked(
    raw: bytes, message: MessageToScan, judged: VerdictDetails, name: str, *, spam: bool
) -> bytes:
    """Return a message, or its header, with what a milter would have done to it.

    In the line ends that it came with.
    """
    verdict = judged.verdict
    if verdict.action in (Action.TEMPFAIL, Action.ACCEPT):
        verdict = msgspec.structs.replace(verdict, action=Action.SPAM if spam else Action.ACCEPT)
    own = is_own(message.envelope if judged.scan is None else judged.scan.envelope)
    edits = header_edits(
        msgspec.structs.replace(judged, verdict=verdict), message.message, name, own=own
    )
    unix = b"\r\n" not in raw
    mailbox_line, rest = raw[: message.mailbox_line], raw[message.mailbox_line :]
    marked = rfc5322.with_edits(rfc5322.with_crlf(rest) if unix else rest, edits)
    return mailbox_line + (marked.replace(b"\r\n", b"\n") if unix else marked)


def _header_end(request: SpamdRequest, start: int) -> int:
    """Return where the header of a message ends, the empty line behind it not included."""
    end = start
    for field in rfc5322.header_fields(request.raw, start):
        end = field.end
    return end
