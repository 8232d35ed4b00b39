"""Acts on the policy: drafts, publication, roll-back, reload."""

from __future__ import annotations

import time
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from oborona.desk.call import ActOrder, CallError, NotAllowedError, act
from oborona.desk.policy.draft_desk import (
    draft_folder,
    draft_text,
    linted_draft,
    octets_of,
    owned,
    policy_of,
)
from oborona.desk.policy.drafts import Draft, DraftNote
from oborona.desk.policy.file_set import OVERLAY
from oborona.desk.policy.form import with_entry, with_field, with_test
from oborona.desk.policy.guarded_publication import publish_draft, roll_back_to
from oborona.desk.policy.lint import PolicyProblem, failed_tests
from oborona.desk.policy.message_test import facts_of_test, journaled_message
from oborona.desk.policy.publication import PolicyPublication
from oborona.desk.policy.rebase import DraftConflict, rebase
from oborona.desk.policy.reload_outcome import PolicyReloaded, reloaded
from oborona.desk.policy.site_policy import (
    PolicyConflictError,
    may_write,
    noticed,
    policy_lock,
    restored,
    version_of,
    versions_of,
)
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.policy_versions.digests import digest_of, digests_of

MOST_ABOUT: Final = 500  # characters


class DraftOrder(ActOrder, kw_only=True):
    """What every act on a draft is told.

    Args:
        draft: its name.
    """

    draft: str


class NewDraftOrder(DraftOrder, kw_only=True):
    """A draft that is to begin.

    Args:
        about: what it is for.
        version: number of the version that its files are of; 0 = of what is there now.
    """

    about: Annotated[str, Meta(max_length=MOST_ABOUT)] = ""
    version: Annotated[int, Meta(ge=0)] = 0


class DraftChanged(msgspec.Struct, frozen=True, kw_only=True):
    """What a draft is now.

    Args:
        draft: its name.
        file: name of the file that was changed; empty: none was.
        digest: of that file; empty where it went.
        right: the policy can be used.
        problems: what the loader says of it.
        text: of that file, where a form has written it.
    """

    draft: str
    file: str = ""
    digest: str = ""
    right: bool = True
    problems: tuple[PolicyProblem, ...] = ()
    text: str = ""


@act("policy.draft_new", Right.POLICY_DRAFT, about=("draft",))
def begin_draft(site: Site, caller: Caller, asked: NewDraftOrder) -> DraftChanged:
    """Begin a draft: a copy of the site's policy folder."""
    with policy_lock(site), versions_of(site) as store:
        version, current = noticed(site, store)
        files = current
        if asked.version:
            files, _ = restored(site, current, store.files(version_of(store, asked.version)))
        note = DraftNote(
            owner=caller.name,
            made=time.time(),
            about=asked.about,
            base=version.number,
            files=digests_of(current),
        )
        if not asked.dry:
            draft_folder(site).begin(asked.draft, note, files)
    return DraftChanged(draft=asked.draft)


class WriteDraftOrder(DraftOrder, kw_only=True):
    """A file of a draft with another text.

    Args:
        file: its name.
        text: all of it; None = the file goes.
        before: digest of the file that its writer has seen: another one is not written over; empty
            = whatever it is.
    """

    file: str
    text: str | None
    before: str = ""


@act("policy.draft_write", Right.POLICY_DRAFT, about=("draft", "file"))
def write_draft(site: Site, caller: Caller, asked: WriteDraftOrder) -> DraftChanged:
    """Write a file of a draft."""
    may_write(site, asked.file)
    raw = None if asked.text is None else octets_of(asked.text)
    with policy_lock(site):
        draft = _own_draft(site, caller, asked.draft)
        there = draft.files.get(asked.file)
        if asked.before and (there is None or digest_of(there) != asked.before):
            raise PolicyConflictError(f"{asked.file} was changed meanwhile by somebody else")
        return _changed(site, asked, asked.file, raw)


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
        draft = _own_draft(site, caller, asked.draft)
        file, raw = with_field(
            draft.files,
            policy_of(site, draft),
            asked.sort,
            asked.name,
            asked.field,
            asked.value,
            alone=_alone(site),
        )
        return _changed(site, asked, file, raw, shown=True)


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
        draft = _own_draft(site, caller, asked.draft)
        file, raw = with_entry(
            draft.files,
            policy_of(site, draft),
            asked.name,
            asked.entry,
            there=asked.there,
            alone=_alone(site),
        )
        return _changed(site, asked, file, raw, shown=True)


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
        draft = _own_draft(site, caller, asked.draft)
        policy = policy_of(site, draft)
        rule = next((rule for rule in policy.rules if rule.name == asked.rule), None)
        if rule is None:
            raise CallError(f"there is no rule {asked.rule[:64]}")
        entry = journaled_message(site.state, asked.message)
        fields = facts_of_test(policy, rule, entry)
        if asked.hit is not None:
            fields["hit"] = asked.hit
        file, raw = with_test(draft.files, policy, asked.rule, fields, alone=_alone(site))
        changed = _changed(site, asked, file, raw, shown=True)
    found = linted_draft(site, asked.draft)
    failed = () if found.policy is None else failed_tests(found.policy)[1]
    return TestAdded(changed=changed, facts=fields["facts"], hit=fields["hit"], failed=failed)


class RebaseDraftOrder(DraftOrder, kw_only=True):
    """A draft that is to begin from what is there now.

    Args:
        keep: files that both have changed, and whose text of the draft is to stay: it has in it
            what is to be.
        take: files that both have changed, and that are to be as they are there now.
    """

    keep: tuple[str, ...] = ()
    take: tuple[str, ...] = ()


