"""What is in a picture, without reading it: size, frames, perceptual hash, QR codes and their like.

    decode (`decode`) → perceptual hash (`alike`) → codes: as it is, then larger, smoother, in other
    contrast while nothing was found → whether it is worth reading: as large, and with as many
    edges, as a line of text needs

Bounded by what `decode` lets through, one frame of at most `LOOK_SIDE` pixels a side. Codes are
read by ZXing-C++: QR in all its forms, Aztec, Data Matrix, PDF417; those of goods and parcels are
not looked for, as they lead nowhere.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
import zxingcpp
from numpy.typing import NDArray
from PIL import Image, ImageFilter, ImageOps

from oborona.message.pictures import perceptual_hash
from oborona.message.pictures.decode import decode

LOOK_SIDE: Final = 1200  # pixels of the longer side: a code that is a tenth of a page is found
MAX_CODES: Final = 4  # of one picture
MAX_PAYLOAD: Final = 2048  # characters of one that are kept: as many as of a link
MIN_CODE_SIDE: Final = 21  # pixels: the smallest QR code has as many modules
# pixels of the longer side at which codes that are rare in mail are looked for: they cost ten times
# as much
MAX_OTHERS_SIDE: Final = 800
# pixels of the longer side below which a picture is also searched at twice its size
_SMALL: Final = 500
MIN_LEGIBLE_SIDE: Final = 16  # pixels: less holds no line of text
# 200 by 30; icons, tracking pixels, bullets and rules of newsletters have fewer
MIN_LEGIBLE_PIXELS: Final = 6_000
# points that stand out: a telephone number and two words in light grey, 10 pixels high, have 74, a
# button 34
MIN_EDGES: Final = 60
EDGE: Final = 24  # of 255, to the point before it
# rows that are counted: the smallest letters that are read stand on two of them
EVERY_ROW: Final = 3
_ROWS: Final = 16  # that are counted together: most pictures have edges enough in the first few

_B = zxingcpp.BarcodeFormat
_QR: Final = zxingcpp.BarcodeFormats([_B.QRCode, _B.MicroQRCode, _B.RMQRCode])
_OTHERS: Final = zxingcpp.BarcodeFormats([_B.Aztec, _B.DataMatrix, _B.PDF417])


class PictureInspection(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in a picture by a look."""

    kind: str = ""  # by its first octets; empty = none that is looked at
    width: int = 0  # pixels
    height: int = 0
    frames: int = 0  # of an animation; as far as they are counted
    hashes: tuple[int, ...] = ()  # values of the perceptual hash, unsigned 64-bit
    codes: tuple[str, ...] = ()  # payloads, distinct
    legible: bool = False  # whether it is worth reading
    findings: tuple[str, ...] = ()  # names


def look(octets: bytes) -> PictureInspection:
    """Return what is in a picture.

    Raises nothing, whatever the octets, but what tells of an end of memory.

    Args:
        octets: of the file.

    Raises:
        MemoryError: as `decode` does.

    """
    decoded = decode(octets, LOOK_SIDE)
    image = decoded.image
    return PictureInspection(
        kind=decoded.kind,
        width=decoded.width,
        height=decoded.height,
        frames=decoded.frames,
        hashes=perceptual_hash.values(image) if image is not None else (),
        codes=codes(image) if image is not None else (),
        legible=image is not None and legible(image, decoded.width * decoded.height),
        findings=decoded.findings,
    )


def codes(image: Image.Image) -> tuple[str, ...]:
    """Return the payloads of the codes in an RGB picture, distinct, in the order they were found.

    Args:
        image: of any size.

    """
    if min(image.size) < MIN_CODE_SIDE:
        return ()
    grey = image.convert("L")
    barcodes = _read(grey, _QR)
    if not barcodes:
        factor = -(-max(grey.size) // MAX_OTHERS_SIDE)
        barcodes = _read(grey.reduce(factor) if factor > 1 else grey, _OTHERS, invert=False)
    if not barcodes and max(grey.size) < _SMALL:
        barcodes = _read(
            grey.resize((2 * grey.width, 2 * grey.height), Image.Resampling.BICUBIC), _QR
        )
    if not barcodes:
        barcodes = _read(
            ImageOps.autocontrast(grey.filter(ImageFilter.GaussianBlur(1)), cutoff=2),
            _QR,
            zxingcpp.Binarizer.GlobalHistogram,
        )
    return barcodes


def legible(image: Image.Image, pixels: int) -> bool:
    """Tell whether there may be text in a picture: a second of OCR is not spent on a bullet or an
    even ground.

    Args:
        image: RGB, of any size.
        pixels: of the whole picture, whatever is left of it.

    """
    return (
        min(image.size) >= MIN_LEGIBLE_SIDE and pixels >= MIN_LEGIBLE_PIXELS and _has_edges(image)
    )


def _has_edges(image: Image.Image) -> bool:
    """Tell whether enough points of every third row stand out from the one before them, in any
    colour.
    """
    rows = np.asarray(image)[::EVERY_ROW]
    edges = 0
    for top in range(0, len(rows), _ROWS):
        left, right = rows[top : top + _ROWS, 1:], rows[top : top + _ROWS, :-1]
        edges += int(
            ((np.maximum(left, right) - np.minimum(left, right)) >= EDGE).any(axis=2).sum()
        )
        if edges >= MIN_EDGES:
            return True
    return False


def _read(
    grey: Image.Image,
    formats: zxingcpp.BarcodeFormats,
    binarizer: zxingcpp.Binarizer = zxingcpp.Binarizer.LocalAverage,
    *,
    invert: bool = True,
) -> tuple[str, ...]:
    octets: NDArray[np.uint8] = np.asarray(grey)
    barcodes = zxingcpp.read_barcodes(
        octets,
        formats=formats,
        text_mode=zxingcpp.TextMode.Plain,
        binarizer=binarizer,
        try_invert=invert,
    )
    payloads = (barcode.text.strip()[:MAX_PAYLOAD] for barcode in barcodes if barcode.valid)
    return tuple(dict.fromkeys(filter(None, payloads)))[:MAX_CODES]
