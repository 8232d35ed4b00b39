"""Whose browser asks, where a proxy stands in between; and whom it says is signed in."""

from __future__ import annotations

import ipaddress
import socket
from typing import Final, NamedTuple

from aiohttp import web

from oborona.doors.client_key import is_in_networks
from oborona.reputation.networks import networks

LOCAL: Final = "127.0.0.0/8 ::1"
USER: Final = "X-Remote-User"
SECRET: Final = "X-Proxy-Secret"  # noqa: S105 - its header


class ProxyWord(NamedTuple):
    """What a proxy says of who is signed in; the desk looks whether it may."""

    user: str
    secret: str


class ClientAddresses:
    """Tells the address of a browser.

    Args:
        proxies: networks of proxies, with spaces between; empty: this machine's own. Whoever comes
            by a socket file is one, too.
    """

    def __init__(self, proxies: str) -> None:
        self._proxies = networks(proxies or LOCAL)

    def of(self, request: web.BaseRequest) -> str:
        """Return the address of a browser; empty: it can't be told.

        A proxy adds whom it hears to the end of X-Forwarded-For; what stands before is the client's
        own tale.
        """
        peer = request.get_extra_info("socket")
        told = request.headers.getall("X-Forwarded-For", [])
        if told and self._by_proxy(request):
            try:
                return str(ipaddress.ip_address(told[-1].rpartition(",")[2].strip(" []")))
            except ValueError:
                return ""
        if peer is None or peer.family == socket.AF_UNIX:
            return ""
        return request.remote or ""

    def word(self, request: web.BaseRequest) -> ProxyWord | None:
        """Return whom a proxy says is signed in; None: nobody, or it is no proxy that says so.

        Each of the two headers stands there once: a proxy that adds its own to that of a client
        is none to be believed.
        """
        users, secrets = request.headers.getall(USER, []), request.headers.getall(SECRET, [])
        if len(users) != 1 or len(secrets) != 1 or not users[0].strip():
            return None
        if not self._by_proxy(request):
            return None
        return ProxyWord(
            *(text.encode("utf-8", "replace").decode() for text in (users[0], secrets[0]))
        )

    def _by_proxy(self, request: web.BaseRequest) -> bool:
        peer = request.get_extra_info("socket")
        return peer is not None and is_in_networks(peer, self._proxies)
