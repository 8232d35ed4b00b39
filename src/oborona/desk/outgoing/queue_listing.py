"""What a mail server lists of the mail in its queue: parsing alone.

Strangers choose senders and recipients, and a listing may be cut short: what can't be understood is
counted and passed over, and nothing here raises.

Source: postqueue(1), "JSON OBJECT FORMAT"; Exim's specification 4.96, chapter 5 (`-bp`) and
section 3.4 (message identification).
"""

from __future__ import annotations

import re
from typing import Annotated, Final

import msgspec
from msgspec import Meta

POSTFIX_ID: Final = re.compile(r"[0-9A-Za-z]{6,32}")  # longer than "ALL", which means all mail
EXIM_ID: Final = re.compile(r"[0-9A-Za-z]{6}-(?:[0-9A-Za-z]{6}-[0-9A-Za-z]{2}|[0-9A-Za-z]{11}-[0-9A-Za-z]{4})")  # fmt: skip
LATEST: Final = 1 << 36  # Unix seconds that a calendar still knows
_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # of Exim's ids
_HELD: Final = "hold"
_NOT_THERE_YET: Final = "maildrop"  # mail of programs that nobody has judged
_EXIM_HEAD: Final = re.compile(r" *\d+[mhd] +\S+ +(\S+) <(.*)")
_FROZEN: Final = " *** frozen ***"
_EXIM_RECIPIENT: Final = re.compile(r" {8}  (.+)")  # one that has its copy has a D in front


class QueuedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message in the queue of a mail server."""

    queue_id: str  # of the pattern of its mail server
    since: float  # Unix seconds, when it came
    sender: str
    recipients: tuple[str, ...]  # who have no copy yet
    held: bool = True  # on hold, or frozen: it waits until a person says


class QueueListing(msgspec.Struct, frozen=True, kw_only=True):
    """The messages in the queue of a mail server."""

    messages: tuple[QueuedMessage, ...]  # the oldest first, each once
    unreadable: int = 0  # lines that are no message

    @property
    def held(self) -> QueueListing:
        """What of it is held."""
        return msgspec.structs.replace(
            self, messages=tuple(message for message in self.messages if message.held)
        )


class _ShowqRecipient(msgspec.Struct):
    address: str = ""


class _ShowqMessage(msgspec.Struct):
    queue_name: str
    queue_id: Annotated[str, Meta(pattern=rf"^{POSTFIX_ID.pattern}\Z")]
    arrival_time: Annotated[float, Meta(ge=0, le=LATEST)]
    sender: str = ""
    recipients: list[_ShowqRecipient] = []


_SHOWQ: Final = msgspec.json.Decoder(_ShowqMessage)


def postfix_listing(output: str) -> QueueListing:
    """Return what `postqueue -j` says.

    Args:
        output: a JSON object a line.
    """
    found, unreadable = list[QueuedMessage](), 0
    for line in filter(str.strip, output.split("\n")):
        try:
            row = _SHOWQ.decode(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            unreadable += 1
            continue
        if row.queue_name != _NOT_THERE_YET:
            found.append(
                QueuedMessage(
                    queue_id=row.queue_id,
                    since=row.arrival_time,
                    sender=row.sender,
                    recipients=tuple(of.address for of in row.recipients),
                    held=row.queue_name == _HELD,
                )
            )
    return _listing(found, unreadable)


def exim_listing(output: str) -> QueueListing:
    """Return what `exim -bpr` says.

    Args:
        output: a paragraph a message: age, size, id and sender, then a line for each recipient.
    """
    found, unreadable = list[QueuedMessage](), 0
    for paragraph in re.split(r"\n(?: *\n)+", output.strip("\n")):
        head, *rest = paragraph.split("\n")
        match = _EXIM_HEAD.fullmatch(head)
        if match is None or not EXIM_ID.fullmatch(match[1]):
            unreadable += bool(head.strip())
        else:
            recipients = (_EXIM_RECIPIENT.fullmatch(line) for line in rest)
            found.append(
                QueuedMessage(
                    queue_id=match[1],
                    since=_exim_time(match[1]),
                    sender=match[2].rpartition(">")[0],  # a login may stand behind it
                    recipients=tuple(one[1] for one in recipients if one),
                    held=head.endswith(_FROZEN),
                )
            )
    return _listing(found, unreadable)


def _listing(found: list[QueuedMessage], unreadable: int) -> QueueListing:
    """Return a listing; a message that moves while Postfix lists the queue appears twice in it."""
    once = {message.queue_id: message for message in found}
    messages = sorted(once.values(), key=lambda message: (message.since, message.queue_id))
    return QueueListing(messages=tuple(messages), unreadable=unreadable)


def _exim_time(ident: str) -> float:
    """Return when a message came: the first six digits of its id, to the base of 62."""
    seconds = 0
    for digit in ident[:6]:
        seconds = seconds * len(_DIGITS) + _DIGITS.index(digit)
    return float(seconds)
