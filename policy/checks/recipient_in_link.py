"""A link to somebody else's site carries the recipient's address: in letters, or in base64."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Final
from urllib.parse import unquote

from oborona.domains import registrable
from oborona.message.model import EntityLocation, MessageLink
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "recipient-in-link"

LOOKED_AT: Final = 2_000  # characters of a link
_WAY_OUT: Final = re.compile(r"unsub|opt-?_?out|preferenc|abmeld|desinscri|otpis", re.IGNORECASE)


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such link; behind a # it never comes to the server's log.

    A page that asks for a password fills the address in already. Ways out of a list carry it too:
    they and the author's own site are left out.
    """
    message = context.message
    if len(context.envelope.recipients) != 1 or not message.links:
        return None
    address = context.envelope.recipients[0].lower()
    if "@" not in address:
        return None
    forms = (
        address,
        b64encode(address.encode("utf-8", "replace")).decode("ascii").rstrip("=")[:-1],
    )
    own = context.author_site
    reader = registrable(address.rpartition("@")[2])
    for link in message.links:
        if link.place is EntityLocation.PICTURE or link.domain in ("", own, reader):
            continue
        if _carries(link, forms):
            return Finding(SLUG, quoted(link.url, 160))
    return None


def _carries(link: MessageLink, forms: tuple[str, str]) -> bool:
    url = f"{link.url[:LOOKED_AT]}#{link.fragment}"
    if "%" in url:
        url = unquote(url, errors="replace")
    return (forms[0] in url.lower() or forms[1] in url) and not (
        _WAY_OUT.search(url) or _WAY_OUT.search(link.shown[:100])
    )
