"""Other engines that judge the same message: their opinions, and how these change our verdict;
pure.

An engine's answer (`EngineOpinion`) is evidence and is kept as it came.  The policy gives each
answer a column: good, perhaps or certain, or unknown if the engine did not answer in time.  Our
verdict is a column, too: accept, spam, reject.  The table `[engines]` gives the result, by our
column and the severest of the others:

    the others say    good      perhaps   certain
    ours good         accept    spam      reject
    ours perhaps      spam      spam      reject
    ours certain      reject    reject    reject

Unknown is no column: the verdict is that of the others.  Lists of the site and of readers override
all of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, Protocol

import msgspec

from oborona.policy.engine_table import EngineName, EnginesTable
from oborona.policy.facts import Facts, with_values
from oborona.policy.load import Policy
from oborona.policy.rules import VerdictLines
from oborona.types import Action, Envelope, Finding, RuleHit, RuleMode, ShadowVerdict, Verdict

VIRUS: Final = "virus"
FINDINGS: Final = {
    VIRUS: "a file in which an engine that knows viruses by name is certain to have found one"
}
"""name -> what it says"""
SHOWN: Final = 8  # symbols in the words of a hit

_FOUND: Final = "found"


class OpinionClass(StrEnum):
    """The class of an engine's opinion."""

    GOOD = "good"
    PERHAPS = "perhaps"
    CERTAIN = "certain"
    UNKNOWN = "unknown"  # it gave no answer


_COLUMNS: Final = (OpinionClass.GOOD, OpinionClass.PERHAPS, OpinionClass.CERTAIN)
_OURS: Final = {Action.ACCEPT: 0, Action.SPAM: 1, Action.REJECT: 2}


class EngineOpinion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one engine said of a message, in its own words: printable, and cut."""

    engine: EngineName
    action: str = ""  # rspamd's; of clamd "found" or "ok"
    score: float | None = None
    line: float | None = None  # the score that it holds its own to
    symbols: tuple[str, ...] = ()  # rules of its own that fired, weightiest first
    virus: str = ""  # the name that clamd has for it
    unknown: str = ""  # why it has no opinion; empty = it has one
    ms: float = 0.0  # that it took


class PendingOpinions(Protocol):
    """Opinions of engines on one message that are still awaited."""

    async def said(self) -> tuple[EngineOpinion, ...]:
        """Return what all of them say, once the last has answered or missed its deadline.

        Never raises.
        """
        ...

    def cancel(self) -> None:
        """Stop asking: nobody waits for the answer any more."""
        ...


class OtherEngines(Protocol):
    """Engines beside ours."""

    def ask(
        self, raw: bytes, envelope: Envelope, size: int, policy: Policy
    ) -> PendingOpinions | None:
        """Begin to ask them about a message; returns at once, None where nobody is to be asked.

        Args:
            raw: the message, or its head.
            envelope: of the message.
            size: bytes of the whole message.
            policy: to judge by.
        """
        ...


class NoOtherEngines:
    """There is no other engine."""

    def ask(
        self, raw: bytes, envelope: Envelope, size: int, policy: Policy
    ) -> PendingOpinions | None:
        """Ask nobody."""
        return None


class RememberedEngines:
    """Engines whose opinions on a message are known from its delivery.

    Args:
        words: of each that was asked.
    """

    def __init__(self, words: tuple[EngineOpinion, ...]) -> None:
        self._words = words

    def ask(
        self, raw: bytes, envelope: Envelope, size: int, policy: Policy
    ) -> PendingOpinions | None:
        """Ask nobody."""
        return self if self._words else None

    async def said(self) -> tuple[EngineOpinion, ...]:
        """Return the words."""
        return self._words

    def cancel(self) -> None:
        """Nobody is being asked."""


def classify_opinion(opinion: EngineOpinion, table: EnginesTable) -> OpinionClass:
    """Return what an engine's words stand for under a policy."""
    if opinion.unknown:
        return OpinionClass.UNKNOWN
    return _READINGS[opinion.engine](opinion, table)


