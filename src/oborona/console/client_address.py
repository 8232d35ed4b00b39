"""Whose browser asks, where a proxy stands in between."""

from __future__ import annotations

import ipaddress
import socket
from typing import Final

from aiohttp import web

from oborona.doors.client_key import is_in_networks
from oborona.reputation.networks import networks

LOCAL: Final = "127.0.0.0/8 ::1"


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
        if peer is not None and told and is_in_networks(peer, self._proxies):
            try:
                return str(ipaddress.ip_address(told[-1].rpartition(",")[2].strip(" []")))
            except ValueError:
                return ""
        if peer is None or peer.family == socket.AF_UNIX:
            return ""
        return request.remote or ""
