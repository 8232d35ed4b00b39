"""Pictures of the console for docs/operate/console.md: `make docs-pictures`.

They are the pages of the tests with the answers of the tests, so that they show what the console is
now.  `tests/house/test_pictures.py` holds that they stay small, and that a page shows each.
"""

from __future__ import annotations

import asyncio
import io
import re
from pathlib import Path
from typing import Any, Final

from PIL import Image

from oborona.cli.document import ROOT
from tests.console.conftest import open_browser, open_console
from tests.console.page_case import all_cases
from tests.console.walls import WalledPage, walled_context

FOLDER: Final = ROOT / "docs/pictures"
SHOWN: Final = {
    "overview": "overview",
    "track": "track",
    "message": "message",
    "queue": "queue",
    "case": "case",
    "policy-rules": "rules",
    "entity": "entity",
    "moves": "moves",
}
"""Cases by name, each with the name of its picture."""
WINDOW: Final = {"width": 1120, "height": 760}
COLOURS: Final = 48
_MARKUP: Final = re.compile(r"(?s)\u202e|</?[a-z].*")


async def take_pictures(folder: Path) -> None:
    """Write the pictures into a folder."""
    cases = {case.name: case for case in all_cases()}
    async with open_console() as console, open_browser() as browser:
        for name, picture in SHOWN.items():
            case = cases[name]
            console.desk.reset()
            console.desk.answers |= {call: plain(answer) for call, answer in case.answers.items()}
            context = await walled_context(
                browser, console, case.role, locale="en", timezone_id="UTC", viewport=WINDOW,
                color_scheme="light",
            )  # fmt: skip
            walled = WalledPage(await context.new_page(), console.url)
            assert await walled.open(case.path) == case.status
            (folder / f"{picture}.png").write_bytes(small(await walled.page.screenshot()))
            await context.close()


def plain(answer: Any) -> Any:
    """Return an answer without the markup that tests put in to see that it is shown as text."""
    if isinstance(answer, dict):
        return {key: plain(value) for key, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [plain(value) for value in answer]
    return _MARKUP.sub("", answer).strip() if isinstance(answer, str) else answer


def small(raw: bytes) -> bytes:
    """Return a picture with few colours."""
    few = Image.open(io.BytesIO(raw)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    written = io.BytesIO()
    few.save(written, "PNG", optimize=True)
    return written.getvalue()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    asyncio.run(take_pictures(FOLDER))
