"""Messages built to cost as much as they can: each kind of piece repeated in each place that is
read, and structures that parsers fear.

`benchmarks/bombs.py` measures what a whole scan of each costs; `tests/message/test_message_cost.py`
holds the worst of them to a bound.
"""

from __future__ import annotations

import io
import zipfile
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Final

HEAD: Final = (
    b"From: Ann <ann@a.example>\nTo: bob@b.example\nDate: Fri, 20 Nov 2026 10:00:00 "
    b"+0000\nMessage-ID: <1@a.example>\nMIME-Version: 1.0\n"
)
FIELD: Final = 63_000  # octets: just under what is read of one header field
TEXT: Final = 262_000  # octets: just under what is read of one part
# of two combining classes: in the wrong order, which normalisation has to sort
MARKS: Final = "\u0301\u0316"

# Characters and words that one step or another makes more of, or has to look at again and again.
PIECES: Final[dict[str, str]] = {
    "U+FDFA": "\ufdfa",
    "U+3316": "\u3316",
    "U+33AF": "\u33af",
    "U+2A74": "\u2a74",
    "U+1D160": "\U0001d160",
    "U+0390": "\u0390",
    "Hangul": "\u1112\u1161\u11ab",
    "marks turned": MARKS,
    "letters with marks": "a\u0316\u0301\u0308",
    "Tibetan marks": "\u0f73\u0f72\u0f71",
    "zero width": "v\u200ba\u200d",
    "mathematical": "\U0001d4e5\U0001d4f2 ",
    "Cyrillic": "\u0434\u0435\u043d\u044c\u0433\u0438 ",
    "Chinese": "\u514d\u8d39\u8d44\u8baf",
    "mixed scripts": "p\u0430yp\u0430l ",
    "turned round": "\u202eabc\u202c",
    "soft hyphens": "a\u00adb\u00ad",
    "letters for digits": "v1agra c1al1s ",
    "spaced out": "v i a g r a ",
    "digits": "8 905 123-45-67 ",
    "number words": "one two three four ",
    "telephones": "+7 905 123-45-67 tel 8(495)1234567, ",
    "wallets": "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa ",
    "handles": "telegram @name t.me/name whatsapp wa.me/79051234567 ",
    "defanged": "hxxp://a[.]example name (at) a (dot) example ",
    "links": "http://a.example/b?c=http%3A%2F%2Fd.example%2Fe ",
    "bare names": "a.example.com b.example.org ",
    "addresses": "ann@a.example, bob@b.example, ",
    "dots": "a.b.c.d.e.f.",
    "at signs": "@a@b",
    "IDN": "http://\u0430\u0440\u0440\u04cf\u0435.com/ http://xn--80ak6aa92e.com/ ",
    "quotes": "> a\n>> b\n",
    "dashes": "-- \n",
    "boilerplate": "if you are not the intended recipient. sent from my iphone\n",
    "spaces": "a \t ",
    "one letter": "a",
    "entities of HTML": "&#65021;&nbsp;",
    "brackets": "[{(<",
    "encoded words": "=?utf-8?b?77e6?= ",
    "encoded letters": "=?utf-8?q?a?= ",
    "NUL": "\0",
    "ones": "a1b1c1 ",
    "slashes": "http://a.example//////../..",
    "colons": "re: fwd: ",
    "semicolons": "a=b; c=d; ",
}


def _field(name: str) -> Callable[[str], bytes]:
    return lambda piece: (
        b"%b: %b\n%b\nhello\n" % (name.encode(), _filled(piece, FIELD).replace(b"\n", b" "), HEAD)
    )


def _fields(name: str, number: int) -> Callable[[str], bytes]:
    def built(piece: str) -> bytes:
        field = b"%b: %b\n" % (name.encode(), _filled(piece, FIELD).replace(b"\n", b" "))
        return field * number + HEAD + b"\nhello\n"

    return built


