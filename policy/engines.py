"""Other engines that look at the same message: what each says of it, and what that makes of our
verdict; pure.

An engine's own words (`EngineOpinion`) are evidence: they are kept as they came.  What they stand
for is policy: each engine has a column, good, perhaps or certain, or unknown where it gave no
answer in time.  Ours is a column, too: accept, spam, reject.  The table `[engines]` says what is
done, by our column and the severest of the others:

    the others say    good      perhaps   certain
    ours good         accept    spam      reject
    ours perhaps      spam      spam      reject
    ours certain      reject    reject    reject

Unknown is no column: the verdict is that of the others.  Lists of the site and of readers stand
above all of this.
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
    """What an engine's opinion stands for."""

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
    """Engines that are being asked about one message."""

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
    """Engines whose words on a message are known from when it came.

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


def classify_opinion(one: EngineOpinion, table: EnginesTable) -> OpinionClass:
    """Return what an engine's words stand for under a policy."""
    if one.unknown:
        return OpinionClass.UNKNOWN
    return _READINGS[one.engine](one, table)


def _rspamd(one: EngineOpinion, table: EnginesTable) -> OpinionClass:
    if one.action in table.rspamd_certain:
        return OpinionClass.CERTAIN
    return OpinionClass.PERHAPS if one.action in table.rspamd_perhaps else OpinionClass.GOOD


def _spamd(one: EngineOpinion, table: EnginesTable) -> OpinionClass:
    if one.score is None or one.line is None or one.score < one.line:
        return OpinionClass.GOOD
    return OpinionClass.CERTAIN if one.score >= table.spamd_certain else OpinionClass.PERHAPS


def _clamd(one: EngineOpinion, table: EnginesTable) -> OpinionClass:
    if one.action != _FOUND:
        return OpinionClass.GOOD
    return (
        OpinionClass.PERHAPS if one.virus.startswith(table.clamd_perhaps) else OpinionClass.CERTAIN
    )


_READINGS: Final[Mapping[EngineName, Callable[[EngineOpinion, EnginesTable], OpinionClass]]] = {
    "rspamd": _rspamd,
    "spamd": _spamd,
    "clamd": _clamd,
}


def engine_findings(said: Iterable[EngineOpinion], table: EnginesTable) -> list[Finding]:
    """Return what is found by engines whose word counts: a virus, which no reader's list lets
    in.
    """
    return [
        Finding(VIRUS, f"{one.engine}: {one.virus}")
        for one in said
        if one.virus
        and one.engine not in table.shadow
        and classify_opinion(one, table) is OpinionClass.CERTAIN
    ]


def with_engines(facts: Facts, said: Sequence[EngineOpinion], table: EnginesTable) -> Facts:
    """Return facts as a policy reads what engines said, whatever another made of it.

    Args:
        facts: of the message.
        said: of the message, too.
        table: of the policy.
    """
    names = {one.name for one in engine_findings(said, table)}
    facts = with_values(facts, findings=(facts.findings - FINDINGS.keys()) | names)
    for one in said:
        word = classify_opinion(one, table).value
        match one.engine:
            case "rspamd":
                symbols = frozenset(one.symbols)
                facts = with_values(
                    facts, rspamd_says=word, rspamd_score=one.score, rspamd_symbols=symbols
                )
            case "spamd":
                symbols = frozenset(one.symbols)
                facts = with_values(
                    facts, spamd_says=word, spamd_score=one.score, spamd_symbols=symbols
                )
            case "clamd":
                facts = with_values(facts, clamd_says=word, clamd_virus=one.virus)
    return facts


