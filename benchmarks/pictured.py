"""Texts drawn as pictures, as senders do whose words are known, and what they do to a picture so
that no two copies are equal: a table of docs/measured/likeness.md.

Each copy is decoded and looked at like any picture of a message; it meets its original when the two
share a value of the perceptual hash, as counters see it. Strangers are the originals among
themselves: other words, colours and shapes.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from io import BytesIO
from itertools import combinations
from typing import Final

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFont
from rich import box
from rich.table import Table

from oborona.message.pictures.inspection import look

COPIES: Final = 10  # of each picture by each trick
CHARACTERS: Final = 250  # of a text that is drawn: what such pictures say

Change = Callable[[Image.Image, random.Random], Image.Image]


def drawn(text: str, chance: random.Random) -> Image.Image:
    """Return a picture of a text: a band of colour, a disc, and the words."""
    image = Image.new(
        "RGB", (chance.randrange(400, 700), chance.randrange(300, 500)), _colour(chance, 200)
    )
    draw = ImageDraw.Draw(image)
    high = chance.randrange(40, 120)
    draw.rectangle((0, 0, image.width, high), fill=_colour(chance, 0))
    left, top, across = (
        chance.randrange(image.width),
        chance.randrange(image.height),
        chance.randrange(40, 160),
    )
    draw.ellipse((left, top, left + across, top + across), fill=_colour(chance, 80))
    size = chance.randrange(16, 28)
    lines = textwrap.wrap(" ".join(text.split())[:CHARACTERS], width=2 * image.width // size)
    font = ImageFont.load_default(size)
    draw.text((12, 10), lines[0][:24], fill="white", font=ImageFont.load_default(size * 3 // 2))
    draw.multiline_text((12, high + 8), "\n".join(lines[1:]), fill="black", font=font)
    return image


def _colour(chance: random.Random, least: int) -> tuple[int, int, int]:
    return (
        chance.randrange(least, 256),
        chance.randrange(least, 256),
        chance.randrange(least, 256),
    )


def _resized(image: Image.Image, chance: random.Random) -> Image.Image:
    by = chance.uniform(0.5, 1.5)
    return image.resize((round(image.width * by), round(image.height * by)))


def _bordered(image: Image.Image, chance: random.Random) -> Image.Image:
    wide = chance.randrange(5, 41)
    whole = Image.new("RGB", (image.width + 2 * wide, image.height + 2 * wide), _colour(chance, 0))
    whole.paste(image, (wide, wide))
    return whole


def _noised(image: Image.Image, chance: random.Random) -> Image.Image:
    draw = np.random.default_rng(chance.getrandbits(32))
    pixels = np.asarray(image, np.float32) + draw.normal(
        0, chance.uniform(5, 20), (image.height, image.width, 3)
    )
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def _dotted(image: Image.Image, chance: random.Random) -> Image.Image:
    image = image.copy()
    for _ in range(300):
        image.putpixel(
            (chance.randrange(image.width), chance.randrange(image.height)), _colour(chance, 0)
        )
    return image


def _cropped(image: Image.Image, chance: random.Random) -> Image.Image:
    left, top, right, low = (chance.uniform(0, 0.03) for _ in range(4))
    return image.crop(
        (
            round(left * image.width),
            round(top * image.height),
            round((1 - right) * image.width),
            round((1 - low) * image.height),
        )
    )


def _lit(image: Image.Image, chance: random.Random) -> Image.Image:
    return ImageEnhance.Contrast(
        ImageEnhance.Brightness(image).enhance(chance.uniform(0.8, 1.2))
    ).enhance(chance.uniform(0.8, 1.2))


CHANGES: Final[dict[str, Change]] = {
    "encoded anew, JPEG of quality 30 to 85": lambda image, _: image,
    "half to one and a half of the size": _resized,
    "a border of 5 to 40 pixels": _bordered,
    "noise": _noised,
    "300 dots": _dotted,
    "up to 3 % cut off each side": _cropped,
    "other brightness and contrast": _lit,
    "turned by up to 2 degrees": lambda image, chance: image.rotate(chance.uniform(-2, 2), Image.Resampling.BILINEAR, fillcolor="white"),
}  # fmt: skip


def values(image: Image.Image, quality: int) -> frozenset[int]:
    """Return the perceptual hash of a picture that was sent as JPEG."""
    out = BytesIO()
    image.save(out, "JPEG", quality=quality)
    return frozenset(look(out.getvalue()).hashes)


def pictures_table(texts: list[str], *, seed: int) -> Table:
    """Return the share of changed copies that meet their original, by change."""
    chance = random.Random(seed)  # noqa: S311 - the same pictures on every run
    images = [drawn(text, chance) for text in texts]
    originals = [values(image, 90) for image in images]
    table = Table(
        "picture", "% that meet", title=f"{len(images)} texts as pictures", box=box.MARKDOWN
    )
    shares = []
    for name, change in CHANGES.items():
        met = 0
        for image, counted in zip(images, originals, strict=True):
            for _ in range(COPIES):
                met += bool(counted & values(change(image, chance), chance.randrange(30, 86)))
        shares.append(met / (COPIES * len(images)))
        table.add_row(name, f"{100 * shares[-1]:.1f}")
    table.add_row("all", f"{100 * sum(shares) / len(shares):.1f}")
    strangers = sum(bool(one & other) for one, other in combinations(originals, 2))
    table.add_row(
        f"strangers, of {len(originals) * (len(originals) - 1) // 2} pairs", str(strangers)
    )
    return table
