"""A message of our own that proves a door: judged as any other, and neither counted, nor journaled,
nor learned from.

Who asks the daemon for that shows that it can read the site's secret: a macro with the time and a
keyed hash of it, told with MAIL FROM.  A mail server sends no such macro, and takes none from its
clients.

Source: BLAKE2b keyed and personalised, RFC 7693 section 2.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

MACRO: Final = "oborona_probe"
FRESH_S: Final = 60.0  # that a proof is believed, either way: the clocks are those of one machine
# said in the answer, so that who asked knows that he was believed
TOLD: Final = "probe, not counted"


def probe_value(key: bytes, now: float) -> str:
    """Return the macro's value.

    Args:
        key: `Keys.signature` of the site.
        now: Unix seconds.
    """
    stamp = str(int(now))
    return f"{stamp}.{_hash(key, stamp)}"


def is_probe(key: bytes, proof: str, now: float) -> bool:
    """Tell whether a macro's value is a fresh proof."""
    stamp, _, hashed = proof.partition(".")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12 and hashed.isascii()):
        return False
    return abs(int(stamp) - now) <= FRESH_S and hmac.compare_digest(hashed, _hash(key, stamp))


def _hash(key: bytes, stamp: str) -> str:
    return hashlib.blake2b(stamp.encode(), key=key, person=b"probe", digest_size=16).hexdigest()
