"""Pictures to measure on, and what senders do to them: drawn here, or taken from folders of the
machine.

Drawn: advertisements, pages of text, QR codes, flat things. Taken: photographs (each cut in nine),
icons as logos.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Final

import numpy as np
import zxingcpp
from PIL import Image, ImageDraw, ImageEnhance, ImageFont

FONTS: Final = Path("/usr/share/fonts/truetype")
_ENGLISH: Final = (
    "cheap pills online best price order now free delivery pharmacy replica watches casino bonus "
    "win money credit approved today limited "
    "offer account security verify invoice payment stock meeting report quarter project schedule "
    "team please review document thanks regards "
    "customer service number"
)
_RUSSIAN: Final = (
    "купить дешево скидка доставка бесплатно заказ сегодня цена магазин кредит деньги одобрен "
    "казино бонус выигрыш аптека лекарства часы "
    "подписка письмо встреча отчет проект договор оплата счет документ спасибо клиент служба "
    "поддержки номер телефон звоните сейчас акция"
)
ENGLISH: Final = _ENGLISH.split()
RUSSIAN: Final = _RUSSIAN.split()
TILES: Final = 3  # of a photograph, each way
LARGEST: Final = 600  # pixels of a tile's longer side

Changed = Callable[[Image.Image, random.Random], Image.Image]
# a picture, and the same with one line of text replaced
Sample = tuple[Image.Image, Image.Image | None]


def fonts() -> list[str]:
    """Fonts with Latin and Russian letters."""
    found = sorted(
        str(path)
        for name in ("DejaVuS*.ttf", "Liberation*.ttf")
        for path in FONTS.glob(f"**/{name}")
    )
    if not found:
        raise SystemExit(
            "no DejaVu or Liberation fonts: apt-get install fonts-dejavu fonts-liberation"
        )
    return found


def colour(draw: random.Random, low: int, high: int) -> tuple[int, ...]:
    """A colour."""
    return tuple(draw.randint(low, high) for _ in range(3))


def words(draw: random.Random, count: int) -> str:
    """Words of one of two languages."""
    language = draw.choice((ENGLISH, RUSSIAN))
    return " ".join(draw.choice(language) for _ in range(count))


def advertisement(draw: random.Random, faces: list[str]) -> Sample:
    """Lines of many sizes and colours, mostly a box."""
    width, height = draw.choice((300, 400, 468, 600, 728)), draw.choice((150, 200, 250, 300, 400))
    dark = draw.random() < 0.3
    ground = colour(draw, 0, 80) if dark else colour(draw, 190, 255)
    lines, top = [], draw.randint(4, 20)
    while top < height - 20:
        size = draw.choice((12, 14, 16, 20, 28, 36))
        ink = colour(draw, 170, 255) if dark else colour(draw, 0, 130)
        left = draw.choice((10, 20, draw.randint(5, width // 3)))
        lines.append(
            (
                left,
                top,
                words(draw, draw.randint(1, 6)),
                ImageFont.truetype(draw.choice(faces), size),
                ink,
            )
        )
        top += int(1.4 * size) + draw.choice((0, 0, 8))
    x, y = draw.randint(0, width - 40), draw.randint(0, height - 20)
    box = (
        x,
        y,
        min(width, x + draw.randint(30, width // 2)),
        min(height, y + draw.randint(15, height // 2)),
    )
    fill = colour(draw, 60, 255)

    def drawn() -> Image.Image:
        image = Image.new("RGB", (width, height), ground)
        canvas = ImageDraw.Draw(image)
        canvas.rectangle(box, fill=fill)
        for left, at, text, font, ink in lines:
            canvas.text((left, at), text, font=font, fill=ink)
        return image

    whole = drawn()
    place = draw.randrange(len(lines))
    left, at, _, font, ink = lines[place]
    lines[place] = (left, at, words(draw, draw.randint(2, 5)), font, ink)
    return whole, drawn()


def page(draw: random.Random, faces: list[str], *, full: bool = False) -> Sample:
    """Lines of text in one font, as of a document; full ones to the end."""
    font = ImageFont.truetype(faces[0], 13)
    lines = [words(draw, draw.randint(3, 9)) for _ in range(draw.choice((10, 14, 20)))]
    if full:
        lines = [words(draw, 12)[:78] for _ in range(16)]

    def drawn() -> Image.Image:
        image = Image.new("RGB", (640, 20 + 18 * len(lines)), "white")
        for number, line in enumerate(lines):
            ImageDraw.Draw(image).text((10, 10 + 18 * number), line, font=font, fill="black")
        return image

    whole = drawn()
    lines[draw.randrange(len(lines))] = words(draw, 12)[:78] if full else words(draw, 5)
    return whole, drawn()


def code(draw: random.Random, scale: int = 6) -> tuple[Image.Image, str]:
    """A QR code and what it holds."""
    payload = (
        f"https://{draw.randrange(1 << 40):x}.example/{draw.randrange(1 << draw.randint(8, 120)):x}"
    )
    drawn = np.array(
        zxingcpp.create_barcode(payload, zxingcpp.BarcodeFormat.QRCode).to_image(scale=scale)
    )
    image = Image.new("RGB", (drawn.shape[1] + 8 * scale, drawn.shape[0] + 8 * scale), "white")
    image.paste(Image.fromarray(drawn).convert("RGB"), (4 * scale, 4 * scale))
    return image, payload


def flat(draw: random.Random) -> Image.Image:
    """What everybody has: one colour, a gradient, a line, a button."""
    width, height = draw.choice(((600, 200), (300, 300), (600, 40), (100, 40), (400, 400)))
    image = Image.new("RGB", (width, height), colour(draw, 0, 255))
    match draw.randrange(4):
        case 1:
            shade = np.linspace(0, 255, width if draw.random() < 0.5 else height)
            greys = (
                np.tile(shade, (height, 1))
                if len(shade) == width
                else np.tile(shade[:, None], (1, width))
            )
            image = Image.fromarray(greys.astype(np.uint8)).convert("RGB")
        case 2:
            image = Image.new("RGB", (width, height), "white")
            ImageDraw.Draw(image).rounded_rectangle(
                (2, 2, width - 3, height - 3), radius=8, fill=colour(draw, 0, 200)
            )
        case 3:
            ImageDraw.Draw(image).line(
                (0, height // 2, width, height // 2),
                fill=colour(draw, 0, 255),
                width=draw.randint(1, 4),
            )
        case _:
            pass
    return image


def photographs(folder: Path, limit: int) -> Iterator[Image.Image]:
    """Tiles of the photographs in a folder, one picture of each folder and name."""
    count = 0
    paths = sorted(folder.glob("**/*"))
    random.Random(1).shuffle(paths)  # noqa: S311 - the same order on every run
    for path in paths:
        if path.suffix.lower() not in {".jpg", ".jpeg", ".png", ".webp"} or path.is_symlink():
            continue
        with Image.open(path) as opened:
            opened.draft("RGB", (2000, 1300))
            image = opened.convert("RGB")
        width, height = image.size
        for number in range(TILES**2):
            column, row = number % TILES, number // TILES
            tile = image.crop(
                (
                    width * column // TILES,
                    height * row // TILES,
                    width * (column + 1) // TILES,
                    height * (row + 1) // TILES,
                )
            )
            tile.thumbnail((LARGEST, LARGEST))
            yield tile
            count += 1
            if count == limit:
                return


def icons(folder: Path, limit: int) -> Iterator[Image.Image]:
    """Icons of 96 pixels on white, as logos, no two the same."""
    known: set[bytes] = set()
    for path in sorted(folder.glob("**/96x96/**/*.png")):
        with Image.open(path) as opened:
            clear = opened.convert("RGBA")
        ground = Image.new("RGBA", clear.size, "white")
        ground.alpha_composite(clear)
        if ground.tobytes() not in known and len(known) < limit:
            known.add(ground.tobytes())
            yield ground.convert("RGB")


def corner(image: Image.Image) -> tuple[int, ...]:
    """The colour of a picture's corner."""
    found = image.getpixel((1, 1))
    assert isinstance(found, tuple)
    return tuple(int(each) for each in found)


