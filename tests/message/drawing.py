"""Pictures for the tests, drawn here: text, codes, and what cannot be decoded."""

from __future__ import annotations

import random
import struct
import zlib
from io import BytesIO

import numpy as np
import zxingcpp
from PIL import Image, ImageDraw, ImageFont

WORDS = [
    "cheap",
    "online",
    "pharmacy",
    "best",
    "price",
    "order",
    "now",
    "free",
    "delivery",
    "limited",
    "offer",
    "today",
    "bonus",
    "money",
    "credit",
    "approved",
]


def file(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    """Octets of a picture's file."""
    octets = BytesIO()
    image.save(octets, kind, **options)
    return octets.getvalue()


def text(*lines: str, size: int = 24, ink: str = "black", ground: str = "white") -> Image.Image:
    """Lines on a plain ground."""
    font = ImageFont.load_default(size)
    width = max(int(font.getlength(line)) for line in lines) + 2 * size
    image = Image.new("RGB", (width, int(1.6 * size * len(lines)) + size), ground)
    for number, line in enumerate(lines):
        ImageDraw.Draw(image).text(
            (size, size // 2 + int(1.6 * size * number)), line, font=font, fill=ink
        )
    return image


def advertisement(seed: int) -> Image.Image:
    """A picture of the kind that spam sends: words of many sizes, a button, colours."""
    draw = random.Random(seed)
    ground = tuple(draw.randint(190, 255) for _ in range(3))
    image = Image.new("RGB", (draw.choice((400, 468, 600)), draw.choice((200, 300, 400))), ground)
    canvas = ImageDraw.Draw(image)
    x, y = draw.randint(0, image.width // 2), draw.randint(0, image.height // 2)
    fill = tuple(draw.randint(60, 220) for _ in range(3))
    canvas.rectangle((x, y, x + draw.randint(60, 180), y + draw.randint(30, 120)), fill=fill)
    top = 8
    while top < image.height - 40:
        size = draw.choice((14, 18, 24, 36))
        words = " ".join(draw.choice(WORDS) for _ in range(draw.randint(1, 5)))
        ink = tuple(draw.randint(0, 130) for _ in range(3))
        canvas.text((draw.randint(5, 80), top), words, font=ImageFont.load_default(size), fill=ink)
        top += int(1.5 * size)
    return image


def code(
    payload: str, scale: int = 4, form: zxingcpp.BarcodeFormat = zxingcpp.BarcodeFormat.QRCode
) -> Image.Image:
    """A code, with the quiet zone around it."""
    drawn = np.array(zxingcpp.create_barcode(payload, form).to_image(scale=scale))
    image = Image.new("RGB", (drawn.shape[1] + 8 * scale, drawn.shape[0] + 8 * scale), "white")
    image.paste(Image.fromarray(drawn).convert("RGB"), (4 * scale, 4 * scale))
    return image


def png(width: int, height: int, *, octets: bytes = b"") -> bytes:
    """A PNG that states a size, whatever it holds."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(octets))
        + chunk(b"IEND", b"")
    )
