"""What each rule costs a message: its own compiled function, timed on the facts of real
messages.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Final

from oborona.policy.expression import CompiledRules, compile_rules
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.load import Policy
from oborona.policy.rules import Rule
from oborona.recheck.rule_fingerprints import rule_dependencies
from oborona.types import Stage

ROUNDS: Final = 5  # the best counts: what is longer was the machine's other work
REPEATED: Final = 10  # times in one measurement: the clock's own step is some 50 ns
SCRIPTS: Final = "all scripts together"  # stands where a rule's name stands: they are run in one go
_SCHEMA: Final = replace(SCHEMA, findings=None)  # checks of scripts have findings of their own
_NAME: Final = re.compile(r"\b[A-Z][A-Z0-9_]*\b")


def costs(policy: Policy, sample: Sequence[Facts]) -> dict[str, float]:
    """Return the cost of each rule that is switched on, in microseconds a message: the median over
    the sample.

    What a rule names (conditions, other rules) is no part of its cost: that is paid once for all
    who name it.

    Args:
        policy: whose rules.
        sample: facts of messages; empty gives no costs.
    """
    if not sample:
        return {}
    hanging = rule_dependencies(policy)
    rules = {rule.name: rule for rule in policy.rules if rule.enabled and not rule.scripted}
    seconds = {}
    for name, rule in rules.items():
        others = [rules[other] for other in sorted(hanging[name]) if other in rules]
        alone, beside = (_compiled(policy, some, hanging) for some in (others, [*others, rule]))
        seconds[name] = max(0.0, _timed(_runs(beside), sample) - _timed(_runs(alone), sample))
    scripts = policy.scripts
    if scripts is not None:
        seconds[SCRIPTS] = _timed(lambda facts: scripts.judge(facts, Stage.CONTENT), sample)
    return seconds


def _compiled(
    policy: Policy, rules: Sequence[Rule], hanging: Mapping[str, frozenset[str]]
) -> CompiledRules:
    """Return some rules as a function.

    What else they name is a list or a script, and counts as not hit.
    """
    texts = " ".join(f"{rule.when} {rule.score}" for rule in rules)
    names = {rule.name for rule in rules} | {condition.name for condition in policy.conditions}
    before = {name: Stage.CONNECT for name in _NAME.findall(texts) if name not in names}
    conditions = [
        condition
        for condition in policy.conditions
        if any(condition.name in hanging[rule.name] for rule in rules)
    ]
    return compile_rules(rules, _SCHEMA, conditions, before)


def _runs(compiled: CompiledRules) -> Callable[[Facts], object]:
    return lambda facts: compiled.run(facts, Stage.CONTENT)


def _timed(run: Callable[[Facts], object], sample: Sequence[Facts]) -> float:
    """Return the median over all messages of what one run takes, in microseconds."""
    return median(min(_time_once(run, facts) for _ in range(ROUNDS)) for facts in sample)


def _time_once(run: Callable[[Facts], object], facts: Facts) -> float:
    start = time.perf_counter_ns()
    for _ in range(REPEATED):
        run(facts)
    return (time.perf_counter_ns() - start) / REPEATED / 1000
