"""A test of a rule made of a message of the journal: the facts that the rule asks for, as they were
then.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any, Final

from oborona import ident, state_files
from oborona.desk.call import CallError, NotFoundError
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.policy.expression.check import ExpressionChecker
from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.loads import RuleLoads
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.load import Policy
from oborona.policy.models.ports import NoModels
from oborona.policy.rules import Rule
from oborona.recheck.facts_at_delivery import NotKept, UnkeptFact, facts_then
from oborona.recheck.rejudgement import Rejudger
from oborona.recheck.rule_fingerprints import rule_dependencies

MOST_ITEMS: Final = 50  # of a set; a test that lists more shows nobody anything
_FIRED: Final = re.compile(r"fired\(\s*['\"]?([A-Z][A-Z0-9_]*)")
_LABEL: Final = re.compile(r"[a-z_]+(?:\.[a-z_]+)*(?:\[[A-Za-z\"'-]+\](?:\.[a-z_]+)*)?")


def journaled_message(state: Path, message: str) -> JournalEntry:
    """Return the journal's entry of a message.

    Raises:
        NotFoundError: there is none of that id.
        StoreError: the journal can't be read.
    """
    number = ident.from_text(message)
    if number is None:
        raise NotFoundError(f"{message[:40]!r} is no id of a message")

    async def read() -> JournalEntry | None:
        async with await JournalReader.open(state / state_files.JOURNAL) as journal:
            return await journal.get(number)

    entry = asyncio.run(read())
    if entry is None:
        raise NotFoundError(f"the journal has no message {message}")
    return entry


def facts_of_test(policy: Policy, rule: Rule, entry: JournalEntry) -> dict[str, Any]:
    """Return the fields of a test: the facts that a rule asks for, and whether it hits.

    Args:
        policy: whose rule.
        rule: of it.
        entry: of the message.

    Raises:
        CallError: the journal does not keep what the rule asks for.
    """
    facts = facts_then(entry)
    rejudged = Rejudger(policy, NoModels()).judge(entry, None, facts)
    if facts is None or rejudged is None:
        raise CallError("the journal does not keep the facts of that message")
    needed = rule_dependencies(policy).get(rule.name, frozenset())
    conditions = [one.when for one in policy.conditions if one.name in needed]
    texts = [rule.when, *conditions, *([rule.score] if isinstance(rule.score, str) else [])]
    values = {}
    for label in _labels(texts):
        value = _value(label, facts)
        if value is not None:
            values[label] = value
    if rule.name in rejudged.unjudged:
        raise CallError(f"{rule.name} can't be judged on it: {rejudged.unjudged[rule.name]}")
    hits = {hit.name for hit in rejudged.verdict.rules}
    fired = sorted({name for text in texts for name in _FIRED.findall(text)} & hits)
    return {
        "facts": values,
        **({"fired": fired} if fired else {}),
        "hit": rule.name in hits,
    }


def _labels(texts: list[str]) -> list[str]:
    """Return the facts that expressions name, as tests name them."""
    labels = dict[str, None]()
    for text in texts:
        for label in _LABEL.findall(text):
            loads = RuleLoads()
            try:
                piece = ExpressionChecker(SCHEMA, loads).check(label)
            except ExpressionFault:
                continue
            loaded = list(loads.facts.values())
            if len(loaded) == 1 and piece.code == loaded[0].local:
                labels[label] = None
    return list(labels)


def _value(label: str, facts: Facts) -> Any:
    """Return what a fact was; None where a test need not say it.

    Raises:
        CallError: it is not kept, or has too many members.
    """
    loads = RuleLoads()
    piece = ExpressionChecker(SCHEMA, loads).check(label)
    (load,) = loads.facts.values()
    try:
        # the very code that the rule runs, made by the checker of rules
        value = eval(load.code, {"__builtins__": {}, "f": facts})  # noqa: S307
        if isinstance(value, UnkeptFact):
            bool(value)
    except NotKept as error:
        raise CallError(f"{label}: {error}") from error
    if isinstance(value, frozenset | set | tuple | list):
        value = sorted(map(str, value))
        if len(value) > MOST_ITEMS:
            raise CallError(f"{label} has {len(value)} members: too many for a test")
    return None if value is None or not (value or piece.optional) else value
