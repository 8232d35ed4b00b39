"""Each `oborona` command that a page shows exists, with every option that is shown with it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import pytest

from oborona.cli import command_index
from oborona.cli.document import ROOT

COMMANDS: Final[dict[str, Any]] = json.loads(command_index.FILE.read_text())
GLOBAL: Final = {"--config": 1, "--state": 1, "--set": 1, "--help": 0, "-h": 0, "--version": 0}
"""Options before the command, each with the number of its values."""
DEFAULTS: Final = {"recheck": "look", "audit": "show"}
"""What a group of commands does where none is named."""
PAGES: Final = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
SHOWN: Final = re.compile(
    # an indented line, or a span of code
    r"(?m)(?:^ {4}(?:[^`\n]*[\s/])?|`(?:sudo )?)oborona (?P<rest>[^`\n]+)"
)
END: Final = frozenset({"|", "||", "&&", ";", ">", "2>&1", "&"})


def shown(text: str) -> Iterator[str]:
    """Yield what stands behind `oborona` in each command of a page."""
    for match in SHOWN.finditer(text):
        yield match["rest"]


def fault(rest: str) -> str | None:
    """Return what is wrong with a command line, or None.

    Args:
        rest: what stands behind `oborona`.
    """
    words = list(takewhile(lambda word: word not in END, _words(rest)))
    while words and words[0] in GLOBAL:
        del words[: 1 + GLOBAL[words[0]]]
    below, command = COMMANDS, None
    while words and below:
        name = words[0]
        if name in DEFAULTS and not (len(words) > 1 and words[1] in below[name]["commands"]):
            words.insert(1, DEFAULTS[name])
        elif not _is_name(name):
            break
        elif name not in below:
            return f"no command {name}"
        command = below[words.pop(0)]
        below = command.get("commands") or {}
    if command is None:
        return None
    declared = {"-h", "--help"}
    declared |= {
        one for option in command.get("parameters") or () for one in option.get("declared", ())
    }
    options = takewhile(lambda word: word != "--", words)
    names = [
        word.partition("=")[0] for word in options if re.fullmatch(r"--?[a-z][a-z-]*(=.*)?", word)
    ]
    return next((f"no option {name}" for name in names if name not in declared), None)


def _is_name(word: str) -> bool:
    return re.fullmatch(r"[a-z][a-z-]*", word) is not None


def _words(rest: str) -> list[str]:
    reader = shlex.shlex(
        re.sub(r"\[(--[^]]+)\]", r"\1", rest), posix=True, punctuation_chars="|&;>"
    )
    reader.whitespace_split = True
    try:
        return list(reader)
    except ValueError:  # a quote that is closed on the next line
        return rest.split()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_exist(page: Path) -> None:
    faults = {rest: why for rest in shown(page.read_text()) if (why := fault(rest))}
    assert not faults


def test_what_is_wrong_is_found() -> None:
    page = (
        "Run `oborona lost` or\n\n    sudo oborona --config x find from:x --sinse 2d | grep "
        "y\n\n`oborona find --since 2d`"
    )
    assert [fault(rest) for rest in shown(page)] == ["no command lost", "no option --sinse", None]
    assert sum(len(list(shown(page.read_text()))) for page in PAGES) > 300
