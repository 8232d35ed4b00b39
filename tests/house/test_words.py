"""What people read says what the trade says: a listener is no door, a threshold no line, a report
of a person no word or pardon.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oborona.cli import command_index
from oborona.config import document
from oborona.config.settings import SECTIONS
from oborona.daemon import metric_catalogue
from oborona.policy.fact_table import TABLE

OLD = re.compile(
    (
        r"\b(doors?|pardon(s|ed)?|taught|pin(s|ned)?|second look|next look|spam "
        r"line|below-line|people's words?|believed)\b(?! \()"
    ),
    re.IGNORECASE,
)
NAMES = re.compile(
    r"\[?doors\.\w+|`[^`]*`|\(\w+\)|believed \(\w+\)|(complaint|pardon): [\w-]+ report"
)
"""Names of settings, commands and values, which stay, and where one is told in other words."""


def helps() -> Iterator[tuple[str, str]]:
    """Every help text of every command and option."""

    def of(name: str, told: dict[str, Any]) -> Iterator[tuple[str, str]]:
        yield name, str(told.get("help") or "")
        for one in told.get("parameters") or ():
            if one.get("line"):
                yield f"{name} {one['name']}", one["line"][1]
        for below, more in (told.get("commands") or {}).items():
            yield from of(f"{name} {below}", more)

    for name, told in json.loads(command_index.FILE.read_text()).items():
        yield from of(name, told)


def settings() -> Iterator[tuple[str, str]]:
    for section in SECTIONS:
        yield section, document.summary(section)
        yield from ((f"{section}.{one.key}", one.meaning) for one in document.entries(section))


def metrics() -> Iterator[tuple[str, str]]:
    for told in metric_catalogue.described_metrics().values():
        yield from ((one.name, one.help) for one in told)


def facts() -> Iterator[tuple[str, str]]:
    yield from ((fact.name, fact.doc) for fact in TABLE)


@pytest.mark.parametrize("texts", [helps, settings, metrics, facts])
def test_texts_have_the_words_of_the_trade(texts: Callable[[], Iterator[tuple[str, str]]]) -> None:
    told = list(texts())
    assert len(told) > 20
    found = {name: text for name, text in told if OLD.search(NAMES.sub("", text))}
    assert not found


def test_examples_in_helps_stand_as_they_are_written() -> None:
    """A backspace has click leave lines as they stand.

    Written as two signs it would be shown, and the lines flow together.
    """
    told = list(helps())
    assert any("\b" in text for _, text in told)
    assert [name for name, text in told if "\\b" in text] == []
