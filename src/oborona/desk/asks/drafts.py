"""Asks about drafts: which there are, what the loader says of them, what they would do."""

from __future__ import annotations

import time
from typing import Annotated

import msgspec
from msgspec import Meta

from oborona.desk.asks.policy import ASK_S
from oborona.desk.call import NotFoundError, ask
from oborona.desk.policy.draft_desk import (
    DraftBrief,
    DraftFile,
    brief_of,
    draft_folder,
    draft_text,
    linted_draft,
    policy_of,
    previewed,
)
from oborona.desk.policy.file_set import checked_name, read_folder
from oborona.desk.policy.lint import PolicyProblem, failed_tests
from oborona.desk.policy.preview import MOST_MESSAGES, PolicyPreview
from oborona.desk.policy.site_policy import own_folder
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right


class DraftsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All drafts."""


class DraftList(msgspec.Struct, frozen=True, kw_only=True):
    """Drafts."""

    drafts: tuple[DraftBrief, ...]


@ask("policy.draft_list", Right.POLICY_DRAFT)
def list_drafts(site: Site, caller: Caller, asked: DraftsQuestion) -> DraftList:
    """Return all drafts."""
    folder, current = draft_folder(site), read_folder(own_folder(site))
    return DraftList(drafts=tuple(brief_of(folder, name, current) for name in folder.names()))


class DraftQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One draft.

    Args:
        draft: its name.
        file: one of its files, with its text; empty: none.
    """

    draft: str
    file: str = ""


class DraftShown(msgspec.Struct, frozen=True, kw_only=True):
    """A draft.

    Args:
        brief: what is known of it.
        files: names and digests.
        file: the one that was asked for, with its text.
        two_persons: one proposes it and another approves, before it is live.
    """

    brief: DraftBrief
    files: dict[str, str]
    file: DraftFile | None = None
    two_persons: bool = False


@ask("policy.draft_show", Right.POLICY_DRAFT)
def show_draft(site: Site, caller: Caller, asked: DraftQuestion) -> DraftShown:
    """Return a draft, and one of its files."""
    folder = draft_folder(site)
    draft = folder.get(asked.draft)
    file = None
    if asked.file:
        raw = draft.files.get(checked_name(asked.file))
        if raw is None:
            raise NotFoundError(f"{asked.draft} has no file {asked.file}")
        file = draft_text(asked.file, raw)
    brief = brief_of(folder, asked.draft, read_folder(own_folder(site)))
    return DraftShown(
        brief=brief,
        files={name: draft_text(name, raw).digest for name, raw in draft.files.items()},
        file=file,
        two_persons=site.loaded.settings.console.two_persons,
    )


class LintQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A draft as the loader reads it.

    Args:
        draft: its name; empty: what is in the policy folder now.
        file: one of its files that is being typed; empty: none.
        text: of that file, which is not saved.
    """

    draft: str = ""
    file: str = ""
    text: str = ""


class LintAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the loader says.

    Args:
        right: the policy can be used.
        problems: what is wrong, or hardly meant.
        meaning: version of what it means; empty where it can't be used.
        seconds: it took.
    """

    right: bool
    problems: tuple[PolicyProblem, ...]
    meaning: str = ""
    seconds: float = 0.0


@ask("policy.lint", Right.POLICY_DRAFT)
def lint_draft(site: Site, caller: Caller, asked: LintQuestion) -> LintAnswer:
    """Return what is wrong with a draft: file, line, column, and what is allowed there."""
    started = time.monotonic()
    found = linted_draft(site, asked.draft, asked.file, asked.text)
    return LintAnswer(
        right=found.policy is not None,
        problems=found.problems,
        meaning="" if found.policy is None else found.policy.version,
        seconds=time.monotonic() - started,
    )


class TestsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The tests that stand beside the rules of a draft.

    Args:
        draft: its name; empty: what is in the policy folder now.
    """

    draft: str = ""


class TestsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of tests.

    Args:
        tests: how many there are.
        failed: those that fail, or why none could be run.
    """

    tests: int
    failed: tuple[PolicyProblem, ...]


@ask("policy.test", Right.POLICY_DRAFT)
def run_draft_tests(site: Site, caller: Caller, asked: TestsQuestion) -> TestsAnswer:
    """Run all tests of a draft."""
    found = linted_draft(site, asked.draft)
    if found.policy is None:
        return TestsAnswer(tests=0, failed=found.problems)
    tests, failed = failed_tests(found.policy)
    return TestsAnswer(tests=tests, failed=failed)


class PreviewQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The newest messages under a draft.

    Args:
        draft: its name.
        messages: so many.
        examples: of each change.
        within_s: seconds after which what was found so far is told.
    """

    draft: str
    messages: Annotated[int, Meta(ge=1, le=MOST_MESSAGES)] = 2000
    examples: Annotated[int, Meta(ge=0, le=50)] = 3
    within_s: Annotated[float, Meta(ge=0.05, le=60)] = ASK_S


@ask("policy.preview", Right.POLICY_DRAFT)
def preview_draft(site: Site, caller: Caller, asked: PreviewQuestion) -> PolicyPreview:
    """Return what a draft would have made of the newest messages.

    It is remembered beside the draft: a publication asks for a preview of its very text. Those who
    may not see messages are shown no examples.
    """
    examples = asked.examples if caller.may(Right.TRACK) else 0
    draft = draft_folder(site).get(asked.draft)
    return previewed(
        site,
        draft,
        policy_of(site, draft),
        messages=asked.messages,
        examples=examples,
        within_s=asked.within_s,
    )
