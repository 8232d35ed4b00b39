"""The numbers of the milter protocol, version 6, and what is agreed with a mail server at the start
of a connection.

A mail server opens with its version, the actions it allows and the protocol steps it can leave out
or leave unanswered.  We take of that what we can use: no answers (SMFIP_NR_*) for every step where
no verdict can fall, no steps that we don't read, headers with their leading space, and the macros
that Postfix sends only when asked for (client address, login, queue id).

    terms = agree(offer.version, offer.actions, offer.protocol, waits)

Numbers as in Sendmail's include/libmilter/mfdef.h; there is no RFC.  Both transports agree on the
same terms here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from oborona.doors.reply import AddHeader
from oborona.errors import PeerError
from oborona.types import Stage

MIN_VERSION: Final = 2  # Sendmail 8.12; libmilter refuses older ones too
MAX_VERSION: Final = 6  # Sendmail 8.14, Postfix 2.6

# what a filter may do to a message (SMFIF_*)
ADD_HEADERS: Final = 0x01
REMOVE_RECIPIENTS: Final = 0x08
CHANGE_HEADERS: Final = 0x10
QUARANTINE: Final = 0x20
SET_MACROS: Final = 0x100

# steps that a mail server may leave out (SMFIP_NO*)
NO_UNKNOWN: Final = 0x100
NO_DATA: Final = 0x200
NO_END_OF_HEADERS: Final = 0x40

SKIP: Final = 0x400  # "no more body, please" is understood (SMFIP_SKIP)
LEADING_SPACE: Final = 0x100000  # header values as they came (SMFIP_HDR_LEADSPC)

# steps that need no answer (SMFIP_NR_*), by command
NO_REPLY: Final = {
    b"C": 0x1000,  # connect
    b"H": 0x2000,  # HELO
    b"M": 0x4000,  # MAIL FROM
    b"R": 0x8000,  # RCPT TO
    b"T": 0x10000,  # DATA
    b"U": 0x20000,  # unknown SMTP command
    b"L": 0x80,  # header
    b"N": 0x40000,  # end of headers
    b"B": 0x80000,  # body chunk
}
STAGE_OF: Final = {
    b"C": Stage.CONNECT,
    b"H": Stage.SENDER,
    b"M": Stage.SENDER,
    b"R": Stage.RECIPIENT,
}

# stage number (SMFIM_*): the names asked for; a mail server sends these in place of its own choice
MACROS: Final = {
    0: "j _ {daemon_name} {daemon_port} {client_addr} {client_name} {client_ptr}",  # connect
    2: "{auth_type} {auth_authen} {mail_addr}",  # MAIL FROM
    3: "{rcpt_addr}",  # RCPT TO
    5: "i",  # end of message
}

_ACTIONS = ADD_HEADERS | REMOVE_RECIPIENTS | CHANGE_HEADERS | QUARANTINE | SET_MACROS
_STEPS = NO_UNKNOWN | NO_DATA | NO_END_OF_HEADERS | SKIP | LEADING_SPACE


class MilterTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What holds on one connection; nothing in it was not offered."""

    version: int
    actions: int
    protocol: int
    waits: frozenset[Stage]  # stages whose real answer the mail server waits for
    answers: frozenset[bytes]  # commands that the mail server waits on, whatever we answer

    @property
    def leading_space(self) -> bool:
        """Whether header values come with the white space after the colon."""
        return bool(self.protocol & LEADING_SPACE)

    def value(self, header: AddHeader) -> str:
        """Return the value of a header to add as the mail server must be given it.

        One that hands over leading spaces takes values as they are: "Ok" would become "X-Mras:Ok".
        """
        return f" {header.value}" if self.leading_space else header.value

    @property
    def skip(self) -> bool:
        """Whether a body can be cut short."""
        return bool(self.protocol & SKIP)

    @property
    def edits(self) -> bool:
        """Whether headers can be added and removed."""
        return self.actions & (ADD_HEADERS | CHANGE_HEADERS) == ADD_HEADERS | CHANGE_HEADERS

    @property
    def removes(self) -> bool:
        """Whether recipients can be removed."""
        return bool(self.actions & REMOVE_RECIPIENTS)

    @property
    def holds(self) -> bool:
        """Whether the mail server has a queue for what is held."""
        return bool(self.actions & QUARANTINE)


@lru_cache(maxsize=64)  # mail servers make the same offer each time
def agree(version: int, actions: int, protocol: int, waits: frozenset[Stage]) -> MilterTerms:
    """Return the best terms within an offer.

    Args:
        version: that the mail server offered.
        actions: that it offered, SMFIF_*.
        protocol: steps that it offered, SMFIP_*.
        waits: stages that must be answered in earnest.

    Raises:
        PeerError: a version that was never spoken, or older than 2.
    """
    if not MIN_VERSION <= version < 256:
        raise PeerError(
            f"milter protocol version {version}, we speak {MIN_VERSION} to {MAX_VERSION}"
        )
    steps = _STEPS
    for command, bit in NO_REPLY.items():
        if STAGE_OF.get(command) not in waits:
            steps |= bit
    agreed = protocol & steps
    return MilterTerms(
        version=min(version, MAX_VERSION),
        actions=actions & _ACTIONS,
        protocol=agreed,
        waits=waits,
        answers=frozenset(command for command, bit in NO_REPLY.items() if not agreed & bit),
    )