def joint_verdict(
    verdict: Verdict, said: Sequence[EngineOpinion], table: EnginesTable, lines: VerdictLines
) -> Verdict:
    """Return the verdict of all engines together, ours among them.

    Args:
        verdict: ours.
        said: what the others say.
        table: of the policy.
        lines: that verdicts are shown with.

    Returns:
        The same where nobody else has an opinion. Else our score, held to the line of what is done;
        `decided_by` is another engine's where the table made something else of it than ours alone.
        `would` is what those in shadow mode, and all else that is, would have made of it.
    """
    if not said:
        return verdict
    live = [one for one in said if one.engine not in table.shadow]
    action = table_action(verdict.action, live, table)
    decider = "" if action is verdict.action else _decider(live, table)
    hits = sorted(
        filter(None, (_hit(one, table) for one in said)), key=lambda hit: hit.name != decider
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
        would=_would(verdict, said, action, table, lines),
    )


def table_action(ours: Action, said: Iterable[EngineOpinion], table: EnginesTable) -> Action:
    """Return what the table makes of our own action and of what others say."""
    row = _OURS.get(ours)
    column = _severest(said, table)
    if row is None or column is None:
        return ours
    return Action((table.ours_good, table.ours_perhaps, table.ours_certain)[row][column])


def action_of(ours: Action, said: Sequence[EngineOpinion], table: EnginesTable) -> Action:
    """Return what is done where ours alone would do this; those in shadow mode do nothing."""
    return table_action(ours, (one for one in said if one.engine not in table.shadow), table)


def _counted(one: EngineOpinion, table: EnginesTable) -> int | None:
    """Return the column of an engine; None for unknown."""
    found = classify_opinion(one, table)
    if found is OpinionClass.UNKNOWN:
        return None
    if found is OpinionClass.CERTAIN and one.engine in table.never_refuse:
        found = OpinionClass.PERHAPS
    return _COLUMNS.index(found)


def _severest(said: Iterable[EngineOpinion], table: EnginesTable) -> int | None:
    return max(
        (column for one in said if (column := _counted(one, table)) is not None), default=None
    )


def _decider(said: Sequence[EngineOpinion], table: EnginesTable) -> str:
    """Return the name of the engine whose column decided: the first of the severest."""
    severest = _severest(said, table)
    return next(rule_name(one.engine) for one in said if _counted(one, table) == severest)


def rule_name(engine: EngineName) -> str:
    """Return how verdicts, headers and logs name an engine."""
    return f"ENGINE_{engine.upper()}"


def _line(action: Action, lines: VerdictLines) -> float:
    return lines.reject_score if action is Action.REJECT else lines.spam_score


def _hit(one: EngineOpinion, table: EnginesTable) -> RuleHit | None:
    """Return an engine's part in a verdict; None where it is good or unknown."""
    if classify_opinion(one, table) not in (OpinionClass.PERHAPS, OpinionClass.CERTAIN):
        return None
    mode = RuleMode.SHADOW if one.engine in table.shadow else RuleMode.LIVE
    return RuleHit(name=rule_name(one.engine), score=0.0, say=opinion_line(one), mode=mode)


def opinion_line(one: EngineOpinion) -> str:
    """Return an engine's words in one line."""
    if one.unknown:
        return f"unknown: {one.unknown}"
    if one.virus:
        return one.virus
    parts = [one.action] if one.action else []
    if one.score is not None:
        parts.append(
            f"{one.score:.1f} / {one.line:g}" if one.line is not None else f"{one.score:.1f}"
        )
    more = len(one.symbols) - SHOWN
    named = ", ".join(one.symbols[:SHOWN]) + (f" and {more} more" if more > 0 else "")
    return " ".join(parts) + (f": {named}" if named else "")


def _would(
    verdict: Verdict,
    said: Sequence[EngineOpinion],
    given: Action,
    table: EnginesTable,
    lines: VerdictLines,
) -> ShadowVerdict | None:
    """Return what everything in shadow mode would have made of it, None where that is what was
    given.
    """
    ours = verdict.would or verdict
    action = table_action(ours.action, said, table)
    if action is given:
        return None
    changed = action is not ours.action
    return ShadowVerdict(
        action=action,
        score=ours.score,
        line=_line(action, lines) if changed else ours.line,
        decided_by=_decider(said, table) if changed else ours.decided_by,
    )
