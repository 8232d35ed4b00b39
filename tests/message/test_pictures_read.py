"""OCR of pictures drawn here: clean, small, slanted, noisy, light on dark, red on green."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from oborona.errors import ConfigError
from oborona.message.pictures.ocr import Ocr
from tests.message.drawing import advertisement, file, png, text

TESSDATA = next(
    (
        str(folder)
        for folder in Path("/usr/share/tesseract-ocr").glob("*/tessdata")
        if (folder / "rus.traineddata").exists()
    ),
    "",
)
pytestmark = pytest.mark.skipif(not TESSDATA, reason="no tesseract-ocr-rus")

ENGLISH = (
    "Cheap pharmacy online with delivery",
    "Order today, pay only 19 dollars",
    "Call our doctors any time",
)
RUSSIAN = ("Купите лекарства дешевле", "Доставка в любой город", "Звоните нашим врачам")


@pytest.fixture(scope="module")
def ocr() -> Iterator[Ocr]:
    opened = Ocr(TESSDATA, "rus+eng")
    yield opened
    opened.close()


def share(read: str, lines: tuple[str, ...]) -> float:
    wanted = Counter(" ".join(lines).split())
    return sum((wanted & Counter(read.split())).values()) / wanted.total()


def noisy(image: Image.Image) -> Image.Image:
    noise = np.random.default_rng(3).normal(0, 35, (image.height, image.width, 3))
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))


PICTURES = {
    "clean": text(*ENGLISH),
    "small": text(*ENGLISH, size=12),
    "light on dark": text(*ENGLISH, ink="#ffffcc", ground="#202050"),
    "red on green": text(*ENGLISH, ink="#c83c3c", ground="#3c963c"),
    "noisy": noisy(text(*ENGLISH)),
    "slanted": text(*ENGLISH).rotate(3.5, Image.Resampling.BICUBIC, expand=True, fillcolor="white"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_english(ocr: Ocr, name: str) -> None:
    assert share(ocr.read(file(PICTURES[name])), ENGLISH) >= 0.9


def test_russian(ocr: Ocr) -> None:
    from PIL import ImageDraw, ImageFont

    image = Image.new("RGB", (700, 160), "white")
    for number, line in enumerate(RUSSIAN):
        font = ImageFont.truetype("DejaVuSans.ttf", 26)  # Debian's fonts-dejavu-core
        ImageDraw.Draw(image).text((20, 10 + 45 * number), line, font=font, fill="black")
    assert share(ocr.read(file(image)), RUSSIAN) >= 0.9


def test_lines_are_kept(ocr: Ocr) -> None:
    assert ocr.read(file(PICTURES["clean"])).split("\n")[1] == ENGLISH[1]


def test_nothing_to_read(ocr: Ocr) -> None:
    noise = Image.fromarray(
        np.random.default_rng(5).integers(0, 255, (200, 300, 3), dtype=np.uint8)
    )
    for octets in (
        b"",
        b"no picture",
        png(50_000, 50_000),
        file(Image.new("RGB", (300, 200))),
        file(Image.new("RGB", (9, 9))),
    ):
        assert ocr.read(octets) == ""
    assert len(ocr.read(file(noise))) < 20


def test_fewer_preparations_are_fewer(ocr: Ocr) -> None:
    octets = file(PICTURES["red on green"].convert("L"))
    assert ocr.read(octets, preparations=0) == ""
    assert ocr.read(file(advertisement(3)), preparations=1)


def test_missing_languages_are_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no xyz in"):
        Ocr(str(tmp_path), "xyz")