def _rspamd(opinion: EngineOpinion, table: EnginesTable) -> OpinionClass:
    if opinion.action in table.rspamd_certain:
        return OpinionClass.CERTAIN
    return OpinionClass.PERHAPS if opinion.action in table.rspamd_perhaps else OpinionClass.GOOD


def _spamd(opinion: EngineOpinion, table: EnginesTable) -> OpinionClass:
    if opinion.score is None or opinion.line is None or opinion.score < opinion.line:
        return OpinionClass.GOOD
    return OpinionClass.CERTAIN if opinion.score >= table.spamd_certain else OpinionClass.PERHAPS


def _clamd(opinion: EngineOpinion, table: EnginesTable) -> OpinionClass:
    if opinion.action != _FOUND:
        return OpinionClass.GOOD
    return (
        OpinionClass.PERHAPS
        if opinion.virus.startswith(table.clamd_perhaps)
        else OpinionClass.CERTAIN
    )


_READINGS: Final[Mapping[EngineName, Callable[[EngineOpinion, EnginesTable], OpinionClass]]] = {
    "rspamd": _rspamd,
    "spamd": _spamd,
    "clamd": _clamd,
}


def engine_findings(opinions: Iterable[EngineOpinion], table: EnginesTable) -> list[Finding]:
    """Return what is found by engines whose word counts: a virus, which no reader's list lets
    in.
    """
    return [
        Finding(VIRUS, f"{opinion.engine}: {opinion.virus}")
        for opinion in opinions
        if opinion.virus
        and opinion.engine not in table.shadow
        and classify_opinion(opinion, table) is OpinionClass.CERTAIN
    ]


def with_engines(facts: Facts, opinions: Sequence[EngineOpinion], table: EnginesTable) -> Facts:
    """Return facts as a policy reads what engines said, whatever another made of it.

    Args:
        facts: of the message.
        opinions: of the message, too.
        table: of the policy.
    """
    names = {opinion.name for opinion in engine_findings(opinions, table)}
    facts = with_values(facts, findings=(facts.findings - FINDINGS.keys()) | names)
    for opinion in opinions:
        word = classify_opinion(opinion, table).value
        match opinion.engine:
            case "rspamd":
                symbols = frozenset(opinion.symbols)
                facts = with_values(
                    facts, rspamd_says=word, rspamd_score=opinion.score, rspamd_symbols=symbols
                )
            case "spamd":
                symbols = frozenset(opinion.symbols)
                facts = with_values(
                    facts, spamd_says=word, spamd_score=opinion.score, spamd_symbols=symbols
                )
            case "clamd":
                facts = with_values(facts, clamd_says=word, clamd_virus=opinion.virus)
    return facts


def joint_verdict(
    verdict: Verdict, opinions: Sequence[EngineOpinion], table: EnginesTable, lines: VerdictLines
) -> Verdict:
    """Return the verdict of all engines together, ours among them.

    Args:
        verdict: ours.
        opinions: what the others say.
        table: of the policy.
        lines: that verdicts are shown with.

    Returns:
        The same where nobody else has an opinion. Else our score, held to the line of what is done;
        `decided_by` is another engine's where the table made something else of it than ours alone.
        `would` is what those in shadow mode, and all else that is, would have made of it.
    """
    if not opinions:
        return verdict
    live = [opinion for opinion in opinions if opinion.engine not in table.shadow]
    action = table_action(verdict.action, live, table)
    decider = "" if action is verdict.action else _decider(live, table)
    hits = sorted(
        filter(None, (_hit(opinion, table) for opinion in opinions)),
        key=lambda hit: hit.name != decider,
    )
    return msgspec.structs.replace(
        verdict,
        action=action,
        line=_line(action, lines) if decider else verdict.line,
        decided_by=decider or verdict.decided_by,
        rules=(
            *(hit for hit in hits if hit.mode is RuleMode.LIVE),
            *verdict.rules,
            *(hit for hit in hits if hit.mode is RuleMode.SHADOW),
        ),
        would=_would(verdict, opinions, action, table, lines),
    )


