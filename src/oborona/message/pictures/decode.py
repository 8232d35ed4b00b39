"""A picture file to pixels, whatever its octets: header first, then one frame, both within limits.

    header   size and number of pixels are known before anything is decoded; what is too large is
             not
    JPEG     decoded at half, a quarter or an eighth of its size, straight from its coefficients
    moving   of an animation the frame with most to see, of the first `MAX_FRAMES`
    upright  turned as its tags say that it is held (EXIF), as cameras leave that to who shows it
    clear    what shines through is put on white, as a reader's program does

Pillow decodes, with its own limits on what headers and chunks hold. Its decoders are C: they run in
a process that may be killed (the reader), never in a worker. What is cut off is decoded as far as
it goes, as browsers do.

Limits: `MAX_*`. The frames of a GIF may be larger than the size it states, and enlarge the picture:
the same limits hold for that. A progressive JPEG of many scans takes longer than its size tells:
the process has a limit of time for that.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Final

import msgspec
import numpy as np
from PIL import ExifTags, Image, ImageFile, UnidentifiedImageError

from oborona.message import file_types
from oborona.message.pictures.collection import LOOKED_AT

# of one frame: a scanned page at 600 dpi has 35 million, at 300 dpi 9
MAX_PIXELS: Final = 25_000_000
MAX_JPEG_PIXELS: Final = 64_000_000  # decoded at a fraction; cameras of telephones make 12 to 50
# of a JPEG, two octets each: one of many scans has all of them in memory, however small it is
# decoded
MAX_COEFFICIENTS: Final = 100_000_000
MAX_WEBP_PIXELS: Final = 13_000_000  # its decoder has four copies, of four octets a pixel
# the same, and its frames enlarge it: 2560 by 1440 and more are films, not mail
MAX_GIF_PIXELS: Final = 4_000_000
MAX_SIDE: Final = 32_767  # pixels: longer ones are built to exhaust
MAX_FRAMES: Final = 16  # of an animation that are decoded
MAX_FRAME_PIXELS: Final = 20_000_000  # of all frames that are decoded, but for the last of them
# pixels of the longer side that are kept: text of a photographed page can be read, and QR codes
SIDE: Final = 1600
_MOST: Final = {"jpeg": MAX_JPEG_PIXELS, "webp": MAX_WEBP_PIXELS, "gif": MAX_GIF_PIXELS}
_STRIP: Final = 256  # rows that are converted together
_JUDGED: Final = 64  # pixels of the side at which frames are compared

# sizes are judged here, before anything is decoded; `_frames_within` is the one exception
Image.MAX_IMAGE_PIXELS = None
_TURNS: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""What brings a picture upright, by the orientation in its tags (Exif 2.32 s4.6.4).

From 5 on its sides change places
"""
# whose tags nobody heeds yet: Pillow does a TIFF's
_TAGGED: Final = frozenset({"jpeg", "png", "webp"})
_ERRORS: Final = (
    OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, SyntaxError, EOFError, ArithmeticError,
    RuntimeError, AssertionError, struct.error, UnidentifiedImageError,
)  # fmt: skip
"""What Pillow's plugins raise on broken files, for want of one type of their own"""


class DecodedPicture(msgspec.Struct, frozen=True, kw_only=True):
    """A picture in pixels; without any where it could not be decoded."""

    kind: str = ""
    width: int = 0  # of the whole picture, whatever is kept of it
    height: int = 0
    frames: int = 0  # as far as they were counted
    image: Image.Image | None = None  # RGB, at most `SIDE` on each side
    findings: tuple[str, ...] = ()


def decode(octets: bytes, side: int = SIDE) -> DecodedPicture:
    """Return a picture; raises nothing, whatever the octets, but what tells of an end of memory.

    Args:
        octets: of the file.
        side: pixels of the longer side that are kept, at most.

    Raises:
        MemoryError: the process has less memory than limits on pixels need.

    """
    kind = file_types.kind(octets)
    if kind not in LOOKED_AT:
        return DecodedPicture(findings=("picture-broken",))
    if kind == "webp" and _exceeds(
        kind, *_webp_size(octets)
    ):  # its decoder takes its memory when it is opened
        width, height = _webp_size(octets)
        return DecodedPicture(
            kind=kind, width=width, height=height, findings=("picture-too-large",)
        )
    with (
        _frames_within(MAX_GIF_PIXELS if kind == "gif" else None),
        # of what is odd in a file; nobody reads them there
        warnings.catch_warnings(action="ignore"),
    ):
        return _whole_or_cut(octets, kind, side)


def _whole_or_cut(octets: bytes, kind: str, side: int) -> DecodedPicture:
    decoded = _decoded(octets, kind, side)
    if decoded.image is None and "picture-broken" in decoded.findings:
        with _whatever_is_there():
            cut = _decoded(octets, kind, side)
        return msgspec.structs.replace(cut, findings=("picture-broken",))
    return decoded


def _decoded(octets: bytes, kind: str, side: int) -> DecodedPicture:
    width, height = _gif_size(octets) if kind == "gif" else (0, 0)
    try:
        with Image.open(BytesIO(octets), formats=[kind]) as file:
            width, height = file.size
            if _exceeds(kind, width, height):
                return DecodedPicture(
                    kind=kind, width=width, height=height, findings=("picture-too-large",)
                )
            if kind == "jpeg":
                if _coefficients(file) > MAX_COEFFICIENTS:
                    return DecodedPicture(
                        kind=kind, width=width, height=height, findings=("picture-too-large",)
                    )
                file.draft("RGB", (min(side, width), min(side, height)))
            image, frames = _frame(file, side)
            turn = _orientation(file) if kind in _TAGGED else 1
    except Image.DecompressionBombError:
        return DecodedPicture(
            kind=kind, width=width, height=height, findings=("picture-too-large",)
        )
    except _ERRORS:
        return DecodedPicture(kind=kind, width=width, height=height, findings=("picture-broken",))
    if turn in _TURNS:
        image = image.transpose(_TURNS[turn])
        width, height = (height, width) if turn >= 5 else (width, height)
    return DecodedPicture(kind=kind, width=width, height=height, frames=frames, image=image)


