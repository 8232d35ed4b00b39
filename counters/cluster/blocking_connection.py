"""A blocking connection to one node: it sends many commands at once, then reads their answers."""

from __future__ import annotations

import socket
from typing import Final

import hiredis

from oborona.counters.cluster.wire import BROKEN, ClusterAccess, NodeAddress, Reply
from oborona.errors import StoreError

READ_BYTES: Final = 1 << 18


class BlockingNodeConnection:
    """One connection; after an error it is closed, and of no more use.

    Args:
        address: the node's.
        access: password and encryption.
        answer_s: deadline for each bit of an answer.

    Raises:
        StoreError: it cannot be reached, or refuses us.
    """

    def __init__(self, address: NodeAddress, access: ClusterAccess, answer_s: float) -> None:
        self.address = address
        self._reader = hiredis.Reader()
        try:
            self._socket = socket.create_connection(address, timeout=access.connect_s)
        except OSError as error:
            raise StoreError(f"cannot reach {address}: {error}") from error
        try:
            tls = access.tls()
            if tls is not None:
                self._socket = tls.wrap_socket(self._socket, server_hostname=address.host)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.settimeout(answer_s)
            self._greet(access.greeting())
        except OSError as error:
            self.close()
            raise StoreError(f"cannot reach {address}: {error}") from error
        except BaseException:
            self.close()
            raise

    def _greet(self, greeting: bytes) -> None:
        if greeting:
            self.send(greeting)
            [answer] = self.answers(1)
            if isinstance(answer, hiredis.ReplyError):
                raise StoreError(f"{self.address} refuses us: {answer}")

    def send(self, commands: bytes) -> None:
        """Send packed commands.

        Raises:
            StoreError: the node is away.
        """
        try:
            self._socket.sendall(commands)
        except OSError as error:
            self.close()
            raise StoreError(f"{self.address} is away: {error}") from error

    def answers(self, count: int) -> list[Reply]:
        """Return the next answers; errors of Redis among them as `hiredis.ReplyError`.

        Raises:
            StoreError: the node is away, or silent past its deadline.
        """
        replies: list[Reply] = []
        try:
            while len(replies) < count:
                answer = self._reader.gets()
                if answer is not False:
                    replies.append(answer)
                    continue
                data = self._socket.recv(READ_BYTES)
                if not data:
                    raise ConnectionError("it hung up")
                self._reader.feed(data)
        except (OSError, *BROKEN) as error:
            self.close()
            raise StoreError(f"{self.address} is away: {error}") from error
        return replies

    def close(self) -> None:
        """Hang up; a second call does nothing."""
        self._socket.close()
