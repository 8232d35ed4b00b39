"""The site of docs/ has every page in its menu, and can be built by either of two programs.

`make site` builds it; that links and anchors lead somewhere is held by `test_documents.py`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

from oborona.cli.document import ROOT
from package.site_build import SiteSource, asked_elsewhere, leads_nowhere
from tests.handbook import menu_pages, site_settings

PLAIN: Final = {
    "tables", "fenced_code", "sane_lists", "toc",  # extensions
    "search", "offline",  # plugins
}  # fmt: skip
"""What Zensical and MkDocs do alike; macros, hooks and plugins of one of them are not used."""


def names(listed: list[Any]) -> set[str]:
    return {one if isinstance(one, str) else next(iter(one)) for one in listed}


def test_each_page_is_in_the_menu_once() -> None:
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")}
    # their index, which is in it, has a line for each
    pages = {page for page in pages if not re.match(r"adr/0\d{3}-", page)}
    assert sorted(menu_pages()) == sorted(pages)


def test_the_menu_is_by_task() -> None:
    tops = [next(iter(entry)) for entry in site_settings()["nav"]]
    assert tops == ["Start", "Do", "Look up", "Understand", "По-русски"]


def test_only_what_both_programs_read_is_used() -> None:
    found = site_settings()
    assert names(found["markdown_extensions"]) | names(found["plugins"]) <= PLAIN
    assert not {"hooks", "watch", "INHERIT"} & set(found)
    for page in (ROOT / "docs").rglob("*.md"):
        assert not re.search(r"(?m)^(!!!|\?\?\?|===) ", page.read_text()), (
            f"{page} has a box that GitHub can't show"
        )


def test_files_beside_the_pages_come_with_them(tmp_path: Path) -> None:
    SiteSource(tmp_path).link_all()
    docs = tmp_path / "docs"
    assert "](repository/systemd/install.sh.txt)" in (docs / "install.md").read_text()
    assert (docs / "repository/systemd/install.sh.txt").is_file()
    assert "](repository/index.md#start)" not in (docs / "install.md").read_text()
    assert "](repository/README.md#start)" in (docs / "troubleshooting.md").read_text()
    assert "(../install.md)" in (docs / "repository/README.md").read_text()
    assert "[exim.conf](exim.conf.txt)" in (docs / "repository/etc/exim/index.md").read_text()
    left = [page for page in docs.rglob("*.md") if re.search(r"\]\((\.\./){4}", page.read_text())]
    assert not left


@pytest.mark.parametrize(
    ("html", "asked"),
    [
        ('<a href="https://example.test/">there</a>', []),
        ('<script src="https://cdn.test/x.js"></script>', ["a.html asks https://cdn.test/x.js"]),
        (
            "<link rel=stylesheet href=https://cdn.test/x.css>",
            ["a.html asks https://cdn.test/x.css"],
        ),
    ],
)
def test_what_another_host_would_be_asked_is_found(
    tmp_path: Path, html: str, asked: list[str]
) -> None:
    (tmp_path / "a.html").write_text(html)
    assert asked_elsewhere(tmp_path) == asked


@pytest.mark.parametrize(
    "link",
    ["a.html", "a.html#one", "#%D0%B4%D0%B2%D0%B0", "x.png", ".", "https://example.test/#no"],
)
def test_a_link_that_leads_somewhere_is_no_fault(tmp_path: Path, link: str) -> None:
    built(tmp_path, link)
    assert leads_nowhere(tmp_path) == []


@pytest.mark.parametrize("link", ["b.html", "a.html#two", "#three", "y.png", "x.png#one", "../z"])
def test_a_link_that_leads_nowhere_is_told(tmp_path: Path, link: str) -> None:
    built(tmp_path, link)
    assert leads_nowhere(tmp_path) == [f"index.html links to {link}"]


def built(site: Path, link: str) -> None:
    (site / "a.html").write_text("<h1 id=one>One</h1>")
    (site / "x.png").touch()
    (site / "index.html").write_text(f'<h1 id="два">Two</h1><a href="{link}">there</a>')
