"""Types of pictures: as files, as they look, and what is in them.

How a picture looks and which codes it holds is what a look finds in pictures that are drawn here;
what is read in them is as OCR gives it.
"""

import hashlib
from functools import partial

from PIL import Image, ImageOps

from oborona.message.model import Picture, PictureOrigin
from oborona.message.parse import parse
from oborona.message.pictures.enrichment import enrich_message
from oborona.message.pictures.inspection import look
from oborona.message.shingles import ShingleType, shingles
from oborona.types import CountedPieces, Envelope
from tests.message.drawing import advertisement, code, file
from tests.message.types.attachments import attached
from tests.message.types.case import HASHER, LONG, OTHER, Case, mail

LETTER = b"Subject: hello\n\nSee the picture.\n"
LINK = "https://shop.example/way?id=1"
WAY = "Every ticket of our lottery wins today, call the number below and name this code"


def pictured(*octets: bytes, text: str = "", regions: tuple[str, ...] = ()) -> CountedPieces:
    """Pieces of a letter with pictures that were looked at, and in the first of which this was
    read.
    """
    found = []
    for number, each in enumerate(octets):
        looked = look(each)
        found.append(
            Picture(
                octets=each,
                sha256=hashlib.sha256(each).digest(),
                name="",
                kind=looked.kind,
                place=PictureOrigin.INLINE,
                looked=True,
                width=looked.width,
                height=looked.height,
                hashes=looked.hashes,
                codes=looked.codes,
                read=True,
                text="" if number else text,
            )
        )
    return shingles(enrich_message(parse(LETTER), found, regions), Envelope(), HASHER)


BLANK = file(Image.new("RGB", (400, 300), "white"))
written = partial(pictured, BLANK)  # of a picture in which OCR read what is given as `text`
PICTURE = file(advertisement(5))

CASES = {
    ShingleType.CODE: Case(
        same=(
            pictured(file(code(LINK))),
            pictured(file(code("HTTPS://Shop.Example/way?id=1&utm_source=mail#top"), "JPEG", quality=30)),
            pictured(file(ImageOps.invert(code(LINK)).rotate(10, expand=True, fillcolor="black"))),
            pictured(BLANK, file(code(LINK, 9))),
        ),
        differ=(pictured(file(code(LINK))), pictured(file(code(LINK + "1"))), pictured(file(code("tel:+74951234567")))),
        none=(mail("no picture", "Subject: x"), pictured(PICTURE), pictured(file(code("test"))), pictured(BLANK)),
    ),
    ShingleType.PICTURE: Case(
        same=(attached(PICTURE, "a.png", "image/png"), attached(PICTURE, "b.jpg", "application/octet-stream")),
        differ=(attached(PICTURE), attached(file(advertisement(5), "GIF")), attached(file(advertisement(6)))),
        none=(mail("no picture"), attached(b"%PDF-1.4\n" * 99, "a.pdf", "application/pdf"), attached(PICTURE[:60], "a.png", "image/png")),
    ),
    ShingleType.PICTURE_HASH: Case(
        same=(
            pictured(PICTURE),
            pictured(file(advertisement(5), "BMP")),
            pictured(file(advertisement(5), "WEBP", lossless=True)),
            pictured(file(advertisement(5).convert("RGBA"), "TIFF")),
        ),
        differ=(*(pictured(file(advertisement(seed))) for seed in (5, 6, 7)), pictured(file(code(LINK)))),
        none=(
            mail("no picture"),
            pictured(BLANK),
            pictured(file(Image.linear_gradient("L").resize((400, 300)))),
            pictured(file(advertisement(5).resize((60, 30)))),
        ),
    ),
    ShingleType.PICTURE_TEXT: Case(
        same=(
            written(text=WAY),
            written(text=WAY.upper().replace(" ", "\n", 3)),
            written(text=WAY.replace("lottery", "1ottery").replace("number", "nurnber").replace("code", "c0de")),
        ),
        differ=(written(text=WAY), written(text=LONG), written(text=OTHER)),
        none=(mail(WAY), written(text="Sale! 50 %"), written()),
    ),
    ShingleType.PICTURE_PHONE: Case(
        same=(
            written(text="Call +7 (495) 123-45-67"),
            written(text="or +7 495 I23 45 67 now"),
            written(text="тел. 8 (495) 123-45-67", regions=("RU",)),
            pictured(file(code("tel:+74951234567"))),
        ),
        differ=(written(text="Call +7 (495) 123-45-67"), written(text="Call +7 (495) 123-45-68")),
        none=(mail("Call +7 (495) 123-45-67"), written(text="Order 8 (495) 123-45-67"), written()),
    ),
    ShingleType.PICTURE_ADDRESS: Case(
        same=(
            written(text="write to Bill@Shop.com"),
            written(text="write to bi1l@shop.com"),
            written(text="write to bill@shop.corn"),
        ),
        differ=(
            written(text="write to bill@shop.com"),
            written(text="write to anna@shop.com"),
            written(text="www.shop.com/sale"),
        ),
        none=(mail("write to bill@shop.com"), written(text="write to us"), written()),
    ),
}  # fmt: skip
