"""What the desk answers about the policy: as much of it as pages show."""

from __future__ import annotations

from typing import Any

import msgspec


class RuleOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """A rule in a table."""

    name: str
    mode: str
    enabled: bool
    score: float | str
    say: str
    group: str
    file: str
    line: int
    whose: str | None
    hits: int
    shadow: int
    decided: int
    alone: int


class RulesOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """All rules, and how many messages were read for their hits."""

    version: str
    rules: list[RuleOnPage]
    messages: int
    complete: bool
    note: str


class HitOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a rule hit."""

    id: str
    time: float
    sender: str
    subject: str
    verdict: str
    score: float


class RuleDetailOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """One rule."""

    row: RuleOnPage
    when: str
    why: str
    stage: str
    fields: dict[str, str]
    uses: dict[str, str]
    used_by: list[str]
    tests: list[dict[str, Any]]
    messages: list[HitOnPage]
    note: str


class ValueOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """A value in force, and where it comes from."""

    name: str
    value: Any
    origin: str
    whose: str | None


class ValuesOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """Settings, and all of the policy."""

    settings: list[ValueOnPage]
    policy: list[ValueOnPage]


class VersionOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """A version of the policy folder."""

    number: int
    at: float
    author: str
    way: str
    comment: str
    sort: str
    state: str
    trouble: str
    meaning: str
    of: int


class HistoryOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """Versions, the newest first."""

    versions: list[VersionOnPage]
    current: int


class RuleHistoryOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """Versions in which a rule was changed."""

    versions: list[VersionOnPage]
    complete: bool


class ProblemOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong, or hardly meant."""

    file: str
    line: int
    column: int
    message: str
    warning: bool


class FileDifferenceOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """What differs in a file, line by line."""

    file: str
    state: str
    lines: list[str]
    cut: bool


class MeaningOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """What differs in the meaning of a rule or list."""

    sort: str
    name: str
    state: str
    text: str


class DifferenceOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between two states of the policy."""

    files: list[FileDifferenceOnPage]
    changes: list[MeaningOnPage]
    problems: list[ProblemOnPage]


class ProposalOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """A draft waits for another person, who approves it."""

    by: str
    at: float
    reason: str
    digest: str
    sure: bool


class DeclineOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal was not approved."""

    proposer: str
    by: str
    at: float
    words: str


class DraftOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """A draft in a list."""

    name: str
    owner: str
    made: float
    about: str
    base: int
    stale: bool
    changed: list[str]
    previewed: bool
    trouble: str
    proposal: ProposalOnPage | None = None
    decline: DeclineOnPage | None = None


class DraftListOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """All drafts."""

    drafts: list[DraftOnPage]


class DraftFileOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a draft."""

    name: str
    digest: str
    text: str
    whole: bool


class DraftShownOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """A draft, its files, and one of them with its text."""

    brief: DraftOnPage
    files: dict[str, str]
    file: DraftFileOnPage | None
    two_persons: bool = False


class DraftChangedOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """What a change has made of a draft."""

    file: str
    right: bool
    problems: list[ProblemOnPage]


class TestAddedOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """A test that was made of a message."""

    changed: DraftChangedOnPage
    failed: list[ProblemOnPage]


class LintOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """What the loader says."""

    right: bool
    problems: list[ProblemOnPage]


class TestsOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """What came of tests."""

    tests: int
    failed: list[ProblemOnPage]


class RuleEffectOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one rule."""

    rule: str
    gained: int
    lost: int
    decides: int
    before: int
    after: int
    unjudged: int


class ExampleOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """A message whose verdict would be another."""

    change: str
    id: str
    sender: str
    subject: str
    before: tuple[float, str]
    after: tuple[float, str]
    gained: list[str]
    lost: list[str]
    unjudged: list[str]
    said: list[str]


class PreviewOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """What a draft would have made of the newest messages."""

    messages: int
    complete: bool
    since: float
    differing: int
    changes: dict[str, int]
    left_out: dict[str, int]
    rules: list[RuleEffectOnPage]
    examples: list[ExampleOnPage]
    good: int
    good_lost: int
    to_spam: int
    to_inbox: int
    said: dict[str, dict[str, int]]
    seconds: float


class ConflictOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """A file that both have changed."""

    file: str
    base: str | None
    draft: str | None
    current: str | None


class RebasedOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """A draft on what is there now, or why it is not."""

    done: bool
    base: int
    taken: list[str]
    conflicts: list[ConflictOnPage]


class PublishedOnPage(msgspec.Struct, frozen=True, kw_only=True):
    """What was published, or would be."""

    version: int
    meaning: str
    files: list[str]
    changes: list[MeaningOnPage]
    tried: list[str]
    workers: int
    late: list[int]
    note: str
    undo: int
