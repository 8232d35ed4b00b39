"""The children as they are shipped: confined, they find in pictures what the same code finds
outside, and survive what is none.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest
from PIL import ExifTags, Image

from oborona.config import ReaderSettings
from oborona.daemon.reader import picture_queue as desks
from oborona.daemon.reader.picture_queue import PictureQueue, missing_requirement, pool_plans
from oborona.daemon.reader.pool import STARTED
from oborona.daemon.reader.wire import PictureOutcome, PictureResult, ReaderTask
from oborona.message.pictures.inspection import look
from oborona.message.pictures.ocr import Ocr
from tests.daemon.reader.mails import code, drawn

# on a busy machine; limits are tested elsewhere
SETTINGS = ReaderSettings(look_s=20.0, read_s=60.0, processes=1)
TEXT = drawn("Meet us at the harbour\nnumber 42")
CODE = code("https://museum.example/t/8841")


@pytest.fixture(scope="module")
def ocr() -> Ocr:
    return Ocr(SETTINGS.tessdata, "rus+eng")


@pytest.fixture
async def desk() -> AsyncIterator[PictureQueue]:
    one = PictureQueue(pool_plans(SETTINGS), cache_entries=0)
    yield one
    await one.close()


async def ask(desk: PictureQueue, task: ReaderTask, octets: bytes) -> PictureResult:
    return await desk.ask(task, sha256(octets).digest(), octets, urgent=True)


def odd() -> dict[str, bytes]:
    chance = random.Random(5)
    tags, held = Image.Exif(), BytesIO()
    tags[ExifTags.Base.Orientation] = 6
    with Image.open(BytesIO(TEXT)) as image:
        image.convert("RGB").transpose(Image.Transpose.ROTATE_90).save(held, "JPEG", exif=tags)
    return {
        "turned": held.getvalue(),
        "text": TEXT,
        "code": CODE,
        "cut": TEXT[: len(TEXT) // 2],
        "noise": chance.randbytes(3000),
        "broken": TEXT[:200] + chance.randbytes(400) + TEXT[600:],
        "empty": b"",
        "text file": b"no picture at all",
    }


async def test_a_look_finds_what_it_finds_outside_whatever_the_file(desk: PictureQueue) -> None:
    for name, octets in odd().items():
        result, wanted = await ask(desk, ReaderTask.LOOK, octets), look(octets)
        assert result.outcome is PictureOutcome.DONE, name
        found = result.found
        assert (found.kind, found.width, found.height, found.frames) == (
            wanted.kind,
            wanted.width,
            wanted.height,
            wanted.frames,
        )
        assert (found.hashes, found.codes, found.findings) == (
            wanted.hashes,
            wanted.codes,
            wanted.findings,
        )
        assert found.legible == wanted.legible
    assert STARTED.value("look") == 1


async def test_reading_finds_what_it_finds_outside_whatever_the_file(
    desk: PictureQueue, ocr: Ocr
) -> None:
    for name, octets in odd().items():
        result = await ask(desk, ReaderTask.READ, octets)
        assert (result.outcome, result.found.text) == (PictureOutcome.DONE, ocr.read(octets)), name
    assert "harbour" in (await ask(desk, ReaderTask.READ, TEXT)).found.text
    assert STARTED.value("read") == 1


async def test_a_child_of_tesseract_takes_no_more_memory_than_it_may(desk: PictureQueue) -> None:
    await ask(desk, ReaderTask.READ, TEXT)
    (pid,) = desk.pools[ReaderTask.READ].pids
    limits = Path(f"/proc/{pid}/limits").read_text()
    (space,) = [
        line.split() for line in limits.splitlines() if line.startswith("Max address space")
    ]
    size = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * 4096
    assert size - (16 << 20) < int(space[3]) < size + (SETTINGS.memory_mib << 20) + (64 << 20)
    assert "Seccomp:\t2" in Path(f"/proc/{pid}/status").read_text()


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert (
        missing_requirement(SETTINGS, ReaderTask.LOOK)
        == missing_requirement(SETTINGS, ReaderTask.READ)
        == ""
    )
    (tmp_path / "eng.traineddata").touch()
    bare = ReaderSettings(tessdata=str(tmp_path))
    assert missing_requirement(bare, ReaderTask.READ) == f"rus.traineddata in {tmp_path}"
    assert set(pool_plans(bare)) == {ReaderTask.LOOK}
    monkeypatch.setattr(desks, "find_spec", lambda _name: None)
    assert missing_requirement(SETTINGS, ReaderTask.LOOK) == "Python packages pillow, zxing-cpp"
    assert missing_requirement(SETTINGS, ReaderTask.READ) == (
        "Python package tesserocr (./setup ocr, or pip install 'oborona[ocr]')"
    )
    assert pool_plans(SETTINGS) == {}


async def test_without_the_libraries_pictures_are_not_looked_at_and_nothing_fails() -> None:
    desk = PictureQueue({}, cache_entries=10)
    assert await ask(desk, ReaderTask.LOOK, TEXT) == PictureResult(PictureOutcome.UNABLE)
    await desk.close()
