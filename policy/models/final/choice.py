"""Which of the final models decides at this site: a small file beside the models.

Whoever trains the site's own model writes it; the workers follow it.  Without it the model that
comes with Oborona adds under its first cap, and the site's own is in shadow.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from oborona.policy.models.final.file import BrokenModel

MAX_OCTETS: Final = 64 << 10


class ShippedStanding(StrEnum):
    """What the site's own mail said of the model that comes with Oborona."""

    UNPROVED = "unproved"  # nothing yet
    CONFIRMED = "confirmed"  # it catches more, and loses no more
    REFUTED = "refuted"  # it loses good mail that the rules alone do not


class FinalChoice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was found of both models, and when."""

    own: str = ""  # version of the site's own model that decides; empty = it is in shadow
    shipped: ShippedStanding = ShippedStanding.UNPROVED
    shipped_version: str = ""  # of which that was said; another one is unproved
    at: float = 0.0  # Unix seconds
    why: str = ""  # the figures, in one line


NO_CHOICE: Final = FinalChoice()
_DECODER: Final = msgspec.json.Decoder(FinalChoice)


def encode_choice(choice: FinalChoice) -> bytes:
    """Return the file of a choice."""
    return msgspec.json.format(msgspec.json.encode(choice)) + b"\n"


def decode_choice(octets: bytes) -> FinalChoice:
    """Return the choice of a file.

    Raises:
        BrokenModel: anything else than what `encode_choice` wrote.
    """
    if len(octets) > MAX_OCTETS:
        raise BrokenModel(f"larger than {MAX_OCTETS >> 10} KiB: no choice of a model")
    try:
        return _DECODER.decode(octets)
    except (ValueError, RecursionError) as fault:
        raise BrokenModel(f"no choice of a model: {fault}") from fault
