"""The name of the site: what its headers, ids and reports carry."""

from __future__ import annotations

import socket

from oborona.config import Loaded


def site_name(loaded: Loaded) -> str:
    """Return the name that our own headers carry: as set, else the host's."""
    return loaded.settings.site.name or socket.getfqdn()
