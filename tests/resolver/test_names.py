"""Names as text and as they travel; dnspython is the oracle."""

from __future__ import annotations

import time

import dns.exception
import dns.name
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.resolver import names
from oborona.resolver.names import MalformedDnsMessage

LABELS = st.lists(st.binary(min_size=1, max_size=63), min_size=1, max_size=6).filter(
    lambda labels: sum(map(len, labels)) + len(labels) < 255
)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        (".", []),
        ("example.test", [b"example", b"test"]),
        ("EXAMPLE.Test.", [b"example", b"test"]),
        ("_dmarc.s1._domainkey.a-b.test", [b"_dmarc", b"s1", b"_domainkey", b"a-b", b"test"]),
        (r"a\.b.test", [b"a.b", b"test"]),
        (r"a\\b.test", [b"a\\b", b"test"]),
        (r"\065\000\255.test", [b"a\x00\xff", b"test"]),
        (r"end\.", [b"end."]),
        ("a b.test", [b"a b", b"test"]),
        ("пример.испытание", [b"xn--e1afmkfd", b"xn--80akhbyknj4f"]),
        ("bücher。test", [b"xn--bcher-kva", b"test"]),
        ("x" * 63 + ".test", [b"x" * 63, b"test"]),
        (".".join(["x" * 63] * 3 + ["y" * 61]), [b"x" * 63] * 3 + [b"y" * 61]),
    ],
)
def test_names_travel(name: str, labels: list[bytes]) -> None:
    wire = names.encode(name)
    assert wire == b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    assert wire is not None
    assert names.encode(names.decode(wire) or ".") == wire


@pytest.mark.parametrize(
    "name",
    [
        "", "..", ".test", "a..test", "a.test..", "x" * 64 + ".test",
        ".".join(["x" * 63] * 3 + ["y" * 62]), "a." * 128, "\\", "a\\", "\\256.test", "\\12", "\\2x", "\ud800.test",
        "\u2488test", "a\uff3c.test", "ü" * 64, "ü..test", "\u3002", "ü.\\065.test", "a" * 100_000, "ü" * 100_000, "\\" * 1020, "xn--\u0378.test",
    ],
)  # fmt: skip
def test_what_can_be_no_name(name: str) -> None:
    begin = time.monotonic()
    assert names.encode(name) is None
    assert time.monotonic() - begin < 5


@given(LABELS)
def test_text_is_that_of_dnspython_and_leads_back(labels: list[bytes]) -> None:
    theirs = dns.name.Name([*labels, b""]).canonicalize()
    wire = theirs.to_wire()
    assert wire is not None
    assert names.decode(wire) == theirs.to_text(omit_final_dot=True)
    assert names.encode(names.decode(wire)) == wire


@given(st.text(st.characters(max_codepoint=127), max_size=80))
def test_any_ascii_is_the_same_name_to_dnspython(text: str) -> None:
    try:
        theirs = dns.name.from_text(text).canonicalize().to_wire()
    except dns.exception.DNSException:
        theirs = None
    if text in ("", "@"):  # what dnspython takes for the origin
        return
    assert names.encode(text) == theirs


@given(st.text(max_size=300))
def test_any_text_is_a_name_that_may_travel_or_none(text: str) -> None:
    wire = names.encode(text)
    if wire is not None:
        assert names.read(wire, 0) == (wire, len(wire))
        assert wire == wire.lower()


@given(st.binary(max_size=600), st.integers(0, 600))
def test_any_bytes_are_a_name_or_malformed_as_dnspython_says(data: bytes, at: int) -> None:
    try:
        ours: tuple[bytes, int] | None = names.read(data, at)
    except (MalformedDnsMessage, IndexError):
        ours = None
    try:
        name, used = dns.name.from_wire(data, at)
        theirs: tuple[bytes | None, int] | None = name.canonicalize().to_wire(), at + used
    except (dns.exception.DNSException, IndexError, ValueError):
        theirs = None
    assert ours == theirs


def test_pointers_that_lead_on_and_on_end() -> None:
    ladder = (
        b"\1a\0" + b"\xc0\x00" + b"".join((0xC003 + 2 * step).to_bytes(2) for step in range(4000))
    )
    hundred_and_twenty_seventh = 3 + 2 * 126
    assert names.read(ladder, hundred_and_twenty_seventh) == (
        b"\1a\0",
        hundred_and_twenty_seventh + 2,
    )
    with pytest.raises(MalformedDnsMessage):
        names.read(ladder, hundred_and_twenty_seventh + 2)
    with pytest.raises(MalformedDnsMessage):
        names.read(ladder, len(ladder) - 2)


def test_pointers_in_a_circle_end() -> None:
    with pytest.raises(MalformedDnsMessage):
        names.read(b"\xc0\x02\xc0\x00", 2)
    with pytest.raises(MalformedDnsMessage):
        names.read(b"\1a\xc0\x00", 0)
