"""What stands above a message that a mail server hands on: its own lines, which say what a milter
would have been told, and were not in what it received.  Pure.

    From joe@a.example Sun Nov 22 18:48:09 2026      of a mailbox file: Exim, procmail
    X-Envelope-From, X-Envelope-To                   Exim; spamass-milter
    Return-Path, Delivered-To, X-Original-To, ...    whoever delivers
    Received                                         the mail server's own: who connected, HELO,
                                                     queue id, login

These are read and taken off, so that what is left is what came in.  Nothing below the mail server's
Received is believed, as that is the sender's; above it, what is no matter of the envelope stays.
See docs/adr/0036.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Final

import msgspec

from oborona.doors import rfc5322
from oborona.doors.arguments import path_address, peer_text
from oborona.message.received import ReceivedHop, read

# headers that are looked at; further ones a mail server does not put above its own
ABOVE: Final = 64
MOST_RECIPIENTS: Final = 50_000  # Exim's own limit (recipients_max)
HANDED_ON: Final = 3  # hops within the site

_SENDERS: Final = (b"x-envelope-from", b"return-path")  # the better one first
_RECIPIENTS: Final = (b"x-envelope-to", b"envelope-to", b"x-original-to", b"delivered-to")
_TOPS: Final = frozenset({*_SENDERS, *_RECIPIENTS})
_EXIM: Final = frozenset({b"x-envelope-from", b"x-envelope-to"})
# a line, or several, for all of them
_OF_MANY: Final = frozenset({b"x-envelope-to", b"envelope-to"})
_ADDRESS: Final = re.compile(r'(?>"(?>[^"\\]|\\.)*+"|[^",\s])++')
_NO_SENDER: Final = "MAILER-DAEMON"
_UNTOLD: Final = ReceivedHop(handed_on=True)


class PrependedHeaders(msgspec.Struct, frozen=True, kw_only=True):
    """What was read; empty where nothing was."""

    hop: ReceivedHop = _UNTOLD  # one that is handed on: no line tells who connected
    sender: str = ""
    recipients: tuple[str, ...] = ()
    mailbox_line: int = 0  # octets at the start that are no header
    # what is not the message's own, in order: octets from and to
    cuts: tuple[tuple[int, int], ...] = ()

    def inner(self, raw: bytes) -> bytes:
        """Return the message without it."""
        start, pieces = 0, []
        for begin, end in self.cuts:
            pieces.append(raw[start:begin])
            start = end
        return b"".join((*pieces, raw[start:])) if self.cuts else raw


def read_prepended(raw: bytes, ours: Callable[[ReceivedHop], bool]) -> PrependedHeaders:
    """Return what stands above a message.

    Args:
        raw: as it was handed over, with whatever ends of lines.
        ours: tells whether a line of Received is our mail server's; asked from the top on, until
            one is not, or names a client.

    Guaranteed: any octets give one; nothing below the last line that is ours was looked at.
    """
    mailbox = rfc5322.MAILBOX_LINE.match(raw)
    start = mailbox.end() if mailbox else 0
    cuts = {(0, start)} if start else set()
    tops: list[tuple[bytes, str]] = []
    places: list[tuple[int, int]] = []
    hops: list[ReceivedHop] = []
    in_a_row = bool(mailbox)  # Exim's stand directly behind it
    for field in islice(rfc5322.header_fields(raw, start), ABOVE):
        name, place = field.name.lower(), (field.start, field.end)
        in_a_row = in_a_row and name in _EXIM
        if in_a_row:
            cuts.add(place)
        if name in _TOPS:
            tops.append((name, " ".join(peer_text(field.value).split())))
            places.append(place)
        elif name == b"received":
            hop = read(field.value)
            if hop is None or not ours(hop):
                break
            hops.append(hop)
            places.append(place)
            if not hop.handed_on or len(hops) > HANDED_ON:
                break
    if hops:
        cuts.update(places)
    elif not cuts:
        return PrependedHeaders()
    hop = hops[-1] if hops else _UNTOLD
    return PrependedHeaders(
        hop=hop,
        sender=_sender(tops, peer_text(mailbox[1]) if mailbox else "", hop),
        recipients=_recipients(tops) or ((hop.recipient,) if hop.recipient else ()),
        mailbox_line=start,
        cuts=tuple(sorted(cuts)),
    )


def _sender(tops: list[tuple[bytes, str]], of_the_mailbox: str, hop: ReceivedHop) -> str:
    for name in _SENDERS:
        if values := [value for top, value in tops if top == name]:
            return path_address(values[0])
    if of_the_mailbox:
        return "" if of_the_mailbox == _NO_SENDER else of_the_mailbox
    return hop.sender or ""


def _recipients(tops: list[tuple[bytes, str]]) -> tuple[str, ...]:
    """Return the recipients by the first kind of line that names any.

    Where each delivery adds a line, those above are the latest.
    """
    for name in _RECIPIENTS:
        if values := [value for top, value in tops if top == name]:
            if name not in _OF_MANY:
                return (path_address(values[0]),)
            named = (
                path_address(match[0]) for value in values for match in _ADDRESS.finditer(value)
            )
            return tuple(islice(named, MOST_RECIPIENTS))
    return ()