def scaled(image: Image.Image, by: float, across: float | None = None) -> Image.Image:
    """Larger or smaller."""
    size = max(1, int(image.width * (across or by))), max(1, int(image.height * by))
    return image.resize(size, Image.Resampling.BICUBIC)


def compressed(image: Image.Image, quality: int) -> Image.Image:
    """Through JPEG."""
    octets = BytesIO()
    image.save(octets, "JPEG", quality=quality)
    return Image.open(octets).convert("RGB")


def few_colours(image: Image.Image) -> Image.Image:
    """Of 64 colours, as in a GIF."""
    return image.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).convert("RGB")


def bordered(
    image: Image.Image, draw: random.Random, ground: tuple[int, ...], most: float = 0.2
) -> Image.Image:
    """With a border of 2 to 20 % on each side."""
    left, top, right, bottom = (
        int(draw.uniform(0.02, most) * side) for side in (*image.size, *image.size)
    )
    framed = Image.new("RGB", (image.width + left + right, image.height + top + bottom), ground)
    framed.paste(image, (left, top))
    return framed


def noisy(image: Image.Image, deviation: float, draw: random.Random) -> Image.Image:
    """With Gaussian noise."""
    noise = np.random.default_rng(draw.randrange(1 << 30)).normal(
        0, deviation, (image.height, image.width, 3)
    )
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))


