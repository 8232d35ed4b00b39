"""Whom passkeys are for: the name and the address of this site's console.

An authenticator signs for one name, and a browser lets only pages of that name ask it. So the name
is that of `console.url`, and whoever changes it makes all passkeys useless.
"""

from __future__ import annotations

from importlib.util import find_spec
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

import msgspec

NEEDED: Final = "webauthn"
_LOCAL: Final = "localhost"  # browsers take it for safe without TLS


class RelyingParty(msgspec.Struct, frozen=True, kw_only=True):
    """Whom passkeys are for.

    Args:
        name: of the host, which authenticators sign for.
        origin: of the pages that may ask.
        title: as people are shown it.
    """

    name: str
    origin: str
    title: str


def relying_party(url: str, site: str) -> RelyingParty | str:
    """Return whom passkeys of a site are for, or why it can have none.

    Args:
        url: of its pages.
        site: its name.
    """
    if find_spec(NEEDED) is None:
        return "passkeys need the extra `login` of the package: pip install 'oborona[login]'"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return f"console.url: {url[:100]} is no address of pages"
    local = host == _LOCAL or host.endswith(f".{_LOCAL}")
    if not host or _is_address(host):
        return "passkeys need a name of the console: set console.url to https://NAME"
    if parts.scheme != "https" and not local:
        return "passkeys need TLS: set console.url to an address that begins with https://"
    usual = {"https": 443, "http": 80}[parts.scheme]
    told = host if port in (None, usual) else f"{host}:{port}"
    return RelyingParty(
        name=host, origin=f"{parts.scheme}://{told}", title=f"Oborona {site}".strip()
    )


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
