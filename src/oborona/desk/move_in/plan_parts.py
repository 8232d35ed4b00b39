"""The parts of a plan: lists, rules, signatures, people, and lines that stay behind."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from oborona.policy.signatures import Signature
from oborona.reputation.locallists import ListAction
from oborona.reputation.personal import PersonalEntry
from oborona.reputation.subject import ListSubject
from oborona.types import RuleMode

_SHOWN: Final = 120  # characters of a line that is left
_LONGEST_PATH: Final = 300  # characters of a file's name


class OldProgram(StrEnum):
    """A program whose configuration can be read."""

    RSPAMD = "rspamd"
    SPAMASSASSIN = "spamassassin"
    MAILCOW = "mailcow"
    AMAVIS = "amavis"


class SourcePlace(NamedTuple):
    """Where something stands in the old configuration; line 0 = the file as a whole."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        file = shown(self.file, _LONGEST_PATH)
        return f"{file}:{self.line}" if self.line else file


class LeftLine(NamedTuple):
    """What is not carried over, and why."""

    place: SourcePlace
    what: str
    why: str


class PlannedList(msgspec.Struct, kw_only=True):
    """A list of the site."""

    name: str
    action: ListAction
    of: tuple[ListSubject, ...]
    mode: RuleMode
    why: str
    entries: dict[str, SourcePlace] = {}


class PlannedRule(msgspec.Struct, kw_only=True, frozen=True):
    """A rule on trial."""

    name: str
    when: str
    score: float
    say: str
    place: SourcePlace


class PlannedSignature(NamedTuple):
    """A signature on trial."""

    signature: Signature
    place: SourcePlace


class PlannedPerson(msgspec.Struct, kw_only=True):
    """What one person said; no strictness = as it is."""

    entries: dict[tuple[str, str], PersonalEntry] = {}
    strictness: float | None = None


def shown(text: str, most: int = _SHOWN) -> str:
    """Return a text of theirs fit for a terminal and a file."""
    cut = "".join(letter if letter.isprintable() else "?" for letter in text[: most + 1])
    return cut if len(cut) <= most else f"{cut[:most]}…"