def table_action(ours: Action, opinions: Iterable[EngineOpinion], table: EnginesTable) -> Action:
    """Return what the table makes of our own action and of what others say."""
    row = _OURS.get(ours)
    column = _severest(opinions, table)
    if row is None or column is None:
        return ours
    return Action((table.ours_good, table.ours_perhaps, table.ours_certain)[row][column])


def action_of(ours: Action, opinions: Sequence[EngineOpinion], table: EnginesTable) -> Action:
    """Return what is done where ours alone would do this; those in shadow mode do nothing."""
    return table_action(
        ours, (opinion for opinion in opinions if opinion.engine not in table.shadow), table
    )


def _counted(opinion: EngineOpinion, table: EnginesTable) -> int | None:
    """Return the column of an engine; None for unknown."""
    opinion_class = classify_opinion(opinion, table)
    if opinion_class is OpinionClass.UNKNOWN:
        return None
    if opinion_class is OpinionClass.CERTAIN and opinion.engine in table.never_refuse:
        opinion_class = OpinionClass.PERHAPS
    return _COLUMNS.index(opinion_class)


def _severest(opinions: Iterable[EngineOpinion], table: EnginesTable) -> int | None:
    return max(
        (column for opinion in opinions if (column := _counted(opinion, table)) is not None),
        default=None,
    )


def _decider(opinions: Sequence[EngineOpinion], table: EnginesTable) -> str:
    """Return the name of the engine whose column decided: the first of the severest."""
    severest = _severest(opinions, table)
    return next(
        rule_name(opinion.engine) for opinion in opinions if _counted(opinion, table) == severest
    )


def rule_name(engine: EngineName) -> str:
    """Return how verdicts, headers and logs name an engine."""
    return f"ENGINE_{engine.upper()}"


def _line(action: Action, lines: VerdictLines) -> float:
    return lines.reject_score if action is Action.REJECT else lines.spam_score


def _hit(opinion: EngineOpinion, table: EnginesTable) -> RuleHit | None:
    """Return an engine's part in a verdict; None where it is good or unknown."""
    if classify_opinion(opinion, table) not in (OpinionClass.PERHAPS, OpinionClass.CERTAIN):
        return None
    mode = RuleMode.SHADOW if opinion.engine in table.shadow else RuleMode.LIVE
    return RuleHit(name=rule_name(opinion.engine), score=0.0, say=opinion_line(opinion), mode=mode)


def opinion_line(opinion: EngineOpinion) -> str:
    """Return an engine's words in one line."""
    if opinion.unknown:
        return f"unknown: {opinion.unknown}"
    if opinion.virus:
        return opinion.virus
    parts = [opinion.action] if opinion.action else []
    if opinion.score is not None:
        parts.append(
            f"{opinion.score:.1f} / {opinion.line:g}"
            if opinion.line is not None
            else f"{opinion.score:.1f}"
        )
    more = len(opinion.symbols) - SHOWN
    named = ", ".join(opinion.symbols[:SHOWN]) + (f" and {more} more" if more > 0 else "")
    return " ".join(parts) + (f": {named}" if named else "")


def _would(
    verdict: Verdict,
    opinions: Sequence[EngineOpinion],
    actual: Action,
    table: EnginesTable,
    lines: VerdictLines,
) -> ShadowVerdict | None:
    """Return what everything in shadow mode would have made of it, None where that is what was
    given.
    """
    ours = verdict.would or verdict
    action = table_action(ours.action, opinions, table)
    if action is actual:
        return None
    changed = action is not ours.action
    return ShadowVerdict(
        action=action,
        score=ours.score,
        line=_line(action, lines) if changed else ours.line,
        decided_by=_decider(opinions, table) if changed else ours.decided_by,
    )