def dotted(image: Image.Image, share: float, draw: random.Random) -> Image.Image:
    """With a share of its pixels of any colour."""
    numbers = np.random.default_rng(draw.randrange(1 << 30))
    pixels = np.array(image)
    hit = numbers.random(pixels.shape[:2]) < share
    pixels[hit] = numbers.integers(0, 256, (int(hit.sum()), 3))
    return Image.fromarray(pixels)


def turned(image: Image.Image, angle: float) -> Image.Image:
    """Turned, its corners filled with its own colour."""
    return image.rotate(angle, Image.Resampling.BICUBIC, expand=True, fillcolor=corner(image))


def cropped(image: Image.Image, most: float, draw: random.Random) -> Image.Image:
    """Up to a share cut off each side."""
    left, top, right, bottom = (
        int(draw.uniform(0, most) * side) for side in (*image.size, *image.size)
    )
    return image.crop((left, top, image.width - right, image.height - bottom))


def hued(image: Image.Image, by: int) -> Image.Image:
    """With its colours moved round the circle, of 256."""
    hue, saturation, value = image.convert("HSV").split()
    return Image.merge(
        "HSV", (hue.point(lambda each: (each + by) % 256), saturation, value)
    ).convert("RGB")


def bent(image: Image.Image, power: float) -> Image.Image:
    """With its middle tones lighter or darker."""
    return image.point([round(255 * (each / 255) ** power) for each in range(256)] * 3)


def kit(image: Image.Image, draw: random.Random) -> Image.Image:
    """All at once, a little of each, as programs that send spam do."""
    image = bordered(turned(image, draw.uniform(-1, 1)), draw, corner(image), most=0.08)
    image = dotted(scaled(image, draw.uniform(0.8, 1.25)), 0.003, draw)
    return compressed(hued(image, draw.randint(-10, 10)), draw.randint(50, 90))


CHANGES: Final[dict[str, Changed]] = {
    "half the size": lambda image, _: scaled(image, 0.5),
    "three quarters": lambda image, _: scaled(image, 0.75),
    "one and a half": lambda image, _: scaled(image, 1.5),
    "twice the size": lambda image, _: scaled(image, 2),
    "narrower by a tenth": lambda image, _: scaled(image, 1.0, 0.9),
    "JPEG 30": lambda image, _: compressed(image, 30),
    "JPEG 60": lambda image, _: compressed(image, 60),
    "JPEG 95": lambda image, _: compressed(image, 95),
    "64 colours": lambda image, _: few_colours(image),
    "border of its own colour": lambda image, draw: bordered(image, draw, corner(image)),
    "white border": lambda image, draw: bordered(image, draw, (255, 255, 255)),
    "border of another colour": lambda image, draw: bordered(image, draw, colour(draw, 0, 255)),
    "noise, deviation 8": lambda image, draw: noisy(image, 8, draw),
    "noise, deviation 16": lambda image, draw: noisy(image, 16, draw),
    "1 % of its pixels": lambda image, draw: dotted(image, 0.01, draw),
    "turned by 1 degree": lambda image, draw: turned(image, draw.choice((-1, 1))),
    "turned by 2 degrees": lambda image, draw: turned(image, draw.choice((-2, 2))),
    "turned by 3 degrees": lambda image, draw: turned(image, draw.choice((-3, 3))),
    "cropped by up to 2 %": lambda image, draw: cropped(image, 0.02, draw),
    "cropped by up to 5 %": lambda image, draw: cropped(image, 0.05, draw),
    "brightness": lambda image, draw: ImageEnhance.Brightness(image).enhance(
        draw.choice((0.7, 1.25))
    ),
    "contrast": lambda image, draw: ImageEnhance.Contrast(image).enhance(draw.choice((0.7, 1.4))),
    "gamma": lambda image, draw: bent(image, draw.choice((0.6, 1.6))),
    "colours moved": lambda image, draw: hued(image, draw.choice((-30, 30, 80))),
    "grey": lambda image, _: image.convert("L").convert("RGB"),
    "a little of everything": kit,
}
"""name -> change"""
