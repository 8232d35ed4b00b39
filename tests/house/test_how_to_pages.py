"""Pages that say how to do something: each block of commands is run by a test, or says why it is
not; a Russian page has the commands and sections of the English one that it follows.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from oborona.cli.document import ROOT
from oborona.config.document import entries
from oborona.config.settings import SECTIONS
from tests.handbook import (
    DOCS,
    PageBlock,
    PageFile,
    menu_pages,
    page_blocks,
    page_parts,
)

PAGES: Final = menu_pages("Start", "Do")
RUSSIAN: Final = sorted((DOCS / "ru").glob("*.md"))
LANGUAGES: Final = {"toml", "ini", "nginx", "caddy", "text"}
"""Of files and of what is printed: commands are indented, so that they are run."""
BOOT: Final = "(tests/boot)"


@pytest.fixture(scope="module")
def booted() -> str:
    """Tests of machines that boot: they name the sections that they follow."""
    files = [*(ROOT / "tests/boot").glob("*.py"), ROOT / "benchmarks/first_day.py"]
    return "".join(file.read_text() for file in files)


@pytest.mark.parametrize("page", PAGES)
def test_what_is_not_run_says_why(page: str, booted: str) -> None:
    for block in page_blocks(page):
        first = {line.split()[0] for line in block.lines}
        assert block.skipped <= first | {"all"}, f"{block}: a mark of what is not there"
        if BOOT in block.why:
            assert f'"{block.heading}"' in booted, f"no test in tests/boot follows {block}"


@pytest.mark.parametrize("page", PAGES)
def test_what_stands_between_fences_is_a_file(page: str) -> None:
    for part in page_parts(page):
        if isinstance(part, PageFile):
            assert part.language in LANGUAGES, part.text
            if part.language == "toml":
                assert unknown(tomllib.loads(part.text)) == []


def unknown(settings: dict[str, Any], section: str = "") -> list[str]:
    """Return what is no setting of `oborona.toml`."""
    faults: list[str] = []
    for key, value in settings.items():
        name = f"{section}.{key}".lstrip(".")
        if isinstance(value, dict):
            faults += unknown(value, name)
        elif section not in SECTIONS or key not in {entry.key for entry in entries(section)}:
            faults.append(name)
    return faults


def comparable(page: str) -> list[object]:
    """Return what is the same in two languages: commands, marks, files without their comments."""
    parts: list[object] = []
    for part in page_parts(page):
        if isinstance(part, PageBlock):
            parts.append((part.lines, part.skipped))
        elif part.language == "toml":
            parts.append(tomllib.loads(part.text))
        else:
            parts.append(part.text)
    return parts


def outline(text: str) -> list[int]:
    """Return the levels of the headings of a page."""
    bare = re.sub(r"(?ms)^```.*?^```", "", text)
    return [len(marks) for marks in re.findall(r"(?m)^(#+) ", bare)]


def spans(text: str) -> set[str]:
    """Return commands and settings that a page names within its text."""
    found = re.findall(r"`((?:oborona|systemctl|make|apt|--|/etc/|[a-z_]+ = )[^`]*)`", text)
    return {" ".join(one.split()) for one in found}


def english(page: Path) -> Path | None:
    """Return the page that a Russian one says that it follows."""
    found = re.match(r"# [^\n]+\n\n[^\n[]+\[[^]]+\]\(([^)]+)\)", page.read_text())
    return None if found is None else page.parent / found[1]


@pytest.mark.parametrize("page", RUSSIAN, ids=lambda page: page.stem)
def test_a_russian_page_is_not_older_than_its_english_one(page: Path) -> None:
    origin = english(page)
    assert origin is not None, "its first words name the English page that it follows"
    if page.name == "index.md":
        return  # it has lines for the Russian pages alone
    name = origin.resolve().relative_to(DOCS).as_posix()
    assert comparable(f"ru/{page.name}") == comparable(name), f"commands of {name} have changed"
    here, there = page.read_text(), origin.read_text()
    assert outline(here) == outline(there), f"sections of {name} have changed"
    assert spans(here) == spans(there), f"what {name} names has changed"


def test_start_and_tasks_are_there_in_russian() -> None:
    wanted = {*PAGES} - {
        "operate/console.md",  # pages of the console are in Russian themselves
        "people/dovecot.md",
        "mail-servers/exim.md",
        "troubleshooting.md",
        "moving-in.md",  # read once, by who knows the other program by its English documents
    }
    have = {
        origin.resolve().relative_to(DOCS).as_posix()
        for page in RUSSIAN
        if (origin := english(page))
    }
    assert wanted <= have


def test_what_is_wrong_is_told() -> None:
    assert unknown({"site": {"name": "x", "nmae": "x"}, "doors": {"milter": {"listen": ""}}}) == [
        "site.nmae"
    ]
    assert spans("`oborona find`, `spam_score = 100`") != spans("`oborona find`, `spam_score = 90`")
    assert outline("# A\n\n```\n# no\n```\n\n## B\n") == [1, 2]


@pytest.mark.parametrize("page", ["people/dovecot.md", "mail-servers/exim.md"])
def test_files_that_a_page_installs_come_with_the_package(page: str) -> None:
    packed = re.search(
        r"for part in ([a-z ]+); do # where the", (ROOT / "package/deb.sh").read_text()
    )
    assert packed is not None
    named = re.findall(r"(?<![\w/])(?:etc/)?((?:dovecot|exim)/[\w.*-]+)", "\n".join(
        line for block in page_blocks(page) for line in block.lines
    ))  # fmt: skip
    assert named
    for name in named:
        assert list((ROOT / "etc").glob(name)), name
        assert name.partition("/")[0] in packed[1].split()
