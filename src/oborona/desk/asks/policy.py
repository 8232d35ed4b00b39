"""Asks of the policy: rules and their hits, settings with their origin, versions."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from oborona.desk.call import CallError, NotAllowedError, ask
from oborona.desk.policy.difference import (
    FileDifference,
    MeaningChange,
    file_differences,
    meaning_changes,
)
from oborona.desk.policy.draft_desk import (
    draft_folder,
)
from oborona.desk.policy.file_set import read_folder
from oborona.desk.policy.guards import linted
from oborona.desk.policy.lint import PolicyProblem
from oborona.desk.policy.origins import OriginRow, policy_rows, setting_rows
from oborona.desk.policy.rule_history import RuleHistory, rule_history
from oborona.desk.policy.rule_table import (
    RuleDetail,
    ShownRules,
    rule_detail,
    rule_table,
)
from oborona.desk.policy.schema_text import schema_text
from oborona.desk.policy.site_policy import (
    PolicyBusyError,
    PolicyConflictError,
    noticed,
    own_folder,
    policy_lock,
    version_of,
    versions_of,
)
from oborona.desk.policy.statistics import PolicyStats, read_newest
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.policy_versions.store import PolicyVersion

ASK_S: Final = 1.5  # of the two seconds that an ask has, for reading the journal


class RulesQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All rules.

    Args:
        since_s: hits of the last so many seconds; 0: none are counted.
    """

    since_s: Annotated[float, Meta(ge=0, le=40_000_000)] = 86_400.0


@ask("policy.rules", Right.POLICY_SEE)
def list_rules(site: Site, caller: Caller, asked: RulesQuestion) -> ShownRules:
    """Return all rules, conditions' users among them, with what they did to the journal's mail."""
    policy = site.policy()
    statistics, complete = PolicyStats(policy), True
    note = ""
    if asked.since_s:
        try:
            complete = asyncio.run(read_newest(statistics, site.state, asked.since_s, ASK_S))
        except StoreError as error:
            note = str(error)
    return rule_table(policy, statistics, complete=complete, note=note)


class RuleQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One rule.

    Args:
        name: of it.
        messages: the last so many that it hit.
    """

    name: str
    messages: Annotated[int, Meta(ge=0, le=200)] = 20


@ask("policy.rule", Right.POLICY_SEE)
def show_rule(site: Site, caller: Caller, asked: RuleQuestion) -> RuleDetail:
    """Return one rule with what it uses, who uses it, its tests and the last messages that it hit.

    Those who may not see messages are told none.
    """
    most = asked.messages if caller.may(Right.TRACK) else 0
    return rule_detail(site.policy(), site.state, asked.name, most, ASK_S)


class RuleHistoryQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Versions in which a rule was changed.

    Args:
        name: of the rule.
    """

    name: Annotated[str, Meta(min_length=1, max_length=200)]


@ask("policy.rule_history", Right.POLICY_SEE)
def show_rule_history(site: Site, caller: Caller, asked: RuleHistoryQuestion) -> RuleHistory:
    """Return the versions in which the site's own files came to say something else of a rule."""
    with versions_of(site) as store:
        return rule_history(store, asked.name, ASK_S)


class OriginQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Values in force.

    Args:
        name: those whose name begins so; empty: all.
    """

    name: str = ""


class OriginList(msgspec.Struct, frozen=True, kw_only=True):
    """Settings, and all of the policy."""

    settings: tuple[OriginRow, ...]
    policy: tuple[OriginRow, ...]


@ask("policy.settings", Right.POLICY_SEE)
def list_origins(site: Site, caller: Caller, asked: OriginQuestion) -> OriginList:
    """Return every setting, rule and list in force, each with its file and line."""

    def chosen(rows: list[OriginRow]) -> tuple[OriginRow, ...]:
        return tuple(row for row in rows if row.name.startswith(asked.name))

    return OriginList(
        settings=chosen(setting_rows(site.loaded)), policy=chosen(policy_rows(site.policy()))
    )


class SchemaQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The schema of policy files."""


class PolicySchema(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON schema of policy files."""

    schema: dict[str, Any]


@ask("policy.schema", Right.POLICY_SEE)
def show_schema(site: Site, caller: Caller, asked: SchemaQuestion) -> PolicySchema:
    """Return the JSON schema of policy files."""
    return PolicySchema(schema=msgspec.json.decode(schema_text()))


class HistoryQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Versions, the newest first.

    Args:
        before: those below this number; 0 = from the newest on.
        most: so many.
    """

    before: Annotated[int, Meta(ge=0)] = 0
    most: Annotated[int, Meta(ge=1, le=500)] = 50


class VersionList(msgspec.Struct, frozen=True, kw_only=True):
    """Versions of the policy."""

    versions: tuple[PolicyVersion, ...]
    current: int


@ask("policy.history", Right.POLICY_SEE)
def list_versions(site: Site, caller: Caller, asked: HistoryQuestion) -> VersionList:
    """Return versions of the site's policy folder; what was edited on the disk is noticed first."""
    with versions_of(site) as store:
        try:
            with policy_lock(site, 0.0):
                noticed(site, store)
        except (PolicyBusyError, PolicyConflictError):
            pass  # who publishes writes down what is there; of several machines policy.status tells
        latest = store.latest()
        return VersionList(
            versions=tuple(store.list(asked.most, asked.before)),
            current=0 if latest is None else latest.number,
        )


class DifferenceQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Two states of the policy; one that is not named is what is in the folder now.

    Args:
        draft: a draft, beside what is there now.
        before: number of a version.
        after: number of a version.
    """

    draft: str = ""
    before: Annotated[int, Meta(ge=0)] = 0
    after: Annotated[int, Meta(ge=0)] = 0


class ComparedPolicies(msgspec.Struct, frozen=True, kw_only=True):
    """What differs.

    Args:
        files: line by line.
        changes: in meaning: "score 30 → 45, mode shadow → live".
        problems: why that can't be told: one of both can't be used.
    """

    files: tuple[FileDifference, ...]
    changes: tuple[MeaningChange, ...] = ()
    problems: tuple[PolicyProblem, ...] = ()


@ask("policy.diff", Right.POLICY_SEE)
def compare_policies(site: Site, caller: Caller, asked: DifferenceQuestion) -> ComparedPolicies:
    """Return what differs between a draft, or a version, and what is there."""
    if asked.draft and (asked.before or asked.after):
        raise CallError("either a draft or versions")
    if asked.draft and not caller.may(Right.POLICY_DRAFT):
        raise NotAllowedError("drafts are not for everybody's eyes")
    current = read_folder(own_folder(site))
    before = after = current
    if asked.draft:
        after = draft_folder(site).get(asked.draft).files
    if asked.before or asked.after:
        with versions_of(site) as store:
            before = store.files(version_of(store, asked.before)) if asked.before else current
            after = store.files(version_of(store, asked.after)) if asked.after else current
    files = tuple(file_differences(before, after))
    own = own_folder(site)
    pair = [linted(site, one, own) for one in (before, after)]
    old, new = (one.policy for one in pair)
    if old is None or new is None:
        return ComparedPolicies(
            files=files, problems=tuple(p for one in pair for p in one.problems)
        )
    return ComparedPolicies(files=files, changes=tuple(meaning_changes(old.means, new.means)))
