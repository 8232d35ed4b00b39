"""What pictures are told by, and what that costs: the tables of docs/policy/pictures.md and
docs/measured/parts.md.

    python -m benchmarks.pictures alike     changed pictures that still meet, by change; strangers
                                            that meet
    python -m benchmarks.pictures codes     QR codes that are found, by what was done to them
    python -m benchmarks.pictures ocr       words read, by what was done to them
    python -m benchmarks.pictures cost      CPU of each step

Pictures are drawn, and taken from folders: photographs (Debian: mate-backgrounds,
gnome-backgrounds, ukui-wallpapers), icons (adwaita-icon-theme). Strangers are told by group: two
photographs of one folder may be the same sky.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from itertools import combinations, islice
from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw, ImageFont, ImageOps

from benchmarks import picture_samples as samples
from oborona.message.pictures import inspection, ocr_preparation, perceptual_hash
from oborona.message.pictures import ocr as read
from oborona.message.pictures.decode import decode

SEED: Final = 11
TESSDATA: Final = "/usr/share/tesseract-ocr/5/tessdata"


def _chance() -> random.Random:
    return random.Random(SEED)  # noqa: S311 - the same pictures on every run


def file(image: Image.Image, kind: str = "PNG") -> bytes:
    """The octets of a picture's file."""
    octets = BytesIO()
    image.save(octets, kind)
    return octets.getvalue()


def gathered(count: int, photographs: Path, icons: Path) -> Iterator[tuple[str, samples.Sample]]:
    """Pictures by group: `count` of each, as far as there are."""
    draw, faces = _chance(), samples.fonts()
    for _ in range(count):
        yield "advertisements", samples.advertisement(draw, faces)
        yield "pages", samples.page(draw, faces)
        yield "pages of full lines", samples.page(draw, faces, full=True)
        yield "QR codes", (samples.code(draw)[0], None)
        yield "flat", (samples.flat(draw), None)
    for image in samples.photographs(photographs, count):
        yield "photographs", (image, None)
    for image in samples.icons(icons, count):
        yield "icons", (image, None)


def measure_alike(changed: int, strangers: int, photographs: Path, icons: Path) -> None:
    """Print which share of changed pictures meets its original, and how many of a million pairs of
    strangers meet.
    """
    draw = _chance()
    by_change: dict[str, list[bool]] = defaultdict(list)
    by_group: dict[str, list[bool]] = defaultdict(list)
    without: Counter[str] = Counter()
    for group, (image, other) in gathered(changed, photographs, icons):
        original = set(perceptual_hash.values(image))
        without[group] += not original
        if not original or group == "flat":
            continue
        copies = {name: change(image, draw) for name, change in samples.CHANGES.items()}
        if other is not None:
            copies["a line of its text replaced"] = other
        for name, copy in copies.items():
            met = bool(original & set(perceptual_hash.values(copy)))
            by_change[name].append(met)
            by_group[group].append(met)
    print("| change | meets |\n|---|---|")
    for name, meetings in by_change.items():
        print(f"| {name} | {sum(meetings) / len(meetings):.0%} |")
    print("\n| group | without a hash | meets, over all changes |\n|---|---|---|")
    for group, count in without.items():
        meetings = by_group.get(group, [])
        share_met = f"{sum(meetings) / len(meetings):.0%}" if meetings else "-"
        print(f"| {group} | {count} of {changed} | {share_met} |")
    print_strangers(strangers, photographs, icons)


def print_strangers(count: int, photographs: Path, icons: Path) -> None:
    """Print how many pairs of pictures meet that have nothing to do with one another."""
    holders: dict[int, list[int]] = defaultdict(list)
    groups: list[str] = []
    for number, (group, (image, _)) in enumerate(gathered(count, photographs, icons)):
        groups.append(group)
        for value in perceptual_hash.values(image):
            holders[value].append(number)
    pairs = {pair for each in holders.values() for pair in combinations(each, 2)}
    met = Counter(tuple(sorted((groups[a], groups[b]))) for a, b in pairs)
    size = Counter(groups)
    print(
        f"\n{len(groups)} pictures, {len(groups) * (len(groups) - 1) // 2:,} pairs, "
        f"{len(pairs)} meet\n"
    )
    print("| strangers | pairs | meet | of a million |\n|---|---|---|---|")
    for one in size:
        total, found = size[one] * (size[one] - 1) // 2, met[one, one]
        print(f"| {one} | {total:,} | {found} | {1e6 * found / total:.0f} |")
    across = sum(size.values()) ** 2 // 2 - sum(each * each for each in size.values()) // 2
    found = sum(number for (one, other), number in met.items() if one != other)
    print(f"| of different groups | {across:,} | {found} | {1e6 * found / across:.0f} |")


