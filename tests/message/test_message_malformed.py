"""Broken, hostile, huge and cut messages: always a Message, what is wrong as a finding, in bounded
time.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable

import pytest

from oborona.message.findings import NAMES
from oborona.message.limits import ParserLimits
from oborona.message.parse import parse
from oborona.message.shingles import Hasher, shingles
from oborona.types import Client, Envelope

HEAD = b"From: a@example.org\nSubject: s\nMIME-Version: 1.0\n"
BOUND = 5.0  # seconds: far above what any of these takes, far below what a quadratic parser needs


def names(raw: bytes, **limits: int) -> set[str]:
    return {finding.name for finding in parse(raw, ParserLimits(**limits)).findings}


def multipart(
    *parts: bytes, boundary: bytes = b"b", end: bool = True, kind: bytes = b"mixed"
) -> bytes:
    head = HEAD + b"Content-Type: multipart/" + kind + b'; boundary="' + boundary + b'"\n\n'
    body = b"".join(b"--" + boundary + b"\n" + part + b"\n" for part in parts)
    return head + body + (b"--" + boundary + b"--\n" if end else b"")


def nested(depth: int, text: bytes) -> bytes:
    raw = b"Content-Type: text/plain\n\n" + text
    for level in range(depth):
        boundary = b"level%d" % level
        raw = (
            b"Content-Type: multipart/mixed; boundary=" + boundary + b"\n\n--" + boundary + b"\n" + raw
            + b"\n--" + boundary + b"--\n"
        )  # fmt: skip
    return HEAD + raw


def forwarded(depth: int) -> bytes:
    return (HEAD + b"Content-Type: message/rfc822\n\n") * depth + HEAD + b"\ninnermost words"


CASES: list[tuple[str, bytes, set[str]]] = [
    ("empty", b"", {"message-empty"}),
    ("one line end", b"\n", {"message-empty"}),
    ("no header", b"\njust a body", {"message-empty"}),
    ("not a header", b"this is not a header\n\nbody", {"header-broken", "message-empty"}),
    ("header without separator", HEAD + b"body at once", {"header-broken"}),
    ("only spaces", b" \n \n", {"header-broken", "message-empty"}),
    ("CR alone", b"From: a@b.example\rSubject: s\r\rbody", {"line-ends-broken"}),
    ("NUL in header", b"From: a@b.example\nSubject: x\0y\n\nbody", {"header-nul"}),
    ("NUL in body", HEAD + b"\nvia\0gra", {"body-nul"}),
    ("8-bit header", b"From: a@b.example\nSubject: \xe9t\xe9\n\nbody", {"header-8bit"}),
    ("8-bit body without charset", HEAD + b"\n\xcf\xf0\xe8\xe2\xe5\xf2", {"body-8bit"}),
    (
        "unknown charset",
        HEAD + b"Content-Type: text/plain; charset=klingon\n\nqapla\xff",
        {"charset-unknown"},
    ),
    (
        "codec that is no charset",
        HEAD + b"Content-Type: text/plain; charset=rot13\n\nuryyb\xff",
        {"charset-unknown"},
    ),
    (
        "wrong charset",
        HEAD + b"Content-Type: text/plain; charset=utf-8\n\n\xff\xfe\xfd",
        {"charset-wrong"},
    ),
    (
        "unknown encoding",
        HEAD + b"Content-Transfer-Encoding: x-magic\n\nbody",
        {"encoding-unknown"},
    ),
    ("no type", HEAD + b"Content-Type: text\n\nbody", {"content-type-broken"}),
    (
        "two types",
        HEAD + b"Content-Type: text/plain\nContent-Type: text/html\n\nx",
        {"content-type-broken"},
    ),
    ("bad base64", HEAD + b"Content-Transfer-Encoding: base64\n\naGVs!bG8=", {"base64-broken"}),
    (
        "base64 of bad length",
        HEAD + b"Content-Transfer-Encoding: base64\n\naGVsbG8gd29ybGQhI",
        {"base64-broken"},
    ),
    (
        "bad quoted-printable",
        HEAD + b"Content-Transfer-Encoding: quoted-printable\n\n100 =XY",
        {"quoted-printable-broken"},
    ),
    (
        "multipart without boundary",
        HEAD + b"Content-Type: multipart/mixed\n\nbody",
        {"mime-boundary-missing"},
    ),
    (
        "boundary never comes",
        HEAD + b"Content-Type: multipart/mixed; boundary=x\n\nbody",
        {"mime-boundary-missing"},
    ),
    ("no closing boundary", multipart(b"\nbody", end=False), {"mime-truncated"}),
    ("long boundary", multipart(b"\nbody", boundary=b"x" * 100), {"boundary-long"}),
    ("broken address", b"From: nobody at all, really\nSubject: s\n\nbody", {"address-broken"}),
    ("broken date", b"From: a@b.example\nDate: yesterday\n\nbody", {"date-broken"}),
    (
        "overflowing date",
        b"From: a@b.example\nDate: Mon, 99 Foo 99999999999999 99:99:99 +9999999\n\nx",
        {"date-broken"},
    ),
    (
        "broken word",
        b"From: a@b.example\nSubject: =?utf-8?B?a?=\n\nbody",
        {"header-encoding-broken"},
    ),
    (
        "word in unknown charset",
        b"From: a@b.example\nSubject: =?x-no?Q?a?=\n\nbody",
        {"charset-unknown"},
    ),
    ("cut uuencode", HEAD + b"\nbegin 644 a.bin\n#0V%T\n", {"uuencode-broken"}),
]


@pytest.mark.parametrize(
    ("raw", "wanted"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_is_broken_is_a_finding(raw: bytes, wanted: set[str]) -> None:
    found = names(raw)
    assert wanted <= found
    assert found <= NAMES.keys()


def test_a_sound_message_has_no_finding() -> None:
    raw = multipart(
        b"Content-Type: text/plain; charset=utf-8\n\nbody",
        b"Content-Type: text/html\n\n<p>body</p>",
    )
    assert names(raw) == set()
    assert names(raw.replace(b"\n", b"\r\n")) == set()


def test_every_octet_of_a_broken_message_is_still_read() -> None:
    assert parse(HEAD + b"body at once").text == "body at once"
    assert parse(multipart(b"\nbody", end=False)).text == "body"
    assert "body" in parse(HEAD + b"Content-Type: multipart/mixed; boundary=x\n\nbody").text
    assert parse(HEAD + b"Content-Transfer-Encoding: base64\n\naGVs!bG8gd29y").text == "hello wor"
    assert (
        parse(HEAD + b"Content-Transfer-Encoding: base64\n\naGVsbG8=\nIHdvcmxk").text
        == "hello world"
    )
    assert parse(b"From a@b Mon\n>From b\nFrom: a@b.example\n\nbody").text.startswith(">From b")
    assert parse(b"From a@b Mon Jan 1\nFrom: a@b.example\n\nbody").from_ is not None


def test_limits_are_findings() -> None:
    part = b"Content-Type: text/plain\n\nword"
    assert "mime-too-many-parts" in names(multipart(*[part] * 12), parts=10)
    assert "mime-too-many-parts" not in names(multipart(*[part] * 9), parts=10)
    assert "mime-too-deep" in names(nested(6, b"x"), depth=5)
    assert "mime-too-deep" not in names(nested(5, b"x"), depth=5)
    assert "header-too-many" in names(HEAD + b"X: y\n" * 20 + b"\nbody", headers=10)
    assert "header-too-long" in names(HEAD + b"X: " + b"y" * 200 + b"\n\nbody", header_octets=100)
    assert "text-too-long" in names(HEAD + b"\n" + b"word " * 100, text_octets=100)
    assert "html-too-long" in names(
        HEAD + b"Content-Type: text/html\n\n" + b"word " * 100, html_octets=100
    )
    assert "message-truncated" in names(HEAD + b"\n" + b"x" * 100, message_octets=100)
    image = b"Content-Type: image/png\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(
        b"x" * 1000
    )
    assert "attachment-too-large" in names(multipart(image), attachment_octets=500)
    urls = b" ".join(b"http://h%d.example.com/" % number for number in range(30))
    assert len(parse(HEAD + b"\n" + urls, ParserLimits(links=10)).links) == 10


def test_the_caller_may_say_that_it_cut() -> None:
    message = parse(HEAD + b"\nhalf a mess", truncated=True)
    assert message.truncated
    assert message.findings[0].name == "message-truncated"


HOSTILE: dict[str, Callable[[], bytes]] = {
    "10,000 parts": lambda: multipart(*[b"Content-Type: text/plain\n\nx"] * 10_000),
    "10,000 empty boundaries": lambda: multipart(*[b""] * 10_000),
    "header of 1 MB": lambda: HEAD + b"X-Long: " + b"y" * (1 << 20) + b"\n\nbody",
    "header of 1 MB in folds": lambda: HEAD + b"X-Long:" + b" y\n" * (1 << 18) + b"\n\nbody",
    "100,000 headers": lambda: HEAD + b"X: y\n" * 100_000 + b"\nbody",
    "1 MB of To": lambda: b"From: a@b.example\nTo: " + b"a@b.example," * 90_000 + b"\n\nbody",
    "1 MB of quotes in From": lambda: b'From: "' + b'\\"(<' * 16_000 + b"\n\nbody",
    "60 kB of brackets in To": lambda: b"To: " + b"(" * 60_000 + b"\n\nbody",
    "semicolons in Content-Type": lambda: HEAD + b"Content-Type: text/plain" + b" ;" * 30_000 + b"\n\nbody",
    "names in Content-Type": lambda: HEAD + b"Content-Type: text/plain; " + b"a" * 60_000 + b"\n\nbody",
    "quote in Content-Type": lambda: HEAD + b'Content-Type: text/plain; a="' + b"\\" * 60_000 + b"\n\nbody",
    "encoded words": lambda: b"Subject: " + b"=?utf-8?q?a?= " * 4_000 + b"\n\nbody",
    "half encoded words": lambda: b"Subject: " + b"=?utf-8?q?" * 6_000 + b"\n\nbody",
    "900 levels over 1 MB of short lines": lambda: nested(900, b"x\n" * (1 << 19)),
    "forwarded 100 times": lambda: forwarded(100),
    "forwarded 1000 times": lambda: forwarded(1000),
    "boundary inside boundary": lambda: multipart(
        *[b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n--b--"] * 1000
    ),
    "1 MB of nearly boundaries": lambda: multipart(b"\n" + b"--bb\n" * 200_000),
    "50,000 begin lines": lambda: HEAD + b"\n" + b"begin 644 x\n" * 20_000,
    "uuencoded begin lines": lambda: HEAD + b"\n" + b"begin 644 x\n#0V%T\n\n" * 13_000,
    "1 MB without a space": lambda: HEAD + b"\n" + b"a" * (1 << 20),
    "1 MB of dots": lambda: HEAD + b"\n" + b"." * (1 << 20),
    "a.a.a": lambda: HEAD + b"\n" + b"a." * (1 << 18),
    "1 MB of at signs": lambda: HEAD + b"\n" + b"a@" * (1 << 18),
    "http:// again and again": lambda: HEAD + b"\n" + b"http://" * (1 << 16),
    "400 hostile pages": lambda: multipart(
        *[b"Content-Type: text/html\n\n<p>" + b"".join(b"<font a=%d>" % n for n in range(150)) + b"<p>x" * 800] * 400
    ),
    "100 large pages": lambda: multipart(*[b"Content-Type: text/html\n\n" + b"<div><b>x</b> " * 15_000] * 100),
    "padding in base64": lambda: HEAD + b"Content-Transfer-Encoding: base64\n\n" + b"YQ==" * (1 << 18),
    "1 MB of equal signs": lambda: HEAD + b"Content-Transfer-Encoding: quoted-printable\n\n" + b"=" * (1 << 20),
    "utf-7": lambda: HEAD + b"Content-Type: text/plain; charset=utf-7\n\n" + b"+2AA-" * 50_000,
    "all octets": lambda: HEAD + b"\n" + bytes(range(256)) * 4096,
    "combining marks": lambda: HEAD + b"Content-Type: text/plain; charset=utf-8\n\na" + "\u0301".encode() * 120_000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_mail_takes_bounded_time(name: str) -> None:
    raw = HOSTILE[name]()
    start = time.process_time()
    message = parse(raw)
    assert time.process_time() - start < BOUND
    assert {finding.name for finding in message.findings} <= NAMES.keys()
    assert len(message.parts) <= ParserLimits().parts
    assert message.depth <= ParserLimits().depth


def page(source: bytes) -> bytes:
    return HEAD + b"Content-Type: text/html\n\n" + source


def pages(source: bytes, times: int) -> bytes:
    return multipart(*[b"Content-Type: text/html\n\n" + source] * times)


def prefixed(line: bytes) -> bytes:
    """Return 29 multiparts whose boundaries are prefixes of each other, around 5 MB of a line."""
    raw = b"Content-Type: text/plain\n\n" + line * (5_000_000 // len(line))
    for level in range(29, 0, -1):
        boundary = b"a" * level
        raw = (
            b"Content-Type: multipart/mixed; boundary=" + boundary + b"\n\n--" + boundary + b"\n" + raw
            + b"\n--" + boundary + b"--\n"
        )  # fmt: skip
    return HEAD + raw


def fields(value: bytes, times: int, name: bytes = b"Reply-To") -> bytes:
    return b"From: a@b.example\n" + (name + b": " + value + b"\n") * times + b"\nbody"


UNCLOSED = (b"<a " * 990 + b">") * 85
SPACES = b"a" + b" " * 60_000 + b"b"
# seconds: each takes under 0.3 on one idle core; the rest is for noise. Most took 1 to 40 before
# they were bounded
CHEAP = 1.0
SMALL_AND_COSTLY: dict[str, Callable[[], bytes]] = {
    "tags inside tags": lambda: page(UNCLOSED),
    "tags inside tags in 8 pages": lambda: pages(UNCLOSED, 8),
    "spaces in From and To": lambda: b"From: " + SPACES + b"\nTo: " + SPACES + b"\n\nbody",
    "tabs in Reply-To": lambda: fields(b"a" + b" \t" * 30_000 + b"<b", 20),
    "folded Reply-To": lambda: fields(b"\n <x@y> (c)" * 60, 60),
    "long folded Reply-To": lambda: fields(b"\n <x@y> (c)" * 5000, 60),
    "open quotes in To": lambda: fields(b'\\"' * 30_000 + b"\\", 60, b"To"),
    "open comments in To": lambda: fields(b"(" + b"\\(" * 30_000 + b"(", 60, b"To"),
    "a sheet of @": lambda: page(b"<style>" + b"@" * 65_536 + b"</style><p>x"),
    "a sheet of a": lambda: page(b"<style>" + b"a" * 65_536 + b"</style><p>x"),
    "20 sheets": lambda: page((b"<style>" + b"a" * 12_000 + b"</style>") * 20 + b"<p>x"),
    "a sheet in each of 10 pages": lambda: pages(b"<style>" + b"@" * 65_000 + b"</style><p>x", 10),
    "open blocks in a sheet": lambda: page(b"<style>" + b"@{a{" * 16_000 + b"</style><p>x"),
    "a rule 200 times for 20,000 elements": lambda: page(
        b"<style>" + b"p{color:red}" * 200 + b"</style>" + b"<p>x" * 20_000
    ),
    "boundaries that are prefixes": lambda: prefixed(b"--" + b"a" * 29 + b"x\n"),
    "prefixes again and again in a line": lambda: prefixed(b"--a" * 20 + b"\n"),
    "10 MB of the boundary": lambda: (
        HEAD + b'Content-Type: multipart/mixed; boundary="-"\n\n' + b"-" * 10_000_000
    ),
    "5,000 font sizes": lambda: page(b'<i style="font-size:12px">x</i>' * 5000),
    "150 fields of encoded words": lambda: fields(b"=?utf-8?q?a?=" * 5000, 150, b"X-Words"),
    "150 fields of broken words": lambda: fields(b"=?x?q?a?=" * 7000, 150, b"X-Words"),
    "encoded words in 200 file names": lambda: multipart(
        *[b'Content-Type: text/plain; name="' + b"=?utf-8?q?a?=" * 3000 + b'"\n\nx'] * 200
    ),
    "400 pages of formatting": HOSTILE["400 hostile pages"],
    "100 large pages": HOSTILE["100 large pages"],
    "forwarded files within each other": lambda: (
        (HEAD + b"Content-Type: message/rfc822; name=a.eml\n\n") * 29
        + HEAD
        + b"\n"
        + b"x\n" * 2_000_000
    ),
}


@pytest.mark.parametrize("name", SMALL_AND_COSTLY)
def test_no_small_message_holds_a_worker(name: str) -> None:
    raw = SMALL_AND_COSTLY[name]()
    envelope = Envelope(
        client=Client(ip="192.0.2.1"), sender="a@b.example", recipients=("c@d.example",)
    )
    hasher = Hasher(b"k" * 32)

    def took() -> float:
        start = time.process_time()
        shingles(parse(raw), envelope, hasher)
        return time.process_time() - start

    # once more: the first may have paid for a machine that was busy
    assert took() < CHEAP or took() < CHEAP


def test_work_beyond_a_bound_is_a_finding() -> None:
    assert "header-too-long" in names(SMALL_AND_COSTLY["150 fields of encoded words"]())
    assert "header-too-long" in names(SMALL_AND_COSTLY["long folded Reply-To"]())
    assert "html-too-complex" in names(SMALL_AND_COSTLY["tags inside tags"]())
    assert "mime-too-many-parts" in names(SMALL_AND_COSTLY["boundaries that are prefixes"]())
    assert "html-too-long" in names(SMALL_AND_COSTLY["tags inside tags in 8 pages"]())


def test_many_attributes_are_seen_behind_what_looks_like_a_tag() -> None:
    """A tag that begins in a comment ends nowhere a scanner of tags can tell: the next one is
    counted from its own start.
    """
    real = b"<p" + b"".join(b" a%d" % number for number in range(5000)) + b">"
    for lure in (b'<!-- <a b="-->', b"<script><a b='</script>", b""):
        assert "html-too-complex" in names(page(lure + real + b"text"))
    honest = b'<p title="<b>bold</b> and <i>more</i>">word</p>' * 1000
    assert "html-too-complex" not in names(page(honest))


def test_evidence_is_printable() -> None:
    (finding,) = parse(
        "From: a@b.example\nSubject: s\nDate: \x85\u202egpj\x9b31m\n\nbody".encode()
    ).findings
    assert finding.evidence.isprintable()
    assert "\\u202e" in finding.evidence


def test_an_archive_bomb_is_hashed_and_not_unpacked() -> None:
    import io
    import zipfile

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(50 << 20))
    part = (
        b"Content-Type: application/zip; name=bomb.zip\nContent-Transfer-Encoding: base64\n\n"
        + base64.encodebytes(packed.getvalue())
    )
    start = time.process_time()
    (attachment,) = parse(multipart(b"\nhello", part)).attachments
    assert time.process_time() - start < 1.0
    assert attachment.size == len(packed.getvalue())
    assert attachment.extension == "zip"


def test_boundaries_with_white_space_and_prefixes() -> None:
    padded = HEAD + (
        b"Content-Type: multipart/mixed; boundary=ab\n\npreamble\n--ab "
        b"\t\n\none\n--abc\ntwo\n--ab--\nepilogue"
    )
    assert parse(padded).text == "one\n--abc\ntwo"
    at_start = HEAD + b"Content-Type: multipart/mixed; boundary=ab\n\n--ab\n\none\n--ab--"
    assert parse(at_start).text == "one"
    not_at_line_start = (
        HEAD + b"Content-Type: multipart/mixed; boundary=ab\n\n--ab\n\none --ab\ntwo\n--ab--"
    )
    assert parse(not_at_line_start).text == "one --ab\ntwo"
