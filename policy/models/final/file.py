"""A trained model as one file.

    OBORONAF   8 octets
    SHA-256    32 octets, of all that follows
    MessagePack of `ModelFile`

Everything is checked before it is used: a file that is cut, changed, foreign or larger than
`MAX_OCTETS` is refused, and what it may ask for in memory is bounded by its own length.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from oborona.errors import OboronaError
from oborona.policy.models.content.calibration import Calibration
from oborona.policy.models.final.summary import TrainingSummary
from oborona.policy.models.final.trees import MAX_DEPTH, MAX_FEATURES, MAX_TREES, Trees

MAGIC: Final = b"OBORONAF"
FORMAT: Final = 2
FORMAT_OVER: Final = 3  # of a model that adds to what stands without it: others must not apply it
READS: Final = (1, 2, 3)  # the first has no `points`, the second no `over`
MAX_OCTETS: Final = 64 << 20  # two hundred times a common model
# numbers of the linear model on meaning: one for each of the 512, and an offset
MEANING: Final = 513
MOST_POINTS: Final = 1000.0
MOST_OVER: Final = 100.0  # log-odds of one point
_DIGEST: Final = 32


class BrokenModel(OboronaError):  # noqa: N818 - reads as what happened
    """A file holds no model that can be used; the text says why."""


class TrainedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A trained model with all that was told of it."""

    features: tuple[str, ...]
    trees: Trees
    calibration: Calibration  # from what the trees say to a probability
    policy: str  # version of the policy whose rules it saw
    trained_at: float  # Unix seconds
    summary: TrainingSummary
    meaning: NDArray[np.float32] | None = None  # of `MEANING`
    # of a score, to one of log-odds: the trees add to the rules; 0 = they stand in their place
    points: float = 0.0
    # log-odds of one point of the score that stands without it, to which the trees of a site's own
    # model add; 0 = the trees stand alone
    over: float = 0.0
    held: float = 0.0  # log-odds less of those that it adds to them for spam, down to none


class ModelFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a file holds; arrays are little-endian octets, row by row."""

    format: int
    features: tuple[str, ...]
    depth: int
    places: bytes  # uint16
    borders: bytes  # float32
    values: bytes  # float64
    weights: bytes  # float64
    scale: float
    bias: float
    calibration: Calibration
    policy: str
    trained_at: float
    summary: TrainingSummary
    meaning: bytes = b""  # float32
    points: float = 0.0
    over: float = 0.0
    held: float = 0.0


_DECODER: Final = msgspec.msgpack.Decoder(ModelFile)


def encode(model: TrainedModel) -> bytes:
    """Return the file of a model; the same model always gives the same."""
    trees = model.trees
    stored = ModelFile(
        format=FORMAT_OVER if model.over else FORMAT,
        features=model.features,
        depth=trees.depth,
        places=trees.places.astype("<u2").tobytes(),
        borders=trees.borders.astype("<f4").tobytes(),
        values=trees.values.astype("<f8").tobytes(),
        weights=trees.weights.astype("<f8").tobytes(),
        scale=trees.scale,
        bias=trees.bias,
        calibration=model.calibration,
        policy=model.policy,
        trained_at=model.trained_at,
        summary=model.summary,
        meaning=b"" if model.meaning is None else model.meaning.astype("<f4").tobytes(),
        points=model.points,
        over=model.over,
        held=model.held,
    )
    fields = msgspec.structs.asdict(stored)
    if not model.over:
        # the second format has neither: the same model gives the same octets
        del fields["over"], fields["held"]
    packed = msgspec.msgpack.encode(fields)
    return MAGIC + hashlib.sha256(packed).digest() + packed


def version(octets: bytes) -> str:
    """Return by what a file's model is known: the beginning of its digest, in hex."""
    return octets[len(MAGIC) : len(MAGIC) + 6].hex()


