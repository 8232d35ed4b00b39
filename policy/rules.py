"""Rules and the verdict's lines, as policy files give them.

[[rule]]
name  = "FROM_SPAMMY"
when  = "count[From].day.seen >= 20 and count[From].day.spam_share > 0.99"
score = 1.5
say   = "{count[From].day.spam_share:.0%} of {count[From].day.seen}"
reader = "most of what this sender writes is unwanted"

How later files change earlier rules: `oborona.policy.named_tables`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.errors import PolicyError
from oborona.policy.named_tables import MAX_TEXT, Enabled, Fields, Name, Why, refuse
from oborona.toml import GivenValue, TomlDocument, TomlPlace, table
from oborona.types import RuleMode, Stage

MAX_SCORE: Final = 1000.0  # of one rule, either way
MAX_CONDITIONS: Final = 1_000
MAX_TESTS: Final = 100  # of one rule
# ten times a large rule set; more are made by a program, and belong into signatures
MAX_RULES: Final = 5_000


class RuleTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test case of a rule."""

    hit: bool  # whether the rule fires
    facts: Mapping[str, Any] = msgspec.field(
        default_factory=dict
    )  # as rules write them; all others are empty
    fired: tuple[str, ...] = ()  # what was hit before
    score: float | None = None  # what it gives; None = whatever
    place: TomlPlace = TomlPlace()


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A named condition on facts with a score."""

    name: str
    when: str
    score: float | str  # a text is a formula
    say: str = ""
    reader: str = ""  # to who gets the message, in its place; empty = the word of its group
    mode: RuleMode = RuleMode.LIVE
    stage: Stage | None = None  # None: the latest stage of the facts it names
    group: str = ""  # whose cap holds for it, empty: no group
    enabled: bool = True
    why: str = ""
    test: tuple[RuleTest, ...] = ()
    # of each field that a file gave
    places: Mapping[str, TomlPlace] = msgspec.field(default_factory=dict)

    @property
    def scripted(self) -> bool:
        """Whether its condition is a function of a script."""
        return "when" in self.places and self.places["when"].file.endswith(".lua")

    @property
    def most(self) -> float:
        """The highest score it may give."""
        return MAX_SCORE if isinstance(self.score, str) else self.score


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A condition that rules name."""

    name: str
    when: str
    why: str = ""
    # of each field that a file gave
    places: Mapping[str, TomlPlace] = msgspec.field(default_factory=dict)


class VerdictLines(msgspec.Struct, frozen=True, kw_only=True):
    """The `[verdict]` table: the scores that decide."""

    spam_score: Annotated[
        float, Meta(ge=1, le=10_000, description="This score and more is spam.")
    ] = 100.0
    reject_score: Annotated[
        float, Meta(ge=1, le=10_000, description="This score and more is refused.")
    ] = 200.0
    shadow_spam_score: (
        Annotated[
            float,
            Meta(
                ge=1,
                le=10_000,
                description="A spam threshold on trial: reported, and decides nothing.",
            ),
        ]
        | None
    ) = None
    shadow_reject_score: (
        Annotated[
            float,
            Meta(
                ge=1,
                le=10_000,
                description="A reject threshold on trial: reported, and decides nothing.",
            ),
        ]
        | None
    ) = None
    refuse: Annotated[
        bool, Meta(description="Refuse mail at all; else it goes to the spam folder.")
    ] = True
    clients_at: Annotated[
        Literal["connect", "sender", "recipient"],
        Meta(
            description="Where clients are refused, and the earliest place where anybody is: when "
            "they connect, at MAIL FROM, or at"
            " RCPT TO, where they see why and the log knows sender and recipient. They are judged "
            "when they connect."
        ),
    ] = "recipient"

    @property
    def first(self) -> Stage:
        """The earliest stage at which anybody is refused."""
        return Stage(self.clients_at)


class RuleTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a `[[rule]]` table; this is their only list."""

    name: Name
    when: Annotated[str, Meta(max_length=MAX_TEXT, description="The condition.")] | UnsetType = (
        UNSET
    )
    score: (
        Annotated[
            float,
            Meta(
                ge=-MAX_SCORE,
                le=MAX_SCORE,
                description="Added when it fires; 100 is spam. A text is a formula: a number of facts.",
                extra={
                    "allowed": 'a number, -1000 to 1000, or a formula in quotes, such as "10 * links"'
                },
            ),
        ]
        | Annotated[str, Meta(max_length=MAX_TEXT)]
        | UnsetType
    ) = UNSET
    say: (
        Annotated[str, Meta(max_length=1000, description="Its words in the explanation.")]
        | UnsetType
    ) = UNSET
    reader: (
        Annotated[
            str,
            Meta(
                max_length=200,
                description="What a reader is told on their page of mail that it kept from them, in "
                "place of the word of its group: no facts, no numbers, nothing that teaches who "
                "sends it.",
                pattern=r"\A[^\x00-\x1f\x7f]*\Z",
                extra={"allowed": "a sentence without its full stop, at most 200 characters"},
            ),
        ]
        | UnsetType
    ) = UNSET
    mode: (
        Annotated[RuleMode, Meta(description="shadow: explained and counted, scores nothing.")]
        | UnsetType
    ) = UNSET
    stage: (
        Annotated[
            Stage, Meta(description="Run no earlier; by default as soon as its facts are known.")
        ]
        | UnsetType
    ) = UNSET
    group: (
        Annotated[str, Meta(max_length=64, description="The group whose cap holds for its score.")]
        | UnsetType
    ) = UNSET
    enabled: Enabled | UnsetType = UNSET
    why: Why | UnsetType = UNSET
    test: (
        Annotated[
            list[Any],
            Meta(
                max_length=MAX_TESTS,
                description="Cases that `oborona policy check` tries it with.",
                extra={"allowed": f"tables, each under [[rule.test]], at most {MAX_TESTS}"},
            ),
        ]
        | UnsetType
    ) = UNSET


class ConditionTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a `[[condition]]` table; this is their only list."""

    name: Name
    when: Annotated[str, Meta(max_length=MAX_TEXT, description="The condition.")] | UnsetType = (
        UNSET
    )
    why: Why | UnsetType = UNSET


class TestTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a `[[rule.test]]` or `[[event_rule.test]]` table; this is their only list."""

    facts: (
        Annotated[
            dict[str, Any],
            Meta(
                description=(
                    'Facts of the case, such as { "text.words" = 3, "count[From].day.seen" = '
                    "20 }; all others are empty, 0, false or none."
                ),
                extra={"allowed": 'a table, such as { "text.words" = 3 }'},
            ),
        ]
        | UnsetType
    ) = UNSET
    fired: (
        Annotated[
            tuple[str, ...],
            Meta(
                description="What was hit before, for fired().",
                extra={"allowed": 'names in brackets, such as ["MASS_TEXT"]'},
            ),
        ]
        | UnsetType
    ) = UNSET
    hit: Annotated[bool, Meta(description="Whether the rule fires.")] | UnsetType = UNSET
    score: Annotated[float, Meta(description="What it gives then.")] | UnsetType = UNSET


def verdict_lines(fields: Mapping[str, GivenValue]) -> VerdictLines:
    """Return the lines that files give together.

    Raises:
        PolicyError: they are crossed.
    """
    lines = VerdictLines(**{key: item.value for key, item in fields.items()})
    spam, reject = ("spam_score", lines.spam_score), ("reject_score", lines.reject_score)
    _uncrossed(fields, spam, reject)
    if lines.shadow_spam_score is not None:
        spam = "shadow_spam_score", lines.shadow_spam_score
    if lines.shadow_reject_score is not None:
        reject = "shadow_reject_score", lines.shadow_reject_score
    _uncrossed(fields, spam, reject)
    return lines


def _uncrossed(
    fields: Mapping[str, GivenValue], spam: tuple[str, float], reject: tuple[str, float]
) -> None:
    """Refuse a line of refusal below the spam line."""
    if reject[1] >= spam[1]:
        return
    low, high = fields.get(reject[0]), fields.get(spam[0])
    at = max(
        (field.place for field in (low, high) if field), key=lambda place: (place.file, place.line)
    )
    first, words, second = (
        (reject, "below", spam) if low and low.place is at else (spam, "above", reject)
    )
    second_field = fields.get(second[0])
    beside = f"{second[0]} = {second[1]:g}" + (f" ({second_field.place})" if second_field else "")
    raise PolicyError(
        f"{first[0]} = {first[1]:g} is {words} {beside}",
        file=at.file,
        line=at.line,
        column=at.column,
    )


def rule(fields: Mapping[str, GivenValue]) -> Rule:
    """Return the rule that files give together."""
    values = {key: field.value for key, field in fields.items()}
    return Rule(**values, places={key: field.place for key, field in fields.items()})


def condition(fields: Mapping[str, GivenValue]) -> Condition:
    """Return the condition that files give together."""
    values = {key: field.value for key, field in fields.items()}
    return Condition(**values, places={key: field.place for key, field in fields.items()})


def tests(document: TomlDocument, path: tuple[str | int, ...], fields: Fields) -> None:
    """Turn what a file gives as the tests of a rule into tests.

    Raises:
        PolicyError: a key or value that is not allowed, or none that is needed, with its place.
    """
    if "test" not in fields:
        return
    rule_tests: list[RuleTest] = []
    for number in range(len(fields["test"].value)):
        where = (*path, "test", number)
        test_fields = table(
            document, where, TestTable, name=f"[[{path[0]}.test]]", error=PolicyError
        )
        if "hit" not in test_fields:
            raise refuse(f"[[{path[0]}.test]]: hit is missing; true or false", document.key(*where))
        rule_tests.append(
            RuleTest(
                **{key: field.value for key, field in test_fields.items()},
                place=document.key(*where),
            )
        )
    fields["test"] = GivenValue(tuple(rule_tests), fields["test"].place)
