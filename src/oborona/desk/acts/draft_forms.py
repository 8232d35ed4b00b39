"""Acts on drafts by a form: a value, an entry of a list, a test made of a message."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from oborona.desk.call import CallError, NotAllowedError, act
from oborona.desk.policy.draft_change import DraftChanged, DraftOrder, changed_draft, own_draft
from oborona.desk.policy.draft_desk import linted_draft, policy_of
from oborona.desk.policy.form import with_entry, with_field, with_test
from oborona.desk.policy.lint import PolicyProblem, failed_tests
from oborona.desk.policy.message_test import facts_of_test, journaled_message
from oborona.desk.policy.site_policy import policy_lock
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right


class SetDraftOrder(DraftOrder, kw_only=True):
    """A value of a rule, list or table.

    Args:
        sort: rule, condition, dns_list, local_list, signature, …; or verdict, karma, …
        name: of the rule or list; empty for a table that is there once.
        field: score, mode, enabled, say, …
        value: of it.
    """

    sort: str
    name: str = ""
    field: str
    value: bool | float | str | list[str]


@act("policy.draft_set", Right.POLICY_DRAFT, about=("draft", "sort", "name", "field"))
def set_in_draft(site: Site, caller: Caller, asked: SetDraftOrder) -> DraftChanged:
    """Set a value in a draft, as a person would write it: comments and all else stay."""
    with policy_lock(site):
        draft = own_draft(site, caller, asked.draft)
        file, raw = with_field(
            draft.files,
            policy_of(site, draft),
            asked.sort,
            asked.name,
            asked.field,
            asked.value,
            alone=_alone(site),
        )
        return changed_draft(site, asked, file, raw, shown=True)


class EntryDraftOrder(DraftOrder, kw_only=True):
    """An entry of a local list that stands in a policy file.

    Args:
        name: of the list.
        entry: address, network, name or mail address.
        there: put it there; False: take it out.
    """

    name: str
    entry: Annotated[str, Meta(min_length=1, max_length=320)]
    there: bool = True


@act("policy.draft_entry", Right.POLICY_DRAFT, about=("draft", "name", "entry"))
def set_entry_in_draft(site: Site, caller: Caller, asked: EntryDraftOrder) -> DraftChanged:
    """Put an entry on a local list of a draft, or take it off."""
    with policy_lock(site):
        draft = own_draft(site, caller, asked.draft)
        file, raw = with_entry(
            draft.files,
            policy_of(site, draft),
            asked.name,
            asked.entry,
            there=asked.there,
            alone=_alone(site),
        )
        return changed_draft(site, asked, file, raw, shown=True)


class TestDraftOrder(DraftOrder, kw_only=True):
    """A test of a rule, made of a message.

    Args:
        rule: its name.
        message: id in the journal.
        hit: what is to be; None = as the draft has it now.
    """

    rule: str
    message: str
    hit: bool | None = None


class TestAdded(msgspec.Struct, frozen=True, kw_only=True):
    """A test that was written.

    Args:
        changed: the draft.
        facts: what it gives.
        hit: what is expected.
        failed: tests of the draft that fail now.
    """

    changed: DraftChanged
    facts: dict[str, Any]
    hit: bool
    failed: tuple[PolicyProblem, ...]


@act("policy.draft_test", Right.POLICY_DRAFT, about=("draft", "rule", "message"))
def add_test_to_draft(site: Site, caller: Caller, asked: TestDraftOrder) -> TestAdded:
    """Put a test beside a rule: the facts that it asks for, as they were of a message."""
    if not caller.may(Right.TRACK):
        raise NotAllowedError("who may not see messages makes no tests of them")
    with policy_lock(site):
        draft = own_draft(site, caller, asked.draft)
        policy = policy_of(site, draft)
        rule = next((rule for rule in policy.rules if rule.name == asked.rule), None)
        if rule is None:
            raise CallError(f"there is no rule {asked.rule[:64]}")
        entry = journaled_message(site.state, asked.message)
        fields = facts_of_test(policy, rule, entry)
        if asked.hit is not None:
            fields["hit"] = asked.hit
        file, raw = with_test(draft.files, policy, asked.rule, fields, alone=_alone(site))
        changed = changed_draft(site, asked, file, raw, shown=True)
    found = linted_draft(site, asked.draft)
    failed = () if found.policy is None else failed_tests(found.policy)[1]
    return TestAdded(changed=changed, facts=fields["facts"], hit=fields["hit"], failed=failed)


def _alone(site: Site) -> bool:
    return site.loaded.settings.console.policy != "write"
