"""Postfix's policy protocol as bytes in, requests out, and answers; no socket, no clock.

A request is lines of name=value with an empty line behind them; the answer is one such line,
action=ACTION, and an empty one. `PolicyServiceCodec.feed` takes bytes in any cut and yields the
attributes of each request that is whole.

Whatever breaks the protocol ends the connection without an answer, as Postfix asks of a policy
server in trouble: its default_action decides then.  Unknown attributes are kept, of one given twice
the last counts.

Source: SMTPD_POLICY_README; access(5) for the actions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from oborona.doors.arguments import peer_text
from oborona.doors.reply import MAX_TEXT_LINE, ReplyAction, SessionReply
from oborona.errors import PeerError

REQUEST: Final = "smtpd_access_policy"  # the only one there is
MAX_LINE: Final = 8192  # bytes; Postfix cuts commands of SMTP at 2048
MAX_ATTRIBUTES: Final = 128  # lines of a request; Postfix 3.7 sends 27
MAX_REQUEST: Final = 65_536  # bytes

_SHOWN: Final = 60  # bytes of a broken line in the log

# Never "OK": it would end the list of restrictions, and with it checks of Postfix's own that stand
# behind us.
_ACTIONS: Final = {
    ReplyAction.CONTINUE: "DUNNO",
    ReplyAction.ACCEPT: "DUNNO",
    ReplyAction.DISCARD: "DISCARD",
    ReplyAction.HOLD: "HOLD",
    # what Postfix says itself for a milter that says no more
    ReplyAction.REJECT: "550 5.7.1 Command rejected",
    ReplyAction.TEMPFAIL: "451 4.7.1 Service unavailable - try again later",
}


class PolicyServiceCodec:
    """Cuts one connection's bytes into requests."""

    __slots__ = ("_attributes", "_bytes", "_line", "_lines")

    def __init__(self) -> None:
        self._line = bytearray()  # the last one, without its end
        self._attributes: dict[str, str] = {}
        self._lines = 0  # of the request at hand, whole ones
        self._bytes = 0  # of these

    @property
    def partial(self) -> bool:
        """Whether a request has begun and is not whole."""
        return bool(self._line) or self._lines > 0

    def feed(self, data: bytes) -> Iterator[dict[str, str]]:
        """Yield the attributes of each request that `data` completes.

        Guaranteed: the same bytes give the same requests and the same error in whatever pieces they
        come; every request is one of `smtpd_access_policy`.

        Args:
            data: the next bytes; exhaust the iterator before the next call.

        Raises:
            PeerError: no request of this protocol, or one too large; feed nothing more.
        """
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._extend(end)
            line = bytes(self._line)
            self._line.clear()
            if line:
                self._attribute(line)
            else:
                yield self._whole()
        self._extend(rest)

    def _extend(self, piece: bytes) -> None:
        self._line += piece
        if len(self._line) > MAX_LINE:
            raise PeerError(f"a line of more than {MAX_LINE} bytes: {bytes(self._line[:_SHOWN])!r}")

    def _attribute(self, line: bytes) -> None:
        name, equals, value = line.partition(b"=")
        if not name or not equals or b"\0" in line:
            raise PeerError(f"not name=value: {line[:_SHOWN]!r}")
        self._lines += 1
        self._bytes += len(line)
        if self._lines > MAX_ATTRIBUTES or self._bytes > MAX_REQUEST:
            raise PeerError(
                f"a request of more than {MAX_ATTRIBUTES} attributes, or more than "
                f"{MAX_REQUEST} bytes"
            )
        self._attributes[peer_text(name)] = peer_text(value)

    def _whole(self) -> dict[str, str]:
        request = self._attributes
        if request.get("request") != REQUEST:
            raise PeerError(f"not a request={REQUEST}: {request.get('request', '')[:_SHOWN]!r}")
        self._attributes, self._lines, self._bytes = {}, 0, 0
        return request


def answer(reply: SessionReply) -> bytes:
    """Return the answer that makes Postfix do what a reply says.

    Several lines of text become one.
    """
    action = _ACTIONS[reply.answer]
    words = " ".join(reply.lines)[:MAX_TEXT_LINE]
    if reply.answer is ReplyAction.HOLD:
        action = f"{action} {words}"
    elif reply.code:
        action = f"{reply.code} {reply.enhanced} {words}"
    return f"action={action}\n\n".encode("ascii")
