"""Mails with pictures in them, drawn as they are needed."""

from __future__ import annotations

from email.message import EmailMessage
from io import BytesIO
from typing import Final

import zxingcpp
from PIL import Image, ImageDraw

FEW_WORDS: Final = "Hi"
WORDS: Final = (
    "Dear Joe, here are the plans of the house that we spoke about last week; tell me what "
    "you think of them. Ann"
)


def drawn(text: str, *, size: tuple[int, int] = (900, 300)) -> bytes:
    """Return a picture of lines of text, as a PNG file."""
    picture = Image.new("RGB", size, "white")
    ImageDraw.Draw(picture).multiline_text((30, 40), text, fill="black", font_size=36, spacing=16)
    return _png(picture)


def code(payload: str) -> bytes:
    """Return a QR code, as a PNG file."""
    barcode = zxingcpp.create_barcode(payload, zxingcpp.BarcodeFormat.QRCode)
    return _png(Image.fromarray(barcode.to_image(scale=6)))


def letter(picture: bytes | None, *, words: str = FEW_WORDS, subject: str = "Plans") -> bytes:
    """Return a mail with a picture attached, lines ending in CR LF."""
    mail = EmailMessage()
    mail["From"] = "Ann <ann@a.example>"
    mail["To"] = "joe@example.test"
    mail["Subject"] = subject
    mail["Date"] = "Fri, 20 Nov 2026 10:00:00 +0000"
    mail["Message-ID"] = "<1@a.example>"
    mail.set_content(words)
    if picture is not None:
        mail.add_attachment(picture, maintype="image", subtype="png", filename="plan.png")
    return mail.as_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _png(picture: Image.Image) -> bytes:
    octets = BytesIO()
    picture.save(octets, "PNG")
    return octets.getvalue()