CODE_CHANGES: Final[dict[str, samples.Changed]] = {
    "as it is": lambda image, _: image,
    **samples.CHANGES,
    "50 pixels wide": lambda image, _: image.resize((50, 50), Image.Resampling.BICUBIC),
    "90 pixels wide": lambda image, _: image.resize((90, 90), Image.Resampling.BICUBIC),
    "turned by 20 degrees": lambda image, _: samples.turned(image, 20),
    "light on dark": lambda image, _: ImageOps.invert(image),
    "red on white": lambda image, _: ImageOps.colorize(image.convert("L"), "#d02020", "white"),
    "5 % of its pixels": lambda image, draw: samples.dotted(image, 0.05, draw),
    "JPEG 10": lambda image, _: samples.compressed(image, 10),
}


def measure_codes(count: int) -> None:
    """Print which share of codes is found."""
    print("| code | found |\n|---|---|")
    for name, change in CODE_CHANGES.items():
        draw = _chance()
        found = 0
        for _ in range(count):
            image, payload = samples.code(draw)
            found += inspection.codes(change(image, draw)) == (payload,)
        print(f"| {name} | {found / count:.0%} |")


def lines(
    draw: random.Random,
    language: list[str],
    size: int = 18,
    ink: str = "black",
    ground: str = "white",
) -> tuple[Image.Image, list[str]]:
    """Five lines of words, and the words."""
    font = ImageFont.truetype(
        next(name for name in samples.fonts() if name.endswith("DejaVuSans.ttf")), size
    )
    written = [" ".join(draw.choice(language) for _ in range(5)) for _ in range(5)]
    image = Image.new("RGB", (int(max(map(font.getlength, written))) + 30, int(9 * size)), ground)
    for number, line in enumerate(written):
        ImageDraw.Draw(image).text((15, 10 + int(1.5 * size * number)), line, font=font, fill=ink)
    return image, " ".join(written).split()


Drawn = Callable[[random.Random, list[str]], tuple[Image.Image, list[str]]]


def changed(change: samples.Changed) -> Drawn:
    """Lines after a change."""

    def drawn(draw: random.Random, language: list[str]) -> tuple[Image.Image, list[str]]:
        image, words = lines(draw, language)
        return change(image, draw), words

    return drawn


OCR: Final[dict[str, Drawn]] = {
    "clean, letters of 18 pixels": lines,
    "letters of 11 pixels": lambda draw, language: lines(draw, language, 11),
    "letters of 8 pixels": lambda draw, language: lines(draw, language, 8),
    "letters of 60 pixels": lambda draw, language: lines(draw, language, 60),
    "light on dark": lambda draw, language: lines(draw, language, ink="white", ground="#14143c"),
    "red on green": lambda draw, language: lines(draw, language, ink="#c83c3c", ground="#3c963c"),
    "noise, deviation 40": changed(lambda image, draw: samples.noisy(image, 40, draw)),
    "1 % of its pixels": changed(lambda image, draw: samples.dotted(image, 0.01, draw)),
    "3 % of its pixels": changed(lambda image, draw: samples.dotted(image, 0.03, draw)),
    "turned by 2 degrees": changed(lambda image, _: samples.turned(image, 2)),
    "turned by 4 degrees": changed(lambda image, _: samples.turned(image, -4)),
    "JPEG 20": changed(lambda image, _: samples.compressed(image, 20)),
    "a little of everything": changed(samples.kit),
}


