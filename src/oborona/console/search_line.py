"""Where the search line of every page leads: what is known by its form has a page of its own, all
else is a search.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from urllib.parse import quote, urlencode

from oborona import ident

MAX_LINE: Final = 1_000  # characters
MESSAGE: Final = "/message/{}"
ENTITY: Final = "/entity/{}"
TRACK: Final = "/track"

# Crockford's letters; a signed one has its signature behind a dot
_ID: Final = re.compile(
    rf"[0-9A-HJKMNP-TV-Z]{{{ident.TEXT_LENGTH}}}(?=\Z|\.[0-9A-Z]{{16}}\Z)", re.IGNORECASE
)
_QUEUE_ID: Final = re.compile(r"(?:[0-9A-F]{8,15}|[0-9B-DF-HJ-NP-TV-Zb-df-hj-np-tv-z]{12,20})\Z")
_ADDRESS: Final = re.compile(r"[^\s@<>:\"]{1,64}@[^\s@<>:\"]{1,253}\Z")
_DOMAIN: Final = re.compile(r"(?=.*[^\d.])[^\s@<>:\"/]{1,63}(?:\.[^\s@<>:\"/.]{1,63})+\Z")


def targets(line: str) -> Iterator[str]:
    """Yield where a line leads, the best first; whoever has no such page takes the next.

    The last is a search.
    """
    words = line[:MAX_LINE].strip()
    bare = words.strip("<>[]")
    found = _ID.match(bare)
    if found:
        yield MESSAGE.format(found[0].upper())
    with suppress(ValueError):
        kind = ipaddress.ip_network if "/" in bare else ipaddress.ip_address
        yield ENTITY.format(quote(str(kind(bare)), safe=""))
    if _ADDRESS.match(bare):
        yield ENTITY.format(quote(bare.lower(), safe=""))
    elif _DOMAIN.match(bare.rstrip(".")):
        yield ENTITY.format(quote(bare.lower().rstrip("."), safe=""))
    if _QUEUE_ID.match(bare):
        yield f"{TRACK}?{urlencode({'q': f'queue:{bare}'}, errors='replace')}"
    yield f"{TRACK}?{urlencode({'q': words}, errors='replace')}"
