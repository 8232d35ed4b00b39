"""The client called itself by a name that is ours, by "localhost", by a recipient's domain, or by
an address that is not its own.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.local_clients import is_own
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "forged-helo"

_NOBODY: Final = frozenset({"localhost", "localhost.localdomain"})  # nobody's name on the Internet


def check(context: CheckContext) -> Finding | None:
    """Return a finding for a HELO that can't be true; our own people and machines may say what they
    like.

    Source: RFC 5321 section 4.1.4 (the argument is the client's own name or address literal).
    """
    envelope = context.envelope
    helo = envelope.helo.lower().rstrip(".")
    if not helo or is_own(envelope):
        return None
    if helo in (context.site.lower(), envelope.server.lower().rstrip(".")):
        return Finding(SLUG, "our own name")
    if helo in _NOBODY:
        return Finding(SLUG, helo)
    # a client in the recipient's own domain has that domain in its verified name
    for recipient in envelope.recipients[:1]:
        domain = recipient.rpartition("@")[2].lower()
        name = envelope.client.name.lower().rstrip(".")
        if helo == domain and name != domain and not name.endswith("." + domain):
            return Finding(SLUG, "the recipient's domain")
    literal = helo.strip("[]").removeprefix("ipv6:")
    if not literal[-1:].isdigit() and ":" not in literal:  # a name, as nearly always
        return None
    if _address(literal) not in (None, _address(envelope.client.ip)):
        return Finding(SLUG, quoted(helo, 60))
    return None


def _address(text: str) -> str | None:
    try:
        return str(ip_address(text))
    except ValueError:
        return None
