"""The commands of a document, as they stand in it: lines that are indented by four spaces, by the
heading that they stand under.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.boot.image import ROOT


def commands(page: str, heading: str) -> list[str]:
    """Return the blocks of commands under a heading, in order; each is one script.

    Args:
        page: file in docs, such as "install.md".
        heading: its text; up to the next heading of any level.

    Raises:
        LookupError: there is no such heading, or nothing is indented under it.
    """
    blocks: list[str] = []
    under = fenced = False
    last = ""
    for line in (ROOT / "docs" / page).read_text().splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and (title := re.match(r"#+ (.*)", line)):
            under = title[1] == heading
        elif under and not fenced and line.startswith("    "):
            if last.startswith("    "):
                blocks[-1] += f"\n{line[4:]}"
            else:
                blocks.append(line[4:])
        last = line
    if not blocks:
        raise LookupError(f"docs/{Path(page)} has no commands under {heading!r}")
    return blocks


def files(page: str, heading: str) -> list[str]:
    """Return what stands between fences under a heading, in order: files that the page shows.

    Args:
        page: as of `commands`.
        heading: as of `commands`.

    Raises:
        LookupError: there is no such heading, or it shows no file.
    """
    text = (ROOT / "docs" / page).read_text()
    section = re.search(
        rf"^#+ {re.escape(heading)}\n(.*?)(?=^##? |\Z)", text, re.DOTALL | re.MULTILINE
    )
    found = (
        re.findall(r"^```\w*\n(.*?)^```$", section[1], re.DOTALL | re.MULTILINE) if section else []
    )
    if not found:
        raise LookupError(f"docs/{Path(page)} shows no file under {heading!r}")
    return found
