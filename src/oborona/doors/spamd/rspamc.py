"""Verdicts as an old rspamd answers them, which is what Exim understands of one.  Pure.

    RSPAMD/1.3 0 EX_OK
    Metric: default; True; 112.50 / 100.00 / 200.00
    Action: reject
    5.7.1 Message refused as spam, reference 3k2...

Exim takes what stands behind the action as $spam_report.  For CHECK that is what an ACL needs next,
and nothing else: the words of a refusal, as one line, or the headers that mark the message, each as
a line, further lines of one with a tab.

Source: spam.c of Exim 4.96, whose sscanf() this must fit; rspamd_protocol of rspamd 0.9.
"""

from __future__ import annotations

from typing import Final

from oborona.doors.reply import AddHeader, ReplyAction, SessionReply, VerdictDetails
from oborona.doors.spamd.codec import SpamdCommand, SpamdRequest
from oborona.doors.spamd.report import report_lines
from oborona.doors.spamd.spamc import PROTOCOL, is_spam, shown_points
from oborona.types import Action, RuleMode

KNOWN: Final = frozenset(
    {
        SpamdCommand.CHECK,
        SpamdCommand.SYMBOLS,
        SpamdCommand.REPORT,
        SpamdCommand.PING,
        SpamdCommand.SKIP,
    }
)
PONG: Final = b"RSPAMD/1.3 0 PONG\r\n"

_BUSY: Final = "False; 0.00 / 1.00 / 1.00"  # of a message that nobody judged
_REFUSALS: Final = {
    ReplyAction.REJECT: "reject",
    ReplyAction.TEMPFAIL: "soft reject",
    ReplyAction.DISCARD: "discard",
}
_ACTIONS: Final = _REFUSALS | {ReplyAction.HOLD: "hold"}  # rspamd has none; etc/exim knows it
_PUT_OFF: Final = "4.3.2 Too busy, try again later"


def error_answer(words: str) -> bytes:
    """Return the answer to a request that is none.

    Exim says in its log that it cannot read it, and the ACL goes on as it is told to.
    """
    plain = words.encode("ascii", "backslashreplace").decode("ascii")
    return f"RSPAMD/1.3 {PROTOCOL} EX_PROTOCOL {plain}\r\n".encode("ascii")


def rspamc_answer(request: SpamdRequest, reply: SessionReply, name: str) -> bytes:
    """Return the answer to a message.

    Args:
        request: which asked.
        reply: of the session.
        name: ours.
    """
    judged = reply.judged
    if judged is None:
        return _lines(_BUSY, "soft reject", f"{_words(reply) or _PUT_OFF}\r\n")
    action = _action(reply.answer, judged)
    spam = is_spam(reply.answer, judged)
    score, line = shown_points(judged.verdict.score, judged.spam_score, spam=spam, decimals=2)
    metric = f"{'True' if spam else 'False'}; {score} / {line} / {judged.reject_score:.2f}"
    match request.command:
        case SpamdCommand.SYMBOLS:
            hits = (hit for hit in judged.verdict.rules if hit.mode is RuleMode.LIVE)
            rest = "".join(f"Symbol: {hit.name}({hit.score:.2f})\r\n" for hit in hits)
        case SpamdCommand.REPORT:
            rest = report_lines(judged, name, score, line, 1.0)
        case _:
            rest = _report_lines(reply)
    return _lines(metric, action, rest)


def _lines(metric: str, action: str, rest: str) -> bytes:
    return f"RSPAMD/1.3 0 EX_OK\r\nMetric: default; {metric}\r\nAction: {action}\r\n{rest}".encode()


def _action(answer: ReplyAction, judged: VerdictDetails) -> str:
    return _ACTIONS.get(answer) or (
        "no action" if judged.verdict.action is Action.ACCEPT else "add header"
    )


TOO_BUSY: Final = _lines(_BUSY, "soft reject", f"{_PUT_OFF}\r\n")
"""As to any message that nobody judged: what is no answer would be decided by what the mail server
does without a filter.
"""


def _words(reply: SessionReply) -> str:
    return f"{reply.enhanced} {' '.join(reply.lines)}" if reply.code else ""


def _report_lines(reply: SessionReply) -> str:
    """Return what the mail server does next: says, or adds."""
    if reply.answer in _REFUSALS:
        return f"{_words(reply)}\r\n"
    added = [edit for edit in reply.edits if isinstance(edit, AddHeader)]
    in_order = sorted(added, key=lambda header: not header.top)
    return "\n".join(f"{header.name}: {header.value}" for header in in_order) + "\r\n"
