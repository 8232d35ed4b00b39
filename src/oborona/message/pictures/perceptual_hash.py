"""The perceptual hash: alike pictures share some of its values exactly, as counters can find no
others.

    greys        at most `SIDE` pixels, averaged: noise and compression go
    three views  as it is; without its border; the middle of that. Each on 32 by 32 cells, its edges
                 fading out
    frequencies  of each view its slowest cosine waves (DCT), in two dimensions
    code         the signs of 32 or 36 of them; those nearest to zero may fall either way, so each
                 code is given for both signs of the three weakest
    value        the view's number and the code; three views of 8 values

Two pictures meet when one value is the same: when in one view all signs agree but those that are
weak in one of the two. So no distance has to be searched for, and a store of counters finds what is
near. Brightness, contrast and size change no signs; a border is taken off, and where it cannot be
found the other views are as they were. docs/policy/pictures.md has what each change leaves, and how
many strangers meet.

No hash have small pictures, flat ones, and those of few waves or of level and upright ones alone
(gradients, lines, buttons): everybody's look the same.

Tried and left: moments of gradients to find the middle (8 % of the signs differed, 6 % with the
border cut off), gradients in place of greys (8 %), more signs with more weak ones (fewer meet).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIDE: Final = 160  # pixels that the longer side is brought to
MIN_SIDE: Final = 32  # pixels of a picture's shorter side: below are icons and lines
MIN_VIEW: Final = 8  # pixels of a view's shorter side, at `SIDE`
CELLS: Final = 32
WAVES: Final = 10  # along each side
WEAK: Final = 3  # signs that may fall either way
# standard deviation of the cells, of 255, their edges faded: the corners of a button are none
MIN_CONTRAST: Final = 3.0
MIN_WAVES: Final = 4.0  # that share the energy: of a gradient one or two have all of it
# share of the energy in waves that run neither level nor upright: lines, buttons and gradients have
# up to 0.09, text 0.14 and more
MIN_ACROSS: Final = 0.12

BORDER_LINE: Final = 3.0  # mean difference within a line of a border: compression makes 1 or 2
BORDER_COLOUR: Final = 10.0  # difference to its outermost line
BORDERS: Final = 3  # one in another

Plane = NDArray[np.float32]


def values(image: Image.Image) -> tuple[int, ...]:
    """Return the perceptual hash of a picture: `VALUES` unsigned 64-bit numbers, or fewer where a
    view has too little to show, distinct.

    Args:
        image: RGB, of any size.

    """
    if min(image.size) < MIN_SIDE:
        return ()
    pixels = _small(image)
    inner = _without_border(pixels)
    greys = pixels @ _GREY
    hashes: list[int] = []
    for number, (view, fade, signs) in enumerate(
        ((greys, _WIDE, _EVEN), (greys[inner], _WIDE, _ODD), (greys[inner], _MIDDLE, _MORE))
    ):
        if min(view.shape) < MIN_VIEW:
            continue
        waves = _waves(view, fade)
        if waves is not None:
            hashes += _codes(waves[signs], number)
    return tuple(dict.fromkeys(hashes))


def _small(image: Image.Image) -> Plane:
    """Return a picture in cells of averaged colour, `SIDE` along its longer side at most."""
    scale = SIDE / max(image.size)
    if scale < 1:
        size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        image = image.resize(size, Image.Resampling.BOX, reducing_gap=3.0)
    return np.asarray(image, dtype=np.float32)


def _without_border(pixels: Plane) -> tuple[slice, slice]:
    """Return the part of a picture inside its border: lines of one colour from the outside in, up
    to `BORDERS` colours.
    """
    top, bottom, left, right = 0, pixels.shape[0], 0, pixels.shape[1]
    for _ in range(BORDERS):
        before = top, bottom, left, right
        for side in range(4):
            part = pixels[top:bottom, left:right]
            if min(part.shape[:2]) < MIN_VIEW:
                return slice(top, bottom), slice(left, right)
            lines = part if side < 2 else part.transpose(1, 0, 2)
            count = _border(lines[::-1] if side % 2 else lines)
            if side == 0:
                top += count
            elif side == 1:
                bottom -= count
            elif side == 2:
                left += count
            else:
                right -= count
        if before == (top, bottom, left, right):
            break
    return slice(top, bottom), slice(left, right)


def _border(lines: Plane) -> int:
    """Return how many lines are border; none where all would be."""
    outermost = np.median(lines[0], axis=0)
    for count, line in enumerate(lines):
        colour = np.median(line, axis=0)
        if (
            np.abs(colour - outermost).max() >= BORDER_COLOUR
            or np.abs(line - colour).mean() >= BORDER_LINE
        ):
            return count
    return 0


def _waves(view: Plane, fade: Plane) -> Plane | None:
    """Return the waves in a view, slowest first, each over what noise does to it.

    None where it has too little to show.
    """
    cells = _averages(view.shape[0]) @ view @ _averages(view.shape[1]).T
    cells = (cells - (cells * fade).sum() / fade.sum()) * fade
    if float(cells.std()) < MIN_CONTRAST:
        return None
    waves = _COSINES @ cells @ _COSINES.T
    waves[0, 0] = 0
    energy = np.square(waves)
    whole = float(energy.sum())
    if energy[1:, 1:].sum() < MIN_ACROSS * whole or whole**2 < MIN_WAVES * float(
        np.square(energy).sum()
    ):
        return None
    slowest: Plane = waves.ravel()[1:][_SLOWEST] * _STEADY
    return slowest


def _codes(waves: Plane, number: int) -> list[int]:
    """Return the signs of waves as a number, for both signs of each of the weakest."""
    code = (
        int.from_bytes(np.packbits(waves > 0, bitorder="little").tobytes(), "little") | number << 56
    )
    codes = [code]
    for weak in np.argsort(np.abs(waves))[:WEAK].tolist():
        codes += [variant ^ 1 << weak for variant in codes]
    return codes


@lru_cache(maxsize=256)
def _averages(pixels: int) -> Plane:
    """Return the matrix that brings a row of so many pixels to `CELLS` averages."""
    edges = np.linspace(0, pixels, CELLS + 1)
    start = np.arange(pixels)
    shares = np.minimum(edges[1:, None], start + 1) - np.maximum(edges[:-1, None], start)
    matrix: Plane = (np.clip(shares, 0, None) / (pixels / CELLS)).astype(np.float32)
    return matrix


def _fade(width: float) -> Plane:
    """Return how much each cell counts: a bell around the middle.

    Args:
        width: its standard deviation, in sides of the view.

    """
    apart = (np.arange(CELLS) + 0.5) / CELLS - 0.5
    bell = np.exp(-np.square(apart / width) / 2)
    return np.outer(bell, bell).astype(np.float32)


_GREY: Final = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # ITU-R BT.601
_WIDE: Final = _fade(0.35)
_MIDDLE: Final = _fade(0.22)
_COSINES: Final = np.cos(
    np.pi * (np.arange(CELLS)[None] + 0.5) * np.arange(WAVES)[:, None] / CELLS
).astype(np.float32)
_COSINES[0] /= np.sqrt(2)

_along, _down = np.meshgrid(np.arange(WAVES), np.arange(WAVES))
_SLOWEST: Final = np.argsort(
    (np.square(_along) + np.square(_down) + 0.01 * _down).ravel()[1:], kind="stable"
)
# A wave along one side alone takes what the other side's edges do: noise moves it twice as much as
# the rest, and it is as weak at twice the size.
_STEADY: Final = (
    np.where((_along == 0) | (_down == 0), 0.5, 1.0).ravel()[1:][_SLOWEST].astype(np.float32)
)
_EVEN: Final = slice(0, 64, 2)
_ODD: Final = slice(1, 64, 2)
_MORE: Final = slice(0, 72, 2)
VALUES: Final = 3 << WEAK
"""Values of a picture with enough to show"""
