"""The mail server's side of the milter protocol, written from Sendmail's mfdef.h and apart from our
codec.

    server = MailServer(address, protocol=0x1fffff)
    server.mail("<a@b.test>"); server.rcpt("<c@d.test>"); server.content([(b"Subject", b" x")],
    [b"body"]); server.end()

A command that the filter promised not to answer returns None at once; any other waits for its
answer, as (letter, data).
"""

from __future__ import annotations

import socket
import struct
from types import TracebackType
from typing import Final, Self

from oborona.config.address import InetAddress, UnixAddress

PATIENCE_S: Final = 10.0
NO_STEP: Final = {b"N": 0x40, b"T": 0x200, b"U": 0x100}
NO_REPLY: Final = {
    b"C": 0x1000, b"H": 0x2000, b"M": 0x4000, b"R": 0x8000, b"T": 0x10000, b"U": 0x20000, b"L": 0x80, b"N": 0x40000,
    b"B": 0x80000,
}  # fmt: skip
LEADING_SPACE: Final = 0x100000

Answer = tuple[bytes, bytes] | None


class MailServer:
    """One milter connection.

    Args:
        address: where the filter listens.
        version, actions, protocol: the offer.
    """

    def __init__(
        self,
        address: UnixAddress | InetAddress,
        *,
        version: int = 6,
        actions: int = 0x1FF,
        protocol: int = 0x1FFFFF,
    ) -> None:
        if isinstance(address, UnixAddress):
            self.sock = socket.socket(socket.AF_UNIX)
            where: str | tuple[str, int] = address.path
        else:
            self.sock = socket.socket()
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            where = (address.host, address.port)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(where)
        self.offered = protocol
        self.version = self.actions = self.protocol = 0
        self.asked: dict[int, str] = {}
        self.offer = struct.pack("!III", version, actions, protocol)

    def __enter__(self) -> Self:
        """Negotiate."""
        self.negotiate()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hang up."""
        self.sock.close()

    def negotiate(self) -> None:
        """Make the offer and note what the filter takes of it."""
        self.write(b"O", self.offer)
        letter, data = self.read()
        assert letter == b"O"
        self.version, self.actions, self.protocol = struct.unpack("!III", data[:12])
        rest = data[12:]
        while rest:
            (stage,) = struct.unpack("!I", rest[:4])
            names, _, rest = rest[4:].partition(b"\0")
            self.asked[stage] = names.decode()

    def write(self, letter: bytes, data: bytes = b"") -> None:
        """Send one packet."""
        self.sock.sendall(struct.pack("!I", len(data) + 1) + letter + data)

    def read(self) -> tuple[bytes, bytes]:
        """Receive one packet.

        Raises:
            EOFError: the filter hung up.
        """
        (length,) = struct.unpack("!I", self._take(4))
        packet = self._take(length)
        return packet[:1], packet[1:]

    def _take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self.sock.recv(count - len(data))
            if not more:
                raise EOFError("the filter hung up")
            data += more
        return data

    def command(self, letter: bytes, data: bytes = b"") -> Answer:
        """Send a command unless the filter does not want it; return the answer if there is one."""
        if self.protocol & NO_STEP.get(letter, 0):
            return None
        self.write(letter, data)
        if self.protocol & NO_REPLY.get(letter, 0):
            return None
        return self.read()

    def macros(self, letter: bytes, **values: str) -> None:
        """Say macros before a command; names without braces."""
        data = b"".join(
            (name if len(name) == 1 else f"{{{name}}}").encode() + b"\0" + value.encode() + b"\0"
            for name, value in values.items()
        )
        self.write(b"D", letter + data)

    def connect(
        self, host: str = "client.test", ip: str = "192.0.2.9", port: int = 25025
    ) -> Answer:
        """Say who connected."""
        family = b"6" if ":" in ip else b"4"
        data = host.encode() + b"\0" + family + struct.pack("!H", port) + ip.encode() + b"\0"
        return self.command(b"C", data)

    def helo(self, name: str = "client.test") -> Answer:
        """HELO."""
        return self.command(b"H", name.encode() + b"\0")

    def mail(self, *words: str) -> Answer:
        """MAIL FROM, brackets and parameters as a client writes them."""
        return self.command(b"M", "\0".join(words).encode() + b"\0")

    def rcpt(self, *words: str) -> Answer:
        """RCPT TO."""
        return self.command(b"R", "\0".join(words).encode() + b"\0")

    def content(self, headers: list[tuple[bytes, bytes]], chunks: list[bytes]) -> list[Answer]:
        """DATA, headers and body; return the answers to body chunks."""
        self.command(b"T")
        for name, value in headers:
            if not self.protocol & LEADING_SPACE and value[:1] == b" ":
                value = value[1:]  # noqa: PLW2901
            self.command(b"L", name + b"\0" + value + b"\0")
        self.command(b"N")
        return [self.command(b"B", chunk) for chunk in chunks]

    def end(self, chunk: bytes = b"") -> tuple[list[tuple[bytes, bytes]], bytes, bytes]:
        """End of the message; return the edits, and the letter and data of the answer."""
        self.write(b"E", chunk)
        edits = []
        while True:
            letter, data = self.read()
            if letter == b"p":  # progress: it says that it lives
                continue
            if letter in b"hmi-":
                edits.append((letter, data))
            else:
                return edits, letter, data

    def message(
        self,
        do: str = "edit",
        sender: str = "<a@b.test>",
        recipient: str = "<c@d.test>",
        body: bytes = b"hello\r\n",
    ) -> tuple[list[tuple[bytes, bytes]], bytes, bytes]:
        """A whole message that nobody refuses before its end."""
        self.mail(sender)
        self.rcpt(recipient)
        self.content([(b"X-Do", b" " + do.encode()), (b"Subject", b" x")], [body])
        return self.end()

    def abort(self) -> None:
        """Give up the message at hand."""
        self.write(b"A")

    def quit(self) -> None:
        """End the connection, and wait until the filter has heard it: libmilter drops what it has
        not read when we hang up.
        """
        self.write(b"Q")
        while self.sock.recv(1024):
            pass
