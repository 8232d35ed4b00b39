"""PDFs, written as they are needed, whole and hostile."""

from __future__ import annotations

import zlib
from io import BytesIO

import pypdf
from pypdf.annotations import Link
from pypdf.generic import RectangleObject

HELVETICA = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def raw(objects: dict[int, bytes], trailer: bytes = b"/Root 1 0 R") -> bytes:
    """Return a PDF of numbered objects; number 1 is the catalogue."""
    out, places = bytearray(b"%PDF-1.7\n"), dict[int, int]()
    for number, content in objects.items():
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 1\n0000000000 65535 f \n"
    for number, place in places.items():
        out += b"%d 1\n%010d 00000 n \n" % (number, place)
    out += b"trailer\n<</Size %d %s>>\nstartxref\n%d\n%%%%EOF\n" % (
        max(objects) + 1,
        trailer,
        start,
    )
    return bytes(out)


def stream(content: bytes, more: bytes = b"", *, times: int = 1) -> bytes:
    """Return a stream object, packed so many times."""
    for _ in range(times):
        content = zlib.compress(content, 9)
    filters = b"[" + b"/FlateDecode" * times + b"]"
    return b"<</Filter%s/Length %d%s>>stream\n%s\nendstream" % (
        filters,
        len(content),
        more,
        content,
    )


def page(program: bytes, more: dict[int, bytes] | None = None, resources: bytes = b"") -> bytes:
    """Return a PDF of one page; its program is object 4."""
    return raw({
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: (b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 "
            b"R>>%s>>/MediaBox[0 0 600 800]>>") % resources,
        4: program,
        5: HELVETICA,
        **(more or {}),
    })  # fmt: skip


def written(
    text: str, *urls: str, password: str | None = None, algorithm: str = "AES-256"
) -> bytes:
    """Return a PDF with a line of text and links."""
    content = stream(b"BT /F1 12 Tf 20 700 Td (%s) Tj ET" % text.encode())
    writer = pypdf.PdfWriter(clone_from=BytesIO(page(content)))
    for url in urls:
        writer.add_annotation(0, Link(rect=RectangleObject((0, 0, 10, 10)), url=url))
    if password is not None:
        writer.encrypt(password, "owner", algorithm=algorithm)
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def hostile() -> dict[str, bytes]:
    """Return PDFs that would take time or memory without end."""
    forms = {
        number: stream(
            b"/X Do " * 10,
            b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X %d 0 R>>>>"
            % (number + 1),
        )
        for number in range(10, 40)
    }
    forms[40] = stream(b"BT /F1 9 Tf (lol) Tj ET", b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]")
    kids = b" ".join(b"3 0 R" for _ in range(100_000))
    deep = {
        number: b"<</Type/Pages/Kids[%d 0 R]/Count 1>>" % (number + 1) for number in range(2, 3000)
    }
    return {
        "bomb": page(stream(bytes(200 << 20))),
        "bomb in bomb": page(stream(b"BT ET " * 30_000_000, times=3)),
        "laughs": page(stream(b"/X Do"), forms, b"/XObject<</X 10 0 R>>"),
        "many words": page(stream(b"BT /F1 12 Tf " + b"(ab) Tj " * 1_000_000 + b"ET")),
        "many moves": page(stream(b"BT /F1 12 Tf " + b"1 0 0 1 5 5 Tm (a) Tj q Q " * 500_000 + b"ET")),
        "deep arrays": page(stream(b"[" * 200_000)),
        "deep objects": page(b"[" * 200_000),
        "kids of themselves": raw({1: b"<</Type/Catalog/Pages 2 0 R>>", 2: b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 9>>"}),
        "many kids": raw({1: b"<</Type/Catalog/Pages 2 0 R>>", 2: b"<</Type/Pages/Kids[" + kids + b"]>>", 3: b"<</Type/Page/Parent 2 0 R>>"}),
        "deep kids": raw({1: b"<</Type/Catalog/Pages 2 0 R>>", **deep}),
        "length of itself": page(b"<</Length 4 0 R>>stream\nx\nendstream"),
        "annotations of themselves": page(stream(b"")).replace(b"/MediaBox", b"/Annots 3 0 R/MediaBox"),
        "table of itself": raw({1: b"<</Type/Catalog/Pages 2 0 R>>"}, b"/Root 1 0 R/Prev 9"),
        "no object": b"%PDF-1.7\n" + b"1 0 obj\n" * 200_000,
        "numbers": b"%PDF-1.7\nxref\n0 99999999\n" + b"0000000000 65535 f \n" * 100_000,
        "brackets": b"%PDF-1.7\ntrailer\n" + b"<<" * 500_000,
        "empty": b"%PDF-1.7",
    }  # fmt: skip
