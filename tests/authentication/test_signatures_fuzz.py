"""DKIM and ARC against dkimpy's verdicts, against arbitrary octets, and against messages made to
take long.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import Iterator
from unittest import mock

import dkim
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oborona.authentication.arc import arc_questions, verify_arc
from oborona.authentication.dkim import dkim_questions, verify_dkim
from oborona.authentication.model import Arc, AuthResult, DkimSignature
from oborona.authentication.signed_message import SignedMessage, read_signed_message
from tests.asking import Table
from tests.authentication.signing import LETTER, NOW, chain, dkim_field, rsa, sealed
from tests.authentication.test_dkim import table

LONG_S = 0.25  # for one hostile message on a quiet machine; what is quadratic takes minutes
KEYS = table(rsa().record)


def dkim_of(letter: SignedMessage, keys: Table = KEYS) -> tuple[tuple[DkimSignature, ...], int]:
    return asyncio.run(verify_dkim(letter, keys, now=NOW))


def arc_of(letter: SignedMessage, keys: Table = KEYS) -> Arc:
    return asyncio.run(verify_arc(letter, keys, now=NOW, trusted={"example.org"}))


def by_dkimpy(raw: bytes) -> bool:
    with (
        mock.patch("dkim.time.time", return_value=NOW),
        # no fields, a first line that is folded, base64 with "=" in it: the last two leave dkimpy
        # as what they are
        contextlib.suppress(dkim.DKIMException, IndexError, ValueError),
    ):
        return bool(dkim.verify(raw, dnsfunc=lambda *_, **__: rsa().record.encode()))
    return False


# -- the same verdict as dkimpy --------------------------------------------------------------------

words = st.text(st.sampled_from("aB \t.:;=<@>\u00e9"), max_size=12).map(str.encode)
values = st.lists(words, min_size=1, max_size=3).map(b"\r\n\tx".join)
headers = st.lists(
    st.tuples(st.sampled_from([b"To", b"Subject", b"X-a", b"Received"]), values), max_size=6
).map(lambda fields: b"".join(b"%b:%b\r\n" % field for field in fields))
bodies = st.lists(
    st.sampled_from([b"\r\n", b" ", b"\t", b"text", b"\r\n\r\n", b".", b"\xff"]), max_size=20
).map(lambda pieces: b"".join(pieces) + b"\r\n")
canons = st.sampled_from(
    ["simple/simple", "simple/relaxed", "relaxed/simple", "relaxed/relaxed", "relaxed"]
)
names = st.lists(
    st.sampled_from(["to", "Subject", "x-a", "received", "From", "x-none", ""]), max_size=8
)


@settings(deadline=None, max_examples=150)
@given(headers, bodies, canons, names, st.booleans())
def test_what_is_signed_passes_and_dkimpy_agrees(
    head: bytes, body: bytes, canon: str, signed: list[str], length: bool
) -> None:
    raw = head + b"From: a@example.org\r\n" + head + b"\r\n" + body
    field = dkim_field(
        raw, rsa(), canon=canon, signed=["From", *signed], length=2 if length else None
    )
    (found,), _ = dkim_of(read_signed_message(field + raw))
    expected = (
        AuthResult.FAIL if length and found.why == "body is shorter than l=" else AuthResult.PASS
    )
    assert found.result is expected, found.why
    assert by_dkimpy(field + raw) or expected is AuthResult.FAIL


edits = st.tuples(
    st.floats(0, 1),
    st.integers(0, 3),
    st.sampled_from([b"", b" ", b"x", b"\r\n", b";", b"=", b"\t"]),
)


@settings(deadline=None, max_examples=400)
@given(canons, st.lists(edits, min_size=1, max_size=3), st.booleans())
def test_an_edited_message_is_judged_as_dkimpy_judges_it(
    canon: str, changes: list[tuple[float, int, bytes]], line_feeds: bool
) -> None:
    """Invariant: what dkimpy refuses is refused; what it passes passes, but for what is named here.

    dkimpy refuses more of what is no matter of signatures: lines in the header that are no fields;
    white space before a colon; white space around b= that s3.5 deletes.
    """
    raw = dkim_field(LETTER, rsa(), canon=canon) + LETTER
    for where, cut, put in changes:
        place = int(where * len(raw))
        raw = raw[:place] + put + raw[place + cut :]
    if line_feeds:
        raw = raw.replace(b"\r\n", b"\n")
    assume(b"\r" not in raw.replace(b"\r\n", b""))
    # dkimpy takes a line that begins with a colon for a field; it ends the header (RFC 5322 s2.2)
    assume(b"\n:" not in raw)
    found, _ = dkim_of(read_signed_message(raw))
    passed = bool(found) and found[0].result is AuthResult.PASS
    if by_dkimpy(raw):
        assert passed, found
    elif passed:
        assert by_dkimpy(tidied(raw)), found


def tidied(raw: bytes) -> bytes:
    """Return a message whose fields and signature dkimpy can read: see above."""
    letter = read_signed_message(raw)
    fields = []
    for field in letter.fields:
        name, _, value = field.partition(b":")
        fields.append(name.rstrip() + b":" + value)
        if name.lower().rstrip() == b"dkim-signature":
            tags = value.split(b";")
            fields[-1] = (
                name.rstrip()
                + b":"
                + b";".join(
                    tag.rstrip() if tag.split(b"=")[0].strip() == b"b" else tag for tag in tags
                )
                + (
                    b""
                    if tags[-1].endswith(b"\n") and tags[-1].split(b"=")[0].strip() != b"b"
                    else b"\r\n"
                )
            )
    return b"".join(fields) + b"\r\n" + re.sub(rb"[ \t]+\Z", b"", letter.body)


# -- never raises ----------------------------------------------------------------------------------

CHUNKS = [
    b"DKIM-Signature:", b"ARC-Seal:", b"ARC-Message-Signature:", b"ARC-Authentication-Results:", b"From:", b" i=1;",
    b" v=1;", b" a=rsa-sha256;", b" a=ed25519-sha256;", b" b=AAAA;", b" bh=AAAA;", b" c=relaxed/relaxed;", b" d=example.org;",
    b" s=s1;", b" h=from;", b" cv=none;", b" cv=pass;", b" i=2;", b" l=1;", b" t=1;", b"\r\n", b"\n", b"\r", b" ", b";", b"=", b"\xff",
    b"\x00", b":", b"text",
]  # fmt: skip


@settings(deadline=None, max_examples=500)
@given(st.lists(st.sampled_from(CHUNKS), max_size=60).map(b"".join) | st.binary(max_size=300))
def test_no_octets_raise(raw: bytes) -> None:
    letter = read_signed_message(raw)
    found, more = dkim_of(letter)
    arc = arc_of(letter)
    assert more >= 0
    for one in found:
        assert one.result is not AuthResult.PASS
        assert all(
            part.isprintable()
            for part in (one.domain, one.selector, one.identity, one.algorithm, one.start, one.why)
        )
    assert arc.result in (AuthResult.NONE, AuthResult.FAIL)
    assert arc.why.isprintable()
    assert isinstance(dkim_questions(letter, now=NOW) + arc_questions(letter, now=NOW), tuple)


@settings(deadline=None, max_examples=200)
@given(
    st.binary(max_size=200)
    | st.lists(
        st.sampled_from(
            [b"v=DKIM1;", b"k=rsa;", b"k=ed25519;", b"p=", b"AAAA", b"h=sha256;", b"t=s;", b";"]
        ),
        max_size=8,
    ).map(b"".join)
)
def test_no_key_record_raises(record: bytes) -> None:
    keys = Table({"s1._domainkey.example.org": {"TXT": record}}) if record else Table()
    (found,), _ = dkim_of(read_signed_message(dkim_field(LETTER, rsa()) + LETTER), keys)
    assert found.result is AuthResult.PERMERROR
    assert found.why


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        dkim_of(read_signed_message(dkim_field(LETTER, rsa()) + LETTER))
        arc_of(read_signed_message(chain(LETTER, 2)))
    assert [record for record in caplog.records if record.name != "asyncio"] == []


# -- never long ------------------------------------------------------------------------------------

GOOD = dkim_field(LETTER, rsa())
MB = 1_000_000


def hostile() -> Iterator[tuple[str, bytes]]:
    end = b"From: a@example.org\r\n\r\ntext\r\n"
    yield "field of 1 MB", GOOD + b"X: " + b"x" * MB + b"\r\n" + LETTER
    yield "field of 1 MB of spaces", GOOD + b"Subject: " + b" \t" * (MB // 2) + b"\r\n" + LETTER
    yield "field of folded lines", GOOD + b"Subject: x" + b"\r\n x" * (MB // 4) + b"\r\n" + LETTER
    yield (
        "field of empty folded lines",
        GOOD + b"Subject: x" + b"\r\n " * (MB // 3) + b"\r\n" + LETTER,
    )
    yield "10,000 fields", b"X: y\r\n" * 9_990 + GOOD + LETTER
    yield (
        "10,000 signed fields",
        dkim_field(LETTER, rsa(), signed=["From"] + ["X"] * 9_000) + b"X: y\r\n" * 9_000 + LETTER,
    )
    yield "100,000 fields", b"X: y\r\n" * 100_000 + GOOD + LETTER
    yield "10,000 signatures", GOOD * 9_000 + LETTER
    yield (
        "100,000 names in h=",
        dkim_field(LETTER, rsa(), tags={"h": "from" + ":to" * 100_000}) + LETTER,
    )
    yield (
        "20,000 names in h=, eight times",
        dkim_field(LETTER, rsa(), tags={"h": "from" + ":to" * 20_000}) * 8 + LETTER,
    )
    yield (
        "100,000 tags",
        b"DKIM-Signature: " + b";".join(b"a%d=1" % n for n in range(100_000)) + b"\r\n" + end,
    )
    yield "b= of 1 MB", dkim_field(LETTER, rsa(), tags={"b": "A" * MB}) + LETTER
    yield "b= of 60 kB", dkim_field(LETTER, rsa(), tags={"b": "A" * 60_000}) * 8 + LETTER
    yield "b= of white space", b"DKIM-Signature: v=1; b=" + b" \r\n\t" * (MB // 4) + b"!\r\n" + end
    yield (
        "b= of signs between white space",
        b"DKIM-Signature: v=1; b=" + b"A \r\n " * (MB // 5) + b"\r\n" + end,
    )
    yield "white space before b=", b"DKIM-Signature: v=1" + b"; \r\n b" * (MB // 7) + b"\r\n" + end
    yield "d= of 60 kB", dkim_field(LETTER, rsa(), tags={"d": "a." * 30_000 + "org"}) * 8 + LETTER
    yield "i= of 60 kB", dkim_field(LETTER, rsa(), tags={"i": "@" * 60_000}) * 8 + LETTER
    yield "l= of many digits", dkim_field(LETTER, rsa(), tags={"l": "9" * 60_000}) * 8 + LETTER
    yield "no field at all", b"x" * MB
    yield "colons", b":" * MB
    yield "line ends", b"\r\n" * (MB // 2)
    yield "carriage returns", GOOD + LETTER + b"\r" * MB
    yield "seals", b"ARC-Seal: i=1; cv=none\r\n" * 9_000 + end
    yield (
        "seals of 60 kB",
        sealed(LETTER, seal={"n": "x" * 60_000})
        + b"ARC-Seal: i=2; n="
        + b"x" * 60_000
        + b"\r\n"
        + LETTER,
    )
    yield "results of 1 MB", b"ARC-Authentication-Results: i=" + b" " * MB + b"1;\r\n" + end
    yield (
        "results of parentheses",
        sealed(LETTER, results="mx.example; dmarc=pass " + "(" * 900_000),
    )


@pytest.mark.parametrize(
    ("what", "raw"), [pytest.param(what, raw, id=what) for what, raw in hostile()]
)
def test_no_message_takes_long(what: str, raw: bytes) -> None:
    spent = min(cpu_s(raw) for _ in range(2))
    assert spent < LONG_S * 4  # generous: the machine may be busy with other things


def cpu_s(raw: bytes) -> float:
    began = time.process_time()
    letter = read_signed_message(raw)
    dkim_questions(letter, now=NOW)
    arc_questions(letter, now=NOW)
    dkim_of(letter)
    arc_of(letter)
    return time.process_time() - began


@pytest.mark.parametrize("canon", ["simple/simple", "relaxed/relaxed"])
@pytest.mark.parametrize(
    "piece",
    [b"text and more text, as in mail\r\n", b" ", b"\r\n", b" \r\n", b"\r", b"a \t ", b"\t"],
)
def test_a_body_of_ten_megabytes(piece: bytes, canon: str) -> None:
    raw = LETTER.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" + piece * (10 * MB // len(piece))
    field = dkim_field(LETTER, rsa(), canon=canon)
    assert cpu_s(field * 8 + raw) < 4 * LONG_S


def test_fifty_large_sets_are_hashed_once() -> None:
    raw = LETTER
    for instance in range(1, 51):
        raw = sealed(
            raw,
            instance=instance,
            results="mx.example; x=" + "y" * 15_000,
            seal={"n": "x" * 15_000},
        )
    letter = read_signed_message(raw)
    assert arc_of(letter).result is AuthResult.PASS
    assert cpu_s(raw) < 4 * LONG_S