class DraftRebased(msgspec.Struct, frozen=True, kw_only=True):
    """A draft on what is there now.

    Args:
        draft: its name.
        done: it was; else there are conflicts.
        base: number of the version that it begins from now.
        taken: files that are as they are there now.
        conflicts: files that both have changed, which `keep` and `take` do not name.
    """

    draft: str
    done: bool
    base: int
    taken: tuple[str, ...]
    conflicts: tuple[DraftConflict, ...]


@act("policy.draft_rebase", Right.POLICY_DRAFT, about=("draft",))
def rebase_draft(site: Site, caller: Caller, asked: RebaseDraftOrder) -> DraftRebased:
    """Let a draft begin from what is there now, file by file."""
    folder = draft_folder(site)
    with policy_lock(site), versions_of(site) as store:
        draft = _own_draft(site, caller, asked.draft)
        version, current = noticed(site, store)
        base = {name: store.content(digest) for name, digest in draft.note.files.items()}
        found = rebase(base, draft.files, current)
        left = tuple(
            conflict
            for conflict in found.conflicts
            if conflict.file not in asked.keep and conflict.file not in asked.take
        )
        files: dict[str, bytes | None] = {**dict.fromkeys(draft.files), **found.files}
        files |= {name: current.get(name) for name in asked.take if name in {**files, **current}}
        if not left and not asked.dry:
            changes = {name: raw for name, raw in files.items() if raw != draft.files.get(name)}
            folder.replace(asked.draft, changes)
            note = msgspec.structs.replace(
                draft.note, base=version.number, files=digests_of(current), preview=None
            )
            folder.write_note(asked.draft, note)
    return DraftRebased(
        draft=asked.draft,
        done=not left and not asked.dry,
        base=version.number,
        taken=found.taken,
        conflicts=left,
    )


@act("policy.draft_drop", Right.POLICY_DRAFT, about=("draft",))
def drop_draft(site: Site, caller: Caller, asked: DraftOrder) -> DraftChanged:
    """Take a draft away."""
    folder = draft_folder(site)
    with policy_lock(site):
        if folder.trouble(asked.draft):
            if not caller.may(Right.POLICY_PUBLISH):
                raise NotAllowedError(f"{asked.draft} is damaged: who publishes may drop it")
        else:
            owned(caller, asked.draft, folder.note(asked.draft))
        if not asked.dry:
            folder.drop(asked.draft)
    return DraftChanged(draft=asked.draft)


class PublishOrder(DraftOrder, kw_only=True):
    """A draft that is to be published.

    Args:
        live: it decides about mail; False: in shadow mode, which changes no verdict.
        sure: it is meant to change so much as the preview has shown.
    """

    live: bool = False
    sure: bool = False


@act("policy.publish", Right.POLICY_SHADOW, Right.POLICY_PUBLISH, about=("draft", "live"))
def publish(site: Site, caller: Caller, asked: PublishOrder) -> PolicyPublication:
    """Publish a draft, in shadow mode or live, and wait until all workers judge by it."""
    needed = Right.POLICY_PUBLISH if asked.live else Right.POLICY_SHADOW
    if not caller.may(needed):
        raise NotAllowedError(f"publishing {'live' if asked.live else 'to shadow'} needs {needed}")
    _reasoned(asked)
    return publish_draft(
        site, caller, asked.draft, asked.reason, live=asked.live, sure=asked.sure, dry=asked.dry
    )


class RollBackOrder(ActOrder, kw_only=True):
    """A version that is to be in force again.

    Args:
        version: its number.
        sure: it is meant to change so much as a preview would show.
    """

    version: Annotated[int, Meta(ge=1)]
    sure: bool = False


@act("policy.roll_back", Right.POLICY_PUBLISH, about=("version",))
def roll_back(site: Site, caller: Caller, asked: RollBackOrder) -> PolicyPublication:
    """Publish an earlier version again; of files that the desk may not write nothing is changed."""
    _reasoned(asked)
    return roll_back_to(site, caller, asked.version, asked.reason, sure=asked.sure, dry=asked.dry)


@act("policy.reload", Right.RELOAD)
def reload_policy(site: Site, caller: Caller, asked: ActOrder) -> PolicyReloaded:
    """Have the daemon read the policy files now, and wait until all workers judge by them."""
    return reloaded(site.state, dry=asked.dry)


def _reasoned(asked: ActOrder) -> None:
    if not asked.dry and not asked.reason.strip():
        raise CallError("say why: it stands in the history of the policy")


def _alone(site: Site) -> bool:
    return site.loaded.settings.console.policy != "write"


def _own_draft(site: Site, caller: Caller, name: str) -> Draft:
    draft = draft_folder(site).get(name)
    owned(caller, name, draft.note)
    return draft


def _changed(
    site: Site, asked: DraftOrder, file: str, raw: bytes | None, *, shown: bool = False
) -> DraftChanged:
    """Write a file of a draft unless it is a dry run, and say what the loader thinks of it."""
    may_write(site, file or OVERLAY)
    if not asked.dry:
        draft_folder(site).write(asked.draft, file, raw)
    found = linted_draft(site, asked.draft)
    return DraftChanged(
        draft=asked.draft,
        file=file,
        digest="" if raw is None else digest_of(raw),
        right=found.policy is not None,
        problems=found.problems,
        text="" if raw is None or not shown else draft_text(file, raw).text,
    )
