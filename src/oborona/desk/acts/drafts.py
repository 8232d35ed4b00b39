"""Acts on drafts: begun, written, brought up to date, dropped."""

from __future__ import annotations

import time
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.desk.call import NotAllowedError, act
from oborona.desk.policy.draft_change import DraftChanged, DraftOrder, changed_draft, own_draft
from oborona.desk.policy.draft_desk import draft_folder, octets_of, owned
from oborona.desk.policy.draft_note import DraftNote
from oborona.desk.policy.rebase import DraftConflict, rebase
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


class NewDraftOrder(DraftOrder, kw_only=True):
    """A draft that is to begin.

    Args:
        about: what it is for.
        version: number of the version that its files are of; 0 = of what is there now.
    """

    about: Annotated[str, Meta(max_length=MOST_ABOUT)] = ""
    version: Annotated[int, Meta(ge=0)] = 0


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
        draft = own_draft(site, caller, asked.draft)
        there = draft.files.get(asked.file)
        if asked.before and (there is None or digest_of(there) != asked.before):
            raise PolicyConflictError(f"{asked.file} was changed meanwhile by somebody else")
        return changed_draft(site, asked, asked.file, raw)


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
        draft = own_draft(site, caller, asked.draft)
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
                draft.note,
                base=version.number,
                files=digests_of(current),
                preview=None,
                proposal=None,
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
