"""The domain in From can't exist: it is one label, has letters that no name has, or lies under no
TLD.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.domains import MAX_HOST, a_labels, under_known_suffix
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "impossible-from"

_NAME: Final = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})+")
PRIVATE: Final = frozenset(
    {"arpa", "corp", "example", "home", "internal", "intranet", "invalid", "lan", "local", "localdomain", "localhost", "test"}
)  # fmt: skip
"""What machines behind routers are called under, and documents: badly set up, not invented."""


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the domain.

    Source: RFC 5321 section 2.3.5 (only names that can be resolved), RFC 6761, RFC 6762.
    """
    for domain in context.message.from_domains:
        if domain.startswith("["):  # an address is odd, and another matter
            continue
        if not _possible(domain):
            return Finding(SLUG, quoted(domain, 160))
    return None


def _possible(domain: str) -> bool:
    if len(domain) > MAX_HOST:
        return False
    if not domain.isascii():
        try:
            domain = a_labels(domain)
        except ValueError:
            return False
    if domain.rpartition(".")[2] in PRIVATE:
        return True
    return _NAME.fullmatch(domain) is not None and under_known_suffix(domain)
