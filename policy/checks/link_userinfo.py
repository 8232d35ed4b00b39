"""A link begins with the name of one site, as a user before an @, and leads to another:
http://bank.example@evil.example/.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from oborona.domains import normal_host, registrable, under_known_suffix
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "link-userinfo"


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first link whose user part is a host name under another registrable
    domain.

    Plain users (ftp://anonymous@host/, http://ann:secret@host/) promise nothing, nor do e-mail
    addresses of the same domain.
    """
    for link in context.message.links:
        if not link.user:
            continue
        name = normal_host(
            unquote(link.user).rpartition("@")[2].partition(":")[0].partition("/")[0]
        )
        if name and under_known_suffix(name) and registrable(name) != link.domain:
            return Finding(SLUG, quoted(f"begins with {name} leads to {link.host}", 160))
    return None
