"""A link's host, or the domain of From, is written in letters of another script so that it reads
like an ASCII name.
"""

from __future__ import annotations

from typing import Final

from oborona.message.homograph import looks_like
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "homograph-host"


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such host.

    Names in one script that no ASCII name looks like (пример.рф, münchen.de, 例え.jp) are what they
    seem.
    """
    message = context.message
    hosts = dict.fromkeys(link.host for link in message.links)
    for host in (*message.from_domains, *hosts):
        reads = looks_like(host)
        if reads:
            return Finding(SLUG, quoted(f"{host} reads {reads}", 160))
    return None
