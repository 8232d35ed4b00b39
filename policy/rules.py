"""Rules and the verdict's lines, as policy files give them, and how later files change earlier ones.

    [[rule]]
    name  = "FROM_SPAMMY"
    when  = "count[From].day.seen >= 20 and count[From].day.spam_share > 0.99"
    score = 1.5
    say   = "{count[From].day.spam_share:.0%} of {count[From].day.seen}"

A rule whose name an earlier file has defined changes only the fields it gives: `90-local.toml` may set a score, or
`mode = "shadow"`, or `enabled = false`, and everything else stays as it was. One name twice in one file is an error.
There are no includes and no other levels: file order is the whole story, and every field knows the line it is from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.errors import PolicyError
from oborona.toml import Document, Given, Place, did_you_mean, table
from oborona.types import Mode, Stage

MAX_RULES: Final = 5_000  # ten times a large rule set; more are made by a program, and belong into signatures
MAX_TEXT: Final = 2_000  # characters of `when` and `why`


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


class RuleTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a `[[rule]]` table; this is their only list."""

    name: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Z][A-Z0-9]*(_[A-Z0-9]+)*\Z",
            max_length=64,
            description="What headers, logs and other files call it.",
            extra={
                "allowed": "capital letters, digits and single underscores, at most 64, such as FROM_SPAMMY"
            },
        ),
    ]
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
    enabled: Annotated[bool, Meta(description="false: as if it were not there.")] | UnsetType = UNSET
    why: Annotated[str, Meta(max_length=MAX_TEXT, description="A note for the next admin.")] | UnsetType = (
        UNSET
    )


class PolicyFile(msgspec.Struct, frozen=True, kw_only=True):
    """The top level of a policy file."""

    verdict: Annotated[dict[str, Any], Meta(extra={"allowed": "a table: [verdict]"})] | UnsetType = UNSET
    rule: Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[rule]]"})] | UnsetType = UNSET


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """What all files together say."""

    verdict: VerdictLines
    rules: tuple[Rule, ...]  # in the order of their first definition
    origins: Mapping[
        str, str
    ]  # "verdict.spam_score", "rule.NAME.score" -> "file:line"; what is not here is a default


def merge(documents: Sequence[Document]) -> Merged:
    """Return what the files say together, later ones over earlier ones.

    Raises:
        PolicyError: a key, value or combination that is not allowed, with its place.
    """
    verdict: dict[str, Given] = {}
    rules: dict[str, dict[str, Given]] = {}
    for document in documents:
        top = table(document, (), PolicyFile, name="policy", error=PolicyError)
        if "verdict" in top:
            verdict |= table(document, ("verdict",), VerdictLines, name="[verdict]", error=PolicyError)
        _add_rules(document, len(top["rule"].value) if "rule" in top else 0, rules)
    origins = {f"verdict.{key}": str(given.place) for key, given in verdict.items()}
    for name, fields in rules.items():
        origins |= {f"rule.{name}.{key}": str(given.place) for key, given in fields.items()}
    return Merged(
        verdict=_lines(verdict), rules=tuple(_rule(fields) for fields in rules.values()), origins=origins
    )


def _add_rules(document: Document, count: int, rules: dict[str, dict[str, Given]]) -> None:
    here: dict[str, Place] = {}
    earlier = list(rules)
    for number in range(count):
        start = document.key("rule", number)
        fields = table(
            document, ("rule", number), RuleTable, name=_called(document, number), error=PolicyError
        )
        if "name" not in fields:
            raise _error("a rule without name", start)
        name = fields["name"].value
        if name in here:
            raise _error(
                f"rule {name} is already defined in line {here[name].line} of this file", fields["name"].place
            )
        here[name] = start
        if name in rules:
            rules[name] |= {key: given for key, given in fields.items() if key != "name"}
            continue
        for needed in ("when", "score"):
            if needed not in fields:
                hint = did_you_mean(name, earlier) if earlier else ""
                hint = hint if hint.endswith("?") else ""
                problem = f"rule {name}: {needed} is missing, and no earlier file defines the rule{hint}"
                raise _error(problem, fields["name"].place)
        if len(rules) >= MAX_RULES:
            raise _error(f"more than {MAX_RULES} rules", start)
        rules[name] = fields


def _called(document: Document, number: int) -> str:
    """Return how errors speak of a rule whose fields are not checked yet."""
    found = document.data["rule"][number]
    name = found.get("name") if isinstance(found, dict) else None
    return f"rule {name}" if isinstance(name, str) and name.isidentifier() and len(name) <= 64 else "[[rule]]"


def _lines(given: Mapping[str, Given]) -> VerdictLines:
    lines = VerdictLines(**{key: item.value for key, item in given.items()})
    if lines.reject_score < lines.spam_score:
        low, high = given.get("reject_score"), given.get("spam_score")
        spam = f"spam_score = {lines.spam_score:g}" + (f" ({high.place})" if high else "")
        problem = f"reject_score = {lines.reject_score:g} is below {spam}"
        raise _error(problem, low.place if low else given["spam_score"].place)
    return lines


def _rule(fields: Mapping[str, Given]) -> Rule:
    values = {key: given.value for key, given in fields.items()}
    return Rule(**values, places={key: given.place for key, given in fields.items()})


def _error(problem: str, place: Place) -> PolicyError:
    return PolicyError(problem, file=place.file, line=place.line, column=place.column)
