"""A line to PostgreSQL that breaks when told: what was sent on it arrives, the answer does not."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from typing import Self


class CutLine:
    """Passes octets on between clients and a server, until it is to break.

    Args:
        port: of the server, on loopback.

    Attributes:
        port: of this, on loopback.
        cut_after: octets of a client, after which it is heard no more; empty = never.
        closed: nobody can connect.
        silent: nothing passes, and nobody is told.
        held: what is sent waits, as on a network that sends it again when it is whole.
    """

    def __init__(self, port: int) -> None:
        self._server = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cut_after = b""
        self.closed = self.silent = self.held = False
        self._sockets = [self._listener]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in self._sockets:
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.closed:
                    client.close()
                    continue
                try:
                    server = socket.create_connection(("127.0.0.1", self._server))
                except OSError:  # it is not there now
                    client.close()
                    continue
                self._sockets += [client, server]
                for pump in (self._up, self._down):
                    self._threads.append(threading.Thread(target=pump, args=(client, server)))
                    self._threads[-1].start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while octets := client.recv(65536):
                if self.cut_after and self.cut_after in octets:
                    self.cut_after = b""
                    client.shutdown(socket.SHUT_RDWR)
                    server.sendall(octets)
                    return
                self._wait()
                if not self.silent:
                    server.sendall(octets)
        except OSError:
            pass  # one of them is gone
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)

    def _down(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while octets := server.recv(65536):
                self._wait()
                if not self.silent:
                    client.sendall(octets)
        except OSError:
            pass  # one of them is gone
        finally:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def _wait(self) -> None:
        while self.held:
            time.sleep(0.02)
