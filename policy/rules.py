"""Rules and the verdict's lines, as policy files give them.

[[rule]]
name  = "FROM_SPAMMY"
when  = "count[From].day.seen >= 20 and count[From].day.spam_share > 0.99"
score = 1.5
say   = "{count[From].day.spam_share:.0%} of {count[From].day.seen}"

How later files change earlier rules: `oborona.policy.named`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.errors import PolicyError
from oborona.policy.named import MAX_TEXT, Enabled, Name, Why
from oborona.toml import Given, Place
from oborona.types import Mode, Stage

MAX_RULES: Final = 5_000  # ten times a large rule set; more are made by a program, and belong into signatures


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A named condition on facts with a score."""

    name: str
    when: str
    score: float
    say: str = ""
    mode: Mode = Mode.LIVE
    stage: Stage | None = None  # None: the latest stage of the facts it names
    enabled: bool = True
    why: str = ""
    places: Mapping[str, Place] = msgspec.field(default_factory=dict)  # of each field that a file gave


class VerdictLines(msgspec.Struct, frozen=True, kw_only=True):
    """The `[verdict]` table: the scores that decide."""

    spam_score: Annotated[float, Meta(ge=1, le=10_000, description="This score and more is spam.")] = 100.0
    reject_score: Annotated[float, Meta(ge=1, le=10_000, description="This score and more is refused.")] = (
        200.0
    )
    refuse: Annotated[bool, Meta(description="Refuse mail at all; else it goes to the spam folder.")] = True
    clients_at: Annotated[
        Literal["connect", "sender"],
        Meta(description="Judge clients when they connect, or at MAIL FROM, when it is known who logged in."),
    ] = "connect"

    @property
    def first(self) -> Stage:
        """The stage at which a client is judged, and asked about."""
        return Stage(self.clients_at)


class RuleTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a `[[rule]]` table; this is their only list."""

    name: Name
    when: Annotated[str, Meta(max_length=MAX_TEXT, description="The condition.")] | UnsetType = UNSET
    score: (
        Annotated[float, Meta(ge=-1000, le=1000, description="Added when it fires; 100 is spam.")] | UnsetType
    ) = UNSET
    say: Annotated[str, Meta(max_length=1000, description="Its words in the explanation.")] | UnsetType = (
        UNSET
    )
    mode: Annotated[Mode, Meta(description="shadow: explained and counted, scores nothing.")] | UnsetType = (
        UNSET
    )
    stage: (
        Annotated[Stage, Meta(description="Run no earlier; by default as soon as its facts are known.")]
        | UnsetType
    ) = UNSET
    enabled: Enabled | UnsetType = UNSET
    why: Why | UnsetType = UNSET


def verdict_lines(given: Mapping[str, Given]) -> VerdictLines:
    """Return the lines that files give together.

    Raises:
        PolicyError: they are crossed.
    """
    lines = VerdictLines(**{key: item.value for key, item in given.items()})
    if lines.reject_score < lines.spam_score:
        low, high = given.get("reject_score"), given.get("spam_score")
        spam = f"spam_score = {lines.spam_score:g}" + (f" ({high.place})" if high else "")
        problem = f"reject_score = {lines.reject_score:g} is below {spam}"
        place = low.place if low else given["spam_score"].place
        raise PolicyError(problem, file=place.file, line=place.line, column=place.column)
    return lines


def rule(fields: Mapping[str, Given]) -> Rule:
    """Return the rule that files give together."""
    values = {key: given.value for key, given in fields.items()}
    return Rule(**values, places={key: given.place for key, given in fields.items()})
