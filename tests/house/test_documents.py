"""Documents that follow from code are what the code says, and no link leads nowhere."""

import re
from pathlib import Path

import pytest

from oborona.cli.document import ROOT, files
from oborona.message.findings import NAMES
from oborona.policy.checks import FINDINGS
from oborona.policy.decision import UNFINISHED
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy

GENERATED = files()
BUILT = {".venv", "node_modules", "build", "dist", "var"}
PAGES = [path for path in ROOT.glob("**/*.md") if not BUILT & {*path.relative_to(ROOT).parts}]


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_a_generated_file_is_what_the_code_says(path: Path) -> None:
    assert path.read_text() == GENERATED[path], "run: make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize(
    "folder",
    [ROOT / "docs", ROOT / "docs/adr", ROOT / "docs/ru"],
    ids=["pages", "decisions", "russian"],
)
def test_an_index_has_every_page_once(folder: Path) -> None:
    index = folder / "index.md"
    named = re.findall(r"(?m)^- \[[^\]]+\]\(([^)#]+)\):", index.read_text())
    pages = {page.relative_to(folder).as_posix() for page in folder.rglob("*.md")} - {"index.md"}
    if folder.name == "docs":  # it names the other two indexes, and none of theirs
        pages = {page for page in pages if not re.match(r"adr/0|ru/(?!index)", page)}
    assert sorted(named) == sorted(pages)


def test_every_decision_has_its_number_its_status_and_a_line() -> None:
    lines = (ROOT / "docs/adr/index.md").read_text()
    for page in sorted((ROOT / "docs/adr").glob("0*.md")):
        title, empty, status, *_ = page.read_text().splitlines()
        number = int(page.name[:4])
        assert title.startswith(f"# {number}. ")
        assert not empty
        assert re.fullmatch(
            r"Status: (accepted|replaced by \[\d+\]\(\d{4}-[a-z0-9-]+\.md\))\.", status
        ), page
        assert re.search(rf"(?m)^- \[{number}\]\({page.name}\):\n  [A-Z`]", lines), page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_a_section_lead_to_one(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text()):
        file = page.parent / target if target else page
        if file.suffix == ".md":
            assert anchor in _anchors(file), f"{target}#{anchor}"


def _anchors(page: Path) -> set[str]:
    """Return what GitHub makes of the headings of a page."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text())
    titles = re.findall(r"(?m)^#+ (.+)$", text)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_rule_that_ships_says_what_it_saw_and_is_tried_by_name() -> None:
    """A rule without words explains nothing."""
    for rule in load_policy(ROOT / "etc/policy.d", SCHEMA).rules:
        assert rule.say, rule.name


def test_every_check_is_used_by_a_rule_that_ships() -> None:
    text = "".join(path.read_text() for path in (ROOT / "etc/policy.d").glob("*.toml"))
    unused = [name for name in FINDINGS if f"found('{name}')" not in text]
    assert not unused
    named = set(re.findall(r"found\('([a-z0-9-]+)'\)", text))
    assert named <= {*FINDINGS, *NAMES, UNFINISHED}
