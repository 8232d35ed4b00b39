"""The native core hashes as its twin in Python, whatever it is given, and keeps nothing."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message import hashing
from oborona.message.piece_hasher import TYPES, PieceHasher
from oborona.types import PAIR_MASK, Shingle, UniquePair

core: Any = pytest.importorskip("oborona._core")

KEY = bytes(range(16))
KEYS = st.binary(min_size=1, max_size=64)
KINDS = st.integers(0, TYPES - 1)
# around the borders of BLAKE2b's blocks, less the type's octet and a pair's head
LENGTHS = (0, 1, 122, 123, 124, 125, 126, 127, 128, 129, 250, 251, 254, 255, 256, 257, 383, 1000)
PIECES = st.binary(max_size=40) | st.sampled_from(LENGTHS).map(lambda length: b"x" * length)
MANY = st.lists(PIECES, max_size=4)


def both(key: bytes = KEY) -> tuple[Any, Any]:
    made = (key, Shingle, UniquePair, PAIR_MASK)
    return core.PieceHasher(*made), PieceHasher(*made)


def test_it_is_in_use() -> None:
    assert hashing.NATIVE
    assert issubclass(hashing.Hasher, core.PieceHasher)


@given(KEYS, KINDS, KINDS, MANY, MANY, st.text(max_size=60))
def test_it_is_equal_on_everything(
    key: bytes, kind: int, distinct: int, each_a: list[bytes], each_b: list[bytes], text: str
) -> None:
    native, twin = both(key)
    assert native.shingle(kind, text) == twin.shingle(kind, text)
    assert native.each(kind, each_a) == twin.each(kind, each_a)
    pairs = native.pairs(kind, distinct, each_a, each_b)
    assert pairs == twin.pairs(kind, distinct, each_a, each_b)
    for a in each_a:
        assert native.octets(kind, a) == twin.octets(kind, a)
        found = native.pair_hashes(kind, distinct, a, each_b)
        assert found == twin.pair_hashes(kind, distinct, a, each_b)


@pytest.mark.parametrize("length", [*LENGTHS, 100_000])
def test_pieces_of_any_length(length: int) -> None:
    native, twin = both()
    piece = bytes(number % 251 for number in range(length))
    assert native.octets(7, piece) == twin.octets(7, piece)
    assert native.pairs(7, 8, [piece], [piece]) == twin.pairs(7, 8, [piece], [piece])


@pytest.mark.parametrize("text", ["", "ascii", "é", "日本", "\ud800", "a\x00b", "\U0001f600" * 99])
def test_texts_of_any_letters(text: str) -> None:
    native, twin = both()
    assert native.shingle(1, text) == twin.shingle(1, text)


def test_what_comes_back_is_of_the_types() -> None:
    native, _ = both()
    piece, (pair,) = native.octets(3, b"a"), native.pairs(1, 2, [b"a"], [b"b"])
    assert (type(piece), type(pair), type(pair.both)) == (Shingle, UniquePair, Shingle)
    assert (piece.type, pair.both.type, pair.distinct.type) == (3, 1, 2)
    assert pair.both.hash & PAIR_MASK == pair.distinct.hash & PAIR_MASK


WRONG: dict[str, tuple[Callable[[Any], object], type[Exception]]] = {
    "no such type": (lambda one: one.octets(TYPES, b""), IndexError),
    "no such type of pairs": (lambda one: one.pairs(1, TYPES, [b"a"], [b"b"]), IndexError),
    "a type that is none": (lambda one: one.octets("1", b""), TypeError),
    "a huge type": (lambda one: one.octets(1 << 80, b""), (IndexError, OverflowError)),  # type: ignore[dict-item]
    "text for octets": (lambda one: one.octets(1, "a"), TypeError),
    "octets for text": (lambda one: one.shingle(1, b"a"), (TypeError, AttributeError)),  # type: ignore[dict-item]
    "a text among pieces": (lambda one: one.each(1, [b"a", "b"]), TypeError),
    "a number for pieces": (lambda one: one.each(1, 5), TypeError),
    "a text among pairs": (lambda one: one.pairs(1, 2, [b"a"], [b"b", "c"]), TypeError),
    "a text as first": (lambda one: one.pairs(1, 2, ["a"], [b"b"]), TypeError),
    "a text among many": (lambda one: one.pair_hashes(1, 2, b"a", [b"b", None]), TypeError),
    "too few": (lambda one: one.octets(1), TypeError),
}


@pytest.mark.parametrize(("call", "error"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_raises_as_its_twin_does(
    call: Callable[[Any], object], error: type[Exception]
) -> None:
    for one in both():
        with pytest.raises(error):
            call(one)


@pytest.mark.parametrize("key", [b"", b"k" * 65])
def test_a_key_that_is_none_is_refused(key: bytes) -> None:
    for kind in (core.PieceHasher, PieceHasher):
        with pytest.raises(ValueError, match="64 octets"):
            kind(key, Shingle, UniquePair, PAIR_MASK)


def test_types_that_are_none_are_refused() -> None:
    for wrong in (int, "Shingle", None):
        with pytest.raises(TypeError):
            core.PieceHasher(KEY, wrong, UniquePair, PAIR_MASK)


def test_it_keeps_nothing() -> None:
    native, _ = both()

    def work() -> None:
        for _ in range(2_000):
            native.shingle(1, "é")
            native.each(1, [b"a", b"b"])
            native.pairs(1, 2, [b"a"], [b"b", b"c"])
            native.pair_hashes(1, 2, b"a", [b"b"])
            for call, _ in WRONG.values():
                with pytest.raises(Exception):  # noqa: B017 - each is tried above
                    call(native)
            hashing.Hasher(KEY)

    work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 50_000, "2,000 rounds, and less than an octet of each call"
