"""Rules as people look at them: what they are, where they stand, what they did."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import msgspec

from oborona import state_files
from oborona.desk.call import NotFoundError
from oborona.desk.policy.origins import whose
from oborona.desk.policy.statistics import PolicyStats, RuleStats
from oborona.errors import StoreError
from oborona.journal.query import parse_query
from oborona.journal.search import JournalSearch
from oborona.policy.folders import FileOwner
from oborona.policy.load import Policy
from oborona.policy.rules import Rule
from oborona.recheck.rule_fingerprints import rule_dependencies

_NOTHING: Final = RuleStats()
_PLACED: Final = ("when", "name", "score")  # fields that say where a rule is defined, best first


class RuleRow(msgspec.Struct, frozen=True, kw_only=True):
    """A rule in a table.

    Args:
        name: of it.
        mode: live or shadow.
        enabled: it is on.
        score: a number, or a formula.
        say: its words.
        group: whose cap holds.
        file: where its condition stands.
        line: there.
        whose: whose file that is.
        hits: messages that it hit.
        shadow: of these, in shadow mode.
        decided: messages whose verdict it decided.
        alone: messages that are spam, or are not, only by its part.
        verdicts: of the messages that it hit.
    """

    name: str
    mode: str
    enabled: bool
    score: float | str
    say: str
    group: str
    file: str
    line: int
    whose: FileOwner | None
    hits: int = 0
    shadow: int = 0
    decided: int = 0
    alone: int = 0
    verdicts: dict[str, int] = {}


class ShownRules(msgspec.Struct, frozen=True, kw_only=True):
    """All rules.

    Args:
        version: of the policy.
        rules: those that are off included.
        messages: that were read for their hits.
        verdicts: of these.
        would: what all in shadow mode would have made of them, where that is something else.
        complete: all messages of the time that was asked for were read.
        note: why none could be.
    """

    version: str
    rules: tuple[RuleRow, ...]
    messages: int
    verdicts: dict[str, int]
    would: dict[str, int]
    complete: bool
    note: str = ""


class RuleHitMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a rule hit."""

    id: str
    time: float  # Unix seconds
    sender: str
    subject: str
    verdict: str
    score: float


class RuleDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One rule.

    Args:
        row: what tables show of it.
        when: its condition.
        why: the note of who wrote it.
        stage: from which it is known; empty where it is off.
        fields: file and line of each of its fields.
        uses: conditions and rules that it names, by way of others, too, with their conditions.
        used_by: rules and conditions that name it, by way of others, too.
        tests: that stand beside it.
        messages: the last ones that it hit.
        note: why they could not all be looked for.
    """

    row: RuleRow
    when: str
    why: str
    stage: str
    fields: dict[str, str]
    uses: dict[str, str]
    used_by: tuple[str, ...]
    tests: tuple[dict[str, Any], ...]
    messages: tuple[RuleHitMessage, ...]
    note: str = ""


def rule_table(
    policy: Policy, statistics: PolicyStats, *, complete: bool, note: str = ""
) -> ShownRules:
    """Return all rules with what they did.

    Args:
        policy: in force.
        statistics: of the messages that were read.
        complete: all that were asked for.
        note: why they could not be read.
    """
    return ShownRules(
        version=policy.version,
        rules=tuple(_row(policy, rule, statistics.rules.get(rule.name)) for rule in policy.rules),
        messages=statistics.messages,
        verdicts=dict(statistics.verdicts.most_common()),
        would=dict(statistics.would.most_common()),
        complete=complete,
        note=note,
    )


def rule_detail(policy: Policy, state: Path, name: str, most: int, within_s: float) -> RuleDetail:
    """Return one rule with all that is known of it.

    Args:
        policy: in force.
        state: folder of the stores.
        name: of the rule.
        most: messages that it hit.
        within_s: time for looking for them.

    Raises:
        NotFoundError: there is no such rule.
    """
    rule = next((rule for rule in policy.rules if rule.name == name), None)
    if rule is None:
        raise NotFoundError(f"there is no rule {name[:64]}")
    named = rule_dependencies(policy)
    texts = {one.name: one.when for one in policy.conditions}
    texts |= {one.name: one.when for one in policy.rules}
    messages, note = _messages(state, name, most, within_s)
    stage = policy.compiled.stages.get(name)
    return RuleDetail(
        row=_row(policy, rule, None),
        when=rule.when,
        why=rule.why,
        stage="" if stage is None else stage.value,
        fields={field: str(place) for field, place in rule.places.items()},
        uses={other: texts[other] for other in sorted(named.get(name, ()))},
        used_by=tuple(sorted(other for other, names in named.items() if name in names)),
        tests=tuple(
            {
                "facts": dict(test.facts),
                "fired": list(test.fired),
                "hit": test.hit,
                "score": test.score,
                "place": str(test.place),
            }
            for test in rule.test
        ),
        messages=messages,
        note=note,
    )


def _row(policy: Policy, rule: Rule, found: RuleStats | None) -> RuleRow:
    place = next((rule.places[key] for key in _PLACED if key in rule.places), None)
    stats = found or _NOTHING
    return RuleRow(
        name=rule.name,
        mode=rule.mode.value,
        enabled=rule.enabled,
        score=rule.score,
        say=rule.say,
        group=rule.group,
        file="" if place is None else place.file,
        line=0 if place is None else place.line,
        whose=None if place is None else whose(policy.folders, str(place)),
        hits=stats.hits,
        shadow=stats.shadow,
        decided=stats.decided,
        alone=stats.alone,
        verdicts=dict(stats.verdicts),
    )


def _messages(
    state: Path, name: str, most: int, within_s: float
) -> tuple[tuple[RuleHitMessage, ...], str]:
    if not most:
        return (), ""
    try:
        with JournalSearch(state / state_files.JOURNAL) as journal:
            query = parse_query(f"rule:{name}", time.time())
            found = tuple(
                RuleHitMessage(
                    id=hit.id,
                    time=hit.time,
                    sender=hit.sender,
                    subject=hit.subject,
                    verdict=hit.verdict.value,
                    score=hit.score,
                )
                for hit in journal.find(query, most, within_s=within_s)
            )
            ended = journal.reached is not None
    except StoreError as error:
        return (), str(error)
    return found, "there was no time for older messages" if ended else ""
