"""Chooses the examples to keep when there are too many: a sample that favours recent ones.

Each label gets a rank from its time and from a keyed hash that nobody can choose; the lowest ranks
of each class are kept.  The sample does not depend on labels that were in it before: a withdrawn
label leaves no trace in the choice of the others, up to `RESERVE` withdrawn ones.

Source: P. Efraimidis and P. Spirakis, "Weighted random sampling with a reservoir", 2006; weights
that grow with time: G. Cormode et al., "Forward decay", ICDE 2009.
"""

from __future__ import annotations

import hashlib
import math
from typing import Final

# a word of three months ago is kept half as probably as one of today
HALF_LIFE_S: Final = 90 * 86_400.0
# share of the room that is kept beyond it, to follow when words are taken back
RESERVE: Final = 0.1


def rank_of(digest: bytes, person: str, when: float) -> float:
    """Return the rank of a word: the lower, the longer it is kept.

    Args:
        digest: of the message, under a key of the site: nobody outside can aim at a low rank.
        person: whose word it is.
        when: Unix seconds.
    """
    drawn = hashlib.blake2b(
        person.encode("utf-8", "surrogatepass"), key=digest, digest_size=8
    ).digest()
    uniform = (int.from_bytes(drawn) + 0.5) / 2**64
    # w = exp(λt), rank = -ln(u)/w; its logarithm, since w has no room in a float
    return math.log(-math.log(uniform)) - math.log(2) / HALF_LIFE_S * when


def room(kept: int) -> int:
    """Return how many examples of a class are held so that `kept` of them can be learned again at
    any time.
    """
    return kept + math.ceil(kept * RESERVE)
