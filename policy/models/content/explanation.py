"""Why the content model says what it says of a message: which runs of its text and header, and
which traits of how it is made, pulled which way.

The part of a slot is shared by the places where the message has it; a letter gets what the runs and
words over it get. Neighbours that pull the same way are joined into one readable run. All parts
together are the margin: what is not shown is summed in `rest`, and so is how far the line between
ham and spam has moved (`Weights.middle`).
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from oborona.message.model import Message
from oborona.policy.models.content.features import VIEWS, features, pieces
from oborona.policy.models.content.pieces import GRAM, places
from oborona.policy.models.content.weights import Weights

SHOWN: Final = 12  # parts
SHOWN_OCTETS: Final = 60  # of a run
_QUIET: Final = 0.05  # of the loudest letter: where a run ends


class MarginPart(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of a message and its part of the margin."""

    view: str  # head | text | shape
    what: str
    part: float  # above 0 is towards spam


class MarginExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """Of one margin."""

    margin: float
    parts: tuple[MarginPart, ...]  # heaviest first
    rest: float  # all others together
    views: dict[str, float]  # each view's part of the margin, and of the line's place as `middle`


def explain(
    message: Message, weights: Weights, person: str = "", *, shown: int = SHOWN
) -> MarginExplanation:
    """Return why the weights say what they say of a message.

    Args:
        message: any.
        weights: as they are.
        person: whose own corrections are added; empty = nobody's.
        shown: how many parts are told apart.

    Returns:
        The parts and `rest` sum to the margin, within rounding.
    """
    words = pieces(message)
    parts = weights.parts(features(message), person)
    shares = []  # by view: of each piece, in order
    for slots in words.slots:
        _, inverse, counts = np.unique(slots, return_inverse=True, return_counts=True)
        shares.append((parts.of(slots) / counts[inverse]).astype(np.float64))
    heaviest = [
        *_runs("head", b"\n".join(words.fields), shares[0], shares[2]),
        *_runs("text", words.text, shares[1], shares[3]),
        *_traits(words.shape, shares[4]),
    ]
    heaviest.sort(key=lambda part: -abs(part.part))
    views = {view: float(share.sum()) for view, share in zip(VIEWS, shares, strict=True)} | {
        "middle": -weights.middle()
    }
    margin = sum(views.values())
    return MarginExplanation(
        margin=margin,
        parts=tuple(heaviest[:shown]),
        rest=margin - sum(part.part for part in heaviest[:shown]),
        views=views,
    )


def _traits(shape: list[str], shares: NDArray[np.float64]) -> list[MarginPart]:
    summed: dict[str, float] = {}
    for trait, share in zip(shape, shares.tolist(), strict=True):
        summed[trait] = summed.get(trait, 0.0) + share
    return [MarginPart(view="shape", what=trait, part=share) for trait, share in summed.items()]


def _runs(
    view: str, octets: bytes, runs: NDArray[np.float64], words: NDArray[np.float64]
) -> list[MarginPart]:
    """Return the joined runs of a text."""
    letters = np.zeros(len(octets))
    for place in range(GRAM):
        letters[place : place + runs.size] += runs / GRAM
    for (first, last), share in zip(places(octets), words.tolist(), strict=True):
        letters[first:last] += share / (last - first)
    if not letters.size:
        return []
    signs = np.where(np.abs(letters) <= _QUIET * np.abs(letters).max(), 0, np.sign(letters))
    edges = np.concatenate(([0], np.flatnonzero(np.diff(signs)) + 1, [letters.size]))
    return [
        MarginPart(
            view=view,
            what=octets[first : min(last, first + SHOWN_OCTETS)].decode("utf-8", "replace"),
            part=float(letters[first:last].sum()),
        )
        for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        if signs[first]
    ]
