"""What a policy would have made of the newest messages of the journal."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.desk.low_priority import run_aside
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventKind
from oborona.ident import to_text
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.policy.load import Policy
from oborona.policy.models.ports import FinalModel
from oborona.recheck.comparison import ComparedVerdict, VerdictComparison, VerdictPair
from oborona.recheck.engine.copies import by_site, may_move
from oborona.recheck.facts_at_delivery import why_not
from oborona.recheck.rejudgement import Rejudged, Rejudger, action_given
from oborona.types import Action, Verdict

AT_ONCE: Final = 100  # entries that are read together
MOST_MESSAGES: Final = 20_000
DAMAGED: Final = "damaged in the journal"


class RuleEffectChange(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one rule.

    Args:
        rule: its name.
        gained: messages that it hits, and did not before.
        lost: the other way round.
        decides: messages whose verdict it decides, more (or fewer) than before.
        before: messages that it hit.
        after: that it hits.
        unjudged: on which it can't be judged.
    """

    rule: str
    gained: int
    lost: int
    decides: int
    before: int
    after: int
    unjudged: int


class PreviewExample(msgspec.Struct, frozen=True, kw_only=True):
    """A message whose verdict would be another.

    Args:
        change: "accept → spam".
        id: of the message.
        sender: in the envelope.
        subject: of the message.
        before: score, and what decided.
        after: the same.
        gained: rules that hit it, and did not before.
        lost: the other way round.
        unjudged: rules that can't be judged on it.
        said: what readers said of it.
    """

    change: str
    id: str
    sender: str
    subject: str
    before: tuple[float, str]
    after: tuple[float, str]
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


class PolicyPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy would have made of messages.

    Args:
        messages: that were judged again.
        complete: all that were asked for; else the time was over.
        since: Unix seconds of the oldest; 0 = none.
        differing: verdicts that would be another for certain.
        changes: messages by "accept → spam"; "… → uncertain": rules can't be judged again.
        left_out: messages of which nothing can be said, by why.
        rules: of which anything becomes, most changed first.
        examples: a few of each change.
        good: messages that were delivered as good mail.
        good_lost: of these, those that would not be.
        to_spam: delivered messages whose copies the second look would move to the spam folder.
        to_inbox: filed ones of which it might move copies to the inbox, where something was
            learned that speaks for them.
        said: what readers said of messages whose verdict differs, by change and what was said.
        seconds: it took.
    """

    messages: int = 0
    complete: bool = True
    since: float = 0.0
    differing: int = 0
    changes: dict[str, int] = {}
    left_out: dict[str, int] = {}
    rules: tuple[RuleEffectChange, ...] = ()
    examples: tuple[PreviewExample, ...] = ()
    good: int = 0
    good_lost: int = 0
    to_spam: int = 0
    to_inbox: int = 0
    said: dict[str, dict[str, int]] = {}
    seconds: float = 0.0


class _Trial:
    """Judges messages by a policy, and adds up."""

    def __init__(
        self, policy: Policy, final: FinalModel, examples: int, window_s: float, now: float
    ) -> None:
        self._judge = Rejudger(policy, final)
        self._moved_since = now - window_s
        self.comparison = VerdictComparison(examples)
        self.differing: dict[int, str] = {}  # change of each message whose verdict differs
        self.good = self.good_lost = self.to_spam = self.to_inbox = 0
        self.seen = 0
        self.since = 0.0

    def take(self, entry: JournalEntry | int, versions: dict[str, dict[str, str]]) -> None:
        """Judge one message."""
        self.seen += 1
        if isinstance(entry, int):
            self.comparison.leave_out(DAMAGED)
            return
        self.since = entry.time
        rejudged = self._judge.judge(entry, versions.get(entry.policy_version))
        if rejudged is None:
            self.comparison.leave_out(why_not(entry))
            return
        pair = journal_pair(entry, rejudged)
        self.comparison.add(pair)
        if pair.change:
            self.differing[entry.id] = pair.change
        if pair.before.action is Action.ACCEPT:
            self.good += 1
            self.good_lost += pair.mildest is not Action.ACCEPT
        self._moves(by_site(entry), rejudged)

    def _moves(self, entry: JournalEntry, rejudged: Rejudged) -> None:
        if entry.time < self._moved_since:
            return
        filed = entry.verdict is Action.SPAM
        if filed or entry.verdict is Action.ACCEPT:
            moved = may_move(rejudged, filed=filed)
            self.to_inbox += moved and filed
            self.to_spam += moved and not filed


def preview(
    policy: Policy,
    site: Site,
    *,
    messages: int,
    within_s: float,
    examples: int = 3,
) -> PolicyPreview:
    """Judge the newest messages of the journal by a policy.

    Args:
        policy: to judge by.
        site: whose journal and final model.
        messages: so many.
        within_s: when this is over, what was found so far is returned.
        examples: of each change.

    Raises:
        StoreError: the journal can't be read.
    """
    started = time.monotonic()
    state, window_s = site.state, site.loaded.settings.recheck.window_hours * 3600
    trial = _Trial(policy, site.final(), examples, window_s, time.time())
    complete = run_aside(lambda: asyncio.run(_read(trial, state, messages, started + within_s)))
    said, by_message = _said(trial.differing, state)
    comparison = trial.comparison
    return PolicyPreview(
        messages=comparison.messages,
        complete=complete,
        since=trial.since,
        differing=comparison.differing,
        changes=dict(comparison.changes.most_common()),
        left_out=dict(comparison.left_out.most_common()),
        rules=tuple(
            RuleEffectChange(
                rule=name,
                gained=rule.gained,
                lost=rule.lost,
                decides=rule.decided_after - rule.decided_before,
                before=rule.before,
                after=rule.after,
                unjudged=rule.unjudged,
            )
            for name, rule in comparison.differing_rules()
        ),
        examples=tuple(
            _example(change, pair, by_message)
            for change, pairs in comparison.examples.items()
            for pair in pairs
        ),
        good=trial.good,
        good_lost=trial.good_lost,
        to_spam=trial.to_spam,
        to_inbox=trial.to_inbox,
        said={change: dict(words.most_common()) for change, words in said.items()},
        seconds=time.monotonic() - started,
    )


async def _read(trial: _Trial, state: Path, messages: int, until: float) -> bool:
    async with await JournalReader.open(state / state_files.JOURNAL) as journal:
        versions = await journal.policies()
        before = 0
        while trial.seen < messages:
            entries = await journal.latest_below(before, min(AT_ONCE, messages - trial.seen))
            for entry in entries:
                if time.monotonic() > until:
                    return False
                trial.take(entry, versions)
                before = entry if isinstance(entry, int) else entry.id
            if not entries:
                break
    return True


def _said(
    differing: dict[int, str], state: Path
) -> tuple[dict[str, Counter[str]], dict[str, tuple[str, ...]]]:
    """Return what readers said of messages, by change, and by message."""
    said: dict[str, Counter[str]] = {}
    by_message: dict[str, tuple[str, ...]] = {}
    path = state / state_files.EVENTS
    if not differing or not path.exists():
        return said, by_message
    try:
        with EventLog(path, make=False) as log:
            summaries = log.summaries_of(list(differing))
    except StoreError:  # what readers said is beside the point: verdicts are not
        return said, by_message
    for ident, events in summaries.items():
        words = [event.what.value for event in events if event.what is not EventKind.READ]
        said.setdefault(differing[ident], Counter()).update(words)
        by_message[to_text(ident)] = tuple(words)
    return {change: words for change, words in said.items() if words}, by_message


def _example(change: str, pair: VerdictPair, said: dict[str, tuple[str, ...]]) -> PreviewExample:
    before, after = ({hit.name for hit in side.rules} for side in (pair.before, pair.after))
    return PreviewExample(
        change=change,
        id=pair.name,
        sender=pair.sender,
        subject=pair.subject,
        before=(pair.before.score, pair.before.decided_by),
        after=(pair.after.score, pair.after.decided_by),
        gained=tuple(sorted(after - before)),
        lost=tuple(sorted(before - after - set(pair.unjudged))),
        unjudged=pair.unjudged,
        said=said.get(pair.name, ()),
    )


def journal_pair(entry: JournalEntry, rejudged: Rejudged) -> VerdictPair:
    """Return a journaled message as it was judged, and as it is judged again."""
    return VerdictPair(
        name=to_text(entry.id),
        sender=entry.sender,
        subject=entry.subject,
        before=ComparedVerdict(
            action=action_given(entry),
            score=entry.score,
            line=entry.line,
            decided_by=entry.decided_by,
            rules=entry.rules,
        ),
        after=compared_verdict(rejudged.verdict),
        mildest=rejudged.mildest,
        severest=rejudged.severest,
        unjudged=tuple(rejudged.unjudged),
    )


def compared_verdict(verdict: Verdict) -> ComparedVerdict:
    """Return as much of a verdict as is compared."""
    return ComparedVerdict(
        action=verdict.action,
        score=verdict.score,
        line=verdict.line,
        decided_by=verdict.decided_by,
        rules=verdict.rules,
    )
