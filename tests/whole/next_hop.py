"""A mailbox host that takes everything by LMTP, and notes whose copy it was and what our headers
said.
"""

from __future__ import annotations

import email
import re
from typing import Final, NamedTuple, Self

from aiosmtpd.controller import Controller
from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.peers.ports import free_port

READY_S: Final = 20.0


class Copy(NamedTuple):
    """A message as it was delivered."""

    number: int  # of its letter
    recipient: str
    ident: str  # X-Mras-Id; empty = it bears none
    label: str  # X-Mras
    reason: str


class NextHop:
    """Use it as a context.

    Attributes:
        copies: in the order in which they came; one may come again.
    """

    def __init__(self) -> None:
        self.copies: list[Copy] = []
        port = free_port()
        self.address = f"inet:{port}@127.0.0.1"
        hop = self

        class Served(Controller):
            def factory(self) -> SMTP:
                return LMTP(hop, enable_SMTPUTF8=True)

        self._served = Served(self, hostname="127.0.0.1", port=port, ready_timeout=READY_S)

    def __enter__(self) -> Self:
        self._served.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._served.stop()

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        """Take a message."""
        assert isinstance(envelope.content, bytes)
        head = email.message_from_bytes(envelope.content)
        number = re.fullmatch(r"<(\d+)@kills\.example>", head["Message-ID"])
        assert number is not None
        (recipient,) = envelope.rcpt_tos
        self.copies.append(
            Copy(
                int(number[1]),
                recipient,
                head["X-Mras-Id"] or "",
                head["X-Mras"] or "",
                head["X-Mras-Reason"] or "",
            )
        )
        return "250 2.0.0 taken"
