"""A look: what decodes, which codes are found, and that no octets raise or cost more than they
may.
"""

from __future__ import annotations

import resource
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
import zxingcpp
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import ExifTags, Image, ImageDraw, ImageOps

from oborona.message.findings import NAMES
from oborona.message.pictures import decode as decoding
from oborona.message.pictures.decode import decode
from oborona.message.pictures.inspection import look
from tests.message.drawing import advertisement, code, file, png, text

LINK = "https://shop.example/a?b=1"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_every_kind(kind: str) -> None:
    found = look(file(advertisement(5), kind))
    assert found.kind == kind.lower()
    assert (found.width, found.height) == advertisement(5).size
    assert found.frames == 1
    assert len(found.hashes) == 24
    assert found.findings == ()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGBA", "CMYK", "I;16", "I", "F"])
def test_every_mode(mode: str) -> None:
    kind = "TIFF" if mode in {"CMYK", "I;16", "I", "F", "PA"} else "PNG"
    image = (
        advertisement(5).convert("I").convert("I;16")
        if mode == "I;16"
        else advertisement(5).convert("L" if mode in {"I", "F"} else "RGB").convert(mode)
    )
    found = look(file(image, kind))
    assert found.findings == ()
    assert found.hashes


def test_what_shines_through_is_seen_on_white() -> None:
    image = code(LINK).convert("L")
    clear = Image.new("RGBA", image.size, (0, 0, 0, 0))
    clear.paste((0, 0, 0, 255), mask=ImageOps.invert(image))
    assert look(file(clear)).codes == (LINK,)


@pytest.mark.parametrize("form", ["QRCode", "Aztec", "DataMatrix", "PDF417"])
def test_forms_of_codes(form: str) -> None:
    assert look(file(code(LINK, 4, zxingcpp.BarcodeFormat.__members__[form]))).codes == (LINK,)


def test_codes_changed() -> None:
    image = code(LINK)
    page = Image.new("RGB", (1000, 800), (220, 230, 240))
    page.paste(image.resize((160, 160)), (700, 500))
    for changed in (
        image.rotate(17, expand=True, fillcolor="white"),
        ImageOps.invert(image),
        image.resize((60, 60)),
        image.resize((1500, 1500)),
        page,
    ):
        assert look(file(changed)).codes == (LINK,), changed.size
    assert look(file(image, "JPEG", quality=20)).codes == (LINK,)


def test_two_codes_and_none() -> None:
    page = Image.new("RGB", (500, 250), "white")
    page.paste(code(LINK).resize((200, 200)), (20, 20))
    page.paste(code("tel:+74951234567").resize((200, 200)), (270, 20))
    assert set(look(file(page)).codes) == {LINK, "tel:+74951234567"}
    assert look(file(text("no code at all"))).codes == ()


def test_the_frame_with_most_to_see() -> None:
    frames = [
        Image.new("RGB", (300, 300), "white"),
        code(LINK).resize((300, 300)),
        Image.new("RGB", (300, 300), "red"),
    ]
    found = look(file(frames[0], "GIF", save_all=True, append_images=frames[1:], duration=100))
    assert found.codes == (LINK,)
    assert found.frames == 3


