"""A relay that hands connections on under another address, by the PROXY protocol: what a Postfix
sends to another of this machine comes from afar.

Source: haproxy's proxy-protocol.txt, version 1; postconf(5), smtpd_upstream_proxy_protocol.
"""

from __future__ import annotations

import socket
import socketserver
import threading
from contextlib import suppress
from typing import Self

from tests.peers.ports import free_port


class Introduced:
    """Use it as a context.

    Args:
        to: port of this machine that understands the protocol.
        address: that is told, IPv4.
    """

    def __init__(self, to: int, address: str) -> None:
        self.port = free_port()
        lead = f"PROXY TCP4 {address} 127.0.0.1 4711 {to}\r\n".encode()

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError), socket.create_connection(("127.0.0.1", to)) as behind:
                    behind.sendall(lead)
                    back = threading.Thread(target=_pump, args=(behind, self.request), daemon=True)
                    back.start()
                    _pump(self.request, behind)
                    back.join()

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            block_on_close = False

        self._server = Server(("127.0.0.1", self.port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while octets := source.recv(65_536):
            target.sendall(octets)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
