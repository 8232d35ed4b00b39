"""Verdicts of ours and of another engine on the same messages, added up."""

from __future__ import annotations

import time
from collections import Counter
from typing import Final

import msgspec

from oborona.ident import to_text
from oborona.journal.entry import JournalEntry
from oborona.policy.engine_table import EngineName
from oborona.policy.engines import EngineOpinion, OpinionClass, classify_opinion, opinion_line
from oborona.policy.load import Policy
from oborona.types import Action, RuleMode

RULES: Final = 10  # of a cell, those that hit most of its messages
_SEVERITY: Final = {"good": 0, "perhaps": 1, "certain": 2}
_COLUMNS: Final = {
    Action.ACCEPT: OpinionClass.GOOD,
    Action.SPAM: OpinionClass.PERHAPS,
    Action.REJECT: OpinionClass.CERTAIN,
}
_BY_ENGINE: Final = "ENGINE_"


class ComparedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message on which both differ.

    Args:
        id: its reference.
        at: Unix seconds.
        score: ours.
        sender: MAIL FROM.
        subject: as it came.
        says: the other engine's words.
    """

    id: str
    at: float
    score: float
    sender: str
    subject: str
    says: str


class VerdictCell(msgspec.Struct, kw_only=True):
    """Messages with one pair of verdicts.

    Args:
        ours: good, perhaps or certain; `put off` where nothing was decided.
        theirs: good, perhaps or certain.
        messages: how many.
        rules: of ours that hit them, the most frequent, with how many.
        symbols: the same of theirs.
        examples: the newest, where both differ.
    """

    ours: str
    theirs: str
    messages: int = 0
    rules: list[tuple[str, int]] = []
    symbols: list[tuple[str, int]] = []
    examples: list[ComparedMessage] = []


class VerdictDay(msgspec.Struct, kw_only=True):
    """A day of UTC.

    Args:
        day: as 2026-11-28.
        messages: of which both have a verdict.
        agree: of these.
        stricter: of these, on which ours is the severer.
        milder: of these, on which theirs is.
    """

    day: str
    messages: int = 0
    agree: int = 0
    stricter: int = 0
    milder: int = 0


class EngineTally:
    """Adds up journal entries.

    Args:
        policy: in force: what the engine's words stand for is in it.
        engine: beside ours.
        examples: messages that are named of each pair that differs.
    """

    def __init__(self, policy: Policy, engine: EngineName, examples: int) -> None:
        self.engine = engine
        self._policy = policy
        self._examples = examples
        self._rules: dict[tuple[str, str], tuple[Counter[str], Counter[str]]] = {}
        self._cells: dict[tuple[str, str], VerdictCell] = {}
        self.days: dict[str, VerdictDay] = {}
        self.damaged = 0
        self.unknown = 0
        self.unasked = 0

    @property
    def cells(self) -> dict[tuple[str, str], VerdictCell]:
        """By our verdict and theirs, with the rules that hit most."""
        for key, (rules, symbols) in self._rules.items():
            self._cells[key].rules = rules.most_common(RULES)
            self._cells[key].symbols = symbols.most_common(RULES)
        return self._cells

    def add(self, entry: JournalEntry) -> None:
        """Take one message."""
        said = entry.kept.engines if entry.kept is not None else ()
        opinion = next((one for one in said if one.engine == self.engine), None)
        if opinion is None:
            self.unasked += 1
            return
        theirs = classify_opinion(opinion, self._policy.engines)
        if theirs is OpinionClass.UNKNOWN:
            self.unknown += 1
            return
        key = self._own_verdict(entry), theirs.value
        cell = self._cells.setdefault(key, VerdictCell(ours=key[0], theirs=key[1]))
        cell.messages += 1
        rules, symbols = self._rules.setdefault(key, (Counter(), Counter()))
        rules.update(
            hit.name
            for hit in entry.rules
            if hit.mode is RuleMode.LIVE and hit.score and not hit.name.startswith(_BY_ENGINE)
        )
        symbols.update(opinion.symbols)
        self._day(entry.time, *key)
        if key[0] != key[1]:
            self._example(cell, entry, opinion)

    def _own_verdict(self, entry: JournalEntry) -> str:
        """Return what our own policy said, also where an engine's word made another of it."""
        action = entry.verdict
        if entry.decided_by.startswith(_BY_ENGINE):
            lines = self._policy.verdict
            if entry.score >= lines.reject_score:
                action = Action.REJECT
            else:
                action = Action.SPAM if entry.score >= lines.spam_score else Action.ACCEPT
        column = _COLUMNS.get(action)
        return "put off" if column is None else column.value

    def _day(self, at: float, ours: str, theirs: str) -> None:
        name = time.strftime("%Y-%m-%d", time.gmtime(at))
        day = self.days.setdefault(name, VerdictDay(day=name))
        day.messages += 1
        if ours not in _SEVERITY:
            return
        differ = _SEVERITY[ours] - _SEVERITY[theirs]
        day.agree += not differ
        day.stricter += differ > 0
        day.milder += differ < 0

    def _example(self, cell: VerdictCell, entry: JournalEntry, opinion: EngineOpinion) -> None:
        """Keep the newest, in whatever order they come."""
        cell.examples.append(
            ComparedMessage(
                id=to_text(entry.id),
                at=entry.time,
                score=entry.score,
                sender=entry.sender,
                subject=entry.subject,
                says=opinion_line(opinion),
            )
        )
        cell.examples.sort(key=lambda one: (-one.at, one.id))
        del cell.examples[self._examples :]
