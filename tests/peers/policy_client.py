"""Postfix's side of the policy protocol, written from SMTPD_POLICY_README and apart from our codec.

with PolicyClient("unix:/tmp/x/policy.sock") as postfix:
    assert postfix.ask(protocol_state="RCPT", client_address="192.0.2.9") == "DUNNO"
"""

from __future__ import annotations

import socket
from types import TracebackType
from typing import Final, Self

from oborona.config.address import UnixAddress, parse_address

PATIENCE_S: Final = 10.0


def request(**attributes: str) -> bytes:
    """Return one request as Postfix writes it; "request" itself may be given too."""
    said = {"request": "smtpd_access_policy"} | attributes
    return "".join(f"{name}={value}\n" for name, value in said.items()).encode() + b"\n"


class PolicyClient:
    """One policy connection.

    Args:
        address: of the policy service, as settings write it.
    """

    def __init__(self, address: str) -> None:
        where = parse_address(address)
        if isinstance(where, UnixAddress):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(PATIENCE_S)
            self.sock.connect(where.path)
        else:
            self.sock = socket.create_connection((where.host, where.port), PATIENCE_S)
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.sock.close()

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.sock.sendall(data)

    def action(self) -> str:
        """Return the action of the next answer.

        Raises:
            EOFError: the service hung up; the text is what it said before.
        """
        while b"\n\n" not in self._rest:
            try:
                more = self.sock.recv(65_536)
            except ConnectionResetError:
                more = b""
            if not more:
                raise EOFError(self._rest.decode())
            self._rest += more
        answer, _, self._rest = self._rest.partition(b"\n\n")
        name, _, action = answer.decode("ascii").partition("=")
        assert name == "action"
        assert "\n" not in action
        return action

    def ask(self, **attributes: str) -> str:
        """Send one request and return the action."""
        self.send(request(**attributes))
        return self.action()

    def ended(self) -> bool:
        """Wait for the end of the connection; return whether nothing was said before it."""
        try:
            self.action()
        except EOFError as error:
            return str(error) == ""
        return False
