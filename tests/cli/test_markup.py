"""What strangers write is text to a terminal, never markup: no link, no colour, no tag that ends
the command.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.journaled import WORDS, journal, letter, policy, run
from tests.cli.recheck.test_command import SPAM, decided

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = ("[link=file:///etc]a[/link]", "sale [/b] now", "[red]r[/red] :smile: [@click=x]y[/]")
HYPERLINK = "\x1b]8;"
STYLES = re.compile(r"\x1b\[[0-9;]*m|\s+|│|┃|[┏━┳┓┡╇┩└─┴┘]")


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "400")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_subject_is_shown_as_it_stands(tmp_path: Path, subject: str) -> None:
    state, rules = tmp_path / "state", policy(tmp_path / "policy", WORDS)
    raw = letter(
        1, f"You won the lottery {subject}: https://one.example/ https://two.example/", subject
    )
    raw = raw.replace(b"From: Ann", f'From: "{subject}"'.encode())
    (ident,) = journal(state, rules, [raw])
    mail = tmp_path / "a.eml"
    mail.write_bytes(raw)
    strict = policy(tmp_path / "strict", SPAM.replace("all of it", f"all {subject}"))
    shown = {
        "find": run(state, rules, "find"),
        "explain": run(state, rules, "explain", ident),
        "explained by the message": run(state, rules, "explain", str(mail)),
        "check": run(state, rules, "check", str(mail)),
        "dissect": run(state, rules, "dissect", str(mail)),
        "recheck": run(state, strict, "recheck", "--dry-run", "bob@b.example"),
    }
    decided(state, ident, recipient=f"{subject}@b.example")
    shown["recheck moves"] = run(state, rules, "recheck", "moves")
    want = STYLES.sub("", subject)
    for command, result in shown.items():
        assert HYPERLINK not in result.stdout, command
        if command in {"find", "dissect", "recheck", "recheck moves", "explain"}:
            assert want in STYLES.sub("", result.stdout), (command, result.stdout)
    assert HYPERLINK not in run(state, rules, "policy", "stats").stdout


def test_there_is_one_way_to_a_terminal() -> None:
    """Whoever prints does so through `Terminal`, to which text is text.

    A console of Rich itself shows bars on standard error.
    """
    package = ROOT / "src/oborona"
    paths = [*package.glob("*.py"), *package.glob("*/**/*.py")]  # `**` alone goes through no link
    assert any(path.is_relative_to(package / "milter") for path in paths)
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted(paths)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(
            r"(?<!class Terminal\()\bConsole\((?!stderr=True\))|rich\.markup|from_markup|markup=True|\[/\]",
            line,
        )
        or re.search(r"^(import rich|from rich import)", line)
    ]
    assert wrong == []
