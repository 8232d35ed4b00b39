"""The pages of the site of docs/, and the commands of those that say how to do something.

In these each block that is indented by four spaces is a script, and is run by a test as it stands
there (`tests/whole/test_how_to.py`).  What can't be run there is marked by a comment before it:

    <!-- not run: systemctl journalctl: needs a machine that systemd has booted -->
    <!-- not run: all: a second machine -->
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import yaml

from oborona.cli.document import ROOT

DOCS: Final = ROOT / "docs"
_PART: Final = re.compile(
    r"(?ms)^#+ (?P<heading>[^\n]+)$"
    r"|^<!-- not run: (?P<programs>[^:\n]+): (?P<why>[^\n]+?) -->$"
    r"|^```(?P<language>\w*)\n(?P<fenced>.*?)^```$"
    r"|(?P<block>(?:^ {4}[^\n]*\n(?:\n(?= {4}))?)+)"
    r"|^(?P<prose>\S)"
)


class _NavLoader(yaml.SafeLoader):
    """Reads names of Python objects as text."""


_NavLoader.add_multi_constructor("tag:yaml.org,2002:python/name:", lambda _, name, __: name)


class PageBlock(NamedTuple):
    """A block of commands.

    Args:
        heading: that it stands under.
        lines: of it.
        skipped: programs whose lines are not run; `all`: none of it is.
        why: they are not.
    """

    heading: str
    lines: tuple[str, ...]
    skipped: frozenset[str] = frozenset()
    why: str = ""

    @property
    def run(self) -> list[str]:
        """Lines that are run."""
        if "all" in self.skipped:
            return []
        return [line for line in self.lines if line.split()[0] not in self.skipped]


class PageFile(NamedTuple):
    """What a page shows between fences."""

    language: str
    text: str


def site_settings() -> dict[str, Any]:
    """Return what `mkdocs.yml` says."""
    found: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text(), _NavLoader)
    return found


def menu_pages(*tops: str) -> list[str]:
    """Return the pages of a menu, in its order.

    Args:
        tops: entries of its top level; none: all.
    """
    nav = site_settings()["nav"]
    return [page for entry in nav if not tops or set(entry) & {*tops} for page in _pages([entry])]


def _pages(nav: list[dict[str, Any]]) -> Iterator[str]:
    for entry in nav:
        for value in entry.values():
            if isinstance(value, str):
                yield value
            else:
                yield from _pages(value)


def page_parts(page: str) -> list[PageBlock | PageFile]:
    """Return the blocks and files of a page, in order.

    Args:
        page: file in docs, such as `how-to.md`.
    """
    heading = ""
    mark: tuple[frozenset[str], str] | None = None
    found: list[PageBlock | PageFile] = []
    for part in _PART.finditer((DOCS / page).read_text()):
        if part["programs"]:
            mark = frozenset(part["programs"].split()), part["why"]
            continue
        if part["heading"]:
            heading = part["heading"]
        elif part["fenced"] is not None:
            found.append(PageFile(part["language"], part["fenced"]))
        elif part["block"]:
            lines = tuple(line[4:] for line in part["block"].splitlines() if line.strip())
            found.append(PageBlock(heading, lines, *(mark or ())))
        assert mark is None or part["block"], f"{page}: a mark before no block: {mark}"
        mark = None
    assert mark is None, f"{page}: a mark before nothing"
    return found


def page_blocks(page: str) -> list[PageBlock]:
    """Return the blocks of commands of a page, in order."""
    return [part for part in page_parts(page) if isinstance(part, PageBlock)]


def page_tasks(page: str) -> list[tuple[str, list[str]]]:
    """Return the headings of a page that have blocks, each with the lines that are run."""
    tasks: list[tuple[str, list[str]]] = []
    for block in page_blocks(page):
        if not tasks or tasks[-1][0] != block.heading:
            tasks.append((block.heading, []))
        tasks[-1][1].extend(block.run)
    return tasks