def test_a_cut_file_is_seen_as_far_as_it_goes() -> None:
    octets = file(advertisement(5), "JPEG", quality=90)
    found = look(octets[: len(octets) * 3 // 4])
    assert found.findings == ("picture-broken",)
    assert found.width == advertisement(5).width
    assert found.hashes


def cost(octets: bytes) -> tuple[float, int]:
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    look(octets)
    return time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


@pytest.mark.parametrize(
    "octets",
    [
        png(50_000, 50_000),
        png(30_000, 30_000, octets=b"\0" * 10_000_000),
        png(0, 7),
        b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0, 0, 0) + b",\0\0\0\0\xff\xff\xff\xff\0\x02\x01\0\0;",
        b"BM" + struct.pack("<IHHI", 100, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 60000, 60000, 1, 24, 0, 0, 0, 0, 0, 0) + b"\0" * 99,
        b"RIFF" + struct.pack("<I", 100) + b"WEBPVP8X" + struct.pack("<I", 10) + b"\0\0\0\0" + b"\xfe\x3f\0" * 2 + b"\0" * 80,
        b"\xff\xd8\xff\xc0\0\x11\x08\xff\xff\xff\xff\x03\x01\x22\0\x02\x11\x01\x03\x11\x01" + b"\0" * 100,
    ],
    ids=["png 50000", "png 30000 with zeros", "png 0", "gif", "bmp", "webp", "jpeg"],
)  # fmt: skip
def test_stated_sizes_cost_nothing(octets: bytes) -> None:
    found = look(octets)
    assert not found.hashes
    assert not found.codes
    assert found.findings in {("picture-too-large",), ("picture-broken",)}
    seconds, kilobytes = cost(octets)
    assert seconds < 0.2
    assert kilobytes < 50_000


def gif(*frames: tuple[int, int], screen: tuple[int, int] = (20, 20)) -> bytes:
    """A GIF of plain frames of these sizes, whatever the size that it states."""
    octets = bytearray(
        b"GIF89a" + struct.pack("<HHBBB", *screen, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    )
    for size in frames:
        one = file(Image.new("P", size), "GIF")
        start = 13 + 3 * 2 ** ((one[10] & 7) + 1)
        octets += one[start:-1]
    return bytes(octets + b";")


def peak(octets: bytes) -> tuple[str, int]:
    """What a process of its own finds in a file, and the memory that it took for it, in MB."""
    run = subprocess.run(
        [sys.executable, "-c", PEAK],
        input=octets,
        capture_output=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    found, kilobytes = run.stdout.decode().split()
    return found, int(kilobytes) // 1000


PEAK = """
import sys
from pathlib import Path
from oborona.message.pictures.inspection import look
def most():
    return int(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")).split()[1])
octets = sys.stdin.buffer.read()
before = most()
found = look(octets)
print(",".join(found.findings) or "none", most() - before)
"""
WHITE = Image.new("L", (3600, 3600), "white")
LARGE: dict[str, tuple[Callable[[], bytes], str]] = {
    "gif, a later frame of 25 million pixels": (lambda: gif((20, 20), (5000, 5000)), "none"),
    "gif, a later frame of 4 billion": (
        lambda: gif((20, 20)).removesuffix(b";") + b",\0\0\0\0\xff\xff\xff\xff\0\x02\x01\0\0;",
        "none",
    ),
    "gif, a first frame of 25 million": (lambda: gif((5000, 5000)), "picture-too-large"),
    "gif, later frames within limits": (lambda: gif((20, 20), (2000, 2000), (2000, 2000)), "none"),
    "webp": (lambda: file(WHITE.convert("RGBA"), "WEBP", quality=1, method=0), "none"),
    "jpeg of many scans": (lambda: file(WHITE.resize((8100, 7900)).convert("RGB"), "JPEG", progressive=True, quality=5), "none"),
    "jpeg of many scans, four colours": (
        lambda: file(WHITE.resize((5100, 5000)).convert("CMYK"), "JPEG", progressive=True, quality=5),
        "picture-too-large",
    ),
    "png with alpha": (lambda: file(WHITE.resize((5000, 5000)).convert("LA"), compress_level=1), "none"),
    "png with a clear colour": (lambda: file(WHITE.resize((5000, 5000)).convert("RGB"), compress_level=1, transparency=(0, 0, 0)), "none"),
    "tiff of broken numbers": (lambda: file(WHITE.resize((5000, 5000)).convert("F"), "TIFF", compression="tiff_lzw"), "none"),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_what_is_within_limits_takes_no_more_memory_than_a_process_has_for_it(name: str) -> None:
    make, wanted = LARGE[name]
    found, megabytes = peak(make())
    assert found == wanted
    assert megabytes < 256


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_a_picture_is_turned_as_its_tags_say(kind: str) -> None:
    upright = advertisement(5)
    turned = upright.transpose(Image.Transpose.ROTATE_90)
    tags = Image.Exif()
    tags[ExifTags.Base.Orientation] = 6
    found = look(file(turned, kind, exif=tags))
    assert (found.width, found.height) == upright.size
    assert len(set(found.hashes) & set(look(file(upright)).hashes)) >= 8
    assert not set(look(file(turned, kind)).hashes) & set(found.hashes)


@pytest.mark.parametrize("orientation", range(2, 9))
def test_every_orientation(orientation: int) -> None:
    """What Pillow's own function brings upright comes out the same."""
    tags = Image.Exif()
    tags[ExifTags.Base.Orientation] = orientation
    octets = file(advertisement(5), exif=tags)
    with Image.open(BytesIO(octets)) as image:
        wanted = ImageOps.exif_transpose(image)
    decoded = decode(octets)
    assert decoded.image is not None
    assert decoded.image.tobytes() == wanted.tobytes()
    assert (decoded.width, decoded.height) == wanted.size


@pytest.mark.parametrize(
    "tags",
    [
        b"Exif\0\0MM\0*\xff\xff\xff\xff",
        b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x02\0\x02\0\0\0six\0",
    ],
)
def test_broken_tags_turn_nothing(tags: bytes) -> None:
    found = look(file(advertisement(5), "JPEG", exif=tags))
    assert (found.width, found.height, found.findings) == (*advertisement(5).size, ())


def ruled(width: int, height: int) -> Image.Image:
    image = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(image).rounded_rectangle((8, 8, width - 8, height - 8), 8, fill="navy")
    return image


def test_text_is_worth_reading() -> None:
    for image in (
        text("order: +1 202 555 0143", size=18),
        text("call 555-0199 now, ask for Ann", "or Joe", ink="silver", size=14),
        text("RED on green", ink="#ff0000", ground="#008000"),
        advertisement(3),
    ):
        assert look(file(image)).legible, image.size


def test_what_holds_no_text_is_not_worth_reading() -> None:
    for image in (
        Image.new("RGB", (600, 400), "white"),
        Image.linear_gradient("L").resize((600, 400)),
        ruled(240, 60),
        ruled(900, 40).crop((0, 0, 900, 10)),
        advertisement(3).resize((64, 64)),
        text("ACME", size=16),
    ):
        assert not look(file(image)).legible, image.size
    assert not look(b"no picture").legible


def test_an_animation_without_end_is_left_after_some_frames() -> None:
    one = b",\0\0\0\0\x02\0\x02\0\0\x02\x03\x44\x00\x05\0"  # an image block of 2 by 2
    octets = (
        b"GIF89a"
        + struct.pack("<HHBBB", 900, 900, 0x80, 0, 0)
        + b"\0\0\0\xff\xff\xff"
        + one * 100_000
        + b";"
    )
    found = look(octets)
    assert 1 < found.frames <= decoding.MAX_FRAMES
    assert cost(octets)[0] < 1


def test_large_ones_are_brought_down() -> None:
    octets = file(advertisement(5).resize((6000, 4000)), "JPEG")
    decoded = decode(octets)
    assert decoded.image is not None
    assert max(decoded.image.size) <= decoding.SIDE
    assert (decoded.width, decoded.height) == (6000, 4000)
    assert set(look(octets).hashes) & set(look(file(advertisement(5))).hashes)


SAMPLES = [file(text("a"), kind) for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SAMPLES), st.data())
def test_no_octets_raise(sample: bytes, data: st.DataObject) -> None:
    """Whatever the octets, a look returns, and finds nothing that has no name."""
    octets = bytearray(sample)
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(octets) - 1))
        octets[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=6))
    found = look(bytes(octets[: data.draw(st.integers(0, len(octets) + 1))]))
    assert set(found.findings) <= NAMES.keys()


@given(st.binary(max_size=200))
def test_no_picture(octets: bytes) -> None:
    assert look(octets).hashes == ()
