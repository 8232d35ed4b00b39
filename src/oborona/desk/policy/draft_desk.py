"""Drafts as calls see them: whose they are, what they began from, what the loader says of them."""

from __future__ import annotations

import time
from contextlib import suppress

import msgspec

from oborona import state_files
from oborona.desk.call import CallError, NotAllowedError
from oborona.desk.policy.draft_note import DraftDecline, DraftNote, DraftProposal
from oborona.desk.policy.drafts import Draft, DraftFolder
from oborona.desk.policy.file_set import checked_name, read_folder
from oborona.desk.policy.guards import linted, remembered
from oborona.desk.policy.lint import LintedPolicy, lint
from oborona.desk.policy.preview import PolicyPreview, preview
from oborona.desk.policy.site_policy import (
    PolicyBusyError,
    PolicyConflictError,
    may_write,
    own_folder,
    policy_lock,
)
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.load import Policy
from oborona.stores.policy_versions.digests import FileSet, digest_of, digests_of


class DraftBrief(msgspec.Struct, frozen=True, kw_only=True):
    """A draft in a list.

    Args:
        name: of it.
        owner: who began it.
        made: Unix seconds.
        about: what it is for.
        base: number of the version that it began from.
        stale: the policy was changed since: it must be rebased before it is published.
        changed: names of files that differ from what it began from.
        previewed: its very text was tried on the newest messages.
        trouble: why nothing more can be said of it.
        proposal: its very text waits for another person, who approves it; None = it does not.
        decline: the last time that somebody did not.
    """

    name: str
    owner: str = ""
    made: float = 0.0
    about: str = ""
    base: int = 0
    stale: bool = False
    changed: tuple[str, ...] = ()
    previewed: bool = False
    trouble: str = ""
    proposal: DraftProposal | None = None
    decline: DraftDecline | None = None


class DraftFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a draft.

    Args:
        name: of it.
        digest: of its octets; who writes it says which they have seen.
        text: of it.
        whole: the text is all of it: octets that are no UTF-8 are not shown.
    """

    name: str
    digest: str
    text: str
    whole: bool


def draft_folder(site: Site) -> DraftFolder:
    """Return all drafts of a site."""
    return DraftFolder(site.state / state_files.POLICY_DRAFTS)


def brief_of(folder: DraftFolder, name: str, current: FileSet) -> DraftBrief:
    """Return what is known of a draft; of one that is damaged, that it is.

    Args:
        folder: of drafts.
        name: of the draft.
        current: what the policy folder holds now.
    """
    try:
        draft = folder.get(name)
    except StoreError as error:
        return DraftBrief(name=name, trouble=str(error))
    note, digests = draft.note, digests_of(draft.files)
    return DraftBrief(
        name=name,
        owner=note.owner,
        made=note.made,
        about=note.about,
        base=note.base,
        stale=note.files != digests_of(current),
        changed=tuple(
            file
            for file in sorted({*digests, *note.files})
            if digests.get(file) != note.files.get(file)
        ),
        previewed=note.preview is not None and note.preview.digest == draft.digest,
        proposal=note.proposal if proposes(note, draft.digest) else None,
        decline=note.decline,
    )


def draft_text(name: str, raw: bytes) -> DraftFile:
    """Return a file of a draft as callers see it."""
    text = raw.decode("utf-8", "replace")
    return DraftFile(name=name, digest=digest_of(raw), text=text, whole=text.encode() == raw)


def proposes(note: DraftNote, digest: str) -> bool:
    """Whether somebody has proposed a draft of this very text."""
    return note.proposal is not None and note.proposal.digest == digest


def owned(caller: Caller, name: str, note: DraftNote) -> None:
    """Refuse a change of somebody else's draft, but to who publishes.

    Raises:
        NotAllowedError: it is another's.
    """
    if note.owner != caller.name and not caller.may(Right.POLICY_PUBLISH):
        raise NotAllowedError(f"{name} is a draft of {note.owner}")


def linted_draft(site: Site, name: str, file: str = "", text: str = "") -> LintedPolicy:
    """Return a draft as the loader reads it.

    Args:
        site: whose draft.
        name: of the draft; empty: what is in the policy folder.
        file: one of its files that has another text; empty: none.
        text: of that.

    Raises:
        CallError: no such draft or name.
    """
    if not name and not file:
        return lint(site, own_folder(site))
    folder = draft_folder(site)
    files = dict(folder.get(name).files if name else read_folder(own_folder(site)))
    if file:
        may_write(site, file)
        files[checked_name(file)] = octets_of(text)
    return linted(site, files, folder.files_folder(name) if name else own_folder(site))


def octets_of(text: str) -> bytes:
    """Return a text as the octets of a file.

    Raises:
        CallError: it is no Unicode.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise CallError("the text holds what is no Unicode") from error


def policy_of(site: Site, draft: Draft) -> Policy:
    """Return the policy of a draft.

    Raises:
        CallError: it can't be used.
    """
    found = linted(site, draft.files, draft_folder(site).files_folder(draft.name))
    if found.policy is None:
        first = found.problems[0]
        raise CallError(f"the draft can't be used: {first.file}:{first.line}: {first.message}")
    return found.policy


def previewed(
    site: Site, draft: Draft, policy: Policy, *, messages: int, examples: int, within_s: float
) -> PolicyPreview:
    """Return what a draft would have made of the newest messages, and remember that it was tried.

    Raises:
        StoreError: the journal can't be read.
    """
    found = preview(
        policy,
        site,
        messages=messages,
        within_s=within_s,
        examples=examples,
    )
    folder = draft_folder(site)
    # while somebody publishes it is told all the same, and not remembered
    with suppress(PolicyBusyError), policy_lock(site):
        now = folder.get(draft.name)
        if now.digest == draft.digest:  # nobody has changed it meanwhile
            tried = remembered(found, draft.digest, time.time())
            folder.write_note(draft.name, msgspec.structs.replace(now.note, preview=tried))
    return found


def check_base(draft: Draft, current: FileSet) -> None:
    """Refuse to publish a draft that did not begin from what is there.

    Raises:
        PolicyConflictError: it did not.
    """
    if draft.note.files != digests_of(current):
        raise PolicyConflictError(
            f"the policy was changed since the draft {draft.name} began (version "
            f"{draft.note.base}): rebase it"
        )