def share(text: str, words: list[str]) -> float:
    """The share of words that were read, whatever marks stand at them."""
    return sum((Counter(words) & Counter(re.findall(r"\w+", text))).values()) / len(words)


def measure_ocr(count: int) -> None:
    """Print the share of words that are read, with all preparations and with the first alone, and
    CPU of each picture.
    """
    ocr = read.Ocr(TESSDATA, "rus+eng")
    print(
        "| picture | English | Russian | English, first preparation | Russian | CPU, ms "
        "|\n|---|---|---|---|---|---|"
    )
    for name, drawn in OCR.items():
        cells = []
        spent = 0.0
        for preparations in (len(ocr_preparation.WAYS), 1):
            for language in (samples.ENGLISH, samples.RUSSIAN):
                draw = _chance()
                found = 0.0
                for _ in range(count):
                    image, words = drawn(draw, language)
                    octets = file(image)
                    start = time.process_time()
                    text = ocr.read(octets, preparations)
                    spent += (time.process_time() - start) * (preparations > 1)
                    found += share(text, words)
                cells.append(f"{found / count:.0%}")
        print(f"| {name} | {' | '.join(cells)} | {spent / count / 2 * 1e3:.0f} |")


def timed(work: Callable[[], object], times: int) -> float:
    """Milliseconds of CPU for one call."""
    work()
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times * 1e3


def measure_cost(times: int, photographs: Path) -> None:
    """Print CPU by step."""
    draw, faces = _chance(), samples.fonts()
    pictures = {
        "advertisement, PNG": file(samples.advertisement(draw, faces)[0]),
        "page, PNG": file(samples.page(draw, faces)[0]),
        "QR code, PNG": file(samples.code(draw)[0]),
    }
    for number, image in enumerate(islice(samples.photographs(photographs, 2), 2)):
        large = image.resize((3000 * (number + 1) // 2, 2000 * (number + 1) // 2))
        pictures[f"photograph, JPEG, {large.width} by {large.height}"] = file(large, "JPEG")
    print("| picture | decode | hash | codes | whole look, ms |\n|---|---|---|---|---|")
    for name, octets in pictures.items():
        steps = _steps(octets, times)
        print(f"| {name} | {' | '.join(f'{step:.1f}' for step in steps)} |")
    ocr = read.Ocr(TESSDATA, "rus+eng")
    image, _ = lines(draw, samples.ENGLISH)
    print("\n| preparation | to prepare, ms | to read, ms |\n|---|---|---|")
    before = 0.0
    for number, name in enumerate(ocr_preparation.WAYS, start=1):
        ready = list(islice(ocr_preparation.prepared_variants(image), number))
        upto = timed(partial(_ready, image, number), 5)
        print(
            f"| {name} | {upto - before:.0f} | {timed(partial(ocr.recognised, ready[-1]), 5):.0f} |"
        )
        before = upto


def _ready(image: Image.Image, number: int) -> list[Image.Image]:
    return list(islice(ocr_preparation.prepared_variants(image), number))


def _steps(octets: bytes, times: int) -> list[float]:
    image = decode(octets, inspection.LOOK_SIDE).image
    if image is None:
        raise SystemExit("a picture of ours was not decoded")
    calls = (
        partial(decode, octets, inspection.LOOK_SIDE),
        partial(perceptual_hash.values, image),
        partial(inspection.codes, image),
        partial(inspection.look, octets),
    )
    return [timed(call, times) for call in calls]


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("alike", "codes", "ocr", "cost"))
    parser.add_argument(
        "--count", type=int, default=30, help="pictures of each group, or of each row"
    )
    parser.add_argument(
        "--strangers", type=int, default=300, help="pictures of each group that must not meet"
    )
    parser.add_argument("--photographs", type=Path, default=Path("/usr/share/backgrounds"))
    parser.add_argument("--icons", type=Path, default=Path("/usr/share/icons"))
    given = parser.parse_args()
    match given.what:
        case "alike":
            measure_alike(given.count, given.strangers, given.photographs, given.icons)
        case "codes":
            measure_codes(given.count)
        case "ocr":
            measure_ocr(given.count)
        case _:
            measure_cost(given.count, given.photographs)


if __name__ == "__main__":
    main()
