"""The one place where a verdict is decided: facts and what is given beside them in, verdict out.

Pure.

    facts → scripts → rules → caps of groups → final model, karma → decision → engines' table →
    local lists

The content, the stages before it, evidence that came late, the recheck, `oborona policy replay` and
`oborona explain` differ in what they know, and in nothing else.  What gives the facts stands in
`oborona.policy.scan` and `oborona.policy.envelope_stages`, and in
`oborona.recheck.facts_at_delivery` for a message of the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from oborona.authentication.model import AuthIdentity
from oborona.policy.decision import decide, enforced_verdict, with_findings
from oborona.policy.disclosure import public_hits
from oborona.policy.engines import EngineOpinion, engine_findings, joint_verdict, with_engines
from oborona.policy.facts import Facts
from oborona.policy.groups import cap_hits
from oborona.policy.history import refusal
from oborona.policy.karma import karma_hits
from oborona.policy.load import Policy
from oborona.policy.local_list_match import match_local_lists, shadow_matches, uncounted_allows
from oborona.policy.models.ports import FinalModel, NoModels
from oborona.policy.scripts.scripts import ScriptResults
from oborona.reputation.locallists import LocalListMatch
from oborona.types import Action, Envelope, Finding, RuleHit, Stage, Verdict

_UNTAUGHT: Final = NoModels()
_WHOLE: Final = (Stage.CONTENT, Stage.RECHECK)  # stages that have seen the message


class VerdictGrounds(msgspec.Struct, frozen=True, kw_only=True):
    """The grounds of a verdict beside facts; the facts name all of its findings."""

    envelope: Envelope  # as far as it is known
    identity: AuthIdentity = AuthIdentity()  # what was proved
    author: str = ""  # the address in From
    hits: Sequence[RuleHit] = ()  # of DNS lists and signatures
    findings: Sequence[Finding] = ()  # in the message
    missing: Sequence[Finding] = ()  # what could not be learned of it
    engines: Sequence[EngineOpinion] = ()  # what other engines say
    young: bool = False  # the memory of the counters is: it refuses nobody


class VerdictRuling(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict, and what came up on the way to it."""

    verdict: Verdict
    facts: Facts  # as rules saw them
    listed: LocalListMatch | None  # the entry of a local list that decided
    failed: tuple[str, ...]  # for the log: scripts and rules that failed


class Evaluator(msgspec.Struct):
    """Evaluates the parts of a policy on facts.

    A message of the journal, of which not all is kept, has another.
    """

    policy: Policy  # to judge by
    final: FinalModel = _UNTAUGHT  # the final model in force; there is none before the content

    def scripts(self, facts: Facts, stage: Stage) -> ScriptResults:
        """Return what scripts find, their rules that fire, and the facts with their findings."""
        return (
            ScriptResults(facts)
            if self.policy.scripts is None
            else self.policy.scripts.judge(facts, stage)
        )

    def rules(
        self, facts: Facts, stage: Stage, before: Sequence[RuleHit]
    ) -> tuple[list[RuleHit], Sequence[str]]:
        """Return the rules that fire, and what went wrong with others.

        `before` is what others hit.
        """
        return self.policy.compiled.run(facts, stage, before)

    def model(self, facts: Facts, hits: Sequence[RuleHit]) -> Sequence[RuleHit]:
        """Return the final model's part; it knows nothing of what is private."""
        return self.final.weigh(
            facts,
            public_hits(hits, self.policy),
            self.policy.final,
            self.policy.verdict,
            self.policy.groups,
        )

    def karma(self, facts: Facts, hits: Sequence[RuleHit]) -> Sequence[RuleHit]:
        """Return karma's part."""
        return karma_hits(facts, hits, self.policy.karma, self.policy.groups)


def judge(
    facts: Facts,
    grounds: VerdictGrounds,
    stage: Stage,
    evaluator: Evaluator,
    *,
    step: Callable[[], None] = lambda: None,
) -> VerdictRuling:
    """Decide a message, or a stage before its content.

    Args:
        facts: as far as `stage` knows them, without what engines and scripts find.
        grounds: what is given beside them.
        stage: whose rules and scripts, and those before it, are asked.
        evaluator: of the policy.
        step: is called between two parts; what it raises ends the judgement.

    Returns:
        A local list decides whatever else is said.  The final model weighs all but karma, under the
        caps; its part is under none.
    """
    policy, envelope, opinions = evaluator.policy, grounds.envelope, grounds.engines
    lines, whole = policy.lines(envelope), stage in _WHOLE
    findings = grounds.findings
    if opinions:
        facts = with_engines(facts, opinions, policy.engines)
        findings = [*findings, *engine_findings(opinions, policy.engines)]
    lists = (
        policy.local_lists,
        envelope,
        Stage.CONTENT if whole else stage,
        grounds.identity,
        grounds.author,
    )
    # a client with a bad history is refused when it connects; where nothing is refused its mail is
    # marked
    remembered = refusal(facts.known, envelope, policy, young=grounds.young) if whole else None
    scripted = evaluator.scripts(facts, stage)
    facts = scripted.facts
    step()
    before = [
        *scripted.hits,
        *grounds.hits,
        *shadow_matches(*lists),
        *([remembered] if remembered else []),
    ]
    fired, failed = evaluator.rules(facts, stage, before)
    hits = [*fired, *before]
    capped = cap_hits(hits, policy.groups)
    weighed, karma = evaluator.model(facts, capped), evaluator.karma(facts, capped)
    if karma:
        capped = cap_hits([*hits, *karma], policy.groups)
    verdict = decide(
        [*capped, *weighed],
        [*findings, *grounds.missing, *scripted.findings],
        spam_score=lines.spam_score,
        reject_score=lines.reject_score,
        shadow_spam_score=lines.shadow_spam_score,
        shadow_reject_score=lines.shadow_reject_score,
        groups=policy.groups,
    )
    verdict = joint_verdict(verdict, opinions, policy.engines, lines)
    listed = match_local_lists(*lists)
    if listed is not None:
        verdict = enforced_verdict(verdict, listed, reject_score=lines.reject_score)
    # where an allow would have made a difference
    elif whole and verdict.action is not Action.ACCEPT:
        verdict = with_findings(
            verdict,
            uncounted_allows(policy.local_lists, envelope, grounds.identity, grounds.author),
        )
    return VerdictRuling(
        verdict=verdict, facts=facts, listed=listed, failed=(*map(str, scripted.problems), *failed)
    )
