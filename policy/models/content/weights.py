"""What was learned, as one flat table: in memory of one's own, or in a mapped file that one process
writes and all others read.

    totals      messages of ham and of spam, by how far each word was believed; the sums of their
                products before they were learned
    table       of each slot, side by side: how many of those messages of ham and of spam have it,
                and its pull, the weight of the linear model
    personal    the same for persons, one table for all: slots by hash of slot and person

A message is a vector: each of its slots has a value by how well it told ham from spam so far, |log
odds| plus `FLOOR`, and each view has the same length. The margin is the product of that vector with
the weights, less `middle`. So a piece that says nothing costs nothing, and few examples teach as
much as they can. Sources: S. Wang and C. Manning, "Baselines and Bigrams", ACL 2012 (log odds as
the values of a linear model); G. Robinson, "A Statistical Approach to the Spam Problem", 2003
(`DOUBT`: how rare pieces are held to know little); K. Weinberger et al., "Feature Hashing for Large
Scale Multitask Learning", ICML 2009 (persons in one table).
"""

from __future__ import annotations

from typing import Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from oborona.policy.models.content.features import EDGES, SPACE, VIEWS, ContentFeatures

Floats = NDArray[np.float32]

DOUBT: Final = 1.0  # messages that a piece is held to have been in, half of them spam
FLOOR: Final = 0.3  # value of a piece that tells nothing yet
# how far the mean products of ham and of spam are held to be apart before both are known
APART: Final = 0.2
SURE: Final = 10.0  # messages of a class from which on its own mean counts for more than that
FEW: Final = 2.0  # messages that a class is held to have had at product 0
MOVED: Final = 0.5  # how far the line goes towards the middle: that is an estimate, too
TOTALS: Final = 16  # numbers before the tables; four are used
WIDTH: Final = 4  # numbers of a slot; three are used, and four are fetched as one
PERSONAL_BITS: Final = 19
_HALF: Final = np.float32(DOUBT / 2)
_SHARE: Final = 1 / len(VIEWS)  # of the vector's squared length
_PERSON: Final = np.uint32(2654435761)


class FeatureVector(NamedTuple):
    """A message as the weights see it now."""

    slots: NDArray[np.uint32]
    values: Floats  # of its slots; of length 1 together, or less where views are empty
    pull: Floats  # of its slots, as it was


class MarginParts(NamedTuple):
    """What each slot of a message adds to its margin."""

    slots: NDArray[np.uint32]  # ascending
    parts: Floats

    def of(self, slots: NDArray[np.uint32]) -> Floats:
        """Return the parts of some of its slots."""
        return self.parts[np.searchsorted(self.slots, slots)]


class Weights:
    """Tables over a buffer of `SIZE` octets, all zero where nothing is learned.

    Args:
        buffer: may be read-only (a mapped file); then it can be asked and not taught.
    """

    SIZE: Final = 4 * (TOTALS + WIDTH * SPACE + (1 << PERSONAL_BITS))  # octets

    def __init__(self, buffer: bytearray | memoryview) -> None:
        numbers: Floats = np.frombuffer(buffer, np.float32, self.SIZE // 4)
        self.totals: Floats = numbers[:TOTALS]
        table = numbers[TOTALS : TOTALS + WIDTH * SPACE]
        self._rows = table.view(
            np.complex128
        )  # a slot's row as one element: fetched from one place of memory
        self.counts: Floats = table.reshape(SPACE, WIDTH)[:, :2].T  # ham, spam
        self.pull: Floats = table.reshape(SPACE, WIDTH)[:, 2]
        self.personal: Floats = numbers[TOTALS + WIDTH * SPACE :]

    @classmethod
    def new(cls) -> Weights:
        """Return weights in memory that know nothing."""
        return cls(bytearray(cls.SIZE))

    def margin(self, features: ContentFeatures, person: str = "") -> float:
        """Return what it says of a message: above 0 is spam; 0 where nothing was learned.

        Args:
            features: of it.
            person: whose own corrections are added; empty = nobody's.
        """
        vector = self.vector(features)
        margin = self.product(vector) - self.middle()
        return margin + self.personal_part(vector, person) if person else margin

    def product(self, vector: FeatureVector) -> float:
        """Return the shared margin of a vector, before `middle` is taken off."""
        return float(vector.pull @ vector.values)

    def middle(self) -> float:
        """Return where the line between ham and spam lies, by the products that messages had before
        they were learned.

        All mail looks alike to one who knows only spam, or much of it and little ham: then ham,
        too, is above 0. What is not known yet of a class is taken from the other; where both are
        known well, they lie on either side of 0, and the line near it.
        """
        hams, spams, ham_sum, spam_sum = self.totals[:4].tolist()
        ham = (ham_sum + SURE * (spam_sum / (spams + FEW) - APART)) / (hams + SURE)
        spam = (spam_sum + SURE * (ham_sum / (hams + FEW) + APART)) / (spams + SURE)
        return float(MOVED * (ham + spam) / 2.0)

    def personal_part(self, vector: FeatureVector, person: str) -> float:
        """Return what the corrections of a person add to the margin of a vector."""
        return float(self.personal[personal_slots(vector.slots, person)] @ vector.values)

    def parts(self, features: ContentFeatures, person: str = "") -> MarginParts:
        """Return each slot's part of the margin; see `margin`."""
        vector = self.vector(features)
        pull = vector.pull
        if person:
            pull = pull + self.personal[personal_slots(vector.slots, person)]
        return MarginParts(vector.slots, pull * vector.values)

    def vector(self, features: ContentFeatures) -> FeatureVector:
        """Return a message as the weights see it now; see the head of this file."""
        slots = features.slots
        rows: Floats = self._rows.take(slots).view(np.float32).reshape(slots.size, WIDTH)
        ham, spam, pull, _ = np.ascontiguousarray(rows.T)
        values = self._log_odds(ham, spam)
        np.abs(values, out=values)
        values += np.float32(FLOOR)
        first = 0
        for last in np.searchsorted(slots, EDGES[1:]).tolist():
            view = values[first:last]
            view *= np.float32((_SHARE / max(float(view @ view), 1e-9)) ** 0.5)
            first = last
        return FeatureVector(slots, values, pull)

    def _log_odds(self, ham: Floats, spam: Floats) -> Floats:
        """Return by how much slots with these counts speak for spam, in place of the counts.

        0 where either class is unknown.
        """
        ham_total, spam_total = float(self.totals[0]), float(self.totals[1])
        if ham_total <= 0 or spam_total <= 0:
            return np.zeros_like(spam)
        # both classes as if each had the harmonic mean of the two
        alike = 2.0 / (ham_total + spam_total)
        ham *= np.float32(alike * spam_total)
        ham += _HALF
        spam *= np.float32(alike * ham_total)
        spam += _HALF
        spam /= ham
        return np.log(spam, out=spam)


def personal_slots(slots: NDArray[np.uint32], person: str) -> NDArray[np.uint32]:
    """Return where the corrections of a person lie."""
    mixed = slots ^ np.uint32(crc32(person.encode("utf-8", "surrogatepass")))
    mixed *= _PERSON
    mixed ^= mixed >> np.uint32(15)
    mixed *= _PERSON
    return mixed >> np.uint32(32 - PERSONAL_BITS)
