"""The native core reads plain header fields as Python does, and leaves it the others."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oborona.message import headers
from oborona.message.findings import Findings
from oborona.message.headers import MAX_NAME
from oborona.message.limits import DEFAULT, ParserLimits
from oborona.message.model import HeaderField
from oborona.types import Finding

core: Any = pytest.importorskip("oborona._core")

FEW = ParserLimits(headers=3, header_octets=12)
PIECES = st.sampled_from(
    [
        b"From: ", b"X", b":", b" ", b"\t", b"\n", b"\n ", b"\n\t", b"=?", b"=", b"?", b"\r", b"\0", b"\x7f", b"\x80",
        "é".encode(), b"value", b"=?utf-8?q?a?=", b"\n\n", b">From x\n", b"~", b"!",
    ]
)  # fmt: skip
OCTETS = st.lists(PIECES, max_size=40).map(b"".join) | st.binary(max_size=60)
Split = tuple[tuple[HeaderField, ...], int, tuple[Finding, ...]]


def split(octets: bytes, *, native: bool, start: int = 0, limits: ParserLimits = DEFAULT) -> Split:
    findings = Findings()
    plain = core.plain_fields if native else None
    fields, position = headers.split(octets, start, len(octets), limits, findings, plain)
    return fields, position, findings.all()


def plain(octets: bytes, most: int = 100, longest: int = 1_000) -> tuple[list[HeaderField], int]:
    found: tuple[list[HeaderField], int] = core.plain_fields(
        octets, 0, len(octets), most, longest, HeaderField
    )
    return found


def test_it_is_in_use() -> None:
    assert headers.plain_fields is core.plain_fields


@settings(max_examples=1_000)
@given(OCTETS, st.integers(0, 3), st.sampled_from([DEFAULT, FEW]))
@example(b"a: b\n \n c", 0, DEFAULT)
@example(b"a:", 0, DEFAULT)
@example(b"a: b\n", 0, DEFAULT)
@example(b"a: b=\n ?c", 0, DEFAULT)
def test_it_is_equal_on_everything(octets: bytes, start: int, limits: ParserLimits) -> None:
    start = min(start, len(octets))
    by_python = split(octets, native=False, start=start, limits=limits)
    assert split(octets, native=True, start=start, limits=limits) == by_python


def test_plain_fields_are_all_read() -> None:
    fields, position = plain(b"From: a@b\nX-Long :  one\n\ttwo \n three  \nEmpty:\n\nbody: no\n")
    assert fields == [
        HeaderField("from", b"a@b", "a@b"),
        HeaderField("x-long", b"one\n\ttwo \n three  ", "one two  three"),
        HeaderField("empty", b"", ""),
    ]
    assert position == len(b"From: a@b\nX-Long :  one\n\ttwo \n three  \nEmpty:\n")


@pytest.mark.parametrize(
    "odd",
    [
        b"a: \x80", b"a: \0", b"a: \x7f", b"a: b\rc", b"a: =?utf-8?q?b?=", b"a: =?", b"a b: c", b": c", b"a", b"a ", b"", b"\n",
        b"\xd0: c", b"a: " + b"b" * 101, b"a: b" + b"\n c" * 99, b"n" * (MAX_NAME + 1) + b": c", b"a: b\n \x01",
    ],
)  # fmt: skip
def test_what_is_odd_is_left(odd: bytes) -> None:
    before = b"To: c\n"
    fields, position = plain(before + odd + b"\n", longest=100)
    assert fields == [HeaderField("to", b"c", "c")]
    assert position == len(before)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_limits_are_where_python_has_them(more: int) -> None:
    limits = ParserLimits(headers=20, header_octets=50)
    name = b"N" * (MAX_NAME + more)
    for octets in (
        b"a: " + b"b" * (50 + more) + b"\nc: d\n",
        b"a: " + b"b" * (48 + more) + b"\n c\nc: d\n",
        b"a: b\n" * (20 + more),
        name + b": c\nd: e\n",
    ):
        by_python = split(octets, native=False, limits=limits)
        assert split(octets, native=True, limits=limits) == by_python


@pytest.mark.parametrize(
    "octets",
    [
        b"a: b\n" * 200_000,
        b"a: " + b"b\n " * 300_000,
        b"a: " + b"\n\t" * 300_000,
        b"a" * 1_000_000,
        b"a" + b" " * 1_000_000 + b":",
        b"a:" + b"\t" * 1_000_000,
        (b"a: b\n" + b"c: \x80\n") * 90_000,
        (b"a" * 199 + b": =?\n") * 5_000,
    ],
)
def test_huge_headers_are_read_as_python_does(octets: bytes) -> None:
    assert split(octets, native=True) == split(octets, native=False)


def test_nothing_beyond_the_end_is_read() -> None:
    octets = b"a: b\n c: d\nE: f\n"
    for end in range(len(octets) + 1):
        fields, position = core.plain_fields(octets, 0, end, 9, 99, HeaderField)
        assert (fields, position) == core.plain_fields(octets[:end], 0, end, 9, 99, HeaderField)
        assert position <= end


def test_names_are_the_objects_that_code_has() -> None:
    (field,), _ = plain(b"Content-Type: text/plain\n")
    assert field.name is sys.intern("content-type")


WRONG: dict[str, tuple[Callable[[], object], type[Exception]]] = {
    "text": (lambda: core.plain_fields("a: b", 0, 4, 9, 9, HeaderField), TypeError),
    "begins after its end": (
        lambda: core.plain_fields(b"a: b", 3, 2, 9, 9, HeaderField),
        ValueError,
    ),
    "begins before": (lambda: core.plain_fields(b"a: b", -1, 2, 9, 9, HeaderField), ValueError),
    "ends beyond": (lambda: core.plain_fields(b"a: b", 0, 5, 9, 9, HeaderField), ValueError),
    "a type that is none": (lambda: core.plain_fields(b"a: b", 0, 4, 9, 9, 5), TypeError),
    "a type of less": (lambda: core.plain_fields(b"a: b", 0, 4, 9, 9, object), TypeError),
    "too few": (lambda: core.plain_fields(b"a: b"), TypeError),
}


@pytest.mark.parametrize(("call", "error"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_limits_below_zero_read_nothing() -> None:
    assert plain(b"a: b\n", most=-1) == ([], 0)
    assert plain(b"a: b\n", longest=-1) == ([], 0)


def test_nothing_is_kept() -> None:
    def work() -> None:
        for _ in range(1_000):
            plain(b"From: a@b\nX-Long :  one\n\ttwo \n three  \nX-Odd: \x80\n")
            for call, error in WRONG.values():
                with pytest.raises(error):
                    call()

    work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 50_000
