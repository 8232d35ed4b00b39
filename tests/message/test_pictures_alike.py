"""Alike pictures share a value, others none, and what everybody's pictures look like has none."""

from __future__ import annotations

import random
from collections.abc import Callable
from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageEnhance, ImageOps

from oborona.message.pictures.perceptual_hash import MIN_SIDE, VALUES, values
from tests.message.drawing import advertisement, file

MANY = 40


def scaled(image: Image.Image, by: float) -> Image.Image:
    return image.resize((int(image.width * by), int(image.height * by)), Image.Resampling.BICUBIC)


def compressed(image: Image.Image, quality: int) -> Image.Image:
    return Image.open(BytesIO(file(image, "JPEG", quality=quality))).convert("RGB")


def noisy(image: Image.Image, deviation: float) -> Image.Image:
    noise = np.random.default_rng(7).normal(0, deviation, (image.height, image.width, 3))
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))


CHANGES: dict[str, tuple[float, Callable[[Image.Image], Image.Image]]] = {
    "half the size": (0.85, lambda image: scaled(image, 0.5)),
    "twice the size": (0.9, lambda image: scaled(image, 2)),
    "JPEG 30": (0.9, lambda image: compressed(image, 30)),
    "64 colours": (
        0.9,
        lambda image: image.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).convert("RGB"),
    ),
    "noise": (0.85, lambda image: noisy(image, 12)),
    "darker": (0.9, lambda image: ImageEnhance.Brightness(image).enhance(0.7)),
    "grey": (0.9, lambda image: image.convert("L").convert("RGB")),
    "white border": (0.6, lambda image: ImageOps.expand(image, (10, 30, 40, 20), "white")),
    "coloured border": (0.6, lambda image: ImageOps.expand(image, 25, (200, 30, 30))),
    "a degree": (
        0.6,
        lambda image: image.rotate(
            1, Image.Resampling.BICUBIC, expand=True, fillcolor=(240, 240, 240)
        ),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_picture_meets_itself(change: str) -> None:
    least, changed = CHANGES[change]
    pictures = [advertisement(seed) for seed in range(MANY)]
    met = sum(bool(set(values(each)) & set(values(changed(each)))) for each in pictures)
    assert met >= least * MANY


def test_other_pictures_do_not_meet() -> None:
    found = [set(values(advertisement(seed))) for seed in range(100, 300)]
    pairs = [(a, b) for number, a in enumerate(found) for b in found[:number] if a & b]
    assert len(pairs) <= 10  # of 19,900: some have the same layout


def test_a_picture_with_enough_to_show_has_all_values() -> None:
    found = values(advertisement(1))
    assert len(found) == len(set(found)) == VALUES
    assert all(0 <= value < 1 << 64 for value in found)


def test_what_everybody_sends_has_no_values() -> None:
    wide = np.broadcast_to(np.linspace(0, 255, 600)[None, :, None], (200, 600, 3)).astype(np.uint8)
    line = Image.new("RGB", (600, 40), "white")
    ImageDraw.Draw(line).line((0, 20, 600, 20), fill="grey", width=3)
    for image in (
        Image.new("RGB", (400, 300), "white"),
        Image.fromarray(wide),
        Image.fromarray(wide.transpose(1, 0, 2).copy()),
        line,
        advertisement(1).resize((MIN_SIDE - 1, MIN_SIDE - 1)),
        Image.new("RGB", (1, 1)),
    ):
        assert values(image) == ()


def test_any_size_is_taken() -> None:
    draw = random.Random(3)
    for _ in range(30):
        size = draw.randint(1, 3000), draw.randint(1, 200)
        assert len(values(advertisement(1).resize(size))) <= VALUES