def _filled(piece: str, octets: int) -> bytes:
    if piece == MARKS:
        return b"a" + MARKS[0].encode() * (octets // 4) + MARKS[1].encode() * (octets // 4)
    one = piece.encode()
    return one * (octets // len(one))


def _text(kind: str, number: int = 1) -> Callable[[str], bytes]:
    def built(piece: str) -> bytes:
        part = (
            b"--b\nContent-Type: text/%b; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n%b\n"
        ) % (
            kind.encode(),
            _filled(piece, TEXT),
        )
        return HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n" + part * number + b"--b--\n"

    return built


def _names(piece: str) -> bytes:
    name = piece.strip().replace('"', "").replace("\n", "") or "a"
    part = b'--b\nContent-Type: application/pdf; name="%b.pdf"\n\nx\n' % (
        name.encode() * (1000 // len(name))
    )
    return HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n" + part * 400 + b"--b--\n"


def _recipients(piece: str) -> bytes:
    return (
        b"To: %b\n"
        % b", ".join(
            b'"%b" <u%d@b.example>'
            % (piece.replace('"', "").replace("\n", " ").encode() * 20, number)
            for number in range(500)
        )
        + HEAD
        + b"\nhello\n"
    )


def _members(piece: str) -> bytes:
    name = (piece.strip().replace("\0", "") or "a") * 40
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(400):
            archive.writestr(zipfile.ZipInfo(f"{number}{name}.exe"[:200]), b"x" * 100)
    octets = b64encode(out.getvalue())
    return (
        HEAD
        + b"Content-Type: application/zip; name=a.zip\nContent-Transfer-Encoding: base64\n\n"
        + octets
    )


def _anchors(piece: str) -> bytes:
    shown = piece * (200 // len(piece) or 1)
    links = "".join(
        f"<a href='http://h{number}.example/{piece}'>{shown}</a> " for number in range(300)
    )
    return HEAD + b"Content-Type: text/html; charset=utf-8\n\n" + links.encode()


PLACES: Final[dict[str, Callable[[str], bytes]]] = {
    "Subject": _field("Subject"),
    "Reply-To": _field("Reply-To"),
    "X-Mailer": _field("X-Mailer"),
    "List-Unsubscribe": _field("List-Unsubscribe"),
    "List-Id": _field("List-Id"),
    "150 From": _fields("From", 150),
    "100 Subject": _fields("Subject", 100),
    "100 To": _fields("To", 100),
    "500 names in To": _recipients,
    "text": _text("plain"),
    "HTML": _text("html"),
    "3 HTML": _text("html", 3),
    "calendar": _text("calendar"),
    "names of 400 files": _names,
    "names in a zip": _members,
    "300 links": _anchors,
}


def _repeated(head: bytes, piece: bytes, number: int, tail: bytes = b"") -> Callable[[], bytes]:
    return lambda: head + piece * number + tail


def _nested() -> bytes:
    return HEAD + b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (number, number)
        for number in range(10_000)
    )


_SIGNED: Final = (
    (b"DKIM-Signature: v=1; a=rsa-sha256; d=d%d.example; s=s; c=relaxed/relaxed; "
        b"h=from:to:subject:date:")
    + b"from:" * 200
    + b"; bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=; b=" + b"QUJD" * 80 + b"\n"
)  # fmt: skip
_SEALED: Final = (
    b"ARC-Seal: i=%d; a=rsa-sha256; t=1; cv=pass; d=a.example; s=s; b=QUJD\n"
    b"ARC-Message-Signature: i=%d; a=rsa-sha256; c=relaxed/relaxed; d=a.example; s=s; h=from; "
    b"bh=QUJD; b=QUJD\n"
    b"ARC-Authentication-Results: i=%d; mx.a.example; spf=pass\n"
)
STRUCTURES: Final[dict[str, Callable[[], bytes]]] = {
    "multiparts in one another": _nested,
    "parts": lambda: (
        HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\na\n" * 400_000 + b"--b--\n"
    ),
    "messages in one another": _repeated(HEAD, b"Content-Type: message/rfc822\n\n", 50_000),
    "DKIM signatures": lambda: b"".join(_SIGNED % number for number in range(900)) + HEAD + b"\n" + b"a  b \n" * 100_000,
    "ARC sets": lambda: b"".join(_SEALED % (number, number, number) for number in range(1, 300)) + HEAD + b"\nhello\n",
    "Authentication-Results": lambda: (
        b"Authentication-Results: mx.test; " * 1 + b"spf=pass smtp.mailfrom=a@b.example; " * 1500 + b"\n"
    ) * 100 + HEAD + b"\nhello\n",
    "Received": lambda: (
        b"Received: from a.example (a.example [192.0.2.1])\n\tby mx.test (Postfix) with "
            b"ESMTPS id 4F3 for <b@b.example>; Fri, 20 Nov 2026 10:00:00 +0000\n"
    ) * 1000 + HEAD + b"\nhello\n",
    "long Received": lambda: b"Received: from %b\n%b\nhello\n" % (b"a.example (b [192.0.2.1]) by " * 2000, HEAD),
    "fields": _repeated(HEAD, b"X: y\n", 400_000, b"\nhello\n"),
    "folded field": _repeated(HEAD + b"X:", b" a\n", 400_000, b"\nhello\n"),
    "deep HTML": _repeated(HEAD + b"Content-Type: text/html\n\n", b"<div><b>", 30_000),
    "adoption agency": _repeated(HEAD + b"Content-Type: text/html\n\n", b"<a><b><i></a></b></i><table><p>", 8_000),
    "attributes": lambda: HEAD + b"Content-Type: text/html\n\n<p " + b" ".join(b"a%d=b" % each for each in range(30_000)) + b">x",
    "style sheet": lambda: HEAD + b"Content-Type: text/html\n\n<style>" + b"".join(b".c%d .d > p{display:none;color:#fff}" % each for each in range(6_000)) + b"</style>" + b"<p class='c1 d'>x</p>" * 1_000,
    "one selector": lambda: HEAD + b"Content-Type: text/html\n\n<style>" + b"p " * 100_000 + b"{color:red}</style><p>x",
    "inline styles": _repeated(HEAD + b"Content-Type: text/html\n\n", b"<p style='font-size:0;color:#fff;background:#fff'>x</p>", 4_800),
    "tables": _repeated(HEAD + b"Content-Type: text/html\n\n", b"<table><tr><td>", 15_000),
    "comments": _repeated(HEAD + b"Content-Type: text/html\n\n", b"<!--a-->", 30_000),
    "pictures in data:": _repeated(HEAD + b"Content-Type: text/html\n\n", b"<img src='data:image/png;base64,iVBORw0KGgo='>", 5_500),
    "entities": _repeated(HEAD + b"Content-Type: text/html\n\n", b"&#xfdfa;", 32_000),
    "quoted-printable U+FDFA": _repeated(HEAD + (b"Content-Type: text/plain; "
        b"charset=utf-8\nContent-Transfer-Encoding: "
        b"quoted-printable\n\n"), b"=EF=B7=BA", 87_000),
    "UTF-7": _repeated(HEAD + b"Content-Type: text/plain; charset=utf-7\n\n", b"+/fo-", 50_000),
    "ISO-2022-JP": _repeated(HEAD + b"Content-Type: text/plain; charset=iso-2022-jp\n\n", b'\x1b$B$"\x1b(Ba', 30_000),
    "GB 18030": _repeated(HEAD + b"Content-Type: text/plain; charset=gb18030\n\n", b"\x81\x30\x81\x30", 65_000),
    "HZ": _repeated(HEAD + b"Content-Type: text/plain; charset=hz\n\n", b"~{VP~}a", 35_000),
    "no charset": _repeated(HEAD + b"Content-Type: text/plain\n\n", bytes(range(128, 256)), 2_000),
    "uuencoded files": _repeated(HEAD + b"\n", b"begin 644 a\n#8F]Y\n`\nend\n", 20_000),
    "base64 lines": _repeated(HEAD + (b"Content-Type: application/octet-stream; "
        b"name=a\nContent-Transfer-Encoding: "
        b"base64\n\n"), b"QQ==\n", 1_000_000),
    "parameters": lambda: HEAD + b"Content-Type: text/plain; " + b"".join(b"name*%d*=utf-8''a; " % each for each in range(3_000)) + b"\n\nhello\n",
    "cards": _repeated(HEAD + b"Content-Type: text/calendar\n\nBEGIN:VCALENDAR\n", b"DESCRIPTION:a\\n\n b\n", 12_000),
}  # fmt: skip


def bombs() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield (name, what builds it) of all of them."""
    for place, built in PLACES.items():
        for piece, text in PIECES.items():
            yield f"{piece} in {place}", lambda built=built, text=text: built(text)  # type: ignore[misc]
    yield from STRUCTURES.items()
