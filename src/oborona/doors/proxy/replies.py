"""What the proxy says itself, in the words of SMTP: a session's refusals, and what is said where
the next hop says nothing.
"""

from __future__ import annotations

from typing import Final

from oborona.doors.reply import ReplyAction, SessionReply
from oborona.doors.smtp.replies import SmtpReply, own_reply

AWAY: Final = own_reply(421, "4.3.0", "Mail server is not there, try again later")
LATER: Final = own_reply(451, "4.3.0", "Mail server gave no answer, try again later")
STOPPING: Final = own_reply(421, "4.3.2", "Stopping, try again later")
BUSY: Final = own_reply(421, "4.3.2", "Too busy, try again later")
SLOW: Final = own_reply(421, "4.4.2", "Content took too long")
SILENT: Final = own_reply(421, "4.4.2", "Nothing was said for too long")
EARLY: Final = own_reply(554, "5.5.1", "You spoke before the greeting")
NOBODY: Final = own_reply(554, "5.5.1", "No valid recipients")
TOO_MANY: Final = own_reply(452, "4.5.3", "Too many recipients, come again with the rest")
SYNTAX: Final = own_reply(501, "5.5.4", "Syntax error in parameters")
ORDER: Final = own_reply(503, "5.5.1", "Bad sequence of commands")
NOT_HERE: Final = own_reply(502, "5.5.1", "Command not implemented")
HEADER: Final = own_reply(552, "5.3.4", "Header is too large")
TAKEN: Final = own_reply(250, "2.0.0", "Message taken")

_REFUSED: Final = own_reply(550, "5.7.1", "Refused")
_PUT_OFF: Final = own_reply(451, "4.7.1", "Try again later")


def busy_wire(reply: SessionReply) -> bytes:
    """Return the greeting of a full door: the words of a reply, and the connection is over."""
    return own_reply(421, "4.3.2", reply.text).wire


def refusal_of(reply: SessionReply) -> SmtpReply | None:
    """Return what a client hears of a session's reply, None where it goes on."""
    if reply.answer not in (ReplyAction.REJECT, ReplyAction.TEMPFAIL):
        return None
    if not reply.code:
        return _REFUSED if reply.answer is ReplyAction.REJECT else _PUT_OFF
    last = len(reply.lines) - 1
    lines = (
        f"{reply.code}{'-' if number < last else ' '}{reply.enhanced} {line}".encode("ascii")
        for number, line in enumerate(reply.lines)
    )
    return SmtpReply(reply.code, tuple(lines))