def _exceeds(kind: str, width: int, height: int) -> bool:
    limit = _MOST.get(kind, MAX_PIXELS)
    return width < 1 or height < 1 or max(width, height) > MAX_SIDE or width * height > limit


def _coefficients(file: ImageFile.ImageFile) -> int:
    """Return how many numbers a JPEG consists of: of each of its colours as many as its sampling
    says. Source: ITU-T T.81 A.1.1.
    """
    # across and down
    layers: list[tuple[int, int]] = [layer[1:3] for layer in getattr(file, "layer", ())]
    if not layers:
        return 0
    most = max(across for across, _ in layers) * max(down for _, down in layers)
    return file.width * file.height * sum(across * down for across, down in layers) // max(most, 1)


def _orientation(file: ImageFile.ImageFile) -> int:
    """Return how a picture is held, by its tags.

    1 = upright, and where they are broken or missing.
    """
    try:
        turn = file.getexif().get(ExifTags.Base.Orientation, 1)
    except _ERRORS:
        return 1
    return turn if isinstance(turn, int) else 1


def _frame(file: ImageFile.ImageFile, side: int) -> tuple[Image.Image, int]:
    """Return the frame with most to see, and how many were counted."""
    best = _flat(file, side)
    if file.format not in {"GIF", "PNG", "WEBP"} or not getattr(file, "is_animated", False):
        return best, 1
    most = _content(best)
    frames = 1
    spent = file.width * file.height
    while frames < MAX_FRAMES and spent + file.width * file.height <= MAX_FRAME_PIXELS:
        try:
            file.seek(frames)
            frame = _flat(file, side)
        except (
            Image.DecompressionBombError,
            *_ERRORS,
        ):  # the end, or a broken one: those before it are shown
            break
        frames += 1
        spent += file.width * file.height
        content = _content(frame)
        if content > most:
            best, most = frame, content
    return best, frames


def _content(image: Image.Image) -> float:
    """Return how much there is to see: the differences between neighbours, summed."""
    small = image.copy()
    small.thumbnail((_JUDGED, _JUDGED), Image.Resampling.BOX)
    grey = np.asarray(small.convert("L"), dtype=np.int16)
    return float(np.abs(np.diff(grey, axis=0)).sum() + np.abs(np.diff(grey, axis=1)).sum())


def _flat(file: Image.Image, side: int) -> Image.Image:
    """Return a frame as RGB, on white, no larger than `side`.

    A strip at a time, as whole copies take more memory than the picture.
    """
    factor = -(-max(file.size) // side)
    if file.mode.startswith("I;16") or file.mode in {"I", "F"}:
        greys = file.convert("I") if file.mode.startswith("I;16") else file
        return _stretched(greys.reduce(factor) if factor > 1 else greys).convert("RGB")
    if factor == 1:
        return _on_white(file)
    image = Image.new("RGB", (-(-file.width // factor), -(-file.height // factor)))
    rows = factor * max(1, _STRIP // factor)
    for top in range(0, file.height, rows):
        strip = file.crop((0, top, file.width, min(file.height, top + rows)))
        image.paste(_on_white(strip).reduce(factor), (0, top // factor))
    return image


def _on_white(file: Image.Image) -> Image.Image:
    """Return a copy as RGB, on white where something shines through."""
    if file.mode in {"P", "PA", "LA", "La", "RGBA", "RGBa"} or "transparency" in file.info:
        clear = file.convert("RGBA")
        image = Image.new("RGBA", clear.size, "white")
        image.alpha_composite(clear)
        return image.convert("RGB")
    return file.convert("RGB")


def _stretched(file: Image.Image) -> Image.Image:
    """Return a picture of many greys as one of 256, from its darkest to its lightest."""
    greys = np.nan_to_num(np.asarray(file, dtype=np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(greys.min()), float(greys.max())
    return Image.fromarray(((greys - low) * (255 / max(high - low, 1e-6))).astype(np.uint8))


def _webp_size(octets: bytes) -> tuple[int, int]:
    """Return width and height that a WebP file states, (0, 0) for none.

    Source: RFC 9649 s2.5 to s2.7.
    """
    chunk, body = octets[12:16], octets[20:30]
    if len(body) < 10:
        return 0, 0
    if chunk == b"VP8X":
        return int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1
    if chunk == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(
        body[8:10], "little"
    ) & 0x3FFF


def _gif_size(octets: bytes) -> tuple[int, int]:
    """Return width and height that a GIF file states. Source: GIF89a s18."""
    return int.from_bytes(octets[6:8], "little"), int.from_bytes(octets[8:10], "little")


@contextmanager
def _frames_within(pixels: int | None) -> Iterator[None]:
    """Have Pillow raise `DecompressionBombError` where a file turns out to have more pixels.

    One switch for its whole process.

    It asks as it opens a file, and whenever a frame of a GIF enlarges the picture, before it takes
    memory for that.
    """
    before = Image.MAX_IMAGE_PIXELS
    Image.MAX_IMAGE_PIXELS = None if pixels is None else pixels // 2  # at twice that it raises
    try:
        yield
    finally:
        Image.MAX_IMAGE_PIXELS = before


@contextmanager
def _whatever_is_there() -> Iterator[None]:
    """Have Pillow give what it could decode of a file that ends too early.

    One switch for its whole process.
    """
    before = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        yield
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before
