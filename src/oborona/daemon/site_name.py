"""The name of the site, as its headers, ids and reports carry it."""

from __future__ import annotations

import socket

from oborona.config import LoadedSettings


def site_name(loaded: LoadedSettings) -> str:
    """Return the name that our own headers carry: as set, else the host's."""
    return loaded.settings.site.name or socket.getfqdn()
