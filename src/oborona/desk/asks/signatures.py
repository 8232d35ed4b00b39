"""Signatures: those there are, one of them, those that wait for a decision, and what has them."""

from __future__ import annotations

import time
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from oborona.desk.call import ask
from oborona.desk.signatures.store import (
    ShownSignature,
    open_signatures,
    shown_hits,
)
from oborona.desk.signatures.trial import checked_signature, found_signatures
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.signatures import (
    Signature,
    SignatureBook,
    SignatureFinder,
    SignatureFlag,
    SignatureKind,
    SignatureScope,
)
from oborona.stores.signatures.rows import SignatureHits, SignatureState, StoredSignature

FILED: Final = "file"  # the state of a signature that stands in a file of the policy
MOST_MESSAGES: Final = 1000  # in one call


class SignatureListQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which signatures.

    Args:
        every: also what was removed, declined or proposed.
        owner: of this owner alone; None = of all.
        marks: also the entries of lists with the flag `mark`: thousands of them.
        by_hits: the most found today first; else the newest last.
    """

    every: bool = False
    owner: str | None = None
    marks: bool = False
    by_hits: bool = False


class SignatureList(msgspec.Struct, frozen=True, kw_only=True):
    """Signatures of policy files and of the store; when they were looked at, Unix seconds."""

    now: float
    signatures: list[ShownSignature]


@ask("signatures.list", Right.SIGNATURE, Right.POLICY_SEE)
def list_signatures(site: Site, caller: Caller, asked: SignatureListQuestion) -> SignatureList:
    """Return signatures of policy files and of the store, with how often each was found.

    Raises:
        PolicyError: the policy can't be read.
        StoreError: the store can't be used.
    """
    now = time.time()
    filed = list(site.policy().signatures.values())
    with open_signatures(site) as store:
        hits = store.hits(now)
        states = tuple(SignatureState) if asked.every else (SignatureState.ACTIVE,)
        stored = store.all(*states)
    rows = [_shown_filed(signature, hits, now) for signature in filed]
    rows += [_shown_stored(record, hits, now) for record in stored]
    rows = [
        row
        for row in rows
        if (asked.owner is None or row.signature.owner == asked.owner)
        and (asked.marks or row.signature.flag is not SignatureFlag.MARK)
    ]
    if asked.by_hits:
        rows.sort(key=lambda row: (-row.hits.today, -row.hits.total))
    return SignatureList(now=now, signatures=rows)


class SignatureQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which signature, by its id."""

    name: str


@ask("signatures.show", Right.SIGNATURE, Right.POLICY_SEE)
def show_signature(site: Site, caller: Caller, asked: SignatureQuestion) -> ShownSignature:
    """Return everything about a signature.

    Raises:
        UnknownNameError: there is none of this id.
        PolicyError: the policy can't be read.
        StoreError: the store can't be used.
    """
    now = time.time()
    with open_signatures(site) as store:
        hits = store.hits(now)
        filed = site.policy().signatures.get(asked.name)
        if filed is not None:
            return _shown_filed(filed, hits, now)
        return _shown_stored(store.get(asked.name), hits, now)


def _shown_filed(
    signature: Signature, hits: dict[str, SignatureHits], now: float
) -> ShownSignature:
    return ShownSignature(
        signature=signature,
        state=FILED,
        expired=signature.expired(now),
        hits=shown_hits(hits.get(signature.id, SignatureHits())),
    )


def _shown_stored(
    record: StoredSignature, hits: dict[str, SignatureHits], now: float
) -> ShownSignature:
    return msgspec.structs.replace(
        _shown_filed(record.signature, hits, now),
        state=record.state.value,
        decided=record.decided,
        decided_by=record.decided_by,
        evidence=record.evidence,
    )


class ProposalQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Nothing more is asked."""


class ShownProposal(msgspec.Struct, frozen=True, kw_only=True):
    """A signature that waits for a decision, or would.

    Args:
        id: its name; - where it has none yet.
        signature: itself.
        evidence: what speaks for it.
    """

    id: str
    signature: Signature
    evidence: dict[str, Any]


class ProposalList(msgspec.Struct, frozen=True, kw_only=True):
    """Signatures that wait for a decision, the oldest first."""

    proposals: list[ShownProposal]


@ask("signatures.proposals", Right.SIGNATURE, Right.POLICY_SEE)
def list_proposals(site: Site, caller: Caller, asked: ProposalQuestion) -> ProposalList:
    """Return the signatures that wait for a decision.

    Raises:
        StoreError: the store can't be used.
    """
    with open_signatures(site) as store:
        records = store.all(SignatureState.PROPOSED)
    return ProposalList(
        proposals=[
            ShownProposal(
                id=record.signature.id, signature=record.signature, evidence=record.evidence
            )
            for record in records
        ]
    )


class SignatureTrialQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """In which messages signatures are looked for.

    Args:
        messages: whole.
        value: this one alone is tried, as `signatures.add` takes it; None = all in force.
        kind: of the value.
        where: it is looked for.
        inside: a phrase that is found inside longer words, too.
    """

    messages: Annotated[list[bytes], Meta(max_length=MOST_MESSAGES)]
    value: str | None = None
    kind: SignatureKind = SignatureKind.PHRASE
    where: SignatureScope = SignatureScope.ANY
    inside: bool = False


class SignatureTrial(msgspec.Struct, frozen=True, kw_only=True):
    """For each message, the ids of the signatures that it has."""

    found: list[list[str]]


@ask("signatures.test", Right.SIGNATURE)
def try_signatures(site: Site, caller: Caller, asked: SignatureTrialQuestion) -> SignatureTrial:
    """Return which signatures are found in messages; nothing is counted.

    Raises:
        UnusableValueError: the value is no signature.
    """
    finder = tried_signatures(site, asked)
    return SignatureTrial(found=list(found_signatures(site, finder, asked.messages, time.time())))


def tried_signatures(site: Site, asked: SignatureTrialQuestion) -> SignatureFinder:
    """Return the signatures that are to be looked for.

    Raises:
        UnusableValueError: the value is no signature.
    """
    if asked.value is None:
        return site.signatures()
    signature = Signature(
        id="s1",
        flag=SignatureFlag.SPAM,
        kind=asked.kind,
        value=asked.value,
        where=asked.where,
        inside=asked.inside,
    )
    return SignatureBook.of([checked_signature(signature)])
