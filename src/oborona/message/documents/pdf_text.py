"""What a PDF says and where it leads, read by pypdf: text, links, and whether it takes a password
to open.

    open, with the empty password if there is one → links of all pages (annotations with /URI, ISO
    32000-1 s12.6.4.7) → text, page by page

For a process of its own alone, with a limit of memory and a time after which it is killed: a page
is a program, and pypdf, in Python, runs it as far as it goes. Streams are unpacked to `MAX_STREAM`
at most. Between pages it stops by itself, so that most of what is slow has said something before.

Limits: `MAX_*`. A link whose address is made by a script, and text that is a picture of text, are
not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, Final

import msgspec
import pypdf
from pypdf.annotations import Link
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
    RectangleObject,
)

ENCRYPTED: Final = "pdf-encrypted"
MAX_PAGES: Final = 20  # whose links are read; a lure has one or two
MAX_TEXT_PAGES: Final = 5
MAX_LINKS: Final = 64
MAX_ANNOTATIONS: Final = 500  # of a page
MAX_URL: Final = 2048  # characters
MAX_TEXT: Final = 20_000  # characters
TEXT_S: Final = 0.2  # of CPU, after which no further page is begun
MAX_STREAM: Final = 4 << 20  # octets of a page's program, unpacked

_BOUNDS: Final = pypdf.Configuration(
    maximum_declared_stream_length=MAX_STREAM,
    array_based_stream_maximum_output_length=MAX_STREAM,
    lzw_maximum_output_length=MAX_STREAM,
    run_length_maximum_output_length=MAX_STREAM,
    zlib_maximum_output_length=MAX_STREAM,
    zlib_maximum_recovery_input_length=256 << 10,  # octet by octet
    stream_filters_maximum_length=4,
    stream_decoding_work_maximum_length=4 * MAX_STREAM,
    stream_parsing_work_maximum_count=60_000,  # a page of dense text takes 5,000
    page_tree_maximum_entries=2_000,
    page_tree_maximum_page_entries=40_000,
    xform_maximum_invocations_per_extraction=100,
    jbig2dec_binary=None,
    disable_legacy_handling=True,
)


class PdfText(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in a PDF."""

    links: tuple[str, ...] = ()  # distinct, as written
    text: str = ""  # of the first pages
    findings: tuple[str, ...] = ()  # names


def read(octets: bytes, clock: Callable[[], float]) -> PdfText:
    """Return what a PDF says; of one that can't be read nothing.

    Args:
        octets: of the file.
        clock: seconds of CPU that this process has spent.

    Raises:
        MemoryError: the limit of this process was met.

    """
    with pypdf.apply_configuration(_BOUNDS):
        return _read(octets, clock)


def _read(octets: bytes, clock: Callable[[], float]) -> PdfText:
    try:
        reader = pypdf.PdfReader(BytesIO(octets), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            return PdfText(findings=(ENCRYPTED,))
        pages = _pages(reader)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - pypdf raises whatever Python does on broken files
        return PdfText()
    links: dict[str, None] = {}
    for page in pages:
        links.update(dict.fromkeys(_links(page)))
    return PdfText(links=tuple(links)[:MAX_LINKS], text=_text(pages, clock() + TEXT_S, clock))


def _pages(reader: pypdf.PdfReader) -> list[pypdf.PageObject]:
    """Return the first pages, as far as the tree can be walked."""
    pages: list[pypdf.PageObject] = []
    try:
        for number in range(min(len(reader.pages), MAX_PAGES)):
            pages.append(reader.pages[number])  # noqa: PERF401 - those before a broken one are kept
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001, S110 - see `read`
        pass
    return pages


def _links(page: pypdf.PageObject) -> Iterator[str]:
    try:
        annotations: Any = page.get("/Annots", ())
        annotations = (
            annotations.get_object() if hasattr(annotations, "get_object") else annotations
        )
        for annotation in (
            list(annotations)[:MAX_ANNOTATIONS] if isinstance(annotations, ArrayObject) else ()
        ):
            action: Any = annotation.get_object().get("/A", {})
            action = action.get_object() if hasattr(action, "get_object") else action
            url = action.get("/URI", "") if isinstance(action, DictionaryObject) else ""
            url = url.get_object() if hasattr(url, "get_object") else url
            text = _unicode(url.decode("utf-8", "replace") if isinstance(url, bytes) else str(url))
            if text.strip():
                yield text.strip()[:MAX_URL]
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - see `read`
        return


def _text(pages: list[pypdf.PageObject], end: float, clock: Callable[[], float]) -> str:
    pieces: list[str] = []
    length = 0
    for page in pages[:MAX_TEXT_PAGES]:
        if length >= MAX_TEXT or clock() > end:
            break
        try:
            pieces.append(_unicode(page.extract_text()))
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001, S112 - see `read`
            continue
        length += len(pieces[-1])
    return "\n".join(pieces)[:MAX_TEXT]


def _unicode(text: str) -> str:
    """Return a text that can be encoded: pypdf takes halves of characters for characters, and
    whoever makes a font chooses them.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def samples() -> Iterator[bytes]:
    """Yield PDFs of our own with a text and a link, one of them encrypted: pypdf loads what it
    needs when it first needs it.
    """
    for password in (None, "", "secret"):
        writer = pypdf.PdfWriter()
        page = writer.add_blank_page(200, 100)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        program = DecodedStreamObject()
        program.set_data(b"BT /F1 12 Tf 10 50 Td (sample 123) Tj ET")
        page[NameObject("/Contents")] = writer._add_object(program.flate_encode())  # noqa: SLF001 - there is no public way
        writer.add_annotation(
            0, Link(rect=RectangleObject((0, 0, 10, 10)), url="https://sample.example/")
        )
        if password is not None:
            writer.encrypt(password, "owner", algorithm="AES-256")
        octets = BytesIO()
        writer.write(octets)
        yield octets.getvalue()
        yield octets.getvalue()[: octets.tell() // 2]
