"""A model's file: what was written is read.

Anything else is refused with a word, and asks for no memory that it does not fill.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.feedback.final.train import TrainingResult
from oborona.policy.models.content.calibration import Calibration
from oborona.policy.models.final import file
from oborona.policy.models.final.file import (
    BrokenModel,
    ModelFile,
    TrainedModel,
    decode,
    encode,
    version,
)
from oborona.policy.models.final.summary import TrainingSummary
from tests.policy.models.final.made import trees


def sealed(packed: bytes) -> bytes:
    return file.MAGIC + hashlib.sha256(packed).digest() + packed


def changed(octets: bytes, **fields: Any) -> bytes:
    """The same file with other fields, whole by its digest: what somebody could make on purpose."""
    stored = msgspec.msgpack.decode(octets[40:], type=ModelFile)
    return sealed(msgspec.msgpack.encode(msgspec.structs.replace(stored, **fields)))


@pytest.fixture(scope="module")
def octets(training: TrainingResult) -> bytes:
    return encode(training.model)


def test_what_is_written_is_read(training: TrainingResult, octets: bytes) -> None:
    model, read = training.model, decode(octets)
    assert encode(read) == octets
    assert (read.features, read.calibration, read.policy, read.summary) == (
        model.features,
        model.calibration,
        "abc",
        model.summary,
    )
    for seed in range(20):
        row = np.random.default_rng(seed).normal(size=len(model.features)).astype(np.float32)
        assert read.trees.raw(row) == model.trees.raw(row)
    assert version(octets) == octets[8:14].hex()


def test_every_cut_is_refused(octets: bytes) -> None:
    for length in {*range(200), *range(200, len(octets), 97), len(octets) - 1}:
        with pytest.raises(BrokenModel):
            decode(octets[:length])


def test_every_changed_octet_is_refused(octets: bytes) -> None:
    for place in {*range(60), *range(60, len(octets), 131)}:
        broken = bytearray(octets)
        broken[place] ^= 0x10
        with pytest.raises(BrokenModel):
            decode(bytes(broken))


@given(st.binary(max_size=300))
def test_whatever_octets_are_refused(found: bytes) -> None:
    for octets in (found, file.MAGIC + found, sealed(found)):
        with pytest.raises(BrokenModel):
            decode(octets)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"format": 4}, "format 4"),
        ({"depth": 0}, "depth 0"),
        ({"depth": 60}, "depth 60"),  # 2^60 leaves
        ({"depth": -1}, "depth -1"),
        ({"features": ()}, "0 features"),
        ({"features": tuple(map(str, range(6000)))}, "6000 features"),
        ({"features": ("links",)}, "not there"),
        ({"places": b""}, "0 trees"),
        ({"places": bytes(2 * 5 * 6000)}, "6000 trees"),
        ({"borders": b"1"}, "borders have 1"),
        ({"values": b"1234"}, "values have 4"),
        ({"weights": b""}, "weights have 0"),
        ({"bias": float("inf")}, "bias"),
        ({"scale": float("nan")}, "scale"),
        ({"points": -0.5}, "-0.5 points"),
        ({"points": 1001.0}, "1001 points"),
        ({"points": float("nan")}, "nan points"),
        ({"points": float("inf")}, "inf points"),
        ({"meaning": b"123"}, "meaning have 3"),
        ({"meaning": np.full(513, np.nan, "<f4").tobytes()}, "no number"),
    ],
)
def test_a_file_that_was_made_to_harm_is_refused_with_its_reason(
    octets: bytes, fields: dict[str, Any], why: str
) -> None:
    with pytest.raises(BrokenModel, match=why):
        decode(changed(octets, **fields))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_leaves_that_are_no_numbers_are_refused(octets: bytes, value: float) -> None:
    stored = msgspec.msgpack.decode(octets[40:], type=ModelFile)
    leaves = np.frombuffer(stored.values, "<f8").copy()
    leaves[3] = value
    with pytest.raises(BrokenModel, match="no number"):
        decode(changed(octets, values=leaves.tobytes()))
    with pytest.raises(BrokenModel, match=r"no number|below zero"):
        decode(changed(octets, weights=(-np.abs(leaves) - 1).tobytes()))


@pytest.mark.parametrize(
    ("slope", "offset"), [(0.0, 0.0), (-1.0, 0.0), (float("nan"), 0.0), (1.0, float("inf"))]
)
def test_a_calibration_that_does_not_rise_is_refused(
    octets: bytes, slope: float, offset: float
) -> None:
    calibration = msgspec.msgpack.decode(octets[40:], type=ModelFile).calibration
    with pytest.raises(BrokenModel, match="does not rise"):
        decode(
            changed(
                octets, calibration=msgspec.structs.replace(calibration, slope=slope, offset=offset)
            )
        )


def test_a_file_too_large_is_refused_before_it_is_looked_at() -> None:
    with pytest.raises(BrokenModel, match="larger than 64 MiB"):
        decode(file.MAGIC + bytes(file.MAX_OCTETS))


SMALL = encode(
    TrainedModel(
        features=("links", "text.words", "rule ODD"),
        trees=trees(
            [[0, 1], [2, 0]],
            [[1.0, 50.0], [0.5, 3.0]],
            [[0.1, 0.2, 0.3, 0.4], [-0.5, 0.0, 0.5, 1.0]],
        ),
        calibration=Calibration(slope=1.5, offset=-0.5, spam=100, ham=100),
        policy="abc",
        trained_at=1.7e9,
        summary=TrainingSummary(spam=100, ham=100, importance=(("links", 1.0),)),
        meaning=np.zeros(file.MEANING, np.float32),
    )
)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=8))
def test_no_file_that_is_whole_by_its_digest_raises_anything_else(
    changes: list[tuple[int, int]],
) -> None:
    broken = bytearray(SMALL[40:])
    for place, value in changes:
        broken[place % len(broken)] = value
    with suppress(BrokenModel):
        decode(sealed(bytes(broken)))
