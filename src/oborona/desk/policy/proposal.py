"""Two persons: one proposes a draft as it is, another one approves it, and it is live.

What is proposed is the very text, by its digest: whoever changes it makes the proposal void.
"""

from __future__ import annotations

import time

import msgspec

from oborona.desk.call import CallError, NotAllowedError
from oborona.desk.policy.draft_desk import draft_folder, owned, proposes
from oborona.desk.policy.draft_note import DraftDecline, DraftNote, DraftProposal
from oborona.desk.policy.guarded_publication import live_plan
from oborona.desk.policy.publication import PolicyPublication
from oborona.desk.policy.site_policy import (
    PolicyConflictError,
    noticed,
    policy_lock,
    versions_of,
)
from oborona.desk.site import Site
from oborona.people.caller import Caller, CallWay
from oborona.people.rights import Right


def person_behind(caller: Caller) -> str:
    """Return who calls; of an API key its person."""
    return caller.name.partition("/")[0]


def check_alone(site: Site, caller: Caller, *, alone: bool) -> None:
    """Refuse one person where the settings want two.

    Args:
        site: whose settings.
        caller: who publishes live.
        alone: they say that no second one is to be waited for.

    Raises:
        NotAllowedError: they are not at the terminal of the machine, or have not said so.
    """
    if not site.loaded.settings.console.two_persons:
        return
    if alone and caller.way is CallWay.TERMINAL:
        return
    raise NotAllowedError(
        "alone is for who is at the terminal of the machine"
        if alone
        else "[console] two_persons: propose the draft, and another person approves it"
    )


def propose_draft(
    site: Site, caller: Caller, name: str, reason: str, *, sure: bool, dry: bool
) -> PolicyPublication:
    """Propose a draft as it is, once all guards let it through.

    Raises:
        CallError: a guard refuses it.
        StoreError: it can't be written down.
    """
    folder = draft_folder(site)
    with policy_lock(site), versions_of(site) as store:
        draft = folder.get(name)
        owned(caller, name, draft.note)
        _, before = noticed(site, store)
        found = live_plan(site, draft, before, sure=sure)
        if not dry:
            proposal = DraftProposal(
                by=person_behind(caller),
                at=time.time(),
                reason=reason,
                digest=draft.digest,
                sure=sure,
            )
            note = msgspec.structs.replace(draft.note, proposal=proposal, decline=None)
            folder.write_note(name, note)
    return found.answer


def approved(
    caller: Caller, note: DraftNote, digest: str, proposer: str, seen: str
) -> DraftProposal:
    """Return the proposal that somebody approves.

    Args:
        caller: who approves.
        note: of the draft.
        digest: of its text as it is now.
        proposer: whose proposal they say that it is.
        seen: digest of the text that they have seen.

    Raises:
        PolicyConflictError: it is void, or another one.
        NotAllowedError: it is their own.
    """
    proposal = note.proposal
    if proposal is None or not proposes(note, digest):
        raise PolicyConflictError("nobody proposes this text: it was changed, or taken back")
    if (proposal.by, proposal.digest) != (proposer, seen):
        raise PolicyConflictError("another text was proposed meanwhile: look at it first")
    if proposal.by == person_behind(caller):
        raise NotAllowedError("you have proposed it: another person approves it")
    return proposal


def decline_draft(
    site: Site, caller: Caller, name: str, proposer: str, words: str, *, dry: bool
) -> DraftDecline:
    """Decline a proposal, or take one's own back; the draft stays.

    Raises:
        CallError: there is none of that person.
        NotAllowedError: it is another's, and the caller may not publish.
        StoreError: it can't be written down.
    """
    folder = draft_folder(site)
    with policy_lock(site):
        note = folder.note(name)
        if note.proposal is None or note.proposal.by != proposer:
            raise CallError(f"{proposer[:100]!a} proposes nothing here")
        if proposer != person_behind(caller) and not caller.may(Right.POLICY_PUBLISH):
            raise NotAllowedError("who may publish live declines what others propose")
        decline = DraftDecline(
            proposer=proposer, by=person_behind(caller), at=time.time(), words=words
        )
        if not dry:
            folder.write_note(name, msgspec.structs.replace(note, proposal=None, decline=decline))
    return decline
