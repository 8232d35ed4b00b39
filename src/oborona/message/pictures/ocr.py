"""The text in a picture, by Tesseract: prepared in one way after another until it reads well, the
best reading kept.

A reading is as good as the letters of its words, each weighed with how sure Tesseract is of its
word; words that it is not sure of are dropped, as in photographs it sees letters everywhere.
Reading stops at the first preparation of which it is sure; where the first two give nothing at all,
there is no text.

Tesseract is kept open, as opening it costs more than most pictures; one `Ocr` for each process,
used by one thread. What a picture takes is bounded by `prepared.MAX_PIXELS` and the number of
preparations; time is limited by whoever runs the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec
import tesserocr
from PIL import Image

from oborona.errors import ConfigError
from oborona.message.pictures.decode import decode
from oborona.message.pictures.ocr_preparation import WAYS, prepared_variants

MIN_SIDE: Final = 16  # pixels: less holds no line of text
MIN_SURE: Final = 55  # percent: words below are mostly none
# percent, of a whole reading: clean ones have 93 and more, those of noisy pictures that can be read
# better 60 to 87
GOOD: Final = 88
MIN_LETTERS: Final = 12  # of a reading that can be good
BLANK_AFTER: Final = 2  # preparations without a word
MAX_TEXT: Final = 20_000  # characters that are kept: a dense page has 5,000

_WORD_LEVEL: Final = "5"  # of Tesseract's table: a row for each word


class OcrReading(msgspec.Struct, frozen=True, kw_only=True):
    """What one preparation gave."""

    text: str = ""  # words that are sure enough; lines kept
    sure: float = 0.0  # percent, mean over all letters of words, dropped ones included
    weight: float = 0.0  # letters of the words that are kept, each by how sure its word is


class Ocr:
    """Reads pictures; keeps Tesseract open."""

    def __init__(self, tessdata: str, languages: str) -> None:
        """Open Tesseract.

        Args:
            tessdata: folder of its language data.
            languages: as Tesseract names them, with + between: "rus+eng".

        Raises:
            ConfigError: data are missing, or cannot be read.

        """
        try:
            self._api = tesserocr.PyTessBaseAPI(
                path=tessdata, lang=languages, psm=tesserocr.PSM.AUTO
            )
        except RuntimeError as error:
            raise ConfigError(f"Tesseract has no {languages} in {tessdata}") from error
        # its remarks go to standard error: a file for them would be opened with the first, and
        # where that is forbidden it crashes
        self._api.SetVariable("debug_file", "")

    def close(self) -> None:
        """Give Tesseract's memory back; nothing can be read after that."""
        self._api.End()

    def read(self, octets: bytes, preparations: int = len(WAYS)) -> str:
        """Return the text in a picture, empty when there is none or it cannot be decoded.

        Args:
            octets: of the file.
            preparations: how many are tried, at most.

        Raises:
            MemoryError: as `decode` does.

        """
        image = decode(octets).image
        if image is None or min(image.size) < MIN_SIDE:
            return ""
        best = OcrReading()
        for tried, ready in enumerate(islice(prepared_variants(image), preparations), start=1):
            reading = self.recognised(ready)
            if reading.weight > best.weight:
                best = reading
            if reading.sure >= GOOD and reading.weight * 100 >= MIN_LETTERS * reading.sure:
                break
            if tried == BLANK_AFTER and not best.text:
                break
        self._api.Clear()
        return best.text[:MAX_TEXT]

    def recognised(self, ready: Image.Image) -> OcrReading:
        """Return what is read in a picture that was prepared."""
        self._api.SetImage(ready)
        return _reading(_words(self._api.GetTSVText(0)))


def _words(table: str) -> Iterator[tuple[tuple[str, ...], float, str]]:
    """Yield each word of Tesseract's table with the line it stands in and how sure it is, in
    percent.
    """
    for row in table.splitlines():
        cells = row.split("\t")
        if len(cells) >= 12 and cells[0] == _WORD_LEVEL and (word := "\t".join(cells[11:]).strip()):
            yield tuple(cells[1:5]), float(cells[10]), word


def _reading(words: Iterator[tuple[tuple[str, ...], float, str]]) -> OcrReading:
    lines: dict[tuple[str, ...], list[str]] = {}
    letters = 0
    sum_sure = weight = 0.0
    for line, sure, word in words:
        count = sum(character.isalnum() for character in word)
        letters += count
        sum_sure += count * sure
        if sure >= MIN_SURE:
            lines.setdefault(line, []).append(word)
            weight += count * sure / 100
    text = "\n".join(" ".join(words) for words in lines.values())
    return OcrReading(text=text, sure=sum_sure / letters if letters else 0.0, weight=weight)
