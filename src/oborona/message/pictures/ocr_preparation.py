"""A picture made ready for OCR, in one way after another: what a reader's eye does without
noticing.

    always       text of a small picture made larger, a slant taken off, light text on dark ground
                 turned round
    plain        greys
    channel      the one line through the colours along which they differ most: red on green of one
                 grey is black on white there
    smooth       single odd pixels out, greys stretched to the full range
    marked       each point against its neighbourhood: text over shades and photographs

Limits: a slant of up to `MAX_SLANT` degrees; pictures are brought to at most `MAX_PIXELS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter, ImageOps

MAX_PIXELS: Final = 3_000_000  # of what is read: Tesseract takes a second for so many of dense text
# pixels of the longer side: text of a banner is then 30 high, which Tesseract likes best
WANTED_SIDE: Final = 1600
MAX_SCALE: Final = 3.0  # beyond, blurs are enlarged
MAX_SLANT: Final = 5.0  # degrees
MIN_SLANT: Final = 0.6  # below, Tesseract does well as it is, and turning blurs
_JUDGED: Final = 400  # pixels of the side at which a slant is looked for
_MARGIN: Final = 10  # pixels around: letters at the very edge are lost otherwise
_MEASURED_STEPS: Final = np.arange(-MAX_SLANT, MAX_SLANT + 0.01, 0.5)
_CLEARER: Final = 1.15  # times sharper lines than as it stands, or a slant is none

WAYS: Final = ("plain", "channel", "smooth", "marked")
"""Names of the preparations, in the order they are tried"""


def prepared_variants(image: Image.Image) -> Iterator[Image.Image]:
    """Yield an RGB picture in greys, made ready in each of `WAYS`.

    Each is made when it is asked for.
    """
    before = image.width
    image = _sized(image)
    # what a single pixel has become, and a little more
    spot = 5 if image.width >= 2 * before else 3
    plain = image.convert("L")
    slant = _slant(plain)
    if slant:
        image, plain = _turned(image, slant), _turned(plain, slant)
    yield _finished(plain)
    channel = _channel(image)
    yield _finished(channel)
    yield _finished(ImageOps.autocontrast(plain.filter(ImageFilter.MedianFilter(spot)), cutoff=1))
    yield _finished(_marked(channel))


def _sized(image: Image.Image) -> Image.Image:
    """Return a picture as large as OCR likes it."""
    scale = min(MAX_SCALE, max(1.0, WANTED_SIDE / max(image.size)))
    scale = min(scale, (MAX_PIXELS / (image.width * image.height)) ** 0.5)
    if 0.95 < scale < 1.05:
        return image
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, Image.Resampling.LANCZOS if scale > 1 else Image.Resampling.BOX)


def _slant(grey: Image.Image) -> float:
    """Return by how many degrees to turn a picture so that its lines lie level.

    0 where that is not clear.

    Lines that lie level make the sums of rows differ most from row to row.
    """
    small = grey.copy()
    small.thumbnail((_JUDGED, _JUDGED), Image.Resampling.BOX)
    if min(small.size) < 2 * _MARGIN:
        return 0.0
    pixels = np.asarray(small, dtype=np.float32)
    marks = np.abs(pixels - np.median(pixels))
    ink = Image.fromarray(marks.astype(np.uint8))
    sharp = [_sharpness(ink, float(angle)) for angle in _MEASURED_STEPS]
    best = int(np.argmax(sharp))
    angle = float(_MEASURED_STEPS[best])
    level = sharp[len(sharp) // 2]
    return angle if abs(angle) >= MIN_SLANT and sharp[best] > _CLEARER * level else 0.0


def _sharpness(ink: Image.Image, angle: float) -> float:
    turned = np.asarray(ink.rotate(angle, Image.Resampling.BILINEAR), dtype=np.float32)
    return float(np.square(np.diff(turned.sum(axis=1))).sum())


def _turned(image: Image.Image, angle: float) -> Image.Image:
    ground = image.getpixel((0, 0))
    fill = ground if isinstance(ground, int | tuple) else None
    return image.rotate(angle, Image.Resampling.BICUBIC, expand=True, fillcolor=fill)


def _channel(image: Image.Image) -> Image.Image:
    """Return the projection of the colours on the line along which they vary most, stretched to 256
    greys.
    """
    pixels = np.asarray(image, dtype=np.float32).reshape(-1, 3)
    centred = pixels - pixels.mean(axis=0)
    _, axes = np.linalg.eigh(
        centred[:: max(1, len(centred) // 20_000)].T @ centred[:: max(1, len(centred) // 20_000)]
    )
    line = centred @ axes[:, -1]
    low, high = np.percentile(line[:: max(1, len(line) // 20_000)], (1, 99))
    greys = np.clip((line - low) * (255 / max(float(high - low), 1e-6)), 0, 255)
    return Image.fromarray(greys.astype(np.uint8).reshape(image.height, image.width))


def _marked(grey: Image.Image) -> Image.Image:
    """Return black where a point differs from what is around it in the rarer direction, white
    elsewhere.
    """
    around = grey.filter(ImageFilter.BoxBlur(12))
    apart = np.asarray(grey, dtype=np.int16) - np.asarray(around, dtype=np.int16)
    dark, light = apart < -24, apart > 24
    ink: NDArray[np.bool_] = (
        dark if dark.sum() <= light.sum() or dark.sum() * 4 > dark.size else light
    )
    return Image.fromarray(np.where(ink, 0, 255).astype(np.uint8))


def _finished(grey: Image.Image) -> Image.Image:
    """Return greys as dark on light, with a margin."""
    pixels = np.asarray(grey)
    ground = float(np.median(pixels))
    if ground < float(pixels.mean()) and ground < 128:
        grey = ImageOps.invert(grey)
        ground = 255 - ground
    return ImageOps.expand(grey, _MARGIN, int(ground))
