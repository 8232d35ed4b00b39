"""A change of a draft: what it is told, that it is written, and what the loader thinks of it."""

from __future__ import annotations

import msgspec

from oborona.desk.call import ActOrder
from oborona.desk.policy.draft_desk import draft_folder, draft_text, linted_draft, owned
from oborona.desk.policy.drafts import Draft, DraftFolder
from oborona.desk.policy.file_set import OVERLAY
from oborona.desk.policy.lint import PolicyProblem
from oborona.desk.policy.site_policy import may_write
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.stores.policy_versions.digests import digest_of


class DraftOrder(ActOrder, kw_only=True):
    """What every act on a draft is told.

    Args:
        draft: its name.
    """

    draft: str


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


def own_draft(site: Site, caller: Caller, name: str) -> Draft:
    """Return a draft that the caller may change.

    Raises:
        NotAllowedError: it is another's.
        NotFoundError: there is none of that name.
    """
    draft = draft_folder(site).get(name)
    owned(caller, name, draft.note)
    return draft


def changed_draft(
    site: Site, asked: DraftOrder, file: str, raw: bytes | None, *, shown: bool = False
) -> DraftChanged:
    """Write a file of a draft unless it is a dry run, and say what the loader thinks of it.

    The policy's lock is held. Who has proposed the draft has proposed another text: that is void.

    Args:
        site: whose draft.
        asked: names it.
        file: name of the file.
        raw: all that is to be in it; None = it goes.
        shown: its text is told.
    """
    may_write(site, file or OVERLAY)
    if not asked.dry:
        folder = draft_folder(site)
        folder.write(asked.draft, file, raw)
        void_proposal(folder, asked.draft)
    found = linted_draft(site, asked.draft)
    return DraftChanged(
        draft=asked.draft,
        file=file,
        digest="" if raw is None else digest_of(raw),
        right=found.policy is not None,
        problems=found.problems,
        text="" if raw is None or not shown else draft_text(file, raw).text,
    )


def void_proposal(folder: DraftFolder, name: str) -> None:
    """Forget that a draft was proposed: its text is another one now."""
    note = folder.note(name)
    if note.proposal is not None:
        folder.write_note(name, msgspec.structs.replace(note, proposal=None))
