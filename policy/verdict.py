"""The one place where a verdict is decided: facts and what is given beside them in, verdict out.

Pure.

    facts → scripts → rules → caps of groups → final model, karma → decision → engines' table →
    local lists

The content, the stages before it, evidence that came late, the recheck, `oborona policy replay` and
`oborona explain` differ in what they know, and in nothing else.  What gives the facts stands in
`oborona.policy.scan` and `oborona.policy.glance`, and in `oborona.recheck.then` for a message of
the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from oborona.authentication.model import Identity
from oborona.policy.decide import decide, enforced, with_findings
from oborona.policy.engines import EngineSays, engine_findings, together, with_engines
from oborona.policy.facts import Facts
from oborona.policy.groups import capped
from oborona.policy.history import refusal
from oborona.policy.karma import karma_hits
from oborona.policy.load import Policy
from oborona.policy.local import match, shadowed, uncounted
from oborona.policy.models.ports import FinalModel, Untaught
from oborona.policy.outward import told
from oborona.policy.scripts.scripts import Judged
from oborona.reputation.locallists import Match
from oborona.types import Action, Envelope, Finding, RuleHit, Stage, Verdict

_UNTAUGHT: Final = Untaught()
_WHOLE: Final = (Stage.CONTENT, Stage.RECHECK)  # stages that have seen the message


class Grounds(msgspec.Struct, frozen=True, kw_only=True):
    """What a verdict rests on beside facts; the facts name all of its findings."""

    envelope: Envelope  # as far as it is known
    identity: Identity = Identity()  # what was proved
    author: str = ""  # the address in From
    hits: Sequence[RuleHit] = ()  # of DNS lists and signatures
    findings: Sequence[Finding] = ()  # in the message
    missing: Sequence[Finding] = ()  # what could not be learned of it
    engines: Sequence[EngineSays] = ()  # what other engines say
    young: bool = False  # the memory of the counters is: it refuses nobody


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict, and what came up on the way to it."""

    verdict: Verdict
    facts: Facts  # as rules saw them
    listed: Match | None  # the entry of a local list that decided
    failed: tuple[str, ...]  # for the log: scripts and rules that failed


class Evaluator(msgspec.Struct):
    """What a policy says of facts, part by part.

    A message of the journal, of which not all is kept, has another.
    """

    policy: Policy  # to judge by
    final: FinalModel = _UNTAUGHT  # the final model in force; there is none before the content

    def scripts(self, facts: Facts, stage: Stage) -> Judged:
        """Return what scripts find, their rules that fire, and the facts with their findings."""
        return (
            Judged(facts)
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
            facts, told(hits, self.policy), self.policy.final, self.policy.verdict
        )

    def karma(self, facts: Facts, hits: Sequence[RuleHit]) -> Sequence[RuleHit]:
        """Return karma's part."""
        return karma_hits(facts, hits, self.policy.karma, self.policy.groups)


def judge(
    facts: Facts,
    grounds: Grounds,
    stage: Stage,
    evaluator: Evaluator,
    *,
    step: Callable[[], None] = lambda: None,
) -> Ruling:
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
    policy, envelope, said = evaluator.policy, grounds.envelope, grounds.engines
    lines, whole = policy.verdict, stage in _WHOLE
    findings = grounds.findings
    if said:
        facts = with_engines(facts, said, policy.engines)
        findings = [*findings, *engine_findings(said, policy.engines)]
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
        *shadowed(*lists),
        *([remembered] if remembered else []),
    ]
    fired, failed = evaluator.rules(facts, stage, before)
    hits = [*fired, *before]
    held = capped(hits, policy.groups)
    weighed, karma = evaluator.model(facts, held), evaluator.karma(facts, held)
    if karma:
        held = capped([*hits, *karma], policy.groups)
    verdict = decide(
        [*held, *weighed],
        [*findings, *grounds.missing, *scripted.findings],
        spam_score=lines.spam_score,
        reject_score=lines.reject_score,
        shadow_spam_score=lines.shadow_spam_score,
        shadow_reject_score=lines.shadow_reject_score,
        groups=policy.groups,
    )
    verdict = together(verdict, said, policy.engines, lines)
    listed = match(*lists)
    if listed is not None:
        verdict = enforced(verdict, listed, reject_score=lines.reject_score)
    # where an allow would have made a difference
    elif whole and verdict.action is not Action.ACCEPT:
        verdict = with_findings(
            verdict, uncounted(policy.local_lists, envelope, grounds.identity, grounds.author)
        )
    return Ruling(
        verdict=verdict, facts=facts, listed=listed, failed=(*map(str, scripted.problems), *failed)
    )
