"""Signatures proposed from spam, and decided about."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from oborona.desk.act_report import ActReport
from oborona.desk.acts.signatures import (
    ChangedSignatures,
    Messages,
    SignatureNamesOrder,
    signature_removal,
)
from oborona.desk.asks.signatures import ShownProposal
from oborona.desk.call import ActOrder, UndoCall, act
from oborona.desk.refusals import UnusableValueError
from oborona.desk.signatures.candidate import mined_candidates
from oborona.desk.signatures.store import open_signatures
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.signatures.mining import MAX_PROPOSED
from oborona.stores.signatures.rows import SignatureState
from oborona.types import RuleMode


class SignatureAcceptance(SignatureNamesOrder, kw_only=True, forbid_unknown_fields=True):
    """Which proposals are put in force.

    Args:
        mode: live, or shadow; None = as it was proposed.
    """

    mode: RuleMode | None = None


@act("signatures.accept", Right.SIGNATURE, about=("names",))
def accept_signatures(site: Site, caller: Caller, asked: SignatureAcceptance) -> ChangedSignatures:
    """Put proposed signatures in force.

    Raises:
        UnusableValueError: one is no proposal, or not there; nothing is done.
        StoreError: the store can't be written.
    """
    names = _decide(site, caller, asked, SignatureState.ACTIVE, asked.mode)
    return ChangedSignatures(
        dry=asked.dry, names=names, state=SignatureState.ACTIVE, undo=signature_removal(names)
    )


@act("signatures.decline", Right.SIGNATURE, about=("names",))
def decline_signatures(site: Site, caller: Caller, asked: SignatureNamesOrder) -> ChangedSignatures:
    """Decline proposed signatures; they are not proposed again.

    Raises:
        UnusableValueError: one is no proposal, or not there; nothing is done.
        StoreError: the store can't be written.
    """
    names = _decide(site, caller, asked, SignatureState.DECLINED)
    return ChangedSignatures(
        dry=asked.dry,
        names=names,
        state=SignatureState.DECLINED,
        undo=UndoCall(call="signatures.reopen", asked={"names": names}),
    )


@act("signatures.reopen", Right.SIGNATURE, about=("names",))
def reopen_signatures(site: Site, caller: Caller, asked: SignatureNamesOrder) -> ChangedSignatures:
    """Let proposals that were declined wait for a decision again.

    Raises:
        UnusableValueError: one was not declined, or is not there; nothing is done.
        StoreError: the store can't be written.
    """
    with open_signatures(site) as store:
        for record in [store.get(name) for name in asked.names]:
            if record.state is not SignatureState.DECLINED:
                raise UnusableValueError(
                    f"{record.signature.id} was not declined, it is {record.state}"
                )
        for name in () if asked.dry else asked.names:
            store.decide(name, SignatureState.PROPOSED, by=caller.name, now=time.time())
    return ChangedSignatures(
        dry=asked.dry,
        names=asked.names,
        state=SignatureState.PROPOSED,
        undo=UndoCall(call="signatures.decline", asked={"names": asked.names}),
    )


def _decide(
    site: Site,
    caller: Caller,
    asked: SignatureNamesOrder,
    state: SignatureState,
    mode: RuleMode | None = None,
) -> list[str]:
    with open_signatures(site) as store:
        for record in [store.get(name) for name in asked.names]:
            if record.state is not SignatureState.PROPOSED:
                raise UnusableValueError(
                    f"{record.signature.id} is no proposal, it is {record.state}"
                )
        for name in () if asked.dry else asked.names:
            if mode is not None:  # before it is in force
                store.set_mode(name, mode, now=time.time())
            store.decide(name, state, by=caller.name, now=time.time())
    return asked.names


class ProposeOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Spam that signatures are to be found in; its reason is theirs.

    Args:
        spam: whole messages.
        ham: good mail to compare with, the more the better.
        owner: who will answer for them; empty = the caller.
        limit: proposals at most.
    """

    spam: Messages
    ham: Messages = msgspec.field(default_factory=list)
    owner: str = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_PROPOSED)] = 20


class ProposedSignatures(ActReport, frozen=True, kw_only=True):
    """Signatures that wait for a decision now."""

    proposals: list[ShownProposal]


@act("signatures.propose", Right.SIGNATURE)
def propose_from_spam(site: Site, caller: Caller, asked: ProposeOrder) -> ProposedSignatures:
    """Propose signatures; nothing is in force until `signatures.accept`.

    Raises:
        StoreError: the store can't be written.
    """
    return propose_from(site, caller, asked, asked.spam, asked.ham or None)


def propose_from(
    site: Site,
    caller: Caller,
    asked: ProposeOrder,
    spam: Iterable[bytes],
    ham: Iterable[bytes] | None,
) -> ProposedSignatures:
    """Propose signatures as `signatures.propose` does, from any number of messages."""
    candidates = mined_candidates(
        site,
        spam,
        ham,
        owner=asked.owner or caller.name,
        author=caller.name,
        reason=asked.reason,
        most=asked.limit,
    )
    names = [("-", True)] * len(candidates)
    if not asked.dry:
        with open_signatures(site) as store:
            names = store.add(
                [candidate.signature for candidate in candidates],
                now=time.time(),
                state=SignatureState.PROPOSED,
                evidence=[candidate.evidence for candidate in candidates],
            )
    proposals = [
        ShownProposal(id=name, signature=candidate.signature, evidence=candidate.evidence)
        for (name, new), candidate in zip(names, candidates, strict=True)
        if new
    ]
    undo = None
    if proposals and not asked.dry:
        asked_names = {"names": [proposal.id for proposal in proposals]}
        undo = UndoCall(call="signatures.decline", asked=asked_names)
    return ProposedSignatures(dry=asked.dry, proposals=proposals, undo=undo)