def decode(octets: bytes) -> TrainedModel:
    """Return the model that a file holds.

    Raises:
        BrokenModel: anything else than what `encode` wrote.
    """
    if len(octets) > MAX_OCTETS:
        raise BrokenModel(f"larger than {MAX_OCTETS >> 20} MiB: no model of ours")
    if not octets.startswith(MAGIC):
        raise BrokenModel("no model of ours: it does not begin like one")
    packed = octets[len(MAGIC) + _DIGEST :]
    if hashlib.sha256(packed).digest() != octets[len(MAGIC) : len(MAGIC) + _DIGEST]:
        raise BrokenModel("cut or changed: its digest is another")
    try:
        stored = _DECODER.decode(packed)
    except (ValueError, RecursionError) as fault:  # a text that is no UTF-8 is no error of msgspec
        raise BrokenModel(f"cannot be read: {fault}") from fault
    if stored.format not in READS:
        raise BrokenModel(
            f"of format {stored.format}; this Oborona reads formats {READS[0]} to {READS[-1]}"
        )
    if not 0 <= stored.points <= MOST_POINTS:  # nor is what is no number
        raise BrokenModel(
            f"{stored.points:g} points to a log-odd; 0 to {MOST_POINTS:g} are possible"
        )
    if not 0 <= stored.over <= MOST_OVER:
        raise BrokenModel(f"{stored.over:g} log-odds to a point; 0 to {MOST_OVER:g} are possible")
    if not 0 <= stored.held <= MOST_OVER:
        raise BrokenModel(f"held back by {stored.held:g}; 0 to {MOST_OVER:g} are possible")
    return TrainedModel(
        features=stored.features,
        trees=_trees(stored),
        calibration=_calibration(stored.calibration),
        policy=stored.policy,
        trained_at=stored.trained_at,
        summary=stored.summary,
        meaning=_array(stored.meaning, "<f4", (MEANING,), "meaning") if stored.meaning else None,
        points=stored.points,
        over=stored.over,
        held=stored.held,
    )


def _trees(stored: ModelFile) -> Trees:
    depth = stored.depth
    if not 1 <= depth <= MAX_DEPTH:
        raise BrokenModel(f"trees of depth {depth}; 1 to {MAX_DEPTH} are possible")
    if not 1 <= len(stored.features) <= MAX_FEATURES:
        raise BrokenModel(f"{len(stored.features)} features; 1 to {MAX_FEATURES} are possible")
    number = len(stored.places) // (2 * depth)
    if not 1 <= number <= MAX_TREES:
        raise BrokenModel(f"{number} trees; 1 to {MAX_TREES} are possible")
    places = _array(stored.places, "<u2", (number, depth), "places").astype(np.intp)
    if places.max() >= len(stored.features):
        raise BrokenModel("a tree asks for a feature that is not there")
    borders = np.frombuffer(_sized(stored.borders, 4 * number * depth, "borders"), "<f4").reshape(
        number, depth
    )
    if np.isnan(borders).any():
        raise BrokenModel("a border is no number")
    leaves = (number, 1 << depth)
    weights = _array(stored.weights, "<f8", leaves, "weights")
    if (weights < 0).any():
        raise BrokenModel("a weight is below zero")
    if not np.isfinite((stored.scale, stored.bias)).all():
        raise BrokenModel("scale or bias is no number")
    return Trees(
        places=places,
        borders=borders.astype(np.float32),
        values=_array(stored.values, "<f8", leaves, "values"),
        weights=weights,
        scale=stored.scale,
        bias=stored.bias,
    )


def _calibration(calibration: Calibration) -> Calibration:
    if not (np.isfinite((calibration.slope, calibration.offset)).all() and calibration.slope > 0):
        raise BrokenModel("a calibration that does not rise")
    return calibration


def _array(octets: bytes, kind: str, shape: tuple[int, ...], name: str) -> NDArray[Any]:
    """Return numbers of a shape, none of them infinite."""
    numbers = np.frombuffer(
        _sized(octets, int(np.prod(shape)) * np.dtype(kind).itemsize, name), kind
    ).reshape(shape)
    if not np.isfinite(numbers).all():
        raise BrokenModel(f"{name} hold what is no number")
    return numbers.astype(np.dtype(kind).newbyteorder("="))


def _sized(octets: bytes, size: int, name: str) -> bytes:
    if len(octets) != size:
        raise BrokenModel(f"{name} have {len(octets)} octets, not {size}")
    return octets
