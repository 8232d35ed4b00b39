"""Pictures of the docs are small, shown by a page, and made by `make docs-pictures`."""

from __future__ import annotations

from typing import Final

from PIL import Image

from tests.console.pictures import FOLDER, SHOWN

PAGE: Final = FOLDER.parent / "operate/console.md"
MOST: Final = 100_000


def test_each_picture_is_shown_and_each_that_is_shown_is_made() -> None:
    names = {path.name for path in FOLDER.iterdir()}
    assert names == {f"{name}.png" for name in SHOWN.values()}, "run: make docs-pictures"
    text = PAGE.read_text()
    assert all(f"](../pictures/{name})" in text for name in names)


def test_pictures_are_small() -> None:
    for path in FOLDER.iterdir():
        assert path.stat().st_size < MOST, path
        with Image.open(path) as picture:
            assert picture.format == "PNG"
