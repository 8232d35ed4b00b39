"""Man pages: one of every command, without a fault for man and apropos, whatever a help says."""

from __future__ import annotations

import gzip
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.cli.command_index import load_index
from oborona.cli.exit_status import _STATUS, MEANINGS
from oborona.cli.manual import file_pages, roff
from oborona.cli.manual.__main__ import files, write
from oborona.cli.manual.command_pages import pages_below
from oborona.config import document, load_settings
from oborona.config.settings import SECTIONS
from oborona.policy.fact_table import AREAS, SCHEMA
from oborona.policy.folders import PACKAGED, PolicyFolders
from oborona.policy.load import load_policy
from tests.cli.test_command_index import commands

HOSTILE = (
    ".so /etc/passwd",
    "'sp 9",
    "..",
    ".\\}",
    "\\",
    "\\fBbold",
    "\\n(.$ \\*(xy \\[u0041]",
    '"quoted" `code` ~tilde ^caret',
    "--option -x C:\\TEMP\\new",
    "Привет, 世界 “so” …",
    "tab\there",
    "-",
    "\\c",
    '.\\" comment',
    "%s {0} $HOME `id`",
)
REQUESTS = {"TH", "SH", "SS", "TP", "IP", "PP", "RS", "RE", "nf", "fi", "nh", "ad"}
ESCAPES = re.compile(r"\\(?:[-&:]|f[BR]|\((?:rs|aq|dq|ga|ha|ti)|\[u[0-9A-F]{4,6}\])")


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("share")
    write(folder, "site-functions")
    return folder


def rendered(*texts: str, width: int = 200) -> str:
    """Return pages as a terminal shows them; a word of groff about them is a failure."""
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-P-cbou", "-ww", f"-rLL={width}n"],
        input="".join(texts), capture_output=True, text=True, check=True, timeout=120,
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert not done.stderr
    return done.stdout


def text_of(page: Path) -> str:
    return gzip.decompress(page.read_bytes()).decode("ascii")


def test_every_command_has_a_page() -> None:
    from oborona.cli import main

    wanted = {f"man/man1/{'-'.join(('oborona', *path))}.1.gz" for path, _command in commands(main)}
    wanted |= {"man/man5/oborona.toml.5.gz", "man/man5/oborona-policy.5.gz"}
    made = dict(files("site-functions"))
    assert {place for place in made if place.startswith("man/")} == wanted
    assert made == dict(files("site-functions"))  # the same at any time


def test_man_and_apropos_take_every_page(share: Path) -> None:
    pages = sorted(share.glob("man/man*/*.gz"))
    shown = rendered(*map(text_of, pages), width=78)
    assert shown.count("EXIT STATUS") == len(pages) - 2
    found = subprocess.run(
        ["lexgrog", *map(str, pages)], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    for page, line in zip(pages, found.splitlines(), strict=True):
        name = page.name.rpartition(".")[0].rpartition(".")[0]
        assert f'"{name} - ' in line
    # as a person calls it
    few = [share / f"man/man1/{name}.1.gz" for name in ("oborona", "oborona-find")]
    done = subprocess.run(
        ["man", "-l", "--warnings", *map(str, few), str(share / "man/man5/oborona.toml.5.gz")],
        capture_output=True, text=True, check=True, timeout=60,
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "MANPAGER": "cat", "MANWIDTH": "100"},
    )  # fmt: skip
    assert not done.stderr
    assert "oborona find rule:MASS_TEXT verdict:spam --since 24h" in done.stdout


def test_pages_say_what_the_tables_say(share: Path) -> None:
    shown = rendered(text_of(share / "man/man5/oborona.toml.5.gz"))
    for section in SECTIONS:
        assert f"[{section}]" in shown
        for entry in document.entries(section):
            assert f"{entry.key} = " in shown
    policy = rendered(text_of(share / "man/man5/oborona-policy.5.gz"))
    for facts in AREAS.values():
        for fact in facts:
            assert fact.name in policy
    learn = rendered(text_of(share / "man/man1/oborona-learn.1.gz"))
    for parameter in load_index()["learn"]["parameters"]:
        if parameter.get("line"):
            assert parameter["line"][0] in learn
    for status, meaning in MEANINGS.items():
        assert f"{status} " in learn
        assert meaning.split(",")[0] in " ".join(learn.split())


def test_the_examples_of_files_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "oborona.toml").write_text(file_pages.SETTINGS_EXAMPLE)
    (tmp_path / "policy.d").mkdir()
    (tmp_path / "policy.d/90-local.toml").write_text(file_pages.POLICY_EXAMPLE)
    load_settings(tmp_path / "oborona.toml")
    policy = load_policy(PolicyFolders(tmp_path / "policy.d", PACKAGED), SCHEMA)
    assert next(rule for rule in policy.rules if rule.name == "MASS_TEXT").score == 40


def test_every_exit_status_has_a_meaning() -> None:
    assert {status for _kind, status in _STATUS} <= set(MEANINGS)


def test_hostile_text_is_shown_as_it_is() -> None:
    body = [line for text in HOSTILE for line in roff.literal(text)]
    body += [line for text in HOSTILE for line in roff.tagged(roff.bold(text), roff.escaped(text))]
    shown = rendered(roff.page("x", 1, "hostile", body))
    lines = [line.strip() for line in shown.splitlines()]
    for text in HOSTILE:
        assert lines.count(text.expandtabs().strip()) + lines.count(" ".join(text.split())) >= 2


@settings(max_examples=30)
@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=20))
def test_no_help_is_a_request(first: str, second: str, word: str) -> None:
    described = {
        "help": f"{first}\n\n\b\n{second}\n\n{word}",
        "epilog": second,
        "parameters": [{"line": [word, first]}, {"usage": second}],
        "commands": {word: {"help": second, "epilog": None}},
    }
    for _name, page in pages_below(("oborona", "x"), described):
        for line in page.splitlines()[1:]:
            assert not line.startswith("'")  # the other sign of a request
            if line.startswith("."):
                assert line[1:3].strip() in REQUESTS
            else:
                assert "\\" not in ESCAPES.sub("", line)
        assert set(page) <= {"\n", *map(chr, range(32, 127))}
