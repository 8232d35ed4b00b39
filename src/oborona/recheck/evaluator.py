"""Evaluates a policy on a journaled message, of which not all facts are kept: pure.

Some facts are not kept, above all the text.  A rule that asks for one, itself or by way of another
rule, keeps its old result if the policy of that time asked the same
(`recheck.rule_fingerprints`); otherwise it is not judged, and the reason is reported.  The same
holds for the rules and checks of scripts, which are then not run, for the final model and for
karma.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from oborona.journal.entry import JournalEntry
from oborona.policy.facts import Facts, with_values
from oborona.policy.final_table import FinalMode
from oborona.policy.groups import uncapped_hit
from oborona.policy.karma import KARMA
from oborona.policy.load import Policy
from oborona.policy.models.final.features import NAME as FINAL_MODEL
from oborona.policy.rules import MAX_SCORE, Rule
from oborona.policy.scripts.scripts import SCRIPT_FAILED, ScriptResults, SkippedFunctions
from oborona.policy.verdict import Evaluator
from oborona.recheck.facts_at_delivery import NotKept, readable
from oborona.recheck.rule_fingerprints import rule_dependencies, rule_fingerprints
from oborona.types import RuleHit, RuleMode, Stage

HANGS: Final = "depends on {}, which can't be judged"


class RuleIndex:
    """The rules and checks of a policy by name, with what each asks and what hangs on it.

    Args:
        policy: to judge by.

    Attributes:
        asks: what each rule asks (`recheck.rule_fingerprints`).
        rules: those switched on.
        checks: findings of scripts, in the order in which these tell them.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.asks = rule_fingerprints(policy)
        self.rules: Mapping[str, Rule] = {rule.name: rule for rule in policy.rules if rule.enabled}
        scripts = policy.scripts
        self.checks = (
            (*(check.name for check in scripts.functions if check.rule is None), SCRIPT_FAILED)
            if scripts
            else ()
        )
        self._hanging: dict[str, list[str]] = {}  # rule or condition → rules that hang on it
        for name, others in rule_dependencies(policy).items():
            for dependent in others if name in self.rules else ():
                self._hanging.setdefault(dependent, []).append(name)

    def hung(self, names: Iterable[str]) -> dict[str, str]:
        """Return the rules that hang on others, with why that is of interest."""
        return {
            dependent: HANGS.format(name)
            for name in names
            for dependent in self._hanging.get(name, ())
        }

    def failed(self, errors: Iterable[str]) -> dict[str, str]:
        """Return the rules that failed, and those that hang on what failed, with why."""
        failed: dict[str, str] = {}
        for error in errors:
            name, _, why = error.partition(": ")
            if name in self.rules:
                failed[name] = why.removeprefix(f"{NotKept.__name__}: ")
            failed = self.hung([name]) | failed
        return failed

    def bounds(self, unjudged: Iterable[str]) -> tuple[float, float]:
        """Return the lowest and the highest that rules could add that were not judged."""
        low = high = 0.0
        for name in unjudged:
            if name == KARMA:
                table = self.policy.karma
                low += table.best if table.mode is RuleMode.LIVE else 0.0
                high += table.worst if table.mode is RuleMode.LIVE else 0.0
                continue
            rule = self.rules.get(name)
            if rule is None and self.policy.final.mode is FinalMode.SHADOW:  # of the models
                high += self.policy.final.shipped_points_confirmed
            elif rule is None or rule.mode is RuleMode.LIVE:
                score = None if rule is None or isinstance(rule.score, str) else rule.score
                low += -MAX_SCORE if score is None else min(0.0, score)
                high += MAX_SCORE if score is None else max(0.0, score)
        return low, high


class EntryEvaluator(Evaluator, kw_only=True):
    """An `Evaluator` for one message of the journal."""

    index: RuleIndex  # of the policy
    entry: JournalEntry  # of the message
    asked: Mapping[str, str] | None  # what each rule asked then; None = not known
    # what was not judged by now, with why
    unjudged: dict[str, str] = msgspec.field(default_factory=dict)
    blind: dict[str, str] = msgspec.field(
        default_factory=dict
    )  # rules of scripts that did not run, and what hangs on these

    def scripts(self, facts: Facts, stage: Stage) -> ScriptResults:
        """Return what scripts say.

        Of those that ask for what is not kept, the findings are those of then.
        """
        scripts, checks = self.policy.scripts, self.index.checks
        if scripts is None:
            return ScriptResults(facts)
        plain, unkept = readable(facts)
        blind = {
            function.name: function
            for function in scripts.functions
            if function.stage.order <= stage.order and function.named & unkept
        }
        present = facts.findings & blind.keys()
        stale = with_values(plain, findings=plain.findings.difference(checks))
        fresh = scripts.judge(stale, stage, SkippedFunctions(frozenset(blind), present))
        untouched = present | (facts.findings & {SCRIPT_FAILED} if blind else frozenset())
        findings = {
            finding.name: finding for finding in self.entry.findings if finding.name in untouched
        }
        findings |= {finding.name: finding for finding in fresh.findings}
        asking = {
            name: f"asks for {', '.join(sorted(function.named & unkept))}, which is not kept"
            for name, function in blind.items()
            if function.rule is not None and function.enabled
        }
        self.blind = asking | self.index.hung(asking)
        names = facts.findings.difference(checks) | findings.keys() | untouched
        return fresh._replace(
            facts=with_values(facts, findings=names),
            findings=tuple(findings[name] for name in checks if name in findings),
        )

    def rules(
        self, facts: Facts, stage: Stage, before: Sequence[RuleHit]
    ) -> tuple[list[RuleHit], Sequence[str]]:
        """Return the hits of rules, those of then for rules that can't be run and asked the
        same.
        """
        hits, errors = super().rules(facts, stage, before)
        failed = self.blind | self.index.failed(errors)
        if not failed:
            return hits, ()
        fired = {hit.name: hit for hit in self.entry.rules}
        hits = [hit for hit in hits if hit.name not in failed]
        for name, why in failed.items():
            if self.asked is None or self.asked.get(name) != self.index.asks[name]:
                self.unjudged[name] = why
            elif name in fired:
                hits.append(_as_now(fired[name], self.index.rules[name]))
        return hits, ()

    def model(self, facts: Facts, hits: Sequence[RuleHit]) -> Sequence[RuleHit]:
        """Return the final model's part; nothing where it can't be told."""
        try:
            return super().model(facts, hits)
        except NotKept as error:
            self.unjudged[FINAL_MODEL] = str(error)
            return ()

    def karma(self, facts: Facts, hits: Sequence[RuleHit]) -> Sequence[RuleHit]:
        """Return karma's part; nothing where it can't be told."""
        try:
            return super().karma(facts, hits)
        except NotKept as error:
            self.unjudged[KARMA] = str(error)
            return ()


def _as_now(hit: RuleHit, rule: Rule) -> RuleHit:
    """Return a hit of then with the score and mode that the rule has now.

    A score that was worked out stays.
    """
    hit = uncapped_hit(hit)
    score = hit.score if isinstance(rule.score, str) or rule.scripted else rule.score
    return msgspec.structs.replace(hit, score=score, mode=rule.mode)
