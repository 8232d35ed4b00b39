"""Invariant: any octets give a Message, without an exception, the same each time, with nothing that
UTF-8 cannot hold.
"""

from __future__ import annotations

import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.of_messages import whole as hold

WORDS = st.sampled_from([
    b"From: ", b"To: a@b.example, ", b"Subject: ", b"=?utf-8?q?=D0=BE?=", b"=?gb2312?B?xOO6ww==?=", b"=?x?y?", b"\n", b"\r\n", b"\n\n",
    b"Content-Type: multipart/mixed; boundary=b\n", b'Content-Type: multipart/alternative; boundary="b"\n', b"--b\n", b"--b--\n",
    b"Content-Type: text/html; charset=utf-7\n", b"Content-Type: message/rfc822\n", b"Content-Type: text/plain; charset=utf-16\n",
    b"Content-Transfer-Encoding: base64\n", b"Content-Transfer-Encoding: quoted-printable\n", b"=3D", b"=\n", b"PGI+", b"begin 644 a\n",
    b"<a href=", b"http://1.2/", b"'><b", b"<table><td>", b"<div style='display:none;color:#fff'>", b"</div>", b"<style>.a{", b"}</style>", b"&#0;",
    b"<!--", b"-->", b"<script>", b"<body style='visibility:hidden'>", b"filename*0*=utf-8''%ff;", b"name*1=x", b"\x00", b"\xd0\xbe", b"\xe2\x80\x8b", b"www.a.b",
])  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=2000))
def test_any_octets(raw: bytes) -> None:
    hold(raw)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(WORDS, st.binary(max_size=20)), max_size=60).map(b"".join))
def test_octets_that_look_like_mail(raw: bytes) -> None:
    hold(raw)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(
        [
            b"utf-8",
            b"utf-16",
            b"utf-7",
            b"gb2312",
            b"iso-2022-jp",
            b"hz",
            b"big5",
            b"punycode",
            b"x",
        ]
    ),
    st.binary(),
)
def test_any_octets_in_any_charset(charset: bytes, octets: bytes) -> None:
    head = (
        b"From: a@b.example\nSubject: =?"
        + charset
        + b"?Q?"
        + octets[:20].hex("=").encode()
        + b"?=\nContent-Type: text/html; charset="
    )
    hold(head + charset + b"\n\n" + octets)


def test_real_mail_with_octets_changed(corpus: list[Path]) -> None:
    chance = random.Random(20240607)
    for path in chance.sample(corpus, 150):
        raw = bytearray(path.read_bytes()[:20_000])
        for _ in range(30):
            at = chance.randrange(len(raw))
            what = chance.randrange(4)
            if what == 0:
                raw[at] = chance.randrange(256)
            elif what == 1:
                del raw[at : at + chance.randrange(200)]
                raw += b" "
            elif what == 2:
                raw[at:at] = raw[max(0, at - 100) : at]
            else:
                raw[at:at] = chance.choice([b"\n\n", b"\0", b"<", b'"', b"\r", b"=", b"--"])
        hold(bytes(raw))
